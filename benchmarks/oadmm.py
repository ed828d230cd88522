"""The default solver beside every peer: the paper's problem, plain sparse PCA, compressed modes, scale, other kinds.

Every run has one thread and starts where all other methods start. By default one process makes a short selection of
the runs (--quick, about five minutes); with several processes, or with --no-quick, all of them are made. Real data are
read from the folder in ORTHOPROX_DATA; without it scikit-learn's digits stand in for them, and rows that need other
files are left out.

    python benchmarks/oadmm.py [--items 1,2] [--methods socm,radmm] [--only mnist] [--starts 5] [--jobs 16]
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import _general
import _modes
import _paper
import _plain
import _scale
import numpy as np
from _runs import LITERAL, OURS, PEERS, Job, Options, run_all

ITEMS = {1: _paper, 2: _plain, 3: _modes, 4: _scale, 5: _general}


def parse_items(text: str) -> list[int]:
    """The numbers in a list such as 1,2."""
    numbers = [int(part) for part in text.split(",") if part.strip().isdigit()]
    if not numbers or any(number not in ITEMS for number in numbers) or len(numbers) != len(text.split(",")):
        raise argparse.ArgumentTypeError(
            f"expected numbers from 1 to {len(ITEMS)} with commas, as in 1,2; given {text!r}"
        )
    return sorted(set(numbers))


def parse_methods(text: str) -> list[str]:
    """The names in a list such as socm,manial-1; ours is always among them."""
    names = [part.strip() for part in text.split(",")]
    wrong = [name for name in names if name not in (OURS, *PEERS)]
    if wrong:
        raise argparse.ArgumentTypeError(f"expected some of {', '.join((OURS, *PEERS))}; given {wrong[0]!r}")
    return [OURS, *names]


def select_jobs(jobs: list[Job], methods: list[str], only: str) -> list[Job]:
    """The jobs of these methods whose case has a part of a list such as mnist,tdt2 in its name; all if it is empty."""
    parts = [part.strip() for part in only.split(",") if part.strip()] or [""]
    return [job for job in jobs if job.method in methods and any(part in str(job.case) for part in parts)]


def at_least(least: float, kind: type[int] | type[float] = float):
    """A number that is not below a least one."""

    def parse(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not value >= least:
            raise argparse.ArgumentTypeError(f"expected a number of at least {least:g}; given {text!r}")
        return value

    return parse


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=parse_items, default=list(ITEMS), help="which of 1 to 5, as in 1,2")
    parser.add_argument("--methods", type=parse_methods, default=[OURS, *PEERS, *LITERAL], help="as in socm,manial-1")
    parser.add_argument("--only", default="", help="only cases with one of these in their name, as in mnist,tdt2")
    parser.add_argument("--seconds", type=at_least(0.01), help="for each run, instead of the item's own budget")
    parser.add_argument("--starts", type=at_least(1, int), help="instead of the item's own number")
    parser.add_argument(
        "--quick", action=argparse.BooleanOptionalAction, help="a short selection; the default with one process"
    )
    parser.add_argument("--jobs", type=at_least(1, int), default=1, help="processes, each with one thread")
    parser.add_argument("--out", type=Path, help="a Markdown file for what is printed")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    quick = given.jobs == 1 if given.quick is None else given.quick
    options = Options(seconds=given.seconds, starts=given.starts, quick=quick)
    since = time.perf_counter()
    parts, total = [_head(quick, given.jobs)], 0
    print(parts[0], flush=True)
    for item in given.items:
        jobs = select_jobs(ITEMS[item].jobs(options), given.methods, given.only)
        if not jobs:
            raise SystemExit(f"--only {given.only} leaves none of the runs of item {item}.")
        parts.append(ITEMS[item].report(run_all(jobs, given.jobs)))
        total += len(jobs)
        print("\n" + parts[-1], flush=True)
        _keep(given.out, parts)
    parts.append(f"{total} runs in {(time.perf_counter() - since) / 60:.1f} minutes.")
    print("\n" + parts[-1])
    _keep(given.out, parts)


def _keep(file: Path | None, parts: list[str]) -> None:
    """Write what there is so far, so that a run that is cut short is not lost."""
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _head(quick: bool, processes: int) -> str:
    there = "real data" if os.environ.get("ORTHOPROX_DATA") else "no real data (ORTHOPROX_DATA is not set)"
    kind = "a short selection" if quick else "all runs"
    count = "one process" if processes == 1 else f"{processes} processes at a time"
    return (
        f"# OADMM beside its peers\n\nMade by `python benchmarks/oadmm.py`: {kind}, {count}, one thread each, {there}; "
        f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}."
    )


if __name__ == "__main__":
    main()

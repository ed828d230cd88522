"""The default solver beside every peer: the paper's problem, plain sparse PCA, compressed modes, scale, other kinds.

Every run has one thread and starts where all other methods start. By default one process makes a short selection of
the runs (--quick, about five minutes); with several processes, or with --no-quick, all of them are made. Real data are
read from the folder in ORTHOPROX_DATA; without it scikit-learn's digits stand in for them, and rows that need other
files are left out.

    python benchmarks/oadmm.py [--items 1,2] [--methods socm,radmm] [--only mnist] [--starts 5] [--jobs 16]

With --results outcomes are kept in a folder, and with --minutes no run is begun after that time: repeat the command
until nothing is left. docs/benchmark.md is made so:

    python benchmarks/oadmm.py --no-quick --jobs 16 --minutes 8 --results out/benchmark --out docs/benchmark.md
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import time
from pathlib import Path

import _pool  # before NumPy: it sets the number of threads

# isort: split
import _general
import _modes
import _paper
import _plain
import _scale
import numpy as np
from _options import LEFT, at_least, parse_with_storage
from _runs import LITERAL, OURS, PEERS, Job, Options, run_all

from orthoprox.experiments.environment import environment

ITEMS = {1: _paper, 2: _plain, 3: _modes, 4: _scale, 5: _general}
HEAD = """# OADMM beside its peers

Made by `python benchmarks/oadmm.py{options}`: {kind}, {side_by_side}, {data};
Python {python}, NumPy {numpy}, {machine}.

What to know before reading on:

- **Who takes part.** {methods} methods beside ours. `oadmm-ep` and `oadmm-rr` have two columns in some tables, one with
  the penalty of this library and one (*paper*) with that of the paper's experiments: two settings, one method.
- **Settings of the peers.** In section 1 their penalties were chosen for the problem. In sections 2 to 5 every peer
  runs at the defaults of this library (ManPG with its dual inner solver where A is not the identity). Nobody has fitted
  them to these problems; fitted ones would do better. Ours runs at its defaults everywhere.
- **Where our constants come from.** Most were chosen on the problems of section 2, with three starts, and on 40 small
  problems that no table has; others on raw gene data at weights that no table has, on 11 dual PCP and dictionary
  problems, the three of section 5 among them, and on 69 problems with four starts, all of section 5 among them.
  `src/orthoprox/solvers/oadmm/tuning.py` says it of each constant. So sections 2 and 5 show problems that the method
  was fitted to. No constant is recorded as chosen on those of sections 1, 3 (but for n = 128, r = 10, w = 0.1) and 4;
  the method was written with all of them in view.
- **The clock** takes in what a method sets up for a problem before its first step. It leaves out compiling, measuring
  and the constants that a problem keeps (L_f, the norm of A). A state after the budget does not count."""


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
    parser.add_argument("--out", type=Path, help="a Markdown file for what is printed")
    return parse_with_storage(parser)


def main() -> None:
    given = arguments()
    quick = given.jobs == 1 if given.quick is None else given.quick
    options = Options(seconds=given.seconds, starts=given.starts, quick=quick)
    until = math.inf if given.minutes is None else time.time() + 60 * given.minutes
    parts, total, left = [_head(quick, given)], 0, 0
    for item in given.items:
        jobs = select_jobs(ITEMS[item].jobs(options), given.methods, given.only)
        if not jobs:
            raise SystemExit(f"--only {given.only} leaves none of the runs of item {item}.")
        outcomes, missing = run_all(jobs, given.jobs, given.results, until)
        total, left = total + len(jobs), left + missing
        if not missing:
            parts.append(ITEMS[item].report(outcomes))
            print("\n" + parts[-1], flush=True)
            _keep(given.out, parts)
    if left:
        print(f"\n{left} of {total} runs are left: repeat the command.")
        raise SystemExit(LEFT)
    parts.append(f"{total} runs.")
    _keep(given.out, parts)


def _keep(file: Path | None, parts: list[str]) -> None:
    """Write what there is so far, so that a run that is cut short is not lost."""
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _head(quick: bool, given: argparse.Namespace) -> str:
    machine = environment()["machine"]
    return HEAD.format(
        options=f"{' --no-quick' if not quick else ''} --jobs {given.jobs}",
        kind="a short selection" if quick else "all runs",
        side_by_side=_pool.side_by_side(given.jobs),
        data="real data" if os.environ.get("ORTHOPROX_DATA") else "no real data (ORTHOPROX_DATA is not set)",
        methods=len({method.partition(",")[0] for method in given.methods} - {OURS}),
        python=platform.python_version(),
        numpy=np.__version__,
        machine=f"{machine['processor']}",
    )


if __name__ == "__main__":
    main()

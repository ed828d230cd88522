"""Measures what the pages show, all from one commit, and says on each page which commit, machine and day that was.

python docs/measure.py --list            what is measured how, and what it needs
python docs/measure.py [PAGE ...]        measure these pages, or all of them: many hours, and a GPU for some
python docs/measure.py --note [PAGE ...] measure nothing: only write on each page what the git log tells of its tables

A page whose data or device are not here is left as it is. The code must be as it was committed.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import os
import platform
import re
import shlex
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARK = "> **Figures:**"
PRINTED = "## As printed"
CODE = ("src", "benchmarks", "examples", "docs/*.py", "pyproject.toml")
ENVIRONMENT = {"ORTHOPROX_FUZZ_CASES": "500"} | os.environ


@dataclass(frozen=True)
class Page:
    """How a page is measured."""

    commands: tuple[str, ...]
    """Python scripts with their arguments; {jobs} is the number of cores."""
    sections: tuple[str, ...] = ()
    """The headings whose tables are measured, "" for what stands above the first; without any all of them."""
    printed: bool = False
    """Whether the scripts only print. A printed table replaces the one with the same head. Where a table of the page is
    not printed again, everything that was printed is kept at the end of the page."""
    needs: tuple[str, ...] = ()
    path: str = "docs/{name}.md"
    hidden: bool = False
    """Whether the note is a comment, which readers do not see."""


PAGES = {
    "readme": Page(("benchmarks/readme.py",), ("",), printed=True, path="README.md", hidden=True),
    "benchmark": Page(
        ("benchmarks/oadmm.py --no-quick --jobs {jobs} --results out/benchmark --out docs/benchmark.md",),
        needs=("data",),
    ),
    "estimators": Page(
        ("benchmarks/estimators.py --no-quick --out docs/estimators.md",), ("Side by side",), needs=("data",)
    ),
    "sparse": Page(("benchmarks/sparse.py --out docs/sparse.md",), needs=("data",)),
    "certificate": Page(("docs/certificate.py",), ("How tight it is",), printed=True),
    "solvers": Page(("docs/solvers.py --seconds 3 --jobs {jobs}",)),
    "peers": Page(("docs/peers.py --seconds 8 --starts 5 --jobs {jobs}",), needs=("data",)),
    "oadmm": Page(("docs/oadmm.py --seconds 4 --starts 3 --jobs {jobs}",), ("What each piece brings",)),
    "reproduction": Page(
        (
            "docs/reproduction.py out/reproduction --jobs {jobs} "
            "--run figure1 figure2 figure3 figure4 figure5 smoothing",
            "docs/reproduction.py out/reproduction",
        ),
        needs=("data",),
    ),
    "theory": Page(("docs/theory.py",), ("On the digits",), printed=True),
    "streams": Page(("benchmarks/streams.py --no-quick --out docs/streams.md",), ("Measured",)),
    "scaling": Page(
        ("docs/scaling.py", "benchmarks/scale.py --size 1"),
        ("What a product costs", "What was measured"),
        printed=True,
        needs=("dask",),
    ),
    "autodiff": Page(("benchmarks/autodiff.py",), ("Whether Newton steps pay",), printed=True, needs=("torch",)),
    "reliability": Page(
        ("-m pytest -q -o addopts= --import-mode=importlib --hypothesis-seed=1 tests/fuzz",), ("Figures",), printed=True
    ),
    "gpu": Page(("benchmarks/gpu.py",), ("Measured",), printed=True, needs=("torch", "cuda")),
    "layers": Page(
        ("benchmarks/layers.py speed", "benchmarks/layers.py quality sparse"),
        ("Speed", "Accuracy"),
        printed=True,
        needs=("torch", "cuda"),
    ),
}


def is_here(need: str) -> bool:
    if need == "data":
        return bool(os.environ.get("ORTHOPROX_DATA"))
    if need == "cuda":
        return is_here("torch") and __import__("torch").cuda.is_available()
    return importlib.util.find_spec(need) is not None


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def file_of(name: str) -> Path:
    return ROOT / PAGES[name].path.format(name=name)


def stamped(text: str, note: str, *, hidden: bool = False) -> str:
    """The page with this note under its title, in place of the one it has."""
    text = re.sub(rf"^(<!-- )?{re.escape(MARK)}.*\n\n?", "", text, flags=re.MULTILINE)
    title, _, rest = text.partition("\n")
    line = f"<!-- {MARK} {note} -->" if hidden else f"{MARK} {note}"
    return f"{title}\n\n{line}\n\n{rest.lstrip()}"


def without_output(text: str) -> str:
    """The page without what was printed before."""
    return text.partition(f"{PRINTED}\n")[0].rstrip() + "\n"


def with_output(text: str, output: str) -> str:
    """The page with what was printed at its end, in place of what was printed before."""
    return f"{without_output(text)}\n{PRINTED}\n\n```text\n{output.strip()}\n```\n"


def with_tables(text: str, sections: tuple[str, ...], output: str) -> tuple[str, bool]:
    """The page with the tables that were printed, and whether each measured one has been replaced."""
    lines, printed = text.splitlines(), output.splitlines()
    found: dict[str, list[list[str]]] = {}
    for table in measured_tables(output, ()):
        found.setdefault(head(printed, table), []).append(printed[table.start - 1 : table.stop - 1])
    tables = measured_tables(text, sections)
    new = [(table, found.get(head(lines, table), [])) for table in tables]
    pairs = [(table, same.pop(0)) for table, same in new if same]
    for table, rows in reversed(pairs):
        lines[table.start - 1 : table.stop - 1] = rows
    return "\n".join(lines) + "\n", len(pairs) == len(tables) > 0


def head(lines: list[str], table: range) -> str:
    """The words in the first line of a table."""
    return "|".join(cell.strip() for cell in lines[table.start - 1].split("|"))


def machine() -> str:
    """The processor, the device and the libraries, in words."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.*)$", info.read_text(), re.MULTILINE) if info.is_file() else None
    parts = [f"{found[1] if found else platform.machine()} ({os.cpu_count()} cores)"]
    if is_here("cuda"):
        parts.append(__import__("torch").cuda.get_device_name(0))
    parts.append(f"Python {platform.python_version()}")
    parts += [f"{name} {__import__(name.lower()).__version__}" for name in ("NumPy", "SciPy")]
    return ", ".join(parts)


def measured_tables(text: str, sections: tuple[str, ...]) -> list[range]:
    """The numbers, from 1, of the lines of each measured table."""
    heading, tables, first = "", [], 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.startswith("## "):
            heading = line[3:].strip()
        if line.startswith("|"):
            first = first or number
        elif first:
            if not sections or heading in sections:
                tables.append(range(first, number))
            first = 0
    return tables


def told_by_the_log(name: str) -> str:
    """Which commits were the last to change the tables: more than one, and they may be of several versions."""
    path = PAGES[name].path.format(name=name)
    blame = git("blame", "--line-porcelain", "HEAD", "--", path)
    lines = re.findall(r"^([0-9a-f]{40}) \d+ (\d+).*?^committer-time (\d+)$", blame, re.MULTILINE | re.DOTALL)
    changes = {int(line): (int(seconds), commit) for commit, line, seconds in lines}
    tables = measured_tables(git("show", f"HEAD:{path}"), PAGES[name].sections)
    counts = Counter(max(changes[line] for line in table) for table in tables)
    parts = [
        f"{many(count)} last changed by commit `{sha[:8]}` ({day(sha)})" for (_, sha), count in sorted(counts.items())
    ]
    doubt = "" if len(parts) == 1 else "; these may be of several versions"
    return (
        f"as far as the git log tells, {', '.join(parts)}{doubt}. "
        f"`make measurements ARGS={name}` measures them anew, from one commit."
    )


def many(count: int) -> str:
    return "one table was" if count == 1 else f"{count} tables were"


def day(commit: str) -> str:
    return git("log", "-1", "--format=%cd", "--date=short", commit).strip()


def measure(name: str) -> None:
    page, path = PAGES[name], file_of(name)
    printed = []
    for command in page.commands:
        print(f"{name}: python {command}", flush=True)
        words = [sys.executable, *shlex.split(command.format(jobs=os.cpu_count()))]
        kept = subprocess.PIPE if page.printed else None
        done = subprocess.run(words, cwd=ROOT, env=ENVIRONMENT, check=True, text=True, stdout=kept)
        printed.append(f"$ python {command}\n{done.stdout}" if page.printed else "")
    text = path.read_text("utf-8")
    commit = git("rev-parse", "--short=8", "HEAD").strip()
    note = f"commit `{commit}` ({day('HEAD')}), measured on {datetime.date.today()} on {machine()}."
    if page.printed:
        text, whole = with_tables(without_output(text), page.sections, "\n".join(printed))
    if page.printed and not whole:
        text = with_output(text, "\n".join(printed))
        note = f"printed at the end of the page: {note} In the text: {told_by_the_log(name)}"
    path.write_text(stamped(text, note, hidden=page.hidden), "utf-8")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=", ".join(PAGES))
    parser.add_argument("--list", action="store_true", help="say what would be done")
    parser.add_argument("--note", action="store_true", help="measure nothing, only say where the tables come from")
    given = parser.parse_args(arguments)
    pages = given.pages or list(PAGES)
    unknown = [name for name in pages if name not in PAGES]
    if unknown:
        parser.error(f"no such page: {', '.join(unknown)}; there are {', '.join(PAGES)}.")
    if given.list:
        for name in pages:
            print(f"{name}: {'; '.join(PAGES[name].commands)}; needs {', '.join(PAGES[name].needs) or 'nothing else'}")
        return 0
    if given.note:
        for name in pages:
            path, hidden = file_of(name), PAGES[name].hidden
            path.write_text(stamped(path.read_text("utf-8"), told_by_the_log(name), hidden=hidden), "utf-8")
        return 0
    changed = git("status", "--porcelain", "--", *CODE).strip()
    if changed:
        print(
            f"One commit is to be measured, but the code has changes that are not committed:\n{changed}",
            file=sys.stderr,
        )
        return 1
    for name in pages:
        missing = [need for need in PAGES[name].needs if not is_here(need)]
        if missing:
            print(f"{name}: left as it is, since {' and '.join(missing)} are not here.")
        else:
            measure(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())

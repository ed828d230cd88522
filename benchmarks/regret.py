"""Which minimum a run ends in: the default solver with its own start and from random points, and every peer.

Plain l1 sparse PCA on seven families of data with six weights. Every run has one thread; peers start from random
points, the same for all, and have the same seconds.

    python benchmarks/regret.py [--families digits,text] [--methods oadmm,socm] [--starts 3] [--seconds 5] [--jobs 16]

With --results outcomes are kept in a folder and not made again, and so is the lowest objective ever found; with
--minutes no run is begun after that time: repeat the command until nothing is left.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable

import _pool  # before NumPy: it sets the number of threads

# isort: split
from _options import LEFT, at_least, parse_with_storage
from _regret import FAMILIES, METHODS, OURS, RANDOM, best_known, jobs, report
from _runs import run_all

SHORT = {"ours": OURS, "random": RANDOM}
"""Other words for our two methods: one of the labels has a comma in it."""


def some_of(names: Iterable[str]) -> Callable[[str], list[str]]:
    """A parser of lists such as digits,text."""
    known = tuple(names)

    def parse(text: str) -> list[str]:
        given = [SHORT.get(part.strip(), part.strip()) for part in text.split(",")]
        wrong = [name for name in given if name not in known]
        if wrong:
            raise argparse.ArgumentTypeError(f"expected some of {', '.join(known)}; given {wrong[0]!r}")
        return list(dict.fromkeys(given))

    return parse


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--families", type=some_of(FAMILIES), default=list(FAMILIES), help=f"of {', '.join(FAMILIES)}")
    parser.add_argument("--methods", type=some_of(METHODS), default=list(METHODS), help="as in ours,random,socm")
    parser.add_argument("--starts", type=at_least(1, int), default=3)
    parser.add_argument("--seconds", type=at_least(0.01), default=5.0, help="for each run")
    return parse_with_storage(parser)


def main() -> None:
    given = arguments()
    until = math.inf if given.minutes is None else time.time() + 60 * given.minutes
    todo = jobs(given.families, given.methods, given.starts, given.seconds)
    outcomes, left = run_all(todo, given.jobs, given.results, until)
    if left:
        print(f"{left} of {len(todo)} runs are left: repeat the command.")
        raise SystemExit(LEFT)
    print(f"{len(todo)} runs of {given.seconds:g} s at most, {_pool.side_by_side(given.jobs)}.\n")
    print(report(outcomes, best_known(outcomes, given.results)))


if __name__ == "__main__":
    main()

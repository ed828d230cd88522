"""Options that several benchmarks have: how many processes, where outcomes are kept, when to stop."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

LEFT = 130
"""The exit code where runs are left."""


def at_least(least: float, kind: type[int] | type[float] = float) -> Callable[[str], float]:
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


def parse_with_storage(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The arguments, --jobs, --results and --minutes among them."""
    parser.add_argument("--jobs", type=at_least(1, int), default=1, help="processes, each with one thread")
    parser.add_argument("--results", type=Path, help="a folder where outcomes are kept, and not made again")
    parser.add_argument("--minutes", type=at_least(0.0), help="begin no run after this time (needs --results)")
    given = parser.parse_args()
    if given.minutes is not None and given.results is None:
        parser.error("--minutes needs --results: what is done would be lost.")
    return given

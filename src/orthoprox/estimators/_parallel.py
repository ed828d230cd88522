"""Runs of a fit side by side."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from joblib import Parallel, delayed

from orthoprox.driver import Result, RunFailed


def side_by_side(runs: Sequence[Callable[[], Result[Any]]], n_jobs: int) -> Sequence[Callable[[], Result[Any]]]:
    """The same runs, computed in several processes: each gives its result, or raises what ended it, when called."""
    outcomes = Parallel(n_jobs=n_jobs)(delayed(_try)(run) for run in runs)
    return [functools.partial(_tell, outcome) for outcome in outcomes]


def _try(run: Callable[[], Result[Any]]) -> Result[Any] | RunFailed:
    try:
        return run()
    except RunFailed as failure:
        return failure


def _tell(outcome: Result[Any] | RunFailed) -> Result[Any]:
    if isinstance(outcome, RunFailed):
        raise outcome
    return outcome

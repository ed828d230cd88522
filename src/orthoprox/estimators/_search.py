"""Sparse components by a search for supports, as a run with a result."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoprox._fields import replace
from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.covariance import SampleCovariance
from orthoprox.driver import DEFAULT_SOLVER, Iterations, Result, Status, solve
from orthoprox.driver import Progress as Bar
from orthoprox.estimators import _exact
from orthoprox.estimators._input import Samples
from orthoprox.problem import Problem
from orthoprox.supports import Progress, find_components


def covariance_of(data: Samples) -> SampleCovariance:
    """Products with the covariance of samples, in double precision."""
    return SampleCovariance(data.X.astype(np.float64), data.rest.astype(np.float64), data.degrees_of_freedom)


def search_run(
    estimator: Any, data: Samples, problem: Problem, allowance: Allowance, seed: int, start: Array | None
) -> Result[Any]:
    """A search, and its best point measured by the problem; Ctrl-C keeps the best so far, if there is one.

    Parameters
    ----------
    estimator : SparsePCA
        Whose settings count: ``effort``, ``max_iter``, ``tol`` and ``verbose``.
    data : Samples
    problem : Problem
    allowance : Allowance
    seed : int
    start : array, shape (n, r), optional
        A point to improve, in place of a search from scratch.
    """
    progress = Progress(most=estimator.max_iter)
    status = Status.STALLED  # the search came to its own end, unless something ends it
    try:
        find_components(
            covariance_of(data), allowance, effort=estimator.effort, seed=seed, start=start, progress=progress
        )
    except KeyboardInterrupt:
        if progress.best is None:
            raise
        status = Status.INTERRUPTED
    if progress.cut:
        status = Status.ITERATIONS
    X = _exact.improve_rows(data, np.asarray(progress.best, dtype=data.like.dtype))
    observers = [Bar(always=True)] if estimator.verbose else []
    result = solve(problem, DEFAULT_SOLVER, problem.M.project(X), stop=Iterations(0), observers=observers)
    result = replace(result, X=X, status=status, iterations=progress.rounds)
    return _exact.finish_on_support(problem, result, estimator.tol)

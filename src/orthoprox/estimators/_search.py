"""Sparse components by a search for supports, as a run with a result."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoprox._fields import replace
from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.covariance import SampleCovariance
from orthoprox.driver import Iterations, Result, Status, solve
from orthoprox.driver import Progress as Bar
from orthoprox.estimators import _exact
from orthoprox.estimators._input import Samples
from orthoprox.problem import Problem
from orthoprox.solvers import Solver
from orthoprox.supports import Progress, find_components


def covariance_of(data: Samples) -> SampleCovariance:
    """Products with the covariance of samples, in double precision."""
    return SampleCovariance(data.X.astype(np.float64), data.rest.astype(np.float64), data.degrees_of_freedom)


def search_run(
    data: Samples,
    problem: Problem,
    solver: Solver[Any],
    allowance: Allowance,
    *,
    effort: str,
    seed: int,
    start: Array | None,
    max_iter: int,
    tol: float,
    verbose: bool,
) -> Result[Any]:
    """A search, and its best point measured by the problem; Ctrl-C keeps the best so far, if there is one."""
    progress = Progress(most=max_iter)
    status = Status.STALLED  # the search came to its own end, unless something ends it
    try:
        find_components(covariance_of(data), allowance, effort=effort, seed=seed, start=start, progress=progress)
    except KeyboardInterrupt:
        if progress.best is None:
            raise
        status = Status.INTERRUPTED
    if progress.over:
        status = Status.ITERATIONS
    X = np.asarray(progress.best, dtype=data.like.dtype)
    observers = [Bar(always=True)] if verbose else []
    result = solve(problem, solver, problem.M.project(X), stop=Iterations(0), observers=observers)
    result = replace(result, X=X, status=status, iterations=progress.rounds)
    return _exact.finish_on_support(problem, result, tol)

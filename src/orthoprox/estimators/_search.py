"""Sparse components by a search for supports, as a run with a result."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoprox._fields import replace
from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.driver import DEFAULT_SOLVER, Iterations, Result, RunFailed, Status, solve
from orthoprox.driver import Progress as Bar
from orthoprox.estimators import _exact
from orthoprox.estimators._device import host_result, start_for
from orthoprox.estimators._input import Samples
from orthoprox.estimators._spectrum import leading_pairs
from orthoprox.estimators._stages import run_stages
from orthoprox.problem import Problem
from orthoprox.supports import EFFORTS, Effort, Progress, find_components, included


def search_run(
    estimator: Any,
    data: Samples,
    problem: Problem,
    allowance: Allowance,
    seed: int,
    start: Array | None,
    effort: Effort | None = None,
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
    effort : Effort, optional
        In place of the estimator's.
    """
    effort = estimator.effort if effort is None else effort
    progress = Progress(most=estimator.max_iter)
    status = Status.STALLED  # the search came to its own end, unless something ends it
    C, pairs = data.covariance, leading_pairs(data, allowance.r)
    leading = None if pairs is None else pairs.vectors
    try:
        find_components(C, allowance, effort=effort, seed=seed, start=start, leading=leading, progress=progress)
    except KeyboardInterrupt:
        if progress.best is None:
            raise
        status = Status.INTERRUPTED
    if progress.cut and status is not Status.INTERRUPTED:
        status = Status.ITERATIONS
    best = np.asarray(progress.best, dtype=data.like.dtype)
    X = _exact.improve_rows(data, best)
    observers = [Bar(always=True)] if estimator.verbose else []
    start = start_for(problem.data, problem.M.project(X))
    result = host_result(solve(problem, DEFAULT_SOLVER, start, stop=Iterations(0), observers=observers))
    result = replace(result, X=X, status=status, iterations=progress.rounds)
    finish = _exact.finish_on_support if X is best else _exact.judge
    return finish(problem, result, estimator.tol)


def with_solver(
    estimator: Any, data: Samples, problem: Problem, found: Result[Any], seed: int, *, first: bool
) -> Result[Any]:
    """The better one of what a search has found and what it makes of the solver's zeros; Ctrl-C keeps it too."""
    if found.status is Status.INTERRUPTED:
        return found
    try:
        every = [found, *_from_solver(estimator, data, problem, seed, first=first)]
    except KeyboardInterrupt:
        return replace(found, status=Status.INTERRUPTED)
    except RunFailed:
        return found
    best = min(every, key=lambda one: one.objective)
    for status in (Status.INTERRUPTED, Status.ITERATIONS):
        if any(one.status is status for one in every):
            return replace(best, status=status)
    return best


def _from_solver(estimator: Any, data: Samples, problem: Problem, seed: int, *, first: bool) -> list[Result[Any]]:
    """The solver's zeros, and what exchanges make of them; of a total also of its equal parts: it is never worse."""
    X0, warm = estimator._start(data, problem, seed, first=first)
    stages = estimator._stages(data, problem, X0, warm=warm)
    solved = run_stages(stages, X0, lambda result: result, verbose=bool(estimator.verbose))
    allowance = estimator._allowance(data)
    polished, part = _exact.polish_to_count(problem, solved, estimator._count(data), estimator.tol), None
    if allowance.slack:
        part = _exact.polish_to_count(problem, solved, list(allowance.equal_caps().level()), estimator.tol)
    found = [polished]
    for effort in (EFFORTS[name] for name in included(estimator.effort)):
        begun = [polished]
        if part is not None:
            begun.append(search_run(estimator, data, problem, allowance.equal_caps(), seed, part.X, effort))
        found += [*begun[1:], *(search_run(estimator, data, problem, allowance, seed, b.X, effort) for b in begun)]
    return found

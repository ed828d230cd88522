"""Sparse components by a search for supports, as a run with a result."""

from __future__ import annotations

from typing import Any, NamedTuple

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
from orthoprox.supports import EFFORTS, Effort, Progress, find_components, included, is_crowded

_NEAR = 0.99
"""Of the best variance: what a search has found with less does not gain enough from a last step to be the best."""


class Candidate(NamedTuple):
    """What a search has found, before its last step."""

    X: Array
    value: float
    status: Status
    rounds: int


def search_run(
    estimator: Any, data: Samples, problem: Problem, seed: int, start: Array | None, *, first: bool
) -> Result[Any]:
    """A search as a run, from scratch or from a start; where supports are crowded the solver's zeros compete.

    Parameters
    ----------
    estimator : SparsePCA
        Whose settings count.
    data : Samples
    problem : Problem
    seed : int
    start : array, shape (n, r), optional
        A point to improve, in place of a search from scratch.
    first : bool
        Whether this is the first run, in which nothing is random.
    """
    allowance = estimator._allowance(data)
    found = search(estimator, data, allowance, 0 if first else seed, start)
    if start is None and is_crowded(data.n_features, allowance):
        return with_solver(estimator, data, problem, found, seed, first=first)
    return finish(estimator, data, problem, found)


def search(
    estimator: Any,
    data: Samples,
    allowance: Allowance,
    seed: int,
    start: Array | None = None,
    effort: Effort | None = None,
) -> Candidate:
    """A search; Ctrl-C keeps the best so far, if there is one.

    Parameters
    ----------
    estimator : SparsePCA
        Whose ``effort`` and ``max_iter`` count.
    data : Samples
    allowance : Allowance
    seed : int
    start : array, shape (n, r), optional
        A point to improve, in place of a search from scratch.
    effort : Effort, optional
        In place of the estimator's.
    """
    progress = Progress(most=estimator.max_iter)
    status = Status.STALLED  # the search came to its own end, unless something ends it
    C, pairs = data.covariance, leading_pairs(data, allowance.r)
    leading, effort = None if pairs is None else pairs.vectors, estimator.effort if effort is None else effort
    try:
        find_components(C, allowance, effort=effort, seed=seed, start=start, leading=leading, progress=progress)
    except KeyboardInterrupt:
        if progress.best is None:
            raise
        status = Status.INTERRUPTED
    if progress.cut and status is not Status.INTERRUPTED:
        status = Status.ITERATIONS
    best = np.asarray(progress.best, dtype=data.like.dtype)
    return Candidate(best, progress.value, status, progress.rounds)


def finish(estimator: Any, data: Samples, problem: Problem, found: Candidate) -> Result[Any]:
    """What a search has found as the result of a run: Newton's method to the last digit, and measures."""
    X = _exact.improve_rows(data, found.X)
    observers = [Bar(always=True)] if estimator.verbose else []
    start = start_for(problem.data, problem.M.project(X))
    result = host_result(solve(problem, DEFAULT_SOLVER, start, stop=Iterations(0), observers=observers))
    result = replace(result, X=X, status=found.status, iterations=found.rounds)
    judge = _exact.finish_on_support if X is found.X else _exact.judge
    return judge(problem, result, estimator.tol)


def with_solver(
    estimator: Any, data: Samples, problem: Problem, found: Candidate, seed: int, *, first: bool
) -> Result[Any]:
    """The best of what a search has found and what others make of the solver's zeros; Ctrl-C keeps the first too."""
    every, status = [found], [found.status]
    if found.status is not Status.INTERRUPTED:
        try:
            solved = _run_solver(estimator, data, problem, seed, first=first)
            every += _from_solver(estimator, data, problem, solved, seed)
            status += [solved.status, *(one.status for one in every)]
        except KeyboardInterrupt:
            status.append(Status.INTERRUPTED)
        except RunFailed:
            pass
    least = _NEAR * max(one.value for one in every)
    results = [finish(estimator, data, problem, one) for one in every if one.value >= least]
    best = min(results, key=lambda one: one.objective)
    ended = [one for one in (Status.INTERRUPTED, Status.ITERATIONS) if one in status]
    return replace(best, status=ended[0]) if ended else best


def _run_solver(estimator: Any, data: Samples, problem: Problem, seed: int, *, first: bool) -> Result[Any]:
    X0, warm = estimator._start(data, problem, seed, first=first)
    stages = estimator._stages(data, problem, X0, warm=warm)
    return run_stages(stages, X0, lambda result: result, verbose=bool(estimator.verbose))


def _from_solver(estimator: Any, data: Samples, problem: Problem, solved: Result[Any], seed: int) -> list[Candidate]:
    """What exchanges make of the solver's zeros, of a total also those of its equal parts: it is never worse."""
    allowance, found = estimator._allowance(data), []
    whole = _exact.near_count(problem, solved, estimator._count(data))
    for effort in (EFFORTS[name] for name in included(estimator.effort)):
        begun = [whole]
        if allowance.slack:
            caps = allowance.equal_caps()
            part = _exact.near_count(problem, solved, list(caps.level()))
            found.append(search(estimator, data, caps, seed, part, effort))
            begun.append(found[-1].X)
        found += [search(estimator, data, allowance, seed, X, effort) for X in begun]
    return found

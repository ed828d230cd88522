"""Runs of a fit from several starts that are led on together, on a device where many take hardly longer than one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from orthoprox._fields import replace
from orthoprox.backends import backend_of
from orthoprox.driver import Recorder, Result, Status
from orthoprox.driver._batch import Run
from orthoprox.driver._devices import mover
from orthoprox.driver.many import is_stackable, run_together
from orthoprox.estimators._device import host_result, start_for
from orthoprox.estimators._input import Samples
from orthoprox.problem import Problem

Call = Callable[[], Result[Any]]


def lead_runs(
    estimator: Any, data: Samples, problem: Problem, runs: Sequence[Call], seeds: Sequence[int]
) -> Sequence[Call]:
    """The runs of a fit, one for each seed, perhaps already computed."""
    if not data.in_one_process:
        return estimator._side_by_side(runs)  # type: ignore[no-any-return]
    return _lead_together(estimator, data, problem, seeds) or runs


def _lead_together(estimator: Any, data: Samples, problem: Problem, seeds: Sequence[int]) -> Sequence[Call] | None:
    """What each run gives when it is called, or None where they are to go one after the other.

    Runs of one stage go together, with a method whose steps can be stacked, where that is faster. What Ctrl-C has ended
    comes last, the best one first.
    """
    faster = len(seeds) > 1 and backend_of(problem.like).stacks_pay(problem.like)
    if not faster or estimator.verbose or not is_stackable(estimator._method(warm=False)):
        return None
    starts = [estimator._start(data, problem, seed, first=i == 0) for i, seed in enumerate(seeds)]
    stages = [tuple(estimator._stages(data, problem, X0, warm=warm)) for X0, warm in starts]
    first, *others = stages[0]
    if others or first.problem is not problem or any(each != (first,) for each in stages):
        return None
    runs = [Run(problem, start_for(problem.data, X0), 0) for X0, _ in starts]
    found = run_together(runs, first.solver, first.stop, Recorder(every=1), mover(problem, None))
    if not isinstance(found, list):
        return None  # alone, a run that fails has its own sentence
    found.sort(key=lambda result: (1, result.objective) if result.status is Status.INTERRUPTED else (0, 0.0))
    return [functools.partial(_finish, estimator, data, problem, result) for result in found]


def _finish(estimator: Any, data: Samples, problem: Problem, result: Result[Any]) -> Result[Any]:
    last: Result[Any] = estimator._finish(data, problem, host_result(result))
    return replace(last, status=Status.INTERRUPTED) if result.status is Status.INTERRUPTED else last

"""The stages of a run: each starts where the one before ended, and Ctrl-C keeps the last point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from orthoprox._fields import replace
from orthoprox._types import Array
from orthoprox.driver import Iterations, Progress, Recorder, Result, Rule, Status, solve
from orthoprox.estimators._device import host_result, start_for
from orthoprox.problem import Problem
from orthoprox.solvers import Solver

SUCCESSES = (Status.CONVERGED, Status.STALLED)
"""The statuses of a method that came to its own end; they give no warning."""


class Stage(NamedTuple):
    """A problem, the method for it and when to stop."""

    problem: Problem
    solver: Solver[Any]
    stop: Rule


def run_stages(
    stages: Sequence[Stage], X0: Array, finish: Callable[[Result[Any]], Result[Any]], *, verbose: bool = False
) -> Result[Any]:
    """Run the stages one after the other and finish; Ctrl-C ends that at the last point, which is finished too.

    The result is that of the last stage: those before it lead to its start, and what ends them does not count.
    """
    done: list[Result[Any]] = []
    try:
        for stage in stages:
            observers = [Progress(always=True)] if verbose else []
            start = start_for(stage.problem.data, done[-1].X if done else X0)
            # the rules of fits compare records, one for each iteration
            record = Recorder(every=1)
            done.append(solve(stage.problem, stage.solver, start, stop=stage.stop, record=record, observers=observers))
            if done[-1].status is Status.INTERRUPTED:
                break
        else:
            return finish(host_result(done[-1]))
    except KeyboardInterrupt:
        if not done:
            raise
    result = done[-1]
    if len(done) < len(stages):  # measure the point by the problem itself
        problem, solver, _ = stages[-1]
        result = solve(problem, solver, result.X, stop=Iterations(0))
    return replace(finish(host_result(result)), status=Status.INTERRUPTED)


def status_after(run: Status, *, critical: bool) -> Status:
    """The status of a run that was moved to another point after its end.

    A run that something else stopped stays so, however good the point: it might have gone on to a better one. One that
    came to its own end is converged if the point is critical.
    """
    if run not in SUCCESSES:
        return run
    if critical:
        return Status.CONVERGED
    return Status.UNCONFIRMED if run is Status.CONVERGED else run

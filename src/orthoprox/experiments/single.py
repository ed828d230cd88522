"""One run, from a job to its archive."""

from __future__ import annotations

import functools
import math
import time
from dataclasses import asdict
from typing import Any

import numpy as np

from orthoprox.driver import Iterations, Recorder, Seconds, Snapshot, Status, When, solve
from orthoprox.driver.stopping import Rule
from orthoprox.experiments.data import RunData, load_data
from orthoprox.experiments.environment import environment
from orthoprox.experiments.methods import make_solver
from orthoprox.experiments.spec import Job, Kept, entries_kept
from orthoprox.experiments.store import Archive
from orthoprox.models import sparse_pca
from orthoprox.problem import Problem, nonzeros
from orthoprox.solvers import Solver
from orthoprox.theory import Lyapunov

START = 10_000
"""Added to the seed of the data for that of the start: random data and the start must not share their numbers."""
RECORDS_PER_DOUBLING = 25


class BudgetRecorder(Recorder):
    """Records what a run has reached within its budget, on a clock that includes the set-up.

    Every iteration at first and fewer later: the same number for each doubling. A state after the budget is never
    recorded, however long the step that led to it; ``last`` is the state by which the run is judged.

    Parameters
    ----------
    budget : float
        Seconds.
    set_up : float
        Seconds that were spent before the first step.

    Examples
    --------
    >>> record = BudgetRecorder()
    >>> sum(record.due(t) for t in range(50)), sum(record.due(t) for t in range(6400, 12800))
    (50, 25)
    """

    def __init__(self, budget: float = math.inf, set_up: float = 0.0) -> None:
        super().__init__(extra={"seconds": self.clock, "work": _work})
        self.budget, self.set_up = budget, set_up
        self.last: Snapshot | None = None

    def clock(self, now: Snapshot) -> float:
        """Seconds that the method has taken in all."""
        return self.set_up + now.seconds

    def due(self, t: int) -> bool:
        return t % (1 << max(0, (t // RECORDS_PER_DOUBLING).bit_length() - 1)) == 0

    def __call__(self, now: Snapshot) -> None:
        self._keep(now)
        super().__call__(now)

    def record(self, now: Snapshot) -> None:
        super().record(self._keep(now))

    def _keep(self, now: Snapshot) -> Snapshot:
        """The last state within the budget; the start counts as such."""
        if self.last is None or self.clock(now) <= self.budget:
            self.last = now
        return self.last


def execute(job: Job, data_folder: str | None = None) -> Archive:
    """Run a job.

    Examples
    --------
    >>> from orthoprox.experiments import Experiment, Method
    >>> tiny = Experiment(name="tiny", title="", datasets=("randn-40-10",), weights=(1.0,), components=2,
    ...                   methods=(Method("EP", "oadmm-ep", {"beta0": "10 * weight"}),), iterations=5)
    >>> archive = execute(next(tiny.jobs())[1])
    >>> archive.facts["iterations"], len(archive.history["objective"])
    (5, 6)
    """
    data = load_data(job.dataset, job.seed, data_folder)
    problem = _problem(job.dataset, job.seed, data_folder, job.components, job.weight, job.kept)
    start = problem.M.random(START + job.seed)
    solver = make_solver(job.solver, dict(job.settings))
    record = BudgetRecorder(math.inf if job.seconds is None else job.seconds, _set_up(problem, solver, start))
    watch = Lyapunov() if job.watch == "lyapunov" else None
    result = solve(
        problem,
        solver,
        start,
        stop=_stop(job, record),
        record=record,
        observers=[] if watch is None else [watch],
    )
    if result.status is Status.INTERRUPTED:  # an interrupted run is no result
        raise KeyboardInterrupt
    used = record.set_up + result.seconds
    outcome = {
        **_reached(job, data, record.last),
        "status": (Status.SECONDS if used > record.budget else result.status).name.lower(),
        "seconds_used": used,
        "notes": list(result.notes),
    }
    facts = {**asdict(job), **outcome, **environment()}
    return Archive(facts, result.history, {} if watch is None else watch.history)


def _set_up(problem: Problem, solver: Solver[Any], start: Any) -> float:
    """The seconds a method takes before its first step; constants of the problem are known to all methods."""
    _ = problem.f.lipschitz, problem.A.norm
    since = time.perf_counter()
    solver.scope.admit(problem, solver.name)
    solver.for_problem(problem).init(problem, start)
    return time.perf_counter() - since


@functools.lru_cache(maxsize=2)
def _problem(dataset: str, seed: int, folder: str | None, components: int, weight: float, kept: Kept) -> Problem:
    data = load_data(dataset, seed, folder)
    k = None if kept is None else entries_kept(kept, data.n * components)
    return sparse_pca(data.D, n_components=components, weight=weight, k=k)


def _stop(job: Job, record: BudgetRecorder) -> Rule:
    """The budget, and Crit at the iterations that are recorded."""

    def converged(now: Snapshot) -> Status | None:
        return Status.CONVERGED if record.due(now.t) and now.criticality <= job.tolerance else None

    rule: Rule = When(converged)
    if job.iterations is not None:
        rule = rule | Iterations(job.iterations)
    if job.seconds is not None:
        rule = rule | Seconds(max(job.seconds - record.set_up, 0.0))
    return rule


def _work(now: Snapshot) -> float:
    return float(now.solver.work(now.state))


def _reached(job: Job, data: RunData, last: Snapshot | None) -> dict[str, Any]:
    """What a run had reached when its budget was over, measured with fresh products."""
    assert last is not None  # every run records its start
    end, problem = last.remeasure(), last.problem
    n, r = problem.M.n, problem.M.r
    return {
        "method": end.solver.name,
        "solver_settings": repr(end.solver),
        "objective": end.objective,
        "criticality": end.criticality,
        "infeasibility": end.infeasibility,
        "nonzeros": nonzeros(end.X),
        "nonzeros_y": nonzeros(end.certificate.y),
        "n": n,
        "r": r,
        "m": data.m,
        "k": n * r if job.kept is None else entries_kept(job.kept, n * r),
        "variance_kept": float(np.sum(data.D(end.X) ** 2)) / data.principal_variance(r),
        "iterations": end.t,
        "work": end.solver.work(end.state),
        "start_seed": START + job.seed,
        "data_checksum": data.checksum,
        "data_divided_by": data.divisor,
    }

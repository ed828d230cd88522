"""A run of one method from a common start: what it reaches within a budget, and when.

The clock takes in what a method sets up for a problem before its first step, and leaves out compiling, measuring and
the constants that a problem keeps (L_f, the norm of A). Crit and F are measured whenever the clock has advanced by two
per cent, so that neither many cheap iterations nor a few long ones are at an advantage; a state after the budget does
not count.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from _pool import unordered
from _problems import common_start

from orthoprox import Problem, Recorder, RunFailed, Solver, Stiefel, UnsupportedProblem, named, solve
from orthoprox.experiments.environment import environment
from orthoprox.starts import Start
from orthoprox.terms import L1, ExplainedVariance, LargestK

OURS = "oadmm"
PEERS = (
    *("manial-1", "manial-2", "madmm", "manpg-ada", "radmm", "socm"),
    *("oadmm-ep", "oadmm-rr", "spgm-ep", "subgradient"),
)
LITERAL = ("oadmm-ep, paper", "oadmm-rr, paper")
"""The paper's two variants with its own penalty, ten times the weight."""
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Options:
    """What the user asked for; None leaves it to the item."""

    seconds: float | None = None
    starts: int | None = None
    quick: bool = False


@dataclass(frozen=True)
class Instance:
    """A problem with its common starts."""

    problem: Problem
    start: Callable[[int], Any]
    variants: Mapping[str, Solver[Any]] = field(default_factory=dict)
    """Methods whose settings are not the default ones, by their label."""
    rules: Mapping[str, Start] = field(default_factory=dict)
    """Methods that choose their start by a rule of their own, by their label; the clock takes that in."""
    residual: Callable[[Any], float] = lambda now: now.criticality
    """What has to fall to the tolerance."""
    measure: Callable[[Any], Mapping[str, float]] = lambda X: {}
    """Further numbers of the last X."""

    def solver(self, method: str) -> Solver[Any]:
        """The method with the settings that it is given for this problem."""
        solver = self.variants.get(method) or (literal(method, self.problem) if method in LITERAL else named(method))
        solver.scope.admit(self.problem, solver.name)
        return solver


def literal(method: str, problem: Problem) -> Solver[Any]:
    """OADMM with the penalty of the paper's experiments, even where a weakly convex h asks for a larger one."""
    return named(method.partition(",")[0], beta0=10 * problem.h.lipschitz_constant((1, 1)), strict_theory=False)


def with_common_starts(problem: Problem, **more: Any) -> Instance:
    """An instance whose starts are random points moved a little way by the subgradient method."""
    return Instance(problem, lambda seed: common_start(problem, seed), **more)


@dataclass(frozen=True)
class Job:
    """A run to make; the process that makes it builds the instance itself."""

    item: str
    """The module whose ``instance`` makes the problem."""
    case: tuple[Any, ...]
    method: str
    seed: int
    seconds: float
    tolerance: float = TOLERANCE


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run."""

    job: Job
    rows: list[tuple[float, float]]
    """Seconds and F."""
    time: float
    """Seconds until the residual was at most the tolerance; infinite if it never was."""
    F: float
    residual: float
    iterations: int
    work: int
    """Products with the data; a step of a method may need several."""
    nonzeros: int
    infeasibility: float
    """The largest entry of X'X - I in magnitude."""
    more: Mapping[str, float]

    @property
    def counted(self) -> float:
        """The time, a run that did not get there counted at its budget."""
        return min(self.time, self.job.seconds)

    def first(self, target: float) -> float:
        """Seconds until F was at most the target; infinite if it never was."""
        return next((seconds for seconds, F in self.rows if target >= F), math.inf)


class Watch:
    """Follows a run; says when it is over."""

    def __init__(self, instance: Instance, job: Job, set_up: float) -> None:
        self.instance, self.job, self.set_up = instance, job, set_up
        self.rows: list[tuple[float, float]] = []
        self.time, self.due = math.inf, 0.0
        self.last: Any = None

    def __call__(self, now: Any) -> bool:
        seconds = self.set_up + now.seconds
        if seconds > self.job.seconds and self.last is not None:
            return True
        self.last = now
        if seconds < self.due:
            return False
        self.due = 1.02 * seconds
        self.rows.append((seconds, now.objective))
        if self.instance.residual(now) <= self.job.tolerance:
            self.time = seconds
        return math.isfinite(self.time)


def run(job: Job) -> Outcome | None:
    """Make a run; None where the method refuses the problem."""
    instance: Instance = importlib.import_module(job.item).instance(job.case)
    start = instance.start(job.seed)
    try:
        solver, seconds = set_up(instance.solver(job.method), instance.problem, start)
    except UnsupportedProblem:
        return None
    watch = Watch(instance, job, seconds)
    try:
        X0 = instance.rules.get(job.method, start)
        solve(instance.problem, solver, X0, seed=job.seed, stop=watch, record=Recorder(every=10**9))
    except RunFailed as error:
        if watch.last is None:
            raise
        print(f"{job.case} {job.method}: {error}", file=sys.stderr)
    last = watch.last
    X = np.asarray(last.X)
    return Outcome(
        job=job,
        rows=[*watch.rows, (watch.set_up + last.seconds, last.objective)],
        time=watch.time,
        F=last.objective,
        residual=instance.residual(last),
        iterations=last.t,
        work=solver.work(last.state),
        nonzeros=int(np.count_nonzero(X)),
        infeasibility=float(np.abs(X.T @ X - np.eye(X.shape[1])).max()),
        more=instance.measure(X),
    )


def set_up(solver: Solver[Any], problem: Problem, start: Any) -> tuple[Solver[Any], float]:
    """A method made ready for a problem, and the seconds that took; run before, so that nothing is compiled in them."""
    solver.for_problem(problem)
    since = time.perf_counter()
    ready = solver.for_problem(problem)
    ready.init(problem, start)
    return ready, time.perf_counter() - since


def warm_up() -> None:
    """A few steps of everything on a small problem, so that no run pays for what Python and BLAS load once."""
    f = ExplainedVariance(np.random.default_rng(0).standard_normal((20, 12)))
    for penalty in (L1(0.1), L1(0.1) - LargestK(6, 0.1)):
        problem = Problem.of(f + penalty, over=Stiefel(12, 3))
        for name in (OURS, *PEERS):
            solve(problem, name, seed=1, stop=lambda now: now.t >= 30, record=Recorder(every=10**9))


def run_all(
    jobs: list[Job], processes: int, folder: Path | None = None, until: float = math.inf
) -> tuple[dict[tuple[Any, ...], Outcome], int]:
    """The outcomes by case, method and seed, in the order of the jobs, and how many runs are left.

    Outcomes go to the folder and are not made again; no run is begun after ``until``, in the seconds of time.time().
    """
    outcomes: dict[Job, Outcome | None] = {}
    make = functools.partial(_keep, folder=folder, until=until)
    longest_first = sorted(jobs, key=lambda job: -job.seconds)
    for done, (job, found) in enumerate(unordered(make, longest_first, processes, warm_up), start=1):
        if sys.stderr.isatty():
            print(f"\r{done} of {len(jobs)} runs", end="" if done < len(jobs) else "\n", file=sys.stderr, flush=True)
        if found is not None:
            outcomes[job] = found[0]
    by_key = {(job.case, job.method, job.seed): outcomes.get(job) for job in jobs}
    return {key: one for key, one in by_key.items() if one is not None}, len(jobs) - len(outcomes)


def _keep(job: Job, folder: Path | None, until: float) -> tuple[Outcome | None] | None:
    """The outcome of a run, made now or before; None where it is too late to begin."""
    file = None if folder is None else folder / f"{job.item}-{_digest(job)}.json"
    if file is not None and file.exists():
        return (_read(job, json.loads(file.read_text("utf-8"))),)
    if time.time() >= until:
        return None
    outcome = run(job)
    if file is not None:
        entries = None if outcome is None else {**dataclasses.asdict(outcome), "job": repr(job)}
        side = file.with_suffix(f".{os.getpid()}.part")
        side.parent.mkdir(parents=True, exist_ok=True)
        side.write_text(json.dumps(entries), "utf-8")
        os.replace(side, file)
    return (outcome,)


def _digest(job: Job) -> str:
    """Of the run and of the code that decides its numbers."""
    return hashlib.sha256(f"{job!r} {environment()['code']}".encode()).hexdigest()[:16]


def _read(job: Job, entries: dict[str, Any] | None) -> Outcome | None:
    if entries is None:
        return None
    rows = [(seconds, F) for seconds, F in entries["rows"]]
    return Outcome(**{**entries, "job": job, "rows": rows})


def methods_in(outcomes: Mapping[tuple[Any, ...], Outcome]) -> list[str]:
    """The methods that have made a run, in the order of the jobs."""
    return list(dict.fromkeys(method for _, method, _ in outcomes))


def count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def geometric_mean(values: Iterable[float]) -> float:
    return math.exp(float(np.mean([math.log(value) for value in values])))


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A Markdown table, its columns lined up."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |" for row in cells]
    return "\n".join([lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]])

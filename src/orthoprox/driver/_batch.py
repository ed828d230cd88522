"""Runs that go together, until each has ended by itself."""

from __future__ import annotations

import contextlib
import functools
import gc
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoprox._fields import replace
from orthoprox._linalg import rounding
from orthoprox._types import Array
from orthoprox.backends import backend_of, compile_seconds
from orthoprox.driver._devices import Mover
from orthoprox.driver._interrupts import Interrupts
from orthoprox.driver._own_parts import check_own_numbers, check_user_functions, has_user_parts
from orthoprox.driver._stack import NotOfOneShape
from orthoprox.driver._together import FEW, States, Together, join
from orthoprox.driver.observers import Recorder
from orthoprox.driver.result import History, Result, Status, off_notes
from orthoprox.driver.start import starting_point
from orthoprox.driver.stopping import Look, Rule
from orthoprox.driver.units import choose_units
from orthoprox.problem import Criticality, Numbers, Problem
from orthoprox.solvers import Solver
from orthoprox.solvers._base import not_lipschitz
from orthoprox.starts import Auto, Random, Start

FloatArray = np.ndarray[Any, Any]
_MOST = 64
"""Steps between two looks at the clock."""


@dataclass(frozen=True, eq=False)
class Run:
    """One of many: its problem and where it begins."""

    problem: Problem
    X0: Array | Start | None
    seed: int


@dataclass(frozen=True, eq=False)
class Row:
    """What was measured of the runs that were under way."""

    t: int
    seconds: float
    runs: FloatArray
    found: Numbers

    def columns(self, problem: Problem) -> dict[str, FloatArray]:
        """One array for each column of a history."""
        found, size = self.found, problem.M.n * problem.M.r
        return {
            "iteration": np.full(len(self.runs), self.t),
            "seconds": np.full(len(self.runs), self.seconds),
            "objective": found.objective,
            "criticality": found.primal + found.dual + found.stationarity,
            "primal": found.primal,
            "dual": found.dual,
            "stationarity": found.stationarity,
            "infeasibility": found.infeasibility,
            "sparsity": 1.0 - found.nonzeros / size,
        }


@dataclass(frozen=True, eq=False)
class Ends:
    """Runs that ended at one iteration: why, and the Crit that was seen."""

    t: int
    seconds: float
    runs: FloatArray
    statuses: list[Any]
    seen: FloatArray


class EndsAtOnce(NotOfOneShape):
    """Some runs end where they begin, at a state without the shape that others keep."""

    def __init__(self, runs: Sequence[int]) -> None:
        super().__init__("A run that ends where it begins is solved alone.")
        self.runs = frozenset(runs)


class Batch:
    """Runs of one method that are led on together."""

    def __init__(self, runs: Sequence[Run], method: Solver[Any], rule: Rule, record: Recorder, move: Mover) -> None:
        self._runs, self._rule, self._record, self._move = runs, rule, record, move
        self._compiled, self._since = compile_seconds(), time.perf_counter()
        like = runs[0].problem.like  # problems of another kind are refused below, where all are stacked
        self._solvers = [_fitted(run, method, like) for run in runs]
        self._names, self._notes, X0 = _points(runs, Auto() if method.auto_start else Random())
        # Notes on their data are no difference between problems.
        problems = [replace(run.problem, notes=()) if run.problem.notes else run.problem for run in runs]
        self._whole = self._together = Together(problems, self._solvers, X0, move)
        self._active = np.arange(len(runs))
        """Which runs the states are of."""
        self._ended = np.zeros(len(runs), dtype=bool)
        """Which of all runs have ended."""
        self._rows: list[Row] = []
        self._ends: list[Ends] = []
        self._kept: list[States] = []
        """The states of the runs that have ended, as in ``_ends``."""
        sizes = [(run.problem.f.lipschitz or 0.0, run.problem.A.norm) for run in runs]
        self._lipschitz, self._norms = np.asarray(sizes).T
        self._unbounded = np.asarray([not_lipschitz(run.problem) for run in runs])
        """Where h is a constraint, which an infinite objective says X violates."""

    def run(self) -> list[Result[Any]]:
        """Lead all runs to their ends."""
        with Interrupts() as interrupts:
            self._lead(interrupts)
        with no_collection():
            return self._measure()

    def _lead(self, interrupts: Interrupts) -> None:
        found, before = self._together.begin()
        at_start, t, states = self._look(0, found), 1, before
        statuses = self._look(1, self._together.numbers(states))
        pairs = enumerate(zip(at_start, statuses, strict=True))
        at_once = [k for k, (now, then) in pairs if now is not None or then is Status.NOT_FINITE]
        if at_once:
            raise EndsAtOnce(at_once)
        while True:
            if interrupts.came:
                statuses = [status or Status.INTERRUPTED for status in statuses]
            self._finish(t, statuses, states, before)
            if self._ended.all():
                return
            before = states = self._shrink(states)
            try:
                with interrupts.raised():
                    states, t = self._advance(states, t)
            except KeyboardInterrupt:  # all end where they were last looked at
                return self._finish(t, [Status.INTERRUPTED] * len(self._active), before, before)
            statuses = self._look(t, self._together.numbers(states))

    def _advance(self, states: States, t: int) -> tuple[States, int]:
        """Go on until somebody has to look, or the time is over."""
        target = t + min(self._rule.rest(t), self._record.rest(t))
        while t < target:
            count = min(target - t, _MOST)
            states, t = self._together.advance(states, count, self._ended[self._active]), t + count
            if self._rule.seconds is not None and self._seconds() >= self._rule.seconds:
                break
        return states, t

    def _shrink(self, states: States) -> States:
        """Go on without the runs that have ended, once only half are left: a smaller batch is compiled anew."""
        kept = np.flatnonzero(~self._ended[self._active])
        if len(kept) > len(self._active) // 2 or len(self._active) <= FEW:
            return states
        self._together, states = self._together.take(states, kept)
        self._active = self._active[kept]
        return states

    def _seconds(self) -> float:
        return time.perf_counter() - self._since - (compile_seconds() - self._compiled)

    # ------------------------------------------------------------------ what rules see

    def _look(self, t: int, found: Numbers) -> list[Status | None]:
        """Record an iteration, and ask the rule about each run."""
        self._rows.append(Row(t, self._seconds(), self._active, found))
        verdicts = self._rule.many(self._as_seen(t, self._rows[-1].seconds, found, self._active))
        total = found.primal + found.dual + found.stationarity
        possible = [np.isfinite(a) | (self._unbounded[self._active] & (a == np.inf)) for a in (found.objective, total)]
        broken = ~((found.finite > 0) & possible[0] & possible[1])
        return [Status.NOT_FINITE if wrong else verdict for wrong, verdict in zip(broken, verdicts, strict=True)]

    def _as_seen(self, t: int, seconds: float, found: Numbers, runs: FloatArray) -> Look:
        """Crit of many runs, and relative to what it compares, as ``problem.shares`` has it for one."""
        parts = (found.primal, found.dual, found.stationarity)
        L, a, root = self._lipschitz[runs], self._norms[runs], math.sqrt(self._runs[0].problem.M.r)
        slope = L * root + found.gradients + a * found.z
        of_dual = found.z + np.divide(slope, a, out=np.zeros_like(slope), where=a > 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = [
                np.where(part > 0, part / np.maximum(part, whole), part)
                for part, whole in zip(parts, (a * root + found.y, of_dual, slope), strict=True)
            ]
        negligible = rounding(self._move.home, 1.0)
        recent = functools.partial(self._recent, t, runs)
        return Look(t, seconds, self._record.due(t), found.objective, recent, sum(parts), sum(shares), negligible)

    def _recent(self, t: int, runs: FloatArray, count: int) -> list[FloatArray]:
        """The objectives of some runs at the last iterations before t that were recorded."""
        found, whole = [], np.empty(len(self._runs))
        for row in [row for row in self._rows if row.t < t and self._record.due(row.t)][-count:]:
            whole[row.runs] = row.found.objective
            found.append(whole[runs])
        return found

    # ------------------------------------------------------------------ the ends

    def _finish(self, t: int, statuses: list[Status | None], states: States, before: States) -> None:
        """Set the runs aside that end here; one that is broken ends where it was last looked at."""
        ending = [k for k, status in enumerate(statuses) if status is not None and not self._ended[self._active[k]]]
        broken = [k for k in ending if statuses[k] is Status.NOT_FINITE]
        whole = [k for k in ending if statuses[k] is not Status.NOT_FINITE]
        for group, at, when in ((whole, states, t), (broken, before, self._rows[-2].t)):
            if group:
                self._set_aside(np.asarray(group), at, when, [statuses[k] for k in group])
        self._ended[self._active[ending]] = True

    def _set_aside(self, group: FloatArray, states: States, t: int, statuses: list[Any]) -> None:
        """Keep the states of some runs; what they are worth is measured for all runs together, in the end."""
        row = self._rows[-1]
        seen = row.found.primal[group] + row.found.dual[group] + row.found.stationarity[group]
        self._ends.append(Ends(t, row.seconds, self._active[group], statuses, seen))
        self._kept.append(self._together.pick(states, group))

    def _measure(self) -> list[Result[Any]]:
        """The results of all runs, measured afresh."""
        runs = np.concatenate([ends.runs for ends in self._ends])
        states = self._whole.pick(join(self._kept), np.argsort(runs))
        X, y, z, fresh = self._whole.answers(states)
        home, kept = [self._move.back(a) for a in (X, y, z)], self._whole.states(states, range(len(runs)))
        table, compiling, results = self._table(), compile_seconds() - self._compiled, {}
        for ends in self._ends:
            of_these = Numbers(*(column[ends.runs] for column in fresh))
            again = self._rule.many(self._as_seen(ends.t, ends.seconds, of_these, ends.runs))
            measured = map(Numbers._make, np.stack(of_these, axis=1).tolist())
            histories = self._histories(table, ends)
            for place, (run, numbers, history) in enumerate(zip(ends.runs.tolist(), measured, histories, strict=True)):
                status = ends.statuses[place]
                if status is Status.CONVERGED is not again[place]:
                    status = self._doubt(run, ends.seen[place], numbers)
                X, y, z = (a[run] for a in home)
                found = {"X": X, "y": y, "z": z, "status": status, "history": history, "state": kept[run]}
                results[run] = self._result(run, ends, numbers, compile_seconds=compiling, **found)
        return [results[run] for run in range(len(runs))]

    def _doubt(self, run: int, seen: float, fresh: Numbers) -> Status:
        """What a run is called that converged by the numbers it carried and not by fresh ones."""
        apart = seen - fresh.primal - fresh.dual - fresh.stationarity
        scale = self._lipschitz[run] + fresh.gradients + fresh.y + fresh.z
        return Status.CONVERGED if abs(apart) <= rounding(self._move.home, scale) else Status.UNCONFIRMED

    def _result(self, run: int, ends: Ends, numbers: Numbers, **found: Any) -> Result[Any]:
        problem, solver, X = self._runs[run].problem, self._solvers[run], found["X"]
        said = *self._notes[run], *off_notes(numbers.infeasibility, backend_of(X).eps(X))
        return Result(
            objective=numbers.objective,
            criticality_parts=Criticality(numbers.primal, numbers.dual, numbers.stationarity),
            infeasibility=numbers.infeasibility,
            iterations=ends.t,
            seconds=ends.seconds,
            solver=solver,
            start=self._names[run],
            notes=(*problem.notes, *solver.scope.beyond(problem, solver.name), *said),
            **found,
        )

    def _table(self) -> FloatArray:
        """What was recorded: runs by columns by iterations."""
        table = np.empty((len(self._runs), len(Recorder.COLUMNS), len(self._rows)))
        for k, row in enumerate(self._rows):
            columns = row.columns(self._runs[0].problem)
            table[row.runs, :, k] = np.stack([columns[name] for name in Recorder.COLUMNS], axis=1)
        return table

    def _histories(self, table: FloatArray, ends: Ends) -> Iterator[History]:
        """What was recorded of each of the runs that ended together."""
        times = np.asarray([row.t for row in self._rows])
        due = np.asarray([self._record.due(row.t) for row in self._rows])
        kept = (times == ends.t) | ((times < ends.t) & due)
        for values in table[ends.runs][:, :, kept]:
            yield History(dict(zip(Recorder.COLUMNS, values, strict=True)) | {"iteration": times[kept]})


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Put off the search for cyclic garbage.

    Results of thousands of runs are objects by the hundred thousand, none of them garbage; the search would go through
    all of them again and again, which takes as long as making them.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _fitted(run: Run, method: Solver[Any], like: Array) -> Solver[Any]:
    """The method with its open settings chosen."""
    check_own_numbers(run.problem)
    method.scope.admit(run.problem, method.name)
    if choose_units(run.problem, like).factor != 1:
        raise NotOfOneShape("A run in other units is solved alone.")
    return method.for_problem(run.problem)


def _points(runs: Sequence[Run], rule: Start) -> tuple[list[str], list[list[str]], FloatArray]:
    """The names of the starts, notes on them, and the points one after the other in the float type of the problems."""
    names, notes, points = [], [], []
    noted: list[str]
    checked: set[int] = set()
    at_random: dict[tuple[int, int, int], Any] = {}
    # Problems of one kind: what fits one of them fits all, unless a class or function of the user's is among its parts.
    every = has_user_parts(runs[0].problem)
    for run in runs:
        X0, M = rule if run.X0 is None else run.X0, run.problem.M
        if isinstance(X0, Random):  # the same as what it draws, without a move for each
            key = (M.n, M.r, run.seed)
            if key not in at_random:
                at_random[key] = M.random(run.seed)
            name, noted, X = X0.name, [], at_random[key]
        else:
            drawn, noted = starting_point(run.problem, X0, run.seed)
            name, X = drawn.name, backend_of(drawn.X).to_numpy(drawn.X)
        if not checked or (every and id(run.problem) not in checked):
            at = backend_of(run.problem.like).from_numpy(X, run.problem.like)
            run.problem.check(at)
            check_user_functions(run.problem, at)
            checked.add(id(run.problem))
        names.append(name)
        notes.append(noted)
        points.append(X)
    like = runs[0].problem.like
    backend = backend_of(like)
    kind = backend.to_numpy(backend.from_numpy(np.zeros(1), like)).dtype
    return names, notes, np.stack(points).astype(kind)

"""The loop that runs a solver."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any

import numpy as np

from orthoprox._deadline import allow
from orthoprox._fields import replace
from orthoprox._linalg import norm, rounding
from orthoprox._types import Array
from orthoprox.backends import backend_of, compile_seconds
from orthoprox.driver._interrupts import Interrupts
from orthoprox.driver._own_parts import check_own_numbers, check_user_functions
from orthoprox.driver.checkpoint import CheckpointFile, load
from orthoprox.driver.observers import Observer, Recorder, as_observers, as_recorder
from orthoprox.driver.result import Result, RunFailed, Status, off_notes
from orthoprox.driver.snapshot import Snapshot
from orthoprox.driver.start import starting_point
from orthoprox.driver.stopping import Critical, Iterations, NotFinite, Rule, When, as_rule
from orthoprox.driver.units import Units, choose_units
from orthoprox.problem import Criticality, Problem
from orthoprox.solvers import Solver, named
from orthoprox.solvers._base import S
from orthoprox.starts import Auto, Drawn, Random, Start

DEFAULT_SOLVER = "oadmm"


def iterate(problem: Problem, solver: Solver[S], state: S) -> Iterator[S]:
    """Yield the states of a method, without end, starting with the given one.

    Examples
    --------
    >>> import itertools, numpy as np
    >>> from orthoprox import iterate, named
    >>> from orthoprox.models import sparse_pca
    >>> problem = sparse_pca(np.eye(6) + 0.1, n_components=2, weight=0.1)
    >>> solver = named("oadmm-ep", beta0=1.0)
    >>> states = iterate(problem, solver, solver.init(problem, problem.M.random(0)))
    >>> [state.t for state in itertools.islice(states, 3)]
    [0, 1, 2]
    """
    while True:
        yield state
        state = _advance(problem, solver, state, 1)


def _advance(problem: Problem, solver: Solver[S], state: S, count: int) -> S:
    """The state so many steps on."""
    backend = backend_of(solver.point(state))
    with backend.quiet():
        if solver.compilable:
            return backend.repeat(solver.step, problem, state, count)
        return solver.step(problem, state)


def as_solver(solver: Any) -> Solver[Any]:
    """The solver of this name, or the one given; anything else is refused."""
    method = named(solver) if isinstance(solver, str) else solver
    if not isinstance(method, Solver):
        given = f"the class {method.__name__}: call it" if isinstance(method, type) else type(method).__name__
        raise TypeError(f"solver must be the name of a solver or a Solver; given {given}.")
    return method


def solve(
    problem: Problem,
    solver: Solver[Any] | str = DEFAULT_SOLVER,
    X0: Array | Start | None = None,
    *,
    seed: int = 0,
    stop: Rule | None = None,
    record: Recorder | None = None,
    observers: Sequence[Observer] = (),
    resume: Any = None,
) -> Result[Any]:
    """Run a method on a problem until a rule says stop.

    Parameters
    ----------
    problem : Problem
    solver : Solver or str
        A method with its settings, or the name of one in ``SOLVERS``.
    X0 : array or Start, optional
        The starting point; a point off the manifold is projected, with a note. Or a rule for it from
        ``orthoprox.starts``: by default ``Auto()`` for the default solver and ``Random()`` for published methods. The
        time and the products of a rule are part of the run.
    seed : int
        For what such a rule draws at random.
    stop : Rule
        When to stop; ``Iterations(1000) | Critical(1e-7, relative=True)`` by default, which does not depend on the
        units of the data. A function of a snapshot also works.
    record : Recorder, optional
        What to measure and how often; everything by default, at the first 64 iterations and ever more rarely after
        them. ``Recorder(every=1)`` records all.
    observers : sequence of callables
        Called with a :class:`Snapshot` at every iteration; one that returns something true stops the run.
    resume : path or state, optional
        Continue from a checkpoint, or from the state of an earlier result.

    Returns
    -------
    Result

    Raises
    ------
    UnsupportedProblem
        When the problem is outside the method's scope.
    RunFailed
        When a term, the solver or an observer raises; its ``result`` holds the last state.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import solve, Iterations, Critical
    >>> from orthoprox.models import sparse_pca
    >>> D = np.random.default_rng(0).standard_normal((50, 10))
    >>> result = solve(sparse_pca(D, n_components=2, weight=0.05), "oadmm-ep", stop=Iterations(200) | Critical(1e-3))
    >>> result.X.shape
    (10, 2)
    """
    if not isinstance(problem, Problem):
        raise TypeError(
            f"problem must be a Problem; given {type(problem).__name__}. Build one with Problem.of(terms, over=M)."
        )
    method = as_solver(solver)
    try:
        np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise type(error)(f"seed must be a whole number of at least 0; given {seed!r}.") from None
    if X0 is not None and resume is not None:
        raise ValueError("A resumed run continues from its last state: give either X0 or resume, not both.")
    rule = Iterations(1000) | Critical(1e-7, relative=True) if stop is None else as_rule(stop)
    with backend_of(problem.like).quiet():  # the status says what was not finite
        with _beginning():
            check_own_numbers(problem)
            method.scope.admit(problem, method.name)
            units = choose_units(problem)
            method = method.for_problem(units.scaled)
        run = _Run(units, method, rule, as_recorder(record), as_observers(observers))
        if resume is None:
            return run.from_start((Auto() if method.auto_start else Random()) if X0 is None else X0, seed)
        if isinstance(resume, (str, PathLike)):
            return run.from_file(load(resume))
        return run.from_state(resume)


@contextlib.contextmanager
def _beginning() -> Iterator[None]:
    """Say in a sentence that a run could not begin; errors of input are sentences already."""
    try:
        yield
    except Exception as error:
        if isinstance(error, (ValueError, TypeError)) and not isinstance(error, np.linalg.LinAlgError):
            raise
        raise RunFailed(f"The run could not begin: {_sentence(error)}") from error


class _Run:
    """One run: the loop, its clock and its errors."""

    def __init__(
        self,
        units: Units,
        solver: Solver[Any],
        rule: Rule,
        record: Recorder,
        observers: Sequence[Observer],
    ) -> None:
        self.units, self.problem, self.solver, self.rule = units, units.problem, solver, rule
        self.record, self.observers = record, observers
        self.notes = [*self.problem.notes, *solver.scope.beyond(self.problem, solver.name)]
        if units.factor != 1:
            self.notes.append(f"F was multiplied by {units.factor:g} inside; the solver's settings refer to that")
        self.start = "resumed"
        self._compiled = compile_seconds()
        self._success = False  # whether the rule, and no observer, has called the run converged

    def from_start(self, X0: Array | Start, seed: int) -> Result[Any]:
        drawn, seconds = self._draw(X0, seed)
        self.record.restart()
        with _beginning():
            self.problem.check(drawn.X)
            check_user_functions(self.problem, drawn.X)
            init = self.solver.init_near if drawn.near else self.solver.init
            state = self.solver.add_work(init(self.units.scaled, drawn.X), drawn.work)
        self.start = drawn.name
        return self.go(state, 0, seconds)

    def _draw(self, X0: Array | Start, seed: int) -> tuple[Drawn, float]:
        """The starting point, and the seconds it took where it was not given."""
        since = time.perf_counter()
        allow(self.rule.seconds)
        try:
            with _beginning():
                drawn, notes = starting_point(self.units.scaled, X0, seed)
        finally:
            allow(None)
        self.notes += notes
        return drawn, time.perf_counter() - since if drawn.work else 0.0

    def from_file(self, saved: CheckpointFile) -> Result[Any]:
        state = saved.state(self.problem, self.solver, self._template())
        self.record.restore(saved.history, saved.t)
        self.notes += [f"resumed at iteration {saved.t}"]
        return self.go(state, saved.t, saved.seconds)

    def from_state(self, state: Any) -> Result[Any]:
        wanted, given = type(self._template()), type(state)
        if given is not wanted:
            raise TypeError(
                f"{self.solver.name} resumes from a file or from its own {wanted.__name__}, as in result.state; "
                f"given {given.__name__}."
            )
        found, shape = tuple(self.solver.point(state).shape), (self.problem.M.n, self.problem.M.r)
        if found != shape:
            raise ValueError(f"The state to resume from is for shape {found}; the problem is for {shape}.")
        self.record.restart()
        return self.go(state, int(state.t), 0.0)

    def _template(self) -> Any:
        with _beginning():
            return self.solver.init(self.units.scaled, self.problem.M.random(0, like=self.problem.like))

    def go(self, state: Any, t: int, seconds: float) -> Result[Any]:
        with Interrupts() as interrupts:
            result, failure = self._complete(state, t, seconds, interrupts)
        if failure is not None:
            raise RunFailed(
                f"The run failed after {result.iterations} iterations: {_sentence(failure)} "
                "The attribute 'result' of this error holds the last state.",
                result,
            ) from failure
        return replace(result, status=Status.INTERRUPTED) if interrupts.came else result

    def _complete(
        self, state: Any, t: int, seconds: float, interrupts: Interrupts
    ) -> tuple[Result[Any], Exception | None]:
        """Run the loop, then put the result together: only the loop can be interrupted."""
        status: Status | None = None
        failure: Exception | None = None
        reached = verified = (state, t, seconds)
        since, compiled = time.perf_counter(), compile_seconds()
        try:
            with interrupts.raised():
                while True:
                    if self.record.due(t):
                        X = self.solver.point(state)
                        backend_of(X).finish(X)
                    seconds += time.perf_counter() - since - (compile_seconds() - compiled)
                    now = self._snapshot(state, t, seconds)
                    status = NotFinite(measure=self.record.due(t))(now)
                    if status is not None:
                        break
                    reached = (state, t, seconds)
                    if self.record.due(t):
                        verified = reached
                    status = self._watch(now)
                    if interrupts.came:  # and somebody has swallowed it: Python itself does in a destructor
                        raise KeyboardInterrupt
                    if status is not None:
                        break
                    del now  # free its measurements before the next step
                    allow(None if self.rule.seconds is None else self.rule.seconds - seconds)
                    since, compiled = time.perf_counter(), compile_seconds()
                    before, count = int(state.t), self._rest(state, t)
                    state = _advance(self.units.scaled, self.solver, state, count)
                    t += 1 if count == 1 else int(state.t) - before  # fewer where the time was over
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except Exception as error:
            status, failure = (Status.INTERRUPTED, None) if interrupts.came else (Status.FAILED, error)
        finally:
            allow(None)
        now = self._snapshot(*reached)
        if status is Status.NOT_FINITE:
            now = self._last_finite(now, self._snapshot(*verified))
        failure, insisted = self._close(now, failure)
        if failure is not None or insisted:
            status = Status.FAILED if failure else Status.INTERRUPTED
        return self._result(now, status or Status.INTERRUPTED), failure

    def _rest(self, state: Any, t: int) -> int:
        """How many steps to ask for before somebody has to look: several where waiting for each one costs time."""
        X = self.solver.point(state)
        if self.observers or not self.solver.compilable or not backend_of(X).is_asynchronous(X):
            return 1
        return min(self.rule.rest(t), self.record.rest(t))

    def _snapshot(self, state: Any, t: int, seconds: float) -> Snapshot:
        return Snapshot(self.problem, self.solver, state, t, seconds, self.record, self.rule.limit, self.units)

    def _watch(self, now: Snapshot) -> Status | None:
        """Show the iteration to the rule, then record it, then show it to the observers."""
        status = self.rule(now)
        self._success = status is Status.CONVERGED
        self.record(now)
        answers = [When(watch)(now) for watch in self.observers]  # all of them, also when the first says stop
        return next((answer for answer in (status, *answers) if answer is not None), None)

    def _close(self, now: Snapshot, failure: Exception | None) -> tuple[Exception | None, bool]:
        """Record the end and close every observer, even if some raise; return the first error, and any Ctrl-C."""
        insisted = False
        closing = [getattr(watch, "close", None) for watch in self.observers]
        for act in (self.record.record, lambda now: now.answer, *closing):
            try:
                if act is not None:
                    act(now)
            except KeyboardInterrupt:  # from somebody who would not wait: leave what hangs
                insisted = True
            except Exception as error:
                failure = failure or error
        return failure, insisted

    def _last_finite(self, now: Snapshot, verified: Snapshot) -> Snapshot:
        """Return the later of two states if all of it is finite: between two records only X is checked."""
        try:
            return now if NotFinite(measure=not self.record.due(now.t))(now) is None else verified
        except Exception:
            return verified

    def _measure(self, now: Snapshot, status: Status) -> tuple[float, Criticality, Status]:
        """Measure the result with fresh products, and withdraw a success that they contradict."""
        if status is Status.NOT_FINITE:  # a function that has become NaN would spoil the last finite state
            return *self._known_numbers(now), status
        try:
            fresh = now.remeasure()
            objective, parts = fresh.objective, fresh.criticality_parts
            if status is Status.CONVERGED and self._success and not _agree(now, fresh):
                status = self.rule(fresh) or Status.UNCONFIRMED
        except Exception:
            return *self._known_numbers(now), status
        except KeyboardInterrupt:  # the run is over, and its result must not be lost
            return *self._known_numbers(now), Status.INTERRUPTED
        return objective, parts, status

    def _known_numbers(self, now: Snapshot) -> tuple[float, Criticality]:
        """Objective and criticality as recorded; else as carried; else NaN, where measuring is what fails."""
        rows, names = self.record.rows, ("objective", *Criticality._fields)
        if rows["iteration"][-1:] == [now.t]:
            objective, *parts = (rows[name][-1] for name in names)
            return objective, Criticality(*parts)
        try:
            return now.objective, now.criticality_parts
        except Exception:
            return math.nan, Criticality(math.nan, math.nan, math.nan)

    def _result(self, now: Snapshot, status: Status) -> Result[Any]:
        X, y, z = now.X, None, None
        try:
            X, y, z = now.answer.point.X, now.answer.y, now.answer.z
        except (Exception, KeyboardInterrupt):
            self.notes.append("y and z could not be computed; the last iterate is in result.state")
        objective, criticality, status = self._measure(now, status)
        gap = float(self.problem.M.infeasibility(X))
        self.notes += off_notes(gap, backend_of(X).eps(X))
        return Result(
            X=X,
            y=y,
            z=z,
            objective=objective,
            criticality_parts=criticality,
            infeasibility=gap,
            status=status,
            iterations=now.t,
            seconds=now.seconds,
            compile_seconds=compile_seconds() - self._compiled,
            history=self.record.history,
            state=now.state,
            solver=self.solver,
            start=self.start,
            notes=tuple(self.notes),
        )


def _agree(carried: Snapshot, fresh: Snapshot) -> bool:
    """Whether two measurements of Crit differ by no more than rounding, each part in its own units."""
    at, problem = fresh.certificate, fresh.problem
    gradient = problem.f.gradient_at(at.point.X, at.point.HX) if at.point.HX is None else at.point.HX
    primal, dual = (at.point.AX, at.y), (gradient, at.z, problem.A.adjoint(at.z))
    scales = (sum(float(norm(part)) for part in parts) for parts in (primal, dual, dual))
    parts = zip(fresh.criticality_parts, carried.criticality_parts, scales, strict=True)
    return all(abs(one - other) <= rounding(at.point.X, scale) for one, other, scale in parts)


def _sentence(error: Exception) -> str:
    """Format an error as a sentence: its class, its message and the function that raised it."""
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    place = "" if where is None else f" in {where.tb_frame.f_code.co_qualname}"
    return f"{type(error).__name__}{place}: {str(error).rstrip('.')}."

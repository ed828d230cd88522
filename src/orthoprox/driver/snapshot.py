"""One iteration as rules and observers see it."""

from __future__ import annotations

import math
from typing import Any, Protocol

from array_api_compat import is_array_api_obj

from orthoprox._checks import is_real
from orthoprox._fields import cached_property, parts
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.driver.result import History
from orthoprox.driver.units import Units
from orthoprox.problem import (
    Certificate,
    Criticality,
    Numbers,
    Problem,
    Sizes,
    criticality,
    relative_criticality,
    shares,
    sparsity,
)
from orthoprox.solvers import Solver
from orthoprox.solvers._base import Measured


class Record(Protocol):
    """The measurements that a run has recorded."""

    rows: dict[str, list[float]]

    def due(self, t: int) -> bool: ...

    @property
    def history(self) -> History: ...


class Snapshot:
    """One iteration; each measure is computed at most once, and only on request.

    Attributes
    ----------
    problem, solver, state : object
        The problem, the method and its current state.
    t : int
        Iterations so far.
    seconds : float
        Time spent in the method so far.
    limit : int or None
        The iteration limit, when the stopping rule has one.
    """

    def __init__(
        self,
        problem: Problem,
        solver: Solver[Any],
        state: Any,
        t: int,
        seconds: float,
        record: Record | None = None,
        limit: int | None = None,
        units: Units | None = None,
    ) -> None:
        self.problem, self.solver, self.state = problem, solver, state
        self.t, self.seconds, self.limit = t, seconds, limit
        self._record = record
        self._units = Units(problem, problem) if units is None else units

    @property
    def history(self) -> History:
        """The records so far."""
        return History() if self._record is None else self._record.history

    def recent(self, column: str, count: int) -> list[float]:
        """The last values of a recorded column, at most this many."""
        return [] if self._record is None else self._record.rows.get(column, [])[-count:]

    @cached_property
    def X(self) -> Array:
        """The feasible point."""
        X, M = self.solver.point(self.state), self.problem.M
        if tuple(getattr(X, "shape", ())) != (M.n, M.r) or not is_real(X):
            given = f"shape {tuple(X.shape)}, {X.dtype}" if hasattr(X, "shape") else f"a {type(X).__name__}"
            raise ValueError(f"The point of {self.solver.name} must be real, of shape {(M.n, M.r)}; given {given}.")
        return X

    @cached_property
    def _solved(self) -> Certificate:
        """The certificate in the units in which the problem is solved."""
        at = self.solver.certificate(self._units.scaled, self.state)
        if not isinstance(at, Certificate):
            raise TypeError(f"The certificate of {self.solver.name} must be a Certificate; given {type(at).__name__}.")
        shapes = [tuple(getattr(part, "shape", ())) for part in (at.point.AX, at.y, at.z)]
        if shapes[1:] != shapes[:1] * 2:
            raise ValueError(
                f"The y and z of {self.solver.name} must have the shape {shapes[0]} of A(X); given {shapes[1]} and "
                f"{shapes[2]}."
            )
        return at

    @cached_property
    def certificate(self) -> Certificate:
        """The triple at which stationarity is measured."""
        return self._units.restore(self._solved)

    @cached_property
    def _known(self) -> Measured | None:
        return self.solver.measured(self.state)

    @cached_property
    def finished(self) -> bool:
        """Whether the method has come to its own end."""
        return self.solver.finished(self.state)

    @cached_property
    def _numbers(self) -> Numbers | None:
        """Everything at once, where asking for one number after the other would make a device wait each time."""
        backend = backend_of(self.solver.point(self.state))
        if self._known is not None or not backend.is_asynchronous(self.solver.point(self.state)):
            return None
        with backend.quiet():
            return Numbers(*backend.evaluate(self.solver.numbers, self._units.scaled, self.state))

    @property
    def due(self) -> bool:
        """Whether this iteration is recorded, or measured anyway: rules that need a measurement look then."""
        return self._record is None or self._record.due(self.t) or self._known is not None

    @cached_property
    def is_finite(self) -> bool:
        """Whether X is."""
        if self.due and self._numbers is not None:
            return bool(self._numbers.finite)
        # The sum of X is finite if X is: it has orthonormal columns, so nothing can overflow.
        return math.isfinite(float(array_namespace(self.X).sum(self.X)))

    @cached_property
    def state_is_finite(self) -> bool:
        """Whether all arrays of the state are."""
        if self._numbers is not None:
            return bool(self._numbers.finite)
        return all(
            bool(array_namespace(part).all(array_namespace(part).isfinite(part)))
            for part in parts(self.state)
            if is_array_api_obj(part) and array_namespace(part).isdtype(part.dtype, "real floating")
        )

    @cached_property
    def objective(self) -> float:
        """F at X."""
        known = self._known or self._numbers
        if known is not None:
            return float(known.objective) / self._units.factor
        return float(self._units.scaled.objective(self._solved.point)) / self._units.factor

    @cached_property
    def _solved_parts(self) -> Criticality:
        if self._known is not None:
            return self._known.criticality
        if self._numbers is not None:
            return Criticality(self._numbers.primal, self._numbers.dual, self._numbers.stationarity)
        return criticality(self._units.scaled, self._solved)

    @cached_property
    def criticality_parts(self) -> Criticality:
        """The three parts of Crit."""
        return self._units.restore_parts(self._solved_parts)

    @cached_property
    def relative_criticality_parts(self) -> Criticality:
        """The three parts of Crit, as shares of what they compare."""
        if self._numbers is not None:
            of = Sizes(self._numbers.gradients, self._numbers.y, self._numbers.z)
            return shares(self._units.scaled, self._solved_parts, of)
        return relative_criticality(self._units.scaled, self._solved, self._solved_parts)

    @property
    def criticality(self) -> float:
        """Crit, the sum of its parts."""
        return self.criticality_parts.total

    @cached_property
    def answer(self) -> Certificate:
        """The triple that the run returns if it ends here."""
        return self._units.restore(self.solver.answer(self._units.scaled, self.state))

    def remeasure(self) -> Snapshot:
        """The answer, measured with products computed anew instead of those the solver carries."""
        fresh = Snapshot(
            self.problem, self.solver, self.state, self.t, self.seconds, self._record, self.limit, self._units
        )
        X, y, z = self.answer.point.X, self.answer.y, self.answer.z
        fresh.X, fresh._known, fresh._numbers = X, None, None
        fresh.finished = False  # the method says so of what it carries
        fresh._solved = Certificate(self._units.scaled.at(X), y, z * self._units.factor)
        return fresh

    @cached_property
    def infeasibility(self) -> float:
        """The norm of X'X - I."""
        if self._numbers is not None:
            return float(self._numbers.infeasibility)
        return float(self.problem.M.infeasibility(self.X))

    @cached_property
    def sparsity(self) -> float:
        """The fraction of entries of X that are zero, up to 1e-6."""
        if self._numbers is not None:
            return 1.0 - float(self._numbers.nonzeros) / (self.problem.M.n * self.problem.M.r)
        return sparsity(self.X)

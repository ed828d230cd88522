"""A fast method that is trusted only as far as it brings Crit down, with a safe one behind it.

docs/oadmm.md proves what this promises: whatever the fast method does, Crit tends to 0 along the accepted points, after
at most as many iterations, up to a factor, as the safe method needs alone; and the Crit of what is reported never
rises, nor exceeds that of any point at which a block of the safe method ended.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from orthoprox._fields import replace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.problem import Certificate, Problem
from orthoprox.solvers._base import Measured, S, Scope, Solver
from orthoprox.solvers.oadmm.iterate import Iterate, measure
from orthoprox.solvers.oadmm.tuning import BLOCK, MEMORY, Tuning

F = TypeVar("F")
Q = TypeVar("Q")


class Guardable(Solver[S], abc.ABC):
    """A method that can go on from any point, and more cautiously."""

    @abc.abstractmethod
    def restart(self, problem: Problem, state: S, at: Iterate) -> S:
        """The state at another point, with everything else it has learnt."""

    @abc.abstractmethod
    def tighten(self, problem: Problem, state: S) -> S:
        """The state with a higher penalty: after a block that was refused, or a return to a better point."""

    def iterate(self, problem: Problem, state: S) -> Iterate:
        """The triple with its measures."""
        at = self.certificate(problem, state)
        return measure(problem, at.point, at.y, at.z)


@dataclass(frozen=True, kw_only=True, eq=False)
class GuardedState(Generic[F, Q]):
    """Where both methods are."""

    t: int
    fast: F
    safe: Q | None
    """The state of the safe method; None until it is needed."""
    recent: tuple[float, ...]
    """Crit at the last accepted points."""
    reported: Iterate
    """The accepted point, or the safe method's, of least Crit."""
    now: Iterate
    """Where the fast method is."""


_Both: TypeAlias = GuardedState[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Guarded(Solver[_Both]):
    """Blocks of a fast method; where one does not bring Crit down, a block of a safe method as well.

    A point is accepted where its Crit is below ``falls`` times the largest one at the last ``memory`` accepted points.
    The safe method goes on from its own iterates whenever a block of the fast one is not accepted; where its point
    is, the fast method restarts from there.

    Parameters
    ----------
    fast : Guardable
    safe : Solver
        A method whose Crit tends to 0.
    memory : int
        How many accepted points Crit is compared with; the first ones are accepted as they come.
    block : int
        Iterations of the safe method for each block that is refused.
    falls : float
        Below 1.
    """

    name: ClassVar[str] = "guarded"
    summary: ClassVar[str] = "a fast method with a safe one behind it"
    complexity: ClassVar[str] = "that of the safe method"
    scope: ClassVar[Scope] = Scope()
    compilable: ClassVar[bool] = False

    fast: Guardable[Any]
    safe: Solver[Any]
    memory: int = MEMORY
    block: int = BLOCK
    falls: float = Tuning.falls

    def init(self, problem: Problem, X0: Array) -> _Both:
        return self.watch(problem, self.fast.init(problem, X0))

    def watch(self, problem: Problem, fast: Any) -> _Both:
        """The state in which the guard begins, with the fast method under way."""
        now = self.fast.iterate(problem, fast)
        return GuardedState(t=0, fast=fast, safe=None, recent=(), reported=now, now=now)

    def step(self, problem: Problem, state: _Both) -> _Both:
        fast = self.fast.step(problem, state.fast)
        new = replace(state, t=state.t + 1, fast=fast, now=self.fast.iterate(problem, fast))
        return self._accept(new, new.now) if self._passes(state, new.now) else self._refuse(problem, state, new)

    def _refuse(self, problem: Problem, state: _Both, new: _Both) -> _Both:
        """Let the safe method go on from its own iterates; the fast one stays where it is unless that point passes."""
        safe = self._begin(problem, state) if state.safe is None else state.safe
        safe = backend_of(self.safe.point(safe)).repeat(self.safe.step, problem, safe, self.block)
        at = self.safe.certificate(problem, safe)
        there = measure(problem, at.point, at.y, at.z)
        new = replace(new, safe=safe, fast=self.fast.tighten(problem, new.fast))
        if self._passes(state, there):
            return self._accept(replace(new, fast=self.fast.restart(problem, new.fast, there), now=there), there)
        return replace(new, reported=min(state.reported, there, key=lambda one: one.crit))

    def _begin(self, problem: Problem, state: _Both) -> Any:
        return self.safe.init(problem, state.reported.point.X)

    def _passes(self, state: _Both, at: Iterate) -> bool:
        if not math.isfinite(at.crit):
            return False
        return len(state.recent) < self.memory or at.crit < self.falls * max(state.recent)

    def _accept(self, state: _Both, at: Iterate) -> _Both:
        recent = (*state.recent, at.crit)[-self.memory :]
        return replace(state, recent=recent, reported=min(at, state.reported, key=lambda one: one.crit))

    def restart(self, problem: Problem, state: _Both, at: Iterate) -> _Both:
        """Both methods as they are, the fast one at another point; it counts as accepted only if it passes."""
        new = replace(state, fast=self.fast.restart(problem, state.fast, at), now=at)
        return self._accept(new, at) if self._passes(state, at) else new

    def point(self, state: _Both) -> Array:
        return state.reported.point.X

    def certificate(self, problem: Problem, state: _Both) -> Certificate:
        return state.reported.at

    def work(self, state: _Both) -> int:
        return self.fast.work(state.fast) + (0 if state.safe is None else self.safe.work(state.safe))

    def measured(self, state: _Both) -> Measured:
        return Measured(state.reported.objective, state.reported.parts)

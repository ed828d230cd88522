"""What the fast methods share: a step is a block of iterations, measured once at its end."""

from __future__ import annotations

from typing import ClassVar, Protocol, TypeVar

from orthoprox._types import Array
from orthoprox.problem import Certificate, Problem
from orthoprox.solvers._base import Measured, Scope
from orthoprox.solvers.oadmm.guard import Guardable
from orthoprox.solvers.oadmm.iterate import Iterate


class BlockState(Protocol):
    """What the states of fast methods have in common."""

    @property
    def t(self) -> int: ...

    @property
    def at(self) -> Iterate: ...


B = TypeVar("B", bound=BlockState)


class Block(Guardable[B]):
    """A fast method: a solver of its own, without a guarantee."""

    complexity: ClassVar[str] = "unknown"
    scope: ClassVar[Scope] = Scope()
    compilable: ClassVar[bool] = False

    def roams(self, state: B) -> bool:
        """Whether the method explores on purpose, so that no guard should hold it back."""
        return False

    def iterate(self, problem: Problem, state: B) -> Iterate:
        return state.at

    def point(self, state: B) -> Array:
        return state.at.point.X

    def certificate(self, problem: Problem, state: B) -> Certificate:
        return state.at.at

    def measured(self, state: B) -> Measured:
        return Measured(state.at.objective, state.at.parts)

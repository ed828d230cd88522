"""What a solver is: settings, a scope, and one pure step."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

from orthoprox._types import Array
from orthoprox.maps import Identity
from orthoprox.problem import Certificate, Criticality, Numbers, Problem, numbers
from orthoprox.terms import EntrywiseTerm, Zero


class UnsupportedProblem(ValueError):
    """A method was asked for a problem outside its scope."""


class Measured(NamedTuple):
    """What is known of a state's certificate."""

    objective: float
    criticality: Criticality


class State(Protocol):
    """All that states have in common: the number of iterations behind them."""

    @property
    def t(self) -> int: ...


S = TypeVar("S", bound=State)


@dataclass(frozen=True)
class Scope:
    """The problems a method takes."""

    concave: bool = True
    """Whether g may be there."""
    weakly_convex: bool = True
    """Whether h may be weakly convex without being convex."""
    any_map: bool = True
    """Whether A may be other than the identity."""
    entrywise_only: bool = False
    """Whether h must act entry by entry."""
    lipschitz_only: bool = True
    """Whether h must be Lipschitz; if not, it may be a count or a constraint, which is not even weakly convex."""
    unproved: frozenset[str] = frozenset()
    """Which of "concave", "weakly_convex", "any_map" and "not_lipschitz" the method takes without theory."""

    def admit(self, problem: Problem, name: str) -> None:
        """Refuse a problem outside the scope, naming the structure that is in the way."""
        h, kind = problem.h, type(problem.h).__name__
        refusals = (
            (not self.concave and not isinstance(problem.g, Zero), "g to be absent", type(problem.g).__name__),
            (
                not self.weakly_convex and 0 < h.weak_convexity < math.inf,
                "a convex h",
                f"{kind}, which is only weakly convex",
            ),
            (not self.any_map and not isinstance(problem.A, Identity), "A = I", type(problem.A).__name__),
            (self.entrywise_only and not isinstance(h, EntrywiseTerm), "an h that acts entry by entry", kind),
            (
                self.lipschitz_only and not_lipschitz(problem),
                "a Lipschitz h",
                f"{kind}, which is not",
            ),
        )
        for refused, wanted, given in refusals:
            if refused:
                raise UnsupportedProblem(f"{name} needs {wanted}; given {given}. Choose another solver.")

    def __str__(self) -> str:
        """What the method takes, in a few words; a star marks what it takes without theory."""

        def star(part: str) -> str:
            return "*" if part in self.unproved else ""

        g = f"g{star('concave')}" if self.concave else "no g"
        kind = f"weakly convex{star('weakly_convex')}" if self.weakly_convex else "convex"
        h = f"{kind}{' entrywise' if self.entrywise_only else ''} h"
        A = f"any A{star('any_map')}" if self.any_map else "A = I"
        last = f"h need not be Lipschitz{star('not_lipschitz')}"
        return ", ".join((g, h, A) if self.lipschitz_only else (g, h, A, last))

    def beyond(self, problem: Problem, name: str) -> tuple[str, ...]:
        """What a user should know about a problem that the method takes without theory."""
        if not self.unproved:
            return ()
        parts = {
            "concave": (not isinstance(problem.g, Zero), "g, which it linearises (extension: dc_linearised)"),
            "weakly_convex": (0 < problem.h.weak_convexity < math.inf, "an h that is only weakly convex"),
            "any_map": (not isinstance(problem.A, Identity), "a map other than the identity"),
            "not_lipschitz": (
                not_lipschitz(problem),
                "an h that is not Lipschitz (its zeros and signs are exact in y, and in X only as near as y is)",
            ),
        }
        return tuple(
            f"{name} has no theory for {what}: this run is an extension of the published method"
            for part, (there, what) in parts.items()
            if there and part in self.unproved
        )


def not_lipschitz(problem: Problem) -> bool:
    """Whether h is not Lipschitz: a count or a constraint."""
    return math.isinf(problem.h.lipschitz_constant(problem.shape))


def refuse_unless_allowed(problem: Problem, name: str, allowed: bool) -> None:
    """Refuse an h that is not Lipschitz unless the user has asked for a run without theory."""
    if not allowed and not_lipschitz(problem):
        raise UnsupportedProblem(
            f"{name} needs a Lipschitz h; given {type(problem.h).__name__}, which is not. "
            "Pass allow_non_lipschitz=True to run it as a heuristic, or choose another solver."
        )


class Solver(abc.ABC, Generic[S]):
    """The settings of a method, and its iteration. Nothing here changes during a run."""

    complexity: ClassVar[str]
    """Iterations to an epsilon-critical point as its paper proves them, or "unknown"."""
    scope: ClassVar[Scope]
    compilable: ClassVar[bool] = True
    """Whether the step may be handed to a library's compiler."""
    stackable: ClassVar[bool | None] = None
    """Whether many runs can take their steps together; by default where steps can be compiled."""
    auto_start: ClassVar[bool] = False
    """Whether a run without X0 begins where ``starts.Auto`` says; published methods begin at a random point."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name of the method with these settings; a class variable where it does not depend on them."""

    @property
    def summary(self) -> str:
        """One line for lists: what the method does. The first line of the docstring unless a method says more."""
        return (type(self).__doc__ or "").partition("\n")[0]

    def for_problem(self, problem: Problem) -> Self:
        """This method with every setting that was left open chosen for the problem."""
        return self

    @abc.abstractmethod
    def init(self, problem: Problem, X0: Array) -> S:
        """The state before the first iteration, at a feasible X0."""

    def init_near(self, problem: Problem, X0: Array) -> S:
        """The same at an X0 near a solution: a method that explores first stays near its start instead."""
        return self.init(problem, X0)

    @abc.abstractmethod
    def step(self, problem: Problem, state: S) -> S:
        """One iteration; pure."""

    @abc.abstractmethod
    def point(self, state: S) -> Array:
        """The feasible point to report."""

    @abc.abstractmethod
    def certificate(self, problem: Problem, state: S) -> Certificate:
        """The triple at which stationarity is measured."""

    def answer(self, problem: Problem, state: S) -> Certificate:
        """The triple that a run returns when it ends here: the best one the method has seen, if it keeps that."""
        return self.certificate(problem, state)

    def work(self, state: S) -> int:
        """Products with the data so far, the number that tables call iterations; one a step unless a method says more.

        A method whose step is a block of iterations, or has inner iterations, counts those.
        """
        return state.t

    def add_work(self, state: S, products: int) -> S:
        """The state with the products that its start took; where iterations are all that is counted, as it is."""
        return state

    def finished(self, state: S) -> bool:
        """Whether the method has come to its own end: further steps would change nothing."""
        return False

    @property
    def inside(self) -> str | None:
        """Which method makes the steps, in words, where this one chooses among several for a problem."""
        return None

    def warm(self) -> Self:
        """The same method for a start near a solution: one that explores first stays near its start instead."""
        return self

    def numbers(self, problem: Problem, state: S) -> Numbers:
        """What is recorded of a state, computed where its arrays are."""
        return numbers(problem, self.point(state), self.certificate(problem, state), state)

    def measured(self, state: S) -> Measured | None:
        """F and Crit at the certificate, where the step has worked them out already; None where it has not."""
        return None

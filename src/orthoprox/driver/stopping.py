"""When to stop. Rules are functions of a snapshot and combine with ``|`` and ``&``."""

from __future__ import annotations

import abc
import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoprox._fields import require
from orthoprox._linalg import rounding
from orthoprox.backends import backend_of
from orthoprox.driver.result import Status
from orthoprox.driver.snapshot import Snapshot
from orthoprox.solvers._base import not_lipschitz

LONG = 1 << 30
"""As many iterations as one likes."""
Verdicts = Sequence[Status | None]


@dataclass(frozen=True, eq=False)
class Look:
    """Many runs at one iteration: an array where a snapshot has a number."""

    t: int
    seconds: float
    due: bool
    objective: Any
    recent: Callable[[int], Sequence[Any]]
    """The objectives at the last recorded iterations before this one, at most so many."""
    total: Any
    """Crit."""
    relative: Any
    """The relative Crit."""
    negligible: float
    """What rounding leaves of that."""


class Rule(abc.ABC):
    """A function of a snapshot that returns the reason to stop, or None to continue."""

    @abc.abstractmethod
    def __call__(self, now: Snapshot) -> Status | None: ...

    @property
    def limit(self) -> int | None:
        """The iteration at which this rule certainly stops, if there is one."""
        return None

    @property
    def seconds(self) -> float | None:
        """The time in the method after which this rule certainly stops, if there is one."""
        return None

    def rest(self, t: int) -> int:
        """How many iterations after t this rule may be left alone, apart from those that are recorded."""
        return 1

    sees_many: bool = False
    """Whether the rule can be asked about many runs at once."""

    def many(self, look: Look) -> Verdicts:
        """The reason to stop for each of many runs."""
        raise NotImplementedError

    def __or__(self, other: Rule | Callable[[Snapshot], Any]) -> Rule:
        return Either(self, as_rule(other))

    def __ror__(self, other: Callable[[Snapshot], Any]) -> Rule:
        return Either(as_rule(other), self)

    def __and__(self, other: Rule | Callable[[Snapshot], Any]) -> Rule:
        return Both(self, as_rule(other))

    def __rand__(self, other: Callable[[Snapshot], Any]) -> Rule:
        return Both(as_rule(other), self)


@dataclass(frozen=True)
class _Two(Rule):
    """What two rules make of each other."""

    first: Rule
    second: Rule

    @staticmethod
    @abc.abstractmethod
    def join(one: Status | None, other: Status | None) -> Status | None:
        """The reason that follows from two."""

    def __call__(self, now: Snapshot) -> Status | None:
        return self.join(self.first(now), self.second(now))

    def rest(self, t: int) -> int:
        return min(self.first.rest(t), self.second.rest(t))

    @property
    def sees_many(self) -> bool:  # type: ignore[override]
        return self.first.sees_many and self.second.sees_many

    def many(self, look: Look) -> Verdicts:
        pairs = zip(self.first.many(look), self.second.many(look), strict=True)
        return [self.join(one, other) for one, other in pairs]


@dataclass(frozen=True)
class Either(_Two):
    """Stop as soon as one of two rules says so; success counts first when both do."""

    @staticmethod
    def join(one: Status | None, other: Status | None) -> Status | None:
        return Status.CONVERGED if Status.CONVERGED in (one, other) else one or other

    @property
    def limit(self) -> int | None:
        known = [rule.limit for rule in (self.first, self.second) if rule.limit is not None]
        return min(known, default=None)

    @property
    def seconds(self) -> float | None:
        known = [rule.seconds for rule in (self.first, self.second) if rule.seconds is not None]
        return min(known, default=None)


@dataclass(frozen=True)
class Both(_Two):
    """Stop when two rules say so at the same iteration, as in ``Critical(1e-6) & Iterations(100)``."""

    @staticmethod
    def join(one: Status | None, other: Status | None) -> Status | None:
        if one is None or other is None:
            return None
        return Status.CONVERGED if Status.CONVERGED in (one, other) else other

    @property
    def limit(self) -> int | None:
        one, other = self.first.limit, self.second.limit
        return None if one is None or other is None else max(one, other)

    @property
    def seconds(self) -> float | None:
        one, other = self.first.seconds, self.second.seconds
        return None if one is None or other is None else max(one, other)


def _check_number(value: Any, owner: str) -> None:
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{owner} needs a number; given {value!r}.")


@dataclass(frozen=True)
class Iterations(Rule):
    """Stop after this many iterations."""

    most: int

    def __post_init__(self) -> None:
        _check_number(self.most, "Iterations")
        require(self.most >= 0, f"Iterations needs a number that is not negative; given {self.most}.")
        if self.most != math.inf:
            require(self.most % 1 == 0, f"Iterations needs a whole number; given {self.most}.")
            object.__setattr__(self, "most", int(self.most))  # 1e4 is a float

    def __call__(self, now: Snapshot) -> Status | None:
        return Status.ITERATIONS if now.t >= self.most else None

    @property
    def limit(self) -> int | None:
        return self.most

    def rest(self, t: int) -> int:
        return max(self.most - t, 1)

    sees_many = True

    def many(self, look: Look) -> Verdicts:
        return [Status.ITERATIONS if look.t >= self.most else None] * len(look.total)


@dataclass(frozen=True)
class Seconds(Rule):
    """Stop after this much time in the method; measuring does not count. A method that is done is not waited for."""

    most: float

    def __post_init__(self) -> None:
        _check_number(self.most, "Seconds")
        require(self.most >= 0, f"Seconds needs a number that is not negative; given {self.most}.")

    def __call__(self, now: Snapshot) -> Status | None:
        if now.finished:
            return Status.CONVERGED
        return Status.SECONDS if now.seconds >= self.most else None

    @property
    def seconds(self) -> float | None:
        return self.most

    def rest(self, t: int) -> int:
        return LONG  # the loop looks at the clock

    sees_many = True

    def many(self, look: Look) -> Verdicts:
        return [Status.SECONDS if look.seconds >= self.most else None] * len(look.total)


@dataclass(frozen=True)
class Critical(Rule):
    """Stop when Crit is at most this.

    Parameters
    ----------
    tolerance : float
    relative : bool
        Compare the relative Crit instead, in which the units of the data cancel; what is within rounding of zero is
        zero, so that runs in single precision end too. A method that is done is not waited for.
    every : int, optional
        Iterations between two measurements; by default those that are recorded.
    """

    tolerance: float
    relative: bool = False
    every: int | None = None

    def __post_init__(self) -> None:
        _check_number(self.tolerance, "Critical")
        require(self.tolerance > 0, f"Critical needs a positive tolerance; given {self.tolerance}.")
        require(self.every is None or self.every >= 1, f"Critical needs every >= 1; given {self.every}.")

    def __call__(self, now: Snapshot) -> Status | None:
        if now.t % self.every if self.every else not now.due:
            return None
        if self.relative:
            small = max(self.tolerance, rounding(now.X, 1.0))
            converged = now.finished or now.relative_criticality_parts.total <= small
        else:
            converged = now.criticality_parts.total <= self.tolerance
        return Status.CONVERGED if converged else None

    def rest(self, t: int) -> int:
        return self.every - t % self.every if self.every else LONG

    sees_many = True

    def many(self, look: Look) -> Verdicts:
        if look.t % self.every if self.every else not look.due:
            return [None] * len(look.total)
        small = look.relative <= max(self.tolerance, look.negligible) if self.relative else look.total <= self.tolerance
        return [Status.CONVERGED if yes else None for yes in small.tolist()]


@dataclass(frozen=True)
class Stalled(Rule):
    """Stop when the objective has changed by less than a fraction of itself over the last records.

    Parameters
    ----------
    tolerance : float
        Relative to ``max(1, |F|)``.
    window : int
        How many records to look back.
    """

    tolerance: float = 1e-10
    window: int = 50

    def __post_init__(self) -> None:
        _check_number(self.tolerance, "Stalled")
        require(self.tolerance >= 0, f"Stalled needs a tolerance that is not negative; given {self.tolerance}.")
        require(self.window >= 1, f"Stalled needs a window of at least 1; given {self.window}.")

    def rest(self, t: int) -> int:
        return LONG

    def __call__(self, now: Snapshot) -> Status | None:
        if not now.due:
            return None
        before = now.recent("objective", self.window)
        if len(before) < self.window:
            return None
        recent = [*before, now.objective]
        spread = max(recent) - min(recent)
        return Status.STALLED if spread <= self.tolerance * max(1.0, abs(now.objective)) else None

    sees_many = True

    def many(self, look: Look) -> Verdicts:
        if not look.due:
            return [None] * len(look.total)
        return flat(look, self.window, self.tolerance * np.maximum(1.0, np.abs(look.objective)))


def flat(look: Look, window: int, tolerance: Any) -> Verdicts:
    """Stalled where the objectives of so many records differ by no more than this, a number for each run."""
    before = look.recent(window)
    if len(before) < window:
        return [None] * len(look.total)
    recent = np.stack([*before, look.objective])
    still = np.max(recent, axis=0) - np.min(recent, axis=0) <= tolerance
    return [Status.STALLED if yes else None for yes in still.tolist()]


@dataclass(frozen=True)
class NotFinite(Rule):
    """Stop when X is not finite. Every run has this rule.

    Parameters
    ----------
    measure : bool
        Also check the whole state, the objective and the criticality. A run does so when it records.
    """

    measure: bool = False

    def __call__(self, now: Snapshot) -> Status | None:
        finite = now.is_finite
        if finite and self.measure:
            with backend_of(now.X).quiet():
                finite = now.state_is_finite and all(_is_possible(now, v) for v in (now.objective, now.criticality))
        return None if finite else Status.NOT_FINITE


def _is_possible(now: Snapshot, value: float) -> bool:
    """Whether a value is finite, or infinite because h is a constraint that X violates."""
    return math.isfinite(value) or (value == math.inf and not_lipschitz(now.problem))


@dataclass(frozen=True)
class When(Rule):
    """Stop when a function of the snapshot returns a Status, or something true."""

    test: Callable[[Snapshot], Any]

    def __call__(self, now: Snapshot) -> Status | None:
        answer = self.test(now)
        if isinstance(answer, Status):
            return answer
        return Status.STOPPED if answer else None


def as_rule(rule: Rule | Callable[[Snapshot], Any]) -> Rule:
    """A rule, from a rule or from any function of a snapshot."""
    if isinstance(rule, Rule):
        return rule
    if callable(rule) and not isinstance(rule, type):
        return When(rule)
    given = f"the class {rule.__name__}" if isinstance(rule, type) else type(rule).__name__
    raise TypeError(
        f"A stopping rule is a Rule or a function of a snapshot; given {given}. "
        "Write Critical(1e-6), Seconds(10), or Iterations(500) | Critical(1e-6)."
    )

"""Which entries of X may move, which sign they keep, and what holds the others at zero."""

from __future__ import annotations

from dataclasses import dataclass

from orthoprox._fields import replace
from orthoprox._linalg import rounding
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.problem import Problem
from orthoprox.terms import EntrywiseTerm


@dataclass(frozen=True, eq=False)
class ActiveSet:
    """The entries that are free, and how an entrywise h acts on them and on the others.

    On an active set h is smooth as long as no entry changes its sign, so F is smooth there.

    Parameters
    ----------
    support : array, shape (n, r)
        One where an entry may move, zero where it is held at zero, as floats.
    signs : array, shape (n, r)
        The sign that an entry of the support keeps, because h has a kink at zero; zero where it may take either.
    low, high : array, shape (n, r)
        The slopes of h on both sides of zero. Entries off the support stay at zero as long as a number between
        these balances the rest of the gradient; infinite where nothing makes them leave.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import Problem, Stiefel
    >>> from orthoprox.active import ActiveSet
    >>> from orthoprox.terms import L1, Linear
    >>> problem = Problem.of(Linear(np.ones((3, 1))) + 0.5 * L1(), over=Stiefel(3, 1))
    >>> ActiveSet.at(problem, np.array([[0.6], [0.0], [-0.8]])).signs.T
    array([[ 1.,  0., -1.]])
    """

    support: Array
    signs: Array
    low: Array
    high: Array

    @staticmethod
    def at(problem: Problem, X: Array) -> ActiveSet:
        """The nonzeros of X, and all entries at which h has no kink."""
        h = problem.h
        assert isinstance(h, EntrywiseTerm)  # other terms have no active sets of entries
        xp = array_namespace(X)
        low, high = h.subdifferential(xp.zeros_like(X))
        kink = low != high
        support = xp.astype((X != 0) | ~kink, X.dtype)
        return ActiveSet(support, xp.where(kink, xp.sign(X), 0.0), low, high)

    @staticmethod
    def fixed(support: Array) -> ActiveSet:
        """A given support that nothing enters or leaves: for an f alone, with zeros as a constraint."""
        xp = array_namespace(support)
        free = xp.zeros_like(support)
        return ActiveSet(support, free, free - xp.inf, free + xp.inf)

    @property
    def kinks(self) -> Array:
        """Where the slopes of h at zero differ."""
        return self.low != self.high

    def slope(self, h: EntrywiseTerm, X: Array) -> Array:
        """The derivative of h on the support; at a zero that is about to move, the one on the side it moves to."""
        xp = array_namespace(X)
        ahead = xp.where(self.signs > 0, self.high, xp.where(self.signs < 0, self.low, 0.0))
        return xp.where((X == 0) & (self.signs != 0), ahead, h.subgradient(X)) * self.support

    def leaving(self, Y: Array) -> Array:
        """Entries of the support whose sign at Y is not the one they have to keep."""
        return (self.signs != 0) & (Y * self.signs <= 0)

    def without(self, entries: Array) -> ActiveSet:
        """The set that these entries have left."""
        xp = array_namespace(entries)
        return replace(self, support=xp.where(entries, 0.0, self.support), signs=xp.where(entries, 0.0, self.signs))

    def with_entries(self, signs: Array) -> ActiveSet:
        """The set that the entries with these signs have entered."""
        xp = array_namespace(signs)
        return replace(self, support=xp.maximum(self.support, xp.abs(signs)), signs=self.signs + signs)

    def follow(self, X: Array) -> ActiveSet:
        """The set after a step to X: entries that became zero have left it."""
        xp = array_namespace(X)
        left = self.without((self.signs != 0) & (X == 0))
        return replace(left, signs=xp.where(left.signs != 0, xp.sign(X), 0.0))

    def clear(self, X: Array) -> Array:
        """X with exact zeros for entries that are nothing but rounding, where h has a kink there."""
        xp = array_namespace(X)
        return xp.where((xp.abs(X) <= rounding(X, 1.0)) & (self.signs != 0), 0.0, X)

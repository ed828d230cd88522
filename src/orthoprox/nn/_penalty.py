"""Penalties on stacks of matrices: our terms, which know one matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from orthoprox._penalties import penalty_terms
from orthoprox.terms import ConvexTerm, EntrywiseTerm, GroupL2, LargestK, ProximableTerm, Zero

_ON_STACKS = (EntrywiseTerm, GroupL2)
"""Terms whose code treats axes before the last two as it should; mu then has the shape (b, 1, 1)."""


@dataclass(frozen=True, eq=False)
class Penalty:
    """h - g for each matrix of a stack.

    Entrywise terms and group norms act on a stack as they are. Other terms are vectorised over the stack; one whose
    code decides by the values of its argument cannot be, and sees one matrix after the other.
    """

    h: ProximableTerm
    g: ConvexTerm
    _one_by_one: set[str] = field(default_factory=set, repr=False)

    @staticmethod
    def of(expression: Any, shape: tuple[int, int, int]) -> Penalty | None:
        """The penalty that a term or a sum of terms describes on matrices of a shape; None for none."""
        if isinstance(expression, Penalty):
            return expression
        terms = penalty_terms(expression, *shape[1:])
        return None if terms is None else Penalty(*terms)

    @property
    def subtracts(self) -> bool:
        """Whether there is a g."""
        return not isinstance(self.g, Zero)

    def prox(self, b: Any, mu: Any) -> Any:
        """The prox of h at each matrix; mu has a number for each of them, shape (b, 1, 1)."""
        if isinstance(self.h, _ON_STACKS):
            return self.h.prox(b, mu)
        if isinstance(self.h, Zero):
            return b
        return self._each("prox", self.h.prox, b, mu[:, 0, 0])

    def pull(self, X: Any) -> Any:
        """A subgradient of g at each matrix."""
        if isinstance(self.g, LargestK):
            return torch.where(_largest(X.abs().flatten(1), self.g.k).view_as(X), self.g.weight * X.sign(), 0.0)
        if isinstance(self.g, _ON_STACKS):
            return self.g.subgradient(X)
        return self._each("pull", self.g.subgradient, X)

    def value(self, X: Any) -> Any:
        """The sum over the stack of h - g."""
        return sum(self.h.value(one) - self.g.value(one) for one in X)

    def dual_distance(self, y: Any, z: Any) -> list[float]:
        """The distance from z to the subdifferential of h at y, for each matrix."""
        return [float(self.h.subgradient_distance(a, b)) for a, b in zip(y, z, strict=True)]

    def _each(self, name: str, function: Callable[..., Any], *stacks: Any) -> Any:
        if name not in self._one_by_one:
            try:
                return torch.func.vmap(function)(*stacks)
            except RuntimeError:  # a decision by values, or an operation without a vectorised form
                self._one_by_one.add(name)
        return torch.stack([function(*parts) for parts in zip(*stacks, strict=True)])


def _largest(sizes: Any, k: int) -> Any:
    """A mask of the k largest numbers of each row; of equal ones the first, as in ``LargestK``."""
    if k >= sizes.shape[1]:
        return torch.ones_like(sizes, dtype=torch.bool)
    least = sizes.topk(k, dim=1, sorted=False).values.amin(dim=1, keepdim=True)
    above, ties = sizes > least, sizes == least
    return above | (ties & (ties.cumsum(1) <= k - above.sum(dim=1, keepdim=True)))

"""Terms added, subtracted and bound to maps, not yet sorted into f, g, h and A."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from array_api_compat import is_numpy_array

from orthoprox._checks import check_weight
from orthoprox.maps._base import LinearMap, as_map
from orthoprox.maps.sparse import is_sparse

if TYPE_CHECKING:
    from orthoprox.terms._base import Term


class Summand(NamedTuple):
    """One term with its sign, and the map it is bound to (None means the identity)."""

    sign: int
    term: Term
    A: LinearMap | None

    def __str__(self) -> str:
        name = f"{'-' if self.sign < 0 else '+'} {type(self.term).__name__}"
        return name if self.A is None else f"{name} @ {type(self.A).__name__}"


@dataclass(frozen=True, eq=False)
class Expression:
    """A sum of summands and a constant; ``Problem.of`` sorts it."""

    summands: tuple[Summand, ...]
    constant: float

    # Let NumPy scalars leave ``scalar * expression`` to the methods below.
    __array_ufunc__ = None

    def __add__(self, other: Any) -> Expression:
        other = as_expression(other)
        if other is None:
            return NotImplemented
        return Expression(self.summands + other.summands, self.constant + other.constant)

    __radd__ = __add__

    def __neg__(self) -> Expression:
        return Expression(tuple(Summand(-sign, term, A) for sign, term, A in self.summands), -self.constant)

    def __sub__(self, other: Any) -> Expression:
        other = as_expression(other)
        return NotImplemented if other is None else self + (-other)

    def __rsub__(self, other: Any) -> Expression:
        return (-self).__add__(other)

    def __rmul__(self, factor: float) -> Expression:
        factor = check_weight(factor, "Expression", nonnegative=False)
        size, sign = abs(factor), int(math.copysign(1, factor))
        scaled = tuple(Summand(sign * s, size * term, A) for s, term, A in self.summands)
        return Expression(scaled, factor * self.constant)

    def __mul__(self, factor: float) -> Expression:
        return self.__rmul__(factor)

    def __matmul__(self, A: Any) -> Expression:
        """The expression of A(X): A is a map, an array, a SciPy sparse matrix or a LinearOperator."""
        A = as_map(_as_floats(A), "A")
        bound = (Summand(s, term, A if inner is None else inner @ A) for s, term, inner in self.summands)
        return Expression(tuple(bound), self.constant)

    def __rmatmul__(self, other: Any) -> NoReturn:
        raise TypeError(
            f"A term comes before @ and the map that it is bound to after it, as in L1() @ B; given "
            f"{type(other).__name__} before it."
        )


def _as_floats(A: Any) -> Any:
    """Whole numbers and truth values, of which differences and choices are made, as floats."""
    if not (is_numpy_array(A) or is_sparse(A)) or A.dtype.kind not in "biu":
        return A
    return A.astype(np.float64)


def as_expression(value: Any) -> Expression | None:
    """A term, an expression or a number as an expression; None for anything else."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, Real):
        return Expression((), float(value))
    alone = None if isinstance(value, type) else getattr(value, "_alone", None)
    return None if alone is None else alone()

"""What a linear map is, and the arithmetic of maps."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any, ClassVar

from orthoprox._linalg import sum_exactly
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.blocks import Rows, is_chunked


class LinearMap(abc.ABC):
    """A linear map of an n-by-r matrix X to an m-by-r matrix, with its adjoint and a bound on its norm.

    Attributes
    ----------
    norm : float
        Never below the largest singular value; computed with the map, or given.
    columns : int or None
        The n this map expects of X; None if any n works.
    left : bool
        Whether the map is a product from the left, so that ``A(X S) = A(X) S`` for every r-by-r S; solvers then need
        fewer products. A class that does not say so is taken to be none.
    tightness : float or None
        The c > 0 with ``A(A.adjoint(Z)) = c Z`` for all Z; None when there is none, or none is known.
    """

    norm: float
    columns: int | None
    left: ClassVar[bool] = False

    @property
    def tightness(self) -> float | None:
        # With such a c the prox of h(A(.)) is as cheap as that of h.
        return None

    @abc.abstractmethod
    def __call__(self, X: Array) -> Array:
        """A(X)."""

    @abc.abstractmethod
    def adjoint(self, Z: Array) -> Array:
        """The matrix with ``<A(X), Z> = <X, A.adjoint(Z)>`` for all X."""

    @abc.abstractmethod
    def rows(self, n: int) -> int:
        """The number m of rows of A(X) when X has n."""

    @abc.abstractmethod
    def cost(self, n: int) -> int:
        """Multiplications in A(X) for each column of X, to compare ways of computing the same."""

    def gram(self, X: Array) -> Array:
        """A.adjoint(A(X)): where the data are far away, in one pass over them."""
        return self.adjoint(self(X))

    def form_gram(self) -> Array:
        """The matrix of A*A, for a product from the left with a known number of columns."""
        from orthoprox.maps._host import identity_blocks, like_of

        n = self.columns
        assert n is not None  # the caller knows
        like = like_of(self)
        blocks = [self.gram(E) for E in identity_blocks(n, self.rows(n), like)]
        return array_namespace(like).concat(blocks, axis=1)

    def shape(self, n: int, r: int) -> tuple[int, int]:
        """The shape of A(X) when X is n by r."""
        return (self.rows(n), r)

    def check(self, n: int, name: str = "A") -> None:
        """Refuse an X with the wrong number of rows, in a sentence."""
        if self.columns is not None and self.columns != n:
            raise ValueError(f"{name} acts on matrices with {self.columns} rows; given one with {n}.")

    # Let NumPy leave ``array * map`` and friends to the methods below.
    __array_ufunc__ = None

    def __add__(self, other: LinearMap) -> LinearMap:
        return Sum((self, other)) if isinstance(other, LinearMap) else NotImplemented

    def __sub__(self, other: LinearMap) -> LinearMap:
        return Sum((self, -1.0 * other)) if isinstance(other, LinearMap) else NotImplemented

    def __matmul__(self, other: LinearMap) -> LinearMap:
        return Product(self, other) if isinstance(other, LinearMap) else NotImplemented

    def __rmul__(self, factor: float) -> LinearMap:
        return Scaled(float(factor), self)

    def __mul__(self, factor: float) -> LinearMap:
        return Scaled(float(factor), self)

    def __neg__(self) -> LinearMap:
        return Scaled(-1.0, self)


def common_columns(maps: tuple[LinearMap, ...], what: str) -> int | None:
    """The n that several maps of the same X expect; a sentence when they disagree."""
    known = {A.columns for A in maps if A.columns is not None}
    if len(known) > 1:
        raise ValueError(f"The maps of a {what} must act on the same X; given maps for {sorted(known)} rows.")
    return known.pop() if known else None


class _Combination(LinearMap):
    """A combination of maps: a product from the left if all of them are."""

    @property
    @abc.abstractmethod
    def members(self) -> tuple[LinearMap, ...]:
        """The maps that it combines."""

    @property
    def left(self) -> bool:  # type: ignore[override]
        return all(A.left for A in self.members)

    def cost(self, n: int) -> int:
        return sum(A.cost(n) for A in self.members)


@dataclass(frozen=True, eq=False)
class Sum(_Combination):
    """X -> A_1(X) + A_2(X) + ..."""

    maps: tuple[LinearMap, ...]

    def __post_init__(self) -> None:
        n = common_columns(self.maps, "sum")
        if n is not None and len({A.rows(n) for A in self.maps}) > 1:
            raise ValueError(f"Maps that are added must agree in rows; given {[A.rows(n) for A in self.maps]}.")

    @property
    def members(self) -> tuple[LinearMap, ...]:
        return self.maps

    @property
    def norm(self) -> float:  # type: ignore[override]
        return sum_exactly(A.norm for A in self.maps)

    @property
    def columns(self) -> int | None:  # type: ignore[override]
        return common_columns(self.maps, "sum")

    def __call__(self, X: Array) -> Array:
        first, *rest = self.maps
        total = first(X)
        for A in rest:
            total = total + A(X)
        return total

    def adjoint(self, Z: Array) -> Array:
        first, *rest = self.maps
        total = first.adjoint(Z)
        for A in rest:
            total = total + A.adjoint(Z)
        return total

    def rows(self, n: int) -> int:
        return self.maps[0].rows(n)


@dataclass(frozen=True, eq=False)
class Product(_Combination):
    """X -> A(B(X))."""

    A: LinearMap
    B: LinearMap

    def __post_init__(self) -> None:
        n = self.B.columns
        if n is not None:
            self.A.check(self.B.rows(n), "The outer map of a product")

    @property
    def members(self) -> tuple[LinearMap, ...]:
        return (self.A, self.B)

    @property
    def norm(self) -> float:  # type: ignore[override]
        return self.A.norm * self.B.norm

    @property
    def columns(self) -> int | None:  # type: ignore[override]
        return self.B.columns

    def __call__(self, X: Array) -> Array:
        return self.A(self.B(X))

    def adjoint(self, Z: Array) -> Array:
        return self.B.adjoint(self.A.adjoint(Z))

    def rows(self, n: int) -> int:
        return self.A.rows(self.B.rows(n))

    def cost(self, n: int) -> int:
        return self.A.cost(self.B.rows(n)) + self.B.cost(n)

    @property
    def tightness(self) -> float | None:
        outer, inner = self.A.tightness, self.B.tightness
        return None if outer is None or inner is None else outer * inner


@dataclass(frozen=True, eq=False)
class Scaled(_Combination):
    """X -> c A(X)."""

    factor: float
    A: LinearMap

    def __post_init__(self) -> None:
        if not math.isfinite(self.factor):
            raise ValueError(f"A map can only be scaled by a finite number; given {self.factor}.")

    @property
    def members(self) -> tuple[LinearMap, ...]:
        return (self.A,)

    @property
    def norm(self) -> float:  # type: ignore[override]
        return abs(self.factor) * self.A.norm

    @property
    def columns(self) -> int | None:  # type: ignore[override]
        return self.A.columns

    def __call__(self, X: Array) -> Array:
        return self.factor * self.A(X)

    def adjoint(self, Z: Array) -> Array:
        return self.factor * self.A.adjoint(Z)

    def rows(self, n: int) -> int:
        return self.A.rows(n)

    @property
    def tightness(self) -> float | None:
        c = self.A.tightness
        return None if c is None or self.factor == 0 else self.factor**2 * c


def as_map(B: Any, name: str = "B") -> LinearMap:
    """A map from what users have at hand: a map, an array, a sparse matrix, a LinearOperator or data in blocks."""
    from orthoprox.maps.blocked import Blocked
    from orthoprox.maps.matrix import Matrix
    from orthoprox.maps.operator import Operator, is_operator
    from orthoprox.maps.sparse import Sparse, is_sparse

    if isinstance(B, LinearMap):
        return B
    if is_sparse(B):
        return Sparse(B, name=name)
    if is_operator(B):
        return Operator(B)
    if isinstance(B, Rows) or is_chunked(B):
        return Blocked(B)
    return Matrix(B, name=name)


def as_data(D: Any, name: str = "D") -> tuple[LinearMap, int, int]:
    """Samples as rows, from what users have at hand: the map, how many samples and how many features."""
    B = as_map(D, name)
    if B.columns is None:
        raise ValueError(f"{name} must be data with a known number of features; given a map of any size, {B}.")
    return B, B.rows(B.columns), B.columns

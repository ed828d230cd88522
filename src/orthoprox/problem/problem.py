"""The problem: minimise f(X) - g(X) + h(A(X)) over X in M."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj, is_numpy_array

from orthoprox._fields import parts
from orthoprox._html import brief, card
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends._tree import field_names
from orthoprox.manifolds import Stiefel
from orthoprox.maps import Centred, Gram, Identity, LinearMap, ScaledRows
from orthoprox.maps.operator import is_operator
from orthoprox.maps.sparse import is_sparse
from orthoprox.problem._sorting import sort_summands
from orthoprox.problem.point import Point
from orthoprox.terms import (
    ComposedConvex,
    ComposedQuadratic,
    ComposedSmooth,
    ConvexTerm,
    Expression,
    ProximableTerm,
    SmoothTerm,
    Term,
    Zero,
)
from orthoprox.terms._referred import arrays_in


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """Minimise ``offset + f(X) - g(X) + h(A(X))`` over X in M (equation (1) of the paper).

    Parameters
    ----------
    M : Stiefel
        The matrices over which to minimise.
    f : SmoothTerm
        Smooth; zero by default, as are the others.
    g : ConvexTerm
        Convex, subtracted.
    h : ProximableTerm
        Weakly convex, with an exact proximal map.
    A : LinearMap
        The map inside h; the identity by default.
    offset : float
        A constant that is added to reported values.
    notes : tuple of str
        What a user should know about the data; results repeat it.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import Problem, Stiefel
    >>> from orthoprox.terms import ExplainedVariance, L1, LargestK
    >>> B = np.random.default_rng(0).standard_normal((30, 8))
    >>> problem = Problem.of(ExplainedVariance(B) - 0.5 * LargestK(6) + 0.5 * L1(), over=Stiefel(8, 2))
    >>> problem.g
    LargestK(k=6, weight=0.5)
    """

    M: Stiefel
    f: SmoothTerm = field(default_factory=Zero)
    g: ConvexTerm = field(default_factory=Zero)
    h: ProximableTerm = field(default_factory=Zero)
    A: LinearMap = field(default_factory=Identity)
    offset: float = 0.0
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, kind, role in (
            ("M", Stiefel, "a Stiefel manifold"),
            ("f", SmoothTerm, "a smooth term"),
            ("g", ConvexTerm, "a convex term (it is subtracted)"),
            ("h", ProximableTerm, "a term with a proximal map"),
            ("A", LinearMap, "a linear map; wrap a matrix as Matrix(B)"),
        ):
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"{name} must be {role}; given {type(getattr(self, name)).__name__}.")
        self.A.check(self.M.n, "A")
        for name in ("f", "g"):
            rows = _expected_rows(getattr(self, name))
            if rows not in (None, self.M.n):
                raise ValueError(
                    f"The data of {name} need matrices with {rows} rows; the manifold has n = {self.M.n}. "
                    f"Use Stiefel({rows}, r)."
                )

    @staticmethod
    def of(expression: Expression | Term, *, over: Stiefel | tuple[int, int], notes: tuple[str, ...] = ()) -> Problem:
        """The problem that an expression such as ``f - w * g + w * h @ A`` describes, over Stiefel(n, r) or (n, r).

        Smooth summands go into f, subtracted convex ones into g, added ones with a proximal map into h;
        several of the last kind become one separable sum over one stacked map. A number goes into the offset.
        """
        M = _as_manifold(over)
        f, g, h, A, offset = sort_summands(expression, M.n)
        return Problem(M=M, f=f, g=g, h=h, A=A, offset=offset, notes=notes)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of A(X), on which h acts."""
        return self.A.shape(self.M.n, self.M.r)

    @property
    def data(self) -> Array | None:
        """The first array of floats among the problem's parts: X must live where it lives. None without one."""
        for part in _own((self.f, self.g, self.h, self.A)):
            if is_array_api_obj(part) and array_namespace(part).isdtype(part.dtype, "real floating"):
                return part
        return None

    @property
    def like(self) -> Array:
        """An array of the library, device and float type a random X should have."""
        data = self.data
        if data is not None:
            return data
        for part in parts((self.f, self.g, self.h, self.A)):
            dtype = getattr(part, "dtype", None)  # SciPy's matrices and operators work with X of any library
            if dtype is not None and np.dtype(dtype).kind == "f":
                return np.empty((0, 0), dtype=dtype)
        for part in parts((self.f, self.g)):
            for array in arrays_in(part) if callable(part) else ():
                if not is_numpy_array(array):  # a function in NumPy works with X of any library that NumPy reads
                    return array
        return np.empty((0, 0))

    def at(self, X: Array) -> Point:
        """X with its products."""
        return Point(X, self.f.product(X), self.A(X))

    def objective(self, X: Array | Point) -> Scalar:
        """F(X), offset included."""
        point = X if isinstance(X, Point) else self.at(X)
        smooth = self.f.value_at(point.X, point.HX)
        return self.offset + smooth - self.g.value(point.X) + self.h.value(point.AX)

    def check(self, X: Array) -> None:
        """Evaluate every part once, so that a misfit is reported in a sentence before the run."""
        AX = self.A(X)
        for name, ask, at in (
            ("f", self.f.gradient, X),
            ("g", self.g.subgradient, X),
            ("h", self.h.subgradient, AX),
        ):
            kind = type(getattr(self, name)).__name__
            try:
                out = ask(at)
            except Exception as error:
                kind_of_error = type(error).__name__
                reason = str(error).rstrip(".") if isinstance(error, (ValueError, TypeError)) else ""
                reason = reason or ": ".join(filter(None, (kind_of_error, str(error).rstrip("."))))
                raise ValueError(
                    f"{name} = {kind} could not be evaluated at a starting point of shape {tuple(X.shape)}: {reason}."
                ) from error
            found = tuple(out.shape) if hasattr(out, "shape") else f"a {type(out).__name__}"
            if found != tuple(at.shape):
                raise ValueError(
                    f"{name} = {kind} must give an array of the shape it is given, {tuple(at.shape)}; it gave {found}."
                )

    def _repr_html_(self) -> str:
        """What a notebook shows: the parts that there are, by kind and shape; nothing is computed."""
        inner = "X" if isinstance(self.A, Identity) else "A(X)"
        written = {"f": "+ f(X)", "g": "\u2212 g(X)", "h": f"+ h({inner})"}
        there = [name for name in written if not isinstance(getattr(self, name), Zero)]
        formula = " ".join(written[name] for name in there).removeprefix("+ ") or "0"
        parts = [*there, *(["A"] if "h" in there and inner != "X" else [])]
        rows = [(name, brief(getattr(self, name))) for name in parts]
        rows += [("offset", f"{self.offset:.6g}")] if self.offset else []
        over = f"over X\u2032X = I, X is {self.M.n} by {self.M.r}"
        return card(f"Problem: minimise {formula} {over}", rows, notes=self.notes)


def _as_manifold(over: Any) -> Stiefel:
    """The manifold itself, or the one of matrices of a shape."""
    if isinstance(over, Stiefel):
        return over
    if isinstance(over, (tuple, list)) and len(over) == 2:
        return Stiefel(*over)
    raise TypeError(f"over must be a Stiefel manifold, or the shape (n, r) of its matrices; given {over!r}.")


def _own(obj: Any) -> Iterator[Any]:
    """Yield the parts, without arrays computed from SciPy's data: those work with X of any library."""
    derived = isinstance(obj, (Gram, Centred, ScaledRows))
    if derived and any(is_sparse(part) or is_operator(part) for part in parts(obj)):
        return
    names = field_names(type(obj))
    if names is not None or isinstance(obj, (tuple, list)):
        for item in obj if names is None else [getattr(obj, name) for name in names]:
            yield from _own(item)
    else:
        yield obj


def _expected_rows(term: Term) -> int | None:
    """The n that a term's data need, if the term shows it."""
    if isinstance(term, (ComposedSmooth, ComposedQuadratic, ComposedConvex)):
        return term.A.columns
    if not is_dataclass(term):
        return None  # a class of the user's own
    for value in (getattr(term, name.name) for name in fields(term)):
        inner = value if isinstance(value, tuple) else (value,)
        for part in inner:
            if isinstance(part, LinearMap) and part.columns is not None:
                return part.columns
            if isinstance(part, Term) and _expected_rows(part) is not None:
                return _expected_rows(part)
    return None

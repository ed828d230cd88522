"""One line per term and setting: what the laws of smooth, convex and proximable terms are tried on."""

import copy
import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from hypothesis import settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator

from orthoprox import terms
from orthoprox.maps import Difference, Matrix

ROWS, COLUMNS = 4, 2
SHAPE = (ROWS, COLUMNS)

_rng = np.random.default_rng(7)
B = _rng.standard_normal((5, ROWS))
THIN = _rng.standard_normal((2, ROWS))  # too few rows for a Gram matrix to pay
Y = _rng.standard_normal((5, COLUMNS))
C = _rng.standard_normal(SHAPE)
Q = _rng.standard_normal((ROWS, ROWS))
Q = Q + Q.T
WEIGHTS = np.array([[0.5, 0.0], [1.0, 2.0], [0.3, 0.7], [1.5, 1.0]])


def inner(a: Any, b: Any) -> float:
    return float(np.sum(a * b))


def size(a: Any) -> float:
    """The norm, also of numbers below 1e-162, whose squares vanish."""
    _, exponent = math.frexp(np.max(np.abs(np.asarray(a)), initial=0.0))
    scale = 2.0 ** (exponent - 1)
    return scale * float(np.linalg.norm(np.asarray(a) / scale))


def total(a: Any) -> Any:
    return array_namespace(a).sum(a)


def softplus(X: Any) -> Any:
    """log(2 cosh X) added up: convex, its gradient tanh is 1-Lipschitz."""
    xp = array_namespace(X)
    return total(xp.abs(X) + xp.log1p(xp.exp(-2 * xp.abs(X))))


def tanh(X: Any) -> Any:
    return array_namespace(X).tanh(X)


def tanh_slope(X: Any, V: Any) -> Any:
    return (1 - tanh(X) ** 2) * V


def quartic(X: Any) -> tuple[Any, Any]:
    return total(X**4) / 4, X**3


SMOOTH = [
    terms.ExplainedVariance(B, weight=0.7),
    terms.ExplainedVariance(THIN, weight=-1.3),
    terms.ExplainedVariance(csr_array(B)),
    terms.ExplainedVariance(aslinearoperator(B), weight=2.0),
    terms.Quadratic(Q, weight=0.6),
    terms.Quadratic(Q, weight=-2.0),
    terms.Quadratic(csr_array(Q), weight=1.5),
    terms.Quadratic(Matrix(Q)),
    terms.Linear(C, weight=-0.8),
    terms.LeastSquares(B, Y, weight=0.9),
    terms.LeastSquares(B, Y, weight=-0.4),
    terms.LeastSquares(THIN, weight=1.1),
    terms.Smooth(softplus, tanh, lipschitz=1.0, weight=0.5),
    terms.Smooth(softplus, tanh, lipschitz=1.0, weight=-1.5, hessian=tanh_slope),
    terms.Smooth(quartic, weight=0.3),
    terms.Mean.of_rows(B, 2, weight=0.6),
    terms.Mean.of_rows(csr_array(B), 3, weight=-0.4),
    terms.Mean((terms.Quadratic(Q), terms.Smooth(softplus, tanh, lipschitz=1.0), terms.LeastSquares(B, Y)), weight=0.8),
    terms.QuadraticSum((terms.Quadratic(Q), terms.Linear(C), terms.LeastSquares(B, Y, weight=-0.5)), weight=0.7),
    terms.QuadraticSum((terms.ExplainedVariance(B), terms.LeastSquares(B, Y)), weight=-0.7),
    terms.SmoothSum(
        (terms.Quadratic(Q), terms.Smooth(softplus, tanh, lipschitz=1.0), terms.LeastSquares(B, Y)), weight=-0.7
    ),
    terms.SmoothSum((terms.Smooth(softplus, tanh, lipschitz=1.0), terms.Smooth(quartic)), weight=0.5),
    terms.ComposedQuadratic(terms.Quadratic(Q[:3, :3]), Difference(), weight=0.5),
    terms.ComposedQuadratic(terms.LeastSquares(B[:, :3], Y, weight=2.0), Difference(), weight=-0.5),
    terms.SmoothSum((terms.Quadratic(Q), terms.Smooth(softplus, tanh, 1.0, hessian=tanh_slope)), weight=-0.7),
    terms.ComposedSmooth(terms.Smooth(softplus, tanh, lipschitz=1.0, hessian=tanh_slope), Matrix(B), weight=0.8),
    terms.ComposedSmooth(terms.Smooth(quartic), Difference()),
    terms.Zero(),
    terms.Zero(weight=-2.0),
]

ENTRYWISE = [
    terms.L1(weight=0.7),
    terms.WeightedL1(WEIGHTS, weight=0.8),
    terms.WeightedL1(WEIGHTS[:1, :], weight=1.2),
    terms.WeightedL1(np.array([0.4, 1.6])),
    terms.Huber(delta=0.5, weight=1.3),
    terms.Huber(delta=2.0, weight=0.6),
    terms.MCP(lam=0.5, gamma=2.0, weight=1.5),
    terms.MCP(lam=1.0, gamma=0.5, weight=0.8),
    terms.SCAD(lam=0.5, a=3.7, weight=1.2),
    terms.SCAD(lam=1.0, a=1.5, weight=0.4),
    terms.LogSum(eps=0.5, weight=0.7),
    terms.LogSum(eps=0.125, weight=0.25),
    terms.LogSum(eps=3.0, weight=2.0),
    terms.NegativePart(weight=0.6),
    terms.Zero(),
]

PROXIMABLE = [
    *ENTRYWISE,
    terms.GroupL2("rows", weight=0.9),
    terms.GroupL2("columns", weight=1.4),
    terms.LInf(weight=1.7),
    terms.ColumnRange(weight=1.3),
    terms.ColumnRange(2, weight=0.8),
    terms.Nuclear(weight=0.8),
    terms.SeparableSum((terms.L1(0.5), terms.MCP(1.0, 2.0, 0.5), terms.GroupL2("columns")), rows=(1, 2, 1), weight=1.5),
    terms.SeparableSum((terms.LInf(), terms.NegativePart(0.3)), rows=(3, 1)),
    terms.Shifted(terms.L1(0.6), C, weight=2.0),
    terms.Shifted(terms.SCAD(0.5, 3.0), C[:1, :], weight=0.5),
]

HARD_ENTRYWISE = [terms.L0(weight=0.7), terms.L0(weight=2.3), terms.Nonnegative(), terms.Nonnegative(weight=3.0)]

HARD = [
    *HARD_ENTRYWISE,
    terms.SeparableSum((terms.L0(0.3), terms.Nonnegative()), rows=(1, 3), weight=1.5),
    terms.Shifted(terms.Nonnegative(), C, weight=2.0),
]
"""Counts and constraints: not Lipschitz, so the laws about constants and supporting subgradients say nothing."""

CONVEX = [
    terms.LargestK(3, weight=0.7),
    terms.LargestK(1),
    terms.LargestK(1000, weight=1.2),
    terms.FrobeniusNorm(weight=0.8),
    terms.SpectralNorm(weight=1.4),
    terms.SmoothConvex(softplus, tanh, weight=0.6),
    terms.SmoothConvex(quartic),
    terms.ConvexSum((terms.L1(0.5), terms.LargestK(2), terms.FrobeniusNorm()), weight=0.4),
    terms.ComposedConvex(terms.LargestK(2), Difference(), weight=0.9),
    terms.ComposedConvex(terms.SmoothConvex(softplus, tanh), Matrix(B), weight=0.3),
    *(h for h in PROXIMABLE if isinstance(h, terms.ConvexTerm)),
]


def label(term: Any) -> str:
    """A short name for a test: the class and its plain settings."""
    settings = (getattr(term, field.name) for field in dataclasses.fields(term))
    return "-".join([type(term).__name__, *(str(s) for s in settings if isinstance(s, (str, int, float)))])


def moved(thing: Any, change: Callable[[np.ndarray], Any]) -> Any:
    """The same term or map with every NumPy array in it changed, by library or by float type."""
    if isinstance(thing, np.ndarray):
        return change(thing)
    if isinstance(thing, tuple):
        return tuple(moved(item, change) for item in thing)
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        twin = copy.copy(thing)
        for field in dataclasses.fields(thing):
            object.__setattr__(twin, field.name, moved(getattr(thing, field.name), change))
        return twin
    return thing


def points(scales: tuple[float, ...] = (1.0, 1.0, 1e-4, 1e3)) -> st.SearchStrategy[np.ndarray]:
    """Matrices with zeros, ties and whole rows of zeros, of several magnitudes; drawn from a seed, which is fast."""
    return st.builds(_point, st.integers(0, 2**32 - 1), st.sampled_from(scales))


def _point(seed: int, scale: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-4.0, 4.0, SHAPE)
    special = rng.choice([0.0, 0.0, 0.5, -0.5, 1.0, -1.0, 2.0], SHAPE)
    X = np.where(rng.random(SHAPE) < rng.choice([0.0, 0.5, 1.0]), special, X)
    return scale * np.where(rng.random((ROWS, 1)) < rng.choice([0.0, 0.0, 0.3, 1.0]), 0.0, X)


tries = settings(max_examples=max(1, settings.default.max_examples // 2))
"""How often a law is tried on each term: half as often as the profile says."""

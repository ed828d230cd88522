"""One line per term and setting: what the laws of smooth, convex and proximable terms are tried on."""

from __future__ import annotations

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

from orthoprox.maps import Difference, Matrix
from orthoprox.terms import (
    L0,
    L1,
    MCP,
    SCAD,
    ColumnRange,
    ComposedConvex,
    ComposedQuadratic,
    ComposedSmooth,
    ConvexSum,
    ExplainedVariance,
    FrobeniusNorm,
    GroupL2,
    Huber,
    LargestK,
    LeastSquares,
    Linear,
    LInf,
    LogSum,
    NegativePart,
    Nonnegative,
    Nuclear,
    Quadratic,
    QuadraticSum,
    SeparableSum,
    Shifted,
    Smooth,
    SmoothConvex,
    SmoothSum,
    SpectralNorm,
    WeightedL1,
    Zero,
)

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


def quartic(X: Any) -> tuple[Any, Any]:
    return total(X**4) / 4, X**3


SMOOTH = [
    ExplainedVariance(B, weight=0.7),
    ExplainedVariance(THIN, weight=-1.3),
    ExplainedVariance(csr_array(B)),
    ExplainedVariance(aslinearoperator(B), weight=2.0),
    Quadratic(Q, weight=0.6),
    Quadratic(Q, weight=-2.0),
    Quadratic(csr_array(Q), weight=1.5),
    Quadratic(Matrix(Q)),
    Linear(C, weight=-0.8),
    LeastSquares(B, Y, weight=0.9),
    LeastSquares(B, Y, weight=-0.4),
    LeastSquares(THIN, weight=1.1),
    Smooth(softplus, tanh, lipschitz=1.0, weight=0.5),
    Smooth(softplus, tanh, lipschitz=1.0, weight=-1.5),
    Smooth(quartic, weight=0.3),
    QuadraticSum((Quadratic(Q), Linear(C), LeastSquares(B, Y, weight=-0.5)), weight=0.7),
    QuadraticSum((ExplainedVariance(B), LeastSquares(B, Y)), weight=-0.7),
    SmoothSum((Quadratic(Q), Smooth(softplus, tanh, lipschitz=1.0), LeastSquares(B, Y)), weight=-0.7),
    SmoothSum((Smooth(softplus, tanh, lipschitz=1.0), Smooth(quartic)), weight=0.5),
    ComposedQuadratic(Quadratic(Q[:3, :3]), Difference(), weight=0.5),
    ComposedQuadratic(LeastSquares(B[:, :3], Y, weight=2.0), Difference(), weight=-0.5),
    ComposedSmooth(Smooth(softplus, tanh, lipschitz=1.0), Matrix(B), weight=0.8),
    ComposedSmooth(Smooth(quartic), Difference()),
    Zero(),
    Zero(weight=-2.0),
]

ENTRYWISE = [
    L1(weight=0.7),
    WeightedL1(WEIGHTS, weight=0.8),
    WeightedL1(WEIGHTS[:1, :], weight=1.2),
    WeightedL1(np.array([0.4, 1.6])),
    Huber(delta=0.5, weight=1.3),
    Huber(delta=2.0, weight=0.6),
    MCP(lam=0.5, gamma=2.0, weight=1.5),
    MCP(lam=1.0, gamma=0.5, weight=0.8),
    SCAD(lam=0.5, a=3.7, weight=1.2),
    SCAD(lam=1.0, a=1.5, weight=0.4),
    LogSum(eps=0.5, weight=0.7),
    LogSum(eps=0.125, weight=0.25),
    LogSum(eps=3.0, weight=2.0),
    NegativePart(weight=0.6),
    Zero(),
]

PROXIMABLE = [
    *ENTRYWISE,
    GroupL2("rows", weight=0.9),
    GroupL2("columns", weight=1.4),
    LInf(weight=1.7),
    ColumnRange(weight=1.3),
    ColumnRange(2, weight=0.8),
    Nuclear(weight=0.8),
    SeparableSum((L1(0.5), MCP(1.0, 2.0, 0.5), GroupL2("columns")), rows=(1, 2, 1), weight=1.5),
    SeparableSum((LInf(), NegativePart(0.3)), rows=(3, 1)),
    Shifted(L1(0.6), C, weight=2.0),
    Shifted(SCAD(0.5, 3.0), C[:1, :], weight=0.5),
]

HARD_ENTRYWISE = [
    L0(weight=0.7),
    L0(weight=2.3),
    Nonnegative(),
    Nonnegative(weight=3.0),
]

HARD = [
    *HARD_ENTRYWISE,
    SeparableSum((L0(0.3), Nonnegative()), rows=(1, 3), weight=1.5),
    Shifted(Nonnegative(), C, weight=2.0),
]
"""Counts and constraints: not Lipschitz, so the laws about constants and supporting subgradients say nothing."""

CONVEX = [
    LargestK(3, weight=0.7),
    LargestK(1),
    LargestK(1000, weight=1.2),
    FrobeniusNorm(weight=0.8),
    SpectralNorm(weight=1.4),
    SmoothConvex(softplus, tanh, weight=0.6),
    SmoothConvex(quartic),
    ConvexSum((L1(0.5), LargestK(2), FrobeniusNorm()), weight=0.4),
    ComposedConvex(LargestK(2), Difference(), weight=0.9),
    ComposedConvex(SmoothConvex(softplus, tanh), Matrix(B), weight=0.3),
    L1(weight=0.7),
    WeightedL1(WEIGHTS, weight=0.8),
    Huber(delta=0.5, weight=1.3),
    NegativePart(weight=0.6),
    GroupL2("rows", weight=0.9),
    GroupL2("columns"),
    LInf(weight=1.7),
    ColumnRange(2, weight=1.1),
    Nuclear(weight=0.8),
    Zero(),
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


HALF = max(1, settings.default.max_examples // 2)
"""How often a law is tried on each term: fifty times, unless the profile asks for more."""

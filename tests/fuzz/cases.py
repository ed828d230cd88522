"""Random problems, each with its own formulas: F, its gradient and the subdifferential of h, written in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from orthoprox import Problem, Stiefel
from orthoprox.maps import Difference, Entries, Matrix, Selection
from orthoprox.terms import (
    L1,
    MCP,
    SCAD,
    ExplainedVariance,
    GroupL2,
    Huber,
    LargestK,
    LeastSquares,
    Linear,
    LInf,
    NegativePart,
    Nuclear,
    Quadratic,
    WeightedL1,
)


@dataclass(repr=False)
class Case:
    """A problem, what it was made of, and the same functions by hand."""

    def __repr__(self) -> str:
        return self.words

    problem: Problem
    words: str
    arrays: list[np.ndarray[Any, Any]] = field(default_factory=list)
    unit: float = 1.0
    """The formulas below are those of F / unit."""
    f: Callable[..., Any] = lambda X: (0.0, 0 * X)
    g: Callable[..., Any] = lambda X: (0.0, 0 * X)
    h: Callable[..., Any] = lambda Y: 0.0
    distance: Callable[..., Any] | None = None
    """From z to the subdifferential of h at y; None where the library measures a residual instead."""
    A: Callable[..., Any] = lambda X: X
    adjoint: Callable[..., Any] = lambda Z: Z

    def objective(self, X: Any) -> float:
        return float(self.f(X)[0] - self.g(X)[0] + self.h(self.A(X)))

    def stationarity(self, X: Any, z: Any) -> float:
        G = self.f(X)[1] - self.g(X)[1] + self.adjoint(z)
        return float(np.linalg.norm(G - X @ (X.T @ G + G.T @ X) / 2))


def _smooth(kind, rng, n, r, w, unit, dtype):
    m = int(rng.integers(1, 3 * n))
    B = rng.standard_normal((m, n)).astype(dtype)
    Y = rng.standard_normal((m, r)).astype(dtype)
    if kind == "variance":
        return ExplainedVariance(B, unit * w), [B], lambda X: (-w / 2 * np.sum((B @ X) ** 2), -w * B.T @ (B @ X))
    if kind == "least squares":
        return (
            LeastSquares(B, Y, unit * w),
            [B, Y],
            lambda X: (w / 2 * np.sum((B @ X - Y) ** 2), w * B.T @ (B @ X - Y)),
        )
    if kind == "masked":
        mask, T = rng.random((n, r)) < 0.6, rng.standard_normal((n, r)).astype(dtype)
        return (
            LeastSquares(Entries(mask), T, unit * w),
            [mask, T],
            lambda X: (w / 2 * np.sum((mask * X - T) ** 2), w * mask * (X - T)),
        )
    Q, C = rng.standard_normal((n, n)).astype(dtype), rng.standard_normal((n, r)).astype(dtype)
    Q = (Q + Q.T) / 2
    return (
        Quadratic(Q, unit * w) + Linear(C, unit * w),
        [Q, C],
        lambda X: (w / 2 * np.sum(X * (Q @ X)) + w * np.sum(C * X), w * (Q @ X + C)),
    )


def _interval(low, high, z):
    return np.linalg.norm(np.maximum(low - z, 0) + np.maximum(z - high, 0))


def _nonsmooth(kind, rng, shape, w, unit, dtype):
    if kind == "l1":
        return unit * w * L1(), [], lambda y: w * np.sum(np.abs(y)), _l1_distance(w)
    if kind == "weighted l1":
        W = rng.random(shape).astype(dtype)
        return unit * w * WeightedL1(W), [W], lambda y: w * np.sum(W * np.abs(y)), _l1_distance(w * W)
    if kind == "rows":

        def distance(y, z):
            sizes = np.linalg.norm(y, axis=1, keepdims=True)
            there = z - w * y / np.where(sizes > 0, sizes, 1)
            beyond = np.maximum(np.linalg.norm(z, axis=1) - w, 0)
            return np.linalg.norm(np.where(sizes[:, 0] > 0, np.linalg.norm(there, axis=1), beyond))

        return unit * w * GroupL2(), [], lambda y: w * np.sum(np.linalg.norm(y, axis=1)), distance
    if kind == "negative part":

        def distance(y, z):
            low, high = np.where(y <= 0, -w, 0.0), np.where(y < 0, -w, 0.0)
            return _interval(low, high, z)

        return unit * w * NegativePart(), [], lambda y: w * np.sum(np.maximum(-y, 0)), distance
    if kind == "huber":
        d = 0.3
        value = lambda y: w * np.sum(np.where(np.abs(y) <= d, y**2 / (2 * d), np.abs(y) - d / 2))
        return unit * w * Huber(d), [], value, lambda y, z: np.linalg.norm(z - w * np.clip(y / d, -1, 1))
    if kind == "linf":
        return unit * w * LInf(), [], lambda y: w * np.max(np.abs(y)), None
    if kind == "nuclear":
        return unit * w * Nuclear(), [], lambda y: w * np.sum(np.linalg.svd(y, compute_uv=False)), None
    lam, gamma = 0.5, 3.0
    if kind == "mcp":
        a = np.abs

        def value(y):
            return w * np.sum(np.where(a(y) <= gamma * lam, lam * a(y) - y**2 / (2 * gamma), gamma * lam**2 / 2))

        return unit * w * MCP(lam, gamma), [], value, None
    shape_a = 3.7

    def scad(y):
        t = np.abs(y)
        middle = (2 * shape_a * lam * t - t**2 - lam**2) / (2 * (shape_a - 1))
        return w * np.sum(np.where(t <= lam, lam * t, np.where(t <= shape_a * lam, middle, lam**2 * (shape_a + 1) / 2)))

    return unit * w * SCAD(lam, shape_a), [], scad, None


def _l1_distance(w):
    def distance(y, z):
        return _interval(np.where(y == 0, -w, w * np.sign(y)), np.where(y == 0, w, w * np.sign(y)), z)

    return distance


def _map(kind, rng, n, dtype):
    if kind == "identity":
        return None, [], lambda X: X, lambda Z: Z
    if kind == "matrix":
        size = [1.0, 1.0, 1e-3, 1e3][int(rng.integers(4))]
        C = (size * rng.standard_normal((int(rng.integers(1, 2 * n)), n))).astype(dtype)
        return Matrix(C), [C], lambda X: C @ X, lambda Z: C.T @ Z
    if kind == "zero":
        C = np.zeros((3, n), dtype=dtype)
        return Matrix(C), [C], lambda X: C @ X, lambda Z: C.T @ Z
    if kind == "difference":
        D = (np.eye(n, k=1) - np.eye(n))[:-1].astype(dtype)
        return Difference(), [], lambda X: D @ X, lambda Z: D.T @ Z
    rows = sorted(rng.choice(n, size=int(rng.integers(1, n + 1)), replace=False).tolist())
    E = np.eye(n, dtype=dtype)[rows]
    return Selection(rows, columns=n), [], lambda X: E @ X, lambda Z: E.T @ Z


SMOOTH = ("none", "variance", "least squares", "masked", "quadratic")
NONSMOOTH = ("none", "l1", "weighted l1", "rows", "negative part", "huber", "linf", "nuclear", "mcp", "scad")
MAPS = ("identity", "identity", "matrix", "difference", "selection", "zero")


def make_case(seed, units):
    """The problem of a seed: any f, g, h and A, weights over eight decades, F times a power of two."""
    rng = np.random.default_rng(seed)
    pick = lambda choices: choices[int(rng.integers(len(choices)))]
    n = int(rng.integers(2, 25))
    r = int(rng.integers(1, min(n, 6) + 1))
    dtype, power = pick([np.float64, np.float64, np.float32]), pick(units)
    unit = 2.0 ** (power if dtype is np.float64 else max(-60, min(60, power)))  # z must fit the float type
    kinds = [pick(kind) for kind in (SMOOTH, NONSMOOTH, MAPS)]
    weights = [10.0 ** pick([-4, -2, -1, 0, 0, 1, 4]) for _ in range(2)]
    case = Case(
        Problem(M=Stiefel(n, r)),
        f"case {seed}: {n} x {r}, {np.dtype(dtype)}, {kinds}, {weights}, unit {unit}",
        unit=unit,
    )
    expression: Any = 0.0
    if kinds[0] != "none":
        f, arrays, case.f = _smooth(kinds[0], rng, n, r, weights[0], unit, dtype)
        expression, case.arrays = expression + f, case.arrays + arrays
    if pick([True, False]):
        k, v = int(rng.integers(1, n * r + 1)), pick([0.01, 1.0])
        case.g = _largest(k, v)
        expression = expression - unit * v * LargestK(k)
        case.words += f", minus {v} largest {k}"
    if kinds[1] != "none":
        A, arrays, case.A, case.adjoint = _map(kinds[2], rng, n, dtype)
        shape = case.A(np.zeros((n, r), dtype=dtype)).shape
        h, more, case.h, case.distance = _nonsmooth(kinds[1], rng, shape, weights[1], unit, dtype)
        expression = expression + (h if A is None else h @ A)
        case.arrays = case.arrays + arrays + more
    if not isinstance(expression, float):
        case.problem = Problem.of(expression, over=Stiefel(n, r))
    return case


def cases(units=(0,)):
    """Problems by their seeds: a failure names one, and make_case brings it back."""
    return st.integers(0, 2**32 - 1).map(lambda seed: make_case(seed, units))


def _largest(k, v):
    def g(X):
        flat = np.abs(X).ravel()
        chosen = np.zeros(flat.size, dtype=bool)
        chosen[np.argsort(-flat, kind="stable")[:k]] = True
        return v * np.sum(np.sort(flat)[-k:]), v * np.sign(X) * chosen.reshape(X.shape)

    return g

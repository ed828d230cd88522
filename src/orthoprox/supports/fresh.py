"""Fresh candidates: turned principal components, and points of which some columns are made anew."""

from __future__ import annotations

import itertools

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.supports.newton import variance
from orthoprox.supports.points import Points, join, orthonormalise

_ANEW = 3  # columns made anew at most
_DENSE = 2  # power steps before entries are dropped
_TURNS = 6  # steps of the truncated power method: supports hardly change after that
_DIGITS = 9  # of variances that are compared
_SINGULAR = 1e-14  # of the largest eigenvalue of a Gram matrix: directions below it stay short


def turned(C: Array, V: Array, allowance: Allowance, most: int, turns: Array) -> Points:
    """Candidates from principal components turned at random: truncated power steps, then made orthonormal."""
    X = V[:, : allowance.r] @ turns[:most]
    for _ in range(_TURNS):
        Y = C @ X
        S = allowance.choose(np.abs(Y))
        Z = np.where(S, Y, 0.0)
        X = polar(Z)
    return join(_points(C, Z, S), singles(np.diag(C), C, allowance))


def singles(diagonal: Array, columns: Array, allowance: Allowance) -> Points:
    """The features of largest variance, one in each column: a point that there always is.

    Parameters
    ----------
    diagonal : array, shape (n,)
    columns : array, shape (n, n)
        C, by whose columns the supports are filled up.
    allowance : Allowance
    """
    # Variances that are equal up to rounding, as in a correlation matrix, are told apart by the lengths of columns.
    rounded = np.round(diagonal / max(float(np.max(diagonal)), np.finfo(diagonal.dtype).tiny), _DIGITS)
    first = np.lexsort((-np.linalg.norm(columns, axis=0), -rounded))[: allowance.r]
    X = np.zeros((1, len(diagonal), allowance.r))
    X[0, first, np.arange(allowance.r)] = 1.0
    sizes = np.abs(columns[:, first])
    S = allowance.choose(np.where(X != 0, 2.0 * np.max(diagonal) + 1.0, sizes))
    return Points(X, S, np.sum(diagonal[first])[None])


def recreated(
    C: Array, V: Array, points: Points, allowance: Allowance, most: int, rng: np.random.Generator
) -> Points | None:
    """Points of which up to three columns are made anew, from random directions that the other columns leave."""
    r = allowance.r
    if r == 1:
        return None
    base = rng.integers(len(points), size=most)
    X, S = points.X[base], points.S[base]
    sets = [some for size in range(1, min(r, _ANEW) + 1) for some in itertools.combinations(range(r), size)]
    drawn = [sets[i % len(sets)] for i in rng.permutation(max(most, len(sets)))[:most]]
    # Columns are counted by their variances: equal points may have them in another order.
    rank = np.argsort(np.argsort(-np.einsum("kij,kij->kj", X, C @ X), axis=1), axis=1)
    free = np.zeros((most, 1, r), dtype=bool)
    for i, columns in enumerate(drawn):
        free[i, 0] = np.isin(rank[i], columns)
    fixed = np.where(free, 0.0, X)
    turns = np.take_along_axis(rng.standard_normal((most, V.shape[1], r)), rank[:, None, :], axis=2)
    Z = (V @ turns) * free
    for step in range(_DENSE + _TURNS):
        Y = C @ Z
        Y = (Y - fixed @ (fixed.transpose(0, 2, 1) @ Y)) * free
        mask = _masks(np.abs(Y), S, free, allowance)
        Z = polar(np.where(mask, Y, 0.0) if step >= _DENSE else Y) * free
    found = _points(C, np.where(free, Z, 2.0 * X), mask)  # the fixed columns are longer, so they come first
    return found if len(found) > 0 else None


def _masks(sizes: Array, S: Array, free: Array, allowance: Allowance) -> Array:
    """The support with new entries in the free columns."""
    if not allowance.slack:
        return np.where(free, allowance.choose(sizes), S)
    top = 2.0 * np.max(sizes, axis=(1, 2), keepdims=True) + 1.0
    return allowance.choose(np.where(free, sizes, np.where(S, top, 0.0)))


def polar(Z: Array) -> Array:
    """The nearest matrices with orthonormal columns, shape (N, n, r)."""
    w, U = np.linalg.eigh(Z.transpose(0, 2, 1) @ Z)
    floor = _SINGULAR * w[:, -1:] + np.finfo(w.dtype).tiny
    return np.asarray(Z @ ((U / np.sqrt(np.maximum(w, floor))[:, None, :]) @ U.transpose(0, 2, 1)))


def _points(C: Array, Z: Array, S: Array) -> Points:
    X, S, _ = orthonormalise(Z, S)
    return Points(X, S, variance(C, X))

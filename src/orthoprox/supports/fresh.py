"""Fresh candidates: turned principal components, and points of which some columns are made anew."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowances
from orthoprox.supports.newton import variance
from orthoprox.supports.points import Points, orthonormalise, places

MOST_ANEW = 3
"""Columns that are made anew at most."""
_DENSE = 2  # power steps before entries are dropped
_TURNS = 6  # steps of the truncated power method: supports hardly change after that
_FEWER_TURNS = 4  # and of columns that are made anew beside others
_DIGITS = 9  # of variances that are compared
_SINGULAR = 1e-14  # of the largest eigenvalue of a Gram matrix: directions below it stay short


def turned(C: Array, V: Array, allowances: Allowances, level: Array, turns: Array) -> Points:
    """Candidates from principal components turned at random: truncated power steps, then made orthonormal.

    Parameters
    ----------
    C : array, shape (n, n)
    V : array, shape (n, q)
        The leading eigenvectors of C, at least r.
    allowances : Allowances
        Of each level.
    level : array, shape (N,)
        To which each candidate belongs.
    turns : array, shape (N, r, r)
        Its turn.
    """
    every = allowances.take(level)
    X = V[:, : every.r] @ turns
    for _ in range(_TURNS):
        Y = C @ X
        S = every.choose(np.abs(Y))
        Z = np.where(S, Y, 0.0)
        X = polar(Z)
    return _points(C, Z, S, level)


def singles(diagonal: Array, columns: Array, allowances: Allowances) -> Points:
    """The features of largest variance, one in each column: a point that there always is, for each level.

    Parameters
    ----------
    diagonal : array, shape (n,)
    columns : array, shape (n, n)
        C, by whose columns the supports are filled up.
    allowances : Allowances
        Of each level.
    """
    N, r = len(allowances), allowances.r
    # Variances that are equal up to rounding, as in a correlation matrix, are told apart by the lengths of columns.
    rounded = np.round(diagonal / max(float(np.max(diagonal)), np.finfo(diagonal.dtype).tiny), _DIGITS)
    first = np.lexsort((-np.linalg.norm(columns, axis=0), -rounded))[:r]
    X = np.zeros((N, len(diagonal), r))
    X[:, first, np.arange(r)] = 1.0
    S = allowances.choose(np.where(X != 0, 2.0 * np.max(diagonal) + 1.0, np.abs(columns[:, first])))
    return Points(X, S, np.full(N, np.sum(diagonal[first])), np.arange(N))


class Draws(NamedTuple):
    """What is random in columns that are made anew; all levels share it."""

    base: Array
    """Which point each is made from, as a share of how many there are."""
    sets: Array
    """Which columns, by their rank in variance; shape (M, r)."""
    turns: Array
    """Directions among the leading eigenvectors, shape (M, q, r)."""

    @staticmethod
    def of(rng: np.random.Generator, most: int, q: int, r: int) -> Draws:
        every = [some for size in range(1, min(r, MOST_ANEW) + 1) for some in itertools.combinations(range(r), size)]
        sets = np.zeros((most, r), dtype=bool)
        for i, drawn in enumerate(rng.permutation(max(most, len(every)))[:most]):
            sets[i, every[drawn % len(every)]] = True
        return Draws(rng.random(most), sets, rng.standard_normal((most, q, r)))


def recreated(C: Array, V: Array, points: Points, allowances: Allowances, most: Array, draws: Draws) -> Points | None:
    """Points of which up to three columns are made anew, from random directions that the other columns leave.

    Parameters
    ----------
    points : Points
        Sorted by level.
    most : array
        How many of each level.
    draws : Draws
    """
    if allowances.r == 1:
        return None
    counts = np.bincount(points.level, minlength=len(allowances))
    most = np.where(counts > 0, most, 0)
    level = np.repeat(np.arange(len(most)), most)
    which = places(level)
    base = np.searchsorted(points.level, level) + (draws.base[which] * counts[level]).astype(int)
    every, X, S = allowances.take(level), points.X[base], points.S[base]
    # Columns are counted by their variances: equal points may have them in another order.
    rank = np.argsort(np.argsort(-np.einsum("kij,kij->kj", X, C @ X), axis=1), axis=1)
    free = np.take_along_axis(draws.sets[which], rank, axis=1)[:, None, :]
    fixed = np.where(free, 0.0, X)
    turns = np.take_along_axis(draws.turns[which], rank[:, None, :], axis=2)
    Z = (V @ turns) * free
    for step in range(_DENSE + _FEWER_TURNS):
        Y = C @ Z
        Y = (Y - fixed @ (fixed.transpose(0, 2, 1) @ Y)) * free
        if step >= _DENSE:
            mask = _masks(np.abs(Y), S, free, every)
            Y = np.where(mask, Y, 0.0)
        Z = polar(Y) * free
    found = _points(C, np.where(free, Z, 2.0 * X), mask, level)  # the fixed columns are longer, so they come first
    return found if len(found) > 0 else None


def _masks(sizes: Array, S: Array, free: Array, allowances: Allowances) -> Array:
    """The support with new entries in the free columns."""
    top = 2.0 * np.max(sizes, axis=(1, 2), keepdims=True) + 1.0
    return allowances.choose(np.where(free, sizes, np.where(S, top, 0.0)))


def polar(Z: Array) -> Array:
    """The nearest matrices with orthonormal columns, shape (N, n, r)."""
    w, U = np.linalg.eigh(Z.transpose(0, 2, 1) @ Z)
    floor = _SINGULAR * w[:, -1:] + np.finfo(w.dtype).tiny
    return np.asarray(Z @ ((U / np.sqrt(np.maximum(w, floor))[:, None, :]) @ U.transpose(0, 2, 1)))


def _points(C: Array, Z: Array, S: Array, level: Array) -> Points:
    X, S, there = orthonormalise(Z, S)
    return Points(X, S, variance(C, X), level[there])

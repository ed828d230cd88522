"""OBCD for an h that jumps at zero, in NumPy: a count of nonzero entries, or signs that entries must have.

Along the angle of V such an h is constant between the angles at which an entry vanishes. So a pair is best turned to
one of these angles or to where the smooth part is lowest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

FloatArray = np.ndarray[Any, Any]

FORBIDDEN = 1e300
"""The cost of a sign that an entry must not have; infinity times zero would not be zero."""
EPS = float(np.finfo(np.float64).eps)


class Jumps(NamedTuple):
    """h(X) as the sum of ``up`` over the positive entries and ``down`` over the negative ones."""

    up: FloatArray
    down: FloatArray
    """Where neither is FORBIDDEN the two are equal."""
    small: float
    """Entries up to this size are rounding errors, and become zero when their row is turned."""

    def rows(self, i1: FloatArray, i2: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The costs of two rows: up and down of the first, up and down of the second."""
        return self.up[i1], self.down[i1], self.up[i2], self.down[i2]

    def forbid(self, X: FloatArray) -> bool:
        """Whether X has a sign that is forbidden."""
        return bool(np.any((X > 0) & (self.up == FORBIDDEN) | (X < 0) & (self.down == FORBIDDEN)))


def jump_turns(
    z1: FloatArray, z2: FloatArray, costs: tuple[FloatArray, ...], P: tuple[FloatArray, ...], alpha: float, small: float
) -> tuple[FloatArray, ...]:
    """The best V of many pairs: minimise <P, VZ> + alpha/2 |V - I|^2 + h(VZ) over the 2-by-2 V, pair by pair.

    ``costs`` are those of the rows of each pair (``Jumps.rows``), ``P`` holds <P1, z1>, <P1, z2>, <P2, z1>, <P2, z2>.
    Returns the decrease (0 when V = I stays), c, s, e and k as ``best_turns`` does; here e is always 1 and the angle
    goes all the way round.
    """
    p11, p12, p21, p22 = P
    a, b = np.stack([p11 + p22 - 2 * alpha, p11 - p22], axis=1), np.stack([p12 - p21, p12 + p21], axis=1)
    C, S = _directions(z1, z2, a, b)
    h = _jump_costs(z1, z2, costs, C, S, small / 2)  # what counts as zero here will surely be made zero
    c, s, a_, b_ = C[..., None], S[..., None], a[:, None], b[:, None]
    along, across = a_ * c + b_ * s, b_ * c - a_ * s
    smooth = np.stack([along, across, -along, -across], axis=2)
    values = (smooth + h).reshape(len(z1), -1)
    at = np.argmin(values, axis=1)
    direction, quarter, sign = np.unravel_index(at, smooth.shape[1:])
    rows = np.arange(len(z1))
    u1, d1, u2, d2 = costs
    here = np.sum(np.where(z1 > 0, u1, 0) + np.where(z1 < 0, d1, 0), axis=1)
    here += np.sum(np.where(z2 > 0, u2, 0) + np.where(z2 < 0, d2, 0), axis=1)
    now = a[:, 0] + here
    slack = 4 * EPS * (np.max(np.hypot(a, b), axis=1) + np.where(here < FORBIDDEN, here, 0.0))
    gain = np.where(values[rows, at] < now - slack, now - values[rows, at], 0.0)
    c, s = C[rows, direction], S[rows, direction]
    turned_c = np.choose(quarter, [c, -s, -c, s])
    turned_s = np.choose(quarter, [s, c, -s, -c])
    return gain, turned_c, turned_s, np.ones_like(c), 1.0 - 2.0 * sign


def _directions(z1: FloatArray, z2: FloatArray, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Cosines and sines, up to quarter turns: where entries vanish, and where a c + b s is lowest."""
    u, v = np.concatenate([z1, a], axis=1), np.concatenate([z2, b], axis=1)
    u = np.where((u == 0) & (v == 0), 1.0, u)
    size = np.hypot(u, v)
    return u / size, v / size


def _jump_costs(
    z1: FloatArray, z2: FloatArray, costs: tuple[FloatArray, ...], C: FloatArray, S: FloatArray, small: float
) -> FloatArray:
    """What each pair costs after each turn by (c, s) and then 0 to 3 quarters: shape (pairs, directions, 4, 2).

    The last axis is for k = 1 and k = -1. Quarter turns lead the rows from (r1, r2) to (r2, -r1) and so on, so all
    eight cases are sums over the positive and the negative entries of r1 and r2.
    """
    u1, d1, u2, d2 = costs
    price = np.concatenate([np.stack([u1, d1, u2, d2], axis=2), np.stack([d1, u1, d2, u2], axis=2)], axis=1)

    def sum_prices(r: FloatArray) -> FloatArray:
        signs = np.concatenate([r > small, r < -small], axis=2).astype(np.float64)
        found: FloatArray = signs @ price  # as row 1, as row 1 with the other sign, as row 2, as row 2 with the other
        return found

    C, S = C[..., None], S[..., None]
    r1 = sum_prices(C * z1[:, None] + S * z2[:, None])
    r2 = sum_prices(C * z2[:, None] - S * z1[:, None])
    first = np.stack([r1[..., 0], r2[..., 0], r1[..., 1], r2[..., 1]], axis=2)
    second = np.stack([r2[..., 2], r1[..., 3], r2[..., 3], r1[..., 2]], axis=2)
    return np.stack([first + second, first + np.roll(second, 2, axis=2)], axis=3)


def signed_start(X: FloatArray, jumps: Jumps) -> FloatArray:
    """X itself where it has no forbidden sign; else an orthonormal X with one entry in a row, of an admissible sign.

    Each row keeps its largest admissible entry and the columns are normalised. A column that would be empty gets a
    row that no column has, or one from a column that has several.
    """
    if not jumps.forbid(X):
        return X
    sign = np.where(jumps.up == FORBIDDEN, -1.0, np.where((jumps.down == FORBIDDEN) | (X >= 0), 1.0, -1.0))
    Y = sign * X
    owner = np.where(np.max(Y, axis=1) > 0, np.argmax(Y, axis=1), -1)
    for column in range(X.shape[1]):
        if column not in owner:
            several = np.bincount(owner[owner >= 0], minlength=X.shape[1]) > 1
            spare = (owner < 0) | several[owner]
            owner[np.argmax(np.where(spare, Y[:, column], -np.inf))] = column
    kept = owner[:, None] == np.arange(X.shape[1])
    new = np.where(kept, sign * np.where(Y > 0, Y, 1.0), 0.0)
    return np.asarray(new / np.linalg.norm(new, axis=0))

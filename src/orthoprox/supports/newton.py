"""Newton's method for the variance on given supports, for many supports at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.linalg

from orthoprox._fields import cached_property
from orthoprox._types import Array

_RADIUS = 0.5  # of a first step; entries of X are at most 1
_RIDGE = 1e-12  # beside the squares of entries of X: two columns that share no row make a Gram matrix singular
_SHIFT = 1e-9  # of the norm of C
_FEASIBLE = 1e-9  # how far from orthonormal a point may be on the way
_CHORDS = 3  # steps with the Jacobian of the point before, which cost little
_ZERO = 1e-9  # an entry of a unit column this small is rounding
_FAR = 10.0  # a point this far off is given up
_RESTORE = 6  # Gauss-Newton steps, which converge quadratically
_FLAT = 1e-7  # of the value: after a step that gains less, the next one would gain about the square of it
_PROMISE = 4.0  # a Newton step may gain this many times what its model says


@lru_cache
def _pairs(r: int) -> tuple[Array, Array]:
    return np.triu_indices(r)


@dataclass(frozen=True, eq=False)
class Slots:
    """The entries of N supports with p entries each, as rows and columns of shape (N, p)."""

    rows: Array
    columns: Array
    r: int

    @staticmethod
    def of(S: Array) -> Slots:
        """The entries of masks, shape (N, n, r), that all have the same number of entries."""
        N, _, r = S.shape
        _, rows, columns = np.nonzero(S)
        p = len(rows) // max(N, 1)
        return Slots(rows.reshape(N, p), columns.reshape(N, p), r)

    def take(self, which: Array) -> Slots:
        return Slots(self.rows[which], self.columns[which], self.r)

    @property
    def pairs(self) -> tuple[Array, Array]:
        """The constraints x_a'x_b = 1 or 0, one for each pair a <= b."""
        return _pairs(self.r)

    @cached_property
    def sides(self) -> tuple[Array, Array]:
        """Whether an entry lies in the first or the second column of a pair, shape (N, q, p)."""
        a, b = self.pairs
        return self.columns[:, None, :] == a[:, None], self.columns[:, None, :] == b[:, None]

    @cached_property
    def index(self) -> Array:
        return np.arange(len(self.rows))[:, None]

    def gather(self, W: Array) -> Array:
        """The entries of W, shape (N, n, r), on the supports."""
        return W[self.index, self.rows, self.columns]

    def add(self, X: Array, d: Array) -> Array:
        """X with d, shape (N, p), added on the supports."""
        Y = X.copy()
        Y[self.index, self.rows, self.columns] += d
        return Y

    def violation(self, X: Array) -> Array:
        """X'X - I, one number for each constraint, shape (N, q)."""
        a, b = self.pairs
        return (X.transpose(0, 2, 1) @ X)[:, a, b] - (a == b)

    def jacobian(self, X: Array) -> Array:
        """The derivative of the constraints along the entries, shape (N, q, p)."""
        a, b = self.pairs
        R = X[self.index, self.rows].transpose(0, 2, 1)
        first, second = self.sides
        return first * R[:, b] + second * R[:, a]


def maximise(C: Array, X: Array, slots: Slots, steps: int, *, goals: Array | None = None) -> tuple[Array, Array]:
    """Improve tr(X'CX) over orthonormal X with these supports; return points and values.

    A Newton step solves for the second-order model in the tangent space. Where that is not as good as a step along the
    gradient, the Hessian is not definite: curvatures are taken by their absolute value, so that steps lead away from
    saddles. Every step is shortened until it improves, so no value ever falls.

    Parameters
    ----------
    C : array, shape (n, n)
    X : array, shape (N, n, r)
        Orthonormal points with zeros off their supports.
    slots : Slots
    steps : int
    goals : array, shape (N,), optional
        Values that a point has to exceed to be of use. It is given up where the model of a step promises less.
    """
    model = _Model(C, slots)
    values, radius = variance(C, X), np.full(len(X), _RADIUS)
    live, bent, part = np.arange(len(X)), np.zeros(len(X), dtype=bool), slots
    X = X.copy()
    for _ in range(steps):
        d, inverse, bent[live], promise = model.step(X[live], part, live, bent[live])
        if goals is not None:
            hope = values[live] + _PROMISE * promise > goals[live]
            if not hope.all():
                live, part, d, inverse = live[hope], part.take(hope), d[hope], inverse[hope]
            if len(live) == 0:
                break
        length = np.linalg.norm(d, axis=1)
        d *= np.minimum(1.0, radius[live] / np.maximum(length, 1e-300))[:, None]
        Y, feasible = restore(part.add(X[live], d), part, inverse)
        new = variance(C, Y)
        better = feasible & (new > values[live])
        gained = np.where(better, new - values[live], 0.0)
        X[live[better]], values[live[better]] = Y[better], new[better]
        radius[live] = np.where(better, np.minimum(2 * radius[live], 1.0), np.minimum(length, radius[live]) / 4)
        going = np.where(better, gained > _FLAT * values[live], radius[live] > 1e-3)
        if not going.all():
            live, part = live[going], part.take(going)
        if len(live) == 0:
            break
    X[np.abs(X) <= _ZERO] = 0.0  # an entry that constraints hold at zero: it must not look as if columns shared a row
    return X, values


def variance(C: Array, X: Array) -> Array:
    """tr(X'CX) of each point."""
    return np.einsum("kij,kij->k", X, C @ X)


def restore(X: Array, slots: Slots, inverse: Array | None = None, accuracy: float = _FEASIBLE) -> tuple[Array, Array]:
    """Orthonormal points near X with the same supports, by Gauss-Newton steps, and where that succeeded.

    Parameters
    ----------
    inverse : array, shape (N, q, p), optional
        The transposed pseudo-inverse of the Jacobian near X, with which the first steps are taken.
    accuracy : float
        The largest entry of X'X - I.
    """
    X, off, part = X.copy(), np.arange(len(X)), slots
    feasible = np.zeros(len(X), dtype=bool)
    for i in range(_RESTORE + 1):
        c = part.violation(X[off])
        size = np.abs(c).max(axis=1)
        feasible[off] = size <= accuracy
        going = (size > accuracy) & (size < _FAR)
        if i == _RESTORE or not bool(going.any()):
            break
        if not going.all():
            off, c, part = off[going], c[going], part.take(going)
        if inverse is None or i >= _CHORDS:
            J = part.jacobian(X[off])
            K = _solve(_gram(J), J)
        else:
            K = inverse[off]
        X[off] = part.add(X[off], -np.einsum("kqp,kq->kp", K, c))
    return X, feasible


def _solve(A: Array, B: Array) -> Array:
    """The solutions of A Y = B; zero where A is singular, so that nothing moves there."""
    try:
        return np.linalg.solve(A, B)
    except np.linalg.LinAlgError:
        return np.stack([_solve_one(a, b) for a, b in zip(A, B, strict=True)])


def _solve_one(A: Array, B: Array) -> Array:
    try:
        return np.linalg.solve(A, B)
    except np.linalg.LinAlgError:
        return np.zeros_like(B)


def _eigh(A: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors; by the QR iteration where divide and conquer fails, as it does once in a while."""
    try:
        values, vectors = np.linalg.eigh(A)
        return values, vectors
    except np.linalg.LinAlgError:
        pairs = [scipy.linalg.eigh(a, driver="ev") for a in A]
        return np.stack([pair[0] for pair in pairs]), np.stack([pair[1] for pair in pairs])


def _gram(J: Array) -> Array:
    """JJ', with a little ridge: rows of J vanish where two columns share no row."""
    G = J @ J.transpose(0, 2, 1)
    G[:, np.arange(G.shape[1]), np.arange(G.shape[1])] += (
        _RIDGE + np.finfo(G.dtype).eps * np.trace(G, axis1=1, axis2=2)[:, None]
    )
    return np.asarray(G)


class _Model:
    """The second-order model of tr(X'CX)/2 on the supports."""

    def __init__(self, C: Array, slots: Slots) -> None:
        self.C = C
        rows, columns = slots.rows, slots.columns
        same = columns[:, :, None] == columns[:, None, :]
        self.blocks = C[rows[:, :, None], rows[:, None, :]] * same
        self.shared = rows[:, :, None] == rows[:, None, :]
        self.top = float(np.linalg.norm(C))

    def step(self, X: Array, slots: Slots, which: Array, bent: Array) -> tuple[Array, Array, Array, Array]:
        """A tangent step for each point, the pseudo-inverse of the Jacobian, where curvature is bad, and a promise."""
        J, p = slots.jacobian(X), slots.rows.shape[1]
        K = _solve(_gram(J), J)
        N = J.transpose(0, 2, 1) @ K  # the projection onto the normal space
        g = slots.gather(self.C @ X)
        y = np.einsum("kqp,kp->kq", K, g)
        g = g - np.einsum("kqp,kq->kp", J, y)
        H = self._hessian(slots, y, which)
        NH = N @ H
        A = NH + NH.transpose(0, 2, 1) - H - NH @ N + self.top * N  # minus the Hessian on the tangent space
        A[:, np.arange(p), np.arange(p)] += _SHIFT * self.top
        d = np.zeros_like(g)
        if not bent.all():
            d[~bent] = _solve(A[~bent], g[~bent, :, None])[:, :, 0]
        bent = bent | (np.einsum("kp,kp->k", d, g) < np.einsum("kp,kp->k", g, g) / (4 * self.top))
        if bent.any():
            d[bent], definite = self._flip(A[bent], g[bent])
            bent[bent] = ~definite
        d = d - np.einsum("kpq,kq->kp", N, d)
        return d, K, bent, np.einsum("kp,kp->k", g, d)

    def _flip(self, A: Array, g: Array) -> tuple[Array, Array]:
        """Newton's steps with the absolute values of the curvatures, and where these were positive."""
        e, V = _eigh(A)
        g = np.einsum("kpq,kp->kq", V, g)
        d = np.einsum("kpq,kq->kp", V, g / np.maximum(np.abs(e), 1e-6 * self.top))
        return d, e[:, 0] > -1e-6 * self.top

    def _hessian(self, slots: Slots, y: Array, which: Array) -> Array:
        a, b = slots.pairs
        Lam = np.zeros((len(y), slots.r, slots.r))
        Lam[:, a, b] += y
        Lam[:, b, a] += y
        k = slots.index[:, :, None]
        mixed = Lam[k, slots.columns[:, :, None], slots.columns[:, None, :]]
        return self.blocks[which] - self.shared[which] * mixed

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
_RESTORE = 8  # Gauss-Newton steps, of which two share a Jacobian
_FLAT = 1e-7  # of the value: after a step that gains less, the next one would gain about the square of it
_PROMISE = 4.0  # a Newton step may gain this many times what its model says


Normals = tuple[Array, Array]


@lru_cache
def _pairs(r: int) -> tuple[Array, Array]:
    return np.triu_indices(r)


@dataclass(frozen=True, eq=False)
class Slots:
    """The entries of N supports with at most p entries each, as rows and columns of shape (N, p).

    Where a support has fewer, the last slots are not real: they are an entry off the support, on which nothing acts.
    """

    rows: Array
    columns: Array
    real: Array
    r: int

    @staticmethod
    def of(S: Array) -> Slots:
        """The entries of masks, shape (N, n, r)."""
        N, n, r = S.shape
        flat = S.reshape(N, n * r)
        counts = flat.sum(axis=1)
        p = int(counts.max(initial=0))
        k, entries = np.nonzero(flat)
        real = np.arange(p) < counts[:, None]
        if len(k) == N * p:
            index = entries.reshape(N, p)
        else:
            index = np.repeat(np.argmin(flat, axis=1)[:, None], p, axis=1)
            index[real] = entries
        return Slots(index // r, index % r, real, r)

    def take(self, which: Array) -> Slots:
        return Slots(self.rows[which], self.columns[which], self.real[which], self.r)

    def trimmed(self) -> Slots:
        """Without the last slots that no support has."""
        p = int(self.real.sum(axis=1).max(initial=0))
        return Slots(self.rows[:, :p], self.columns[:, :p], self.real[:, :p], self.r)

    @property
    def pairs(self) -> tuple[Array, Array]:
        """The constraints x_a'x_b = 1 or 0, one for each pair a <= b."""
        return _pairs(self.r)

    @cached_property
    def sides(self) -> tuple[Array, Array]:
        """Whether an entry lies in the first or the second column of a pair, shape (N, q, p)."""
        a, b = self.pairs
        columns = np.where(self.real, self.columns, -1)[:, None, :]
        return columns == a[:, None], columns == b[:, None]

    @cached_property
    def index(self) -> Array:
        return np.arange(len(self.rows))[:, None]

    def gather(self, W: Array) -> Array:
        """The entries of W, shape (N, n, r), on the supports."""
        return np.where(self.real, W[self.index, self.rows, self.columns], 0.0)

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

    def normals(self, X: Array) -> Normals:
        """The Jacobian J of the constraints and the inverse of JJ'."""
        J = self.jacobian(X)
        G = _gram(J)
        return J, solve(G, np.broadcast_to(np.eye(G.shape[1]), G.shape))


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
    counts = slots.real.sum(axis=1)
    small = 2 * counts <= slots.real.shape[1]
    if small.any() and not small.all():  # for which half as many slots are enough
        Y, found = X.copy(), np.empty(len(X))
        for some in (small, ~small):
            own = None if goals is None else goals[some]
            Y[some], found[some] = maximise(C, X[some], slots.take(some).trimmed(), steps, goals=own)
        return Y, found
    model = _Model(C, slots)
    values, radius = variance(C, X), np.full(len(X), _RADIUS)
    live, bent, part = np.arange(len(X)), np.zeros(len(X), dtype=bool), slots
    X = X.copy()
    for _ in range(steps):
        d, normals, bent[live], promise = model.step(X[live], part, live, bent[live])
        if goals is not None:
            hope = values[live] + _PROMISE * promise > goals[live]
            if not hope.all():
                live, part, d, normals = live[hope], part.take(hope), d[hope], (normals[0][hope], normals[1][hope])
            if len(live) == 0:
                break
        length = np.linalg.norm(d, axis=1)
        d *= np.minimum(1.0, radius[live] / np.maximum(length, 1e-300))[:, None]
        Y, feasible = restore(part.add(X[live], d), part, normals)
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


def restore(X: Array, slots: Slots, normals: Normals | None = None, accuracy: float = _FEASIBLE) -> tuple[Array, Array]:
    """Orthonormal points near X with the same supports, by Gauss-Newton steps, and where that succeeded.

    Parameters
    ----------
    normals : pair of arrays, optional
        What ``Slots.normals`` gives near X, with which the first steps are taken.
    accuracy : float
        The largest entry of X'X - I.
    """
    X, off, part = X.copy(), np.arange(len(X)), slots
    feasible, last = np.zeros(len(X), dtype=bool), 0 if normals is None else _CHORDS
    J, G = (None, None) if normals is None else normals
    for i in range(_RESTORE + 1):
        c = part.violation(X[off])
        size = np.abs(c).max(axis=1)
        feasible[off] = size <= accuracy
        going = (size > accuracy) & (size < _FAR)
        if i == _RESTORE or not bool(going.any()):
            break
        if not going.all():
            off, c, part = off[going], c[going], part.take(going)
            J, G = (None, None) if J is None or G is None else (J[going], G[going])
        if J is None or G is None or i >= last:
            (J, G), last = part.normals(X[off]), i + 2
        X[off] = part.add(X[off], -_times(_times(c, G), J))
    return X, feasible


def _times(c: Array, J: Array) -> Array:
    """J'c for each of several, c of shape (N, q) and J of shape (N, q, p).

    NumPy leaves strided vectors to another loop, whose last bits differ, and how an index lays c out depends on N: what
    becomes of a point must not depend on the others.
    """
    return np.asarray((np.ascontiguousarray(c)[:, None, :] @ J)[:, 0])


def solve(A: Array, B: Array) -> Array:
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
        rows, columns, real = slots.rows, slots.columns, slots.real
        same = (columns[:, :, None] == columns[:, None, :]) & (real[:, :, None] & real[:, None, :])
        self.blocks = C[rows[:, :, None], rows[:, None, :]] * same
        self.shared = (rows[:, :, None] == rows[:, None, :]) & (real[:, :, None] & real[:, None, :])
        self.columns = (columns[:, :, None] == np.arange(slots.r)).astype(C.dtype)
        self.top = float(np.linalg.norm(C))

    def step(self, X: Array, slots: Slots, which: Array, bent: Array) -> tuple[Array, Normals, Array, Array]:
        """A tangent step for each point, the normals there, where curvature is bad, and what the step promises."""
        J, G = normals = slots.normals(X)
        g = slots.gather(self.C @ X)
        y = _times((J @ g[:, :, None])[:, :, 0], G)
        g = g - _times(y, J)
        H = self._hessian(slots, y, which)
        d = np.zeros_like(g)
        straight = ~bent
        if straight.all():
            d = self._newton(H, J, g)
        elif straight.any():
            d[straight] = self._newton(H[straight], J[straight], g[straight])
        bent = bent | (np.einsum("kp,kp->k", d, g) < np.einsum("kp,kp->k", g, g) / (4 * self.top))
        if bent.any():
            d[bent], definite = self._flip(H[bent], J[bent], G[bent], g[bent])
            bent[bent] = ~definite
        d = d - _times(_times((J @ d[:, :, None])[:, :, 0], G), J)
        return d, normals, bent, np.einsum("kp,kp->k", g, d)

    def _newton(self, H: Array, J: Array, g: Array) -> Array:
        """The steps that solve for the second-order model in the tangent space: Newton's, with multipliers."""
        N, q, p = J.shape
        A = np.zeros((N, p + q, p + q))
        A[:, :p, :p], A[:, p:, :p], A[:, :p, p:] = -H, J, J.transpose(0, 2, 1)
        i = np.arange(p + q)
        A[:, i[:p], i[:p]] += _SHIFT * self.top
        A[:, i[p:], i[p:]] -= _RIDGE / self.top
        b = np.zeros((N, p + q, 1))
        b[:, :p, 0] = g
        return solve(A, b)[:, :p, 0]

    def _flip(self, H: Array, J: Array, G: Array, g: Array) -> tuple[Array, Array]:
        """Newton's steps with the absolute values of the curvatures, and where these were positive."""
        N = J.transpose(0, 2, 1) @ (G @ J)  # the projection onto the normal space
        NH = N @ H
        e, V = _eigh(NH + NH.transpose(0, 2, 1) - H - NH @ N + self.top * N)  # minus the Hessian on the tangent space
        g = _times(g, V)
        d = (V @ (g / np.maximum(np.abs(e), 1e-6 * self.top))[:, :, None])[:, :, 0]
        return d, e[:, 0] > -1e-6 * self.top

    def _hessian(self, slots: Slots, y: Array, which: Array) -> Array:
        a, b = slots.pairs
        Lam = np.zeros((len(y), slots.r, slots.r))
        Lam[:, a, b] += y
        Lam[:, b, a] += y
        E = self.columns[which]
        return np.asarray(self.blocks[which] - self.shared[which] * (E @ Lam @ E.transpose(0, 2, 1)))

"""Newton's method for the variance on given supports, for many supports at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from orthoprox._types import Array
from orthoprox.supports.slots import Normals, Slots
from orthoprox.supports.systems import eigh, solve, times

_RADIUS = 0.5  # of a first step; entries of X are at most 1
_RIDGE = 1e-12  # of multipliers, in units of the norm of C: constraints of columns that share no row have none
_SHIFT = 1e-9  # of the norm of C
_FEASIBLE = 1e-9  # how far from orthonormal a point may be on the way
_ZERO = 1e-9  # an entry of a unit column this small is rounding
_FAR = 10.0  # a point this far off is given up
_CHORDS = 3  # steps with the Jacobian of the point before, which cost little
_RESTORE = 8  # Gauss-Newton steps, of which two share a Jacobian
_LEAST = 1e-3  # of a radius: a point that no longer step improves stays
_FLAT = 1e-7  # of the value: after a step that gains less, the next one would gain about the square of it
_PROMISE = 4.0  # a Newton step may gain this many times what its model says


def maximise(C: Array, X: Array, S: Array, steps: int, *, goals: Array | None = None) -> tuple[Array, Array]:
    """Improve tr(X'CX) over orthonormal X with these supports; return points and values.

    A Newton step solves for the second-order model in the tangent space. Where that is not as good as a step along the
    gradient, the Hessian is not definite: curvatures are taken by their absolute value, so that steps lead away from
    saddles. Every step is shortened until it improves, so no value ever falls.

    Parameters
    ----------
    C : array, shape (n, n)
    X : array, shape (N, n, r)
        Orthonormal points with zeros off their supports.
    S : array, shape (N, n, r)
        Masks of the supports.
    steps : int
    goals : array, shape (N,), optional
        Values that a point has to exceed to be of use. It is given up where the model of a step promises less.
    """
    found, values = X.copy(), variance(C, X)
    for some, slots in Slots.by_width(S):
        own = None if goals is None else goals[some]
        found[some], values[some] = _maximise(_Model.of(C, slots), X[some], values[some], steps, own)
    found[np.abs(found) <= _ZERO] = 0.0  # what constraints hold at zero must not look as if columns shared a row
    return found, values


class _Live(NamedTuple):
    """Points that still move: which they are, and how far a step may go."""

    which: Array
    X: Array
    values: Array
    radius: Array
    bent: Array
    """Whether the last step met curvature of the wrong sign."""

    def take(self, some: Array) -> _Live:
        return _Live(*(part[some] for part in self))


def _maximise(model: _Model, X: Array, values: Array, steps: int, goals: Array | None) -> tuple[Array, Array]:
    N, X, values = len(X), X.copy(), values.copy()
    live = _Live(np.arange(N), X, values, np.full(N, _RADIUS), np.zeros(N, dtype=bool))
    for _ in range(steps):
        d, normals, bent, promise = model.step(live.X, live.bent)
        live = live._replace(bent=bent)
        if goals is not None:
            hope = live.values + _PROMISE * promise > goals[live.which]
            if not hope.all():
                live, model, d, normals = (
                    live.take(hope),
                    model.take(hope),
                    d[hope],
                    (normals[0][hope], normals[1][hope]),
                )
                if len(d) == 0:
                    break
        length = np.sqrt(np.einsum("kp,kp->k", d, d))
        Y = model.slots.add(live.X, d * np.minimum(1.0, live.radius / np.maximum(length, 1e-300))[:, None])
        Y, feasible = restore(Y, model.slots, normals)
        new = variance(model.C, Y)
        better = feasible & (new > live.values)
        radius = np.where(better, np.minimum(2 * live.radius, 1.0), np.minimum(length, live.radius) / 4)
        going = np.where(better, new - live.values > _FLAT * new, radius > _LEAST)
        Y, new = np.where(better[:, None, None], Y, live.X), np.where(better, new, live.values)
        X[live.which], values[live.which] = Y, new
        live = live._replace(X=Y, values=new, radius=radius)
        if not going.all():
            live, model = live.take(going), model.take(going)
            if len(live.which) == 0:
                break
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
    X, live, feasible = X.copy(), np.arange(len(X)), np.zeros(len(X), dtype=bool)
    Y, renewed = X, 0 if normals is None else _CHORDS
    for i in range(_RESTORE + 1):
        c = slots.violation(Y)
        size = np.abs(c).max(axis=1)
        going = (size > accuracy) & (size < _FAR)
        if i == _RESTORE or not going.any():
            break
        if i == renewed:
            if not going.all():
                X[live], feasible[live] = Y, size <= accuracy
                live, slots, Y, c, going = live[going], slots.take(going), Y[going], c[going], going[going]
            normals, renewed = slots.normals(Y), i + 2
        assert normals is not None  # there are some from the first step on
        J, G = normals
        Y = slots.add(Y, -times(times(c * going[:, None], G), J))
    X[live], feasible[live] = Y, size <= accuracy
    return X, feasible


@dataclass(frozen=True, eq=False)
class _Model:
    """The second-order model of tr(X'CX)/2 on the supports."""

    C: Array
    slots: Slots
    blocks: Array
    """C between entries of one column, shape (N, p, p)."""
    shared: Array
    """Whether two entries are in the same row."""
    top: float

    @staticmethod
    def of(C: Array, slots: Slots) -> _Model:
        rows, columns = slots.rows, slots.columns
        # Slots that are not real are in no row or column, not even in those of one another.
        shared = np.where(slots.real, rows, -1)[:, :, None] == np.where(slots.real, rows, -2)[:, None, :]
        same = np.where(slots.real, columns, -1)[:, :, None] == np.where(slots.real, columns, -2)[:, None, :]
        blocks = C.reshape(-1)[rows[:, :, None] * len(C) + rows[:, None, :]] * same
        return _Model(C, slots, blocks, shared, float(np.linalg.norm(C)))

    def take(self, which: Array) -> _Model:
        return _Model(self.C, self.slots.take(which), self.blocks[which], self.shared[which], self.top)

    def step(self, X: Array, bent: Array) -> tuple[Array, Normals, Array, Array]:
        """A tangent step for each point, the normals there, where curvature is bad, and what the step promises."""
        J, G = normals = self.slots.normals(X)
        g = self.slots.gather(self.C @ X)
        y = times((J @ g[:, :, None])[:, :, 0], G)
        g = g - times(y, J)
        K = self._curvature(y)
        d, straight = np.zeros_like(g), ~bent
        if straight.all():
            d = self._newton(K, J, g)
        elif straight.any():
            d[straight] = self._newton(K[straight], J[straight], g[straight])
        bent = bent | (np.einsum("kp,kp->k", d, g) < np.einsum("kp,kp->k", g, g) / (4 * self.top))
        if bent.any():
            d[bent], definite = self._flip(K[bent], J[bent], G[bent], g[bent])
            bent[bent] = ~definite
        d = d - times(times((J @ d[:, :, None])[:, :, 0], G), J)  # where constraints nearly agree the ridge is felt
        return d, normals, bent, np.einsum("kp,kp->k", g, d)

    def _curvature(self, y: Array) -> Array:
        """Minus the Hessian of the Lagrangian with multipliers y."""
        E = self.slots.owned
        return np.asarray((E @ self.slots.matrices(y) @ E.transpose(0, 2, 1)) * self.shared - self.blocks)

    def _newton(self, K: Array, J: Array, g: Array) -> Array:
        """The steps that solve for the second-order model in the tangent space: Newton's, with multipliers."""
        N, q, p = J.shape
        A, b = np.zeros((N, p + q, p + q)), np.zeros((N, p + q, 1))
        A[:, :p, :p], A[:, p:, :p], A[:, :p, p:], b[:, :p, 0] = K, J, J.transpose(0, 2, 1), g
        diagonal = A.reshape(N, (p + q) ** 2)[:, :: p + q + 1]
        diagonal[:, :p] += _SHIFT * self.top
        diagonal[:, p:] -= _RIDGE / self.top
        return np.ascontiguousarray(solve(A, b)[:, :p, 0])

    def _flip(self, K: Array, J: Array, G: Array, g: Array) -> tuple[Array, Array]:
        """Newton's steps with the absolute values of the curvatures, and where these were positive."""
        N = J.transpose(0, 2, 1) @ (G @ J)  # the projection onto the normal space
        NK = N @ K
        e, V = eigh(K - NK - NK.transpose(0, 2, 1) + NK @ N + self.top * N)  # the curvature on the tangent space
        g = times(g, V)
        d = (V @ (g / np.maximum(np.abs(e), 1e-6 * self.top))[:, :, None])[:, :, 0]
        return d, e[:, 0] > -1e-6 * self.top

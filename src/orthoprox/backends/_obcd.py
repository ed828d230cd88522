"""Working sets of OBCD and its Jacobi sweep, in NumPy.

OBCD turns pairs of rows by small angle searches that no array library does well, so its arrays live on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import is_numpy_array

from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.backends._obcd_jumps import Jumps, jump_turns

FloatArray = np.ndarray[Any, Any]

GROUP = 20
"""Rows among which a greedy choice is made: 190 pairs. Of few rows only half, or one pair would win every time."""
CHUNK = 256
"""Pairs that the Jacobi sweep searches at a time, so that what it works on stays in the cache."""
SLACK = 4 * float(np.finfo(np.float64).eps)


def host(a: Array) -> FloatArray:
    """The array in double precision on the host; a NumPy one of that kind as it is."""
    if not is_numpy_array(a):
        a = backend_of(a).to_numpy(a)
    return np.ascontiguousarray(a, dtype=np.float64)


def generator(seed: int, t: int) -> np.random.Generator:
    """The random numbers of step t."""
    return np.random.default_rng((seed, t))


def compile_sweeps() -> None:
    """Compile the sequential sweeps for double precision before any clock runs; without numba, fail with a sentence."""
    one = np.eye(2)
    for W in (one, Jumps(one, one, 0.0)):
        sequential_rounds(one, one, one, W, one, lambda *_: cyclic_pairs(2, 0), 1, 1.0)


def cyclic_pairs(n: int, number: int) -> FloatArray:
    """One round of a tournament of n rows: in n - 1 rounds (n when n is odd) each row meets each other one once."""
    even = n + n % 2
    turn = number % (even - 1)
    step = np.arange(1, even // 2)
    met = np.stack([(turn + step) % (even - 1), (turn - step) % (even - 1)], axis=1)
    return met if n % 2 else np.concatenate([[[turn, n - 1]], met])  # of an odd number the row ``turn`` rests


def random_pairs(n: int, rng: np.random.Generator) -> FloatArray:
    """Disjoint pairs, n // 2 of them, drawn uniformly."""
    return rng.permutation(n)[: n // 2 * 2].reshape(n // 2, 2)


def greedy_pairs(
    X: FloatArray, G: FloatArray, score: str, curvature: float, alpha: float, rng: np.random.Generator
) -> FloatArray:
    """The pair with the largest score in each of several random groups of rows; G is a subgradient. Shape (groups, 2).

    The score is the violation of stationarity, |<x_i, g_j> - <g_i, x_j>|, or the decrease that the best V promises
    for the linearised objective with ``curvature/2 |N - Z|^2`` and ``alpha/2 |V - I|^2`` added.
    """
    n = X.shape[0]
    size = min(GROUP, max(2, n // 2))
    order = rng.permutation(n)[: n // size * size].reshape(-1, size)
    Z, T = X[order], G[order] @ np.swapaxes(X[order], 1, 2)
    if score == "violation":
        gain = np.abs(T - np.swapaxes(T, 1, 2))
    else:
        T = T - curvature * (Z @ np.swapaxes(Z, 1, 2)) - alpha * np.eye(size)
        own = np.diagonal(T, axis1=1, axis2=2)
        both, difference = own[:, :, None] + own[:, None, :], own[:, :, None] - own[:, None, :]
        twin = np.swapaxes(T, 1, 2)
        gain = both + np.maximum(np.hypot(both, T - twin), np.hypot(difference, T + twin))
    upper = np.triu_indices(size, 1)
    chosen = np.argmax(gain[:, upper[0], upper[1]], axis=1)
    rows = np.arange(order.shape[0])
    return np.stack([order[rows, upper[0][chosen]], order[rows, upper[1][chosen]]], axis=1)


def working_set(
    kind: str, rng: np.random.Generator, number: int, X: FloatArray, G: FloatArray, curvature: float, alpha: float
) -> FloatArray:
    """The disjoint pairs of one round, the ``number``-th since the start of the run; G is a subgradient at X."""
    if kind == "random":
        return random_pairs(X.shape[0], rng)
    if kind == "cyclic":
        return cyclic_pairs(X.shape[0], number)
    return greedy_pairs(X, G, kind.removeprefix("greedy-"), curvature, alpha, rng)


def sequential_rounds(
    X: FloatArray,
    HX: FloatArray,
    L: FloatArray,
    W: FloatArray | Jumps,
    H: FloatArray,
    choose: Callable[[int, FloatArray, FloatArray], FloatArray],
    rounds: int,
    alpha: float,
) -> tuple[FloatArray, FloatArray, float, int]:
    """Rounds of pairs, one pair after another, for <X, HX>/2 + <L, X> + sum W |X|, or with jumps for the sum.

    Returns the new X and HX, the largest decrease that one pair brought, and how many pairs moved.
    """
    from orthoprox.backends._obcd_jumps_sequential import jump_sweep
    from orthoprox.backends._obcd_sequential import compiled_sweep, sweep

    run, entries = (compiled_sweep(jump_sweep), W) if isinstance(W, Jumps) else (compiled_sweep(sweep), (W,))
    X, HX = X.copy(), HX.copy()
    largest, moved = 0.0, 0
    for number in range(rounds):
        pairs = choose(number, X, HX + L + slopes(W, X))
        gain, went = run(X, HX, L, *entries, H, pairs, alpha)
        largest, moved = max(largest, gain), moved + went
    return X, HX, largest, moved


def slopes(W: FloatArray | Jumps, X: FloatArray) -> FloatArray | float:
    """A subgradient of sum W |X|; zero for jumps."""
    return 0.0 if isinstance(W, Jumps) else W * np.sign(X)


def jacobi_sweep(
    X: FloatArray, G: FloatArray, W: FloatArray | Jumps, pairs: FloatArray, curvature: float, alpha: float
) -> tuple[FloatArray, float, int]:
    """Update disjoint pairs of rows all at once.

    The objective is majorised by <G, N> + curvature/2 |N - X|^2 + sum W |N|, which is a sum over the pairs.

    Parameters
    ----------
    X, G : array, shape (n, r)
        The point, and the gradient of all but sum W |X| there.
    W : array, shape (n, r), or Jumps
        The weights, or what stands in place of the sum.
    pairs : array of int, shape (count, 2)
        No row twice.
    curvature, alpha : float
        Of the majoriser, and the weight of |V - I|^2 / 2.

    Returns
    -------
    X_new, largest, moved
        The new point, the largest decrease that one pair brought, and how many pairs moved.
    """
    X_new = X.copy()
    largest, moved = 0.0, 0
    for first in range(0, pairs.shape[0], CHUNK):
        i1, i2 = pairs[first : first + CHUNK].T
        z1, z2 = X[i1], X[i2]
        P1, P2 = G[i1] - curvature * z1, G[i2] - curvature * z2
        products = tuple(np.einsum("ij,ij->i", P, z) for P in (P1, P2) for z in (z1, z2))
        if isinstance(W, Jumps):
            gain, c, s, e, k = jump_turns(z1, z2, W.rows(i1, i2), products, alpha, W.small)
        else:
            gain, c, s, e, k = best_turns(z1, z2, W[i1], W[i2], products, alpha)
        go = gain > 0
        if not go.any():
            continue
        i1, i2, z1, z2 = i1[go], i2[go], z1[go], z2[go]
        c, s, e, k = (part[go, None] for part in (c, s, e, k))
        small = W.small if isinstance(W, Jumps) else 1e-14 * (np.abs(z1) + np.abs(z2)) + SLACK / 4
        for rows, new, sign in ((i1, c * z1 + s * z2, e), (i2, c * z2 - s * z1, e * k)):
            X_new[rows] = np.where(np.abs(new) <= small, 0.0, sign * new)
        largest, moved = max(largest, float(gain.max())), moved + int(np.count_nonzero(go))
    return X_new, largest, moved


def best_turns(
    z1: FloatArray, z2: FloatArray, w1: FloatArray, w2: FloatArray, P: tuple[FloatArray, ...], alpha: float
) -> tuple[FloatArray, ...]:
    """The best V of many pairs: minimise <P, VZ> + alpha/2 |V - I|^2 + sum w |VZ| over the 2-by-2 V, pair by pair.

    Written as in the sequential sweep, N = e (r1, k r2) with r1 = c z1 + s z2 and r2 = c z2 - s z1; without second
    derivatives the function is a sinusoid between two kinks, and its lowest point is known. ``P`` holds the products
    <P1, z1>, <P1, z2>, <P2, z1>, <P2, z2>. Returns the decrease (0 when V = I stays), c, s, e and k.
    """
    p11, p12, p21, p22 = P
    u, v, w, w_other = _turn_to_first_quarter(z1, z2, w1, w2)
    size = np.hypot(u, v)
    C, S = _pad(u / size, 1.0, 0.0), _pad(v / size, 0.0, 1.0)  # the kinks, with the angles 0 and pi/2
    a_0, b_0 = p11 + p22 - 2 * alpha, p12 - p21
    now = a_0 + np.sum(w1 * np.abs(z1) + w2 * np.abs(z2), axis=1)
    steep = np.sum((w + w_other) * size, axis=1)
    best = [now, np.ones_like(now), np.zeros_like(now), np.ones_like(now), np.ones_like(now)]
    for quarter in range(2):
        A, B = _slopes(u, v, *((w, w_other) if quarter == 0 else (w_other, w)))
        for k, a, b in ((1.0, a_0, b_0), (-1.0, p11 - p22, p12 + p21)):
            slack = SLACK * (np.hypot(a, b) + steep)
            if quarter == 1:  # a quarter turn on: (c, s) stands for (-s, c), and the rows change places
                a, b = b, -a
            for value, c, s, e in _lowest(A, B, C, S, a[:, None], b[:, None]):
                turned = (c, s) if quarter == 0 else (-s, c)
                _keep(best, value < best[0] - slack, (value, *turned, e, np.full_like(e, k)))
    return now - best[0], *best[1:]


def _turn_to_first_quarter(z1: FloatArray, z2: FloatArray, w1: FloatArray, w2: FloatArray) -> tuple[FloatArray, ...]:
    """Each (z1j, z2j) turned by quarters to (u, v) with u, v >= 0, and its two weights, in the order of the angles.

    The first weight is that of the entry that vanishes at the angle of (u, v) in the first quarter, the other that
    of the entry that does in the second. Entries that are zero in both rows get the angle 0 and the weight 0.
    """
    swapped = z1 * z2 < 0
    x, y = np.abs(z1), np.abs(z2)
    empty = (x == 0) & (y == 0)
    u = np.where(swapped, y, x) + empty
    v = np.where(swapped, x, y)
    w, w_other = np.where(swapped, w1, w2), np.where(swapped, w2, w1)
    order = np.argsort(v / (u + v), axis=1)
    w, w_other = np.where(empty, 0.0, w), np.where(empty, 0.0, w_other)
    u, v, w, w_other = (np.take_along_axis(part, order, axis=1) for part in (u, v, w, w_other))
    return u, v, w, w_other


def _pad(inner: FloatArray, first: float, last: float) -> FloatArray:
    side = np.ones((inner.shape[0], 1))
    return np.concatenate([first * side, inner, last * side], axis=1)


def _slopes(u: FloatArray, v: FloatArray, w: FloatArray, w_other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A and B on each of the r + 1 arcs of a quarter, where h is A c + B s."""
    A = np.empty((u.shape[0], u.shape[1] + 1))
    B = np.empty_like(A)
    wu, wv = w * u, w * v
    A[:, 0], B[:, 0] = np.sum(wv + w_other * u, axis=1), np.sum(w_other * v - wu, axis=1)
    A[:, 1:], B[:, 1:] = A[:, :1] - 2 * np.cumsum(wv, axis=1), B[:, :1] + 2 * np.cumsum(wu, axis=1)
    return A, B


def _lowest(
    A: FloatArray, B: FloatArray, C: FloatArray, S: FloatArray, a: FloatArray, b: FloatArray
) -> list[tuple[FloatArray, ...]]:
    """For each pair its best kink, and its best point between kinks for either sign e: value, c, s and e."""
    rows = np.arange(A.shape[0])
    slope = a * C + b * S
    h = np.empty_like(C)
    h[:, :-1] = A * C[:, :-1] + B * S[:, :-1]
    h[:, -1] = B[:, -1]
    values = h - np.abs(slope)
    at = np.argmin(values, axis=1)
    found: list[tuple[FloatArray, ...]] = [
        (values[rows, at], C[rows, at], S[rows, at], np.where(slope[rows, at] <= 0, 1.0, -1.0))
    ]
    for e in (1.0, -1.0):
        x, y = e * a + A, e * b + B
        # The lowest direction is -(x, y); it lies in the arc when it is left of the one end and right of the other.
        inside = (C[:, :-1] * y <= S[:, :-1] * x) & (x * S[:, 1:] <= y * C[:, 1:])
        depth = np.where(inside, x * x + y * y, 0.0)
        at = np.argmax(depth, axis=1)
        size = np.sqrt(depth[rows, at])
        safe = np.where(size > 0, size, 1.0)
        value = np.where(size > 0, -size, np.inf)
        found.append((value, -x[rows, at] / safe, -y[rows, at] / safe, np.full_like(size, e)))
    return found


def _keep(best: list[FloatArray], better: FloatArray, new: tuple[FloatArray, ...]) -> None:
    for place, part in enumerate(new):
        best[place] = np.where(better, part, best[place])

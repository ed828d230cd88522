"""The best turn of a pair of rows, the working sets of OBCD, and the start that a run with signs is given."""

import numpy as np
import pytest

from orthoprox import Stiefel
from orthoprox.backends import _obcd
from orthoprox.backends import _obcd_jumps_sequential as jumping
from orthoprox.backends import _obcd_sequential as kernel
from orthoprox.backends._obcd_jumps import FORBIDDEN, Jumps, jump_turns, signed_start
from steps.cases import M, N, R
from steps.obcd_naive import GRID, naive_pair, signs_of, sparse_point

ALPHA, SMALL = 1e-2, 1e-13
both_sweeps = pytest.mark.parametrize("kind", ["exact", "majorised"])


def random_pair(case, h):
    """Two rows, a linear and a quadratic part, and what entries cost above and below zero."""
    rng = np.random.default_rng(case)
    r = int(rng.integers(1, 8))
    Z = rng.standard_normal((2, r)) * (10 ** rng.uniform(-2, 1) if h in ("l1", "negative part") else 1.0)
    Z[rng.random((2, r)) < (0.4 if case % 3 else 0)] = 0.0
    if case % 7 == 0:
        Z[1] = Z[0]  # all kinks of an entry meet
    if case % 11 == 0:
        Z[1] = 0.0
    if case % 5 == 0 and r > 1:
        Z[:, 1] = -Z[1, 0], Z[0, 0]  # entries of both columns vanish at one angle
    P, H = (rng.standard_normal((2, k)) * 10 ** rng.uniform(-1, 1) for k in (r, 2))
    W = rng.random((2, r)) * 10 ** rng.uniform(-2, 1)
    W[rng.random((2, r)) < (0.3 if case % 4 == 0 else 0)] = 0.0
    if case % 5 == 1:
        W[1] = W[0]
    if h != "signs":
        return Z, P, H + H.T, W, W
    must = rng.choice([-1, 0, 1], (2, r), p=[0.2, 0.2, 0.6]) if case % 2 else np.ones((2, r))
    Z = np.where(must == 0, Z, must * np.abs(Z))
    return Z, P, H + H.T, np.where(must < 0, FORBIDDEN, 0.0), np.where(must > 0, FORBIDDEN, 0.0)


def as_turn(gain, c, s, e, k):
    return gain, e * np.array([[c, s], [-k * s, k * c]])


def turn_with_kinks(kind, Z, P, H, W):
    products = tuple((P @ Z.T).ravel())
    if kind == "exact":
        work, stack = np.empty((5, Z.shape[1])), np.empty((kernel.DEPTH, 4))
        return as_turn(*kernel.best_turn(*Z, *W, products, (H[0, 0], H[0, 1], H[1, 1]), ALPHA, work, stack))
    rows = [part[None, :] for part in (*Z, *W)]
    answer = _obcd.best_turns(*rows, tuple(np.array([p]) for p in products), ALPHA)
    return as_turn(*(float(part[0]) for part in answer))


def turn_with_jumps(kind, Z, P, H, up, down):
    products, costs = tuple((P @ Z.T).ravel()), (up[0], down[0], up[1], down[1])
    if kind == "exact":
        work, priced, stack = np.empty((6, Z.shape[1])), np.empty((2, 4)), np.empty((kernel.DEPTH, 4))
        quadratic = (H[0, 0], H[0, 1], H[1, 1])
        return as_turn(*jumping.best_jump_turn(*Z, *costs, products, quadratic, ALPHA, SMALL, work, priced, stack))
    rows = tuple(part[None, :] for part in costs)
    answer = jump_turns(Z[:1], Z[1:], rows, tuple(np.array([p]) for p in products), ALPHA, SMALL)
    return as_turn(*(float(part[0]) for part in answer))


@both_sweeps
@pytest.mark.parametrize("h", ["l1", "negative part", "count", "signs"])
def test_neither_grid_nor_kinks_beat_the_search(kind, h):
    moved = 0
    for case in range(110):
        Z, P, H, up, down = random_pair(case, h)
        H = H if kind == "exact" else 0 * H

        def value(at, up=up, down=down, small=SMALL):
            if h == "l1":
                return np.sum(up * np.abs(at), axis=(-2, -1))
            if h == "negative part":
                return np.sum(up * np.maximum(-at, 0), axis=(-2, -1))
            return np.sum(np.where(at > small, up, 0) + np.where(at < -small, down, 0), axis=(-2, -1))

        def model(V, value=value, Z=Z, P=P, H=H):
            at = V @ Z
            smooth = np.sum(P * at + at * (H @ at) / 2, axis=(-2, -1))
            return smooth + ALPHA / 2 * np.sum((V - np.eye(2)) ** 2, axis=(-2, -1)) + value(at)

        if h in ("l1", "negative part"):
            linear, weights = (P, up) if h == "l1" else (P - up / 2, up / 2)
            gain, V = turn_with_kinks(kind, Z, linear, H, weights)
            size = np.sum(up) * np.max(np.abs(Z))
        else:
            gain, V = turn_with_jumps(kind, Z, P, H, up, down)
            size = 0.0
        now = float(model(np.eye(2)))
        scale = 1 + size + np.sum(np.abs(P)) * np.max(np.abs(Z)) + np.sum(np.abs(H)) * np.sum(Z**2)
        assert np.allclose(V @ V.T, np.eye(2), atol=4e-16)
        assert now < FORBIDDEN and gain >= 0
        assert gain == pytest.approx(now - model(V), abs=1e-13 * scale)
        assert model(V) <= np.min(model(GRID)) + 1e-13 * scale
        if h in ("count", "signs") and case < 60:
            # all angles where an entry vanishes, and all stationary points, by roots of quartics
            _, best = naive_pair(Z, P + H @ Z, H, lambda at, f=value: f(at, small=1e-9), np.zeros_like, ALPHA)
            assert now - gain - np.sum(P * Z + Z * (H @ Z) / 2) <= best + 1e-9 * scale
        moved += gain > 0
    assert moved > 55


@both_sweeps
@pytest.mark.parametrize("entry", [0.0, -0.0])
def test_two_zero_rows_stay(kind, entry):
    Z, one, H = np.full((2, 3), entry), np.ones((2, 3)), np.array([[1.0, 2.0], [2.0, 3.0]])
    for gain, V in (
        turn_with_kinks(kind, Z, 0 * one, H, one),
        turn_with_jumps(kind, Z, one, H, one, one),
        turn_with_jumps(kind, Z, one, H, 0 * one, FORBIDDEN * one),
    ):
        assert gain == 0.0 and np.array_equal(V, np.eye(2))


def test_a_flat_bottom_ends_the_search_of_an_arc():
    # cos t - cos(2t)/4 has its first three derivatives zero at t = 0; -cos t + cos(2t)/4 is flattest there
    stack = np.empty((kernel.DEPTH, 4))
    left, right = (np.cos(-0.7), np.sin(-0.7)), (np.cos(0.6), np.sin(0.6))
    value, c, s = kernel.arc_minimum(-1.0, 0.0, 0.25, 0.0, *left, *right, np.inf, 1e-16, stack)
    assert value == pytest.approx(-0.75, abs=1e-14)
    assert abs(s) < 1e-3 and c > 0


@both_sweeps
def test_rounding_errors_count_as_zeros(kind):
    nothing, up = np.zeros((2, 2)), np.ones((2, 2))
    # two columns that are orthogonal on these rows, but for an error of the size that X'X = I allows
    X = np.array([[0.6, -0.8 * (1 + 3e-14)], [0.8, 0.6]])
    _, V = turn_with_jumps(kind, X, nothing, nothing, up, up)
    assert np.count_nonzero(np.abs(V @ X) > SMALL / 2) == 2
    # and one of them alone is not worth a turn away from there
    assert turn_with_jumps(kind, np.eye(2), nothing, nothing, up, up)[0] == 0.0
    # entries that are nothing else are dropped without a turn
    Z = np.array([[0.6, 1e-14], [0.8, 2e-14]])
    gain, V = turn_with_jumps(kind, Z, -100 * Z, nothing, up, up)
    assert gain == pytest.approx(2.0) and np.array_equal(V, np.eye(2))
    # a sweep makes them zero
    jumps, pairs = Jumps(up, up, SMALL), np.array([[0, 1]])
    if kind == "majorised":
        X, _, moved = _obcd.jacobi_sweep(X, nothing, jumps, pairs, 0.0, ALPHA)
    else:
        moved = jumping.jump_sweep(X, nothing.copy(), nothing, *jumps, nothing, pairs, ALPHA)[1]
    assert moved == 1 and np.count_nonzero(X) == 2


@both_sweeps
def test_a_minimum_exactly_at_half_a_turn(kind):
    free = np.zeros((2, 2))
    gain, V = turn_with_jumps(kind, np.eye(2), np.eye(2), free, free, free)
    assert np.array_equal(V, -np.eye(2)) and gain == pytest.approx(4.0 - 4 * ALPHA)


@pytest.mark.parametrize("n", [2, 3, 8, 9])
def test_cyclic_rounds_meet_every_pair_once(n):
    rounds = [_obcd.cyclic_pairs(n, number) for number in range(n - 1 + n % 2)]
    assert all(len(np.unique(pairs)) == 2 * (n // 2) for pairs in rounds)
    met = sorted(tuple(sorted(pair)) for pairs in rounds for pair in pairs.tolist())
    assert met == [(i, j) for i in range(n) for j in range(i + 1, n)]
    assert np.array_equal(_obcd.cyclic_pairs(n, len(rounds)), rounds[0])


@pytest.mark.parametrize("score", ["reduction", "violation"])
def test_a_greedy_round_takes_the_best_pair_of_each_group(rng, score):
    n, curvature, alpha = 47, 0.7, 0.5
    X, G = np.linalg.qr(rng.standard_normal((n, R)))[0], rng.standard_normal((n, R))
    pairs = _obcd.greedy_pairs(X, G, score, curvature, alpha, np.random.default_rng(8))
    order = np.random.default_rng(8).permutation(n)
    assert pairs.shape == (2, 2)
    for pair, group in zip(pairs, (order[:20], order[20:40]), strict=True):

        def gain(i, j):
            Z, Q = X[[i, j]], G[[i, j]] - curvature * X[[i, j]]
            if score == "violation":
                return abs(X[i] @ G[j] - G[i] @ X[j])
            values = np.sum((GRID - np.eye(2)) * (Q @ Z.T - alpha * np.eye(2)), axis=(1, 2))
            return -np.min(values)

        gains = {(i, j): gain(i, j) for a, i in enumerate(group) for j in group[a + 1 :]}
        assert gains[tuple(pair)] == max(gains.values())


def test_a_greedy_choice_sees_no_slope_in_a_jump():
    X = M.random(1)
    assert _obcd.slopes(signs_of(np.ones((N, R))), X) == 0.0
    assert np.array_equal(_obcd.slopes(2.0 * np.ones((N, R)), X), 2 * np.sign(X))


@pytest.mark.parametrize(
    ("X", "must", "wanted"),
    [
        ([[0.5, 0.6], [-0.1, 0.2], [-0.7, -0.1], [0.3, -0.4]], 1, [[0.0, 0.6], [0.0, 0.2], [0.0, 0.0], [1.0, 0.0]]),
        ([[-0.9, 0.1], [0.2, 0.3], [0.1, -0.4]], [[0, 1], [1, 1], [1, 1]], [[-0.9, 0.0], [0.0, 1.0], [0.1, 0.0]]),
    ],
)
def test_a_start_is_rounded_to_one_entry_in_a_row(X, must, wanted):
    # An entry whose sign is free stays as it is.
    wanted = np.array(wanted) / np.linalg.norm(wanted, axis=0)
    assert np.allclose(signed_start(np.array(X), signs_of(must * np.ones_like(X))), wanted)


def test_an_admissible_start_stays():
    X, dense = sparse_point(1), M.random(1)
    assert signed_start(X, signs_of(np.ones_like(X))) is X
    assert signed_start(dense, Jumps(np.ones((N, R)), np.ones((N, R)), SMALL)) is dense
    assert signed_start(dense, signs_of(np.sign(dense))) is dense


@pytest.mark.parametrize("n", [3, 4, 20])
def test_no_column_of_a_rounded_start_is_empty(n):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = Stiefel(n, 3).random(seed + 50)
        must = rng.choice([-1, 0, 1], (n, 3)) if seed % 2 else np.ones((n, 3))
        if seed % 3 == 0:
            X[:, 1] = -np.abs(X[:, 1])
            must[:, 1] = 1
        if not signs_of(must).forbid(X):
            continue
        new = signed_start(X, signs_of(must))
        assert np.linalg.norm(new.T @ new - np.eye(3)) < 1e-14
        assert np.all(must * new >= 0)
        assert np.all(np.count_nonzero(new, axis=1) <= 1)

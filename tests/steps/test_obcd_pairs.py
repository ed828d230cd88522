"""The search for the best turn of a pair of rows, and the working sets of OBCD."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from orthoprox.backends import _obcd
from orthoprox.backends import _obcd_sequential as kernel
from steps.cases import M, N, R, S
from steps.obcd_naive import GRID, naive_pair

ALPHA = 1e-2
needs_numba = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="the compiled sweep needs numba")

# ---------------------------------------------------------------- the pair


def random_pair(case):
    rng = np.random.default_rng(case)
    r = int(rng.integers(1, 8))
    Z = rng.standard_normal((2, r)) * 10 ** rng.uniform(-2, 1)
    Z[rng.random((2, r)) < (0.4 if case % 3 == 0 else 0)] = 0.0
    if case % 7 == 0:
        Z[1] = Z[0]  # all kinks of an entry meet
    if case % 11 == 0:
        Z[1] = 0.0
    P = rng.standard_normal((2, r)) * 10 ** rng.uniform(-1, 1)
    H = rng.standard_normal((2, 2)) * 10 ** rng.uniform(-1, 1)
    W = rng.random((2, r)) * 10 ** rng.uniform(-1, 1)
    W[rng.random((2, r)) < (0.3 if case % 4 == 0 else 0)] = 0.0
    if case % 5 == 0:
        W[1] = W[0]
    return Z, P, H + H.T, W


@pytest.mark.parametrize("kind", ["exact", "majorised"])
@pytest.mark.parametrize("negative", [False, True])
def test_no_grid_beats_the_search(kind, negative):
    for case in range(400):
        Z, P, H, W = random_pair(case)
        H = H if kind == "exact" else 0 * H

        def model(V, Z=Z, P=P, H=H, W=W):
            at = V @ Z
            h = W * np.maximum(-at, 0) if negative else W * np.abs(at)
            prox = ALPHA / 2 * np.sum((V - np.eye(2)) ** 2, axis=(-2, -1))
            return np.sum(P * at + at * (H @ at) / 2 + h, axis=(-2, -1)) + prox

        linear, weights = (P - W / 2, W / 2) if negative else (P, W)
        products = tuple((linear @ Z.T).ravel())
        if kind == "exact":
            work, stack = np.empty((5, Z.shape[1])), np.empty((kernel.DEPTH, 4))
            entries = (H[0, 0], H[0, 1], H[1, 1])
            gain, c, s, e, k = kernel.best_turn(*Z, *weights, products, entries, ALPHA, work, stack)
        else:
            rows = [part[None, :] for part in (*Z, *weights)]
            answer = _obcd.best_turns(*rows, tuple(np.array([p]) for p in products), ALPHA)
            gain, c, s, e, k = (float(part[0]) for part in answer)
        V = e * np.array([[c, s], [-k * s, k * c]])
        scale = np.sum(np.abs(P)) * np.max(np.abs(Z)) + np.sum(W) * np.max(np.abs(Z)) + np.sum(np.abs(H)) * np.sum(Z**2)
        assert np.allclose(V @ V.T, np.eye(2), atol=4e-16)
        assert model(V) <= np.min(model(GRID)) + 1e-14 * (scale + 1)
        assert gain == pytest.approx(model(np.eye(2)) - model(V), abs=1e-13 * (scale + 1))
        assert gain >= 0


def test_the_naive_pair_is_not_beaten_by_a_grid_either():
    for case in range(0, 60, 3):
        Z, P, H, W = random_pair(case)
        _, best = naive_pair(Z, P, H, lambda at, W=W: np.sum(W * np.abs(at)), lambda at, W=W: W * np.sign(at), ALPHA)
        D = GRID @ Z - Z
        prox = ALPHA / 2 * np.sum((GRID - np.eye(2)) ** 2, axis=(1, 2))
        grid = np.sum(P * D + D * (H @ D) / 2 + W * np.abs(GRID @ Z), axis=(1, 2)) + prox
        assert best <= np.min(grid) + 1e-9


@pytest.mark.parametrize("entry", [0.0, -0.0])
def test_two_zero_rows_stay(entry):
    work, stack = np.empty((5, 3)), np.empty((kernel.DEPTH, 4))
    z, w = np.full(3, entry), np.ones(3)
    assert kernel.best_turn(z, z, w, w, (0.0,) * 4, (1.0, 2.0, 3.0), ALPHA, work, stack)[:3] == (0.0, 1.0, 0.0)
    assert _obcd.best_turns(z[None], z[None], w[None], w[None], (np.zeros(1),) * 4, ALPHA)[0][0] == 0.0


def test_a_flat_bottom_ends_the_search_of_an_arc():
    # cos t - cos(2t)/4 has its first three derivatives zero at t = 0; -cos t + cos(2t)/4 is flattest there
    stack = np.empty((kernel.DEPTH, 4))
    left, right = (np.cos(-0.7), np.sin(-0.7)), (np.cos(0.6), np.sin(0.6))
    value, c, s = kernel.arc_minimum(-1.0, 0.0, 0.25, 0.0, *left, *right, np.inf, 1e-16, stack)
    assert value == pytest.approx(-0.75, abs=1e-14)
    assert abs(s) < 1e-3 and c > 0


@needs_numba
def test_compiled_and_plain_sweeps_agree():
    rng = np.random.default_rng(5)
    X = M.random(2)
    H, L, W = S.copy(), rng.standard_normal((N, R)), rng.random((N, R))
    pairs = np.concatenate([_obcd.random_pairs(N, rng) for _ in range(6)])
    plain, fast = [X.copy(), H @ X], [X.copy(), H @ X]
    largest, moved = kernel.sweep(*plain, L, W, H, pairs, ALPHA)
    gain, went = kernel.compiled_sweep(kernel.sweep)(*fast, L, W, H, pairs, ALPHA)
    assert np.allclose(plain, fast, atol=1e-12)
    assert (gain, went) == (pytest.approx(largest), moved)
    assert moved > 10


# ---------------------------------------------------------------- working sets


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

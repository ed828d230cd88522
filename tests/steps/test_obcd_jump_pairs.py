"""The best turn of a pair of rows for an h that jumps at zero, and the start that a run with signs is given."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from orthoprox import Stiefel
from orthoprox.backends import _obcd
from orthoprox.backends import _obcd_jumps_sequential as kernel
from orthoprox.backends._obcd_jumps import FORBIDDEN, Jumps, jump_turns, signed_start
from orthoprox.backends._obcd_sequential import DEPTH, compiled_sweep
from steps.cases import M, N, R, S
from steps.obcd_naive import GRID, mixed_point, naive_pair, signs_of, sparse_point

ALPHA, SMALL = 1e-2, 1e-13
needs_numba = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="the compiled sweep needs numba")

# ---------------------------------------------------------------- the pair


def random_pair(case, signs):
    """Two rows, a linear and a quadratic part, and what entries cost; where signs are asked for, the rows have them."""
    rng = np.random.default_rng(case)
    r = int(rng.integers(1, 8))
    Z = rng.standard_normal((2, r))
    Z[rng.random((2, r)) < (0.4 if case % 3 else 0)] = 0.0
    if case % 7 == 0:
        Z[1] = Z[0]
    if case % 11 == 0:
        Z[1] = 0.0
    if case % 5 == 0 and r > 1:
        Z[:, 1] = -Z[1, 0], Z[0, 0]  # entries of both columns vanish at one angle
    P, H = (
        rng.standard_normal((2, r)) * 10 ** rng.uniform(-1, 1),
        rng.standard_normal((2, 2)) * 10 ** rng.uniform(-1, 1),
    )
    if not signs:
        W = rng.random((2, r)) * 10 ** rng.uniform(-2, 1)
        W[rng.random((2, r)) < (0.3 if case % 4 == 0 else 0)] = 0.0
        return Z, P, H + H.T, W, W
    must = rng.choice([-1, 0, 1], (2, r), p=[0.2, 0.2, 0.6]) if case % 2 else np.ones((2, r))
    Z = np.where(must == 0, Z, must * np.abs(Z))
    return Z, P, H + H.T, np.where(must < 0, FORBIDDEN, 0.0), np.where(must > 0, FORBIDDEN, 0.0)


def searched(kind, Z, P, H, up, down):
    products = tuple((P @ Z.T).ravel())
    costs = up[0], down[0], up[1], down[1]
    if kind == "exact":
        work, priced, stack = np.empty((6, Z.shape[1])), np.empty((2, 4)), np.empty((DEPTH, 4))
        entries = (H[0, 0], H[0, 1], H[1, 1])
        found = kernel.best_jump_turn(*Z, *costs, products, entries, ALPHA, SMALL, work, priced, stack)
    else:
        rows = tuple(part[None, :] for part in costs)
        answer = jump_turns(Z[:1], Z[1:], rows, tuple(np.array([p]) for p in products), ALPHA, SMALL)
        found = tuple(float(part[0]) for part in answer)
    gain, c, s, e, k = found
    return gain, e * np.array([[c, s], [-k * s, k * c]])


@pytest.mark.parametrize("kind", ["exact", "majorised"])
@pytest.mark.parametrize("signs", [False, True])
def test_neither_grid_nor_kinks_beat_the_search(kind, signs):
    moved = 0
    for case in range(400):
        Z, P, H, up, down = random_pair(case, signs)
        H = H if kind == "exact" else 0 * H

        def h(at, up=up, down=down, small=SMALL):
            return np.sum(np.where(at > small, up, 0) + np.where(at < -small, down, 0), axis=(-2, -1))

        def model(V, h=h, Z=Z, P=P, H=H):
            at = V @ Z
            smooth = np.sum(P * at + at * (H @ at) / 2, axis=(-2, -1))
            return smooth + ALPHA / 2 * np.sum((V - np.eye(2)) ** 2, axis=(-2, -1)) + h(at)

        gain, V = searched(kind, Z, P, H, up, down)
        now, scale = (
            float(model(np.eye(2))),
            1 + np.sum(np.abs(P)) * np.max(np.abs(Z)) + np.sum(np.abs(H)) * np.sum(Z**2),
        )
        assert np.allclose(V @ V.T, np.eye(2), atol=4e-16)
        assert now < FORBIDDEN and gain >= 0
        assert gain == pytest.approx(now - model(V), abs=1e-13 * scale)
        assert model(V) <= np.min(model(GRID)) + 1e-13 * scale
        # all angles where an entry vanishes, and all stationary points, by roots of quartics
        G = P + H @ Z
        _, best = naive_pair(Z, G, H, lambda at, h=h: h(at, small=1e-9), np.zeros_like, ALPHA)
        assert now - gain - h(Z) - np.sum(P * Z + Z * (H @ Z) / 2) <= best - h(Z) + 1e-9 * scale
        moved += gain > 0
    assert moved > 200


@pytest.mark.parametrize("kind", ["exact", "majorised"])
def test_entries_that_vanish_together_vanish_together_in_spite_of_rounding(kind):
    # two columns that are orthogonal on these rows, but for an error of the size that X'X = I allows
    Z = np.array([[0.6, -0.8 * (1 + 3e-14)], [0.8, 0.6]])
    up = np.ones((2, 2))
    _, V = searched(kind, Z, np.zeros((2, 2)), np.zeros((2, 2)), up, up)
    assert np.count_nonzero(np.abs(V @ Z) > SMALL / 2) == 2
    # and one of them alone is not worth a turn away from there
    gain, _ = searched(kind, np.eye(2), np.zeros((2, 2)), np.zeros((2, 2)), up, up)
    assert gain == 0.0


def test_sweeps_make_them_zero():
    X = np.array([[0.6, -0.8 * (1 + 3e-14)], [0.8, 0.6]])
    jumps, pairs, nothing = Jumps(np.ones((2, 2)), np.ones((2, 2)), SMALL), np.array([[0, 1]]), np.zeros((2, 2))
    turned, _, moved = _obcd.jacobi_sweep(X, nothing, jumps, pairs, 0.0, ALPHA)
    assert moved == 1 and np.count_nonzero(turned) == 2
    X, HX = X.copy(), nothing.copy()
    assert kernel.jump_sweep(X, HX, nothing, *jumps, nothing, pairs, ALPHA)[1] == 1 and np.count_nonzero(X) == 2


def test_a_greedy_choice_sees_no_slope_in_a_jump():
    X = M.random(1)
    assert _obcd.slopes(signs_of(np.ones((N, R))), X) == 0.0
    assert np.array_equal(_obcd.slopes(2.0 * np.ones((N, R)), X), 2 * np.sign(X))


@pytest.mark.parametrize("kind", ["exact", "majorised"])
def test_entries_that_are_but_rounding_errors_are_dropped_without_a_turn(kind):
    Z, up = np.array([[0.6, 1e-14], [0.8, 2e-14]]), np.ones((2, 2))
    gain, V = searched(kind, Z, -100 * Z, np.zeros((2, 2)), up, up)
    assert gain == pytest.approx(2.0) and np.array_equal(V, np.eye(2))


@pytest.mark.parametrize("kind", ["exact", "majorised"])
def test_a_minimum_exactly_at_half_a_turn(kind):
    free = np.zeros((2, 2))
    gain, V = searched(kind, np.eye(2), np.eye(2), np.zeros((2, 2)), free, free)
    assert np.array_equal(V, -np.eye(2)) and gain == pytest.approx(4.0 - 4 * ALPHA)


@pytest.mark.parametrize("kind", ["exact", "majorised"])
@pytest.mark.parametrize("signs", [False, True])
def test_two_zero_rows_stay(kind, signs):
    nothing, one = np.zeros((2, 3)), np.ones((2, 3))
    gain, V = searched(
        kind, nothing, one, np.ones((2, 2)), 0 * one if signs else one, FORBIDDEN * one if signs else one
    )
    assert gain == 0.0 and np.array_equal(V, np.eye(2))


@needs_numba
@pytest.mark.parametrize("signs", [False, True])
def test_compiled_and_plain_sweeps_agree(signs):
    rng = np.random.default_rng(5)
    one = np.ones((N, R))
    X = sparse_point(3) if signs else mixed_point(3)
    L = rng.standard_normal((N, R))
    jumps = Jumps(0 * one, FORBIDDEN * one, SMALL) if signs else Jumps(0.1 * one, 0.1 * one, SMALL)
    pairs = np.concatenate([_obcd.random_pairs(N, rng) for _ in range(8)])
    plain, fast = [X.copy(), S @ X], [X.copy(), S @ X]
    largest, moved = kernel.jump_sweep(*plain, L, *jumps, S, pairs, ALPHA)
    gain, went = compiled_sweep(kernel.jump_sweep)(*fast, L, *jumps, S, pairs, ALPHA)
    assert np.allclose(plain, fast, atol=1e-12)
    assert (gain, went) == (pytest.approx(largest), moved)
    assert moved > 5
    assert np.array_equal(plain[0] == 0, fast[0] == 0)


# ---------------------------------------------------------------- the start


def test_a_start_is_rounded_to_one_entry_in_a_row():
    X = np.array([[0.5, 0.6], [-0.1, 0.2], [-0.7, -0.1], [0.3, -0.4]])
    wanted = np.array([[0.0, 0.6], [0.0, 0.2], [0.0, 0.0], [1.0, 0.0]])
    wanted[:, 1] /= np.linalg.norm(wanted[:, 1])
    assert np.allclose(signed_start(X, signs_of(np.ones_like(X))), wanted)


def test_entries_without_a_sign_to_have_are_kept_as_they_are():
    X = np.array([[-0.9, 0.1], [0.2, 0.3], [0.1, -0.4]])
    must = np.array([[0, 1], [1, 1], [1, 1]])
    wanted = np.array([[-0.9, 0.0], [0.0, 1.0], [0.1, 0.0]])
    wanted[:, 0] /= np.linalg.norm(wanted[:, 0])
    assert np.allclose(signed_start(X, signs_of(must)), wanted)


def test_an_admissible_start_stays():
    X = sparse_point(1)
    assert signed_start(X, signs_of(np.ones_like(X))) is X
    dense = M.random(1)
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

"""The manifold: projection is nearest and feasible, by products too; retractions of first order, tangents tangent."""

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orthoprox import Stiefel
from orthoprox.backends._speculation import PRODUCTS, speculate
from orthoprox.manifolds._polar import polar_factor

shapes = st.tuples(st.integers(1, 12), st.integers(1, 5)).map(lambda s: (s[0] + s[1], s[1]))
seeds = st.integers(0, 10_000)


def conditioned(rng, n, r, cond, dtype=np.float64):
    """A matrix with singular values from 1 down to 1/cond, and its polar factor."""
    U, _ = np.linalg.qr(rng.standard_normal((n, r)))
    V, _ = np.linalg.qr(rng.standard_normal((r, r)))
    sizes = np.geomspace(1, 1 / cond, r) if r > 1 else np.ones(1)
    return ((U * sizes) @ V.T).astype(dtype), U @ V.T


def gap(X):
    X = X.astype(np.float64)
    return np.max(np.abs(X.T @ X - np.eye(X.shape[1])))


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 1e-6)])
@pytest.mark.parametrize("cond", [1, 1.9, 2.1, 10, 100, 210, 300, 1e3, 1e4, 1e5, 1e6])
@pytest.mark.parametrize(("n", "r"), [(7, 3), (60, 8), (500, 20), (20, 20), (9, 1)])
def test_projection_is_feasible_at_every_condition_number(rng, n, r, cond, dtype, tolerance):
    Y, nearest = conditioned(rng, n, r, cond, dtype)
    huge = 1e30 if dtype is np.float32 else 1e200  # its square overflows, that of its inverse vanishes
    for scale in (1, 1e-6, 1e6, *((huge, 1 / huge) if cond < 100 else ())):
        X = Stiefel(n, r).project(Y * dtype(scale))
        assert X.dtype == dtype
        assert gap(X) <= tolerance * r
        # The polar factor of a matrix known to eps has an error of eps times its condition number;
        # the r-by-r route may lose that factor once more, up to where it hands over to the SVD.
        eps = np.finfo(dtype).eps
        route = max(cond, min(cond**2, (1e-11 if dtype is np.float64 else 1e-4) / eps))
        assert np.linalg.norm(X - nearest) <= 30 * r * eps * route


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 1e-6)])
@pytest.mark.parametrize("rank", [0, 1, 4])
def test_projection_of_a_rank_deficient_matrix_is_feasible_and_nearest(rng, rank, dtype, tolerance):
    n, r = 30, 6
    Y = (rng.standard_normal((n, rank)) @ rng.standard_normal((rank, r))).astype(dtype)
    X = Stiefel(n, r).project(Y)
    assert gap(X) <= tolerance * r
    # Every nearest point attains the sum of the singular values.
    assert np.sum(X * Y) == pytest.approx(np.sum(np.linalg.svd(Y)[1]), rel=1e-5 if dtype is np.float32 else 1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_projection_of_something_not_finite_is_nan_and_no_lapack_error(rng, bad):
    Y = rng.standard_normal((8, 3))
    Y[2, 1] = bad
    assert np.isnan(Stiefel(8, 3).project(Y)).all()


REACH = (1.3, 5.0, 60.0)
"""Condition numbers that each effort of the polar factor by products of small matrices copes with."""


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("effort", range(len(PRODUCTS)))
@pytest.mark.parametrize(("n", "r"), [(30, 1), (40, 6), (300, 40), (12, 12)])
@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e8])
def test_what_is_certified_is_the_polar_factor(rng, n, r, effort, dtype, scale):
    reach, eps = min(REACH[effort], 30.0 if dtype is np.float32 else np.inf), np.finfo(dtype).eps
    for condition in (reach, 1.5 * reach, 2.5 * reach, 30 * reach):  # beyond its reach it may fail, but not silently
        Y, exact = conditioned(rng, n, r, condition, dtype)
        with speculate(effort) as assumed:
            Q, S = polar_factor(dtype(scale) * Y)
        certified = bool(assumed.usual) and bool(assumed.enough)
        assert certified or condition > reach
        with speculate(effort) as alone:
            assert np.array_equal(Stiefel(n, r).project(dtype(scale) * Y), Q)
        assert bool(alone.enough) == bool(assumed.enough)
        if certified:
            loss = condition**2 if effort == 0 else 1.0
            assert np.max(np.abs(Q.T @ Q - np.eye(r))) < 40 * eps * loss
            assert np.max(np.abs(Q - exact)) < 40 * eps * condition**2
            assert np.max(np.abs(dtype(scale) * Y @ S - Q)) < 100 * eps * condition
            assert np.max(np.abs(S - S.T)) <= 100 * eps * condition * np.max(np.abs(S))


@pytest.mark.parametrize("effort", range(len(PRODUCTS)))
@pytest.mark.parametrize("bad", ["rank", "zero", "nan", "overflow", "condition"])
def test_what_is_not_one_is_not_certified(rng, effort, bad):
    Y, _ = conditioned(rng, 20, 4, 1e9 if bad == "condition" else 2.0)
    Y = {"rank": Y * (np.arange(4) > 0), "zero": 0 * Y, "nan": Y * np.nan, "overflow": Y * 1e200}.get(bad, Y)
    with np.errstate(all="ignore"), speculate(effort) as assumed:
        polar_factor(Y)
    assert not bool(assumed.usual & assumed.enough)


def test_a_matrix_that_is_used_only_where_a_test_holds_may_fail_elsewhere():
    for test in (True, False):
        with np.errstate(all="ignore"), speculate(2) as assumed:
            with assumed.only_where(np.asarray(test)):
                polar_factor(np.zeros((5, 2)))
            polar_factor(np.eye(5, 2))
        assert bool(assumed.enough) is not test


@given(shape=shapes, seed=seeds, by=st.sampled_from(["polar", "qr"]))
def test_retraction_is_feasible_first_order_and_a_product_from_the_right(shape, seed, by):
    rng = np.random.default_rng(seed)
    M = Stiefel(*shape)
    X = M.random(seed + 1)  # with the seed itself X would be the polar factor of the next draw
    V = M.tangent(X, rng.standard_normal(shape))
    assert np.allclose(M.retract(X, 0 * V, by), X, atol=1e-13)
    errors = [np.linalg.norm(M.retract(X, s * V, by) - X - s * V) for s in (1e-3, 1e-4)]
    assert errors[1] <= 0.02 * errors[0] + 1e-13  # second order: a tenth of the step, a hundredth of the error
    big = 30.0 * V
    new, S = M.retraction(X, big, by)
    assert gap(new) <= 1e-13 * M.r
    assert np.allclose((X + big) @ S, new, atol=1e-10)


def test_retractions_in_closed_form(rng):
    M = Stiefel(9, 4)
    for seed in range(20):
        X = M.random(seed)
        V = M.tangent(X, 0.1 * rng.standard_normal((9, 4)))
        Q = M.retract(X, V, "qr")  # a positive diagonal, so columns do not flip
        assert (np.diag(Q.T @ (X + V)) > 0).all()
        assert np.linalg.norm(Q - X) < 1
        w, E = np.linalg.eigh(np.eye(4) + V.T @ V)
        assert np.allclose(M.retract(X, V), (X + V) @ (E / np.sqrt(w)) @ E.T, atol=1e-13)
    with pytest.raises(ValueError, match="'polar' or 'qr'; given 'cayley'"):
        M.retract(X, V, "cayley")


@given(shape=shapes, seed=seeds, rho=st.floats(0.05, 5))
def test_directions_are_tangent_and_obey_lemma_2_12(shape, seed, rho):
    rng = np.random.default_rng(seed)
    M = Stiefel(*shape)
    X, G = M.random(seed + 1), rng.standard_normal(shape)  # of one seed, X'G would be symmetric
    norm = np.linalg.norm

    def of(rho):
        return M.direction(X, G, rho)

    for D in (M.tangent(X, G), of(rho)):
        assert np.allclose(X.T @ D + D.T @ X, 0, atol=1e-12)
    assert np.allclose(M.tangent(X, G), of(0.5), atol=1e-13)
    assert np.allclose(M.tangent(X, M.tangent(X, G)), M.tangent(X, G), atol=1e-12)
    assert abs(np.sum((G - M.tangent(X, G)) * M.tangent(X, rng.standard_normal(shape)))) < 1e-10
    assert norm(M.tangent(X, G)) <= norm(G) * (1 + 1e-14)  # Lemma 2.11
    # Lemma 2.12 (a) and (b)
    assert max(1, 2 * rho) * np.sum(G * of(rho)) >= norm(of(rho)) ** 2 - 1e-10
    assert norm(of(rho)) ** 2 >= min(1, rho**2) * norm(of(1.0)) ** 2 - 1e-10
    assert min(1, 2 * rho) * norm(of(0.5)) - 1e-12 <= norm(of(rho)) <= max(1, 2 * rho) * norm(of(0.5)) + 1e-12
    # and as the paper writes it
    assert np.allclose(of(rho), G - rho * X @ G.T @ X - (1 - rho) * X @ X.T @ G, atol=1e-12)


def test_random_points_are_seeded_feasible_uniform_and_alike_in_every_library(rng):
    M = Stiefel(20, 4)
    X = M.random(3)
    assert gap(X) < 1e-14
    assert (X == M.random(3)).all()
    assert not np.allclose(X, M.random(4))
    assert (X == M.random(np.random.default_rng(3))).all()
    single = M.random(3, like=np.zeros(1, dtype=np.float32))
    assert single.dtype == np.float32
    assert np.allclose(single, X, atol=1e-6)
    strict = M.random(3, like=array_api_strict.asarray([0.0]))
    assert np.allclose(np.asarray(strict), X, atol=1e-15)
    off = rng.standard_normal((20, 4))
    assert M.infeasibility(off) == pytest.approx(np.linalg.norm(off.T @ off - np.eye(4)))
    # E[X X'] = (r/n) I on the uniform distribution
    mean = np.mean([X @ X.T for X in (Stiefel(5, 2).random(seed) for seed in range(2000))], axis=0)
    assert np.allclose(mean, 0.4 * np.eye(5), atol=0.04)


@pytest.mark.parametrize(
    ("n", "r", "error", "sentence"),
    [
        (3, 4, ValueError, "cannot have 4 orthonormal columns"),
        (3, 0, ValueError, "needs 1 <= r <= n"),
        (0, 0, ValueError, "needs 1 <= r <= n"),
        (-2, 1, ValueError, "needs 1 <= r <= n"),
        (5, 2.0, TypeError, r"r = 2\.0"),
    ],
)
def test_impossible_shapes_are_refused(n, r, error, sentence):
    assert Stiefel(np.int64(5), np.int32(2)) == Stiefel(5, 2)
    with pytest.raises(error, match=sentence):
        Stiefel(n, r)

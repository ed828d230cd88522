"""Sums of distances: the term, the reweighting that never increases it, the centre, and what is recovered."""

import importlib

import array_api_strict
import numpy as np
import pytest
from scipy.sparse import csr_array

from draws import contaminated, sine
from orthoprox import Iterations, Stiefel, solve
from orthoprox.maps import Centred, Matrix, Sparse
from orthoprox.models import Reweighting, dual_pcp, robust_location, robust_subspace
from orthoprox.models.reweighting import ReweightingState, leading_eigenvectors
from orthoprox.models.robust_subspace import SubspaceDistance

location = importlib.import_module("orthoprox.models.robust_location")


@pytest.mark.parametrize("kind", [Matrix, lambda Y: Sparse(csr_array(Y)), lambda Y: Centred(Y, np.zeros(7))])
def test_the_term_adds_up_smoothed_distances(rng, kind):
    Y, M = rng.standard_normal((20, 7)), Stiefel(7, 3)
    f, X = SubspaceDistance(kind(Y), 0.3, weight=0.5), M.random(3)
    distances = np.linalg.norm(Y - Y @ X @ X.T, axis=1)
    assert f.value(X) == pytest.approx(0.5 * np.sum(np.sqrt(distances**2 + 0.09)))
    # its gradient is the slope along the manifold
    V, step = M.tangent(X, rng.standard_normal((7, 3))), 1e-5
    slope = (f.value(M.retract(X, step * V)) - f.value(M.retract(X, -step * V))) / (2 * step)
    assert np.sum(M.tangent(X, f.gradient(X)) * V) == pytest.approx(slope, rel=1e-7)
    # and samples in the subspace, whose difference of squares is rounding of either sign, have a real distance
    inside = rng.standard_normal((30, 3)) @ X.T
    tiny = SubspaceDistance(kind(inside), 1e-200)
    assert np.all(tiny.distances(X, inside @ X) < 1e-6) and np.isfinite(tiny.value(X))


def test_it_lies_below_its_tangents_on_the_manifold(rng):
    # upper_curvature = 0: concave on the ball that the manifold spans.
    Y, M = rng.standard_normal((20, 7)), Stiefel(7, 3)
    f = SubspaceDistance(Matrix(Y), 0.1)
    assert f.upper_curvature == 0.0 and f.lipschitz is None
    for seed in range(20):
        X, Z = M.random(seed), M.random(100 + seed)
        assert f.value(Z) <= f.value(X) + np.sum(f.gradient(X) * (Z - X)) + 1e-12


def test_the_smoothing_is_what_rounding_allows(rng):
    Y = 3.0 * rng.standard_normal((20, 7))
    size, eps = np.sqrt(np.mean(np.sum(Y * Y, axis=1))), np.finfo(float).eps
    assert SubspaceDistance(Matrix(Y)).smoothing == pytest.approx(size * eps**0.5)
    assert SubspaceDistance(Sparse(csr_array(Y))).smoothing == pytest.approx(size * eps**0.4)
    assert SubspaceDistance(Matrix(0 * Y)).smoothing > 0


@pytest.mark.parametrize("form", ["subspace", "complement"])
def test_a_step_minimises_the_bound(rng, form):
    Y = rng.standard_normal((40, 9))
    problem = (
        robust_subspace(Y, n_components=4, normalize=False, smoothing=0.2)
        if form == "subspace"
        else dual_pcp(Y, codimension=5, normalize=False)
    )
    method = Reweighting(smoothing=0.2)
    state = method.init(problem, problem.M.random(3))
    new = method.step(problem, ReweightingState(t=4, now=state.now, delta=0.2))

    def squares(X):
        inside = np.sum((Y @ X) ** 2, axis=1)
        return np.sum(Y * Y, axis=1) - inside if form == "subspace" else inside

    q = np.sqrt(squares(state.now.X) + 0.04)

    def bound(X):
        return np.sum(q + (squares(X) + 0.04 - q**2) / (2 * q))

    rivals = [problem.M.project(new.now.X + s * rng.standard_normal(new.now.X.shape)) for s in (1e-3, 1e-2, 1e-1, 1)]
    assert (new.t, new.delta) == (5, 0.2)
    assert problem.M.infeasibility(new.now.X) < 1e-13
    assert all(bound(new.now.X) <= bound(X) + 1e-12 for X in (*rivals, state.now.X))
    assert all(np.sum(np.sqrt(squares(X) + 0.04)) <= bound(X) + 1e-12 for X in rivals)


@pytest.mark.parametrize("n", [12, 600])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_sum_never_increases(n, sparse):
    # Beyond 512 features the eigenvectors are approximate. Rounding of differences of squares shows with sparse data.
    rng = np.random.default_rng(2)
    Y = np.where(rng.random((60, n)) < 0.5, rng.standard_normal((60, n)), 0.0)
    problem = robust_subspace(csr_array(Y) if sparse else Y, n_components=3, smoothing=1e-4)
    result = solve(problem, Reweighting(), stop=Iterations(25))
    F = result.history.objective
    assert np.all(np.diff(F) <= 1e-12) and F[-1] < 0.99 * F[0]


def test_beyond_512_features_a_step_is_the_best_of_three_blocks(rng):
    B, w, X = rng.standard_normal((40, 600)), rng.uniform(0.1, 9.0, (40, 1)), Stiefel(600, 3).random(3)
    C = B.T @ (w * B)
    Q = np.linalg.qr(np.hstack([X, C @ X, C @ C @ X]))[0]
    best = np.linalg.eigvalsh(Q.T @ C @ Q)[-3:].sum()
    V = leading_eigenvectors(Matrix(B), w, X)
    assert np.trace(V.T @ C @ V) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("form", ["subspace", "complement"])
def test_it_ends_at_a_critical_point_and_says_so(form):
    Y, _, _ = contaminated(3, n=10, d=3, inliers=40, outliers=30, even=True, noise=0.02 if form == "subspace" else 0.0)
    if form == "subspace":
        result = solve(robust_subspace(Y, n_components=3), Reweighting())
    else:  # exact inliers: their rows of y are zero, and z is found within the ball
        result = solve(dual_pcp(Y, codimension=7), Reweighting(), np.linalg.svd(Y)[2][3:].T)
        assert np.all(result.y[:40] == 0) and np.all(np.any(result.y[40:] != 0, axis=1))
        assert np.all(np.linalg.norm(result.z, axis=1) <= (1 + 1e-9) / 70)
    assert result.converged and result.criticality <= 1e-6


def test_far_outliers_count_as_much_as_near_ones():
    Y, U, _ = contaminated(2, n=12, even=True)
    Y[60:] *= 1e4
    assert sine(U, solve(robust_subspace(Y, n_components=3), Reweighting()).X.T) < 1e-6
    assert sine(U, solve(robust_subspace(Y, n_components=3, normalize=False), Reweighting()).X.T) > 0.1


def joint(Y, c, V):
    rest = (Y - c.T) - (Y - c.T) @ V @ V.T
    return np.sum(np.linalg.norm(rest, axis=1))


def test_the_geometric_median_is_where_unit_vectors_cancel(rng):
    D = rng.standard_normal((50, 4)) + 7.0
    c = robust_location(D)
    pulls = (D - c.T) / np.linalg.norm(D - c.T, axis=1, keepdims=True)
    assert c.shape == (4, 1) and np.linalg.norm(pulls.sum(axis=0)) < 1e-5
    assert np.allclose(robust_location(csr_array(D)), c, atol=1e-6)
    assert robust_location(np.array([[1.0], [2.0], [30.0], [4.0], [-50.0]]))[0, 0] == pytest.approx(2.0, abs=1e-4)


def test_the_centre_of_an_affine_subspace_lies_in_it():
    Y, U, p = contaminated(6, n=10, d=2, outliers=30, offset=1.0, even=True)
    away, median = (robust_location(Y, n_components=d)[:, 0] - p for d in (2, 0))
    assert np.linalg.norm(away - U.T @ (U @ away)) < 1e-6
    assert np.linalg.norm(median - U.T @ (U @ median)) > 1e-2
    assert np.allclose(U @ away, U @ median, atol=1e-6)  # along the subspace it is the median


@pytest.mark.parametrize("kind", [Matrix, lambda Y: Sparse(csr_array(Y))])
def test_no_round_increases_the_sum_and_the_last_is_a_local_minimum(rng, kind, monkeypatch):
    Y = rng.standard_normal((40, 5)) + 2.0
    B, c, V, sums = kind(Y), Y.mean(axis=0)[:, np.newaxis], np.eye(5, 2), []
    for rounds in (*range(12), 500):
        monkeypatch.setattr(location, "ROUNDS", rounds)
        c_new, V_new = location._descend(B, c, V)
        sums.append(joint(Y, c_new, V_new))
    assert np.all(np.diff(sums) <= 1e-5) and sums[-1] < 0.9 * sums[0]  # of the smoothed sum; the smoothing is 1e-6
    for seed in range(20):
        kick = np.random.default_rng(seed).standard_normal((5, 3))
        c_near, V_near = c_new + 1e-2 * kick[:, :1], np.linalg.qr(V_new + 1e-2 * kick[:, 1:])[0]
        assert joint(Y, c_near, V_near) >= sums[-1] - 1e-5


def test_any_array_library_will_do_and_samples_that_are_all_zero():
    Y, _, _ = contaminated(7, n=6, d=2, inliers=40, outliers=20, even=True)
    A = array_api_strict.asarray(Y)
    for strict, plain in (
        (robust_subspace(A, n_components=2), robust_subspace(Y, n_components=2)),
        (dual_pcp(A, codimension=4), dual_pcp(Y, codimension=4)),
    ):
        ours, theirs = (solve(problem, Reweighting(), stop=Iterations(10)) for problem in (strict, plain))
        assert type(ours.X) is type(A) and ours.objective == pytest.approx(theirs.objective, rel=1e-12)
    c = robust_location(A, n_components=2)
    assert type(c) is type(A) and np.allclose(np.asarray(c), robust_location(Y, n_components=2))
    nothing = solve(robust_subspace(np.zeros((5, 4)), n_components=2), Reweighting())
    assert nothing.converged and np.all(np.isfinite(nothing.X))
    assert np.all(robust_location(np.zeros((5, 4)), n_components=2) == 0)

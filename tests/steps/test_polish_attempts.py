"""Attempts to finish by Newton's method on the zeros, from random ones: what they reach, and how fast."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from orthoprox.solvers._polish import _Face, filled, is_sparse_enough, polish, polishable
from orthoprox.solvers._support import restored
from orthoprox.solvers._trust import Truncated

from orthoprox import Critical, Iterations, Problem, Stiefel, solve
from orthoprox.maps import Difference, Matrix
from orthoprox.models import sparse_pca
from orthoprox.problem import Certificate, criticality
from orthoprox.solvers import _polish
from orthoprox.terms import L0, L1, ExplainedVariance, GroupL2, LargestK, NegativePart, Quadratic, Smooth
from steps.faces import (
    K_SPARSE,
    PROBLEMS,
    B,
    M,
    N,
    R,
    S,
    a_model,
    f,
    shortest_by_least_squares,
    sparse_start,
    tangent,
    tangents,
    value,
)


@pytest.fixture(params=[(name, seed) for name in PROBLEMS for seed in range(2)], ids=lambda p: f"{p[0]}-{p[1]}")
def case(request):
    name, seed = request.param
    X, z = sparse_start(seed)
    return PROBLEMS[name], X, z


# ------------------------------------------------------------------ whole attempts


def rounds_of(problem, y, z, after=(1, 2, 3, 5, 8, 13, 21, 34, 55, 89), radius=0.3, tolerance=1e-12, **more):
    """What an attempt reaches after one round, after two, and so on until it ends by itself."""
    for rounds in after:
        found = polish(problem, y, z, radius=radius, rounds=rounds, tolerance=tolerance, **more)
        yield found
        if found.steps < rounds:
            return


def test_F_never_increases_and_the_result_is_what_it_says(case):
    problem, X, z = case
    before = value(problem, X)
    for found in rounds_of(problem, X, z):
        now = found.point
        reached = value(problem, now.X)
        assert reached <= before + 1e-13 * abs(before)
        before = reached
        assert np.max(np.abs(now.X.T @ now.X - np.eye(R))) < 1e-13
        size = np.abs(now.X)
        assert ((size == 0) | (size > 1e-14)).all()
        assert problem.h.subgradient_distance(now.X, found.z) == 0
        assert np.allclose(now.HX, problem.f.product(now.X), atol=1e-12)
        crit = criticality(problem, Certificate(problem.at(now.X), now.X, found.z))
        assert crit.total == pytest.approx(found.residual, rel=1e-6, abs=1e-13)
    assert found.residual <= 1e-12
    assert before < value(problem, X) - 1e-3
    # An independent judge of the end: no subgradient at all has a tangent part worth speaking of.
    assert shortest_by_least_squares(problem, now.X) < 1e-6


def test_zeros_go_and_come():
    problem = PROBLEMS["l1"]
    dense = M.random(5)
    found = polish(problem, dense, 0.0 * dense, radius=0.3, rounds=40, tolerance=1e-12)
    assert found.residual <= 1e-12
    assert np.count_nonzero(found.point.X) < 0.7 * N * R
    coordinates = np.eye(N)[:, 2 : 2 + R]  # as sparse as can be, and far from stationary with so light a weight
    light = Problem.of(f + 0.05 * L1(), over=M)
    found = polish(light, coordinates, 0.0 * coordinates, radius=0.3, rounds=60, tolerance=1e-12)
    assert found.residual <= 1e-12
    assert np.count_nonzero(found.point.X) > 0.7 * N * R
    heavy = Problem.of(f + 20.0 * L1(), over=M)  # at which they are
    stays = polish(heavy, coordinates, 0.0 * coordinates, radius=0.3, rounds=40, tolerance=1e-12)
    assert np.array_equal(stays.point.X, coordinates)
    assert stays.steps == 0


@pytest.mark.parametrize("name", PROBLEMS)
def test_convergence_is_quadratic_near_a_solution(name):
    problem = PROBLEMS[name]
    X, z = sparse_start(0)
    *_, end = rounds_of(problem, X, z)
    assert end.residual <= 1e-12
    face = _Face(problem, end.point.X, False)
    D = next(tangents(end.point.X, face.on, seed=4))
    reach = 0.5 * np.min(np.abs(end.point.X[face.on > 0]))  # no sign changes
    start = restored(end.point.X + min(reach, 0.03) * D, face.on)
    scale = np.linalg.norm(problem.f.gradient(end.point.X))
    first = criticality(
        problem, Certificate(problem.at(start), start, face.shortest(problem.at(start), end.z)[0])
    ).total
    rounds = rounds_of(problem, start, end.z, tolerance=0.0, after=(1, 2, 3, 4))
    relative = [r / scale for r in (first, *(found.residual for found in rounds))]
    assert relative[0] > 1e-4
    # The factor is how fast the Hessian changes, much for the log-sum; a linear rate of a tenth would be seen.
    assert all(b <= 1000 * a * a + 1e-14 for a, b in pairwise(relative))
    assert len(relative) >= 4 and relative[-1] < 1e-13


def test_the_residual_gets_down_to_rounding():
    for name in ("l1", "mcp", "negative part"):
        X, z = sparse_start(1)
        *_, end = rounds_of(PROBLEMS[name], X, z, tolerance=1e-14)
        assert end.residual <= 3e-14


def test_an_attempt_ends_at_the_tolerance():
    problem, (X, z) = PROBLEMS["l1"], sparse_start(0)
    rough, fine = (polish(problem, X, z, radius=0.3, rounds=60, tolerance=t) for t in (1e-2, 1e-12))
    assert 1e-12 < rough.residual <= 1e-2
    assert rough.steps < fine.steps
    assert rough.products < fine.products


@pytest.mark.parametrize("seed", range(2))
def test_where_two_columns_meet_in_one_entry_it_leaves_at_once(seed):
    """X'X = I asks for a zero there, however slowly the iterates get to it: no attempt may fail because of it."""
    data = np.random.default_rng(seed).standard_normal((20, N))
    problem = Problem.of(ExplainedVariance(data, 0.1) + 0.8 * L1(), over=M)
    end = solve(problem, seed=seed, stop=Iterations(300) | Critical(1e-10))
    apart = [(a, b) for a in range(R) for b in range(R) if a != b and not (end.X[:, a] * end.X[:, b]).any()]
    places = [(i, a) for a, b in apart for i in np.nonzero(end.X[:, b])[0]]
    assert end.converged and len(places) > 5
    for place in places:
        y = end.X.copy()
        y[place] = 1e-4
        found = polish(problem, y, 0.0 * y, radius=0.1, rounds=20, tolerance=1e-11, largest=1e-2)
        assert found is not None and found.residual <= 1e-11
        assert found.point.X[place] == 0


def test_an_attempt_ends_where_zeros_would_enter_only_to_leave_at_once(monkeypatch):
    """On the face all is done, yet the shortest subgradient stays as long as it is."""
    problem, (X, z) = PROBLEMS["l1"], sparse_start(0)
    *_, end = rounds_of(problem, X, z)

    def never_short(face, now, z, tolerance):
        XtG = now.X.T @ (face.base(now) + z)
        return z, 1.0, _polish._Model(face, now, (XtG + XtG.T) / 2)

    monkeypatch.setattr(_Face, "model", never_short)
    found = polish(problem, end.point.X, end.z, radius=0.3, rounds=40, tolerance=1e-12)
    assert found.residual == 1.0 and found.steps <= 1
    far = polish(
        problem, X, z, radius=0.3, rounds=40, tolerance=1e-12
    )  # as long as there is something to do it goes on
    assert far.steps > 3
    assert a_model(problem, far.point.X, far.z)[2].inward < 1e-8


@pytest.mark.parametrize("edge", [True, False])
def test_small_entries_that_a_failed_step_flips_are_dropped_unless_it_went_to_the_edge(edge, monkeypatch):
    problem, (X, z) = PROBLEMS["l1"], sparse_start(0)
    small = (np.abs(X) > 0) & (np.abs(X) <= np.sort(np.abs(X[X != 0]))[2])
    faces, real = [], _polish.truncated

    def first_fails(apply, g, radius, accuracy, most):
        faces.append((apply.__self__.face.on.copy(), radius))
        if len(faces) > 1:
            return real(apply, g, radius, accuracy, most)
        D = np.where(small, -20 * X, 0.0) + 0.5 * g / np.linalg.norm(g)  # uphill as well: F rises
        return Truncated(D, -1e-6, edge, 1)

    monkeypatch.setattr(_polish, "truncated", first_fails)
    monkeypatch.setattr(_Face, "widened", lambda face, z, G: (0.0 * z, 0.0))  # nothing else moves the face
    polish(problem, X, z, radius=0.3, rounds=2, tolerance=1e-12)
    (before, radius), (after, shorter) = faces
    assert before[small].all() and small.sum() == 3
    if edge:
        assert np.array_equal(after, before) and shorter < 0.5 * radius
    else:
        assert not after[small].any() and shorter == radius


def test_a_small_radius_holds_the_first_step_back():
    problem, (X, z) = PROBLEMS["l1"], sparse_start(0)
    for radius in (1e-3, 1e-2):
        found = polish(problem, X, z, radius=radius, rounds=1, tolerance=1e-12)
        assert 0 < np.linalg.norm(found.point.X - X) <= 1.1 * radius
        assert found.radius == 2 * radius  # the model was right


# ------------------------------------------------------------------ k entries, all free


def test_a_k_sparse_start_stays_k_sparse_and_f_falls():
    X, z = sparse_start(3, share=0.4)
    k = K_SPARSE.g.k
    assert np.count_nonzero(X) <= k
    on = filled(K_SPARSE, K_SPARSE.at(X), X)
    before = value(K_SPARSE, X)
    for found in rounds_of(K_SPARSE, X, z, on=on, free=True):
        now = found.point.X
        assert np.count_nonzero(now) <= k
        assert value(K_SPARSE, now) <= before + 1e-13
        before = value(K_SPARSE, now)
        assert K_SPARSE.h.value(now) - K_SPARSE.g.value(now) == pytest.approx(0.0, abs=1e-12)
        assert np.max(np.abs(now.T @ now - np.eye(R))) < 1e-13
        assert K_SPARSE.h.subgradient_distance(now, found.z) == 0
        crit = criticality(K_SPARSE, Certificate(K_SPARSE.at(now), now, found.z)).total
        assert crit == pytest.approx(found.residual, rel=1e-6, abs=1e-13)
    without = polish(K_SPARSE, X, z, radius=0.3, rounds=60, tolerance=1e-12, free=True)
    assert np.array_equal(without.point.X != 0, X != 0)
    assert before < value(K_SPARSE, without.point.X) - 1e-3  # the entries that were added pay
    _, _, model = a_model(K_SPARSE, now, found.z, free=True, on=on)
    assert model.inward < 1e-10


def test_the_entries_that_are_added():
    X, _ = sparse_start(3, share=0.4)
    k, there = K_SPARSE.g.k, X != 0
    now = K_SPARSE.at(X)
    on = filled(K_SPARSE, now, X)
    room = k - np.count_nonzero(X)
    added = (on > 0) & ~there
    assert 0 < room < N
    assert set(np.unique(on)) == {0.0, 1.0}
    assert (on[there] == 1).all()
    assert np.sum(on) == k
    assert (np.sum(added, axis=1) <= 1).all()
    slope = np.where(there, 0.0, np.abs(tangent(X, K_SPARSE.f.gradient(X))))
    steepest = np.sort(np.max(slope, axis=1))[::-1][:room]
    assert np.allclose(np.sort(slope[added])[::-1], steepest)


def test_of_equal_slopes_in_a_row_one_is_added():
    # The gradient is zero but for two equal entries of one row.
    Q = np.zeros((4, 4))
    Q[0, 1] = Q[1, 0] = Q[0, 2] = Q[2, 0] = -1.0
    X = np.eye(4)[:, 1:3]
    problem = Problem.of(Quadratic(Q) - LargestK(6) + L1(), over=Stiefel(4, 2))
    added = filled(problem, problem.at(X), X) - (X != 0)
    assert added.tolist() == [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]  # no slope elsewhere


def test_nothing_is_added_without_room_or_to_what_is_not_sparse():
    X, _ = sparse_start(3, share=0.4)
    full = sparse_pca(B, n_components=R, weight=3.0, k=np.count_nonzero(X))
    assert np.array_equal(filled(full, full.at(X), X), X != 0)
    tight = sparse_pca(B, n_components=R, weight=3.0, k=np.count_nonzero(X) - 1)
    assert filled(tight, tight.at(X), X) is None
    assert not is_sparse_enough(tight, X)
    assert filled(PROBLEMS["l1"], PROBLEMS["l1"].at(X), X) is None
    # with another weight before g than before h the difference does not vanish
    uneven = Problem.of(f - 0.4 * LargestK(40) + 0.5 * L1(), over=M)
    assert not is_sparse_enough(uneven, X)
    assert not is_sparse_enough(Problem.of(f - 0.5 * LargestK(40) + 0.5 * NegativePart(), over=M), X)


# ------------------------------------------------------------------ where to begin


def meeting(small, large=0.6):
    """Two columns that meet in one row: the third."""
    return np.array([[0.8, 0.0], [0.2, 0.0], [large, small], [0.0, 0.9], [0.0, 0.2], [0.0, 0.3]])


def test_columns_that_meet_weakly_are_separated():
    y = meeting(0.05)
    on = (y != 0).astype(float)
    assert np.array_equal(_polish._separated(y, on, 0.1), on)  # 0.6^2 + 0.05^2 is not weak
    apart = _polish._separated(y, on, 0.5)
    assert np.argwhere(on - apart).tolist() == [[2, 1]]  # the smaller of the two goes
    mirrored = _polish._separated(y[:, ::-1], on[:, ::-1], 0.5)
    assert np.argwhere(on[:, ::-1] - mirrored).tolist() == [[2, 0]]


def test_only_the_pairs_that_meet_weakly_are_separated():
    y = np.array([[0.9, 0.01, 0.0], [0.1, 0.9, 0.0], [0.3, 0.3, 0.02], [0.0, 0.0, 0.9]])
    on = (y != 0).astype(float)
    square = y**2
    pairs = {(i, j): np.sum((square[:, i] + square[:, j]) * on[:, i] * on[:, j]) for i in range(3) for j in range(i)}
    weak = [pair for pair, strength in pairs.items() if strength < 0.15]
    assert weak == [(2, 0), (2, 1)]
    gone = np.argwhere(on - _polish._separated(y, on, 0.15))
    assert gone.tolist() == [[2, 2]]


def test_the_first_point_has_the_zeros_of_y_or_a_few_more():
    y = meeting(0.05)
    X, on = _polish._orthonormal(y, (y != 0).astype(float), _polish._WEAK)
    assert np.max(np.abs(X.T @ X - np.eye(2))) < 1e-13
    assert (X[y == 0] == 0).all()
    assert (X[on == 0] == 0).all()
    problem = Problem.of(ExplainedVariance(B[:, :6], 0.1) + 0.5 * L1(), over=Stiefel(6, 2))
    found = polish(problem, y, 0.0 * y, radius=0.3, rounds=40, tolerance=1e-12)
    size = np.abs(found.point.X)
    assert found.residual <= 1e-12
    assert ((size == 0) | (size > 1e-14)).all()


def test_where_the_zeros_of_y_do_not_admit_an_orthonormal_matrix_a_few_more_may():
    helped = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        n, r = rng.integers(4, 12), rng.integers(2, 5)
        small = rng.choice([0.02, 0.05, 0.1], (n, r)) * rng.standard_normal((n, r))
        y = 0.95 * np.eye(n)[:, :r] + small * (rng.random((n, r)) < 0.4)
        on = (y != 0).astype(float)
        if restored(y, on) is None:
            X, kept = _polish._orthonormal(y, on, _polish._WEAK)
            if X is not None:
                helped += 1
                assert np.max(np.abs(X.T @ X - np.eye(r))) < 1e-13
                assert (X[kept == 0] == 0).all()
                assert (kept <= on).all()
                assert np.sum(kept) < np.sum(on)
                assert np.linalg.norm(X - y) < 0.7
    assert helped > 0


def test_too_many_zeros_for_an_orthonormal_matrix():
    problem = PROBLEMS["l1"]
    y = np.eye(N)[:, :R]
    y[1, 1] = 0.0
    assert polish(problem, y, 0.0 * y, radius=0.3, rounds=5, tolerance=1e-12) is None


def test_what_can_be_polished():
    assert all(polishable(problem) for problem in PROBLEMS.values())
    assert polishable(K_SPARSE)
    refused = {
        "a map": f + L1() @ Difference(),
        "a square map": f + L1() @ Matrix(S),
        "groups": f + GroupL2(),
        "an own function": Smooth(lambda X: (np.sum(X**4), 4 * X**3), lipschitz=9.0) + L1(),
        "a count": f + L0(),
    }
    for name, expression in refused.items():
        assert not polishable(Problem.of(expression, over=M)), name


def test_single_precision():
    problem = sparse_pca(B.astype(np.float32), n_components=R, weight=0.3)
    X, z = sparse_start(0)
    found = polish(problem, X.astype(np.float32), z.astype(np.float32), radius=0.3, rounds=40, tolerance=1e-5)
    assert found.point.X.dtype == found.z.dtype == np.float32
    assert found.residual <= 1e-5
    assert np.max(np.abs(found.point.X.T @ found.point.X - np.eye(R))) < 1e-5

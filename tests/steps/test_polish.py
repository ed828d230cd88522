"""What Newton's method on the zeros knows of F: model, shortest subgradient, zeros that come and go."""

from __future__ import annotations

import math

import numpy as np
import pytest
from orthoprox.solvers._polish import _Face, is_sparse_enough

from steps.faces import (
    K_SPARSE,
    PROBLEMS,
    N,
    R,
    a_model,
    second_differences,
    shortest_by_least_squares,
    sparse_start,
    tangent,
    tangents,
)


@pytest.fixture(params=[(name, seed) for name in PROBLEMS for seed in range(2)], ids=lambda p: f"{p[0]}-{p[1]}")
def case(request):
    name, seed = request.param
    X, z = sparse_start(seed)
    return PROBLEMS[name], X, z


# ------------------------------------------------------------------ the model of F on the face


def test_gradient_and_hessian_are_those_of_F_on_the_face(case):
    problem, X, z = case
    face, _, model = a_model(problem, X, z)
    hinged = face.low != face.high
    assert np.array_equal(face.on[hinged] > 0, X[hinged] != 0)
    assert (face.on[~hinged] == 1).all()
    for D in tangents(X, face.on, seed=1):
        slope, curvature = second_differences(problem, X, face.on, D)
        assert np.sum(model.g * D) == pytest.approx(slope, abs=1e-6)
        assert np.sum(D * model.apply(D)) == pytest.approx(curvature, abs=1e-4)
    assert model.inward == pytest.approx(np.linalg.norm(model.g))
    # both are tangent, whatever they are applied to
    for W in (model.g, model.apply(model.g)):
        assert (W[face.on == 0] == 0).all()
        assert np.linalg.norm(X.T @ W + W.T @ X) < 1e-10


def test_the_hessian_is_symmetric(case):
    problem, X, z = case
    face, _, model = a_model(problem, X, z)
    C, D = tangents(X, face.on, seed=2, count=2)
    assert np.sum(C * model.apply(D)) == pytest.approx(np.sum(D * model.apply(C)), abs=1e-10)


def test_where_k_entries_are_free_the_model_is_that_of_f_alone():
    X, z = sparse_start(3, share=0.4)
    assert is_sparse_enough(K_SPARSE, X)
    face, _, model = a_model(K_SPARSE, X, z, free=True)
    for D in tangents(X, face.on, seed=3):
        slope, curvature = second_differences(K_SPARSE, X, face.on, D)
        assert np.sum(model.g * D) == pytest.approx(slope, abs=1e-6)
        assert np.sum(D * model.apply(D)) == pytest.approx(curvature, abs=1e-4)


# ------------------------------------------------------------------ the shortest subgradient


def test_the_subgradient_is_the_shortest(case):
    problem, X, z = case
    face = _Face(problem, X, False)
    now, least = problem.at(X), shortest_by_least_squares(problem, X)
    z, G = face.shortest(now, z)
    assert problem.h.subgradient_distance(X, z) == 0
    assert np.allclose(G, tangent(X, problem.f.gradient(X) - problem.g.subgradient(X) + z), atol=1e-13)
    assert np.linalg.norm(G) == pytest.approx(least, rel=1e-6)


def test_the_shortest_subgradient_where_k_entries_are_free():
    X, z = sparse_start(3, share=0.4)
    face, now = _Face(K_SPARSE, X, True), K_SPARSE.at(X)
    z, G = face.shortest(now, z)
    assert np.linalg.norm(G) == pytest.approx(shortest_by_least_squares(K_SPARSE, X, free=True), rel=1e-6)
    assert K_SPARSE.h.subgradient_distance(X, z) == 0
    assert np.array_equal(z[X != 0], K_SPARSE.g.subgradient(X)[X != 0])


def test_a_zero_enters_where_its_multiplier_is_at_the_end_and_the_gradient_moves_it():
    problem, (X, _) = PROBLEMS["negative part"], sparse_start(0)  # slopes -0.5 and 0: the ends differ
    face = _Face(problem, X, False)
    zeros = np.argwhere(X == 0)
    z, G = np.full((N, R), -0.25), np.zeros((N, R))
    wanted = np.zeros((N, R))
    signs = {0: (0.0, -1.0, 1), 1: (-0.5, 1.0, -1), 2: (0.0, 1.0, 0), 3: (-0.5, -1.0, 0), 4: (-0.25, -1.0, 0)}
    for i, (at, pull, sign) in signs.items():
        z[tuple(zeros[i])], G[tuple(zeros[i])], wanted[tuple(zeros[i])] = at, pull, sign
    z[tuple(zeros[5])], G[tuple(zeros[5])] = 0.0, -1e-4  # too weak beside the others
    there = np.argwhere(X != 0)[0]
    z[tuple(there)], G[tuple(there)] = 0.0, -1.0  # on the face already
    sign, outward = face.widened(z, G)
    assert np.array_equal(sign, wanted)
    assert outward == pytest.approx(math.sqrt(2))


def test_the_slope_at_a_zero_is_the_one_on_the_side_it_moves_to():
    problem, (X, _) = PROBLEMS["negative part"], sparse_start(0)
    face = _Face(problem, X, False)
    up, down, still = (tuple(at) for at in np.argwhere(X == 0)[:3])
    face.on[up] = face.on[down] = face.on[still] = 1.0
    face.sign[up], face.sign[down] = 1.0, -1.0
    slope = face.slope(X)
    assert (slope[up], slope[down], slope[still]) == (0.0, -0.5, -0.25)
    assert np.array_equal(slope[X > 0], 0 * X[X > 0])
    assert (slope[X < 0] == -0.5).all()
    off = (X == 0) & (face.on == 0)
    assert (slope[off] == 0).all()


def test_entries_that_change_sign_become_zero_and_leave():
    problem, (X, z) = PROBLEMS["l1"], sparse_start(1)
    face, _, model = a_model(problem, X, z)
    crossing = tuple(np.argwhere(X != 0)[4])
    Y = X.copy()
    Y[crossing] = -0.01 * np.sign(X[crossing])
    point, left, on = face.moved(model.support, Y)
    assert np.argwhere(left).tolist() == [list(crossing)]
    assert point.X[crossing] == 0
    assert on[crossing] == 0
    assert np.sum(on) == np.sum(face.on) - 1
    assert np.max(np.abs(point.X.T @ point.X - np.eye(R))) < 1e-13
    assert np.allclose(point.HX, problem.f.product(point.X))
    face.settle(point.X, on)
    assert np.array_equal(face.sign, np.sign(point.X))
    assert np.array_equal(face.on, on)


def test_entries_without_a_kink_may_change_sign():
    problem, (X, z) = PROBLEMS["huber"], sparse_start(1)
    face, _, model = a_model(problem, X, z)
    crossing = tuple(np.argwhere(X != 0)[4])
    Y = X.copy()
    Y[crossing] = -0.01 * np.sign(X[crossing])
    point, left, _ = face.moved(model.support, Y)
    assert not left.any()
    assert point.X[crossing] != 0


def test_where_k_entries_are_free_they_may_change_sign():
    X, z = sparse_start(3, share=0.4)
    face, _, model = a_model(K_SPARSE, X, z, free=True)
    crossing = tuple(np.argwhere(X != 0)[2])
    Y = X.copy()
    Y[crossing] = -0.01 * np.sign(X[crossing])
    point, left, on = face.moved(model.support, Y)
    assert not left.any()
    assert np.array_equal(on, face.on)
    assert point.X[crossing] != 0

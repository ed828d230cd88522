"""Each start alone: what it promises of a point, in any units, and which problems it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from orthoprox import Problem, Stiefel
from orthoprox.maps import Matrix
from orthoprox.models import sparse_pca
from orthoprox.starts import Best, Explored, Leading, Random, Turned, Varimax
from orthoprox.starts._directions import find_directions
from orthoprox.starts.turned import best_columns
from orthoprox.terms import L0, L1, ExplainedVariance, Quadratic, Smooth

_rng = np.random.default_rng(11)
LOADINGS = np.kron(np.diag([3.0, 2.5, 2.0, 1.5]), np.ones((1, 6)))
D = _rng.standard_normal((80, 4)) @ LOADINGS + 0.1 * _rng.standard_normal((80, 24))
PROBLEM = sparse_pca(D, n_components=4, weight=0.1)
ALL = (Random(), Leading(), Turned(), Varimax(), Varimax(2.0), Explored(), Best((Leading(), Random())))


def span_error(X, Y):
    return np.linalg.norm(X - Y @ (Y.T @ X))


@pytest.mark.parametrize("start", ALL, ids=lambda start: start.name)
def test_points_are_feasible_reproducible_and_the_same_in_all_units(start):
    one, again = (start.draw(PROBLEM, seed=3) for _ in range(2))
    assert float(PROBLEM.M.infeasibility(one.X)) < 1e-13
    assert np.array_equal(one.X, again.X) and one.work == again.work
    for power in (-200, 60):
        scaled = Problem.of(2.0**power * PROBLEM.f + 2.0**power * PROBLEM.h, over=PROBLEM.M)
        assert np.array_equal(start.draw(scaled, seed=3).X, one.X)


@pytest.mark.parametrize("start", [Random(), Turned()], ids=lambda start: start.name)
def test_other_seeds_draw_other_points(start):
    assert not np.allclose(start.draw(PROBLEM, seed=1).X, start.draw(PROBLEM, seed=2).X, atol=0.1)


def test_random_is_the_point_of_the_manifold():
    assert (
        np.array_equal(Random().draw(PROBLEM, 5).X, PROBLEM.M.random(5, like=D)) and Random().draw(PROBLEM, 5).work == 0
    )


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_leading_directions_minimise_f_also_where_it_is_not_concave(sign):
    values = np.array([9.0, 7.0, 5.0, 1.0, 0.8, 0.6, 0.4, 0.2, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    Q, _ = np.linalg.qr(_rng.standard_normal((16, 16)))
    shifted = sign * 4.0 - values  # with + both signs occur
    H = Q * shifted @ Q.T
    problem = Problem.of(Quadratic((H + H.T) / 2) + L1(), over=Stiefel(16, 3))
    assert (problem.f.upper_curvature > 0) == (sign > 0)
    found = find_directions(problem, 3, tolerance=1e-14, steps=100)
    assert np.allclose(np.abs(Q[:, :3].T @ found.V), np.eye(3), atol=1e-6)
    assert span_error(Leading().draw(problem).X, Q[:, :3]) < 0.1


@pytest.mark.parametrize("start", [Turned(), Varimax(), Varimax(2.0)], ids=lambda start: start.name)
def test_the_basis_of_the_leading_subspace_does_not_matter(start):
    V = find_directions(PROBLEM, 8).V
    k = start.directions(PROBLEM)
    turn = np.eye(8)
    turn[:k, :k] = np.linalg.qr(_rng.standard_normal((k, k)))[0]  # of the sign and basis that LAPACK may choose
    one, other = (start.make(PROBLEM, W, np.random.default_rng(3)).X for W in (V, V @ turn))
    assert np.allclose(one, other, atol=1e-8)


def test_directions_end_at_the_rank():
    flat = sparse_pca(np.eye(9)[:6], n_components=2, weight=0.1)
    assert find_directions(flat, 8).V.shape == (9, 6) and find_directions(PROBLEM, 8).V.shape == (24, 8)


def test_products_are_counted(monkeypatch):
    columns = []
    inner = ExplainedVariance.product
    monkeypatch.setattr(ExplainedVariance, "product", lambda f, X: columns.append(X.shape[1]) or inner(f, X))
    for start in (Leading(), Varimax(2.0), Best((Varimax(), Varimax(2.0)))):
        columns.clear()
        counted = start.draw(PROBLEM).work
        made = sum(columns) / PROBLEM.M.r
        assert made <= counted <= made + 4 and made > 0  # each part is rounded up


def test_turning_keeps_the_span_and_lowers_h():
    lead = Leading().draw(PROBLEM).X
    for start in (Turned(), Varimax()):
        X = start.draw(PROBLEM, seed=1).X
        assert span_error(X, lead) < 1e-10
        assert float(PROBLEM.h.value(X)) < 0.8 * float(PROBLEM.h.value(PROBLEM.M.random(0)))
        assert sorted(np.sum(np.abs(X) > 0.1, axis=0)) == [6, 6, 6, 6]  # the planted groups


def test_turned_with_a_map_that_is_not_orthonormal():
    A = Matrix(np.diag(np.linspace(0.5, 3.0, 24)))
    problem = Problem.of(PROBLEM.f + 0.1 * L1() @ A, over=PROBLEM.M)
    X = Turned().draw(problem, seed=1).X
    assert span_error(X, Leading().draw(problem).X) < 1e-10
    assert sorted(np.sum(np.abs(X) > 0.1, axis=0)) == [6, 6, 6, 6]


def test_the_best_columns_are_those_with_the_lowest_objective():
    Y, _ = np.linalg.qr(_rng.standard_normal((24, 8)) * (_rng.random((24, 8)) < 0.5))
    for weight in (0.1, 50.0):  # f decides, and h
        problem = sparse_pca(D, n_components=4, weight=weight)
        single = Problem.of(problem.f + problem.h, over=Stiefel(24, 1))
        values = [float(single.objective(Y[:, [j]])) for j in range(8)]
        assert np.array_equal(best_columns(problem, Y), Y[:, np.argsort(values)[:4]])


def test_exploring_ends_lower_than_it_began():
    heavy = sparse_pca(D, n_components=4, weight=2.0)
    before, after = (start.draw(heavy, seed=2) for start in (Random(), Explored()))
    assert float(heavy.objective(after.X)) < float(heavy.objective(before.X)) and after.work > 0


def test_what_a_start_needs_is_said_in_a_sentence():
    own = Problem.of(Smooth(lambda X: (X**4).sum(), lambda X: 4 * X**3) + L1(), over=Stiefel(6, 2))
    mapped = Problem.of(PROBLEM.f + L1() @ Matrix(D[:9]), over=PROBLEM.M)
    counted = Problem.of(PROBLEM.f + L0(), over=PROBLEM.M)
    for start in (Leading(), Turned(), Varimax()):
        with pytest.raises(ValueError, match=r"needs an f that is quadratic .* given Smooth. Start from Random"):
            start.draw(own)
    with pytest.raises(ValueError, match=r"Turned\(\) needs a Lipschitz h .* given L0 of Identity"):
        Turned().draw(counted)
    for start in (Best((Random(),)), Explored()):
        with pytest.raises(ValueError, match=r"need A = I and a concave f; given A = Matrix"):
            start.draw(mapped)
    assert Best((Random(),), blocks=0).draw(mapped).X.shape == (24, 4)
    for wrong, sentence in (
        (lambda: Varimax(0.5), "among must be a number of at least 1; given 0.5"),
        (lambda: Explored(rises=0), "rises must be at least 1; given 0"),
        (lambda: Explored("random"), "start must be a Start; given str"),
        (lambda: Best(()), "Best needs starts"),
        (lambda: Best((Random(), 3)), r"given \['int'\]"),
        (lambda: Best((Random(),), blocks=-1), "blocks must not be negative"),
    ):
        with pytest.raises(ValueError, match=sentence):
            wrong()

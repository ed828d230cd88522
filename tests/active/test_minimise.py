"""Newton's method on active sets: what it returns, how fast it gets there, and which zeros come and go."""

from itertools import pairwise

import numpy as np
import pytest

from active.problems import PROBLEMS, B, M, N, R, S, f, is_orthonormal, least_length, projected, sparse_start
from orthoprox import Critical, Iterations, Problem, Stiefel, _trust_region, solve
from orthoprox._trust_region import Step
from orthoprox.active import ActiveSet, Budget, has_active_sets, minimise_near, minimise_on, shortest_subgradient
from orthoprox.manifolds import SparseStiefel
from orthoprox.maps import Difference, Matrix
from orthoprox.models import sparse_pca
from orthoprox.problem import Certificate, criticality
from orthoprox.terms import L0, L1, ExplainedVariance, GroupL2, Linear, NegativePart, Smooth

FAR = Budget(steps=90, radius=0.3, tolerance=1e-12)


def minimised(problem, X, z=None, **budget):
    given = {"steps": 90, "radius": 0.3, "tolerance": 1e-12, **budget}
    return minimise_on(problem, ActiveSet.at(problem, X), X, Budget(**given), z)


def after_each(problem, X, z, steps=(1, 2, 3, 5, 8, 13, 21, 34, 55, 89), **budget):
    """What is reached after one step, after two, and so on until it ends by itself."""
    for most in steps:
        found = minimised(problem, X, z, steps=most, **budget)
        yield found
        if found.finished:
            return


def check(problem, found):
    """A result is what it says."""
    X, z = found.point.X, found.z
    assert is_orthonormal(X) and np.all((X == 0) | (np.abs(X) > 1e-14))
    assert not X[found.active.support == 0].any() and problem.h.subgradient_distance(X, z) == 0
    assert np.allclose(found.point.HX, problem.f.product(X), atol=1e-12)
    crit = criticality(problem, Certificate(problem.at(X), X, z)).total
    assert crit == pytest.approx(found.residual, rel=1e-6, abs=1e-13)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("seed", range(2))
def test_F_never_rises_and_the_result_is_what_it_says(name, seed):
    problem, (X, z) = PROBLEMS[name], sparse_start(seed)
    start = before = float(problem.objective(X))
    for found in after_each(problem, X, z):
        check(problem, found)
        value = float(problem.objective(found.point.X))
        assert value <= before + 1e-13 * abs(before)
        before = value
    assert found.finished and found.residual <= 1e-12 and before < start - 1e-3
    # An independent judge of the end: no subgradient at all has a tangent part worth speaking of.
    X = found.point.X
    base = problem.f.gradient(X) - problem.g.subgradient(X)
    assert least_length(X, base, *problem.h.subdifferential(X)) < 1e-6


@pytest.mark.parametrize("name", PROBLEMS)
def test_convergence_is_quadratic_near_a_solution(name):
    """Only with the right gradient and the right Hessian on the set."""
    problem, (X, z) = PROBLEMS[name], sparse_start(0)
    end = minimised(problem, X, z)
    X, active = end.point.X, ActiveSet.at(problem, end.point.X)
    D = projected(X, active.support, np.random.default_rng(4).standard_normal((N, R)))
    reach = min(0.5 * np.min(np.abs(X[active.support > 0])), 0.03)  # no sign changes
    start = SparseStiefel(active.support).restore(X + reach * D / np.linalg.norm(D))
    scale = np.linalg.norm(problem.f.gradient(X))
    first = shortest_subgradient(problem, problem.at(start), active, end.z).length
    steps = after_each(problem, start, end.z, tolerance=0.0, steps=(1, 2, 3, 4))
    relative = [length / scale for length in (first, *(found.residual for found in steps))]
    assert relative[0] > 1e-4
    # The factor is how fast the Hessian changes, much for the log-sum; a linear rate of a tenth would be seen.
    assert all(b <= 1000 * a * a + 1e-14 for a, b in pairwise(relative))
    assert len(relative) >= 4 and relative[-1] < 1e-13


def test_zeros_go_and_come():
    dense, coordinates = M.random(5), np.eye(N)[:, 2 : 2 + R]
    found = minimised(PROBLEMS["l1"], dense)
    assert found.residual <= 1e-12 and np.count_nonzero(found.point.X) < 0.7 * N * R
    # As sparse as can be, and far from stationary with so light a weight.
    found = minimised(Problem.of(f + 0.05 * L1(), over=M), coordinates)
    assert found.residual <= 1e-12 and np.count_nonzero(found.point.X) > 0.7 * N * R
    stays = minimised(Problem.of(f + 20.0 * L1(), over=M), coordinates)
    assert np.array_equal(stays.point.X, coordinates) and stays.steps == 0 and stays.finished


def linear(slopes, X, weight=0.5):
    """Where a linear f pulls at X with these slopes and the negative part costs this weight: the signs that enter."""
    problem = Problem.of(Linear(np.array(slopes)[:, None]) + weight * NegativePart(), over=Stiefel(len(slopes), 1))
    X = np.array(X)[:, None]
    return (minimised(problem, X, steps=0).active.signs - np.sign(X))[:, 0].tolist()


def test_zeros_enter_where_z_is_at_its_end_and_the_gradient_moves_them():
    # At zero z is between -0.5 and 0. The weakest is below a thousandth of the strongest.
    assert linear([4.0, -1.0, 2.0, 0.3, -1e-3, -2e-3], [1.0, 0, 0, 0, 0, 0]) == [0, 1, -1, 0, 0, 1]
    pair = [np.sqrt(0.5), np.sqrt(0.5), 0]  # on which the gradient has the length |1 - 3| / sqrt 2
    assert linear([1.0, 3.0, -0.28 * np.sqrt(2)], pair) == [0, 0, 0]
    assert linear([1.0, 3.0, -0.32 * np.sqrt(2)], pair) == [0, 0, 1]


def test_it_ends_at_the_tolerance_and_gets_down_to_rounding():
    problem, (X, z) = PROBLEMS["l1"], sparse_start(0)
    rough, fine = (minimised(problem, X, z, tolerance=t) for t in (1e-2, 1e-12))
    assert 1e-12 < rough.residual <= 1e-2
    assert rough.steps < fine.steps and rough.products < fine.products and rough.finished
    for name in ("l1", "mcp", "negative part"):
        end = minimised(PROBLEMS[name], *sparse_start(1), tolerance=1e-14)
        assert end.residual <= 3e-14 and end.steps < 60


@pytest.mark.parametrize("scale", [2.0**-30, 2.0**30])
def test_the_scale_of_F_changes_nothing(scale):
    X, z = sparse_start(1)
    for tolerance in (1e-12, 0.0):  # the floor of rounding goes with it too
        one = minimised(PROBLEMS["l1"], X, z, tolerance=tolerance)
        problem = Problem.of(ExplainedVariance(B, 0.1 * scale) + 0.5 * scale * L1(), over=M)
        other = minimised(problem, X, scale * z, tolerance=scale * tolerance)
        assert np.array_equal(one.point.X, other.point.X) and one.steps == other.steps
        assert other.residual == scale * one.residual and one.finished and one.residual <= 1e-12


@pytest.mark.parametrize("offset", [-1e9, 1e9])
def test_a_large_constant_hides_changes_of_F_and_does_not_stop_the_last_steps(offset):
    problem = Problem(M=M, f=f, h=0.5 * L1(), offset=offset)
    assert minimised(problem, *sparse_start(1)).residual <= 1e-12


def test_steps_are_rough_first_and_get_as_accurate_as_rounding_allows(monkeypatch):
    accuracies, real = [], _trust_region.truncated_cg
    monkeypatch.setattr(_trust_region, "truncated_cg", lambda *given: accuracies.append(given[3]) or real(*given))
    minimised(PROBLEMS["huber"], *sparse_start(1), tolerance=0.0)  # where entries neither come nor go
    assert accuracies[0] == 0.03 and max(accuracies) <= 0.1 and np.all(np.diff(accuracies[-3:]) <= 0)
    assert min(accuracies) == pytest.approx(np.sqrt(np.finfo(float).eps))


def test_where_the_first_subgradient_is_too_long_no_step_is_taken():
    problem, (X, z) = PROBLEMS["l1"], sparse_start(0)
    first = minimised(problem, X, z, steps=0).residual
    waits, goes = (minimised(problem, X, z, start=share * first) for share in (0.99, 1.01))
    assert waits.steps == 0 and waits.finished and np.array_equal(waits.point.X, X)
    assert waits.residual == pytest.approx(first)
    assert goes.steps > 3 and goes.residual <= 1e-12  # also where it was longer on the way


def test_a_small_radius_holds_the_first_step_back():
    problem, (X, z) = PROBLEMS["l1"], sparse_start(0)
    for radius in (1e-3, 1e-2):
        found = minimised(problem, X, z, radius=radius, steps=1)
        assert 0 < np.linalg.norm(found.point.X - X) <= 1.1 * radius
        assert found.radius == 2 * radius and not found.finished  # the model was right


def first_steps(monkeypatch, problem, X, first):
    """The entries on which the first two steps are worked out and their radii, where the first one is given."""
    sets, real = [], _trust_region.truncated_cg

    def scripted(hessian, g, radius, accuracy, most):
        sets.append((np.abs(hessian(np.random.default_rng(0).standard_normal(g.shape))) > 1e-12, radius))
        return first if len(sets) == 1 else real(hessian, g, radius, accuracy, most)

    monkeypatch.setattr(_trust_region, "truncated_cg", scripted)
    minimised(problem, X, steps=2)
    return sets


@pytest.mark.parametrize("edge", [True, False])
def test_small_entries_that_a_refused_step_flips_leave_unless_it_went_to_the_edge(edge, monkeypatch):
    X, _ = sparse_start(0)
    small = (X != 0) & (np.abs(X) <= np.sort(np.abs(X[X != 0]))[2])
    D = np.where(small, -11 * X, np.where(np.abs(X) > 0.3, -9 * X, 0.0))
    (before, radius), (after, then) = first_steps(monkeypatch, PROBLEMS["l1"], X, Step(D, -1e-6, edge, 1))
    assert np.array_equal(before, X != 0) and then == (radius / 4 if edge else radius)
    assert np.array_equal(after, before if edge else before & ~small)


def test_zeros_that_entered_and_do_not_move_leave_after_any_step_that_is_refused(monkeypatch):
    X = np.eye(N)[:, 2 : 2 + R]
    sets = first_steps(monkeypatch, Problem.of(f + 0.05 * L1(), over=M), X, Step(0.0 * X, -1e-6, True, 1))
    assert sets[0][0][X == 0].any() and not sets[1][0].any() and sets[0][1] == sets[1][1]


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
        Y = end.X.copy()
        Y[place] = 1e-4
        found = minimise_near(problem, Y, Budget(steps=20, tolerance=1e-11, start=1e-2))
        assert found.residual <= 1e-11 and found.point.X[place] == 0


def test_it_begins_at_the_zeros_of_Y_where_an_orthonormal_matrix_has_them():
    problem, (X, z) = PROBLEMS["l1"], sparse_start(0)
    Y = X + 1e-3 * np.where(X != 0, np.random.default_rng(1).standard_normal((N, R)), 0.0)
    first = minimise_near(problem, Y, Budget(steps=0), z=z)
    assert is_orthonormal(first.point.X) and np.array_equal(first.point.X != 0, X != 0)
    assert np.linalg.norm(first.point.X - X) < 0.02 and minimise_near(problem, Y, FAR, z=z).residual <= 1e-12
    assert minimise_near(problem, np.eye(N)[:, :R] * [1, 0, 1], FAR) is None


def test_on_a_given_support_f_alone_falls_to_its_least_and_the_support_stays():
    problem, (X, _) = PROBLEMS["l1 minus largest-k"], sparse_start(3, share=0.5)
    support = (X != 0).astype(float)
    found = minimise_near(problem, X, FAR, support=support)
    end = found.point.X
    assert is_orthonormal(end) and not end[support == 0].any() and np.array_equal(found.active.support, support)
    assert np.any(end * X < 0)  # signs are free
    gradient = projected(end, support, problem.f.gradient(end))
    assert np.linalg.norm(gradient) < 1e-9 and problem.f.value(end) < problem.f.value(X) - 1e-3
    for seed in range(20):  # least near there
        D = projected(end, support, np.random.default_rng(seed).standard_normal((N, R)))
        nearby = SparseStiefel(support).restore(end + 1e-3 * D)
        assert problem.f.value(nearby) >= problem.f.value(end) - 1e-12


class OnlyGradient(Smooth):
    has_hessian = False


def test_what_has_active_sets():
    assert all(has_active_sets(problem) for problem in PROBLEMS.values())
    assert has_active_sets(Problem.of(Smooth(lambda X: (np.sum(X**4), 4 * X**3)) + L1(), over=M))
    refused = {
        "a map": f + L1() @ Difference(),
        "a square map": f + L1() @ Matrix(S),
        "groups": f + GroupL2(),
        "a gradient alone": OnlyGradient(lambda X: (np.sum(X**4), 4 * X**3), lipschitz=9.0) + L1(),
        "a count": f + L0(),
    }
    for name, expression in refused.items():
        assert not has_active_sets(Problem.of(expression, over=M)), name


def test_single_precision():
    problem = sparse_pca(B.astype(np.float32), n_components=R, weight=0.3)
    X, z = (a.astype(np.float32) for a in sparse_start(0))
    found = minimise_near(problem, X, Budget(steps=40, radius=0.3, tolerance=1e-5), z=z)
    assert found.point.X.dtype == found.z.dtype == np.float32
    assert found.residual <= 1e-5 and is_orthonormal(found.point.X, 1e-5)

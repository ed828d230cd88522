"""The tangent subproblem for any A, by accelerated steps on its dual."""

import numpy as np
import pytest

from orthoprox import Problem, Stiefel
from orthoprox.maps import Difference, Entries, Identity, Matrix
from orthoprox.solvers import _dual
from orthoprox.solvers._dual import dual_tangent_step
from steps.checks import count_calls, prox_terms

N, R, S = 12, 4, 0.4
M = Stiefel(N, R)
_rng = np.random.default_rng(31)
MAPS = {
    "identity": Identity(),
    "tall": Matrix(0.3 * _rng.standard_normal((20, N))),
    "wide": Matrix(_rng.standard_normal((5, N))),
    "differences": Difference(),
    "entries": Entries(_rng.random((N, R)) < 0.6),
    "nothing": Matrix(np.zeros((3, N))),
}
CONVEX = [kind for kind, h in prox_terms(3, 1).items() if h.weak_convexity == 0]
CASES = [(map_, kind) for map_ in MAPS for kind in CONVEX]


def draw(map_, kind):
    A = MAPS[map_]
    problem = Problem(M=M, h=prox_terms(A.rows(N), R)[kind], A=A)
    rng = np.random.default_rng(1000 + len(map_) + 10 * len(kind))
    X = M.project(rng.standard_normal((N, R)))
    return problem, problem.at(X), rng.standard_normal((N, R)), rng


def solve_dual(problem, at, G, u=None, *, least=0.0, share=0.0):
    u = np.zeros(problem.shape) if u is None else u
    return dual_tangent_step(problem, at, G, S, u, least=least, share=share)


def cost(problem, X, G, V):
    return np.sum(G * V) + np.sum(V * V) / (2 * S) + problem.h.value(problem.A(X + V))


def missed(problem, at, G, found):
    """The larger of the gap and of what it would be if V were as far from the solution as y is from A(X + V)."""
    apart = np.sum((found.y - problem.A(at.X + found.V)) ** 2) / problem.A.norm**2
    return max(gap(problem, at, G, found), apart / (2 * S))


def gap(problem, at, G, found):
    """Primal minus dual value, both from their definitions; u is a subgradient at y."""
    u, y, h = found.multiplier, found.y, problem.h
    conjugate = np.sum(u * y) - h.value(y)
    P = M.tangent(at.X, G + problem.A.adjoint(u))
    return cost(problem, at.X, G, found.V) - (np.sum(u * at.AX) - conjugate - S / 2 * np.sum(P * P))


@pytest.mark.parametrize(("map_", "kind"), CASES)
def test_the_solution_satisfies_the_conditions_that_make_it_one(map_, kind):
    problem, at, G, _ = draw(map_, kind)
    found = solve_dual(problem, at, G)
    X, V, u = at.X, found.V, found.multiplier
    assert np.linalg.norm(X.T @ V + V.T @ X) < 1e-13
    assert np.allclose(V, -S * M.tangent(X, G + problem.A.adjoint(u)), atol=1e-13)
    assert problem.h.subgradient_distance(found.y, u) < 1e-11
    # A gap of rounding size, 1e-14 or so, places V to about the root of it.
    assert abs(gap(problem, at, G, found)) < 1e-12
    assert np.allclose(found.y, problem.A(X + V), atol=1e-6 * max(1, problem.A.norm))
    assert found.steps < 1000


@pytest.mark.parametrize(
    ("map_", "kind"), [("tall", "l1"), ("wide", "rows"), ("differences", "l1"), ("tall", "nuclear")]
)
def test_it_stops_at_the_gap_it_is_asked_for(map_, kind):
    problem, at, G, _ = draw(map_, kind)
    steps = []
    for least, share in ((0.0, 0.1), (1e-3, 0.0), (1e-6, 1e-9), (0.0, 1e-6)):
        found = solve_dual(problem, at, G, least=least, share=share)
        allowed = max(least, share / S * np.sum(found.V**2))
        assert missed(problem, at, G, found) <= allowed * (1 + 1e-9)
        steps.append(found.steps)
        if found.steps > 1:  # one step earlier it was not there yet
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(_dual, "MOST_STEPS", found.steps - 1)
                before = solve_dual(problem, at, G, least=least, share=share)
            assert missed(problem, at, G, before) > max(least, share / S * np.sum(before.V**2))
    assert max(steps) > 3
    exact = solve_dual(problem, at, G)
    assert exact.steps > 5
    assert solve_dual(problem, at, G, exact.multiplier, least=1e-10).steps == 1  # a warm start
    loose = solve_dual(problem, at, G, share=0.1)
    assert np.linalg.norm(loose.V - exact.V) <= np.sqrt(2 * S * gap(problem, at, G, loose)) + 1e-7


@pytest.mark.parametrize(("map_", "kind"), [("tall", "l1"), ("entries", "rows"), ("differences", "nuclear")])
def test_the_steps_are_those_of_the_accelerated_method(monkeypatch, map_, kind):
    problem, at, G, rng = draw(map_, kind)
    A, sigma = problem.A, 1 / (S * problem.A.norm**2)
    u = ahead = first = 0.1 * rng.standard_normal(problem.shape)
    momentum, restarts = 1.0, 0
    calls = count_calls(monkeypatch, type(A), "adjoint")
    for steps in range(1, 41):
        w = ahead + sigma * A(at.X - S * M.tangent(at.X, G + A.adjoint(ahead)))
        u_new = w - sigma * problem.h.prox(w / sigma, 1 / sigma)
        monkeypatch.setattr(_dual, "MOST_STEPS", steps)
        calls.clear()
        found = solve_dual(problem, at, G, first)
        if found.steps < steps:
            break
        assert np.allclose(found.multiplier, u_new, atol=1e-10)
        assert np.allclose(found.y, (w - u_new) / sigma, atol=1e-10)
        assert len(calls) == steps + 1  # one product each way and step, and one at the start
        if np.sum((ahead - u_new) * (u_new - u)) > 0:
            momentum, restarts = 1.0, restarts + 1
        longer = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead, u, momentum = u_new + (momentum - 1) / longer * (u_new - u), u_new, longer
    assert steps > 5  # the third is the first that momentum changes
    assert restarts > 0 or kind != "l1"
    if kind != "nuclear":  # whose prox raises an error
        assert solve_dual(problem, at, np.nan * G).steps == 1

"""One step of the projected subgradient method."""

from __future__ import annotations

import numpy as np
import pytest

from orthoprox import Problem, named
from orthoprox.solvers import SubgradientState
from steps.cases import PROBLEMS, M, random_triple


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("seed", range(3))
def test_a_step_projects_along_a_subgradient_and_keeps_the_best(name, seed):
    problem = PROBLEMS[name]
    _, X, X_best, _, _ = random_triple(problem, seed)
    solver = named("subgradient", q=0.7)
    lowest = float(problem.objective(X_best))
    old = SubgradientState(t=6, now=problem.at(X), best=problem.at(X_best), lowest=lowest, eta0=0.3)
    new = solver.step(problem, old)
    V = problem.f.gradient(X) - problem.g.subgradient(X) + problem.A.adjoint(problem.h.subgradient(problem.A(X)))
    U, _, Wt = np.linalg.svd(X - 0.3 / 7**0.7 * V, full_matrices=False)
    assert np.allclose(new.now.X, U @ Wt, atol=1e-12)
    assert (new.t, new.eta0) == (7, 0.3)
    better = problem.objective(new.now.X) < lowest
    assert np.array_equal(solver.point(new), new.now.X if better else X_best)
    assert new.lowest == pytest.approx(min(lowest, float(problem.objective(new.now.X))))
    certificate = solver.certificate(problem, new)
    assert np.allclose(certificate.y, problem.A(certificate.point.X))
    assert problem.h.subgradient_distance(certificate.y, certificate.z) < 1e-12


def test_the_first_move_is_a_tenth_of_X():
    problem = PROBLEMS["groups of a matrix"]
    X = problem.M.random(0)
    state = named("subgradient").init(problem, X)
    V = problem.f.gradient(X) + problem.A.adjoint(problem.h.subgradient(problem.A(X)))
    assert state.eta0 * np.linalg.norm(V) == pytest.approx(0.1 * np.sqrt(problem.M.r))
    assert named("subgradient", eta0=2.0).init(problem, X).eta0 == 2.0
    assert named("subgradient").init(Problem(M=M), X).eta0 == 1.0  # nothing to move along

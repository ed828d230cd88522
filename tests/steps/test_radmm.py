"""One step of RADMM from a random state, against its definition; where it walks with OADMM-RR."""

import numpy as np
import pytest

from orthoprox import Iterations, Problem, Status, Stiefel, solve
from orthoprox.maps import Matrix
from orthoprox.solvers.radmm import RADMM, RADMMState
from orthoprox.terms import L1, MCP, LargestK, Zero
from steps.cases import PROBLEMS, N, R, augmented, lipschitz, numerical_gradient, random_triple
from steps.checks import check_y_and_z, factor, tangent

T, BETA, MU = 7, 15.0, 0.3


@pytest.mark.parametrize("eta", [0.02, None])
@pytest.mark.parametrize("by", ["polar", "qr"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_step_is_as_defined(name, by, eta):
    problem, solver = PROBLEMS[name], RADMM(beta=BETA, mu=MU, eta=eta, retraction=by)
    _, X, _, y, z = random_triple(problem, list(PROBLEMS).index(name))
    old = RADMMState(t=T, now=problem.at(X), y=y, z=z, L=lipschitz(problem))
    new = solver.step(problem, old)
    # X is a Riemannian gradient step
    G = numerical_gradient(lambda V: augmented(problem, V, y, z, BETA), X) - problem.g.subgradient(X)
    length = eta or 1 / (new.L + BETA * problem.A.norm**2)
    assert np.allclose(new.now.X, factor(X - length * tangent(X, G), by), atol=1e-7)
    assert new.L == lipschitz(problem)
    assert np.linalg.norm(new.now.X - X) > 1e-3
    check_y_and_z(problem, solver, old, new, beta=BETA, mu=MU)


def test_settings_are_chosen_for_the_problem():
    problem = PROBLEMS["groups of a matrix"]
    L, norm = problem.f.lipschitz, problem.A.norm
    chosen = RADMM().for_problem(problem)
    assert chosen.mu == pytest.approx(1e-8 / chosen.beta)
    assert chosen.eta == pytest.approx(1 / (2 * L))
    strict = RADMM(strict_theory=True).for_problem(problem)
    assert strict.mu == pytest.approx(4 / strict.beta)
    assert strict.eta == pytest.approx(1 / (4 * L))
    with pytest.raises(ValueError, match="radmm has no beta yet"):
        RADMM().init(problem, problem.M.random(0))
    given = RADMM(beta=3.0, mu=0.1, eta=0.2)
    assert given.for_problem(problem) is given
    assert RADMM(beta=3.0).for_problem(problem).eta == pytest.approx(1 / (L + 3 * norm**2))
    # An f without curvature leaves the slope of h; nothing at all leaves 1.
    bare = Problem(M=Stiefel(N, R), h=L1(0.3))
    assert RADMM().for_problem(bare).beta == pytest.approx(0.3 * np.sqrt(N * R) / np.sqrt(R))
    assert RADMM().for_problem(Problem(M=Stiefel(N, R))).beta == 1.0
    weak = Problem(M=Stiefel(N, R), f=Zero(), h=MCP(0.1, 0.01))
    for solver in (RADMM(), RADMM(strict_theory=True), RADMM(mu=0.2 / weak.h.weak_convexity)):
        chosen = solver.for_problem(weak)
        assert (chosen.mu + 1 / chosen.beta) * weak.h.weak_convexity <= 0.5 + 1e-12
        chosen.init(weak, weak.M.random(0))


def test_presets_are_those_of_the_paper():
    assert RADMM.preset("I") == RADMM(beta=100.0)
    assert RADMM.preset("II", retraction="qr") == RADMM(beta=10_000.0, retraction="qr")
    with pytest.raises(ValueError, match="The presets of radmm are I, II; given 'III'"):
        RADMM.preset("III")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_where_g_is_all_there_is_a_step_has_a_length(dtype):
    problem = Problem.of(L1() @ Matrix(np.zeros((3, 6), dtype)) - LargestK(5), over=Stiefel(6, 2))
    result = solve(problem, RADMM(), stop=Iterations(60))
    assert result.status is Status.ITERATIONS and result.X.dtype == dtype
    assert result.objective < solve(problem, RADMM(), stop=Iterations(0)).objective - 0.1

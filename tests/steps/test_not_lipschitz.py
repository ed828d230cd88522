"""SOCM and MADMM with an h that is not Lipschitz: only for those who ask, and with a note."""

from types import SimpleNamespace

import numpy as np
import pytest

from orthoprox import Iterations, Problem, Status, named, solve
from orthoprox.driver.stopping import NotFinite
from orthoprox.solvers import UnsupportedProblem
from orthoprox.terms import L0, MCP, ExplainedVariance, LargestK, Nonnegative
from steps.cases import B, M, N, R

COUNT = Problem.of(ExplainedVariance(B, 0.3) - 0.2 * LargestK(5) + 0.4 * L0(), over=M)
CONE = Problem.of(ExplainedVariance(B, 0.3) + Nonnegative(), over=M)
FORMS = {"madmm": ("madmm", {}), "socm": ("socm", {}), "two-block": ("socm", {"form": "two-block"})}


@pytest.fixture(params=FORMS)
def method(request):
    name, settings = FORMS[request.param]
    return named(name, allow_non_lipschitz=True, **settings)


@pytest.mark.parametrize("problem", [COUNT, CONE], ids=["count", "cone"])
@pytest.mark.parametrize("name", ["madmm", "socm"])
def test_it_is_refused_unless_asked_for(name, problem):
    sentence = f"{name} needs a Lipschitz h; given {type(problem.h).__name__}.*Pass allow_non_lipschitz=True"
    with pytest.raises(UnsupportedProblem, match=sentence):
        solve(problem, name)
    result = solve(problem, named(name, allow_non_lipschitz=True), stop=Iterations(3))
    assert result.iterations == 3
    assert sum("no theory for an h that is not Lipschitz" in note for note in result.notes) == 1
    assert not any("weakly convex" in note for note in result.notes)


def test_the_scope_says_so():
    for name in ("madmm", "socm"):
        assert "h need not be Lipschitz*" in str(named(name).scope)
    assert str(named("obcd").scope).endswith("h need not be Lipschitz")  # covered by its theory


def test_penalties_are_finite(method):
    for problem in (COUNT, CONE):
        L = problem.f.lipschitz
        chosen = method.for_problem(problem)
        state = chosen.init(problem, M.random(0))
        if method.name == "madmm":
            assert (chosen.rho0, state.rho) == (L, L)
        else:
            assert (state.beta, state.lam) == (2 * L if method.form == "two-block" else L, L)
        if method.name == "madmm":  # and may fall
            E = np.ones((N, R))
            assert chosen._penalty_factor(problem, 0, 4 * L, 0 * E, E) == 0.5
    alone = Problem.of(Nonnegative(), over=M)  # neither f nor h has a scale
    state = method.for_problem(alone).init(alone, M.random(0))
    assert (state.rho if method.name == "madmm" else state.lam) == 1.0


@pytest.mark.parametrize("measure", ["objective", "criticality"])
def test_only_what_a_constraint_makes_infinite_is_let_through(measure):
    X = M.random(0)

    def verdict(problem, value):
        measured = {"objective": 1.0, "criticality": 1.0, measure: value}
        return NotFinite(measure=True)(
            SimpleNamespace(X=X, is_finite=True, state_is_finite=True, state=(X,), problem=problem, **measured)
        )

    lipschitz = Problem.of(ExplainedVariance(B, 0.3) + MCP(), over=M)
    assert verdict(CONE, np.inf) is verdict(lipschitz, 1.0) is None
    for problem, value in ((CONE, np.nan), (CONE, -np.inf), (lipschitz, np.inf), (lipschitz, np.nan)):
        assert verdict(problem, value) is Status.NOT_FINITE

"""Products along a line search: carried where they are products from the left, computed where they are not."""

from __future__ import annotations

import pytest

from orthoprox import SOLVERS, Iterations, Problem, named, solve
from orthoprox.maps import Difference, Entries
from orthoprox.terms import L1, ExplainedVariance, LeastSquares, LInf
from steps.cases import MASK, B, M, T
from steps.checks import check_products, takes, walk

MASKED = LeastSquares(Entries(MASK), T)
NOT_LEFT = {
    "a mask in f": Problem.of(MASKED + 0.3 * L1(), over=M),
    "a mask in a part of f": Problem.of(ExplainedVariance(B, 0.1) + MASKED + 0.3 * L1(), over=M),
    "a mask in f, differences in h": Problem.of(MASKED + 0.02 * LInf() @ Difference(), over=M),
}


@pytest.mark.parametrize("kind", NOT_LEFT)
@pytest.mark.parametrize("name", tuple(SOLVERS))
def test_a_state_holds_the_products_of_its_point(name, kind):
    problem = NOT_LEFT[kind]
    if not takes(named(name), problem):
        return
    solver = named(name).for_problem(problem)
    for state in walk(problem, solver, M.random(3), 3):
        check_products(problem, solver.certificate(problem, state).point)
    result = solve(problem, name, seed=3, stop=Iterations(10))
    assert result.objective == pytest.approx(float(problem.objective(result.X)), rel=1e-12)

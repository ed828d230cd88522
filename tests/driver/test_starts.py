"""A run and its start: who begins where, what it costs, and that a resumed run needs none."""

from __future__ import annotations

import numpy as np
import pytest

from orthoprox import SOLVERS, Iterations, named, solve
from orthoprox.models import sparse_pca
from orthoprox.solvers.oadmm import Phase
from orthoprox.starts import Auto, Leading, Random

_rng = np.random.default_rng(3)
B = _rng.standard_normal((50, 6)) @ np.kron(np.eye(6), np.ones((1, 5))) + 0.3 * _rng.standard_normal((50, 30))
PROBLEM = sparse_pca(B, n_components=5, weight=0.2)


def test_the_default_solver_begins_at_the_informed_start_and_published_methods_at_random():
    drawn = Auto().draw(PROBLEM, 7)
    assert drawn.work > 0
    for name in SOLVERS:
        result = solve(PROBLEM, name, seed=7, stop=Iterations(0))
        informed = name == "oadmm"
        assert np.array_equal(result.X, drawn.X if informed else PROBLEM.M.random(7, like=B)), name
        assert result.start == (drawn.name if informed else "random")


def test_a_rule_an_array_and_a_resumed_run_say_where_they_began():
    part = solve(PROBLEM, X0=Leading(), stop=Iterations(1))
    assert part.start == "leading directions" and "  start          leading directions" in repr(part).splitlines()
    assert solve(PROBLEM, X0=PROBLEM.M.random(0), stop=Iterations(0)).start == "given"
    assert solve(PROBLEM, X0=Random(), stop=Iterations(0)).start == "random"
    assert solve(PROBLEM, resume=part.state, stop=Iterations(2)).start == "resumed"
    with pytest.raises(TypeError, match=r"X0 must be a start, as in Random\(\); given the class Random"):
        solve(PROBLEM, X0=Random)


def test_time_and_products_of_the_start_are_part_of_the_run():
    drawn = Auto().draw(PROBLEM, 0)
    result = solve(PROBLEM, stop=Iterations(0))
    assert result.solver.work(result.state) == drawn.work
    assert result.seconds > 0 and result.history["seconds"][0] == result.seconds
    plain = solve(PROBLEM, X0=Random(), stop=Iterations(0))
    assert plain.solver.work(plain.state) == 0 and plain.seconds < 0.1 * result.seconds


def test_near_its_start_the_method_does_not_begin_at_the_first_penalty_and_follows_no_homotopy():
    solver = named("oadmm").for_problem(PROBLEM)
    X0 = PROBLEM.M.random(0)
    far, near = solver.init(PROBLEM, X0), solver.init_near(PROBLEM, X0)
    assert far.inner.rises == 0 < near.inner.rises <= solver.explore
    bounded = sparse_pca(B, n_components=5, weight=0.2, k=30)
    solver = named("oadmm").for_problem(bounded)
    assert solver.init(bounded, X0).phase is Phase.HOMOTOPY
    assert solver.init_near(bounded, X0).phase is not Phase.HOMOTOPY
    settled = named("oadmm", explore=0).init_near(PROBLEM, X0)
    assert settled.phase is Phase.SETTLE

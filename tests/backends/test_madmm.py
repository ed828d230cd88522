"""MADMM as a program: its descent without branches, and many runs of it together."""

from typing import Any

import numpy as np
import pytest

from backends.problems import PROBLEMS, N, R
from backends.test_many import agree, tables
from orthoprox import Critical, Iterations, Problem, named, solve, solve_many
from orthoprox._fields import replace
from orthoprox.backends._speculation import MOST_EFFORT, speculate
from orthoprox.backends._tree import flatten
from orthoprox.driver._together import Together
from orthoprox.maps import Matrix
from orthoprox.models import sparse_pca
from orthoprox.solvers import _rgbb
from orthoprox.terms import L1, MCP, ExplainedVariance

pytestmark = pytest.mark.backends


@pytest.mark.parametrize("library", ["torch", "jax"], indirect=True)
def test_the_longest_program_holds_a_long_descent(library):
    """The first step of MADMM has ten inner steps, more than the rounds of a line search."""
    make = PROBLEMS["plain l1, centred"]
    here, there = make(np.asarray), make(library.asarray)
    solver, X0 = named("madmm").for_problem(here), here.M.random(3)
    expected = solver.step(here, solver.init(here, X0))

    def step(effort: int, X0: Any) -> tuple[Any, ...]:
        with speculate(effort) as assumed:
            new = solver.step(there, solver.init(there, X0))
        return new.now.X, new.U, new.length, new.inner, assumed.usual, assumed.enough

    run = step if library.name == "torch" else library.module.jit(step, static_argnums=0)
    *found, usual, enough = run(MOST_EFFORT, library.asarray(X0))
    assert (expected.inner, bool(usual), bool(enough)) == (10, True, True)
    for one, other in zip((expected.now.X, expected.U, expected.length, expected.inner), found, strict=True):
        assert np.allclose(one, library.numpy(other), rtol=1e-9, atol=1e-12)
    if library.name == "torch":
        assert not step(MOST_EFFORT - 1, library.asarray(X0))[-1]


@pytest.mark.parametrize("name", ["plain l1, centred", "groups of a matrix"])
def test_a_program_recomputes_the_products_of_a_descent_in_which_they_were_due(torch, name):
    problem = PROBLEMS[name](torch.tensor)
    solver = named("madmm").for_problem(problem)
    begun = solver.init(problem, torch.tensor(PROBLEMS[name](np.asarray).M.random(3)))
    for done, due in ((0, False), (_rgbb.REFRESH - 10, True), (_rgbb.REFRESH - 11, False), (_rgbb.REFRESH, False)):
        with speculate(MOST_EFFORT):
            new = solver.step(problem, replace(begun, inner=torch.tensor(float(done))))
        assert float(new.inner) == done + 10
        assert bool((new.now.HX == problem.at(new.now.X).HX).all()) == due


def test_numbers_of_a_program_have_the_float_type_of_its_data(torch):
    """In a stack a number of double precision would make double what it is multiplied with."""
    problem = PROBLEMS["plain l1, centred"](lambda a: torch.tensor(a, dtype=torch.float32))
    solver = named("madmm").for_problem(problem)
    tree = flatten(solver.init(problem, problem.M.random(3, like=problem.like)))
    doubles = [
        leaf if hasattr(leaf, "ndim") else torch.tensor(float(leaf), dtype=torch.float64) for leaf in tree.leaves
    ]
    with speculate(0):
        new = solver.step(problem, tree.build(doubles))
    assert {new.rho.dtype, new.length.dtype, new.U.dtype} == {torch.float32}


@pytest.mark.parametrize("library", ["torch", "jax"], indirect=True)
def test_one_problem_from_many_starts(library, together):
    make, rule = PROBLEMS["plain l1, centred"], Iterations(40) | Critical(1e-3)
    found = solve_many(make(library.asarray), "madmm", seeds=range(4), stop=rule)
    assert together == [4]
    for seed, result in enumerate(found):
        agree(solve(make(np.asarray), "madmm", seed=seed, stop=rule), result, library)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_many_problems_stop_by_themselves(torch, together, dtype):
    rule, weights = Iterations(60) | Critical(1e-2), (0.5, 1.0, 2.0, 3.0)
    given = list(zip([D.astype(dtype) for D in tables(4)], weights, strict=True))
    found = solve_many([sparse_pca(torch.tensor(D), n_components=R, weight=w) for D, w in given], "madmm", stop=rule)
    assert together == [4] and len({result.iterations for result in found}) > 2
    for (D, w), result in zip(given, found, strict=True):
        alone = solve(sparse_pca(D, n_components=R, weight=w), "madmm", stop=rule)
        assert str(result.X.dtype).endswith(np.dtype(dtype).name)
        assert np.max(np.abs(alone.X - result.X.numpy())) < (1e-9 if dtype is np.float64 else 1e-3)
        assert alone.solver.work(alone.state) == result.solver.work(result.state) or dtype is np.float32


@pytest.mark.parametrize("kind", ["weakly convex", "two parts"])
def test_penalties_are_chosen_and_bounded_for_each_problem(torch, together, kind, monkeypatch):
    """Data, weights, maps and W_h differ, so the constants of the problems are not numbers of Python's."""
    monkeypatch.setattr(Together, "_begin_alone", None)  # nor is the host asked at the start
    maps = np.random.default_rng(6).standard_normal((4, 7, N))

    def h(C: Any, weight: float) -> Any:
        return weight * MCP(0.5, 3.0) @ Matrix(C) if kind == "weakly convex" else weight * (L1() @ Matrix(C) + L1())

    def problems(asarray: Any) -> list[Problem]:
        given = zip(tables(4), maps, (0.02, 0.2, 2.0, 20.0), strict=True)
        return [Problem.of(ExplainedVariance(asarray(D)) + h(asarray(C), w), over=(N, R)) for D, C, w in given]

    found = solve_many(problems(torch.tensor), "madmm", stop=Iterations(12))
    assert together == [4]
    for problem, result in zip(problems(np.asarray), found, strict=True):
        alone = solve(problem, "madmm", stop=Iterations(12))
        assert result.state.rho == pytest.approx(alone.state.rho, rel=1e-12)
        assert np.max(np.abs(alone.X - result.X.numpy())) < 1e-8

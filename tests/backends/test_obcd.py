"""OBCD, whose pairs are turned on the host, gives the same steps to arrays of every library."""

from itertools import islice, pairwise

import numpy as np
import pytest

from backends.problems import MASK, PROBLEMS, B, M, Y
from backends.states import apart, arrays_of, carried, is_single, numbers, single
from orthoprox import Problem, iterate, named
from orthoprox.maps import Entries
from orthoprox.terms import L0, L1, LeastSquares, Nonnegative, WeightedL1
from steps.obcd_naive import needs_numba

TRIED = {
    "l1 minus largest-k": PROBLEMS["l1 minus largest-k"],
    "negative part": PROBLEMS["negative part"],
    "compressed modes": PROBLEMS["compressed modes"],
    "l0": lambda a: Problem.of(LeastSquares(a(B), a(Y), 0.1) + 0.3 * L0() @ (2.0 * Entries(a(MASK))), over=M),
    "weights": lambda a: Problem.of(
        LeastSquares(a(B), a(Y), 0.1) - 0.1 * L1() + 0.5 * WeightedL1(a(1.0 * MASK)), over=M
    ),
    "nonnegative": lambda a: Problem.of(LeastSquares(a(B), a(Y), 0.1) + Nonnegative(), over=M),
}
cases = pytest.mark.parametrize("problem", TRIED)
sweeps = pytest.mark.parametrize("sweep", [pytest.param("sequential", marks=needs_numba), "jacobi"])


@sweeps
@cases
def test_three_single_steps(library, problem, sweep):
    here, there = TRIED[problem](np.asarray), TRIED[problem](library.asarray)
    solver = named("obcd", sweep=sweep, refresh=2).for_problem(here)
    X0 = here.M.random(3)
    assert apart(numbers(solver.init(here, X0)), numbers(solver.init(there, library.asarray(X0)))) < 1e-9
    moved = 0
    for before, after in islice(pairwise(iterate(here, solver, solver.init(here, X0))), 3):
        other = solver.step(there, carried(before, library.asarray))
        moved += after.moved
        assert all(library.owns(leaf) for leaf in arrays_of(other))
        assert apart(numbers(after), numbers(other)) < 1e-9
        ours, theirs = solver.certificate(here, after), solver.certificate(there, other)
        assert library.owns(theirs.y) and library.owns(theirs.z)
        assert np.allclose(ours.y, library.numpy(theirs.y), atol=1e-9)
        assert np.allclose(ours.z, library.numpy(theirs.z), atol=1e-7)
    assert moved > 3


@sweeps
@cases
def test_single_precision_stays(library, problem, sweep):
    there = TRIED[problem](single(library))
    solver = named("obcd", sweep=sweep).for_problem(there)
    for state in islice(iterate(there, solver, solver.init(there, single(library)(there.M.random(3)))), 6):
        assert is_single(state)
    X = library.numpy(solver.point(state))
    assert np.isfinite(float(there.objective(solver.point(state))))
    if problem in ("l0", "nonnegative"):  # zeros are exact, rounding errors of this float type are none
        assert 0 < np.count_nonzero(X) < X.size and np.min(np.abs(X[X != 0])) >= 500 * 2.0**-23
    assert float(there.M.infeasibility(solver.point(state))) < 500 * np.finfo(np.float32).eps * there.M.r**0.5

"""Units: F times a power of two gives the same answer, however large; what cannot be squared is refused."""

import contextlib

import numpy as np
import pytest

from orthoprox import SOLVERS, Iterations, Problem, Status, UnsupportedProblem, solve
from orthoprox.maps import Matrix
from orthoprox.solvers._units import nearest_unit
from orthoprox.terms import L1, ExplainedVariance, GroupL2, LargestK, LeastSquares, LInf, NegativePart
from steps.cases import B, C, M, Y

NAMES = tuple(SOLVERS)
EXACT = ("oadmm", "oadmm-ep", "oadmm-rr", "socm", "radmm", "rsg", "spgm-ep", "subgradient")
"""Methods without a constant that has units."""


def problems(unit, dtype=np.float64):
    """The same problems in other units, by weights and by data."""
    root = np.sqrt(unit)
    b, c, t = (np.asarray(a, dtype=dtype) for a in (B, C, Y))
    return {
        "l1 of data": Problem.of(ExplainedVariance(dtype(root) * b) + unit * 3 * L1(), over=M),
        "k-sparse": Problem.of(ExplainedVariance(b, unit) - unit * 60 * LargestK(8) + unit * 60 * L1(), over=M),
        "groups of a matrix": Problem.of(LeastSquares(b, t, unit) + unit * 2 * GroupL2() @ Matrix(c), over=M),
    }


@pytest.mark.parametrize("power", [-900, 80])
@pytest.mark.parametrize("name", NAMES)
def test_the_answer_does_not_depend_on_units(name, power):
    unit = 2.0**power
    for kind, problem in problems(1.0).items():
        try:
            plain = solve(problem, name, seed=1, stop=Iterations(6))
        except UnsupportedProblem:
            continue
        other = solve(problems(unit)[kind], name, seed=1, stop=Iterations(6))
        assert float(problem.objective(other.X)) == pytest.approx(other.objective / unit, rel=1e-12)
        if name in EXACT:
            assert np.all(other.X == plain.X)
            primal, *in_units = other.criticality_parts
            assert (primal, *(part / unit for part in in_units)) == pytest.approx(plain.criticality_parts, rel=1e-9)
        elif abs(power) < 256:  # beyond that, published constants meet a problem of another size in their band
            assert other.objective / unit == pytest.approx(plain.objective, rel=1e-7)


@pytest.mark.parametrize(("dtype", "powers", "rel"), [(np.float64, (-500, 500), 1e-9), (np.float32, (-60, 20), 1e-4)])
def test_the_default_converges_to_the_same_point_in_all_units(dtype, powers, rel):
    for kind, problem in problems(1.0, dtype).items():
        plain = solve(problem, seed=0)
        assert plain.status is Status.CONVERGED
        for power in powers:
            other = solve(problems(2.0**power, dtype)[kind], seed=0)
            assert other.status is Status.CONVERGED and other.iterations > 0
            assert other.objective / 2.0**power == pytest.approx(plain.objective, rel=rel)


@pytest.mark.parametrize("power", [-80, -3, 80])
def test_g_alone_has_no_units_either(power):
    for name in ("oadmm", "oadmm-ep", "radmm"):
        plain, other = (solve(Problem.of(-u * LargestK(8), over=M), name, stop=Iterations(6)) for u in (1, 2.0**power))
        assert np.array_equal(plain.X, other.X) and other.objective == 2.0**power * plain.objective


def test_h_that_outweighs_f_is_brought_down_all_the_same():
    h, f = NegativePart() @ Matrix(C) + GroupL2(), 1e-4 * LeastSquares(B, Y)
    for seed in range(3):
        result = solve(Problem.of(f + h, over=M), seed=seed)
        assert result.status is Status.CONVERGED and result.objective < 4.0


def test_halfway_between_two_units_the_same_one_is_taken():
    assert [nearest_unit(2.0**power) for power in (-60, -20, 20, 60)] == [2.0**-40, 1.0, 2.0**40, 2.0**80]


def test_a_unit_is_the_same_where_sizes_are_on_a_device():
    for size in (3e-40, 1e-9, 0.7, 2.0**19.9, 2.0**20.1, 5e33):
        assert nearest_unit(np.asarray(size)) == nearest_unit(size)


def test_squares_that_leave_the_range_are_refused_in_a_sentence():
    for size in (1e160, 1e-160):
        with pytest.raises(ValueError, match=r"squares of the data leave the range of float64.*Divide by a constant"):
            ExplainedVariance(size * B)
        with pytest.raises(ValueError, match="squares of A leave the range of float64"):
            solve(Problem.of(ExplainedVariance(B) + L1() @ (size * Matrix(C)), over=M))


def test_a_map_that_is_zero_and_an_f_without_curvature():
    shifted = LInf() @ (0.0 * Matrix(C))
    problem = Problem.of(LeastSquares(0 * C) - 0.1 * LargestK(3) + shifted + 2.0, over=M)
    for name in NAMES:
        with contextlib.suppress(UnsupportedProblem):
            assert np.isfinite(solve(problem, name, stop=Iterations(5)).objective)
    assert solve(problem).status is Status.CONVERGED

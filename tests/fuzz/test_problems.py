"""Problems x solvers: what a result says is true, and what it promises is kept."""

from __future__ import annotations

import time
import warnings

import numpy as np
from hypothesis import event, given, note
from hypothesis import strategies as st

from fuzz.campaign import campaign
from fuzz.cases import cases
from orthoprox import SOLVERS, Critical, Iterations, Problem, Seconds, Status, UnsupportedProblem, solve
from orthoprox.problem import Certificate, criticality, relative_criticality

TIME = 1.0
UNITS = (-700, -200, -40, 0, 0, 0, 40, 200, 700)
"""Powers of two by which F is multiplied."""
POWERS = (-600, -80, 80, 600)
"""Those in which the default solver is tried again; published constants keep their phase at multiples of 40."""


def run(case, name, X0, stop=None):
    """A run in which every warning is an error; None where the method refuses the problem."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return solve(case.problem, name, X0, stop=stop)
        except UnsupportedProblem:
            return None


def check(case, result, X0):
    """Compare a result with the formulas of the case, in units of the case."""
    X, problem, unit = result.X, case.problem, case.unit
    eps, norm = float(np.finfo(X.dtype).eps), np.linalg.norm
    assert np.all(np.isfinite(X)) and X.dtype == X0.dtype
    wide = X.astype(float)
    assert norm(wide.T @ wide - np.eye(X.shape[1])) <= 100 * eps * X.shape[1]
    f, g = case.f(wide), case.g(wide)
    slopes = problem.h.lipschitz_constant(problem.shape) / unit
    # A value that is small may be a difference of large ones.
    size = abs(f[0]) + abs(g[0]) + abs(case.h(case.A(wide))) + curvature(case) + problem.A.norm * slopes
    assert abs(result.objective / unit - case.objective(wide)) <= 300 * eps * size
    y, z, a = result.y.astype(float), result.z.astype(float) / unit, problem.A.norm
    parts = result.criticality_parts
    near = lambda found, wanted, whole: abs(found - wanted) <= 300 * eps * whole
    assert near(parts.primal, norm(case.A(wide) - y), a * np.sqrt(X.shape[1]) + norm(y))
    gradients = norm(f[1]) + norm(g[1]) + a * (norm(z) + slopes) + curvature(case)
    assert near(parts.stationarity / unit, case.stationarity(wide, z), gradients)
    if case.distance is not None:
        assert near(parts.dual / unit, case.distance(y, z), norm(z) + slopes)
    if result.status is Status.CONVERGED:
        # z may be a small part of the slopes of h, to whose rounding a method that came to its own end has got.
        small = 2 * max(1e-7, 64 * eps)
        of_gap = parts.primal / (a * np.sqrt(X.shape[1]) + norm(y) or 1.0)
        ended = result.solver.finished(result.state)
        ended = ended and of_gap + (parts.dual + parts.stationarity) / unit / (gradients or 1.0) <= small
        assert ended or result_share(case, result) <= small


def result_share(case, result):
    """The relative Crit of a result, of F in units of the case."""
    problem, unit = case.problem, case.unit
    f, g, h = (term if unit == 1 else 1 / unit * term for term in (problem.f, problem.g, problem.h))
    plain = Problem(M=problem.M, f=f, g=g, h=h, A=problem.A)
    at = Certificate(plain.at(result.X), result.y, result.z / unit)
    return relative_criticality(plain, at, criticality(plain, at)).total


def curvature(case):
    """L_f, for all columns."""
    return (case.problem.f.lipschitz or 0.0) / case.unit * case.problem.M.r


def check_results(case, name, seed):
    """One run of a method; return how it ended."""
    before = [array.copy() for array in case.arrays]
    X0 = case.problem.M.random(seed, like=case.problem.like)
    began = time.perf_counter()
    result = run(case, name, X0, Iterations(60) | Seconds(TIME) | Critical(1e-7, relative=True))
    if result is None:
        return "refused"
    assert time.perf_counter() - began <= TIME + 2
    check(case, result, X0)
    assert result.status in (Status.CONVERGED, Status.ITERATIONS, Status.SECONDS)
    assert all(np.array_equal(a, b) for a, b in zip(case.arrays, before, strict=True))
    return result.status.name


def check_default(case, seed, power):
    """The default solver never ends above its start, gives the same answer twice, and the same in other units."""
    problem = case.problem
    X0 = problem.M.random(seed, like=problem.like)
    stop = Iterations(60) | Critical(1e-7, relative=True)
    result = run(case, "oadmm", X0, stop)
    check(case, result, X0)
    eps = float(np.finfo(X0.dtype).eps)
    start = float(problem.objective(X0))
    assert result.objective <= start + max(1e-6, 1e3 * eps) * (abs(start) + curvature(case))
    again = run(case, "oadmm", X0, stop)
    assert np.array_equal(again.X, result.X)
    if X0.dtype == np.float64:
        unit = 2.0**power
        f, g, h = (unit * term for term in (problem.f, problem.g, problem.h))
        other = solve(Problem(M=problem.M, f=f, g=g, h=h, A=problem.A), "oadmm", X0, stop=stop)
        assert np.array_equal(other.X, result.X) or np.isclose(other.objective / unit, result.objective, rtol=1e-9)
    return result.status.name


@campaign(short=20)
@given(cases(UNITS), st.sampled_from(sorted(SOLVERS)), st.integers(0, 9))
def test_results_are_true(case, name, seed):
    note(case.words)
    event(f"{name}: {check_results(case, name, seed)}")


@campaign(short=4)
@given(cases(), st.integers(0, 9), st.sampled_from(POWERS))
def test_the_default_solver(case, seed, power):
    note(case.words)
    event(check_default(case, seed, power))

"""One step of every method from a common state is the same in every array library.

Lengths that are quotients of differences double a rounding error every few iterations, whatever the library: so steps
are compared one by one, and not trajectories.
"""

from collections import Counter
from itertools import islice, pairwise

import numpy as np
import pytest
from array_api_compat import is_array_api_obj

from backends.conftest import NAMES
from backends.problems import MASK, PROBLEMS, B, M, R, Y
from backends.states import apart, arrays_of, carried, is_single, numbers, single
from orthoprox import Problem, iterate, named
from orthoprox._fields import parts, replace
from orthoprox.backends import backend_of
from orthoprox.maps import Entries
from orthoprox.models import nonnegative_pca
from orthoprox.problem import criticality
from orthoprox.solvers import Assignment
from orthoprox.terms import L0, L1, LeastSquares, Nonnegative, WeightedL1
from steps.checks import takes
from steps.obcd_naive import needs_numba

PLAIN = "oadmm-ep oadmm-rr radmm rsg spgm-ep spgm-rr subgradient manpg manpg-ada"
METHODS = {name: named(name) for name in PLAIN.split()} | {
    "oadmm-rr, bb-long": named("oadmm-rr", length="bb-long"),
    "oadmm-rr, bb-short": named("oadmm-rr", length="bb-short"),
    "oadmm-rr, qr": named("oadmm-rr", retraction="qr", refresh=3),
    "radmm, qr": named("radmm", retraction="qr"),
    "rsg, geometric": named("rsg", rule="geometric"),
    "spgm-ep, oadmm": named("spgm-ep", schedule="oadmm"),
    "spgm-rr, qr": named("spgm-rr", retraction="qr", refresh=3),
    "spgm-rr, fixed": named("spgm-rr", length="fixed"),
    "manpg, dual": named("manpg", inner="dual"),
    "manpg-ada, dual": named("manpg-ada", inner="dual"),
}
LOOPS = {
    "madmm": named("madmm", most_inner=6),
    "manial-1": named("manial-1", most_inner=6),
    "manial-2": named("manial-2", most_inner=6, dual_step="damped"),
    "socm": named("socm"),
    "socm, two blocks": named("socm", form="two-block", most_inner=8),
    "socm, linearised": named("socm", solve="linearised", most_inner=2),
}
"""Methods with inner loops. Inner steps whose lengths are quotients of differences magnify a rounding error."""
METHODS |= LOOPS
SWEEPS = {f"obcd, {sweep}": named("obcd", sweep=sweep, refresh=2) for sweep in ("sequential", "jacobi")}
"""The pairs of OBCD are turned on the host."""
TURNED = {name: PROBLEMS[name] for name in ("l1 minus largest-k", "negative part", "compressed modes")} | {
    "l0": lambda a: Problem.of(LeastSquares(a(B), a(Y), 0.1) + 0.3 * L0() @ (2.0 * Entries(a(MASK))), over=M),
    "weights": lambda a: Problem.of(
        LeastSquares(a(B), a(Y), 0.1) - 0.1 * L1() + 0.5 * WeightedL1(a(1.0 * MASK)), over=M
    ),
    "nonnegative": lambda a: Problem.of(LeastSquares(a(B), a(Y), 0.1) + Nonnegative(), over=M),
}
ALL = PROBLEMS | TURNED | {"nonnegative components": lambda a: nonnegative_pca(a(B), n_components=R)}


LIBRARIES = [pytest.param(name) if isinstance(name, str) else name for name in NAMES]

# Every method on every problem, its variants on a few, inner loops on some.
FEW = ("l1 minus largest-k", "groups of a matrix", "stack of three", "largest magnitude")
SOME = ("l1 minus largest-k", "mcp of differences", "stack of three", "compressed modes")
SOME += ("entries, scad minus largest-k", "own function, unknown constant")
PAIRS = [
    (problem, method)
    for problem in PROBLEMS
    for method in METHODS
    if (problem in SOME if method in LOOPS else problem in FEW or "," not in method)
    and takes(METHODS[method], PROBLEMS[problem](np.asarray))
]
TURNS = [
    pytest.param(problem, method, marks=needs_numba if "sequential" in method else ())
    for problem in TURNED
    for method in SWEEPS
]
TURNS += [("nonnegative components", "assignment")]
METHODS |= SWEEPS | {"assignment": Assignment()}


def names(case):
    """Problem and method of a case, which may carry marks."""
    return getattr(case, "values", case)


def spread(cases, times):
    """Each method on so many problems, the least tried first."""
    tried, kept = Counter(), []
    for method in dict.fromkeys(names(case)[1] for case in cases):
        own = sorted((case for case in cases if names(case)[1] == method), key=lambda case: tried[names(case)[0]])
        tried.update(names(case)[0] for case in own[:times])
        kept += own[:times]
    return kept


def everywhere(cases, times=2):
    """Cases in every library; JAX, which compiles each anew, has every method and every problem, but not every pair."""
    short = spread(cases, times)
    for name in LIBRARIES:
        for case in short if "jax" in names(name) else cases:
            marks = (*getattr(name, "marks", ()), *getattr(case, "marks", ()))
            yield pytest.param(*names(name), *names(case), marks=marks)


def test_what_is_compiled_has_every_method_and_every_problem():
    cases = [*PAIRS, *TURNS]
    for place in (0, 1):
        assert {names(case)[place] for case in spread(cases, 2)} == {names(case)[place] for case in cases}


@pytest.mark.parametrize(("library", "problem", "method"), list(everywhere([*PAIRS, *TURNS])), indirect=["library"])
def test_single_steps(library, problem, method):
    # ManPG solves its subproblem until |E|^2 is 1e-11; from one library to another the last inner step may differ.
    tolerance = 1e-8 if method.startswith("manpg") else 1e-10
    looped = method in LOOPS or method in SWEEPS
    if looped:
        tolerance = 1e-9 if method.startswith(("socm", "obcd")) else 1e-5
    here, there = ALL[problem](np.asarray), ALL[problem](library.asarray)
    solver = METHODS[method].for_problem(here)
    X0 = here.M.random(3)
    begun = solver.init(there, library.asarray(X0))
    assert apart(numbers(solver.init(here, X0)), numbers(begun)) < (1e-9 if looped else 1e-10)
    backend = backend_of(library.asarray(X0))
    moved, start = 0.0, solver.init(here, X0)
    if here.f.lipschitz is None and hasattr(start, "L"):  # a guess far too small is doubled as often everywhere
        start = replace(start, L=1e-9)
    for before, after in islice(pairwise(iterate(here, solver, start)), 3):
        given = carried(before, library.asarray)
        other = backend.repeat(solver.step, there, given, 1) if solver.compilable else solver.step(there, given)
        leaves = arrays_of(other) if method in SWEEPS else filter(is_array_api_obj, parts(other))
        assert all(library.owns(leaf) for leaf in leaves)
        assert apart(numbers(after), numbers(other)) < tolerance
        moved = max(moved, float(np.max(np.abs(solver.point(after) - X0))))
    assert moved > 1e-3  # they did not agree by standing still
    ours, theirs = solver.certificate(here, after), solver.certificate(there, other)
    for one, two in ((ours.y, theirs.y), (ours.z, theirs.z)):
        assert library.owns(two) and apart([one], [library.numpy(two)]) < 100 * tolerance
    crit = float(criticality(here, ours).total)
    assert float(criticality(there, theirs).total) == pytest.approx(crit, rel=1e-4, abs=1e-8)


IN_SINGLE_PRECISION = [
    (problem, method)
    for problem, method in PAIRS
    if problem in ("l1 minus largest-k", "stack of three")
    or (problem == "own function, unknown constant" and method in LOOPS)
]
IN_SINGLE_PRECISION += [(problem, "oadmm") for problem in ("plain l1, centred", "l1 minus largest-k", "stack of three")]


@pytest.mark.parametrize(
    ("library", "problem", "method"), list(everywhere([*IN_SINGLE_PRECISION, *TURNS], 1)), indirect=["library"]
)
def test_single_precision_stays(library, problem, method):
    there = ALL[problem](single(library))
    solver = {**METHODS, "oadmm": named("oadmm", explore=3, block=3, rounds=4)}[method].for_problem(there)
    start, steps = solver.init(there, single(library)(there.M.random(3))), 6 if method in SWEEPS else 4
    for state in islice(iterate(there, solver, start), steps):
        assert is_single(state)
    X = library.numpy(solver.point(state))
    assert np.all(np.isfinite(X)) and np.isfinite(float(there.objective(solver.point(state))))
    if problem in ("l0", "nonnegative"):  # zeros are exact, rounding errors of this float type are none
        assert 0 < np.count_nonzero(X) < X.size and np.min(np.abs(X[X != 0])) >= 500 * 2.0**-23
    assert float(there.M.infeasibility(solver.point(state))) < 1e-5

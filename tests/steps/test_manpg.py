"""One step of ManPG and ManPG-Ada from a random state, against the definition of the method."""

import numpy as np
import pytest

from orthoprox import Iterations, Problem, UnsupportedProblem, named, solve
from orthoprox._fields import replace
from orthoprox.maps import LinearMap, Matrix, Selection
from orthoprox.problem import criticality
from orthoprox.solvers import ManPG, ManPGState, manpg
from orthoprox.solvers.manpg import _LOOSE, _LOOSE_GAP, _TIGHT, _TIGHT_GAP
from orthoprox.terms import L1, MCP, SCAD, GroupL2, LargestK, Linear, LInf, Nuclear, Quadratic
from steps.cases import PROBLEMS, C, M, N, R, S, T
from steps.checks import check_products, prox_terms, smooth_gradient, sym

Q = 1.6 * np.linalg.qr(np.random.default_rng(8).standard_normal((N, N)))[0]
KNOWN = {kind: h for kind, h in prox_terms(N, R).items() if h.has_prox_derivative}
PLAIN = {
    **{name: PROBLEMS[name] for name in ("l1 minus largest-k", "plain l1, centred", "scad minus largest-k")},
    **{name: PROBLEMS[name] for name in ("own function", "own function, unknown constant")},
    **{kind: Problem.of(Quadratic(S) + Linear(T) - 0.2 * LargestK(4) + h, over=M) for kind, h in KNOWN.items()},
}
TIGHT_MAPS = {
    "l1 of a turned space": Problem.of(Quadratic(S) - 0.2 * LargestK(4) + 0.5 * L1() @ Matrix(Q), over=M),
    "rows of some rows": Problem.of(Quadratic(S) + Linear(T) + 0.8 * GroupL2() @ Matrix(Q[:5]), over=M),
    "mcp of chosen rows": Problem.of(Quadratic(S) + 0.3 * MCP(0.6, 3.0) @ Selection([7, 2, 4], columns=N), over=M),
    "columns, scaled": Problem(M=M, f=Quadratic(S), h=0.7 * GroupL2("columns"), A=-0.5 * Matrix(Q[2:])),
}
DUAL = {
    **{name: PROBLEMS[name] for name in ("groups of a matrix", "stacked", "entries", "l1 minus largest-k")},
    "nuclear of a matrix": Problem.of(Quadratic(S) + 0.5 * Nuclear() @ Matrix(C), over=M),
    "largest magnitude": Problem.of(Quadratic(S) - 0.2 * LargestK(4) + 2.0 * LInf(), over=M),
}
CASES = {(name, "newton"): problem for name, problem in {**PLAIN, **TIGHT_MAPS}.items()} | {
    (name, "dual"): problem for name, problem in DUAL.items()
}
STEP, LENGTH = 7, 0.05
SCALES = (0.02, 0.1, 3.0)  # accepted at once, shortened, given up: with this length an eighth is too long


def model(problem, X, V, s):
    linear = np.sum(smooth_gradient(problem, X) * V)
    return linear + np.sum(V * V) / (2 * s) + problem.h.value(problem.A(X + V))


def take_step(key, seed, scale, *, name="manpg", settings=None, **changes):
    """A step from a state no run would reach: V is a tangent direction along which the objective falls, of any size."""
    problem, inner = CASES[key], key[1]
    rng = np.random.default_rng(400 + seed)
    X = problem.M.project(rng.standard_normal((N, R)))
    AX = problem.A(X)
    V = -scale * problem.M.tangent(X, smooth_gradient(problem, X) + problem.A.adjoint(problem.h.subgradient(AX)))
    multiplier = sym(rng.standard_normal((R, R))) if inner == "newton" else 0.2 * rng.standard_normal(problem.shape)
    solver = named(name, inner=inner, **(settings or {"delta": 0.4, "gamma": 0.6, "floor": 1e-3}))
    state = {"t": STEP, "length": LENGTH, "length0": 0.03, "alpha": 1.0, "failures": 0, "inner": 0, **changes}
    old = ManPGState(now=problem.at(X), V=V, multiplier=multiplier, y=AX, **state)
    return problem, solver, old, solver.step(problem, old)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("key", CASES, ids="-".join)
def test_a_step_is_as_defined(key, scale):
    problem, solver, old, new = take_step(key, SCALES.index(scale), scale)
    # X is the first fraction of V that decreases enough
    X, V, alpha = old.now.X, old.V, 1.0
    while problem.objective(M.project(X + alpha * V)) > problem.objective(X) - 0.4 * alpha / LENGTH * np.sum(V * V):
        alpha *= 0.6
        if alpha < 1e-3:
            break
    assert new.alpha == pytest.approx(alpha)
    assert np.allclose(new.now.X, M.project(X + alpha * V), atol=1e-12)
    assert new.failures == (alpha < 1e-3)
    assert (new.t, new.length, new.length0, solver.work(new)) == (STEP + 1, LENGTH, 0.03, STEP + 1)
    check_products(problem, new.now)
    check_direction(problem, solver, new)
    # two parts of the certificate are exact
    certificate = solver.certificate(problem, new)
    assert certificate.point is new.now and solver.point(new) is new.now.X
    found = criticality(problem, certificate)
    assert found.dual < 1e-9
    assert found.primal == pytest.approx(np.linalg.norm(new.now.AX - new.y), abs=1e-12)
    assert found.stationarity == pytest.approx(np.linalg.norm(M.tangent(new.now.X, new.V)) / LENGTH, abs=1e-9)


def check_direction(problem, solver, new):
    """V solves the tangent subproblem at the new point."""
    X, V, rng = new.now.X, new.V, np.random.default_rng(0)
    G = smooth_gradient(problem, X)
    if solver.inner == "newton":
        largest, share = _TIGHT if new.failures else _LOOSE
        E, allowed = X.T @ V + V.T @ X, 1e-4
        assert np.sum(E * E) <= max(min(largest, share * np.sum(V * V)), 1e-26)
        W = problem.A(X - LENGTH * G + 2 * LENGTH * X @ new.multiplier)
        assert np.allclose(new.y, problem.h.prox(W, LENGTH * problem.A.tightness), atol=1e-12)
        assert np.allclose(new.y, problem.A(X + V), atol=1e-12)
        assert np.allclose(new.multiplier, new.multiplier.T, atol=1e-10)
    else:
        assert np.linalg.norm(X.T @ V + V.T @ X) < 1e-13
        assert np.allclose(V, -LENGTH * M.tangent(X, G + problem.A.adjoint(new.multiplier)), atol=1e-12)
        least, share = _TIGHT_GAP if new.failures else _LOOSE_GAP
        allowed = max(least, share / LENGTH * np.sum(V * V)) * (1 + 1e-9) + 1e-13
    rivals = [M.tangent(X, V + scale * rng.standard_normal((N, R))) for scale in (1e-3, 1e-2, 0.1, 1.0)]
    assert all(model(problem, X, V, LENGTH) <= model(problem, X, rival, LENGTH) + allowed for rival in rivals)


@pytest.mark.parametrize("scale", [0.02, 3.0])
@pytest.mark.parametrize("length", [0.03, 0.0301, 0.05])
def test_the_adaptive_length(scale, length):
    problem, _, _, new = take_step(("rows", "newton"), 0, scale, name="manpg-ada", settings={}, length=length)
    assert (new.alpha == 1) == (scale == 0.02)
    assert new.length == pytest.approx(1.01 * length if scale == 0.02 else max(0.03, length / 1.01), rel=1e-14)
    X, s = new.now.X, new.length
    W = X - s * smooth_gradient(problem, X) + 2 * s * X @ new.multiplier
    assert np.allclose(X + new.V, problem.h.prox(W, s), atol=1e-12)


def test_the_adaptive_length_ends_where_the_subproblem_stops_being_convex():
    longest = 0.5 / PLAIN["mcp"].h.weak_convexity
    lengths = {"length": 0.999 * longest, "length0": 0.1 * longest}
    new = take_step(("mcp", "newton"), 1, 0.001, name="manpg-ada", settings={}, **lengths)[3]
    assert new.alpha == 1
    assert new.length == pytest.approx(longest)


def test_manpg_ada_is_a_setting_of_manpg():
    assert isinstance(named("manpg-ada"), ManPG) and replace(named("manpg"), growth=1.01) == named("manpg-ada")
    assert replace(named("manpg-ada"), growth=1.0).name == "manpg"
    assert named("manpg", growth=1.5).name == "manpg-ada" != named("manpg").summary != named("manpg-ada").summary


@pytest.mark.parametrize(("failures", "scale"), [(0, 0.02), (10, 0.02), (11, 0.02), (0, 3.0)])
@pytest.mark.parametrize(("kind", "inner"), [("rows", "newton"), ("groups of a matrix", "dual")])
def test_a_failed_search_tightens_the_next_subproblem(monkeypatch, kind, inner, failures, scale):
    asked = {}
    function = "tangent_step" if inner == "newton" else "dual_tangent_step"
    original = getattr(manpg, function)
    monkeypatch.setattr(manpg, function, lambda *a, **kw: asked.update(kw, first=a[4]) or original(*a, **kw))
    *_, old, new = take_step((kind, inner), 0, scale, settings={"floor": 0.5}, failures=failures)
    assert asked["first"] is old.multiplier  # a warm start
    failed = scale == 3.0
    assert new.failures == failures + failed
    loose, tight = (_LOOSE, _TIGHT) if inner == "newton" else (_LOOSE_GAP, _TIGHT_GAP)
    wanted = tight if failed or failures > 10 else loose
    assert (asked["largest" if inner == "newton" else "least"], asked["share"]) == wanted


@pytest.mark.parametrize("name", ["manpg", "manpg-ada"])
def test_the_start(name):
    problem = PLAIN["l1 minus largest-k"]
    solver = named(name).for_problem(problem)
    assert solver.length == pytest.approx(1 / problem.f.lipschitz)
    X = problem.M.random(0)
    state = solver.init(problem, X)
    assert (state.t, state.alpha, state.failures) == (0, 1.0, 0)
    assert state.length == state.length0 == solver.length
    W = X - state.length * smooth_gradient(problem, X) + 2 * state.length * X @ state.multiplier
    assert np.allclose(X + state.V, problem.h.prox(W, state.length), atol=1e-13)
    assert np.linalg.norm(X.T @ state.V + state.V.T @ X) < 1e-5


def test_lengths_where_f_has_no_curvature_to_divide_by():
    def first(problem, **settings):
        return named("manpg", **settings).for_problem(problem).init(problem, M.random(0)).length

    flat = Problem.of(Linear(T) + 0.5 * L1(), over=M)
    assert first(flat) == pytest.approx(np.sqrt(R) / (0.5 * np.sqrt(N * R)))
    assert first(flat, length=0.7) == 0.7
    mapped = Problem.of(0.5 * L1() @ Matrix(3.0 * C), over=M)
    wanted = np.sqrt(R) / (0.5 * np.sqrt(6 * R) * np.linalg.norm(3 * C, 2))
    assert first(mapped, inner="dual") == pytest.approx(wanted, rel=1e-6)
    assert first(Problem.of(Linear(1e6 * T), over=M)) == pytest.approx(1e-6 / np.linalg.norm(T))
    assert 0.1 < first(PLAIN["own function, unknown constant"]) < 100
    weak = Problem.of(Quadratic(1e-3 * S) + 0.3 * SCAD(0.5, 3.7), over=M)
    assert named("manpg").for_problem(weak).length == pytest.approx(0.5 / weak.h.weak_convexity)
    weak = Problem.of(Quadratic(1e-3 * S) + 0.3 * MCP(0.6, 3.0) @ Matrix(Q), over=M)
    longest = 0.5 / (weak.h.weak_convexity * 1.6**2)
    assert named("manpg").for_problem(weak).length == pytest.approx(longest)
    with pytest.raises(ValueError, match=rf"length must be below 1 / \(W_h \|A\|\^2\) = {2 * longest:.5g}"):
        named("manpg", length=2.1 * longest).init(weak, M.random(0))


class Backwards(LinearMap):
    """X -> X with its columns in reverse: A A' = I, but not a product from the left."""

    left = False
    norm = tightness = 1.0
    columns = None

    def __call__(self, X):
        return X[:, ::-1]

    adjoint = __call__

    def rows(self, n):
        return n

    def cost(self, n):
        return n


BACKWARDS = Problem(M=M, f=Quadratic(S), h=0.5 * L1(), A=Backwards())


@pytest.mark.parametrize("name", ["manpg", "manpg-ada"])
def test_problems_outside_the_scope_are_refused(name):
    for problem in (*(PROBLEMS[kind] for kind in ("groups of a matrix", "mcp of differences", "entries")), BACKWARDS):
        with pytest.raises(
            UnsupportedProblem, match=rf"{name} needs A = I or A A\^T = c I; given .* Pass inner='dual'"
        ):
            solve(problem, name)
    with pytest.raises(UnsupportedProblem, match="known derivative .*; given Nuclear. Pass inner='dual'"):
        solve(Problem.of(Quadratic(S) + Nuclear(), over=M), name)
    for kind in ("mcp of differences", "scad minus largest-k"):
        with pytest.raises(UnsupportedProblem, match=f"{name} with inner='dual' needs a convex h; given (MCP|SCAD)"):
            solve(PROBLEMS[kind], named(name, inner="dual"))
    for problem, mapped in ((BACKWARDS, True), (DUAL["largest magnitude"], False)):
        notes = solve(problem, named(name, inner="dual"), stop=Iterations(1)).notes
        assert any("a map other than the identity" in note for note in notes) == mapped


@pytest.mark.parametrize("kind", ["back to zero", "long"])
def test_products_are_not_carried_along_a_step_that_would_lose_their_digits(kind):
    """Such a V is what an inner method returns that ended at its last step."""
    problem, X = PROBLEMS["groups of a matrix"], M.random(0)
    D = np.random.default_rng(1).standard_normal((N, R))
    off = D[:, :1] - X @ (X.T @ D[:, :1])
    V = 1e-12 * D - X if kind == "back to zero" else 1e9 * off @ np.ones((1, R))
    solver = ManPG(inner="dual", gamma=1 - 1e-13, floor=1 - 1e-14)  # takes nearly all of V, accepted or not
    fields = {"t": 0, "length": 0.05, "length0": 0.05, "alpha": 1.0, "failures": 0, "inner": 100}
    old = ManPGState(now=problem.at(X), V=V, multiplier=problem.A(0 * X), y=problem.A(X), **fields)
    check_products(problem, solver.step(problem, old).now)

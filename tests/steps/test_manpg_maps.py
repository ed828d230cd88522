"""One step of ManPG with a map inside h: A A' = c I by Newton's method, any A by the dual inner solver."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest

from orthoprox import Critical, Iterations, Problem, Recorder, Stiefel, UnsupportedProblem, named, solve
from orthoprox.maps import LinearMap, Matrix, Selection
from orthoprox.problem import criticality
from orthoprox.solvers import ManPGState, _dual, manpg
from orthoprox.solvers.manpg import _LOOSE, _LOOSE_GAP, _TIGHT, _TIGHT_GAP
from orthoprox.terms import L1, MCP, GroupL2, LargestK, Linear, LInf, Nuclear, Quadratic
from steps.cases import PROBLEMS, C, M, N, R, S, T

_rng = np.random.default_rng(8)
Q = 1.6 * np.linalg.qr(_rng.standard_normal((N, N)))[0]
NEWTON = {
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
CASES = {**{(name, "newton"): problem for name, problem in NEWTON.items()}} | {
    (name, "dual"): problem for name, problem in DUAL.items()
}
STEP, LENGTH = 7, 0.05
SCALES = (0.02, 0.1, 3.0)  # accepted at once, shortened, given up


def gradient(problem, X):
    return problem.f.gradient(X) - problem.g.subgradient(X)


def model(problem, X, V, s):
    return np.sum(gradient(problem, X) * V) + np.sum(V * V) / (2 * s) + problem.h.value(problem.A(X + V))


def started(key, seed, scale, **settings):
    """A state no run would reach: V is a tangent direction along which the objective falls, of any size."""
    problem, inner = CASES[key], key[1]
    rng = np.random.default_rng(400 + seed)
    X = problem.M.project(rng.standard_normal((N, R)))
    AX = problem.A(X)
    V = -scale * problem.M.tangent(X, gradient(problem, X) + problem.A.adjoint(problem.h.subgradient(AX)))
    first = rng.standard_normal((R, R)) if inner == "newton" else rng.standard_normal(problem.shape)
    solver = named("manpg", **{"inner": inner, "delta": 0.4, "gamma": 0.6, "floor": 1e-3, **settings})
    old = ManPGState(
        t=STEP,
        now=problem.at(X),
        V=V,
        multiplier=first + first.T if inner == "newton" else 0.2 * first,
        y=AX,
        length=LENGTH,
        length0=0.03,
        alpha=1.0,
        failures=0,
        inner=0,
    )
    return problem, solver, old, solver.step(problem, old)


@pytest.fixture(
    params=[(key, seed, scale) for key in CASES for seed, scale in enumerate(SCALES)],
    ids=lambda p: f"{p[0][0]}-{p[0][1]}-{p[2]}",
)
def case(request):
    return started(*request.param)


def test_X_is_the_first_fraction_of_V_that_decreases_enough(case):
    problem, _, old, new = case
    X, V = old.now.X, old.V
    alpha = 1.0
    while problem.objective(problem.M.project(X + alpha * V)) > (
        problem.objective(X) - 0.4 * alpha / LENGTH * np.sum(V * V)
    ):
        alpha *= 0.6
        if alpha < 1e-3:
            break
    assert new.alpha == pytest.approx(alpha)
    assert np.allclose(new.now.X, problem.M.project(X + alpha * V), atol=1e-12)
    assert new.failures == (alpha < 1e-3)


def test_the_state_moves_on_with_true_products(case):
    problem, _, _, new = case
    fresh = problem.at(new.now.X)
    assert (new.t, new.length, new.length0) == (STEP + 1, LENGTH, 0.03)
    assert np.allclose(fresh.AX, new.now.AX, atol=1e-12)
    assert np.allclose(fresh.HX, new.now.HX, atol=1e-11)


def test_V_solves_the_tangent_subproblem_at_the_new_point(case):
    problem, solver, _, new = case
    X, V, rng = new.now.X, new.V, np.random.default_rng(0)
    if solver.inner == "newton":
        largest, share = _TIGHT if new.failures else _LOOSE
        E = X.T @ V + V.T @ X
        assert np.sum(E * E) <= max(min(largest, share * np.sum(V * V)), 1e-26)
        allowed = 1e-4
    else:
        assert np.linalg.norm(X.T @ V + V.T @ X) < 1e-13
        assert np.allclose(
            V, -LENGTH * M.tangent(X, gradient(problem, X) + problem.A.adjoint(new.multiplier)), atol=1e-12
        )
        least, share = _TIGHT_GAP if new.failures else _LOOSE_GAP
        allowed = max(least, share / LENGTH * np.sum(V * V)) * (1 + 1e-9) + 1e-13
    here = model(problem, X, V, LENGTH)
    for scale in (1e-3, 1e-2, 0.1, 1.0):
        rival = problem.M.tangent(X, V + scale * rng.standard_normal((N, R)))
        assert here <= model(problem, X, rival, LENGTH) + allowed


def test_the_certificate_is_exact_in_two_of_its_parts(case):
    problem, solver, _, new = case
    found = criticality(problem, solver.certificate(problem, new))
    assert found.dual < 1e-9
    assert found.primal == pytest.approx(np.linalg.norm(new.now.AX - new.y), abs=1e-12)
    tangent = problem.M.tangent(new.now.X, new.V)
    assert found.stationarity == pytest.approx(np.linalg.norm(tangent) / LENGTH, abs=1e-9)
    if solver.inner == "newton":
        assert np.allclose(new.y, problem.A(new.now.X + new.V), atol=1e-12)


def test_the_cases_accept_at_once_shorten_and_give_up():
    for inner in ("newton", "dual"):
        keys = [key for key in CASES if key[1] == inner]
        fractions = {started(key, seed, scale)[3].alpha for key in keys for seed, scale in enumerate(SCALES)}
        assert 1.0 in fractions
        assert any(1e-3 <= alpha < 1 for alpha in fractions)
        assert any(alpha < 1e-3 for alpha in fractions)


@pytest.mark.parametrize(("scale", "floor"), [(0.02, 1e-3), (3.0, 0.5)])
def test_the_dual_starts_from_the_last_multiplier_and_a_failed_search_tightens_it(monkeypatch, scale, floor):
    asked = {}
    original = manpg.dual_tangent_step
    monkeypatch.setattr(manpg, "dual_tangent_step", lambda *a, **kw: asked.update(kw, u=a[4]) or original(*a, **kw))
    *_, old, new = started(("groups of a matrix", "dual"), 0, scale, floor=floor)
    assert asked["u"] is old.multiplier
    assert new.failures == (scale == 3.0)
    assert (asked["least"], asked["share"]) == (_TIGHT_GAP if new.failures else _LOOSE_GAP)


def test_one_product_with_a_map_from_the_left_in_a_search(monkeypatch):
    problem = NEWTON["l1 of a turned space"]
    solver = named("manpg", length=10 / problem.f.lipschitz, refresh=8)
    calls = []
    original = Matrix.__call__
    monkeypatch.setattr(Matrix, "__call__", lambda self, X: calls.append(self) or original(self, X))
    state = solver.init(problem, problem.M.random(0))
    calls.clear()
    shortened = 0
    for _ in range(40):
        state = solver.step(problem, state)
        shortened += state.alpha < 1
    assert shortened > 3
    # one for the search; X and G in the subproblem; and a refresh at every eighth
    assert sum(A is problem.A for A in calls) == 3 * 40 + 5


def test_lengths_know_the_norm_of_the_map():
    flat = Problem.of(0.5 * L1() @ Matrix(3.0 * C), over=M)
    state = named("manpg", inner="dual").for_problem(flat).init(flat, M.random(0))
    assert state.length == pytest.approx(np.sqrt(R) / (0.5 * np.sqrt(6 * R) * np.linalg.norm(3 * C, 2)), rel=1e-6)
    weak = Problem.of(Quadratic(1e-3 * S) + 0.3 * MCP(0.6, 3.0) @ Matrix(Q), over=M)
    longest = 0.5 / (weak.h.weak_convexity * 1.6**2)
    assert named("manpg").for_problem(weak).length == pytest.approx(longest)
    with pytest.raises(ValueError, match=r"length must be below 1 / \(W_h \|A\|\^2\)"):
        named("manpg", length=2.1 * longest).init(weak, M.random(0))


@pytest.mark.parametrize("name", ["manpg", "manpg-ada"])
@pytest.mark.parametrize("key", CASES, ids="-".join)
def test_a_run_converges_and_never_goes_up(name, key):
    problem = CASES[key]
    result = solve(
        problem, named(name, inner=key[1]), stop=Iterations(3000) | Critical(1e-5), record=Recorder(every=10)
    )
    assert result.converged
    assert np.all(np.diff(result.history["objective"]) <= 1e-12)
    assert result.infeasibility < 1e-12
    assert any("a map other than the identity" in note for note in result.notes) == (key[0] not in UNMAPPED)


UNMAPPED = ("l1 minus largest-k", "largest magnitude")


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


def test_a_tight_map_must_be_a_product_from_the_left():
    problem = Problem(M=M, f=Quadratic(S), h=0.5 * L1(), A=Backwards())
    with pytest.raises(UnsupportedProblem, match="needs A = I or"):
        solve(problem, "manpg")
    rule = Iterations(2000) | Critical(1e-5)
    mirrored = solve(problem, named("manpg", inner="dual"), stop=rule)
    assert mirrored.converged


def test_turning_the_space_turns_the_run():
    U = Q / 1.6
    turned = Problem.of(Quadratic(U.T @ S @ U) + 0.5 * L1() @ Matrix(U), over=M)
    plain = Problem.of(Quadratic(S) + 0.5 * L1(), over=M)
    X = M.random(5)
    solver = named("manpg", length=0.1)
    one, other = solver.init(plain, X), solver.init(turned, U.T @ X)
    for _ in range(20):
        assert np.allclose(one.now.X, U @ other.now.X, atol=1e-9)
        assert np.allclose(one.y, other.y, atol=1e-9)
        one, other = solver.step(plain, one), solver.step(turned, other)


def test_both_inner_solvers_lead_to_the_same_point():
    problem = PROBLEMS["l1 minus largest-k"]
    rule = Iterations(5000) | Critical(1e-6)
    one, other = (solve(problem, named("manpg", inner=inner), seed=2, stop=rule) for inner in ("newton", "dual"))
    assert one.converged
    assert other.converged
    assert one.objective == pytest.approx(other.objective, rel=1e-9)
    assert np.array_equal(one.y != 0, other.y != 0)


def outliers(D, r, inliers, count):
    """Inliers on a subspace of codimension r and outliers all over the sphere, as rows; and that subspace."""
    rng = np.random.default_rng(21)
    basis = np.linalg.qr(rng.standard_normal((D, D)))[0]
    inside = rng.standard_normal((inliers, D - r)) @ basis[:, r:].T
    points = np.vstack([inside, rng.standard_normal((count, D))])
    return points / np.linalg.norm(points, axis=1, keepdims=True), basis[:, :r]


@pytest.mark.parametrize("name", ["manpg", "manpg-ada"])
def test_dual_principal_component_pursuit_finds_the_subspace(name):
    D, r = 30, 5
    Y, normal = outliers(D, r, 500, 300)
    problem = Problem.of(GroupL2(weight=1 / len(Y)) @ Matrix(Y), over=Stiefel(D, r))
    result = solve(problem, named(name, inner="dual"), stop=Iterations(300) | Critical(1e-7))
    assert result.converged
    # X spans the orthogonal complement of the inliers
    assert np.linalg.norm(result.X - normal @ (normal.T @ result.X)) < 1e-6
    assert np.sum(np.linalg.norm(result.y, axis=1) == 0) == 500


@pytest.mark.parametrize(("kind", "inner"), [("rows of some rows", "newton"), ("groups of a matrix", "dual")])
def test_the_same_steps_in_the_strict_library(kind, inner):
    array_api_strict.set_array_api_strict_flags(boolean_indexing=False)
    here = CASES[kind, inner]
    a = array_api_strict.asarray
    f = Quadratic(a(S)) + Linear(a(T))
    there = Problem.of(f + 0.8 * GroupL2() @ Matrix(a(Q[:5] if inner == "newton" else C)), over=M)
    solver = named("manpg", inner=inner).for_problem(here)
    one, other = solver.init(here, M.random(3)), solver.init(there, a(M.random(3)))
    for _ in range(10):
        assert np.allclose(one.now.X, np.asarray(other.now.X), atol=1e-10)
        assert np.allclose(one.y, np.asarray(other.y), atol=1e-8)
        assert one.inner == other.inner
        one, other = solver.step(here, one), solver.step(there, other)


def test_the_gap_that_is_allowed_leaves_a_descent_direction():
    # <G, V> + h(A(X + V)) - h(A(X)) bounds the slope of the objective along V; a tenth leaves 0.55 |V|^2 / length.
    for key, problem in CASES.items():
        if key[1] == "dual":
            for seed in range(10):
                X = M.project(np.random.default_rng(900 + seed).standard_normal((N, R)))
                G, at = gradient(problem, X), problem.at(X)
                found = _dual.dual_tangent_step(problem, at, G, 0.1, 0 * at.AX, least=0.0, share=0.1)
                slope = np.sum(G * found.V) + problem.h.value(problem.A(X + found.V)) - problem.h.value(at.AX)
                assert slope <= -0.55 * np.sum(found.V**2) / 0.1 + 1e-12

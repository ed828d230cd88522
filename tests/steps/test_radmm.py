"""One step of RADMM from a random state, against its definition; where it walks with OADMM-RR; known answers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from orthoprox import Critical, Iterations, Problem, Recorder, Stiefel, UnsupportedProblem, iterate, named, solve
from orthoprox.models import compressed_modes
from orthoprox.solvers.radmm import RADMM, RADMMState
from orthoprox.terms import L1, MCP, ExplainedVariance, LargestK, Zero
from steps.cases import PROBLEMS, N, R, augmented, numerical_gradient, random_triple

T, BETA, MU = 7, 15.0, 0.3
PUBLISHED = {0.05: 2.936859, 0.10: 4.814427}


def factor(Y, by):
    """The polar or the orthogonal factor with positive diagonal."""
    if by == "polar":
        U, _, Vt = np.linalg.svd(Y, full_matrices=False)
        return U @ Vt
    Q, upper = np.linalg.qr(Y)
    return Q * np.sign(np.diag(upper))


def state_at(problem, seed, L=30.0):
    _, X, _, y, z = random_triple(problem, seed)
    return RADMMState(t=T, now=problem.at(X), y=y, z=z, L=L if problem.f.lipschitz is None else problem.f.lipschitz)


@pytest.fixture(
    params=[
        (name, seed, by, eta)
        for seed, (name, by, eta) in enumerate(itertools.product(PROBLEMS, ("polar", "qr"), (0.02, None)))
    ],
    ids=lambda p: f"{p[0]}-{p[2]}-{p[3]}",
)
def case(request):
    name, seed, by, eta = request.param
    problem = PROBLEMS[name]
    old = state_at(problem, seed)
    solver = RADMM(beta=BETA, mu=MU, eta=eta, retraction=by)
    return problem, solver, old, solver.step(problem, old)


def test_X_is_a_riemannian_gradient_step(case):
    problem, solver, old, new = case
    X = old.now.X
    G = numerical_gradient(lambda V: augmented(problem, V, old.y, old.z, BETA), X) - problem.g.subgradient(X)
    D = G - X @ (X.T @ G + G.T @ X) / 2
    eta = solver.eta or 1 / (new.L + BETA * problem.A.norm**2)
    assert np.allclose(new.now.X, factor(X - eta * D, solver.retraction), atol=1e-7)
    assert new.L == old.L
    assert np.linalg.norm(new.now.X - X) > 1e-3


def test_y_minimises_the_smoothed_h_and_z_takes_a_full_step(case):
    problem, _, old, new = case
    AX = problem.A(new.now.X)
    b = AX + old.z / BETA
    y_breve = problem.h.prox(b, MU + 1 / BETA)
    y = (y_breve + MU * BETA * b) / (1 + MU * BETA)
    assert np.allclose(new.y, y, atol=1e-12)
    assert np.allclose(new.z, old.z + BETA * (AX - y), atol=1e-11)


def test_the_certificate_is_the_prox_point_and_the_multiplier(case):
    problem, solver, old, new = case
    certificate = solver.certificate(problem, new)
    y_breve = problem.h.prox(problem.A(new.now.X) + old.z / BETA, MU + 1 / BETA)
    assert np.allclose(certificate.y, y_breve, atol=1e-12)
    assert certificate.z is new.z
    assert certificate.point is new.now
    assert problem.h.subgradient_distance(certificate.y, certificate.z) < 1e-9
    assert solver.point(new) is new.now.X


def test_the_state_moves_on_with_true_products(case):
    problem, _, _, new = case
    fresh = problem.at(new.now.X)
    assert new.t == T + 1
    assert np.allclose(fresh.AX, new.now.AX, atol=1e-13)
    assert (fresh.HX is None) == (new.now.HX is None)
    assert fresh.HX is None or np.allclose(fresh.HX, new.now.HX, atol=1e-12)


def test_the_first_state():
    problem = PROBLEMS["groups of a matrix"]
    solver = RADMM(beta=2.0)
    X = problem.M.random(0)
    state = solver.init(problem, X)
    assert (state.t, state.now.X is X, state.L) == (0, True, problem.f.lipschitz)
    assert (state.y == problem.A(X)).all()
    assert (state.z == 0).all()
    assert solver.certificate(problem, state).y is state.y
    with pytest.raises(ValueError, match="radmm has no beta yet"):
        RADMM().init(problem, X)


def test_an_unknown_constant_is_doubled_until_the_model_is_an_upper_bound():
    problem = PROBLEMS["own function, unknown constant"]
    old = state_at(problem, 0, L=1e-6)
    new = RADMM(beta=1e-3, mu=MU).step(problem, old)
    X, f, D = old.now.X, problem.f, new.now.X - old.now.X
    assert f.value(new.now.X) <= f.value(X) + np.sum(f.gradient(X) * D) + new.L / 2 * np.sum(D**2) + 1e-12
    doublings = np.log2(new.L / 1e-6)
    assert doublings > 1 and doublings == pytest.approx(round(doublings))
    chosen = RADMM().for_problem(problem)
    assert chosen.eta is None and 0.1 < chosen.beta < 30
    assert 0.1 < chosen.init(problem, X).L < 30


def test_settings_are_chosen_for_the_problem():
    problem = PROBLEMS["groups of a matrix"]
    L, norm = problem.f.lipschitz, problem.A.norm
    chosen = RADMM().for_problem(problem)
    assert chosen.beta == pytest.approx(L / norm**2)
    assert chosen.mu == pytest.approx(1e-8 / chosen.beta)
    assert chosen.eta == pytest.approx(1 / (2 * L))
    strict = RADMM(strict_theory=True).for_problem(problem)
    assert strict.mu == pytest.approx(4 / strict.beta)
    assert strict.eta == pytest.approx(1 / (4 * L))
    given = RADMM(beta=3.0, mu=0.1, eta=0.2)
    assert given.for_problem(problem) is given
    assert RADMM(beta=3.0).for_problem(problem).eta == pytest.approx(1 / (L + 3 * norm**2))
    # An f without curvature leaves the slope of h; nothing at all leaves 1.
    bare = Problem(M=Stiefel(N, R), h=L1(0.3))
    assert RADMM().for_problem(bare).beta == pytest.approx(0.3 * np.sqrt(N * R) / np.sqrt(R))
    assert RADMM().for_problem(Problem(M=Stiefel(N, R))).beta == 1.0
    weak = Problem(M=Stiefel(N, R), f=Zero(), h=MCP(0.1, 0.01))
    for solver in (RADMM(), RADMM(strict_theory=True), RADMM(mu=0.2 / weak.h.weak_convexity)):
        chosen = solver.for_problem(weak)
        assert (chosen.mu + 1 / chosen.beta) * weak.h.weak_convexity <= 0.5 + 1e-12
        chosen.init(weak, weak.M.random(0))


def test_presets_are_those_of_the_paper():
    assert RADMM.preset("I") == RADMM(beta=100.0)
    assert RADMM.preset("II", retraction="qr") == RADMM(beta=10_000.0, retraction="qr")
    with pytest.raises(ValueError, match="The presets of radmm are I, II; given 'III'"):
        RADMM.preset("III")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"beta": 0.0}, "beta must be positive"),
        ({"mu": -1.0}, "mu must not be negative"),
        ({"eta": 0.0}, "eta must be positive"),
        ({"retraction": "cayley"}, "retraction must be 'polar' or 'qr'"),
    ],
)
def test_settings_outside_their_range_are_refused(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        RADMM(**settings)


def test_a_smoothing_too_large_for_a_weakly_convex_h_is_refused():
    problem = PROBLEMS["mcp of differences"]
    W = problem.h.weak_convexity
    for settings in ({"beta": 0.9 * W}, {"beta": 100 * W, "mu": 0.6 / W}):
        with pytest.raises(ValueError, match=r"radmm needs mu \+ 1/beta < 1/W_h"):
            solve(problem, RADMM(**settings))


def test_the_scope_is_said():
    class Jump(L1):
        def lipschitz_constant(self, shape):
            return np.inf

    problem = Problem(M=Stiefel(N, R), h=Jump())
    with pytest.raises(UnsupportedProblem, match="radmm needs a Lipschitz h; given Jump"):
        solve(problem, RADMM())
    told = Problem.of(ExplainedVariance(np.eye(N)) - LargestK(3) + MCP(), over=Stiefel(N, R))
    notes = solve(told, RADMM(), stop=Iterations(2)).notes
    assert any("dc_linearised" in note for note in notes)
    assert any("only weakly convex" in note for note in notes)
    assert (RADMM.name, RADMM.complexity, RADMM.compilable) == ("radmm", "O(eps^-4)", True)


def test_one_product_with_the_data_per_iteration(monkeypatch):
    problem = PROBLEMS["plain l1, centred"]
    solver = RADMM().for_problem(problem)
    state = solver.init(problem, problem.M.random(0))
    calls = []
    gram = type(problem.f.gram)
    original = gram.__call__
    monkeypatch.setattr(gram, "__call__", lambda self, X: calls.append(1) or original(self, X))
    for _ in range(10):
        state = solver.step(problem, state)
    assert len(calls) == 10


@pytest.mark.parametrize("by", ["polar", "qr"])
@pytest.mark.parametrize("name", ["l1 minus largest-k", "plain l1, centred", "scad minus largest-k", "entries"])
def test_oadmm_rr_with_a_fixed_penalty_and_the_first_length_accepted(name, by):
    # With xi = 0 the penalty stays, sigma = 1 is a full dual step and rho = 1/2 makes G_rho the projected gradient.
    problem = PROBLEMS[name]
    beta, tau = 4 * problem.f.lipschitz, 4.0
    other = named("oadmm-rr", beta0=beta, xi=0.0, sigma=1.0, tau=tau, rho=0.5, retraction=by, strict_theory=False)
    solver = RADMM(beta=beta, mu=tau / beta, eta=1 / beta, retraction=by)
    X0 = problem.M.random(5)
    walks = (iterate(problem, s, s.init(problem, X0)) for s in (solver, other))
    for ours, theirs in itertools.islice(zip(*walks, strict=True), 61):
        assert theirs.trials <= 1
        assert np.allclose(ours.now.X, theirs.now.X, atol=1e-10)
        assert np.allclose(ours.y, theirs.y, atol=1e-10)
        assert np.allclose(ours.z, theirs.z, atol=1e-9 * beta)
        mine, yours = solver.certificate(problem, ours), other.certificate(problem, theirs)
        assert np.allclose(mine.y, yours.y, atol=1e-10)
    assert np.max(np.abs(ours.now.X - X0)) > 1e-2


def test_principal_components(rng):
    D = rng.standard_normal((60, 15)) * 0.7 ** np.arange(15)
    problem = Problem.of(ExplainedVariance(D, 1 / 60), over=Stiefel(15, 3))
    result = solve(problem, RADMM(), stop=Iterations(4000) | Critical(1e-9), record=Recorder(every=50))
    assert result.converged
    assert -2 * result.objective == pytest.approx(np.linalg.eigvalsh(D.T @ D / 60)[-3:].sum(), rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("weight", PUBLISHED)
def test_compressed_modes(weight):
    problem = compressed_modes(128, n_components=10, weight=weight)
    values = []
    for seed in range(3):
        start = solve(problem, "subgradient", seed=seed, stop=Iterations(500), record=Recorder(every=500))
        result = solve(problem, RADMM(), start.X, stop=Iterations(10_000), record=Recorder(every=5000))
        assert result.infeasibility < 1e-12
        values.append(result.objective)
    assert min(values) == pytest.approx(PUBLISHED[weight], rel=1e-4)

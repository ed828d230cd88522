"""One step of SOCM from a random state, against its definition."""

import numpy as np
import pytest

from orthoprox import Problem, named, solve
from orthoprox.maps import Centred, Difference, Gram, Identity, Matrix
from orthoprox.solvers import SOCMState, UnsupportedProblem
from orthoprox.terms import L1, MCP, ExplainedVariance, LargestK, LeastSquares, Linear, Quadratic, QuadraticTerm
from steps.cases import NOT_LEFT, PROBLEMS, B, C, M, N, R, S, T, Y, numerical_gradient, random_triple
from steps.checks import factor

BETA, LAM = 40.0, 15.0
PLAIN = [name for name in PROBLEMS if isinstance(PROBLEMS[name].A, Identity)]


def random_state(problem, solver, seed, **other):
    rng, P, X, y, z = random_triple(problem, seed)
    start = solver.init(problem, P)
    X = X + 0.3 * rng.standard_normal(X.shape)
    B = 0.2 * rng.standard_normal(X.shape)
    return SOCMState(**{**vars(start), "t": 7, "X": X, "B": B, "y": y, "z": z, "inner": 50, **other})


# Data of few rows, for which the X-step goes by Woodbury's identity
FEW = {
    "l1": Problem.of(ExplainedVariance(C[:3], 2.0) + 0.7 * L1(), over=M),
    "centred, minus largest-k": Problem.of(ExplainedVariance(Centred(C[:2]), 0.4) - 0.2 * LargestK(4) + L1(), over=M),
    "least squares, mcp": Problem.of(LeastSquares(C[3:5], Y[:2], 0.7) + 0.4 * MCP(0.6, 3.0), over=M),
    "a negative weight": Problem.of(LeastSquares(C[:1], Y[:1], -0.3) + 0.4 * L1(), over=M),
}


def model(problem, old, two=False):
    """What the X-step minimises, h apart."""
    xi = problem.g.subgradient(old.P)

    def value(X):
        smooth = problem.f.value(X) - np.sum(xi * X) + BETA / 2 * np.sum((X - old.P + old.B) ** 2)
        return smooth if two else smooth + LAM / 2 * np.sum((problem.A(X) - old.y + old.z / LAM) ** 2)

    return value


FORMED = {
    "linear": Problem.of(Quadratic(S, 0.3) + Linear(T) + L1() @ Matrix(C), over=M),
    "gram": Problem.of(ExplainedVariance(Gram(Matrix(B)), 1e-3) + L1() @ Matrix(C), over=M),
    "composed": Problem.of(Quadratic(np.eye(N - 1)) @ Difference() + L1() @ Matrix(C), over=M),
    "no f": Problem.of(L1(), over=M),
    "four rows": Problem.of(ExplainedVariance(C[:4], 0.1) + L1(), over=M),  # too many for the small inverse to pay
    "three rows and a map": Problem.of(ExplainedVariance(C[:3], 0.1) + L1() @ Matrix(B), over=M),
    "three rows and a slope": Problem.of(ExplainedVariance(C[:3], 0.1) + Linear(T) + L1(), over=M),
}
FACTORED = {name: PROBLEMS[name] for name in PROBLEMS if name not in ("stacked", "entries") and "own" not in name}
FACTORED |= FORMED | FEW


def check_step(problem, solver, old, new):
    """P, B and the book-keeping, the same in every form; y and z, where they are split off; the certificate."""
    assert np.allclose(new.P, factor(new.X + old.B), atol=1e-12)
    assert np.allclose(new.B, old.B + new.X - new.P, atol=1e-12)
    assert (new.t, new.beta, new.lam, new.inverse is old.inverse) == (8, BETA, LAM, True)
    if solver.form == "three-block":
        AX = problem.A(new.X)
        y = problem.h.prox(AX + old.z / LAM, 1 / LAM)
        assert np.allclose(new.y, y, atol=1e-12)
        assert np.allclose(new.z, old.z + LAM * (AX - y), atol=1e-11)
        assert problem.h.subgradient_distance(new.y, new.z) < 1e-9
    certificate = solver.certificate(problem, new)
    assert solver.point(new) is certificate.point.X is new.P
    assert problem.f.product(new.P) is None or np.allclose(certificate.point.HX, problem.f.product(new.P))
    assert (certificate.y is new.y, certificate.z is new.z) == (True, True)


@pytest.mark.parametrize("name", FACTORED)
@pytest.mark.parametrize("seed", range(3))
def test_a_factored_step_minimises_its_model(name, seed):
    problem = FACTORED[name]
    solver = named("socm", beta=BETA, lam=LAM)
    old = random_state(problem, solver, seed)
    new = solver.step(problem, old)
    assert np.allclose(numerical_gradient(model(problem, old), new.X), 0, atol=1e-4)
    rows = problem.f.B.rows(N) if name in FEW else N
    assert old.inverse.shape == (rows, rows)
    # the same as by the large matrix
    C = problem.f.gradient(np.zeros((N, R)))
    H = np.concatenate([problem.f.gradient(np.eye(N)[:, k : k + R]) - C for k in (0, 3, 6)], axis=1)
    K = problem.A.adjoint(problem.A(np.eye(N)))
    right = BETA * (old.P - old.B) + problem.A.adjoint(LAM * old.y - old.z) + problem.g.subgradient(old.P) - C
    assert np.allclose(new.X, np.linalg.solve(H + BETA * np.eye(N) + LAM * K, right), atol=1e-12)
    check_step(problem, solver, old, new)
    assert (new.inner, new.L, solver.work(new)) == (50, problem.f.lipschitz, 8)


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "own function, unknown constant"])
@pytest.mark.parametrize("steps", [1, 3])
def test_a_linearised_step_is_a_gradient_step(name, steps):
    problem = PROBLEMS[name]
    solver = named("socm", beta=BETA, lam=LAM, solve="linearised", most_inner=steps)
    old = random_state(problem, solver, 2)
    new = solver.step(problem, old)
    X, s = old.X, 1 / (problem.f.lipschitz + BETA + LAM * problem.A.norm**2)
    for _ in range(steps):
        X = X - s * numerical_gradient(model(problem, old), X)
    assert np.allclose(new.X, X, atol=1e-6)
    check_step(problem, solver, old, new)
    assert (new.inner, new.L, new.inverse, solver.work(new)) == (50 + steps, problem.f.lipschitz, None, 50 + steps)


@pytest.mark.parametrize("name", [name for name in PLAIN if name != "own function, unknown constant"])
@pytest.mark.parametrize("most", [4, 400])
def test_a_two_block_step_is_a_proximal_gradient_loop(name, most):
    problem = PROBLEMS[name]
    solver = named("socm", beta=BETA, lam=LAM, form="two-block", most_inner=most)
    old = random_state(problem, solver, 2)
    new = solver.step(problem, old)
    X, s, steps, moved = old.X, 1 / (problem.f.lipschitz + BETA), 0, np.inf
    gradient = lambda X: numerical_gradient(model(problem, old, two=True), X)
    while steps < min(most, 40) and moved >= 1e-5:
        V = X - s * gradient(X)
        X, before = problem.h.prox(V, s), X
        steps, moved = steps + 1, np.linalg.norm(X - before) / s
    assert np.allclose(new.X, X, atol=1e-5)
    assert new.y is new.X
    check_step(problem, solver, old, new)
    assert problem.h.subgradient_distance(new.y, new.z) < 1e-6
    if most == 4:
        assert new.inner == 54
        assert np.allclose(new.z, (V - X) / s, atol=1e-4)
    else:  # to the end: the subgradient makes the gradient of the model vanish
        assert 54 < new.inner < 450
        assert np.allclose(gradient(new.X) + new.z, 0, atol=1e-4)


def test_the_way_of_solving_is_chosen(monkeypatch):
    problem = PROBLEMS["plain l1, centred"]
    X = M.random(0)
    assert named("socm").init(problem, X).inverse is not None
    assert named("socm", solve="linearised").init(problem, X).inverse is None
    assert named("socm", form="two-block").init(problem, X).inverse is None
    monkeypatch.setattr("orthoprox.solvers.socm.LARGEST", N - 1)
    assert named("socm").init(problem, X).inverse is None
    assert named("socm").init(FEW["l1"], X).inverse is not None  # three rows
    assert named("socm", solve="factored").init(problem, X).inverse is not None


def test_the_second_penalty_at_the_start():
    """Beside lam, which begins as every penalty does: steps/test_peers.py."""
    X, unknown = M.random(0), PROBLEMS["own function, unknown constant"]
    for name, form, times in (("plain l1, centred", 3, 1), ("plain l1, centred", 2, 2), ("groups of a matrix", 3, 2)):
        solver = named("socm", form="three-block" if form == 3 else "two-block").for_problem(PROBLEMS[name])
        state = solver.init(PROBLEMS[name], X)
        assert solver.beta == state.beta == pytest.approx(times * PROBLEMS[name].f.lipschitz)
        assert np.array_equal(state.X, X) and not state.B.any()
    state = named("socm").for_problem(unknown).init(unknown, X)
    assert state.beta == state.L


@pytest.mark.parametrize("B", [B, C[:3]], ids=["many rows", "few rows"])
def test_an_X_step_without_a_minimiser_is_refused(B):
    top = np.linalg.norm(B, 2) ** 2
    for h in (L1(), 0.4 * MCP(0.6, 3.0)):  # in two blocks a weakly convex h counts as curvature
        problem, W = Problem.of(ExplainedVariance(B) + h, over=M), h.weak_convexity
        with pytest.raises(ValueError, match=r"H \+ beta I must be positive definite"):
            named("socm", beta=0.99 * top + 0.9 * W, form="two-block").init(problem, M.random(0))
        assert named("socm", beta=1.01 * top + 1.1 * W, form="two-block").init(problem, M.random(0)).t == 0
    problem = Problem.of(ExplainedVariance(B) + L1(), over=M)
    sentence = r"H \+ beta I \+ lam A\*A must be positive definite"
    with pytest.raises(ValueError, match=sentence):
        named("socm", beta=0.5 * top, lam=0.49 * top).init(problem, M.random(0))
    assert named("socm", beta=0.5 * top, lam=0.51 * top).init(problem, M.random(0)).inverse is not None
    with pytest.raises(ValueError, match=sentence):
        solve(problem, named("socm", beta=0.1 * top, lam=0.1 * top))


class Own(QuadraticTerm):
    """May do anything to the columns, for all that is known."""

    weight, lipschitz = 1.0, 1.0

    def product(self, X):
        return X

    def value_at(self, X, HX):
        return np.sum(X * HX) / 2

    def gradient_at(self, X, HX):
        return HX


def test_problems_and_penalties_outside_a_form_are_refused():
    scad = PROBLEMS["scad minus largest-k"]
    with pytest.raises(ValueError, match="beta must be at least 2 W_h"):
        named("socm", beta=1.9 * scad.h.weak_convexity, form="two-block").init(scad, M.random(0))
    with pytest.raises(UnsupportedProblem, match="two-block form of socm needs A = I; given Matrix"):
        solve(PROBLEMS["groups of a matrix"], named("socm", form="two-block"))
    own = Problem(M=M, f=Own(), h=L1())
    for problem in (PROBLEMS["own function"], PROBLEMS["entries"], *NOT_LEFT.values(), own):
        with pytest.raises(UnsupportedProblem, match="solve='factored' needs a quadratic f"):
            solve(problem, named("socm", solve="factored"))

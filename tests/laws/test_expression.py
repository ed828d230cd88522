"""A written problem is the built one."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import aslinearoperator

from orthoprox import Problem, Stiefel, maps, terms
from orthoprox.maps import Difference, Entries, Identity, Matrix, Stack
from orthoprox.terms import L1, Expression, GroupL2, LargestK, LeastSquares, Linear, Quadratic, Smooth, Zero

N, R = 7, 2
M = Stiefel(N, R)
_rng = np.random.default_rng(3)
B, C, Y = _rng.standard_normal((5, N)), _rng.standard_normal((4, N)), _rng.standard_normal((5, R))
S = _rng.standard_normal((N, N))
S = S + S.T
T, MASK = _rng.standard_normal((N, R)), _rng.random((N, R)) < 0.5

weights = st.floats(0.01, 10.0)
signed = st.floats(-10.0, 10.0)
seeds = st.integers(0, 2**16)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.coo_matrix, aslinearoperator, Matrix])
def test_a_term_is_bound_to_whatever_is_a_matrix(kind):
    for written in (L1() @ kind(B), (2.0 * L1() + 1.0) @ kind(B), L1() @ kind(B) @ kind(S)):
        problem = Problem.of(written, over=(N, R))
        assert problem.M == M
        X = point(0)
        inner = B @ S @ X if isinstance(problem.A, maps.Product) else B @ X
        assert problem.objective(X) == pytest.approx(problem.h.weight * l1(inner) + problem.offset, rel=1e-12)
    f = Problem.of(LeastSquares(np.eye(5), Y) @ kind(B), over=[N, R]).f
    assert f.value(point(1)) == pytest.approx(LeastSquares(B, Y).value(point(1)), rel=1e-12)


def point(seed):
    return M.random(seed)


def l1(X):
    return np.sum(np.abs(X))


def largest(X, k):
    return np.sum(np.sort(np.abs(X), axis=None)[-k:])


def quartic(X):
    return np.sum(X**4), 4 * X**3


@given(a=weights, b=weights, c=weights, offset=signed, seed=seeds)
def test_the_written_problem_is_the_built_one(a, b, c, offset, seed):
    written = Problem.of(a * terms.ExplainedVariance(B) - b * LargestK(5) + c * L1() @ Matrix(C) + offset, over=M)
    built = Problem(M=M, f=terms.ExplainedVariance(B, a), g=LargestK(5, b), h=L1(c), A=Matrix(C), offset=offset)
    X = point(seed)
    by_hand = -a / 2 * np.sum((B @ X) ** 2) - b * largest(X, 5) + c * l1(C @ X) + offset
    assert written.objective(X) == built.objective(X) == pytest.approx(by_hand, abs=1e-9)
    assert (written.f.gradient(X) == built.f.gradient(X)).all()
    assert (written.g.subgradient(X) == built.g.subgradient(X)).all()
    AX = written.A(X)
    assert (AX == C @ X).all()
    assert (written.h.prox(AX, 0.3) == built.h.prox(AX, 0.3)).all()


@given(a=signed, b=signed, c=signed, d=signed, seed=seeds)
def test_smooth_terms_of_any_sign_go_into_f(a, b, c, d, seed):
    terms = a * Quadratic(S) - b * LeastSquares(B, Y) + c * Linear(T) - d * Smooth(quartic)
    problem = Problem.of(terms, over=M)
    X = point(seed)
    by_hand = a / 2 * np.sum(X * (S @ X)) - b / 2 * np.sum((B @ X - Y) ** 2) + c * np.sum(T * X) - d * np.sum(X**4)
    slope = a * S @ X - b * B.T @ (B @ X - Y) + c * T - 4 * d * X**3
    assert problem.objective(X) == pytest.approx(by_hand, abs=1e-9)
    np.testing.assert_allclose(problem.f.gradient(X), slope, atol=1e-9)
    assert isinstance(problem.g, Zero)
    assert isinstance(problem.h, Zero)
    assert isinstance(problem.A, Identity)


@given(a=weights, b=weights, c=weights, seed=seeds)
def test_several_terms_with_a_prox_become_a_stack(a, b, c, seed):
    problem = Problem.of(a * L1() @ Matrix(C) + b * GroupL2() + c * L1() @ Entries(MASK) + Linear(T), over=M)
    assert isinstance(problem.h, terms.SeparableSum)
    assert isinstance(problem.A, Stack)
    assert problem.h.rows == tuple(A.rows(N) for A in problem.A.maps)
    assert problem.shape[0] == sum(problem.h.rows)
    X = point(seed)
    by_hand = a * l1(C @ X) + b * np.sum(np.linalg.norm(X, axis=1)) + c * l1(X[MASK]) + np.sum(T * X)
    assert problem.objective(X) == pytest.approx(by_hand, abs=1e-9)
    moved = problem.h.prox(problem.A(X), 0.2)
    np.testing.assert_array_equal(moved[:4], L1(a).prox(C @ X, 0.2))
    np.testing.assert_array_equal(moved[4 : 4 + N], GroupL2(weight=b).prox(X, 0.2))


@given(a=weights, b=weights, c=weights, seed=seeds)
def test_subtracted_convex_terms_become_one_g(a, b, c, seed):
    problem = Problem.of(Linear(T) - a * L1() - b * terms.FrobeniusNorm() - c * GroupL2() @ Matrix(C), over=M)
    assert isinstance(problem.g, terms.ConvexSum)
    X = point(seed)
    by_hand = np.sum(T * X) - a * l1(X) - b * np.linalg.norm(X) - c * np.sum(np.linalg.norm(C @ X, axis=1))
    assert problem.objective(X) == pytest.approx(by_hand, abs=1e-9)
    CX = C @ X
    slope = a * np.sign(X) + b * X / np.linalg.norm(X) + c * C.T @ (CX / np.linalg.norm(CX, axis=1, keepdims=True))
    np.testing.assert_allclose(problem.g.subgradient(X), slope, atol=1e-10)
    assert isinstance(problem.h, Zero)


@given(factor=signed, offset=signed, seed=seeds)
def test_a_factor_goes_into_every_summand_and_the_offset(factor, offset, seed):
    X = point(seed)
    D = np.diff(X, axis=0)
    small = Quadratic(S[: N - 1, : N - 1])
    inside = Linear(T) + offset + small @ Difference() - 3
    value = np.sum(T * X) + offset + np.sum(D * (S[: N - 1, : N - 1] @ D)) / 2 - 3
    for written in (factor * inside, inside * factor, factor * (inside - 0), 0 + factor * inside):
        assert Problem.of(written, over=M).objective(X) == pytest.approx(factor * value, abs=1e-9)
    if abs(factor) > 1e-3:
        assert Problem.of(-(factor * inside), over=M).objective(X) == pytest.approx(-factor * value, abs=1e-9)


@given(c=signed, a=weights, seed=seeds)
def test_numbers_stand_on_either_side(c, a, seed):
    X, f = point(seed), a * Linear(T)
    value = a * np.sum(T * X)
    for written, wanted in (
        (c + f, c + value),
        (f + c, c + value),
        (c - f, c - value),
        (f - c, value - c),
        (c + (f + L1()) - L1(0.0), c + value + l1(X)),
        (c - (f - 1), c - value + 1),
        (np.float64(c) + f, c + value),
        (np.float32(2) * f, 2 * value),
        (np.float64(2) * (f + c), 2 * (value + c)),
    ):
        problem = Problem.of(written, over=M)
        assert problem.objective(X) == pytest.approx(wanted, abs=1e-9)


def test_one_term_alone_is_a_problem():
    assert Problem.of(L1(2.0), over=M).h == L1(2.0)
    assert isinstance(Problem.of(L1(2.0) @ Difference(), over=M).A, Difference)
    assert Problem.of(-L1(2.0), over=M).g == L1(2.0)
    assert isinstance(Problem.of(Linear(T), over=M).f, Linear)
    assert Problem.of(Zero() - Zero() + 4, over=M).offset == 4.0
    assert isinstance(Problem.of(Zero() + 0 * Zero() @ Difference(), over=M).h, Zero)


def test_the_algebra_of_a_term():
    f = Linear(T, 1.5)
    assert (2 * f).weight == (f * 2).weight == 3.0
    assert f.weight == 1.5
    assert (2 * L1(0.5)) == (L1(0.5) * 2) == L1(1.0)
    assert (-2 * f).weight == -3.0
    assert isinstance(-f, Expression)
    assert isinstance(-2 * L1(), Expression)
    (summand,) = (-2 * L1(1.5)).summands
    assert (summand.sign, summand.term, summand.A) == (-1, L1(3.0), None)
    negated = -L1(1.5)
    (summand,) = (-negated).summands
    assert (summand.sign, summand.term) == (1, L1(1.5))
    assert isinstance(L1() @ Difference(), Expression)
    assert (0 * L1()).weight == 0.0
    for make in (lambda: f / 2, lambda: f * f, lambda: (f + 1) * (f + 1), lambda: 2 / f):
        with pytest.raises(TypeError):
            make()


def test_bound_terms_of_every_kind():
    X, A = point(1), Matrix(C)
    CX = C @ X
    smooth = Problem.of(-2 * LeastSquares(np.eye(4), CX + 1) @ A, over=M)
    assert smooth.objective(X) == pytest.approx(-CX.size)
    np.testing.assert_allclose(smooth.f.gradient(X), 2 * C.T @ np.ones_like(CX), atol=1e-12)
    convex = Problem.of(Zero() - 2 * LargestK(3) @ A, over=M)
    assert isinstance(convex.g, terms.ComposedConvex)
    assert convex.objective(X) == pytest.approx(-2 * largest(CX, 3))
    own = Problem.of(Smooth(quartic) @ A - terms.SmoothConvex(quartic) @ A, over=M)
    assert own.objective(X) == pytest.approx(0.0)
    np.testing.assert_allclose(own.f.gradient(X), own.g.subgradient(X), atol=1e-12)


def test_a_term_of_a_plain_class_of_the_users_is_as_good():
    class Own(terms.SmoothTerm, terms.ProximableTerm):
        weight = 1.0
        lipschitz = 1.0

        def value(self, X):
            return self.weight * np.sum(X)

        def gradient(self, X):
            return self.weight * np.ones_like(X)

        subgradient = gradient

        def prox(self, y, mu):
            return y - mu * self.weight

        def lipschitz_constant(self, shape):
            return self.weight * math.sqrt(math.prod(shape))

    X = point(0)
    assert Problem.of(3 * Own() - Own(), over=M).objective(X) == pytest.approx(2 * np.sum(X))
    assert Problem(M=M, f=Own(), h=2 * Own()).objective(X) == pytest.approx(3 * np.sum(X))


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        (Linear(T) - terms.MCP(), r"'- MCP' does not fit f - g \+ h\(A\(X\)\): a subtracted term must be smooth"),
        (Linear(T) + LargestK(3), r"'\+ LargestK' does not fit .*: an added term must be smooth or have a proximal"),
        (-2 * terms.MCP() @ Difference(), r"'- MCP @ Difference' does not fit"),
        (LargestK(3) @ Matrix(C) + 1, r"'\+ LargestK @ Matrix' does not fit"),
        (-(Linear(T) - LargestK(2)), r"'\+ LargestK' does not fit"),
    ],
)
def test_what_does_not_fit_is_refused(expression, sentence):
    with pytest.raises(ValueError, match=sentence):
        Problem.of(expression, over=M)


@pytest.mark.parametrize("given", [np.eye(3), "L1", None, lambda X: X])
def test_what_is_no_term_is_refused(given):
    with pytest.raises(TypeError, match=r"A problem needs terms, as in f - g \+ h @ A; given \w+"):
        Problem.of(given, over=M)
    for make in (lambda: L1() + given, lambda: given - L1(), lambda: (L1() + 1) - given, lambda: given + (L1() + 1)):
        with pytest.raises(TypeError):
            make()

"""A written problem is the built one."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import aslinearoperator

from orthoprox import Problem, maps, terms
from orthoprox.maps import Difference, Entries, Identity, Matrix, Stack
from orthoprox.terms import L1, Expression, GroupL2, LargestK, LeastSquares, Linear, Quadratic, Smooth, Zero
from steps.cases import MASK, B, C, M, N, R, S, T, Y

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
    f = Problem.of(LeastSquares(np.eye(len(B)), Y) @ kind(B), over=[N, R]).f
    assert f.value(point(1)) == pytest.approx(LeastSquares(B, Y).value(point(1)), rel=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_matrix_of_whole_numbers_or_truth_values_is_one_of_floats(kind):
    for D in (np.diff(np.eye(N, dtype=int), axis=0), np.eye(N, dtype=bool)[:3]):
        problem = Problem.of(L1() @ kind(D), over=(N, R))
        assert problem.objective(point(0)) == pytest.approx(l1(D.astype(float) @ point(0)), rel=1e-12)


def point(seed):
    return M.random(seed)


def l1(X):
    return np.sum(np.abs(X))


def largest(X, k):
    return np.sum(np.sort(np.abs(X), axis=None)[-k:])


def quartic(X):
    return np.sum(X**4), 4 * X**3


@given(s=st.tuples(*5 * [signed]), p=st.tuples(*3 * [weights]), c=st.tuples(*4 * [weights]), offset=signed, seed=seeds)
def test_a_sum_is_sorted_into_f_and_g_and_h_of_A(s, p, c, offset, seed):
    X, CX, small = point(seed), C @ point(seed), S[: len(C), : len(C)]
    smooth = s[0] * Quadratic(S) - s[1] * LeastSquares(B, Y) + s[2] * Linear(T) - s[3] * Smooth(quartic)
    smooth = smooth + s[4] * Quadratic(small) @ Matrix(C)
    prox = p[0] * L1() @ Matrix(C) + p[1] * GroupL2() + p[2] * L1() @ Entries(MASK)
    convex = c[0] * L1() + c[1] * terms.FrobeniusNorm() + c[2] * GroupL2() @ Matrix(C)
    problem = Problem.of(smooth + prox - convex - c[3] * LargestK(5) + offset, over=M)
    of_f = s[0] / 2 * np.sum(X * (S @ X)) - s[1] / 2 * np.sum((B @ X - Y) ** 2) + s[2] * np.sum(T * X)
    of_f += -s[3] * np.sum(X**4) + s[4] / 2 * np.sum(CX * (small @ CX))
    slope = s[0] * S @ X - s[1] * B.T @ (B @ X - Y) + s[2] * T - 4 * s[3] * X**3 + s[4] * C.T @ small @ CX
    lengths = np.linalg.norm(CX, axis=1, keepdims=True)
    of_g = c[0] * l1(X) + c[1] * np.linalg.norm(X) + c[2] * np.sum(lengths) + c[3] * largest(X, 5)
    below = c[0] * np.sign(X) + c[1] * X / np.linalg.norm(X) + c[2] * C.T @ (CX / lengths)
    of_h = p[0] * l1(CX) + p[1] * np.sum(np.linalg.norm(X, axis=1)) + p[2] * l1(X[MASK])
    assert problem.objective(X) == pytest.approx(of_f - of_g + of_h + offset, abs=1e-9)
    np.testing.assert_allclose(problem.f.gradient(X), slope, atol=1e-9)
    np.testing.assert_allclose(problem.g.subgradient(X) - LargestK(5, c[3]).subgradient(X), below, atol=1e-10)
    assert isinstance(problem.h, terms.SeparableSum) and isinstance(problem.A, Stack)
    assert problem.h.rows == tuple(A.rows(N) for A in problem.A.maps) and problem.shape[0] == sum(problem.h.rows)
    moved = problem.h.prox(problem.A(X), 0.2)
    np.testing.assert_array_equal(moved[: len(C)], L1(p[0]).prox(CX, 0.2))
    np.testing.assert_array_equal(moved[len(C) : len(C) + N], GroupL2(weight=p[1]).prox(X, 0.2))


@given(factor=signed, c=signed, seed=seeds)
def test_factors_and_numbers_stand_on_either_side(factor, c, seed):
    X = point(seed)
    D = np.diff(X, axis=0)
    small = Quadratic(S[: N - 1, : N - 1])
    f = Linear(T) + c + small @ Difference() - 3
    value = np.sum(T * X) + c + np.sum(D * (S[: N - 1, : N - 1] @ D)) / 2 - 3
    for written, wanted in (
        *((written, factor * value) for written in (factor * f, f * factor, factor * (f - 0), 0 + factor * f)),
        (-(factor * f), -factor * value),
        (c + f, c + value),
        (f + c, c + value),
        (c - f, c - value),
        (f - c, value - c),
        (c - Linear(T), c - np.sum(T * X)),
        (Linear(T) - c, np.sum(T * X) - c),
        (c + (f + L1()) - L1(0.0), c + value + l1(X)),
        (np.float64(c) + Linear(T), c + np.sum(T * X)),
        (np.float32(2) * Linear(T), 2 * np.sum(T * X)),
        (np.float64(2) * (f + c), 2 * (value + c)),
    ):
        assert Problem.of(written, over=M).objective(X) == pytest.approx(wanted, abs=1e-9)


def test_one_term_alone_is_a_problem():
    assert Problem.of(L1(2.0), over=M).h == L1(2.0)
    assert isinstance(Problem.of(L1(2.0) @ Difference(), over=M).A, Difference)
    assert Problem.of(-L1(2.0), over=M).g == L1(2.0)
    assert isinstance(Problem.of(Zero() - 2 * LargestK(3) @ Matrix(C), over=M).g, terms.ComposedConvex)
    smooth = Problem.of(Linear(T), over=M)
    kinds = [type(part) for part in (smooth.f, smooth.g, smooth.h, smooth.A)]
    assert kinds == [Linear, Zero, Zero, Identity]
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


def test_a_term_of_a_plain_class_of_the_users_is_as_good():
    class Own(terms.SmoothTerm):
        weight = 1.0
        lipschitz = 1.0

        def value(self, X):
            return self.weight * np.sum(X)

        def gradient(self, X):
            return self.weight * np.ones_like(X)

    X = point(0)
    assert Problem.of(3 * Own() - Own(), over=M).objective(X) == pytest.approx(2 * np.sum(X))
    assert Problem(M=M, f=2 * Own()).objective(X) == pytest.approx(2 * np.sum(X))


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


def test_a_term_without_a_weight_is_not_multiplied():
    class Bare(terms.ConvexTerm):
        def value(self, X):
            return np.sum(X)

        def subgradient(self, X):
            return 1 + 0 * X

    with pytest.raises(TypeError, match=r"Bare has no weight to multiply. Give the class a field weight"):
        2.0 * Bare()

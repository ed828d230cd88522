"""The matrices of quadratic problems, on which SOCM's X-step rests."""

import numpy as np

from orthoprox import Problem
from orthoprox.maps import Entries, Matrix
from orthoprox.solvers import _hessian as formed
from orthoprox.terms import L1, ExplainedVariance, LeastSquares, Linear, Quadratic, QuadraticTerm
from steps.cases import MASK, PROBLEMS, B, C, M, N, S, T


def test_what_has_no_matrix():
    assert formed.formable(Problem.of(L1(), over=M))
    assert not formed.hessian(Problem.of(L1(), over=M), T).any()
    for expression in (
        LeastSquares(Entries(MASK)) + L1(),
        Quadratic(S) + LeastSquares(Entries(MASK)) + L1(),
        Quadratic(S) + L1() @ Entries(MASK),
    ):
        assert not formed.formable(Problem.of(expression, over=M))
    assert not formed.formable(PROBLEMS["own function"])

    class Own(QuadraticTerm):  # may do anything to the columns
        weight, lipschitz = 1.0, 1.0

        def product(self, X):
            return X

        def value_at(self, X, HX):
            return np.sum(X * HX) / 2

        def gradient_at(self, X, HX):
            return HX

    assert not formed.formable(Problem(M=M, f=Own(), h=L1()))


def test_where_the_small_inverse_is_not_taken():
    few = ExplainedVariance(C[:3])
    assert formed.system_size(Problem.of(few + L1(), over=M)) == 3
    for expression in (
        ExplainedVariance(C[:4]) + L1(),  # two products with B and one with a 4-by-4 cost more than one with a 9-by-9
        few + L1() @ Matrix(B),
        few + Linear(T) + L1(),
        Quadratic(S) + L1(),
    ):
        problem = Problem.of(expression, over=M)
        assert formed.few_rows(problem) is None
        assert formed.system_size(problem) == N

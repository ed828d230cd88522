"""Bad input is refused in a sentence, or put right with a note, and nothing is lost."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse as sp

from orthoprox import Iterations, Problem, Stiefel, UnsupportedProblem, check_gradient, named, solve
from orthoprox.maps import Difference, Matrix
from orthoprox.models import sparse_pca
from orthoprox.solvers import SOLVERS, Scope, Subgradient
from orthoprox.terms import (
    L1,
    MCP,
    ComposedQuadratic,
    ExplainedVariance,
    GroupL2,
    LargestK,
    LeastSquares,
    Linear,
    ProximableTerm,
    Quadratic,
    Smooth,
    SmoothConvex,
    WeightedL1,
    Zero,
)

RNG = np.random.default_rng(0)
D = RNG.standard_normal((20, 6))
M = Stiefel(6, 2)
PROBLEM = sparse_pca(D, n_components=2, weight=0.1)


def refused(make, kind, match):
    """The call raises this kind of error, with words that match and that make a sentence."""
    with pytest.raises(kind, match=match) as caught:
        make()
    assert str(caught.value).rstrip().endswith((".", "?")), str(caught.value)


def spoilt(value):
    bad = D.copy()
    bad[3, 1] = bad[5, 2] = value
    return bad


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_data_that_are_not_finite(value):
    bad, match = spoilt(value), "must be finite; given 2 entries that are NaN or infinite out of 120"
    refused(lambda: sparse_pca(bad, n_components=2, weight=0.1), ValueError, "D " + match)
    for make in (ExplainedVariance, LeastSquares, Matrix, Linear):
        refused(lambda make=make: make(bad), ValueError, match)
    refused(lambda: LeastSquares(D, bad), ValueError, "Y " + match)
    refused(lambda: sparse_pca(sp.csr_array(bad), n_components=2, weight=0.1), ValueError, "finite")
    refused(lambda: Quadratic(np.full((6, 6), value)), ValueError, "finite")


@pytest.mark.parametrize(
    ("data", "given"),
    [
        (np.arange(12).reshape(4, 3), "int64"),
        (np.ones((4, 3), dtype=bool), "bool"),
        (np.ones((4, 3), dtype=complex), "complex128"),
        (np.ones((4, 3), dtype=object), "object"),
        (np.full((4, 3), "1.0"), "<U3"),
    ],
)
def test_arrays_that_hold_no_floats(data, given):
    for make in (lambda: sparse_pca(data, n_components=2, weight=0.1), lambda: ExplainedVariance(data)):
        refused(make, TypeError, f"must hold real floating-point numbers; given dtype {re.escape(given)}. Convert it")
    refused(lambda: solve(PROBLEM, X0=np.ones((6, 2), dtype=data.dtype)), TypeError, "X0 must hold real floating")


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (np.empty((0, 3)), r"D is empty: given shape \(0, 3\); both sides must be at least 1"),
        (np.empty((3, 0)), r"D is empty: given shape \(3, 0\)"),
        (np.ones(()), r"two dimensions; given shape \(\)"),
        (np.ones(5), r"two dimensions; given shape \(5,\)"),
        (np.ones((2, 3, 4)), r"two dimensions; given shape \(2, 3, 4\)"),
        *((data, r"D must be an array .*; given \w+") for data in ([[1.0, 2.0]], "data.csv", None, 3)),
    ],
)
def test_data_that_are_no_matrix(data, match):
    refused(lambda: sparse_pca(data, n_components=1, weight=0.1), (TypeError, ValueError), match)


def test_more_components_than_features():
    refused(lambda: Stiefel(3, 4), ValueError, "Stiefel.n, r. needs 1 <= r <= n; given n = 3, r = 4")
    refused(lambda: Stiefel(3, 0), ValueError, "needs 1 <= r <= n")
    refused(lambda: Stiefel(3, 1.5), TypeError, "needs whole numbers; given r = 1.5")
    refused(lambda: sparse_pca(D, n_components=7, weight=0.1), ValueError, "cannot have 7 orthonormal columns")


@pytest.mark.parametrize("weight", [-0.1, np.nan, np.inf, "much", None])
def test_a_weight_that_is_negative_or_no_number(weight):
    for make in (
        lambda: L1(weight),
        lambda: GroupL2(weight=weight),
        lambda: LargestK(3, weight),
        lambda: MCP(weight=weight),
        lambda: sparse_pca(D, n_components=2, weight=weight),
    ):
        refused(make, (ValueError, TypeError), r"[Tt]he weight of .* must (be|not be) .*; given")


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: named("oadmm", explore=-1), "explore must be at least 0; given -1"),
        (lambda: named("oadmm", block=0), "block must be at least 1; given 0"),
        (lambda: named("oadmm", rounds=0), "rounds must be at least 1; given 0"),
        (lambda: named("oadmm", memory=0), "memory must be at least 1; given 0"),
        (lambda: named("oadmm", roam=1.2), "roam must be positive and at most settle; given 1.2 and 0.9"),
        (lambda: named("oadmm", roam=0.0), "roam must be positive"),
    ],
)
def test_constants_outside_their_range(make, match):
    refused(make, ValueError, match)


def test_a_penalty_below_what_a_weakly_convex_h_admits():
    problem = Problem(M=M, f=Quadratic(np.eye(6)), h=MCP(1.0, 2.0))
    for name in ("oadmm-ep", "oadmm-rr"):
        refused(
            lambda name=name: solve(problem, named(name, beta0=1.0)),
            ValueError,
            "beta0 must be at least 2 tau W_h = .* for this h; given 1.0",
        )


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Problem(M=Stiefel(5, 2), f=ExplainedVariance(D)), "data of f need matrices with 6 rows.* n = 5"),
        (
            lambda: Problem(M=Stiefel(5, 2), g=Zero(), h=L1(), A=Matrix(D)),
            "A acts on matrices with 6 rows; given one w",
        ),
        (lambda: Problem.of(Linear(np.ones((6, 2))) - L1() @ Matrix(D), over=Stiefel(5, 2)), "data of g need"),
        (
            lambda: Problem.of(L1() @ Matrix(D) + L1(), over=Stiefel(5, 2)),
            "A acts on matrices with 6 rows; given one w",
        ),
        (lambda: LeastSquares(D, np.ones((3, 2))), "Y must have as many rows as B.X., which has 20; given 3"),
        (lambda: solve(Problem(M=M, f=Linear(np.ones((6, 3))))), r"f = Linear could not .* shape \(6, 2\).*\(6, 3\)"),
        (lambda: solve(Problem(M=M, f=LeastSquares(D, np.ones((20, 3))))), r"f = LeastSquares could not be evaluated"),
        (lambda: solve(Problem(M=M, h=WeightedL1(np.ones((5, 2))))), "h = WeightedL1 could not be evaluated at a"),
        (
            lambda: Problem(M=Stiefel(3, 2), f=ComposedQuadratic(Quadratic(np.eye(3)), Matrix(np.ones((3, 6))))),
            "data of f need matrices with 6 rows",
        ),
    ],
)
def test_shapes_that_do_not_fit(make, match):
    with pytest.raises(ValueError, match=match):
        make()


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        ({"M": (6, 2)}, "M must be a Stiefel manifold; given tuple"),
        ({"f": L1()}, "f must be a smooth term; given L1"),
        ({"g": MCP()}, r"g must be a convex term \(it is subtracted\); given MCP"),
        ({"h": LargestK(2)}, "h must be a term with a proximal map; given LargestK"),
        ({"A": D}, r"A must be a linear map; wrap a matrix as Matrix\(B\); given ndarray"),
    ],
)
def test_parts_in_the_wrong_place(parts, match):
    refused(lambda: Problem(**{"M": M, **parts}), TypeError, match)


@pytest.mark.parametrize(
    ("over", "match"),
    [
        ((2, 6), "Stiefel.n, r. needs 1 <= r <= n; given n = 2, r = 6"),
        ((6, 2.5), "Stiefel.n, r. needs whole numbers; given r = 2.5"),
        (("6", 2), "Stiefel.n, r. needs whole numbers; given n = '6'"),
        *((over, f"over must be a Stiefel .* given {re.escape(repr(over))}") for over in (6, None, (6, 2, 1), "62")),
    ],
)
def test_shapes_that_are_no_manifold(over, match):
    refused(lambda: Problem.of(L1(), over=over), (TypeError, ValueError), match)


@pytest.mark.parametrize("term", [L1(), L1() + 1.0])
def test_what_a_term_cannot_be_bound_to_or_weighed_with(term):
    for wrong, match in (
        (3, "A must be an array .* or a LinearMap; given int"),
        (None, "A must be an array .* or a LinearMap; given NoneType"),
        (np.ones(6), r"A must have two dimensions; given shape \(6,\)"),
        (np.ones((3, 6), dtype=int), "A must hold real floating-point numbers; given dtype int64"),
        (np.full((3, 6), np.nan), "A must be finite; given 18 entries"),
    ):
        refused(lambda wrong=wrong: term @ wrong, (TypeError, ValueError), match)
    for before in (D, sp.csr_array(D), Matrix(D), [D]):
        match = r"A term comes before @ .* as in L1\(\) @ B; given \w+ before it"
        refused(lambda before=before: before @ term, TypeError, match)
    for factor in ("much", None, np.nan, D):
        refused(lambda factor=factor: factor * term, (TypeError, ValueError), "The weight of .* must be")


def test_what_is_no_problem_or_no_solver():
    refused(
        lambda: solve(Quadratic(np.eye(6)) + L1()), TypeError, "problem must be a Problem; given Expression. Build one"
    )
    match = "no solver named 'oadm-ep'; there are oadmm, oadmm-ep, .*Did you m"
    refused(lambda: solve(PROBLEM, "oadm-ep"), ValueError, match)
    with pytest.raises(TypeError, match="solver must be the name of a solver or a Solver; given ABCMeta"):
        solve(PROBLEM, type(SOLVERS["oadmm-ep"]))
    refused(
        lambda: named("oadmm-ep", beta=1.0), TypeError, r"oadmm-ep does not take these settings .*; it takes beta0,"
    )


def test_zero_columns_are_noted_and_harmless():
    data = D.copy()
    data[:, [1, 4]] = 0.0
    result = solve(sparse_pca(data, n_components=2, weight=0.1), stop=Iterations(200))
    assert result.notes == ("2 of the 6 columns of D are zero: they carry no variance and may be dropped",)
    assert np.isfinite(result.objective)
    assert PROBLEM.notes == ()


def test_data_that_are_all_zero_and_as_many_components_as_features_are_fine():
    for data, r in ((np.zeros((5, 4)), 2), (D, 6)):
        result = solve(sparse_pca(data, n_components=r, weight=0.1), stop=Iterations(20))
        assert np.isfinite(result.objective) and result.infeasibility < 1e-12


def wrong(X):
    return np.sum(X**4), 2 * X**3


def right(X):
    return np.sum(X**4), 4 * X**3


@pytest.mark.parametrize(
    "expression",
    [
        Smooth(wrong) + L1(),
        Quadratic(np.eye(6)) + 0.5 * Smooth(wrong) - LargestK(2),
        Smooth(right) - Smooth(wrong),
        Smooth(wrong) @ Difference() + L1(),
        Linear(np.ones((6, 2))) - SmoothConvex(wrong) + L1(),
        L1() - SmoothConvex(right) - SmoothConvex(wrong) @ Difference(),
        Smooth(lambda X: np.sum(X**4), lambda X: -4 * X**3) + L1(),
    ],
)
def test_a_gradient_that_does_not_match_its_value(expression):
    problem = Problem.of(expression, over=M)
    match = "The gradient does not agree with differences of the value: relative error .*check_gradient"
    for solver in SOLVERS:
        refused(lambda solver=solver: solve(problem, solver), ValueError, match)


def test_a_gradient_that_matches_is_let_through_and_can_be_checked():
    problem = Problem.of(Smooth(right) @ Difference() - SmoothConvex(right) + L1(), over=M)
    assert np.isfinite(solve(problem, stop=Iterations(3)).objective)
    X = M.random(0)
    assert check_gradient(Smooth(right), X).ok
    found = check_gradient(Smooth(wrong), X)
    assert not found.ok
    assert found.error == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (lambda X: np.sum(X), "must return the pair .value, gradient.; given float64"),
        (lambda X: (np.sum(X), np.ones(3)), r"must return an array of the shape \(6, 2\) of X; given shape \(3,\)"),
        (lambda X: (X, X), r"must return one number; given shape \(6, 2\)"),
        (lambda X: 1 / 0, "division by zero"),
    ],
)
def test_functions_that_give_something_else(function, match):
    with pytest.raises((ValueError, TypeError), match=match):
        solve(Problem(M=M, f=Smooth(function), h=L1()))


def test_a_solver_asked_for_a_problem_outside_its_scope():
    class Narrow(Subgradient):
        name = "narrow"

    f = Quadratic(np.eye(6))
    for scope, problem, match in (
        (Scope(concave=False), Problem(M=M, f=f, g=LargestK(2)), "needs g to be absent; given LargestK"),
        (Scope(weakly_convex=False), Problem(M=M, f=f, h=MCP()), "needs a convex h; given MCP, which is only weakly"),
        (Scope(any_map=False), Problem(M=M, f=f, h=L1(), A=Difference()), "needs A = I; given Difference"),
        (Scope(entrywise_only=True), Problem(M=M, f=f, h=GroupL2()), "an h that acts entry by entry; given GroupL2"),
    ):
        Narrow.scope = scope
        refused(lambda p=problem: solve(p, Narrow()), UnsupportedProblem, f"narrow {match}|narrow needs {match}")
        assert np.isfinite(solve(Problem(M=M, f=f, h=L1()), Narrow(), stop=Iterations(2)).objective)


class Own(ProximableTerm):
    """A term of the user's: its subgradient may be of another shape, its Lipschitz constant infinite."""

    weight = 1.0

    def __init__(self, columns, lipschitz):
        self.columns, self.lipschitz = columns, lipschitz

    def value(self, y):
        return 0.0

    def prox(self, y, mu):
        return y

    def subgradient(self, y):
        return 0.0 * y[:, : self.columns]

    def lipschitz_constant(self, shape):
        return self.lipschitz


@pytest.mark.parametrize("name", ["oadmm", "oadmm-ep", "oadmm-rr", "subgradient"])
def test_an_h_that_is_not_lipschitz_or_gives_another_shape(name):
    problem = Problem(M=M, f=Quadratic(np.eye(6)), h=Own(2, np.inf))
    match = f"{name} needs a Lipschitz h; given Own, which is not. Choose another solver"
    refused(lambda: solve(problem, name), UnsupportedProblem, match)
    problem = Problem(M=M, f=Quadratic(np.eye(6)), h=Own(1, 1.0))
    match = r"h = Own must give an array of the shape it is given, \(6, 2\); it gave \(6, 1\)"
    refused(lambda: solve(problem, name), ValueError, match)

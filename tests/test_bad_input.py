"""Bad input is refused in a sentence, or put right with a note, and nothing is lost."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

from orthoprox import Iterations, Problem, Stiefel, check_gradient, named, solve, terms
from orthoprox.maps import Centred, Difference, LinearMap, Matrix, Stack
from orthoprox.models import sparse_pca
from orthoprox.solvers import SOLVERS
from orthoprox.terms import L1, MCP, ExplainedVariance, LargestK, LeastSquares, Linear, Quadratic, Smooth, SmoothConvex
from sentences import check_refusal

D = np.random.default_rng(0).standard_normal((20, 6))
M = Stiefel(6, 2)
PROBLEM = sparse_pca(D, n_components=2, weight=0.1)


TAKES_DATA = {
    "D": lambda data: sparse_pca(data, n_components=2, weight=0.1),
    "B": lambda data: terms.ExplainedVariance(data),
    "Y": lambda data: terms.LeastSquares(D, data),
    "C": lambda data: Linear(data),
    "Q": lambda data: Quadratic(data),
    "X0": lambda data: solve(PROBLEM, X0=data),
}


@pytest.mark.parametrize("name", TAKES_DATA)
def test_data_that_are_not_finite_or_hold_no_floats(name):
    good = {"Q": np.eye(6), "X0": M.random(0)}.get(name, D)
    match = f"{name} must hold real floating-point numbers; given dtype int64. Convert it"
    check_refusal(lambda: TAKES_DATA[name](good.astype(int)), match, TypeError)
    for value in (np.nan, np.inf, -np.inf):
        bad = good.copy()
        bad[3, 1] = bad[5, 0] = value
        check_refusal(lambda bad=bad: TAKES_DATA[name](bad), f"{name} must be finite; .*NaN or infinite", ValueError)


class Own(L1):
    """A term whose subgradient is of another shape."""

    def subgradient(self, y):
        return 0.0 * y[:, :1]


OTHERS = [np.ones(shape) for shape in ((6, 3), (5, 2), (2, 6), (6,))]
WIDE = terms.ComposedQuadratic(Quadratic(np.eye(3)), Matrix(np.ones((3, 6))))
VALUES = [
    # shapes that do not fit
    (lambda: Problem(M=Stiefel(5, 2), f=terms.ExplainedVariance(D)), "data of f need matrices with 6 rows.* n = 5"),
    (lambda: Problem(M=Stiefel(5, 2), h=L1(), A=Matrix(D)), "A acts on matrices with 6 rows; given one w"),
    (lambda: Problem.of(Linear(np.ones((6, 2))) - L1() @ Matrix(D), over=Stiefel(5, 2)), "data of g need"),
    (lambda: Problem.of(L1() @ Matrix(D) + L1(), over=Stiefel(5, 2)), "A acts on matrices with 6 rows; given one w"),
    (lambda: Problem(M=Stiefel(3, 2), f=WIDE), "data of f need matrices with 6 rows"),
    (lambda: terms.LeastSquares(D, np.ones((3, 2))), "Y must have as many rows as B.X., which has 20; given 3"),
    (lambda: solve(Problem(M=M, f=Linear(np.ones((6, 3))))), r"f = Linear could not .* shape \(6, 2\).*\(6, 3\)"),
    (lambda: solve(Problem(M=M, f=terms.LeastSquares(D, np.ones((20, 3))))), "f = LeastSquares could not be evaluated"),
    (lambda: solve(Problem(M=M, h=terms.WeightedL1(np.ones((5, 2))))), "h = WeightedL1 could not be evaluated at a"),
    (lambda: solve(Problem(M=M, f=Smooth(lambda X: 1 / 0))), r"f = Smooth could not .* division by zero\.$"),
    (lambda: solve(Problem(M=M, h=Own())), r"h = Own must give an array of .* \(6, 2\); it gave \(6, 1\)"),
    (lambda: solve(PROBLEM, seed=-1), "seed must be a whole number of at least 0; given -1"),
    (lambda: solve(PROBLEM, "oadm-ep"), "no solver named 'oadm-ep'; there are oadmm, oadmm-ep, .*Did you m"),
    # no start
    *((lambda X0=X0: solve(PROBLEM, X0=X0), rf"X0 must .*\(6, 2\); given {re.escape(str(X0.shape))}") for X0 in OTHERS),
    (lambda: solve(PROBLEM, X0=[[1.0, 0.0]] * 6), r"X0 must have shape \(6, 2\); given list"),
]
TYPES = [
    # parts in the wrong place
    (lambda: Problem(M=(6, 2)), "M must be a Stiefel manifold; given tuple"),
    (lambda: Problem(M=M, f=L1()), "f must be a smooth term; given L1"),
    (lambda: Problem(M=M, g=MCP()), r"g must be a convex term \(it is subtracted\); given MCP"),
    (lambda: Problem(M=M, h=LargestK(2)), "h must be a term with a proximal map; given LargestK"),
    (lambda: Problem(M=M, A=D), r"A must be a linear map; wrap a matrix as Matrix\(B\); given ndarray"),
    # no manifold, no problem, no solver
    (lambda: Problem.of(L1(), over=6), "over must be a Stiefel .* given 6"),
    (lambda: Problem.of(L1(), over=None), "over must be a Stiefel .* given None"),
    (lambda: Problem.of(L1(), over=(6, 2, 1)), r"over must be a Stiefel .* given \(6, 2, 1\)"),
    (lambda: Problem.of(L1(), over="62"), "over must be a Stiefel .* given '62'"),
    (lambda: Problem.of(L1, over=(6, 2)), "A problem needs terms, .* given the class L1: call it"),
    (lambda: solve(PROBLEM, seed="a"), "seed must be a whole number of at least 0; given 'a'"),
    (lambda: solve(Quadratic(np.eye(6)) + L1()), "problem must be a Problem; given Expression. Build one"),
    (
        lambda: solve(PROBLEM, type(SOLVERS["oadmm-ep"])),
        "name of a solver or a Solver; given the class OADMMEP: call it",
    ),
    (lambda: named("oadmm-ep", beta=1.0), "oadmm-ep does not take these settings .*; it takes beta0,"),
]
CASES = [(ValueError, *case) for case in VALUES] + [(TypeError, *case) for case in TYPES]


@pytest.mark.parametrize(("kind", "make", "match"), CASES)
def test_what_is_none_or_does_not_fit(kind, make, match):
    check_refusal(make, match, kind)


@pytest.mark.parametrize("term", [L1(), L1() + 1.0])
def test_what_a_term_cannot_be_bound_to_or_weighed_with(term):
    for wrong in (3, "A", [[1.0]], L1(), None):
        match = f"A must be an array .* or a LinearMap; given {type(wrong).__name__}"
        check_refusal(lambda wrong=wrong: term @ wrong, match, TypeError)
    for wrong, match in (
        (np.ones(6), r"A must have two dimensions; given shape \(6,\)"),
        (np.ones((3, 6), dtype=complex), "A must hold real floating-point numbers; given dtype complex128"),
        (np.full((3, 6), np.nan), "A must be finite; given 18 entries"),
    ):
        check_refusal(lambda wrong=wrong: term @ wrong, match, (TypeError, ValueError))
    for before in (D, sp.csr_array(D), Matrix(D), [D]):
        match = r"A term comes before @ .* as in L1\(\) @ B; given \w+ before it"
        check_refusal(lambda before=before: before @ term, match, TypeError)
    for factor in ("much", None, np.nan, np.inf, [1, 2], D):
        check_refusal(lambda factor=factor: factor * term, "The weight of .* must be", (TypeError, ValueError))


def test_zero_columns_are_noted_and_no_variance_or_as_many_components_as_features_are_fine():
    data = D.copy()
    data[:, [1, 4]] = 0.0
    result = solve(sparse_pca(data, n_components=2, weight=0.1), stop=Iterations(200))
    assert result.notes == ("2 of the 6 columns of D are zero: they carry no variance and may be dropped",)
    assert np.isfinite(result.objective)
    assert PROBLEM.notes == ()
    for data, r in ((np.zeros((5, 4)), 2), (np.outer(np.ones(8), np.arange(6.0)), 3), (D[:1], 1), (D, 6)):
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
        check_refusal(lambda solver=solver: solve(problem, solver), match, ValueError)


class Steps(LinearMap):
    """Differences of neighbouring rows, with an adjoint, a norm or a size of the user's."""

    columns = None

    def __init__(self, factor=1.0, norm=2.0, rows=-1, flip=False):
        self.factor, self.norm, self.more, self.flip = factor, norm, rows, flip

    def __call__(self, X):
        return X[1:] - X[:-1]

    def adjoint(self, Z):
        back = Difference().adjoint(Z)
        return self.factor * (back.T if self.flip else back)

    def rows(self, n):
        return n + self.more

    def cost(self, n):
        return n


WRONG_MAPS = {
    "sign": (Steps(-1.0), "The adjoint of Steps does not belong to it: <A.X., A.X.> is .* and <X, A.adjoint.A.X..> -"),
    "factor": (Steps(1.001), "The adjoint of Steps does not belong to it"),
    "shape": (Steps(flip=True), r"The adjoint of Steps must give the shape \(6, 2\) of X; given \(2, 6\)\."),
    "rows": (Steps(rows=0), r"Steps gives an array of shape \(5, 2\), and its rows\(6\) promises \(6, 2\)\."),
    "norm": (Steps(norm=0.1), "The norm of Steps must be at least its largest singular value; given 0.1, and one X"),
    "in a stack": (Stack(Difference(), 2.0 * Steps(-1.0), columns=6), "The adjoint of Steps does not belong to it"),
    "outside": (Steps(-1.0) @ Matrix(np.eye(6)[::-1]), "The adjoint of Steps does not belong to it"),
    "inside": (Matrix(np.eye(5)[:3]) @ Steps(-1.0), "The adjoint of Steps does not belong to it"),
}


@pytest.mark.parametrize("name", WRONG_MAPS)
def test_a_map_of_the_user_with_a_wrong_adjoint_size_or_norm(name):
    A, match = WRONG_MAPS[name]
    f = Quadratic(np.diag(np.arange(1.0, 7)))
    check_refusal(lambda: solve(Problem.of(f + L1() @ A, over=M), stop=Iterations(3)), match, ValueError)
    assert solve(Problem.of(f + L1() @ Steps(), over=M), stop=Iterations(3)).iterations == 3


class StepsOfSix(Steps):
    """Of X with six rows, from the left: what data may be."""

    columns, left = 6, True


HOLDERS = {
    "data": lambda A: -ExplainedVariance(A) + L1(),
    "centred data": lambda A: LeastSquares(Centred(A)) + L1(),
    "smooth": lambda A: Smooth(right) @ A + L1(),
    "subtracted": lambda A: Quadratic(np.eye(6)) + L1() - SmoothConvex(right) @ A,
    "inside of two": lambda A: Quadratic(np.eye(6)) + L1() + (Smooth(right) @ Difference()) @ A,
    "in another map": lambda A: Quadratic(np.eye(6)) + L1() @ Centred(A),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_a_wrong_map_of_the_user_is_found_wherever_it_stands(name):
    match = "The adjoint of StepsOfSix does not belong to it"
    problem = Problem.of(HOLDERS[name](StepsOfSix(-1.0)), over=M)
    check_refusal(lambda: solve(problem, stop=Iterations(3)), match, ValueError)
    assert solve(Problem.of(HOLDERS[name](StepsOfSix()), over=M), stop=Iterations(3)).iterations == 3


def test_a_gradient_that_matches_is_let_through():
    problem = Problem.of(Smooth(right) @ Difference() - SmoothConvex(right) + L1(), over=M)
    assert np.isfinite(solve(problem, stop=Iterations(3)).objective)
    assert check_gradient(Smooth(wrong), M.random(0)).error == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 3.0, 1e200])
def test_a_start_off_the_manifold_is_projected_with_a_note(scale):
    rng = np.random.default_rng(3)
    X0 = scale * rng.standard_normal((6, 2))
    kept = X0.copy()
    result = solve(PROBLEM, X0=X0, stop=Iterations(0))
    U, _, Vt = np.linalg.svd(X0 / scale, full_matrices=False)
    np.testing.assert_allclose(result.X, U @ Vt, atol=1e-12)
    (note,) = result.notes
    assert re.fullmatch(r"X0 was off the manifold \(\|X'X - I\| = .*\) and was projected", note)
    np.testing.assert_array_equal(X0, kept)


def test_a_start_on_the_manifold_is_taken_as_it_is():
    X0 = M.random(0)
    result = solve(PROBLEM, X0=X0, stop=Iterations(0))
    assert result.notes == ()
    assert result.X is X0
    nearly = solve(PROBLEM, X0=X0 * (1 + 1e-11), stop=Iterations(0))
    assert nearly.notes == ()
    assert nearly.infeasibility < 1e-14


@pytest.mark.parametrize(("start", "rank"), [(np.zeros((6, 2)), 0), (np.ones((6, 2)), 1), (np.eye(6)[:, [0, 0]], 1)])
def test_a_rank_deficient_start_is_filled_in_with_a_note(start, rank):
    result = solve(PROBLEM, X0=start, stop=Iterations(5))
    assert f"X0 had rank {rank} only: {2 - rank} of its directions were filled in" in result.notes
    assert result.infeasibility < 1e-13
    assert np.isfinite(result.objective)
    first = solve(PROBLEM, X0=start, stop=Iterations(0)).X
    np.testing.assert_allclose(first @ (first.T @ start), start, atol=1e-12)  # what was there is kept


def test_a_start_of_another_precision_is_moved_with_a_note():
    result = solve(PROBLEM, X0=M.random(0).astype(np.float32), stop=Iterations(1))
    assert result.X.dtype == np.float64
    assert result.notes[0] == "X0 was moved from numpy float32 to numpy float64, where the data are"

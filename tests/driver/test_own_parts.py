"""Classes and functions of the user's: what they promise is checked before a run rests on it."""

from typing import Any

import numpy as np
import pytest

from orthoprox import Iterations, Problem, Stiefel, solve, solve_many
from orthoprox.maps import Difference, LinearMap, Matrix, Stack
from orthoprox.terms import L1, ConvexTerm, EntrywiseTerm, Quadratic, Smooth, SmoothConvex, SmoothTerm
from sentences import check_refusal

M = Stiefel(6, 2)
S = np.diag(np.arange(1.0, 7.0))
PLAIN = Quadratic(S)


def halve(X: Any) -> Any:
    X *= 0.5
    return X


class Bent(SmoothTerm):
    """A quadratic form; what is given to it replaces one of its parts."""

    weight, lipschitz = 1.0, 6.0

    def __init__(self, **other: Any) -> None:
        vars(self).update(other)

    def value(self, X: Any) -> Any:
        return np.sum(X * (S @ X)) / 2

    def gradient(self, X: Any) -> Any:
        return S @ X


class Size(ConvexTerm):
    """The Frobenius norm."""

    weight = 1.0

    def __init__(self, **other: Any) -> None:
        vars(self).update(other)

    def value(self, X: Any) -> Any:
        return np.linalg.norm(X)

    def subgradient(self, X: Any) -> Any:
        return X / np.linalg.norm(X)


class Abs(EntrywiseTerm):
    """The l1 norm."""

    weight, weak_convexity = 1.0, 0.0

    def __init__(self, **other: Any) -> None:
        vars(self).update(other)

    def value(self, y: Any) -> Any:
        return np.sum(np.abs(y))

    def prox(self, y: Any, mu: Any) -> Any:
        return y - np.clip(y, -mu, mu)

    def prox_slope(self, y: Any, mu: Any) -> Any:
        return 1.0 * (np.abs(y) > mu)

    def subdifferential(self, y: Any) -> Any:
        return np.where(y > 0, 1.0, -1.0), np.where(y < 0, -1.0, 1.0)

    def lipschitz_constant(self, shape: Any) -> Any:
        return float(np.sqrt(np.prod(shape)))


class Turn(LinearMap):
    """Two rows of X."""

    columns, norm = 6, 1.0

    def __init__(self, **other: Any) -> None:
        vars(self).update(other)

    def __call__(self, X: Any) -> Any:
        return vars(self).get("forward", lambda X: X[:2])(X)

    def adjoint(self, Z: Any) -> Any:
        return np.vstack([Z, np.zeros((4, Z.shape[1]))])

    def rows(self, n: int) -> int:
        return 2

    def cost(self, n: int) -> int:
        return 2


def pair(X: Any) -> Any:
    return np.sum(X**2) / 2, X


GOOD = Bent() - 0.1 * SmoothConvex(pair) + Abs() @ Turn() + Abs()
SPOILT = {
    # what is not linked to its value
    "slope": (Bent(gradient=lambda X: -S @ X) + L1(), "The gradient does not agree with differences of the value"),
    "slope inside": (Bent(gradient=lambda X: X) @ Matrix(2 * np.eye(6)) + L1(), "The gradient does not agree"),
    "subgradient": (L1() - Size(subgradient=lambda X: -X), "A subgradient of Size does not belong to its value"),
    "concave": (
        L1() - Size(value=lambda X: -np.sum(X**2), subgradient=lambda X: -2 * X),
        "the term is not convex",
    ),
    "subdifferential": (
        PLAIN + Abs(subdifferential=lambda y: (0.5 * np.sign(y), 0.5 * np.sign(y))),
        "The subdifferential of Abs does not belong to its prox",
    ),
    "interval": (
        PLAIN + Abs(subdifferential=lambda y: (0 * y - 9, 0 * y + 9)),
        "A subgradient of Abs does not belong to its value",
    ),
    "slope of h": (PLAIN + Abs(lipschitz_constant=lambda shape: 0.5), "lipschitz_constant of Abs must be at least"),
    "in f": (
        Quadratic(Matrix(np.eye(2)[::-1])) @ Turn(adjoint=lambda Z: np.ones((6, 2))) + L1(),
        "The adjoint of Turn",
    ),
    "in a stack": (PLAIN + L1() @ Stack(Difference(), Turn(adjoint=lambda Z: np.ones((6, 2)))), "The adjoint of Turn"),
    # constants
    "bound": (Smooth(pair, lipschitz=0.5) + L1(), "Lipschitz constant of Smooth must be at least 1, by which .* 0.5"),
    "own bound": (Bent(lipschitz=1e-3) + L1(), "Lipschitz constant of Bent must be at least"),
    "negative bound": (Bent(lipschitz=-1.0) + L1(), "The lipschitz of Bent must be finite and at least 0; given -1"),
    "norm": (PLAIN + L1() @ Turn(norm=np.nan), "The norm of Turn must be finite and at least 0; given nan"),
    "no norm": (PLAIN + L1() @ Turn(norm="1"), "The norm of Turn must be a number; given str"),
    "convexity": (PLAIN + Abs(weak_convexity=-1.0), "The weak_convexity of Abs must be at least 0; given -1"),
    # what is no real array or number
    "complex": (Bent(gradient=lambda X: S @ X + 0j) + L1(), "Bent.gradient must return real numbers; given .*complex"),
    "value": (Bent(value=lambda X: None) + L1(), "Bent.value must return one real number; given a NoneType"),
    "list": (PLAIN + Abs(prox=lambda y, mu: y.tolist()), "Abs.prox must return an array of the kind .* given list"),
    "shape": (PLAIN + Abs(prox=lambda y, mu: y.T), r"Abs.prox must return an array of shape \(6, 2\); given \(2, 6\)"),
    "masked": (PLAIN + Abs(prox=lambda y, mu: np.ma.array(y)), "ndarray; given MaskedArray"),
    "nan": (PLAIN + L1() @ Turn(forward=lambda X: np.nan * X[:2]), "Turn and its adjoint must give finite numbers"),
    "own complex": (Smooth(pair, lambda X: X + 0j) + L1(), "gradient function of Smooth must return real numbers"),
    "own value": (Smooth(lambda X: 1j, lambda X: X) + L1(), "function of Smooth must return one real number; given co"),
    "own text": (Smooth(lambda X: "1", lambda X: X) + L1(), "function of Smooth must return one real number; given st"),
    "own list": (Smooth(pair, lambda X: X.tolist()) + L1(), r"shape \(6, 2\) of X; given a list"),
    # what changes what it is given
    "in place": (Smooth(lambda X: np.sum(halve(X)), lambda X: X) + L1(), "Smooth.value changed the array it was given"),
    "slope in place": (Bent(gradient=halve) + L1(), "Bent.gradient changed the array it was given in place"),
    "prox in place": (PLAIN + Abs(prox=lambda y, mu: halve(y)), "Abs.prox changed the array it was given in place"),
    "map in place": (PLAIN + L1() @ Turn(forward=lambda X: halve(X)[:2]), "Turn changed the array it was given"),
    "raises": (Bent(gradient=lambda X: {}["slope"]) + L1(), "f = Bent could not be .* KeyError: 'slope'"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_part_that_does_not_keep_its_promise_is_refused_before_the_run(name):
    expression, match = SPOILT[name]
    problem = Problem.of(expression, over=M)
    for solver in ("oadmm", "oadmm-ep"):  # with a start that looks around, and with one at random
        check_refusal(lambda solver=solver: solve(problem, solver), match)
    check_refusal(lambda: solve_many(problem, "oadmm-ep", seeds=[0], stop=Iterations(1)), match)


def test_parts_that_keep_their_promises_are_let_through():
    problem = Problem.of(GOOD, over=M)
    for solver in ("oadmm", "oadmm-ep"):
        assert np.isfinite(solve(problem, solver, stop=Iterations(20)).objective)
    single = [part.astype(np.float32) for part in (M.random(0), S)]
    lower = Problem.of(Smooth(lambda X: np.sum(X * (single[1] @ X)) / 2, lambda X: single[1] @ X) + Abs(), over=M)
    assert solve(lower, "oadmm-ep", X0=single[0], stop=Iterations(3)).X.dtype == np.float32


@pytest.mark.parametrize("kind", [np.asmatrix, np.ma.masked_array, np.asfortranarray])
@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_gradient_of_another_kind_of_numpy_array_is_taken_as_an_array(kind):
    found, wanted = (
        solve(
            Problem.of(Smooth(lambda X: np.sum(X**2) / 2, gradient) + 0.1 * L1(), over=M),
            "oadmm-ep",
            stop=Iterations(5),
        ).X
        for gradient in (lambda X: kind(X), lambda X: X)
    )
    assert type(found) is np.ndarray and np.array_equal(found, wanted)

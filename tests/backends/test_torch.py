"""PyTorch: strides, ties, and no graphs."""

from typing import Any

import numpy as np
import pytest
from array_api_compat import is_array_api_obj

from backends.problems import B, N, R
from orthoprox import Iterations, Problem, Stiefel, solve
from orthoprox._fields import parts
from orthoprox.maps import Centred, Matrix
from orthoprox.models import sparse_pca
from orthoprox.terms import L1, LeastSquares, Linear, Smooth, SmoothConvex, WeightedL1

pytestmark = pytest.mark.backends
M = Stiefel(N, R)


@pytest.mark.parametrize("solver", ["oadmm-ep", "oadmm-rr", "subgradient"])
def test_data_and_start_that_are_not_contiguous(torch, solver):
    D = torch.tensor(np.ascontiguousarray(B.T)).T
    X0 = torch.tensor(np.ascontiguousarray(M.random(0).T)).T
    assert not D.is_contiguous()
    assert not X0.is_contiguous()
    there = solve(sparse_pca(D, n_components=R, weight=0.1, k=12), solver, X0=X0, stop=Iterations(20))
    here = solve(sparse_pca(B, n_components=R, weight=0.1, k=12), solver, X0=M.random(0), stop=Iterations(20))
    assert np.allclose(there.X.numpy(), here.X, atol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda D, Y, X: Matrix(D),
        lambda D, Y, X: Centred(D),
        lambda D, Y, X: LeastSquares(D),
        lambda D, Y, X: LeastSquares(D.detach(), Y),
        lambda D, Y, X: Linear(X),
        lambda D, Y, X: WeightedL1(abs(X)),
        lambda D, Y, X: sparse_pca(D, n_components=R, weight=0.1),
        lambda D, Y, X: solve(sparse_pca(D.detach(), n_components=R, weight=0.1), X0=X),
    ],
)
def test_what_requires_gradients_is_refused_in_a_sentence(torch, make):
    D, Y, X = (torch.tensor(a, requires_grad=True) for a in (B, B[:, :R].copy(), M.random(0)))
    with pytest.raises(ValueError, match=r"requires gradients, and a run does not record them\. Give .*detach\(\)"):
        make(D, Y, X)


@pytest.mark.parametrize("solver", ["oadmm-ep", "oadmm-rr", "subgradient"])
def test_functions_with_parameters_leave_no_graph(torch, solver):
    """A user's function may be a network in training; a graph would grow with every iteration."""
    weight = torch.nn.Parameter(torch.tensor(B[:N, :R].copy()))

    def value(X: Any) -> Any:
        return (weight * X).sum() + (X**4).sum() / 4

    def by_autograd(X: Any) -> Any:
        X = X.clone().requires_grad_()
        return torch.autograd.grad(value(X), X)[0]

    def by_hand(X: Any) -> Any:
        return weight + X**3

    by_two = []
    for gradient in (by_autograd, by_hand):
        f = Smooth(value, gradient, lipschitz=3.0) - 0.1 * SmoothConvex(value, gradient)
        result = solve(Problem.of(f + 0.1 * L1(), over=M), solver, X0=torch.tensor(M.random(0)), stop=Iterations(8))
        for leaf in parts((result.state, result.X, result.y, result.z)):
            assert not (is_array_api_obj(leaf) and leaf.requires_grad)
        by_two.append(result.X.numpy())
    assert weight.grad is None
    assert np.allclose(*by_two, atol=1e-12)

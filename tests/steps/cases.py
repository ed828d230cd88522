"""Problems on which single steps are tried: with and without g, A = I and not, convex and weakly convex h."""

import numpy as np

from orthoprox import Problem, Stiefel, terms
from orthoprox.maps import Centred, Difference, Entries, Matrix
from orthoprox.models import sparse_pca
from orthoprox.terms import L1, ExplainedVariance, LargestK, LeastSquares, Linear, NegativePart, Quadratic, Smooth

N, R = 9, 3
M = Stiefel(N, R)
_rng = np.random.default_rng(42)
B = _rng.standard_normal((14, N))
C = _rng.standard_normal((6, N))
S = _rng.standard_normal((N, N))
S = S + S.T
Y = _rng.standard_normal((14, R))
T = _rng.standard_normal((N, R))
MASK = _rng.random((N, R)) < 0.6


def quartic(X):
    """A smooth function that is not quadratic, with its gradient."""
    return np.sum(X**4) / 4 + np.sum(X * T), X**3 + T


PROBLEMS = {
    "l1 minus largest-k": sparse_pca(B, n_components=R, weight=0.5, k=8),
    "plain l1, centred": Problem.of(ExplainedVariance(Centred(B), 0.3) + 0.7 * L1(), over=M),
    "groups of a matrix": Problem.of(Quadratic(S) + Linear(T) + 0.8 * terms.GroupL2() @ Matrix(C), over=M),
    "mcp of differences": Problem.of(LeastSquares(B, Y, 0.2) + 0.4 * terms.MCP(0.6, 3.0) @ Difference(), over=M),
    "scad minus largest-k": Problem.of(Quadratic(S, 0.5) - 0.3 * LargestK(5) + 0.3 * terms.SCAD(0.5, 3.7), over=M),
    "stacked": Problem.of(
        ExplainedVariance(B, 0.1)
        + 0.3 * L1() @ Matrix(C)
        + 0.6 * NegativePart()
        + terms.Huber(0.3, 0.2) @ Entries(MASK),
        over=M,
    ),
    "entries": Problem.of(ExplainedVariance(B, 0.1) - 0.2 * LargestK(4) + 0.5 * L1() @ Entries(MASK), over=M),
    "own function": Problem.of(Smooth(quartic, lipschitz=30.0) - 0.3 * LargestK(7) + 0.3 * L1(), over=M),
    "own function, unknown constant": Problem.of(Smooth(quartic) + 0.3 * L1(), over=M),
}

NOT_LIPSCHITZ = {
    "count": Problem.of(ExplainedVariance(B, 0.3) - 0.2 * LargestK(5) + 0.4 * terms.L0(), over=M),
    "cone": Problem.of(ExplainedVariance(B, 0.3) + terms.Nonnegative(), over=M),
}
_MASKED = LeastSquares(Entries(MASK), T)
NOT_LEFT = {
    "a mask in f": Problem.of(_MASKED + 0.3 * L1(), over=M),
    "a mask in a part of f": Problem.of(ExplainedVariance(B, 0.1) + _MASKED + 0.3 * L1(), over=M),
    "a mask in f, differences in h": Problem.of(_MASKED + 0.02 * terms.LInf() @ Difference(), over=M),
}
"""Problems whose products no line search can carry along: they are computed anew."""


def random_triple(problem, seed):
    """X, X_prev on the manifold and y, z anywhere: a state no run would reach."""
    rng = np.random.default_rng(seed)
    X, X_prev = (problem.M.project(rng.standard_normal((N, R))) for _ in "ab")
    y = problem.A(X) + 0.3 * rng.standard_normal(problem.shape)
    z = 0.5 * rng.uniform(-1, 1, problem.shape)
    return rng, X, X_prev, y, z


def lipschitz(problem, unknown=30.0):
    """The constant of f, or the one that a state of a run may hold for it."""
    return unknown if problem.f.lipschitz is None else problem.f.lipschitz


def numerical_gradient(function, X, step=1e-6):
    G = np.zeros_like(X)
    for i in np.ndindex(X.shape):
        E = np.zeros_like(X)
        E[i] = step
        G[i] = (function(X + E) - function(X - E)) / (2 * step)
    return G


def augmented(problem, X, y, z, beta):
    """S of equation (5), from the definition alone."""
    gap = problem.A(X) - y
    return problem.f.value(X) + np.sum(z * gap) + beta / 2 * np.sum(gap**2)

"""Problems with random zeros, and what holds on the matrices that have them, from definitions alone."""

import numpy as np
from scipy.optimize import lsq_linear

from orthoprox import Problem, Stiefel, terms
from orthoprox.manifolds import SparseStiefel

N, R = 14, 3
M = Stiefel(N, R)
_rng = np.random.default_rng(21)
B = _rng.standard_normal((20, N))
S = _rng.standard_normal((N, N))
S = S + S.T
T = _rng.standard_normal((N, R))
WEIGHTS = np.where(_rng.random((N, R)) < 0.2, 0.0, _rng.uniform(0.3, 1.0, (N, R)))  # some entries cost nothing
f = terms.ExplainedVariance(B, 0.1)
quartic = terms.Smooth(lambda X: np.sum(X**4), lambda X: 4 * X**3, hessian=lambda X, V: 12 * X**2 * V)

PROBLEMS = {
    "l1": Problem.of(f + 0.5 * terms.L1(), over=M),
    "l1, indefinite f": Problem.of(terms.Quadratic(S, 0.3) + terms.Linear(T) + 0.4 * terms.L1(), over=M),
    "weighted l1": Problem.of(f + 0.7 * terms.WeightedL1(WEIGHTS), over=M),
    "mcp": Problem.of(f + 0.6 * terms.MCP(0.8, 1.5), over=M),
    "mcp, linear f": Problem.of(terms.Linear(5.0 * T) + 2.0 * terms.MCP(0.5, 1.5), over=M),  # h bends more than f
    "scad": Problem.of(f + 0.6 * terms.SCAD(0.3, 2.5), over=M),
    "log-sum": Problem.of(f + 0.2 * terms.LogSum(0.3), over=M),
    "negative part": Problem.of(f + 0.5 * terms.NegativePart(), over=M),
    "huber": Problem.of(f + 0.5 * terms.Huber(0.2), over=M),  # no kinks, but curvature
    "own function": Problem.of(f - 0.5 * quartic + 0.5 * terms.L1(), over=M),
    "l1 minus largest-k": Problem.of(f - 0.4 * terms.LargestK(9) + 0.5 * terms.L1(), over=M),
}


def is_orthonormal(X, within=1e-13):
    return np.max(np.abs(X.T @ X - np.eye(X.shape[1]))) < within


def sparse_start(seed, share=0.7):
    """An orthonormal matrix with random zeros, and a z that is nobody's multiplier."""
    rng = np.random.default_rng(300 + seed)
    while True:
        on = (rng.random((N, R)) < share).astype(float)
        X = SparseStiefel(on).restore(M.project(rng.standard_normal((N, R)) * on))
        if X is not None and np.min(np.abs(X[on > 0])) > 1e-3:
            return X, 0.3 * rng.uniform(-1, 1, (N, R))


def each_entry(where):
    """The matrices with a single one, in places that a mask allows."""
    for place in np.argwhere(where):
        E = np.zeros(where.shape)
        E[tuple(place)] = 1.0
        yield E


def constraints(X, on):
    """The derivative of the upper triangle of X'X in the entries on a support, a column for each entry."""
    return np.array([(X.T @ E + E.T @ X)[np.triu_indices(X.shape[1])] for E in each_entry(on > 0)]).T


def projected(X, on, W):
    """W without its part in the row space of the constraints: the definition of the tangent part."""
    J, D = constraints(X, on), np.zeros_like(X)
    D[on > 0] = W[on > 0] - np.linalg.pinv(J) @ (J @ W[on > 0])
    return D


def least_length(X, base, low, high):
    """The least |tangent part of base + z| over z between bounds, from a dense matrix."""
    inside, M = low < high, Stiefel(*X.shape)
    b = M.tangent(X, base + np.where(inside, 0.0, low)).ravel()
    if not inside.any():
        return np.linalg.norm(b)
    columns = np.array([M.tangent(X, E).ravel() for E in each_entry(inside)]).T
    found = lsq_linear(columns, -b, bounds=(low[inside], high[inside]), method="bvls", tol=1e-15)
    return np.sqrt(2 * found.cost)

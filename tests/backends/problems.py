"""Problems that are built alike in every array library.

The data are Gaussian and the problems small and well scaled. Two runs that differ by rounding then stay
together for a hundred steps: there are no ties between magnitudes, where the k largest entries would be
chosen differently, no singular values that meet, and no line search at the very edge of acceptance.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from draws import sparse
from orthoprox import Problem, Stiefel, terms
from orthoprox.maps import Centred, Difference, Entries, Matrix, Selection
from orthoprox.models import compressed_modes, sparse_pca
from orthoprox.terms import L1, GroupL2, Huber, LargestK, LeastSquares, LInf, NegativePart, Nuclear, Quadratic, Smooth

N, R = 12, 3
M = Stiefel(N, R)
_rng = np.random.default_rng(5)
B = _rng.standard_normal((40, N))
C = _rng.standard_normal((7, N))
S = _rng.standard_normal((N, N))
S = S + S.T
Y = _rng.standard_normal((40, R))
TIGHT = 1.6 * np.linalg.qr(S)[0][:5]
MASK = _rng.random((N, R)) < 0.6
HOLES = sparse((40, N), 0.4, np.random.default_rng(6))

Convert = Callable[[Any], Any]


def quartic(X: Any) -> tuple[Any, Any]:
    """A smooth function of the kind a user writes once for all libraries, with its gradient."""
    xp = array_namespace(X)
    return xp.sum(X**4) / 4 - xp.sum(X[0, :]), X**3 - xp.astype(_first_row(X), X.dtype)


def _first_row(X: Any) -> Any:
    xp = array_namespace(X)
    return xp.concat([xp.ones_like(X[:1, :]), xp.zeros_like(X[1:, :])], axis=0)


PROBLEMS: dict[str, Callable[[Convert], Problem]] = {
    "l1 minus largest-k": lambda a: sparse_pca(a(B), n_components=R, weight=0.1, k=12),
    "plain l1, centred": lambda a: sparse_pca(Centred(a(B)), n_components=R, weight=0.1),
    "mcp of differences": lambda a: Problem.of(
        LeastSquares(a(B), a(Y), 0.1) + 0.3 * terms.MCP(0.5, 3.0) @ Difference(), over=M
    ),
    "groups of a matrix": lambda a: Problem.of(Quadratic(a(S)) + 0.5 * GroupL2() @ Matrix(a(C)), over=M),
    "stack of three": lambda a: Problem.of(
        LeastSquares(a(B), a(Y), 0.1)
        + 0.2 * L1() @ Matrix(a(C))
        + 0.3 * NegativePart()
        + 0.2 * Huber(0.3) @ Selection([3, 0, 3, 7], columns=N),
        over=M,
    ),
    "rows of a tight map": lambda a: Problem.of(Quadratic(a(S)) + 0.8 * GroupL2() @ Matrix(a(TIGHT)), over=M),
    "negative part": lambda a: Problem.of(LeastSquares(a(B), a(Y), 0.1) + 0.5 * NegativePart(), over=M),
    "nuclear of a matrix": lambda a: Problem.of(Quadratic(a(S)) + 0.5 * Nuclear() @ Matrix(a(C)), over=M),
    "largest magnitude": lambda a: Problem.of(LeastSquares(a(B), a(Y), 0.1) + 2.0 * LInf(), over=M),
    "entries, scad minus largest-k": lambda a: Problem.of(
        Quadratic(a(S), 0.5) - 0.2 * LargestK(5) + 0.3 * terms.SCAD(0.5, 3.7) @ Entries(a(MASK)), over=M
    ),
    "compressed modes": lambda a: compressed_modes(64, n_components=R, weight=0.2),
    "own function": lambda a: Problem.of(Smooth(quartic, lipschitz=3.0) + 0.2 * L1(), over=M),
    "own function, unknown constant": lambda a: Problem.of(Smooth(quartic) + 0.2 * L1() @ Matrix(a(C)), over=M),
    "sparse data": lambda a: sparse_pca(HOLES, n_components=R, weight=0.1, k=12),
}

"""Nonsmooth composite optimisation under orthogonality constraints.

>>> import numpy as np
>>> from orthoprox import solve
>>> from orthoprox.models import sparse_pca
>>> D = np.random.default_rng(0).standard_normal((60, 12))
>>> result = solve(sparse_pca(D, n_components=3, weight=0.1), "oadmm-ep")
>>> result.X.shape
(12, 3)
"""

from orthoprox.driver import (
    Checkpoint,
    Critical,
    History,
    Iterations,
    NotFinite,
    Progress,
    Recorder,
    Result,
    Rule,
    RunFailed,
    Seconds,
    Snapshot,
    Stalled,
    Status,
    When,
    iterate,
    solve,
)
from orthoprox.manifolds import Stiefel
from orthoprox.problem import Problem
from orthoprox.solvers import SOLVERS, Solver, UnsupportedProblem, named
from orthoprox.terms import check_gradient

__version__ = "0.1.0"

__all__ = [
    "SOLVERS",
    "Checkpoint",
    "Critical",
    "History",
    "Iterations",
    "NotFinite",
    "Problem",
    "Progress",
    "Recorder",
    "Result",
    "Rule",
    "RunFailed",
    "Seconds",
    "Snapshot",
    "Solver",
    "Stalled",
    "Status",
    "Stiefel",
    "UnsupportedProblem",
    "When",
    "check_gradient",
    "iterate",
    "named",
    "solve",
]

"""Nonsmooth composite optimisation under orthogonality constraints.

>>> import numpy as np
>>> from orthoprox import solve
>>> from orthoprox.models import sparse_pca
>>> D = np.random.default_rng(0).standard_normal((60, 12))
>>> result = solve(sparse_pca(D, n_components=3, weight=0.1), "oadmm-ep")
>>> result.X.shape
(12, 3)
"""

import typing

if typing.TYPE_CHECKING:
    from orthoprox.bounds import certify, variance_bound
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
        solve_many,
    )
    from orthoprox.estimators import DualPCP as DualPCP
    from orthoprox.estimators import NonnegativePCA as NonnegativePCA
    from orthoprox.estimators import OrthogonalDictionaryLearning as OrthogonalDictionaryLearning
    from orthoprox.estimators import OrthogonalNMF as OrthogonalNMF
    from orthoprox.estimators import RangeICA as RangeICA
    from orthoprox.estimators import RobustSubspace as RobustSubspace
    from orthoprox.estimators import SparsePCA as SparsePCA
    from orthoprox.estimators import sparse_pca_path as sparse_pca_path
    from orthoprox.manifolds import Stiefel
    from orthoprox.problem import Problem
    from orthoprox.solvers import SOLVERS, Solver, UnsupportedProblem, named
    from orthoprox.terms import check_gradient, check_prox

__version__ = "0.1.0"

_ESTIMATORS = (
    "SparsePCA",
    "NonnegativePCA",
    "OrthogonalNMF",
    "RangeICA",
    "OrthogonalDictionaryLearning",
    "RobustSubspace",
    "DualPCP",
    "sparse_pca_path",
)
"""At hand as ``orthoprox.SparsePCA`` and so on, and imported only then: they need scikit-learn."""

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
    "certify",
    "check_gradient",
    "check_prox",
    "iterate",
    "named",
    "solve",
    "solve_many",
    "variance_bound",
]


_HOMES = ("driver", "manifolds", "problem", "solvers", "terms", "bounds")
"""The layers of the names above. They are imported when a name is first used: the command must be able to answer
Ctrl-C before NumPy is there."""


def __getattr__(name: str) -> typing.Any:
    import importlib
    import importlib.util

    for home in _HOMES if name in __all__ else ("estimators",) if name in _ESTIMATORS else ():
        layer = importlib.import_module(f"orthoprox.{home}")
        if hasattr(layer, name):
            return getattr(layer, name)
    if not name.startswith("__") and importlib.util.find_spec(f"orthoprox.{name}") is not None:
        return importlib.import_module(f"orthoprox.{name}")
    raise AttributeError(f"module 'orthoprox' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ESTIMATORS})

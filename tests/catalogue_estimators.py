"""One line per estimator: what scikit-learn's checks and our own common ones are tried on."""

from typing import Any

from orthoprox.estimators import (
    DualPCP,
    NonnegativePCA,
    OrthogonalDictionaryLearning,
    OrthogonalNMF,
    RangeICA,
    RobustSubspace,
    SparsePCA,
)

ESTIMATORS = [
    SparsePCA(n_components=2, n_nonzero=0.5, random_state=0),
    SparsePCA(n_components=2, weight=0.05, random_state=0),
    NonnegativePCA(n_components=2, n_init=1, random_state=0),
    OrthogonalNMF(n_components=2, n_init=1, random_state=0),
    RobustSubspace(n_components=2, random_state=0),
    DualPCP(n_components=2, random_state=0),
    DualPCP(n_components=2, normalize=False, random_state=0),
    RangeICA(n_components=2, tol=1e-6, random_state=0),
    OrthogonalDictionaryLearning(n_components=2, objective="l1", random_state=0),
    OrthogonalDictionaryLearning(n_components=2, codes="soft", random_state=0),
    OrthogonalDictionaryLearning(n_components=2, objective="l4", weight=0.7, codes="hard", random_state=0),
]

OBLIQUE = (OrthogonalNMF, RangeICA)
"""Those whose orthonormal matrix is that of the run, and not ``components_``."""

MULTIPLIERS = (DualPCP, OrthogonalDictionaryLearning, RangeICA)
"""Those whose method has multipliers to find again, wherever X begins: a warm start may take as many steps."""


def orthonormal(fitted: Any) -> Any:
    """The matrix whose rows a fit makes orthonormal."""
    return fitted.result_.X.T if isinstance(fitted, OBLIQUE) else fitted.components_

"""scikit-learn estimators for the models: data in, fitted attributes out."""

from orthoprox._extras import extra

extra("sklearn", "sklearn", "orthoprox.estimators")

from orthoprox.estimators._base import OrthogonalTransformer  # noqa: E402
from orthoprox.estimators._summary import SparsePCASummary  # noqa: E402
from orthoprox.estimators.dictionary import OrthogonalDictionaryLearning  # noqa: E402
from orthoprox.estimators.dual_pcp import DualPCP  # noqa: E402
from orthoprox.estimators.nonnegative_pca import NonnegativePCA  # noqa: E402
from orthoprox.estimators.orthogonal_nmf import OrthogonalNMF  # noqa: E402
from orthoprox.estimators.path import SparsePCAPath, sparse_pca_path  # noqa: E402
from orthoprox.estimators.range_ica import RangeICA  # noqa: E402
from orthoprox.estimators.robust_subspace import RobustSubspace  # noqa: E402
from orthoprox.estimators.sparse_pca import SparsePCA  # noqa: E402

__all__ = [
    "OrthogonalDictionaryLearning",
    "RangeICA",
    "NonnegativePCA",
    "OrthogonalNMF",
    "OrthogonalTransformer",
    "SparsePCA",
    "SparsePCAPath",
    "SparsePCASummary",
    "sparse_pca_path",
    "RobustSubspace",
    "DualPCP",
]

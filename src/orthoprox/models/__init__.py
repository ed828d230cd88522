"""Applications as problems: data in, a ``Problem`` out."""

from orthoprox.models.compressed_modes import compressed_modes
from orthoprox.models.dictionary import orthogonal_dictionary
from orthoprox.models.dual_pcp import dual_pcp
from orthoprox.models.ica import amari_index, least_range, range_ica
from orthoprox.models.nonnegative_pca import nonnegative_pca
from orthoprox.models.orthogonal_nmf import orthogonal_nmf
from orthoprox.models.reweighting import Reweighting
from orthoprox.models.robust_location import robust_location
from orthoprox.models.robust_subspace import robust_subspace
from orthoprox.models.sparse_lda import sparse_lda
from orthoprox.models.sparse_pca import sparse_pca

__all__ = [
    "amari_index",
    "least_range",
    "range_ica",
    "orthogonal_dictionary",
    "compressed_modes",
    "nonnegative_pca",
    "orthogonal_nmf",
    "sparse_pca",
    "sparse_lda",
    "dual_pcp",
    "robust_subspace",
    "robust_location",
    "Reweighting",
]

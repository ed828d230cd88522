"""Applications as problems: data in, a ``Problem`` out."""

from orthoprox.models.compressed_modes import compressed_modes
from orthoprox.models.sparse_pca import sparse_pca

__all__ = ["compressed_modes", "sparse_pca"]

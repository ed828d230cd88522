"""The constraint sets."""

from orthoprox.manifolds.sparse_stiefel import SparseStiefel, TangentSpace
from orthoprox.manifolds.stiefel import Stiefel

__all__ = ["SparseStiefel", "Stiefel", "TangentSpace"]

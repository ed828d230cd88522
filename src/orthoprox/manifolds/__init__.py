"""The constraint set."""

from orthoprox.manifolds.stiefel import Stiefel

__all__ = ["Stiefel"]

"""Minimising with some entries held at zero: active sets, Newton's method on them, and ways to choose one."""

from orthoprox.active.active_set import ActiveSet
from orthoprox.active.choose import best_of_rows, disjoint, fill, greedy, largest, restore, separate
from orthoprox.active.corners import resolve_corners
from orthoprox.active.minimise import ActivePoint, Budget, has_active_sets, minimise_near, minimise_on
from orthoprox.active.subgradient import Subgradient, shortest, shortest_subgradient

__all__ = [
    "ActivePoint",
    "ActiveSet",
    "Budget",
    "Subgradient",
    "best_of_rows",
    "disjoint",
    "fill",
    "greedy",
    "has_active_sets",
    "largest",
    "minimise_near",
    "minimise_on",
    "resolve_corners",
    "restore",
    "separate",
    "shortest",
    "shortest_subgradient",
]

"""Linear maps: how data and the A of h(A(X)) enter a problem."""

from __future__ import annotations

from orthoprox.maps._base import LinearMap, Product, Scaled, Sum, as_map
from orthoprox.maps.blocked import Blocked
from orthoprox.maps.centred import Centred
from orthoprox.maps.difference import Difference
from orthoprox.maps.gram import Gram
from orthoprox.maps.identity import Identity
from orthoprox.maps.matrix import Matrix
from orthoprox.maps.operator import Operator
from orthoprox.maps.scaled_rows import ScaledRows
from orthoprox.maps.selection import Entries, Selection
from orthoprox.maps.sparse import Sparse
from orthoprox.maps.stack import Stack

__all__ = [
    "Identity",
    "Matrix",
    "Sparse",
    "Operator",
    "Blocked",
    "Centred",
    "ScaledRows",
    "Gram",
    "Difference",
    "Selection",
    "Entries",
    "Stack",
    "LinearMap",
    "Sum",
    "Product",
    "Scaled",
    "as_map",
]

"""Numbers that may stand for an empty cell, such as 999 and -99: named in a note, and left as they are."""

from __future__ import annotations

import numpy as np

from orthoprox.cli.tables.places import count, listed
from orthoprox.cli.tables.table import Table
from orthoprox.maps.sparse import is_sparse

SENTINELS = tuple(sign * (10**digits - 1) for digits in range(1, 7) for sign in (1, -1) if sign * digits != 1)
"""-9, 99, -99 and so on up to six nines; 9 is an answer."""


def sentinel_notes(table: Table) -> list[str]:
    """A note on numbers of nines that are farther from all others of their feature than these from one another."""
    if is_sparse(table.X):
        return []
    cells: dict[int, list[tuple[int, int]]] = {}  # by number: how often, in which features
    ends = np.nanmin(table.X, axis=0, initial=np.inf), np.nanmax(table.X, axis=0, initial=-np.inf)
    for end in ends:
        for j in np.flatnonzero(np.isin(end, SENTINELS)):
            column, value = table.X[:, j], end[j]
            rest = column[np.isfinite(column) & (column != value)]
            if len(rest) > 0 and np.min(np.abs(rest - value)) > np.ptp(rest) > 0:
                cells.setdefault(int(value), []).append((int(np.sum(column == value)), int(j)))
    return [
        f"{value} stands in {count(sum(often for often, _ in found), 'cell')} of "
        f"{listed(repr(table.names[j]) for _, j in found)}, far from all other values there. If it means an empty "
        f"cell, give --missing-word {value}."
        for value, found in cells.items()
    ]

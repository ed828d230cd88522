"""Corners of the feasible set: two columns that have a single row in common, where one of two entries has to leave.

Two columns are orthogonal. Where they meet in one row only, the product of their two entries there is zero: the
feasible set has a corner, and a method that keeps both entries small stays in it for good.
"""

from __future__ import annotations

import heapq
import itertools
from typing import Any

from orthoprox._types import Array
from orthoprox.backends import backend_of

_MOST_STEPS = 200  # of the search: a support with more corners than that is far from any solution


def resolve_corners(Y: Array, support: Array, most: int) -> list[Array]:
    """Supports without corners, in order of what they lose: the sum of the squares of the entries that leave.

    An entry that leaves may make a corner of two other columns, which is then resolved too; so the smaller of two
    entries is not always the right one. Of all ways to resolve them, this is a search for the cheapest.

    Parameters
    ----------
    Y : array, shape (n, r)
    support : array, shape (n, r)
        Ones and zeros, as floats.
    most : int
        How many supports at most.

    Returns
    -------
    list of array
        The given support alone where it has no corner.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.active import resolve_corners
    >>> Y = np.array([[0.8, 0.0], [0.1, 0.2], [0.0, 0.9]])  # the columns meet in the second row
    >>> [best.tolist() for best in resolve_corners(Y, (Y != 0) * 1.0, most=1)]
    [[[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]]
    """
    backend = backend_of(Y)
    squares, first = backend.to_numpy(Y) ** 2, backend.to_numpy(support)
    found: list[Array] = []
    order = itertools.count()  # so that equal losses are not compared by their arrays
    heap: list[tuple[float, int, Any]] = [(0.0, next(order), first)]
    seen = {first.tobytes()}
    for _ in range(_MOST_STEPS):
        if not heap or len(found) == most:
            break
        loss, _, mask = heapq.heappop(heap)
        corner = _first_corner(mask)
        if corner is None:
            found.append(support if mask is first else backend.from_numpy(mask, support))
            continue
        row, columns = corner
        for column in columns:
            child = mask.copy()
            child[row, column] = 0.0
            if child[:, column].any() and child.tobytes() not in seen:
                seen.add(child.tobytes())
                heapq.heappush(heap, (loss + float(squares[row, column]), next(order), child))
    return found


def _first_corner(mask: Any) -> tuple[int, tuple[int, int]] | None:
    """A row that two columns have in common, and no other, with those columns; None if there is none."""
    meets = mask.T @ mask
    for i, row in enumerate(meets.tolist()):
        for j, rows in enumerate(row[:i]):
            if rows == 1:
                return int((mask[:, i] * mask[:, j]).argmax()), (i, j)
    return None

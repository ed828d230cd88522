"""A last row that sums up those above it: named in a note, and left as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orthoprox.cli.tables.places import letters
from orthoprox.cli.tables.table import Table
from orthoprox.maps.sparse import is_sparse

TOTALS = (
    *("total", "totals", "grand total", "subtotal", "sum", "mean", "average"),
    *("summe", "gesamt", "insgesamt", "mittelwert", "durchschnitt", "somme", "moyenne", "totale", "suma"),
)
"""What such a row is called."""
_PRINTED = 1e-6
"""What single precision, or printing in seven digits, may change of a sum, beside the sizes of what is added."""


def total_notes(table: Table, words: Sequence[str] = ()) -> list[str]:
    """A note on the last sample if it has the name of a total, or is the sum of the others in all values that it has.

    Parameters
    ----------
    table : Table
    words : sequence of str
        What the last row has in columns of text that name no samples.
    """
    if is_sparse(table.X) or len(table.X) < 3:
        return []
    names = [] if table.index_name == "row" else [table.index[-1]]
    called = [name for name in (*names, *words) if name.strip(" :").lower() in TOTALS]
    is_sum = _is_sum(table.X[-1], table.X[:-1])
    if not (is_sum or called):
        return []
    number = int(table.rows[-1])
    place = f"Column {letters(number)}" if table.transposed else f"Row {number}"
    named = "".join(f" ({name!r})" for name in (called or names)[:1])
    what = "the sum of all others" if is_sum else "a total or a mean by its name"
    return [
        f"{place}{named}, the last sample, is {what}. If it is no sample, take it out of the file: it counts as one."
    ]


def _is_sum(last: Any, others: Any) -> bool:
    """Whether the values that a row has are sums, two of them not zero: one could be so by chance."""
    given = np.flatnonzero(~np.isnan(last))
    return bool(np.count_nonzero(last[given]) > 1) and all(_adds_up(others[:, j], last[j]) for j in given)


def _adds_up(values: Any, total: float) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(abs(np.nansum(values) - total) <= _PRINTED * np.nansum(np.abs(values)))

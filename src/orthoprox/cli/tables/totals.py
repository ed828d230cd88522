"""A last row that sums up those above it: named in a note, and left as it is."""

from __future__ import annotations

import numpy as np

from orthoprox.cli.tables.places import letters
from orthoprox.cli.tables.table import Table
from orthoprox.maps.sparse import is_sparse

TOTALS = (
    *("total", "totals", "grand total", "subtotal", "sum", "mean", "average"),
    *("summe", "gesamt", "insgesamt", "mittelwert", "durchschnitt", "somme", "moyenne", "totale", "suma"),
)
"""What such a row is called."""


def total_notes(table: Table) -> list[str]:
    """A note on the last sample if it has the name of a total, or is the sum of the others in at least two features."""
    if is_sparse(table.X) or len(table.X) < 3:
        return []
    with np.errstate(over="ignore", invalid="ignore"):
        name, total = table.index[-1], np.nansum(table.X[:-1], axis=0)
    is_sum = np.sum(total != 0) > 1 and np.allclose(table.X[-1], total, rtol=1e-6, atol=0)
    if not is_sum and name.strip(" :").lower() not in TOTALS:
        return []
    number = int(table.rows[-1])
    place = f"Column {letters(number)}" if table.transposed else f"Row {number}"
    named = "" if table.index_name == "row" else f" ({name!r})"
    what = "the sum of all others" if is_sum else "a total or a mean by its name"
    return [
        f"{place}{named}, the last sample, is {what}. If it is no sample, take it out of the file: it counts as one."
    ]

"""Empty cells and infinite numbers: counted by feature and refused, unless the user says what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from orthoprox._fields import replace
from orthoprox.cli.tables.parts import keep_features, keep_samples, where_true
from orthoprox.cli.tables.places import count, listed, ranges, sentence
from orthoprox.cli.tables.table import LeftOut, Table
from orthoprox.maps.sparse import is_sparse

WAYS = ("drop-rows", "median", "drop-columns")


def without_words(series: Any, words: Sequence[str]) -> Any:
    """A column of a file without the words that stand for an empty cell; numbers stay as they are."""
    return series if series.dtype.kind in "biufc" else series.mask(series.isin(words))


def without_numbers(table: Table, numbers: Iterable[float | None]) -> Table:
    """The table with NaN for the numbers that stand for an empty cell, in however many ways one is written."""
    given = np.array([number for number in numbers if number is not None], dtype=table.X.dtype)
    if len(given) == 0:
        return table
    X = table.X.copy() if is_sparse(table.X) else table.X.copy(order="K")
    values = X.data if is_sparse(X) else X
    values[np.isin(values, given) | (np.isinf(values) & bool(np.any(np.isinf(given))))] = np.nan
    return replace(table, X=X)


def refuse_infinite(table: Table) -> None:
    """Raise a sentence that names the first infinite number."""
    i, j = where_true(table.X, np.isinf)
    if len(i) == 0:
        return
    others = f", and {count(len(i) - 1, 'more such cell')}" if len(i) > 1 else ""
    raise ValueError(
        f"{sentence(table.place(int(i[0]), int(j[0])))} is infinite, or beyond what a float holds{others}. Mend the "
        "file, or take it for an empty cell: --missing-word inf, and --missing says what becomes of those."
    )


def fill_gaps(table: Table, way: str | None) -> Table:
    """Do as the user says with empty cells.

    Raises
    ------
    ValueError
        If there are some and nothing was said, or if nothing would be left.
    """
    table = _without_empty(table)
    i, j = where_true(table.X, np.isnan)
    if len(i) == 0:
        return table
    m, n = table.X.shape
    rows, columns = np.ones(m, bool), np.ones(n, bool)
    rows[i], columns[j] = False, False
    if way is None:
        raise ValueError(_refusal(table, i, j, int(rows.sum()), int(columns.sum())))
    if way == "drop-rows":
        if rows.sum() < 2:
            raise ValueError(
                f"--missing drop-rows leaves {count(int(rows.sum()), 'sample')} of {m}: every other one has an empty "
                "cell. Take --missing median, or --drop the columns with the most."
            )
        kind = "Columns" if table.transposed else "Rows"
        note = f"{kind} {ranges(table.rows[~rows].tolist())} of the file were left out for empty cells."
        return replace(keep_samples(table, rows), notes=(*table.notes, note))
    if way == "drop-columns":
        if not columns.any():
            raise ValueError(
                f"--missing drop-columns leaves none of the {n} features: each has an empty cell. Take --missing "
                "drop-rows or median."
            )
        counts = np.bincount(j, minlength=n)
        left = [
            LeftOut(table.names[f], f"{count(int(counts[f]), 'empty cell')}", table.feature_place(int(f)))
            for f in np.flatnonzero(~columns)
        ]
        return keep_features(table, columns, left)
    return _with_medians(table, i, j)


def _without_empty(table: Table) -> Table:
    """Leave out features that are empty in every sample: columns are not, but rows of a transposed file may be."""
    if is_sparse(table.X):
        return table
    empty = np.all(np.isnan(table.X), axis=0)
    if np.all(empty):
        raise ValueError("Every feature is empty in all samples that are left. Check the table.")
    if not np.any(empty):
        return table
    left = [LeftOut(table.names[j], "empty", table.feature_place(int(j))) for j in np.flatnonzero(empty)]
    return keep_features(table, ~empty, left)


def _with_medians(table: Table, i: Any, j: Any) -> Table:
    if is_sparse(table.X):
        raise ValueError("--missing median would fill a sparse matrix; take drop-rows or drop-columns.")
    X = table.X.copy(order="K")
    for column in np.unique(j):
        X[i[j == column], column] = np.nanmedian(X[:, column])
    features = len(np.unique(j))
    note = f"{count(len(i), 'empty cell')} of {count(features, 'feature')} took the median of the feature."
    return replace(table, X=X, notes=(*table.notes, note))


def _refusal(table: Table, i: Any, j: Any, rows: int, columns: int) -> str:
    m, n = table.X.shape
    features, first, counts = np.unique(j, return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    words = [
        f"{table.names[features[k]]!r} {counts[k]} ({_first(table, int(i[first[k]]), int(features[k]), counts[k])})"
        for k in order
    ]
    samples, kinds = ("columns", "rows") if table.transposed else ("rows", "columns")
    return (
        f"{count(len(i), 'cell')} of {m * n:,} {'is' if len(i) == 1 else 'are'} empty or not a number: "
        f"{listed(words)}. Say what to do with {'it' if len(i) == 1 else 'them'}: --missing drop-rows keeps {rows:,} "
        f"of {m:,} samples ({samples}), --missing median fills each with the median of its feature, --missing "
        f"drop-columns keeps {columns:,} of {n:,} features ({kinds})."
    )


def _first(table: Table, i: int, j: int, counts: int) -> str:
    """Where the first empty cell of a feature is, in the words of a spreadsheet."""
    place = table.place(i, j).partition(" (")[0]
    return place if counts == 1 else f"first {place}"

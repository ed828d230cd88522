"""From a file to numbers: which columns take part, what names the rows, what is missing, what is constant."""

from __future__ import annotations

import difflib
import fnmatch
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoprox._fields import replace
from orthoprox.cli.tables.columns import read_column
from orthoprox.cli.tables.gaps import fill_gaps, refuse_infinite, without_numbers, without_words
from orthoprox.cli.tables.layout import distinct_names
from orthoprox.cli.tables.numbers import BLANK, parse
from orthoprox.cli.tables.parts import constant_columns, keep_features, take
from orthoprox.cli.tables.places import count, letters, listed
from orthoprox.cli.tables.sentinels import sentinel_notes
from orthoprox.cli.tables.table import LeftOut, Raw, Table
from orthoprox.cli.tables.totals import total_notes
from orthoprox.maps.sparse import is_sparse

FEATURES = (
    "gene",
    "probe",
    "feature",
    "symbol",
    "transcript",
    "protein",
    "peptide",
    "metabolite",
    "taxon",
    "snp",
)
"""Names of a column whose rows are features rather than samples."""


LONGEST = 60
"""Letters of a word that names a row: longer ones are remarks."""

MIDNIGHT = " 00:00:00"
"""How a day ends that was read as a moment."""

COVARIANCE = (
    "The table is symmetric, as a matrix of covariances or correlations is, but its rows were taken for samples. "
    "For components of such a matrix: orthoprox fit sparse-pca with --covariance."
)
SLACK = 1e-6
"""What rounding may change of a correlation."""


@dataclass(frozen=True)
class Choice:
    """Which part of a file takes part in a fit."""

    only: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    index: str | None = None
    transpose: bool = False
    missing: str | None = None
    covariance: bool = False


def clean(raw: Raw, choice: Choice, words: Sequence[str] = ()) -> Table:
    """The numbers of a table, and what was left out of it; ``words`` stand for empty cells."""
    blank = [*BLANK, *words]
    raw = replace(raw, columns={name: without_words(column, blank) for name, column in raw.columns.items()})
    table = _of_matrix(raw, choice) if raw.matrix is not None else _of_columns(raw, choice)
    table = without_numbers(table, [parse(word, raw.decimal) for word in words])
    if choice.transpose or raw.transposed:
        table = _transposed(table)
    else:
        names = [name for name in (table.index_name, *(one.name for one in table.left_out)) if _is_feature(name)]
        notes = [f"If the rows are features, as the name {name!r} suggests, give --transpose." for name in names[:1]]
        table = replace(table, notes=(*table.notes, *notes))
    refuse_infinite(table)
    if choice.covariance:
        return _of_covariances(table, choice)
    if _is_covariance(table.X):
        table = replace(table, notes=(*table.notes, COVARIANCE))
    texts = [] if choice.transpose else [one.name for one in table.left_out if one.name in raw.columns]
    last = [str(raw.columns[name].iloc[-1]) for name in texts]
    table = replace(table, notes=(*table.notes, *sentinel_notes(table), *total_notes(table, last)))
    return _without_constants(fill_gaps(table, choice.missing))


def _of_covariances(table: Table, choice: Choice) -> Table:
    """The table as covariances, which the estimator checks further."""
    m, n = table.X.shape
    if m != n or table.transposed or choice.missing or is_sparse(table.X):
        raise ValueError(
            "--covariance takes a dense table with a row and a column for each feature, without --transpose and "
            f"--missing; given {count(m, 'row')} and {count(n, 'column')} of numbers. Mend the file."
        )
    return replace(table, is_covariance=True)


def _is_covariance(X: Any) -> bool:
    """Whether numbers are symmetric, and none is larger than the diagonal lets a covariance be."""
    if is_sparse(X) or X.shape[0] != X.shape[1] or X.shape[0] < 3 or not np.all(np.diag(X) > 0):
        return False
    sizes = np.sqrt(np.diag(X))
    with np.errstate(over="ignore", under="ignore"):
        R = X / sizes / sizes[:, None]
        return bool(np.all(np.abs(R) <= 1 + SLACK) and np.all(np.abs(R - R.T) <= SLACK))


def _of_columns(raw: Raw, choice: Choice) -> Table:
    chosen = dict.fromkeys(choose(tuple(raw.columns), choice))
    left = [_left(raw, name, "not chosen") for name in raw.columns if name not in chosen and name != choice.index]
    found, notes = {}, list(raw.notes)
    for name in chosen:
        if name == choice.index or (name == raw.index and choice.index is None):
            continue
        column = read_column(raw.columns[name], name, raw.numbers[name], raw.rows, raw.decimal)
        if column.values is None:
            left.append(_left(raw, name, column.why))
        else:
            found[name] = column.values
        notes += [column.note] if column.note else []
    words = [one.name for one in left if one.why != "not chosen"]
    index = choice.index or raw.index or _natural_index(raw, words) or _natural_index(raw, _not_asked_for(raw, choice))
    if index is None and choice.transpose:  # names of features may be the same; a note says so
        index = next(itertools.chain(words, _not_asked_for(raw, choice)), None)
    if not found:
        raise ValueError(_no_numbers(raw, left, index))
    left = [one for one in left if one.name != index]
    labels, index_name = _labels(raw, index)
    kind = np.result_type(*(values.dtype for values in found.values()))
    # in the order that a frame of pandas, or the array of the file, has: sums in another order round otherwise
    X = np.empty((len(raw.rows), len(found)), dtype=kind, order="C" if raw.is_array else "F")
    for j, values in enumerate(found.values()):
        X[:, j] = values
    numbers = np.array([raw.numbers[name] for name in found])
    rest: dict[str, Any] = {"left_out": tuple(left), "notes": tuple(notes), "facts": raw.facts}
    return Table(X, tuple(found), labels, index_name, raw.rows, numbers, **rest)


def _of_matrix(raw: Raw, choice: Choice) -> Table:
    if choice.index is not None:
        raise ValueError("A sparse matrix has no column for --index; leave it out.")
    names = tuple(raw.numbers)
    chosen = choose(names, choice)
    where = [j for j, name in enumerate(names) if name in set(chosen)]
    left = tuple(_left(raw, name, "not chosen") for name in names if name not in set(chosen))
    labels, index_name = _labels(raw, None)
    X = take(raw.matrix, columns=where)
    numbers = np.asarray(where) + 1
    return Table(X, chosen, labels, index_name, raw.rows, numbers, left_out=left, notes=raw.notes, facts=raw.facts)


def choose(names: tuple[str, ...], choice: Choice) -> tuple[str, ...]:
    """The columns that ``--only`` and ``--drop`` leave; patterns such as q1_* are taken too."""
    if choice.index is not None and choice.index not in names:
        _matches(choice.index, names, "--index", patterns=False)
    only = {name for word in choice.only for name in _matches(word, names, "--only")}
    drop = {name for word in choice.drop for name in _matches(word, names, "--drop")}
    chosen = tuple(name for name in names if (not only or name in only or name == choice.index) and name not in drop)
    if not [name for name in chosen if name != choice.index]:
        raise ValueError(f"--only and --drop leave no columns of the {len(names)}; choose fewer.")
    return chosen


def _matches(word: str, names: Sequence[str], option: str, *, patterns: bool = True) -> list[str]:
    if word in names:
        return [word]
    found = fnmatch.filter(names, word) if patterns and any(sign in word for sign in "*?[") else []
    parts = [part.strip() for part in word.split(",")]
    if not found and patterns and len(parts) > 1 and all(part in names for part in parts):
        found = parts
    if found:
        return found
    near = difflib.get_close_matches(word, names, n=1)
    more = f"Did you mean {near[0]!r}?" if near else f"There are {listed(map(repr, names))}."
    raise ValueError(f"{option} names {word!r}, which is no column of the table. {more}")


def _left(raw: Raw, name: str, why: str) -> LeftOut:
    return LeftOut(name, why, f"column {letters(raw.numbers[name])}")


def _not_asked_for(raw: Raw, choice: Choice) -> Iterator[str]:
    """Columns that ``--only`` passes over and that hold no numbers: they may still name the samples."""
    names = tuple(raw.columns)
    asked = {*choose(names, replace(choice, drop=())), *(set(names) - set(choose(names, replace(choice, only=()))))}
    for name in names:
        if name in asked or raw.columns[name].dtype.kind == "f":
            continue
        try:
            column = read_column(raw.columns[name], name, raw.numbers[name], raw.rows, raw.decimal)
        except ValueError:  # a word among numbers
            continue
        if column.values is None:
            yield name


def _natural_index(raw: Raw, names: Iterable[str]) -> str | None:
    """The first column that was left out and has a different word in every row."""
    for name in names:
        series = raw.columns[name]
        if series.notna().all():
            words = series.astype(str)
            if words.nunique() == len(words) > 1 and words.str.len().max() <= LONGEST:
                return name
    return None


def _labels(raw: Raw, index: str | None) -> tuple[tuple[str, ...], str]:
    if index is None:
        return raw.labels or tuple(str(row) for row in raw.rows), raw.labels_name if raw.labels else "row"
    series = raw.columns[index].astype(object)
    words = [str(item) if there else "" for item, there in zip(series, series.notna(), strict=True)]
    if all(word.endswith(MIDNIGHT) for word in words if word):
        words = [word.removesuffix(MIDNIGHT) for word in words]
    return tuple(words), index


def _no_numbers(raw: Raw, left: Sequence[LeftOut], index: str | None) -> str:
    words = listed(f"{one.name!r} ({one.why})" for one in left) or f"{index!r}, which names the rows"
    ways = "If the columns look wrong, name the --separator; if numbers are written in another way, the --decimal mark."
    more = [ways] if "separator" in raw.facts else []
    return " ".join([f"No column holds numbers to fit: there is {words}.", *more, *raw.notes])


def _transposed(table: Table) -> Table:
    """Features from rows, samples from columns."""
    names, notes = distinct_names(table.index)
    notes = [note.replace("columns have", "rows have") for note in notes]
    X = table.X.T
    return Table(
        X if isinstance(X, np.ndarray) else X.tocsr(),
        tuple(f"row {row}" for row in table.rows) if table.index_name == "row" else names,
        table.names,
        "sample",
        table.columns,
        table.rows,
        True,
        "" if table.index_name == "row" else table.index_name,
        table.left_out,
        (*table.notes, *notes),
        table.facts,
    )


def _is_feature(name: str) -> bool:
    return any(word in FEATURES for word in re.findall(r"[a-z]+", name.lower()))


def _without_constants(table: Table) -> Table:
    """Leave out what is the same in every sample, since it can have no part in a component."""
    m = table.X.shape[0]
    if m < 2:
        raise ValueError(
            f"The table has {count(m, 'sample')}, and a fit needs at least 2. If samples are in columns, give "
            "--transpose."
        )
    constant, values = constant_columns(table.X)
    if np.all(constant):
        common = Counter(f"{value:g}" for value in values)
        what = listed(f"{name!r} is {value:g}" for name, value in zip(table.names, values, strict=True))
        raise ValueError(
            f"All {count(len(values), 'column')} of numbers {'are' if len(values) > 1 else 'is'} constant"
            f"{'' if len(common) > 1 else ', ' + next(iter(common)) + ' everywhere'}: there is no variance for "
            f"components to explain{' (' + what + ')' if len(common) > 1 else ''}. Check the table."
        )
    if not np.any(constant):
        return table
    left = [
        LeftOut(table.names[j], f"constant: {values[j]:g} everywhere", table.feature_place(int(j)))
        for j in np.flatnonzero(constant)
    ]
    return keep_features(table, ~constant, left)

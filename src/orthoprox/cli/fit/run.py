"""The fit of an estimator to a table, exactly as Python does it."""

from __future__ import annotations

import inspect
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orthoprox._extras import extra
from orthoprox.backends.devices import Mover
from orthoprox.blocks import Rows
from orthoprox.cli.fit.kinds import Kind
from orthoprox.cli.fit.parameters import in_words_of_options
from orthoprox.cli.tables import Table
from orthoprox.cli.tables.parts import deviations, where_true
from orthoprox.cli.tables.places import count, sentence
from orthoprox.estimators._device import at_home, host
from orthoprox.maps.sparse import is_sparse

FAR = 100.0
"""A ratio of standard deviations that is worth a word."""
LONG = 1e9
"""A larger ratio is not written out."""
SMALL = 1e-100
SPREAD = "Features differ much in spread"
"""How the note of an estimator on that begins, which is said here for all of them."""


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fit found."""

    kind: Kind
    model: Any
    settings: dict[str, Any]
    table: Table
    components: Any
    scores: Any
    """Of every sample; None of covariances."""

    columns: dict[str, Any]
    """What else there is to say of every sample, by name."""

    scaling: str
    seconds: float
    notes: tuple[str, ...]
    python: str
    path: Any = None
    tables: dict[str, Any] = field(default_factory=dict)
    """Further numbers of every feature: the mixing matrix of independent components."""


def fit_table(
    kind: Kind, table: Table, settings: dict[str, Any], scale: str, *, move: Mover | None, verbose: bool
) -> Fit:
    """Fit to a table in memory."""
    if kind.nonnegative:
        _refuse_negative(table, kind)
    frame = data_of(table)
    own = "scale" in inspect.signature(kind.estimator).parameters
    model = kind.estimator(**settings, **_scale_of(own, scale), verbose=int(verbose))
    data = frame if own or scale == "none" else _standardised(frame, kind)
    data = _moved(data, move)
    return _fitted(kind, model, table, data, settings, scale, dispatch=move is not None)


def fit_rows(kind: Kind, rows: Rows, table: Table, settings: dict[str, Any], scale: str, *, verbose: bool) -> Fit:
    """Fit to samples that are read in blocks; the table holds their names only."""
    own = "scale" in inspect.signature(kind.estimator).parameters
    model = kind.estimator(**settings, **_scale_of(own, scale), verbose=int(verbose))
    return _fitted(kind, model, table, rows, settings, scale, dispatch=False)


def _refuse_negative(table: Table, kind: Kind) -> None:
    i, j = where_true(table.X, lambda values: values < 0)
    if len(i):
        others = (
            f", and {count(len(i) - 1, 'other cell')} {'is' if len(i) == 2 else 'are'} negative" if len(i) > 1 else ""
        )
        raise ValueError(
            f"{sentence(table.place(int(i[0]), int(j[0])))} is {table.X[i[0], j[0]]:g}{others}; {kind.name} takes "
            "numbers that are not negative. Leave such columns out with --drop, or take another estimator."
        )


def _refuse_too_many(model: Any, table: Table) -> None:
    """Say which columns were left out where more components are asked for than the rest allow."""
    r, n = model.n_components, len(table.names)
    if isinstance(r, int) and r > n and table.left_out:
        raise ValueError(
            f"There are at most as many orthonormal components as features: --components = {r}, and "
            f"{count(n, 'feature')} of the table can take part. {table.left_out_words()}"
        )


def _scale_of(own: bool, scale: str) -> dict[str, Any]:
    return {"scale": "standard" if scale == "standard" else None} if own else {}


def _fitted(
    kind: Kind, model: Any, table: Table, data: Any, settings: dict[str, Any], scale: str, *, dispatch: bool
) -> Fit:
    _refuse_too_many(model, table)
    begin = time.perf_counter()
    with _told() as notes, _dispatching(dispatch):
        (model.fit_covariance if table.is_covariance else model.fit)(data)
        seconds = time.perf_counter() - begin
        scores = None if table.is_covariance else host(model.transform(data))
    model = at_home(model)
    # for its summary, and only after the data, which may have no names, were transformed
    if not hasattr(model, "feature_names_in_"):
        model.feature_names_in_ = np.asarray(table.names, dtype=object)
    notes += [in_words_of_options(note) for note in getattr(model, "notes_", ())]
    notes = [note for note in dict.fromkeys(notes) if SPREAD not in note]
    mixing = {"mixing": model.mixing_} if hasattr(model, "mixing_") else {}
    return Fit(
        kind,
        model,
        settings,
        table,
        model.components_,
        scores,
        _of_samples(model),
        scaling_words(kind, table, scale),
        seconds,
        (*table.notes, *notes),
        python_of(kind, model, table, scale),
        tables=mixing,
    )


def data_of(table: Table) -> Any:
    """A frame with the names of the features, as anyone would give it to an estimator; a sparse matrix as it is."""
    if is_sparse(table.X):
        return table.X
    pandas = extra("pandas", "fit", "orthoprox fit")
    return pandas.DataFrame(table.X, columns=list(table.names), index=list(table.index), copy=False)


def _standardised(data: Any, kind: Kind) -> Any:
    from sklearn.preprocessing import StandardScaler

    sparse = is_sparse(data)
    scaler = StandardScaler(with_mean=not kind.nonnegative and not sparse)
    return (scaler if sparse else scaler.set_output(transform="pandas")).fit_transform(_of_usual_size(data))


def _of_usual_size(data: Any) -> Any:
    """Divide features whose squares are beyond the range by a power of two, which no standardised number depends on."""
    tops = np.asarray(abs(data).max(axis=0).toarray() if is_sparse(data) else abs(data).max(axis=0)).ravel()
    powers = np.where((tops > 0) & ((tops < SMALL) | (tops > 1 / SMALL)), np.frexp(tops)[1], 0)
    if not np.any(powers):
        return data
    if is_sparse(data):
        data = data.copy()
        data.data = np.ldexp(data.data, -powers[data.indices])
        return data
    return data.apply(lambda column: np.ldexp(column, -int(powers[data.columns.get_loc(column.name)])))


def _moved(data: Any, move: Mover | None) -> Any:
    if move is None:
        return data
    if is_sparse(data):
        raise ValueError("A sparse matrix is fitted on the CPU; leave --device and --library out.")
    return move(np.asarray(data))


@contextmanager
def _dispatching(wanted: bool) -> Iterator[None]:
    """Let arrays of other libraries stay where they are, as scikit-learn offers it."""
    if not wanted:
        yield
        return
    import sklearn

    os.environ["SCIPY_ARRAY_API"] = "1"  # scikit-learn asks for it
    with sklearn.config_context(array_api_dispatch=True):
        yield


@contextmanager
def _told() -> Iterator[list[str]]:
    """Collect what an estimator warns of, and name parameters as options in what it refuses."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield told
        except (ValueError, TypeError) as error:
            raise type(error)(in_words_of_options(str(error))) from error
    for one in caught:
        if issubclass(one.category, UserWarning):
            words = str(one.message)
            told.append(in_words_of_options(words.partition(": ")[2] if words.partition(": ")[0].isalpha() else words))


def _of_samples(model: Any) -> dict[str, Any]:
    """What an estimator says of each sample besides its scores."""
    found: dict[str, Any] = {}
    if hasattr(model, "labels_") and hasattr(model, "W_"):
        found["component"] = ["" if k < 0 else f"component_{k + 1}" for k in model.labels_]
    if hasattr(model, "outliers_"):
        found["distance"] = model.distances_.tolist()
        found["outlier"] = ["yes" if out else "no" for out in model.outliers_]
    return found


def scaling_words(kind: Kind, table: Table, scale: str) -> str:
    """A sentence on units: what was done, and whether it mattered."""
    if table.is_covariance:
        if scale == "none":
            return "Covariances keep their units (--scale none)."
        return "Covariances were divided by standard deviations into correlations (--scale none: units are kept)."
    spread = "" if table.X is None else _spread_words(table)
    if scale == "none":
        more = " Components follow the features that spread most; --scale standard makes all count alike."
        return "Features keep their units (--scale none)." + spread + (more if spread else "")
    centred = kind.centres or not (kind.nonnegative or is_sparse(table.X))
    done = f"{'centred and ' if centred else ''}divided by its standard deviation{'' if centred else ', not centred'}"
    return f"Every feature was {done} (--scale none: units are kept).{spread}"


def _spread_words(table: Table) -> str:
    """A sentence on the features that spread most and least, if they are far apart."""
    with np.errstate(over="ignore"):
        sizes = deviations(table.X)
        low, high = int(np.argmin(np.where(sizes > 0, sizes, np.inf))), int(np.argmax(sizes))
        ratio = float(sizes[high] / (sizes[low] or np.inf))
    if ratio <= FAR:
        return ""
    return (
        f" Spreads differ {f'{ratio:,.0f}' if ratio < LONG else 'more than a billion'}-fold: the standard deviation of "
        f"{table.names[high]!r} is {sizes[high]:.3g}, that of {table.names[low]!r} {sizes[low]:.3g}."
    )


def python_of(kind: Kind, model: Any, table: Table, scale: str) -> str:
    """The lines that do the same in Python."""
    defaults = {name: one.default for name, one in inspect.signature(kind.estimator).parameters.items()}
    given = {
        name: value
        for name, value in model.get_params().items()
        if name != "verbose" and (name == "n_components" or value != defaults[name])
    }
    words = ", ".join(f"{name}={value!r}" for name, value in given.items())
    lines = [f"from orthoprox import {kind.name}"]
    X = "X"
    if scale == "standard" and "scale" not in defaults:
        mean = "with_mean=False" if kind.nonnegative or is_sparse(table.X) else ""
        lines.append("from sklearn.preprocessing import StandardScaler")
        X = f"StandardScaler({mean}).fit_transform(X)"
    if table.is_covariance:
        features = count(len(table.names), "feature")
        return "\n".join(
            [*lines, "", f"# C: covariances of {features}", f"model = {kind.name}({words}).fit_covariance(C)"]
        )
    what = "a sparse matrix" if is_sparse(table.X) else "the columns that loadings.csv names"
    shape = count(len(table.index), "sample") + " by " + count(len(table.names), "feature")
    return "\n".join([*lines, "", f"# X: {what}, {shape}", f"model = {kind.name}({words}).fit({X})"])

"""From a name to data."""

from __future__ import annotations

import difflib
import operator
import os
import re
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from orthoprox.datasets._base import DataMatrix, Dataset, Request
from orthoprox.datasets._errors import DataUnavailable
from orthoprox.datasets._prepare import choose
from orthoprox.datasets._stored import FOLDER


def parse_name(name: str, known: Mapping[str, Dataset]) -> tuple[Dataset, int | None, int | None]:
    """Split a name such as ``mnist-1500-500`` into dataset, samples and features, ignoring case."""
    match = re.fullmatch(r"([a-z]\w*?)(?:-(\d{1,18}))?(?:-(\d{1,18}))?", str(name).strip().lower())
    base = match[1] if match else str(name)
    if match is None or base not in known:
        near = difflib.get_close_matches(re.split(r"-\d", base.lower())[0], known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"There is no dataset named {name!r}; choose from {', '.join(known)}, optionally followed by the numbers "
            f"of samples and features, as in mnist-1500-500.{hint}"
        )
    samples, features = (None if size is None else int(size) for size in match.groups()[1:])
    return known[base], samples, features


def load_dataset(
    known: Mapping[str, Dataset],
    name: str,
    *,
    samples: int | None,
    features: int | None,
    seed: int,
    folder: str | PathLike[str] | None,
    raw: bool,
    check: bool,
) -> DataMatrix:
    """See ``load``."""
    dataset, m, n = parse_name(name, known)
    m = _size("samples", m, samples, name)
    n = _size("features", n, features, name)
    rng = np.random.default_rng(_integer("seed", seed, 0))
    A, checksum = dataset.origin.matrix(Request(m, n, rng, resolve_folder(folder), check))
    A, rows, columns = choose(A, dataset, m, n, rng)
    X = A if raw else np.ascontiguousarray(dataset.recipe(A))
    return DataMatrix(
        name=dataset.name if m is None and n is None else f"{dataset.name}-{A.shape[0]}-{A.shape[1]}",
        X=X,
        source=dataset.source,
        licence=dataset.licence,
        notes=dataset.notes,
        checksum=checksum,
        rows=rows,
        columns=columns,
    )


def why_unavailable_in(known: Mapping[str, Dataset], name: str, folder: str | PathLike[str] | None) -> str | None:
    """See ``why_unavailable``."""
    dataset, m, n = parse_name(name, known)
    m, n = _size("samples", m, None, name), _size("features", n, None, name)
    request = Request(m, n, np.random.default_rng(), resolve_folder(folder), check=False)
    try:
        dataset.origin.locate(request)
        for what, wanted, there in zip(("samples", "features"), (m, n), dataset.shape or (), strict=False):
            if wanted is not None and wanted > there:
                raise dataset.size_error(what, wanted, there)
    except DataUnavailable as error:
        return str(error)
    return None


def resolve_folder(folder: str | PathLike[str] | None) -> Path | None:
    """The given folder, else the one in the environment, else None."""
    given = folder if folder is not None else os.environ.get(FOLDER) or None
    return None if given is None else Path(os.path.expanduser(given))


def _size(what: str, in_name: int | None, given: int | None, name: str) -> int | None:
    if given is not None:
        given = _integer(what, given, 1)
    if in_name is not None and given is not None and in_name != given:
        raise ValueError(
            f"The name {name} asks for {in_name} {what}, the argument for {given}. Give only one of the two."
        )
    size = given if in_name is None else in_name
    return None if size is None else _integer(what, size, 1)


def _integer(what: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} must be a whole number; given {value!r}.") from None
    if number < least:
        raise ValueError(f"{what} must be at least {least}; given {number}.")
    return number

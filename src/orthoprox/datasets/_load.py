"""The one door: a name in, data out."""

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

from orthoprox.datasets._base import Data, Dataset, Request
from orthoprox.datasets._prepare import chosen
from orthoprox.datasets._stored import FOLDER


def parsed(name: str, known: Mapping[str, Dataset]) -> tuple[Dataset, int | None, int | None]:
    """The dataset, samples and features of a name such as ``mnist-1500-500``; capitals do not matter."""
    found = re.fullmatch(r"([a-z]\w*?)(?:-(\d+))?(?:-(\d+))?", str(name).strip().lower())
    base = found[1] if found else str(name)
    if found is None or base not in known:
        near = difflib.get_close_matches(re.split(r"-\d", base.lower())[0], known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"There is no dataset named {name!r}; there are {', '.join(known)}, each also with the number of samples "
            f"and features behind, as in mnist-1500-500.{hint}"
        )
    samples, features = (None if size is None else int(size) for size in found.groups()[1:])
    return known[base], samples, features


def loaded(
    known: Mapping[str, Dataset],
    name: str,
    *,
    samples: int | None,
    features: int | None,
    seed: int,
    folder: str | PathLike[str] | None,
    raw: bool,
    check: bool,
) -> Data:
    """See ``load``."""
    dataset, m, n = parsed(name, known)
    m = _size("samples", m, samples, name)
    n = _size("features", n, features, name)
    rng = np.random.default_rng(_whole("seed", seed, 0))
    A, checksum = dataset.origin.matrix(Request(m, n, rng, named_folder(folder), check))
    A, rows, columns = chosen(A, dataset, m, n, rng)
    X = A if raw else np.ascontiguousarray(dataset.recipe(A))
    return Data(
        name=dataset.name if m is None and n is None else f"{dataset.name}-{A.shape[0]}-{A.shape[1]}",
        X=X,
        source=dataset.source,
        licence=dataset.licence,
        notes=dataset.notes,
        checksum=checksum,
        rows=rows,
        columns=columns,
    )


def named_folder(folder: str | PathLike[str] | None) -> Path | None:
    """The folder that was given, else the one that the environment names, else none."""
    given = folder if folder is not None else os.environ.get(FOLDER) or None
    return None if given is None else Path(given).expanduser()


def _size(what: str, in_name: int | None, given: int | None, name: str) -> int | None:
    if given is not None:
        given = _whole(what, given, 1)
    if in_name is not None and given is not None and in_name != given:
        raise ValueError(f"The name {name} asks for {in_name} {what}, the argument for {given}. Give one of them.")
    size = given if in_name is None else in_name
    return None if size is None else _whole(what, size, 1)


def _whole(what: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} must be a whole number; given {value!r}.") from None
    if number < least:
        raise ValueError(f"{what} must be at least {least}; given {number}.")
    return number

"""The data of a command: a dataset by name, or a file of the user's."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orthoprox.datasets import load, read_matrix
from orthoprox.datasets._prepare import prepare_matrix
from orthoprox.datasets.files import looks_like_file

PREPARE = ("paper", "centre", "raw")


@dataclass(frozen=True)
class Source:
    """Data for a model: an array or a map, the names of its columns, and their origin."""

    D: Any
    shape: tuple[int, int]
    features: Sequence[Any]
    about: dict[str, Any]
    divisor: float
    """What the numbers were divided by, because their squares would have been lost."""


def find_source(text: str, *, seed: int, folder: Path | None, prepare: str | None) -> Source:
    """Load a file, if the text looks like one, else a dataset."""
    if looks_like_file(text):
        A, names = read_matrix(text)
        how = prepare or "centre"
        D, divisor = prepare_matrix(A, how)
        about: dict[str, Any] = {"name": Path(text).name, "source": os.path.realpath(text)}
        about |= {"prepare": how, "divided_by": divisor, "shape": list(A.shape)}
        return Source(D, A.shape, names or range(A.shape[1]), about, divisor)
    data = load(text, seed=seed, folder=folder, raw=prepare is not None)
    about = {"name": data.name, "source": data.source, "licence": data.licence, "checksum": data.checksum}
    about |= {"prepare": prepare or "the dataset's own", "shape": list(data.X.shape), "notes": list(data.notes)}
    D, divisor = (data.X, 1.0) if prepare is None else prepare_matrix(data.X, prepare)
    return Source(D, data.X.shape, data.columns, about, divisor)

"""The data of a command: a dataset by name, or a file of the user's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orthoprox._checks import check_matrix
from orthoprox.datasets import load, read_matrix
from orthoprox.datasets._prepare import normalise_columns
from orthoprox.datasets.files import file_ending
from orthoprox.maps import Centred, Sparse
from orthoprox.maps.sparse import is_sparse

PREPARE = ("paper", "centre", "raw")


@dataclass(frozen=True)
class Source:
    """Data for a model: an array or a map, the names of its columns, and their origin."""

    D: Any
    shape: tuple[int, int]
    features: list[str]
    about: dict[str, Any]


def find_source(text: str, *, seed: int, folder: Path | None, prepare: str | None) -> Source:
    """Load a file, if the text looks like one, else a dataset."""
    if file_ending(text) or "/" in text or Path(text).is_file():
        A, names = read_matrix(text)
        how = prepare or "centre"
        features = names or [str(j) for j in range(A.shape[1])]
        about: dict[str, Any] = {"name": Path(text).name, "source": str(Path(text).resolve())}
        return Source(prepare_matrix(A, how), A.shape, features, about | {"prepare": how, "shape": list(A.shape)})
    data = load(text, seed=seed, folder=folder, raw=prepare is not None)
    about = {"name": data.name, "source": data.source, "licence": data.licence, "checksum": data.checksum}
    about |= {"prepare": prepare or "the dataset's own", "shape": list(data.X.shape), "notes": list(data.notes)}
    D = data.X if prepare is None else prepare_matrix(data.X, prepare)
    return Source(D, data.X.shape, [str(j) for j in data.columns], about)


def prepare_matrix(A: Any, how: str) -> Any:
    """Scale and centre; sparse data are centred by a map and stay sparse."""
    if is_sparse(A):
        B = Sparse(normalise_columns(Sparse(A, name="The data").B) if how == "paper" else A, name="The data")
        return B if how == "raw" else Centred(B)
    check_matrix(A, "The data")
    B = normalise_columns(A) if how == "paper" else A
    return B if how == "raw" else B - B.mean(axis=0)

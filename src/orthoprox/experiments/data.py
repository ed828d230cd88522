"""Data for the runs, read once by each process."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orthoprox._checks import check_matrix
from orthoprox._fields import replace
from orthoprox.datasets import DataUnavailable, load, read_matrix
from orthoprox.datasets.files import file_ending
from orthoprox.experiments.spec import Experiment
from orthoprox.maps import Centred, LinearMap, Sparse, as_map
from orthoprox.maps.sparse import is_sparse

LARGEST = 5000
"""With more features than this the principal variances, which need all of them at once, are not worked out."""
_BLOCK = 256


@dataclass(frozen=True, eq=False)
class Prepared:
    """Data as a map, with what a table needs of them."""

    D: LinearMap
    m: int
    n: int
    eigenvalues: Any
    checksum: str

    def principal_variance(self, r: int) -> float:
        """The variance along the first r principal axes, times the number of samples."""
        return math.nan if self.eigenvalues is None else float(np.sum(self.eigenvalues[:r]))


def is_file(dataset: str) -> bool:
    """Whether a data set is a file of the user's rather than one with a name."""
    return bool(file_ending(dataset)) or "/" in dataset or Path(dataset).is_file()


@functools.lru_cache(maxsize=4)
def prepared(dataset: str, seed: int, folder: str | None) -> Prepared:
    """A data set by its name and seed, or a file of the user's, which is centred and taken whole."""
    A: Any
    if is_file(dataset):
        A, _ = read_matrix(dataset)
        checksum = ""
        D = Centred(Sparse(A, name="The data")) if is_sparse(A) else as_map(_centred(A), "The data")
    else:
        data = load(dataset, seed=seed, folder=folder)
        A, checksum = data.X, str(data.checksum)
        D = as_map(A, "The data")
    m, n = A.shape
    return Prepared(D, m, n, _eigenvalues(D, n) if n <= LARGEST else None, checksum)


def _centred(A: Any) -> Any:
    B = check_matrix(A, "The data")
    return B - B.mean(axis=0)


def _eigenvalues(D: LinearMap, n: int) -> Any:
    """Those of D'D, the largest first."""
    blocks = [np.eye(n, min(_BLOCK, n - i), -i) for i in range(0, n, _BLOCK)]
    return np.linalg.eigvalsh(np.hstack([D.adjoint(D(E)) for E in blocks]))[::-1]


def available(experiment: Experiment, data_folder: str | None, results: Path) -> Experiment:
    """The same experiment, a data set that cannot be had replaced by its substitute.

    Data whose results are all there are not looked for.

    Raises
    ------
    DataUnavailable
        When one cannot be had and has no substitute, or that cannot be had either.
    """
    files: dict[str, list[Path]] = {}
    for _, job in experiment.jobs():
        files.setdefault(job.dataset, []).append(job.file(results))
    names = [
        name if all(file.exists() for file in files[name]) else _at_hand(name, experiment, data_folder)
        for name in experiment.datasets
    ]
    return replace(experiment, datasets=tuple(names))


def _at_hand(name: str, experiment: Experiment, folder: str | None) -> str:
    try:
        prepared(name, experiment.seeds[0], folder)
    except DataUnavailable as first:
        substitute = experiment.substitutes.get(name)
        if substitute is None:
            raise
        try:
            prepared(substitute, experiment.seeds[0], folder)
        except DataUnavailable:
            raise first from None
        return substitute
    return name

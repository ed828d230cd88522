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
from orthoprox.datasets import DataUnavailable, load, read_matrix, why_unavailable
from orthoprox.datasets.files import file_ending
from orthoprox.experiments.spec import Experiment
from orthoprox.maps import Centred, LinearMap, Sparse, as_map
from orthoprox.maps.sparse import is_sparse

LARGEST = 5000
"""Principal variances need all features at once; they are not computed for more features than this."""
_BLOCK = 256


@dataclass(frozen=True, eq=False)
class RunData:
    """Data as a map, with what a table needs of them."""

    D: LinearMap
    m: int
    n: int
    checksum: str

    @functools.cached_property
    def eigenvalues(self) -> Any:
        """Those of D'D, the largest first; None where there are too many."""
        if self.n > LARGEST:
            return None
        blocks = [np.eye(self.n, min(_BLOCK, self.n - i), -i) for i in range(0, self.n, _BLOCK)]
        return np.linalg.eigvalsh(np.hstack([self.D.adjoint(self.D(E)) for E in blocks]))[::-1]

    def principal_variance(self, r: int) -> float:
        """The variance along the first r principal axes, times the number of samples."""
        return math.nan if self.eigenvalues is None else float(np.sum(self.eigenvalues[:r]))


def is_file(dataset: str) -> bool:
    """Whether a data set is a file of the user's rather than one with a name."""
    return bool(file_ending(dataset)) or "/" in dataset or Path(dataset).is_file()


@functools.lru_cache(maxsize=4)
def load_data(dataset: str, seed: int, folder: str | None) -> RunData:
    """A data set by its name and seed, or a file of the user's, which is centred and taken whole."""
    A: Any
    if is_file(dataset):
        A, _ = read_matrix(dataset)
        checksum = ""
        D = Centred(Sparse(A, name="The data")) if is_sparse(A) else as_map(_centre(A), "The data")
    else:
        data = load(dataset, seed=seed, folder=folder)
        A, checksum = data.X, str(data.checksum)
        D = as_map(A, "The data")
    m, n = A.shape
    return RunData(D, m, n, checksum)


def _centre(A: Any) -> Any:
    B = check_matrix(A, "The data")
    return B - B.mean(axis=0)


def substitute_missing(experiment: Experiment, data_folder: str | None, results: Path) -> Experiment:
    """The same experiment, with every data set that is missing replaced by its substitute.

    Looks for files and reads none of them; data sets whose results are complete need not be there.

    Raises
    ------
    DataUnavailable
        When a data set is missing and has no substitute, or the substitute is missing too.
    """
    files: dict[str, list[Path]] = {}
    for _, job in experiment.jobs():
        files.setdefault(job.dataset, []).append(job.file(results))
    names = [
        name if all(file.exists() for file in files[name]) else _choose(name, experiment, data_folder)
        for name in experiment.datasets
    ]
    return replace(experiment, datasets=tuple(names))


def _choose(name: str, experiment: Experiment, folder: str | None) -> str:
    reason = _why_missing(name, folder)
    if reason is None:
        return name
    substitute = experiment.substitutes.get(name)
    if substitute is None or _why_missing(substitute, folder) is not None:
        raise DataUnavailable(reason)
    return substitute


def _why_missing(dataset: str, folder: str | None) -> str | None:
    if is_file(dataset):
        return None if Path(dataset).is_file() else f"There is no file {dataset}. Give the path of a file that exists."
    return why_unavailable(dataset, folder=folder)

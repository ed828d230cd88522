"""Data for the runs, read once by each process."""

from __future__ import annotations

import functools
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orthoprox._fields import cached_property, replace
from orthoprox.datasets import DataUnavailable, load, read_matrix, why_unavailable
from orthoprox.datasets._prepare import prepare_matrix
from orthoprox.datasets.files import looks_like_file
from orthoprox.experiments.environment import code
from orthoprox.experiments.spec import Experiment
from orthoprox.experiments.store import code_of
from orthoprox.maps import LinearMap, as_map

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
    divisor: float = 1.0
    """What the numbers of a file were divided by, because their squares would have been lost."""

    @cached_property
    def eigenvalues(self) -> Any:
        """Those of D'D, the largest first; None where there are too many."""
        if self.n > LARGEST:
            return None
        blocks = [np.eye(self.n, min(_BLOCK, self.n - i), -i) for i in range(0, self.n, _BLOCK)]
        return np.linalg.eigvalsh(np.hstack([self.D.adjoint(self.D(E)) for E in blocks]))[::-1]

    def principal_variance(self, r: int) -> float:
        """The variance along the first r principal axes, times the number of samples."""
        return math.nan if self.eigenvalues is None else float(np.sum(self.eigenvalues[:r]))


@functools.lru_cache(maxsize=4)
def load_data(dataset: str, seed: int, folder: str | None) -> RunData:
    """A data set by its name and seed, or a file of the user's, which is centred and taken whole."""
    if looks_like_file(dataset):
        D, divisor = prepare_matrix(read_matrix(dataset)[0], "center")
        D = as_map(D, "The data")
        return RunData(D, D.rows(0), int(D.columns or 0), "", divisor)
    data = load(dataset, seed=seed, folder=folder)
    m, n = data.X.shape
    return RunData(as_map(data.X, "The data"), m, n, str(data.checksum))


def substitute_missing(
    experiment: Experiment, data_folder: str | None, results: Path, *, keep_outdated: bool = False
) -> Experiment:
    """The same experiment, with every data set that is missing replaced by its substitute.

    Looks for files of data and reads none of them; data sets whose results are complete need not be there. With
    ``keep_outdated`` results of another version of the code count as such.

    Raises
    ------
    DataUnavailable
        When a data set is missing and has no substitute, or the substitute is missing too.
    """
    files: dict[str, list[Path]] = {}
    for _, job in experiment.jobs():
        files.setdefault(job.dataset, []).append(job.file(results))
    names = [_choose(name, experiment, data_folder, files[name], keep_outdated) for name in experiment.datasets]
    return replace(experiment, datasets=tuple(names))


def _choose(name: str, experiment: Experiment, folder: str | None, files: list[Path], keep_outdated: bool) -> str:
    reason = _why_missing(name, folder)
    if reason is None:
        return name
    made_by = [code_of(file) for file in files] if all(file.exists() for file in files) else [None]
    if None not in made_by and (keep_outdated or set(made_by) == {code()}):
        return name
    substitute = experiment.substitutes.get(name)
    if substitute is not None and _why_missing(substitute, folder) is None:
        return substitute
    old = " Its results are of another version of the code; --keep-old keeps them." if None not in made_by else ""
    raise DataUnavailable(reason + old)


def _why_missing(dataset: str, folder: str | None) -> str | None:
    if looks_like_file(dataset):
        return None if os.path.isfile(dataset) else f"There is no file {dataset}. Give the path of a file that exists."
    return why_unavailable(dataset, folder=folder)

"""Result files -> rows, and the list of experiments a folder of results belongs to."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orthoprox.experiments.spec import Experiment, Job, from_mapping
from orthoprox.experiments.store import DamagedFile, Stored, load

MANIFEST = "experiments.json"


@dataclass(frozen=True, eq=False)
class Run:
    """A result with the experiment and the label it has there."""

    experiment: str
    label: str
    job: Job
    stored: Stored

    @property
    def facts(self) -> Mapping[str, Any]:
        return self.stored.facts

    @property
    def objective(self) -> float:
        return float(self.facts["objective"])

    def objective_at(self, seconds: float) -> float:
        """The objective after so much time in the method: the last record until then."""
        history = self.stored.history
        index = int(np.searchsorted(history["seconds"], seconds, side="right")) - 1
        return float(history["objective"][max(index, 0)])


@dataclass(frozen=True, eq=False)
class Gathered:
    """All results of some experiments, and the runs that have none."""

    experiments: tuple[Experiment, ...]
    runs: tuple[Run, ...]
    missing: tuple[tuple[str, str, Job], ...]

    def of(self, experiment: str) -> list[Run]:
        """The runs of one experiment."""
        return [run for run in self.runs if run.experiment == experiment]


def gather(folder: Path, experiments: Iterable[Experiment] | None = None) -> Gathered:
    """Read every result of these experiments, or of those the folder's list names.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> gather(pathlib.Path(tempfile.mkdtemp()), []).runs
    ()
    """
    chosen = tuple(listed(folder) if experiments is None else experiments)
    runs, missing = [], []
    for experiment in chosen:
        for label, job in experiment.jobs():
            try:
                runs.append(Run(experiment.name, label, job, load(job.file(folder))))
            except (FileNotFoundError, DamagedFile):
                missing.append((experiment.name, label, job))
    return Gathered(chosen, tuple(runs), tuple(missing))


def enlist(folder: Path, experiments: Sequence[Experiment]) -> None:
    """Add experiments to the list of those a folder has results of; one of the same name is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        before = listed(folder)
    except FileNotFoundError:
        before = []
    together = {experiment.name: experiment.described() for experiment in (*before, *experiments)}
    side = folder / f"{MANIFEST}.{os.getpid()}.part"
    side.write_text(json.dumps(list(together.values()), indent=1, sort_keys=True) + "\n", "utf-8")
    os.replace(side, folder / MANIFEST)


def listed(folder: Path) -> list[Experiment]:
    """The experiments a folder has results of."""
    path = folder / MANIFEST
    try:
        said = json.loads(path.read_text("utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not a list of experiments ({error}). Remove it and run them again.") from None
    return [from_mapping(one, str(path)) for one in said]


def medians(runs: Iterable[Run], value: Any) -> dict[tuple[str, str, float, float | None, str], float]:
    """The median over seeds of a function of a run, by experiment, data set, weight, kept and label."""
    groups: dict[tuple[str, str, float, float | None, str], list[float]] = {}
    for run in runs:
        key = (run.experiment, run.job.dataset, run.job.weight, run.job.kept, run.label)
        groups.setdefault(key, []).append(float(value(run)))
    return {key: float(np.median(values)) for key, values in groups.items()}

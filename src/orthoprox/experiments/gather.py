"""Result files -> rows, and the list of experiments a folder of results belongs to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orthoprox._files import write_text
from orthoprox.experiments.spec import Experiment, Job, from_mapping
from orthoprox.experiments.store import Archive, DamagedFile, load

MANIFEST = "experiments.json"


@dataclass(frozen=True, eq=False)
class RunRecord:
    """A stored run, with its experiment and its label there."""

    experiment: str
    label: str
    job: Job
    archive: Archive

    @property
    def facts(self) -> Mapping[str, Any]:
        return self.archive.facts

    @property
    def objective(self) -> float:
        return float(self.facts["objective"])

    @property
    def overrun(self) -> float:
        """Seconds past the budget at which the last step ended; what it led to does not count."""
        return 0.0 if self.job.seconds is None else max(0.0, float(self.facts["seconds_used"]) - self.job.seconds)

    def objective_at(self, seconds: float) -> float:
        """The objective at the last record before this time in the method."""
        history = self.archive.history
        index = int(np.searchsorted(history["seconds"], seconds, side="right")) - 1
        return float(history["objective"][max(index, 0)])


@dataclass(frozen=True, eq=False)
class Results:
    """The runs of some experiments that have a result, and those that have none."""

    experiments: tuple[Experiment, ...]
    runs: tuple[RunRecord, ...]
    missing: tuple[tuple[str, str, Job], ...]

    def of(self, experiment: str) -> list[RunRecord]:
        """The runs of one experiment."""
        return [run for run in self.runs if run.experiment == experiment]


def gather(folder: Path, experiments: Iterable[Experiment] | None = None) -> Results:
    """Read every result of these experiments, or of those the folder's list names.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> gather(pathlib.Path(tempfile.mkdtemp()), []).runs
    ()
    """
    chosen = tuple(read_manifest(folder) if experiments is None else experiments)
    runs, missing = [], []
    for experiment in chosen:
        for label, job in experiment.jobs():
            try:
                runs.append(RunRecord(experiment.name, label, job, load(job.file(folder))))
            except (FileNotFoundError, DamagedFile):
                missing.append((experiment.name, label, job))
    return Results(chosen, tuple(runs), tuple(missing))


def add_to_manifest(folder: Path, experiments: Sequence[Experiment]) -> None:
    """Add experiments to the list in a folder of results; one of the same name is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        before = read_manifest(folder)
    except FileNotFoundError:
        before = []
    merged = {experiment.name: experiment.to_mapping() for experiment in (*before, *experiments)}
    write_text(folder / MANIFEST, json.dumps(list(merged.values()), indent=1, sort_keys=True) + "\n")


def read_manifest(folder: Path) -> list[Experiment]:
    """The experiments listed in a folder of results."""
    path = folder / MANIFEST
    try:
        entries = json.loads(path.read_text("utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{path} is not a list of experiments ({error}). Delete it and run the experiments again."
        ) from None
    return [from_mapping(entry, str(path)) for entry in entries]


def medians(runs: Iterable[RunRecord], value: Any) -> dict[tuple[str, str, float, float | None, str], float]:
    """The median over seeds of a function of a run, by experiment, data set, weight, kept and label."""
    groups: dict[tuple[str, str, float, float | None, str], list[float]] = {}
    for run in runs:
        key = (run.experiment, run.job.dataset, run.job.weight, run.job.kept, run.label)
        groups.setdefault(key, []).append(float(value(run)))
    return {key: float(np.median(values)) for key, values in groups.items()}

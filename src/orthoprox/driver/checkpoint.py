"""Checkpoints: a state and the history of its run in one file, which is replaced in one move.

The file is a NumPy archive without pickled objects: the arrays of the state, the columns of the history, a JSON text
with the rest of the state, and a digest of it all. A file that was changed after it was written is refused.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from array_api_compat import device

from orthoprox._fields import require
from orthoprox._files import replacing
from orthoprox._linalg import norm
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.blocks import DataLost
from orthoprox.driver._encoding import Decoder, encode
from orthoprox.driver._fingerprint import digest, fingerprint
from orthoprox.driver._interrupts import Interrupts
from orthoprox.driver.snapshot import Snapshot
from orthoprox.problem import Problem
from orthoprox.solvers import Solver

FORMAT = 3


class Checkpoint:
    """Saves the run at regular intervals and when it ends; pass the file to ``solve(resume=...)``.

    Parameters
    ----------
    path : path
        The file to write; one run at a time. It is written under another name and then renamed, so it is always whole.
    every : int
        Iterations between two checkpoints.

    Notes
    -----
    A checkpoint continues only the run it was written for: every bit of the problem's data, weights and other
    parameters must be the same, and the solver's settings too. Of functions and of classes of your own, only the
    arrays and floats that they refer to can be compared in this way, for a class those in its public attributes.
    What they compute is compared at one point, to half the digits. Keep what changes during a run in attributes
    that begin with an underscore.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> from orthoprox import solve, Iterations, Checkpoint
    >>> from orthoprox.models import sparse_pca
    >>> problem = sparse_pca(np.eye(6) + 0.1, n_components=2, weight=0.1)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "run.npz"
    >>> part = solve(problem, stop=Iterations(30), observers=[Checkpoint(file, every=10)])
    >>> whole = solve(problem, stop=Iterations(50), resume=file)
    >>> whole.iterations
    50
    """

    def __init__(self, path: str | os.PathLike[str], every: int = 100) -> None:
        require(every >= 1, f"A checkpoint needs every >= 1; given {every}.")
        self.path, self.every = Path(path), every
        folder = self.path.parent
        require(folder.is_dir(), f"A checkpoint needs an existing folder; given {self.path} in {folder}.")
        self._last: int | None = None
        self._problem: dict[str, str] | None = None  # the fingerprint, which is that of the whole run

    def __call__(self, now: Snapshot) -> None:
        if now.t and now.t % self.every == 0:
            self._save(now)

    def close(self, now: Snapshot) -> None:
        """Save the state at the end of the run."""
        self._save(now)
        self._last = self._problem = None  # the same checkpoint may watch another run

    def _save(self, now: Snapshot) -> None:
        if self._last != now.t:
            if self._problem is None:
                self._problem = fingerprint(now.problem)
            with Interrupts() as interrupts:  # the modules that write archives cannot be stopped half-way
                save(self.path, now, self._problem)
            self._last = now.t
            if interrupts.came:
                raise KeyboardInterrupt


def save(path: str | os.PathLike[str], now: Snapshot, problem: dict[str, str]) -> None:
    """Write a run's state and history to a file, with the fingerprint of its problem."""
    arrays: list[Array] = []
    state = encode(now.state, arrays)
    Decoder(type(now.state), arrays).decode(state)  # a file that could not be read back is refused now, not later
    meta = {
        "format": FORMAT,
        "t": now.t,
        "seconds": now.seconds,
        "solver": repr(now.solver),
        "settings": digest(now.solver),
        "problem": problem,
        "shape": [now.problem.M.n, now.problem.M.r],
        "objective": _known_objective(now),
        "state": state,
    }
    entries: dict[str, Any] = {f"array{i}": backend_of(a).to_numpy(a) for i, a in enumerate(arrays)}
    entries |= {f"history.{name}": column for name, column in now.history.items()}
    entries["meta"] = np.array(json.dumps(meta))
    entries["digest"] = np.array(digest(entries))
    with replacing(path) as file:
        np.savez(file, **entries)


def _known_objective(now: Snapshot) -> float:
    """F at the point; as the state carries it where the data have gone, which is when a checkpoint is needed most."""
    try:
        return _objective(now.problem, now.X)
    except DataLost:
        return float(now.objective)


def _objective(problem: Problem, X: Array) -> float:
    with backend_of(X).quiet():
        return float(problem.objective(X))


def _infeasibility(problem: Problem, X: Array) -> float:
    with backend_of(X).quiet():
        return float(problem.M.infeasibility(X))


def load(path: str | os.PathLike[str]) -> CheckpointFile:
    """Read a checkpoint; refuse any other file and a damaged one in a sentence."""
    name = os.fspath(path)
    try:
        with warnings.catch_warnings(), open(path, "rb") as opened:
            warnings.simplefilter("error")  # NumPy warns of headers that it never writes
            with np.load(opened, allow_pickle=False) as file:
                content = {entry: file[entry] for entry in file.files}
        written = str(content.pop("digest", ""))
        intact = written == digest(content)
        meta = json.loads(str(content.pop("meta")))
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no checkpoint at {name}.") from None
    except Exception as error:  # zip files and headers can be damaged in ways that raise almost anything
        raise ValueError(f"{name} is not a checkpoint, or is damaged ({error}).") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise ValueError(
            f"{name} has another format than this version reads (format {FORMAT}). Start the run anew, or resume it "
            "with the version that wrote the file."
        )
    fault = _find_fault(meta, content) if intact else "it was changed after it was written"
    if fault is not None:
        raise ValueError(f"{name} is not a checkpoint, or is damaged ({fault}).")
    return CheckpointFile(meta, content)


KINDS: dict[str, type | tuple[type, ...]] = {
    "t": int,
    "seconds": (int, float),
    "solver": str,
    "settings": str,
    "problem": dict,
    "shape": list,
    "objective": (int, float),
    "state": dict,
}
"""What the JSON text has beside its format."""


def _find_fault(meta: dict[str, Any], content: dict[str, Any]) -> str | None:
    """Say what is wrong with the content of a file, or None."""
    for name, kind in KINDS.items():
        if not isinstance(meta.get(name), kind) or isinstance(meta[name], bool):
            return f"it has no usable {name!r}"
    if meta["t"] < 0 or not 0 <= meta["seconds"] < math.inf:
        return f"it claims {meta['t']} iterations in {meta['seconds']} seconds"
    if any(name not in content for name in _array_names(content)):
        return "its arrays are not numbered from 0"
    if any(array.dtype.kind not in "fiub" for array in content.values()):
        return "it has entries that are not numbers"
    columns = {entry: array for entry, array in content.items() if entry.startswith("history.")}
    times = columns.get("history.iteration", np.zeros(0))
    if any(column.ndim != 1 or column.shape != times.shape for column in columns.values()):
        return "the columns of its history have different lengths"
    if times.size and (times.dtype.kind not in "iu" or times.min() < 0):
        return "its history counts iterations in other than whole numbers"
    return None


def _array_names(content: dict[str, Any]) -> list[str]:
    """The names of the arrays of a state, in the order in which it refers to them, whatever their order in the file."""
    return [f"array{i}" for i in range(sum(name.startswith("array") for name in content))]


@dataclasses.dataclass(frozen=True, eq=False)
class CheckpointFile:
    """The content of a checkpoint: its JSON text and its arrays."""

    meta: dict[str, Any]
    content: dict[str, Any]

    @property
    def t(self) -> int:
        return int(self.meta["t"])

    @property
    def seconds(self) -> float:
        return float(self.meta["seconds"])

    @property
    def history(self) -> dict[str, Any]:
        start = "history."
        return {name[len(start) :]: column for name, column in self.content.items() if name.startswith(start)}

    def state(self, problem: Problem, solver: Solver[Any], template: Any) -> Any:
        """Decode the state in the array library of a template; refuse the checkpoint of another run."""
        self._refuse_another_run(problem, solver)
        like = solver.point(template)
        arrays = [_restore(self.content[name], like) for name in _array_names(self.content)]
        state = Decoder(type(template), arrays).decode(self.meta["state"], template)
        X, shape = solver.point(state), self.meta["shape"]
        if list(X.shape) != shape or int(state.t) != self.t:
            raise ValueError(
                f"The checkpoint needs a state of shape {shape} at iteration {self.t}; its state has shape "
                f"{list(X.shape)} at iteration {int(state.t)}. It was edited; start the run anew."
            )
        gap = _infeasibility(problem, X)
        if not gap <= math.sqrt(backend_of(X).eps(X)):
            raise ValueError(
                f"The checkpoint needs an X with orthonormal columns; that of its state is off by {gap:.1e}. "
                "It was edited; start the run anew."
            )
        value, before = _objective(problem, X), self.meta["objective"]
        if value != before and not abs(value - before) <= _half_the_digits(problem, X):
            raise ValueError(
                f"The checkpoint belongs to another problem: its objective was {before:.8g}, here it is {value:.8g}. "
                f"{_SAME_PROBLEM}"
            )
        return state

    def _refuse_another_run(self, problem: Problem, solver: Solver[Any]) -> None:
        """Compare what can be compared before the state is decoded."""
        shape = [problem.M.n, problem.M.r]
        if self.meta["shape"] != shape:
            raise ValueError(f"The checkpoint is for shape {self.meta['shape']}; given {shape}. {_SAME_PROBLEM}")
        written = self.meta["problem"]
        other = [name for name, part in fingerprint(problem).items() if written.get(name) != part]
        if other:
            raise ValueError(
                f"The checkpoint belongs to another problem: {', '.join(other)} had another kind, weight or data. "
                f"{_SAME_PROBLEM}"
            )
        # Last: settings that were left open follow from the problem.
        if self.meta["settings"] != digest(solver):
            raise ValueError(
                f"The checkpoint was written by {self.meta['solver']}; asked to resume with {solver!r}. "
                "Resume with the same solver and settings, or start the run anew."
            )


_SAME_PROBLEM = "Resume with the very same problem, or start the run anew."


def _half_the_digits(problem: Problem, X: Array) -> float:
    """How much F may differ where it was computed by another machine, far above rounding."""
    with backend_of(X).quiet():
        values = (problem.offset, problem.f.value(X), problem.g.value(X), problem.h.value(problem.A(X)))
        size = math.fsum(abs(float(value)) for value in values) + float(norm(problem.f.gradient(X)))
    return math.sqrt(backend_of(X).eps(X)) * size


def _restore(array: Any, like: Array) -> Array:
    """Move an array to the library of another; floats take its float type, masks and indices keep theirs."""
    if array.dtype.kind == "f":
        return backend_of(like).from_numpy(array, like)
    return array_namespace(like).asarray(array, device=device(like))

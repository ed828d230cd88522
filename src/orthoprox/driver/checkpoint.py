"""Checkpoints: a state and the history of its run in one file, which is replaced in one move.

The file is a NumPy archive without pickled objects: the arrays of the state, the columns of the history, and a JSON
text with the rest of the state.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from array_api_compat import device

from orthoprox._fields import require
from orthoprox._files import replacing
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.driver._encoding import Decoder, encode
from orthoprox.driver.snapshot import Snapshot
from orthoprox.problem import Problem
from orthoprox.solvers import Solver

FORMAT = 2


class Checkpoint:
    """Saves the run at regular intervals and when it ends; pass the file to ``solve(resume=...)``.

    Parameters
    ----------
    path : path
        The file to write; one run at a time. It is written under another name and then renamed, so it is always whole.
    every : int
        Iterations between two checkpoints.

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

    def __call__(self, now: Snapshot) -> None:
        if now.t and now.t % self.every == 0:
            self._save(now)

    def close(self, now: Snapshot) -> None:
        """Save the state at the end of the run."""
        self._save(now)
        self._last = None  # the same checkpoint may watch another run

    def _save(self, now: Snapshot) -> None:
        if self._last != now.t:
            save(self.path, now)
            self._last = now.t


def save(path: str | os.PathLike[str], now: Snapshot) -> None:
    """Write a run's state and history to a file, replacing the one before in one move."""
    arrays: list[Array] = []
    state = encode(now.state, arrays)
    Decoder(type(now.state), arrays).decode(state)  # a file that could not be read back is refused now, not later
    meta = {
        "format": FORMAT,
        "t": now.t,
        "seconds": now.seconds,
        "solver": now.solver.name,
        "settings": repr(now.solver),
        "shape": [now.problem.M.n, now.problem.M.r],
        "objective": now.objective,
        "state": state,
    }
    entries: dict[str, Any] = {f"array{i}": backend_of(a).to_numpy(a) for i, a in enumerate(arrays)}
    entries |= {f"history.{name}": column for name, column in now.history.items()}
    meta["entries"] = list(entries)  # the archive has checksums for its entries, but does not notice a missing one
    entries["meta"] = np.array(json.dumps(meta))
    path = Path(path)
    _remove_leftovers(path)
    with replacing(path) as file:
        np.savez(file, **entries)


def _remove_leftovers(path: Path) -> None:
    """Remove what a process that was killed while it wrote this checkpoint has left beside it."""
    pattern = re.compile(re.escape(path.name) + r"\.?[a-z0-9_]{8}\.part")
    for file in path.parent.iterdir():
        if pattern.fullmatch(file.name):
            with contextlib.suppress(OSError):
                file.unlink()


def load(path: str | os.PathLike[str]) -> CheckpointFile:
    """Read a checkpoint; refuse any other file and a damaged one in a sentence."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            content = {entry: file[entry] for entry in file.files}
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
    fault = _find_fault(meta, content)
    if fault is not None:
        raise ValueError(f"{name} is not a checkpoint, or is damaged ({fault}).")
    return CheckpointFile(meta, content)


KINDS: dict[str, type | tuple[type, ...]] = {
    "t": int,
    "seconds": (int, float),
    "solver": str,
    "settings": str,
    "shape": list,
    "objective": (int, float),
    "state": dict,
    "entries": list,
}
"""What the JSON text has beside its format."""


def _find_fault(meta: dict[str, Any], content: dict[str, Any]) -> str | None:
    """Say what is wrong with the content of a file, or None."""
    for name, kind in KINDS.items():
        if not isinstance(meta.get(name), kind) or isinstance(meta[name], bool):
            return f"it has no usable {name!r}"
    if meta["t"] < 0 or not 0 <= meta["seconds"] < math.inf:
        return f"it claims {meta['t']} iterations in {meta['seconds']} seconds"
    if sorted(map(str, meta["entries"])) != sorted(content):
        return "its entries are not those it names"
    if any(name not in content for name in _array_names(content)):
        return "its arrays are not numbered from 0"
    if any(array.dtype.kind not in "fiub" for array in content.values()):
        return "it has entries that are not numbers"
    columns = [array.shape for entry, array in content.items() if entry.startswith("history.")]
    if any(len(shape) != 1 or shape != columns[0] for shape in columns):
        return "the columns of its history have different lengths"
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
        written, asked = (self.meta["solver"], self.meta["settings"]), (solver.name, repr(solver))
        if written != asked:
            raise ValueError(f"The checkpoint was written by {written[1]}; asked to resume with {asked[1]}.")
        shape = [problem.M.n, problem.M.r]
        if self.meta["shape"] != shape:
            raise ValueError(f"The checkpoint is for shape {self.meta['shape']}; given {shape}.")
        like = solver.point(template)
        arrays = [_restore(self.content[name], like) for name in _array_names(self.content)]
        state = Decoder(type(template), arrays).decode(self.meta["state"], template)
        X = solver.point(state)
        if list(X.shape) != shape or int(state.t) != self.t:
            raise ValueError(
                f"The checkpoint needs a state of shape {shape} at iteration {self.t}; its state has shape "
                f"{list(X.shape)} at iteration {int(state.t)}. It was edited; start the run anew."
            )
        value, before = float(problem.objective(X)), self.meta["objective"]
        if not math.isclose(value, before, rel_tol=1e-4, abs_tol=1e-6):
            raise ValueError(
                f"The checkpoint belongs to another problem: its objective was {before:.8g}, here it is {value:.8g}."
            )
        return state


def _restore(array: Any, like: Array) -> Array:
    """Move an array to the library of another; floats take its float type, masks and indices keep theirs."""
    if array.dtype.kind == "f":
        return backend_of(like).from_numpy(array, like)
    return array_namespace(like).asarray(array, device=device(like))

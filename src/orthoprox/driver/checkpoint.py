"""Checkpoints: a state and the history of its run in one file, written at once or not at all.

The file is a NumPy archive without pickled objects: the arrays of the state, the columns of the
history, and a JSON text that says which array stands where.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj

from orthoprox._fields import require
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.driver.snapshot import Snapshot
from orthoprox.problem import Problem
from orthoprox.solvers import Solver

FORMAT = 1


class Checkpoint:
    """Saves the run at every so many iterations and when it ends; pass the file to ``solve(resume=...)``.

    Parameters
    ----------
    path : path
        The file to write. A half-written file never stands there: it is written beside and renamed.
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
        require(folder.is_dir(), f"A checkpoint needs a folder that is there; given {self.path} in {folder}.")
        self._last: int | None = None

    def __call__(self, now: Snapshot) -> None:
        if now.t and now.t % self.every == 0:
            self._save(now)

    def close(self, now: Snapshot) -> None:
        """The run is over: keep where it ended."""
        self._save(now)
        self._last = None  # the same checkpoint may watch another run

    def _save(self, now: Snapshot) -> None:
        if self._last != now.t:
            save(self.path, now)
            self._last = now.t


def save(path: str | os.PathLike[str], now: Snapshot) -> None:
    """Write a run's state and history to a file, replacing what stands there in one move."""
    arrays: list[Array] = []
    meta = {
        "format": FORMAT,
        "t": now.t,
        "seconds": now.seconds,
        "solver": now.solver.name,
        "settings": repr(now.solver),
        "shape": [now.problem.M.n, now.problem.M.r],
        "objective": now.objective,
        "state": _described(now.state, arrays),
    }
    entries: dict[str, Any] = {f"array{i}": backend_of(a).to_numpy(a) for i, a in enumerate(arrays)}
    entries |= {f"history.{name}": column for name, column in now.history.items()}
    meta["entries"] = list(entries)  # the archive guards what is in them, not that all are there
    entries["meta"] = np.array(json.dumps(meta))
    path = Path(path)
    handle, side = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **entries)
            file.flush()
            os.fsync(file.fileno())
        os.replace(side, path)
    except BaseException:
        Path(side).unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str]) -> Saved:
    """Read a checkpoint; a file that is none, or is damaged, is refused in a sentence."""
    try:
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            content = {name: file[name] for name in file.files}
        meta = json.loads(str(content.pop("meta")))
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no checkpoint at {os.fspath(path)}.") from None
    except Exception as error:  # zip files and headers can be damaged in ways that raise almost anything
        raise ValueError(f"{os.fspath(path)} is not a checkpoint, or is damaged ({error}).") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise ValueError(f"{os.fspath(path)} has another format than this version reads (format {FORMAT}).")
    if set(meta["entries"]) != set(content):
        raise ValueError(f"{os.fspath(path)} is not a checkpoint, or is damaged (its entries are not those it names).")
    return Saved(meta, content)


@dataclasses.dataclass(frozen=True, eq=False)
class Saved:
    """A checkpoint as read: what it says of itself, and its arrays."""

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
        """The state, in the classes and the array library of a template; refused for another run's checkpoint."""
        wanted, given = (self.meta["solver"], self.meta["settings"]), (solver.name, repr(solver))
        if wanted != given:
            raise ValueError(f"The checkpoint was written by {wanted[1]}; asked to resume with {given[1]}.")
        if self.meta["shape"] != [problem.M.n, problem.M.r]:
            raise ValueError(f"The checkpoint is for shape {self.meta['shape']}; given {[problem.M.n, problem.M.r]}.")
        like = solver.point(template)
        restored = {
            name: backend_of(like).from_numpy(array, like)
            for name, array in self.content.items()
            if name.startswith("array")
        }
        state = _rebuilt(self.meta["state"], template, restored)
        value, before = float(problem.objective(solver.point(state))), self.meta["objective"]
        if not math.isclose(value, before, rel_tol=1e-4, abs_tol=1e-6):
            raise ValueError(
                f"The checkpoint belongs to another problem: its objective was {before:.8g}, here it is {value:.8g}."
            )
        return state


def _described(value: Any, arrays: list[Array]) -> Any:
    """A state as JSON; arrays are put aside and named, one that stands in two places once."""
    if dataclasses.is_dataclass(value):
        return {field.name: _described(getattr(value, field.name), arrays) for field in dataclasses.fields(value)}
    if is_array_api_obj(value) and value.ndim > 0:
        for i, known in enumerate(arrays):
            if known is value:
                return f"array{i}"
        arrays.append(value)
        return f"array{len(arrays) - 1}"
    if isinstance(value, tuple):
        return [_described(item, arrays) for item in value]
    if value is None or isinstance(value, (int, float)):
        return value
    # An array without dimensions; JSON keeps every digit.
    whole = is_array_api_obj(value) and array_namespace(value).isdtype(value.dtype, "integral")
    return int(value) if whole else float(value)


def _rebuilt(value: Any, template: Any, arrays: dict[str, Array]) -> Any:
    if isinstance(value, dict):
        return type(template)(**{name: _rebuilt(v, getattr(template, name), arrays) for name, v in value.items()})
    if isinstance(value, list):
        return tuple(_rebuilt(item, None, arrays) for item in value)
    return arrays[value] if isinstance(value, str) else value

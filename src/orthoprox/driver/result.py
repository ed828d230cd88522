"""The result of a run."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np

from orthoprox._extras import extra
from orthoprox._html import card
from orthoprox._types import Array
from orthoprox.problem import Criticality
from orthoprox.solvers import Solver
from orthoprox.solvers._base import S


class Status(enum.Enum):
    """Why a run ended. Only ``CONVERGED`` means success."""

    CONVERGED = "converged: the criticality is below its tolerance"
    UNCONFIRMED = "stopped as converged, but a fresh measurement of the criticality is above the tolerance"
    STALLED = "stalled: the objective no longer changes"
    ITERATIONS = "stopped at the iteration limit"
    SECONDS = "stopped at the time limit"
    STOPPED = "stopped by a rule or callback of the user's"
    NOT_FINITE = "stopped because the iterate or the objective was no longer finite; this is the last finite state"
    INTERRUPTED = "interrupted from the keyboard; this is the last state"
    FAILED = "a part of the problem, the solver or an observer raised an error; this is the last state"


def is_off(infeasibility: float, eps: float) -> bool:
    """Whether X is off the manifold: X'X = I has lost more than half of its digits, which is no rounding."""
    return infeasibility > math.sqrt(eps)


def off_notes(infeasibility: float, eps: float) -> list[str]:
    """What there is to say of a run that ended off the manifold."""
    if not is_off(infeasibility, eps):
        return []
    return [f"X is off the manifold (|X'X - I| = {infeasibility:.1e}): do not compare its objective or Crit"]


class History(Mapping[str, np.ndarray[Any, Any]]):
    """The recorded measurements, one array per column, read as ``history["objective"]`` or ``history.objective``."""

    def __init__(self, columns: Mapping[str, Any] | None = None) -> None:
        self._columns = {name: np.asarray(values) for name, values in (columns or {}).items()}

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        return self._columns[name]

    def __getattr__(self, name: str) -> np.ndarray[Any, Any]:
        if name.startswith("_") or name not in self._columns:
            known = ", ".join(self._columns) if not name.startswith("_") else ""
            raise AttributeError(f"No column {name!r} was recorded; there are {known or 'none'}.")
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        rows = len(next(iter(self._columns.values()), ()))
        return f"History({rows} records of {', '.join(self._columns)})"

    def frame(self) -> Any:
        """The same as a pandas data frame, one row per record."""
        return extra("pandas", "pandas", "A history as a data frame").DataFrame(self._columns)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Result(Generic[S]):
    """The outcome of a run; it holds no data matrix.

    It answers to SciPy's names as well: ``x, fun, nit, success, message, maxcv``.

    Attributes
    ----------
    X : array
        The feasible point, in the caller's library.
    y, z : array
        The split variable, where zeros are exact, and the multiplier: with X the triple whose criticality is given.
        None only when a run failed because they could not be computed.
    objective : float
        F at X, computed afresh at the end of the run, as is the criticality.
    criticality_parts : Criticality
        The three parts of Crit at (X, y, z); ``criticality`` is their sum.
    infeasibility : float
        The norm of X'X - I.
    status : Status
        Why the run ended; ``converged`` says whether it is the one that means success.
    iterations : int
    seconds : float
        Time spent in the method, without measuring, watching and compiling.
    compile_seconds : float
        Time in which JAX compiled or PyTorch recorded the method and its measurements; none on a CPU without JAX.
    history : History
    state : object
        The last state, from which a run can resume.
    solver : Solver
        The method with the settings it ran with.
    start : str
        Where the run began: "given", "random", the name of another start, or "resumed".
    notes : tuple of str
        What the user should know.
    """

    X: Array
    y: Array
    z: Array
    objective: float
    criticality_parts: Criticality
    infeasibility: float
    status: Status
    iterations: int
    seconds: float
    history: History
    state: S
    solver: Solver[S]
    compile_seconds: float = 0.0
    start: str = "given"
    notes: tuple[str, ...] = ()

    @property
    def criticality(self) -> float:
        """Crit(X, y, z), the sum of its three parts."""
        return self.criticality_parts.total

    @property
    def converged(self) -> bool:
        return self.status is Status.CONVERGED

    @property
    def x(self) -> Array:
        return self.X

    @property
    def fun(self) -> float:
        return self.objective

    @property
    def nit(self) -> int:
        return self.iterations

    @property
    def success(self) -> bool:
        return self.converged

    @property
    def message(self) -> str:
        return self.status.value

    @property
    def maxcv(self) -> float:
        return self.infeasibility

    def __repr__(self) -> str:
        n, r = self.X.shape
        primal, dual, stationarity = self.criticality_parts
        lines = [
            f"{self.solver.name} on {n} x {r}: {self.message}",
            f"  objective      {self.objective:.10g}",
            f"  criticality    {self.criticality:.3e}"
            f"  (primal {primal:.1e}, dual {dual:.1e}, stationarity {stationarity:.1e})",
            f"  infeasibility  {self.infeasibility:.1e}",
            f"  iterations     {self.iterations} in {self.seconds:.3g} s",
            f"  start          {self.start}",
        ]
        if self.solver.inside is not None:
            lines.append(f"  steps          {self.solver.inside}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        """What a notebook shows: the numbers of the run, as they are; nothing is computed."""
        n, r = self.X.shape
        primal, dual, stationarity = self.criticality_parts
        parts = f"(primal {primal:.1e}, dual {dual:.1e}, stationarity {stationarity:.1e})"
        rows = [
            ("objective", f"{self.objective:.10g}"),
            ("criticality", f"{self.criticality:.3e} {parts}"),
            ("infeasibility", f"{self.infeasibility:.1e}"),
            ("iterations", f"{self.iterations} in {self.seconds:.3g} s"),
            ("start", self.start),
        ]
        rows += [] if self.solver.inside is None else [("steps", self.solver.inside)]
        return card(f"{self.solver.name} on {n} by {r}: {self.message}", rows, notes=self.notes)


class RunFailed(RuntimeError):
    """A part of the problem, the solver or an observer raised an error.

    ``result`` holds the last state; the original error is the cause of this one.
    """

    def __init__(self, sentence: str, result: Result[Any] | None = None) -> None:
        super().__init__(sentence)
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.result)  # which an exception on its way to another process would lose

"""Observers of a run: the recorder and the progress bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, Protocol, TextIO

from orthoprox._extras import extra
from orthoprox._fields import require
from orthoprox.driver.result import History
from orthoprox.driver.snapshot import Snapshot

_DIGITS = 6
"""An iteration is recorded if its number has no more binary digits than these before its zeros."""


class Observer(Protocol):
    """Any function of a snapshot. The run stops when it returns something true or a Status.

    If an observer has a method ``close``, the run calls it with the last snapshot.
    """

    def __call__(self, now: Snapshot) -> Any: ...


class Recorder:
    """Records measurements for the result's history.

    Parameters
    ----------
    every : int, optional
        Iterations between two records; the last iteration is always recorded. By default all of the first 64
        are, then 32 in each doubling of their number: a curve over thousands of iterations needs no more, and measuring
        takes a small part of the time. Steps that a method has measured itself, as ``oadmm`` does, are all recorded.
    extra : mapping of str to callable
        Further columns, each a function of the snapshot that gives a number.
    """

    COLUMNS: Mapping[str, Callable[[Snapshot], float]] = {
        "iteration": attrgetter("t"),
        "seconds": attrgetter("seconds"),
        "objective": attrgetter("objective"),
        "criticality": attrgetter("criticality"),
        "primal": attrgetter("criticality_parts.primal"),
        "dual": attrgetter("criticality_parts.dual"),
        "stationarity": attrgetter("criticality_parts.stationarity"),
        "infeasibility": attrgetter("infeasibility"),
        "sparsity": attrgetter("sparsity"),
    }

    def __init__(
        self, every: int | None = None, extra: Mapping[str, Callable[[Snapshot], float]] | None = None
    ) -> None:
        require(every is None or every >= 1, f"A recorder needs every >= 1; given {every}.")
        require(every is None or every % 1 == 0, f"A recorder needs a whole number for every; given {every}.")
        extra = {} if extra is None else extra
        if not isinstance(extra, Mapping):
            raise TypeError(f"extra must map names of columns to functions; given {type(extra).__name__}.")
        self.every = None if every is None else int(every)
        self.measures = {**self.COLUMNS, **extra}
        self.rows: dict[str, list[float]] = {name: [] for name in self.measures}

    def due(self, t: int) -> bool:
        """Whether an iteration is recorded."""
        return t % self._gap(t) == 0

    def rest(self, t: int) -> int:
        """How many iterations after t the next record is due."""
        return self._gap(t) - t % self._gap(t)

    def _gap(self, t: int) -> int:
        return self.every or max(1 << t.bit_length() >> _DIGITS, 1)

    def __call__(self, now: Snapshot) -> None:
        if self.due(now.t) or (self.every is None and now.due):
            self.record(now)

    def record(self, now: Snapshot) -> None:
        """Add a row, unless this iteration has one."""
        if self.rows["iteration"] and self.rows["iteration"][-1] == now.t:
            return
        # Compute the whole row first, in case a measure raises.
        row = {name: _number(measure(now), name) for name, measure in self.measures.items()}
        whole = len(self.rows["iteration"])
        for name in (
            *(row.keys() - {"iteration"}),
            "iteration",
        ):  # last, so that a row that was interrupted does not count
            self.rows[name][whole:] = [row[name]]

    @property
    def history(self) -> History:
        whole = len(self.rows["iteration"])
        return History({name: column[:whole] for name, column in self.rows.items()})

    def restart(self) -> None:
        """Drop the rows of an earlier run."""
        self.rows = {name: [] for name in self.measures}

    def restore(self, history: Mapping[str, Any], t: int) -> None:
        """Start with the rows of an earlier part of the same run, those before iteration t."""
        if set(history) != set(self.rows):
            raise ValueError(
                f"The checkpoint recorded {', '.join(sorted(history))}; "
                f"this run records {', '.join(sorted(self.rows))}. Resume with the same recorder."
            )
        before: list[float] = [int(s) for s in history["iteration"] if s < t]
        self.rows = {name: list(history[name][: len(before)]) for name in self.rows}
        self.rows["iteration"] = before


def as_recorder(record: Any) -> Recorder:
    """The recorder given, or one with the defaults."""
    if not isinstance(record, Recorder | None):
        raise TypeError(f"record must be a Recorder; given {type(record).__name__}. Write Recorder(every=10).")
    return Recorder() if record is None else record


def as_observers(observers: Any) -> tuple[Observer, ...]:
    """The observers of a run; one that stands alone is refused."""
    if not isinstance(observers, Iterable) or not all(map(callable, found := tuple(observers))):
        raise TypeError(
            f"observers must be a sequence of functions of a snapshot; given {type(observers).__name__}. Write "
            "observers=[watch]."
        )
    return found


def _number(value: Any, name: str) -> float:
    if isinstance(value, (int, float)):
        return value
    try:
        return float(value)  # a number of another library, which need not stay on its device
    except (TypeError, ValueError):
        raise TypeError(f"The column {name!r} of a recorder must be a number; given {type(value).__name__}.") from None


class Progress:
    """A live bar with objective, criticality and rate; a plain line where tqdm is not installed.

    Parameters
    ----------
    always : bool
        Draw it even when the output is not a terminal.
    label : str
        The text before the bar; the solver's name by default.
    file : text stream
        Standard error by default.
    every : float
        Seconds between two refreshes; each one measures, which takes time.
    note : callable, optional
        Gives words to add, such as the traffic of data in blocks.
    """

    def __init__(
        self,
        *,
        always: bool = False,
        label: str | None = None,
        file: TextIO | None = None,
        every: float = 0.1,
        note: Callable[[], str] | None = None,
    ) -> None:
        self.always, self.label, self.file, self.every, self.note = always, label, file, every, note
        self._bar: Any = None
        self._next = 0.0

    def __call__(self, now: Snapshot) -> None:
        file = sys.stderr if self.file is None else self.file
        if not (self.always or file.isatty()):
            return
        if self._bar is None:
            label = self.label or now.solver.name
            self._bar = bar_class()(total=now.limit, desc=label, unit="it", file=file, initial=now.t, leave=True)
        moment = time.monotonic()
        if moment >= self._next or now.t == now.limit:
            self._show(now)
            self._next = moment + self.every

    def _show(self, now: Snapshot) -> None:
        self._bar.n = now.t
        more = "" if self.note is None else f", {self.note()}"
        self._bar.set_postfix_str(f"F {now.objective:.6g}, Crit {now.criticality:.1e}{more}", refresh=False)
        self._bar.refresh()

    def close(self, now: Snapshot) -> None:
        """Leave the last values on the screen."""
        if self._bar is not None:
            self._show(now)
            self._bar.close()
            self._bar = None


def bar_class() -> Any:
    """The class of bar to draw: that of tqdm, an extra, or else a line."""
    try:
        return extra("tqdm", "progress", "A progress bar").tqdm
    except ModuleNotFoundError:
        return _Line


class _Line:
    """One line that is written over: as much of tqdm's bar as is used here."""

    def __init__(self, total: int | None, desc: str, unit: str, file: TextIO, initial: int, leave: bool) -> None:
        self.n, self.file = initial, file
        self._label, self._unit = desc, unit if total is None else f"/{total}"
        self._text, self._width = "", 0

    def set_postfix_str(self, text: str, refresh: bool) -> None:
        self._text = text

    def refresh(self) -> None:
        line = f"{self._label}: {self.n}{self._unit}, {self._text}"
        self.file.write("\r" + line.ljust(self._width))  # blanks cover what is left of a longer line
        self.file.flush()
        self._width = len(line)

    def close(self) -> None:
        self.file.write("\n")

"""Programs without branches: they take the usual way and note what they assumed.

A device that waits for the host at every "if" stands still most of the time. Inside ``speculate`` a choice between a
usual and a rare case becomes the usual case and an assumption; loops become a few masked rounds and the assumption that
these were enough. Whoever runs the program looks at its assumptions once, at the end, and where one was wrong runs it
again: with more effort where a loop was too short, with its branches where the case was the rare one.
"""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

import numpy as np

from orthoprox._namespace import array_namespace

V = TypeVar("V")
LOOPS = (1, 3, 8)
"""Rounds of a loop that a program of each effort has: a line search is short near a solution."""
PRODUCTS = (5, 9, 16)
"""Newton-Schulz steps in a polar factor: enough for condition numbers of 1.3, 5 and 60."""
MOST_EFFORT = len(PRODUCTS) - 1


class Loops(Protocol):
    """What makes a loop faster than its rounds one by one."""

    def run(self, body: Callable[[V], V], state: V, count: int, program: Speculation) -> V:
        """The state after so many rounds."""
        ...


class Speculation:
    """What a program has assumed so far.

    Parameters
    ----------
    effort : int
        How long loops are: from 0 to 2.
    loops : optional
        What records loops of a fixed number of rounds, where programs are run operation by operation.
    """

    def __init__(self, effort: int, loops: Loops | None = None) -> None:
        self.effort, self.loops = effort, loops
        self._usual: list[Any] = []
        self._enough: list[Any] = []
        self._mask: Any = None

    def rounds(self, longest: int = 0) -> int:
        """How many rounds a loop has; in the longest program at least as many as it says it may need."""
        least = LOOPS[self.effort]
        return max(least, longest) if self.effort == MOST_EFFORT else least

    def assume(self, usual: Any) -> None:
        """Go on as if this were the usual case."""
        self._usual.append(usual if self._mask is None else usual | ~self._mask)

    def settle(self, enough: Any) -> None:
        """Go on as if a loop had been long enough; more effort makes it longer."""
        self._enough.append(enough if self._mask is None else enough | ~self._mask)

    @contextlib.contextmanager
    def only_where(self, test: Any) -> Iterator[None]:
        """A context for what is computed in any case and used only where a test holds: elsewhere it may fail."""
        before, self._mask = self._mask, test
        try:
            yield
        finally:
            self._mask = before

    @contextlib.contextmanager
    def aside(self) -> Iterator[list[Any]]:
        """A context whose assumptions are not added to the others; it gives a list with what became of them.

        These are whether all cases were the usual ones, and whether all loops were long enough.
        """
        kept, found = (self._usual, self._enough), list[Any]()
        self._usual, self._enough = [], []
        try:
            yield found
            found += [self.usual, self.enough]
        finally:
            self._usual, self._enough = kept

    @property
    def usual(self) -> Any:
        """Whether all cases were the usual ones, on the device; True where there was no choice."""
        return functools.reduce(operator.and_, self._usual, True)

    @property
    def enough(self) -> Any:
        """Whether all loops were long enough."""
        return functools.reduce(operator.and_, self._enough, True)


_active: ContextVar[Speculation | None] = ContextVar("speculation", default=None)


def speculation() -> Speculation | None:
    """The program that is being put together, if one is."""
    return _active.get()


def known(number: Any) -> Any:
    """A number that code may ask about; where a program is put together it stays on its device."""
    return float(number) if _active.get() is None else number


def either(test: Any, one: Any, other: Any) -> Any:
    """One of two numbers, by a test that may be on a device."""
    if isinstance(test, bool | np.bool_):  # the latter where a term of the user's gives a number of NumPy's
        return one if test else other
    return array_namespace(test).where(test, one, other)


def larger(one: Any, other: Any) -> Any:
    """The larger of two numbers, either of which may be on a device."""
    return either(one > other, one, other)


@contextlib.contextmanager
def speculate(effort: int, loops: Loops | None = None) -> Iterator[Speculation]:
    """A context in which choices become assumptions."""
    program = Speculation(effort, loops)
    token = _active.set(program)
    try:
        yield program
    finally:
        _active.reset(token)

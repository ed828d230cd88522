"""Search level by level: solutions with few entries grow into those with more, beside fresh ones at each level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.supports.exchange import exchange
from orthoprox.supports.fresh import recreated, turned
from orthoprox.supports.points import Points, join
from orthoprox.supports.progress import Progress

_STEPS = 4  # of Newton's method before points are compared
_SIZE = 40  # entries from which on there are fewer candidates, since each takes longer


@dataclass(frozen=True)
class Effort:
    """How far a search goes at each level.

    Parameters
    ----------
    fresh : int
        Random turns of the principal components.
    anew : int
        Candidates made from the best point in which one or two columns are made anew.
    patience : int
        How often in a row making anew may fail.
    race : int
        Candidates that enter the exchanges.
    keep : int
        Points that go on to the next level.
    tries : int
        Exchanges that are computed for a point in a round.
    rounds : int
        Rounds of exchanges.
    """

    fresh: int = 16
    anew: int = 24
    patience: int = 2
    race: int = 8
    keep: int = 2
    tries: int = 3
    rounds: int = 6

    def at(self, entries: int) -> Effort:
        """The same effort for points with so many entries."""
        share = min(1.0, _SIZE / entries)
        few = lambda number, least: max(least, round(share * number))  # noqa: E731
        return Effort(
            few(self.fresh, 6), few(self.anew, 8), self.patience, few(self.race, 3), self.keep, self.tries, self.rounds
        )


def search_levels(
    C: Array, V: Array, allowance: Allowance, effort: Effort, rng: np.random.Generator, progress: Progress
) -> Points:
    """The best points with at most so many entries.

    First with equal caps. Where columns may share out the total, those points are exchanged across columns at every
    level, beside what the level before has grown to; so a total is never worse than equal parts of it.

    Parameters
    ----------
    C : array, shape (n, n)
    V : array, shape (n, q)
        The leading eigenvectors of C, at least r.
    allowance : Allowance
    effort : Effort
    rng : Generator
    progress : Progress
    """
    search = _Search(C, V, effort, rng, progress)
    part: Points | None = None
    whole: Points | None = None
    for level in (allowance.equal_caps() if allowance.slack else allowance).grid():
        part = search.level(part, level)
        progress.offer(part)
        if allowance.slack:
            whole = search.share_out(whole, part, allowance.with_total(level.total))
            progress.offer(whole)
        if progress.over:
            break
    if whole is not None and not progress.over:
        whole = search.share_out(whole, None, allowance)
        progress.offer(whole)
    return whole if whole is not None else part  # type: ignore[return-value]  # there is a level at least


class _Search:
    """What the levels of a search have in common."""

    def __init__(self, C: Array, V: Array, effort: Effort, rng: np.random.Generator, progress: Progress) -> None:
        self.C, self.V, self.effort, self.rng, self.progress = C, V, effort, rng, progress
        self.turns: Array | None = None

    def level(self, below: Points | None, allowance: Allowance) -> Points:
        """The points below grown to this level, and fresh ones, exchanged; then columns made anew while that pays."""
        effort, C = self.effort.at(allowance.total), self.C
        grown = None if below is None else grow(C, below, allowance)
        points = join(grown, turned(C, self.V, allowance, effort.fresh, self._turns(allowance.r)))
        return self._anew(self._exchange(points, allowance, effort.race, effort.keep), allowance)

    def _anew(self, points: Points, allowance: Allowance) -> Points:
        """Make columns of the best point anew, until that fails several times."""
        effort, failed = self.effort.at(allowance.total), 0
        while failed < effort.patience and not self.progress.over:
            anew = recreated(self.C, self.V, points, allowance, effort.anew, self.rng)
            if anew is None:
                break
            before = points.values[0]
            points = join(points, self._exchange(anew, allowance, effort.race, effort.keep)).best(effort.keep)
            failed = 0 if points.values[0] > before * (1 + 1e-7) else failed + 1
        return points

    def share_out(self, below: Points | None, part: Points | None, allowance: Allowance) -> Points:
        """Exchange across columns: what was below, one entry more at a time, and points with equal caps."""
        if below is not None:
            entries = int(np.count_nonzero(below.S[0]))
            steps = range(entries + 1, allowance.total) if allowance.few else ()
            for total in steps:
                less = allowance.with_total(total)
                below = self._exchange(grow(self.C, below, less), less, len(below), self.effort.keep)
            below = grow(self.C, below, allowance) if allowance.total > entries else below
        if part is not None:
            part = Points(part.X, allowance.choose(np.abs(part.X) + part.S), part.values)
        effort = self.effort.at(allowance.total)
        others = turned(self.C, self.V, allowance, effort.fresh, self._turns(allowance.r))
        points = self._exchange(join(below, part, others), allowance, effort.race, effort.keep)
        return self._anew(points, allowance)

    def _exchange(self, points: Points, allowance: Allowance, race: int, keep: int) -> Points:
        effort = self.effort
        points = points.improve(self.C, _STEPS).best(race)
        return exchange(self.C, points, allowance, effort.tries, effort.rounds, keep, self.progress).best(keep)

    def _turns(self, r: int) -> Array:
        """The same random turns at every level."""
        if self.turns is None:
            self.turns = np.linalg.qr(self.rng.standard_normal((self.effort.fresh, r, r)))[0]
            self.turns[0] = np.eye(r)
        return self.turns


def grow(C: Array, points: Points, allowance: Allowance) -> Points:
    """The same points with larger supports: the entries of largest gain enter."""
    values = points.worth(C)
    free = ~values.owners.any(axis=3)
    gain = np.where(points.S, 0.0, values.gain)
    top = 2.0 * (1.0 + np.max(gain, axis=(1, 2), keepdims=True))
    sizes = np.where(points.S, top + np.abs(points.X), np.where(free, gain, 0.0))
    return Points(points.X, allowance.choose(sizes), points.values)

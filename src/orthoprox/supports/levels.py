"""Search level by level: solutions with few entries grow into those with more, beside fresh ones at each level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthoprox._fields import replace
from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.covariance import DenseCovariance
from orthoprox.supports.disjoint import one_by_one
from orthoprox.supports.exchange import exchange
from orthoprox.supports.fresh import recreated, turned
from orthoprox.supports.points import Points, join
from orthoprox.supports.progress import Progress

_REAL = 1e-8  # of the variance: a gain that is not rounding
_STEPS = 4  # of Newton's method before points are compared
_BETWEEN = 4  # fresh candidates at a total between two levels
_SHARED = 1.5  # how many times more candidates are exchanged across columns: there are more exchanges to try
_HEAT = 3  # candidates for each one that enters the exchanges, before a first Newton step; half of them after it
_SIZE = 40  # entries from which on there are fewer candidates, since each takes longer


@dataclass(frozen=True)
class Effort:
    """How far a search goes at each level.

    Parameters
    ----------
    fresh : int
        Random turns of the principal components.
    anew : int
        Candidates made from the best points, of which up to three columns are made anew.
    patience : int
        How often in a row making anew may fail before the level ends, for each pair of columns beyond the first; half
        as often where there are many entries.
    race : int
        Candidates that enter the exchanges.
    keep : int
        Points that go on to the next level.
    tries : int
        Exchanges that are computed for a point in a round.
    rounds : int
        Rounds of exchanges.
    """

    fresh: int = 24
    anew: int = 40
    patience: int = 1
    race: int = 12
    keep: int = 2
    tries: int = 3
    rounds: int = 10

    def at(self, entries: int) -> Effort:
        """The same effort for points with so many entries."""
        share = min(1.0, _SIZE / entries)
        return replace(
            self,
            fresh=max(6, round(share * self.fresh)),
            anew=max(8, round(share * self.anew)),
            race=max(3, round(share * self.race)),
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
    # Each has its own random numbers: the search for a total draws the same for its equal parts as one for these alone.
    parts, wholes = (Search(C, V, effort, own, progress) for own in rng.spawn(2))
    part: Points | None = None
    whole: Points | None = None
    for level in (allowance.equal_caps() if allowance.slack else allowance).grid():
        if part is not None and progress.ends():
            break
        part = parts.level(part, level)
        if allowance.slack:
            whole = wholes.share_out(whole, part, allowance.with_total(level.total))
    if whole is not None and np.count_nonzero(whole.S[0]) < allowance.total and not progress.ends():
        whole = wholes.climb(whole, allowance)
    return whole if whole is not None else part  # type: ignore[return-value]  # there is a level at least


class Search:
    """What the levels of a search have in common."""

    def __init__(self, C: Array, V: Array, effort: Effort, rng: np.random.Generator, progress: Progress) -> None:
        self.C, self.V, self.effort, self.rng, self.progress = C, V, effort, rng, progress
        self.turns: Array | None = None

    def level(self, below: Points | None, allowance: Allowance) -> Points:
        """The points below grown to this level, and fresh ones, exchanged; then columns made anew while that pays.

        With one entry a column the features of largest variance are best, and there is nothing to exchange.
        """
        effort, C = self.effort.at(allowance.total), self.C
        grown = None if below is None else grow(C, below, allowance)
        fresh = turned(C, self.V, allowance, effort.fresh, self._turns(allowance.r))
        if allowance.total == allowance.r:
            return self._offered(fresh.best(effort.keep))
        apart = one_by_one(DenseCovariance(C), allowance, self.V[:, : allowance.r])
        points = join(grown, fresh, apart, self._near(grown, allowance))
        points = self._exchange(points, allowance, effort.race, effort.keep)
        return self._anew(points, allowance, effort.keep, allowance.r // 2 - 1)

    def refine(self, points: Points, allowance: Allowance) -> Points:
        """Points from elsewhere, exchanged; then columns made anew while that pays.

        There are no levels to make up for what is missed here, so that more points go on, and for longer.
        """
        keep = self.effort.keep + 1
        return self._anew(self._exchange(points, allowance, self.effort.race, keep), allowance, keep, allowance.r // 2)

    def _near(self, grown: Points | None, allowance: Allowance) -> Points | None:
        """Points like those that have grown, with some columns made anew."""
        if grown is None:
            return None
        return recreated(self.C, self.V, grown, allowance, self.effort.at(allowance.total).anew, self.rng)

    def _anew(self, points: Points, allowance: Allowance, keep: int, pairs: int) -> Points:
        """Make columns anew until that fails several times; more pairs of columns have more sets to try."""
        effort, failed = self.effort.at(allowance.total), 0
        most = (effort.patience if allowance.few else effort.patience // 2) * pairs
        while failed < most and not self.progress.ends():
            anew = recreated(self.C, self.V, points, allowance, effort.anew, self.rng)
            if anew is None:
                break
            before = points.values[0]
            points = join(points, self._exchange(anew, allowance, effort.race, keep)).best(keep)
            failed = 0 if points.values[0] > before * (1 + 1e-7) else failed + 1
        return points

    def share_out(self, below: Points | None, part: Points, allowance: Allowance) -> Points:
        """Exchange across columns: what was below, points with equal caps, and fresh ones."""
        if allowance.total == allowance.r:
            return part
        grown = None if below is None else self.climb(below, allowance)
        part = Points(part.X, allowance.choose(np.abs(part.X) + part.S), part.values)
        effort = self.effort.at(allowance.total)
        others = turned(self.C, self.V, allowance, effort.fresh, self._turns(allowance.r))
        near = self._near(join(grown, part), allowance)
        race = round(_SHARED * effort.race)
        return self._exchange(join(grown, part, others, near), allowance, race, effort.keep)

    def climb(self, below: Points, allowance: Allowance) -> Points:
        """What was below with one entry more at a time.

        One point goes on, whatever the last total is: so every total passes through the same points.
        """
        below, entries = below.best(1), int(np.count_nonzero(below.S[0]))
        for total in range(entries + 1, allowance.total + 1):
            level = allowance.with_total(total)
            others = turned(self.C, self.V, level, _BETWEEN, self._turns(level.r))
            below = self._exchange(join(grow(self.C, below, level), others), level, 1 + _BETWEEN // 2, 1)
        return below

    def _exchange(self, points: Points, allowance: Allowance, race: int, keep: int) -> Points:
        """The best of the points, improved and exchanged; the worst are dropped before that, and after a first step."""
        effort, C = self.effort, self.C
        points = points.best(_HEAT * race).improve(C, 1).best(_HEAT * race // 2)
        points = points.improve(C, _STEPS - 1).best(race)
        if self.progress.tick():
            points = exchange(C, points, allowance, effort.tries, effort.rounds, keep)
        return self._offered(self._refilled(points.best(keep), allowance))

    def _refilled(self, points: Points, allowance: Allowance) -> Points:
        """The points, or better ones with other entries in place of those that constraints hold at zero.

        Two columns may take the same row, of which one loses it again: the next turn finds another one for that.
        """
        for _ in range(allowance.r):
            if np.count_nonzero(points.X) == np.count_nonzero(points.S):
                break
            filled = grow(self.C, Points(points.X, points.X != 0, points.values), allowance).improve(self.C, _STEPS)
            if not np.max(filled.values) > points.values[0] * (1 + _REAL):
                break
            points = join(filled, points).best(len(points))
        return points

    def _offered(self, points: Points) -> Points:
        self.progress.offer(points)
        return points

    def _turns(self, r: int) -> Array:
        """The same random turns at every level."""
        if self.turns is None:
            self.turns = np.linalg.qr(self.rng.standard_normal((self.effort.fresh, r, r)))[0]
            self.turns[0] = np.eye(r)
        return self.turns


def grow(C: Array, points: Points, allowance: Allowance) -> Points:
    """The same points with larger supports: the entries of largest gain enter."""
    values = points.worth(C)
    free = values.owners == 0
    gain = np.where(points.S, 0.0, values.gain)
    top = 2.0 * (1.0 + np.max(gain, axis=(1, 2), keepdims=True))
    sizes = np.where(points.S, top + np.abs(points.X), np.where(free, gain, 0.0))
    return Points(points.X, allowance.choose(sizes), points.values)

"""Search at all levels at once: solutions with few entries grow into those with more, beside fresh ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orthoprox._fields import cached_property, replace
from orthoprox._types import Array
from orthoprox.allowance import Allowance, Allowances
from orthoprox.covariance import DenseCovariance
from orthoprox.supports.apart import share_no_row
from orthoprox.supports.disjoint import one_by_one, splits
from orthoprox.supports.exchange import Ends, exchange
from orthoprox.supports.fresh import MOST_ANEW, Draws, recreated, singles, turned
from orthoprox.supports.newton import variance
from orthoprox.supports.points import Points, join, orthonormalise, places
from orthoprox.supports.progress import Progress

_REAL = 1e-8  # of the variance: a gain that is not rounding
_STEPS = 4  # of Newton's method before points are compared
_BETWEEN = 2  # fresh candidates of a total between two levels of caps, and those that enter the exchanges
_ALONE = 2  # how many times more candidates enter the exchanges where there are no other levels
_HEAT = 3  # candidates for each one that enters the exchanges, before a first Newton step; half of them after it
_AGAIN = 3  # candidates for each set of columns that can be made anew
_SIZE = 40  # entries from which on there are fewer candidates, since each takes longer
_VARIANTS = 3  # of columns one after the other
_BARRED = 1e-9  # the size of an entry that would have to be zero: it comes last, that of least promise first
_CLOSER = 12  # exchanges that are computed for a point at which fewer have found nothing
_REFILLS = 2  # how often entries held at zero may be replaced


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
        How often more than once in a row making anew may fail before the level ends, for each pair of columns beyond
        the first; half as often where there are many entries.
    waves : int
        How often points grow to the next level, and columns are made anew, at most.
    race : int
        Candidates that enter the exchanges.
    keep : int
        Points that go on to the next level.
    tries : int
        Exchanges that are computed for a point in a round.
    rounds : int
        Rounds of exchanges.
    """

    fresh: int = 12
    anew: int = 30
    patience: int = 1
    waves: int = 5
    race: int = 6
    keep: int = 2
    tries: int = 2
    rounds: int = 6

    def at(self, entries: int) -> Effort:
        """The same effort for points with so many entries."""
        share = min(1.0, _SIZE / entries)
        return replace(
            self,
            fresh=min(self.fresh, max(6, round(share * self.fresh))),
            anew=min(self.anew, max(8, round(share * self.anew))),
            race=min(self.race, max(3, round(share * self.race))),
        )

    def among(self, r: int) -> Effort:
        """The same effort for r columns: there are few ways to make some of a few columns anew."""
        ways = sum(math.comb(r, size) for size in range(1, MOST_ANEW + 1))
        return replace(self, anew=min(self.anew, _AGAIN * (1 + ways)))

    def shared(self) -> Effort:
        """The effort for a total, which begins with good points of equal caps."""
        return replace(self, race=max(min(self.race, 3), 2 * self.race // 3))

    def between(self) -> Effort:
        """The effort for totals between two levels of caps."""
        return replace(self, fresh=min(self.fresh, _BETWEEN), anew=0, race=_BETWEEN)


@dataclass(frozen=True, eq=False)
class Levels:
    """Allowances in rising order, each of which takes points from the one before, and how many candidates each has."""

    allowances: Allowances
    fresh: Array
    anew: Array
    race: Array

    def __len__(self) -> int:
        return len(self.fresh)

    @staticmethod
    def of(every: Sequence[Allowance], efforts: Sequence[Effort]) -> Levels:
        """With an effort for each."""
        numbers = [np.array([getattr(e, name) for e in efforts]) for name in ("fresh", "anew", "race")]
        return Levels(Allowances.of(every), *numbers)


def search_levels(
    C: Array, V: Array, allowance: Allowance, effort: Effort, rng: np.random.Generator, progress: Progress
) -> Points:
    """The best points with at most so many entries.

    All smaller numbers are searched at the same time: equal caps in steps of one and then, where columns may share out
    the total, every total up to it, beginning with what equal caps have found. Points grow from each level to the next.
    What a level finds depends on itself and on levels with fewer entries alone: so more never keeps less, and a total
    is never worse than equal parts of it.

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
    for_parts, for_wholes = rng.spawn(2)
    effort = effort.among(allowance.r)
    patience = 1 + effort.patience * max(0, allowance.r // 2 - 1)
    caps = list((allowance.equal_caps() if allowance.slack else allowance).grid())
    search = Search(C, V, Levels.of(caps, [effort.at(a.total) for a in caps]), effort, for_parts, progress)
    parts = search.run(search.begin(), patience)
    if not allowance.slack or progress.ends():
        return parts.take(parts.level == len(caps) - 1)
    totals = [allowance.with_total(total) for total in range(allowance.r, allowance.total + 1)]
    efforts = [effort.at(a.total).shared() if a.total % a.r == 0 else effort.between() for a in totals]
    wholes = Search(C, V, Levels.of(totals, efforts), effort, for_wholes, progress)
    found = wholes.run(wholes.begin(parts), 1)
    return found.take(found.level == len(totals) - 1)


def refine(
    C: Array,
    V: Array,
    points: Points,
    allowance: Allowance,
    effort: Effort,
    rng: np.random.Generator,
    progress: Progress,
) -> Points:
    """Points from elsewhere, exchanged; then columns made anew while that pays.

    There are no levels to make up for what is missed here, so that more points go on, and for longer.
    """
    effort = replace(effort.among(allowance.r), keep=effort.keep + 1, race=_ALONE * effort.race)
    search = Search(C, V, Levels.of([allowance], [effort.at(allowance.total)]), effort, rng, progress)
    patience = (effort.patience if allowance.few else effort.patience // 2) * (allowance.r // 2)
    patience = min(patience, 1) if allowance.slack else patience
    return search.run(search.exchange(points), patience)


class Search:
    """Points of several levels, searched at once."""

    def __init__(
        self, C: Array, V: Array, levels: Levels, effort: Effort, rng: np.random.Generator, progress: Progress
    ) -> None:
        self.C, self.V, self.levels, self.effort, self.rng, self.progress = C, V, levels, effort, rng, progress
        self.ends, self.seen = Ends(), Ends()

    def begin(self, parts: Points | None = None) -> Points:
        """Fresh points of every level, exchanged: single features, turned principal components, and others.

        These are columns one after the other, or points with equal caps, from which those with a total grow.
        """
        C, levels, r = self.C, self.levels, self.levels.allowances.r
        alone = singles(np.diag(C), C, levels.allowances)
        self._offer(alone)
        turns = np.linalg.qr(self.rng.standard_normal((self.effort.fresh, r, r)))[0]
        turns[0] = np.eye(r)
        level = np.repeat(np.arange(len(levels)), np.where(self._open, levels.fresh, 0))
        fresh = turned(C, self.V, levels.allowances, level, turns[places(level)])
        if parts is None:
            others = one_by_one(DenseCovariance(C), levels.allowances, self.V[:, :r], _VARIANTS)
        else:  # level by level there are r entries more, or fewer where caps are reached
            counts = parts.S.sum(axis=(1, 2))
            sources = np.searchsorted(np.unique(counts), levels.allowances.totals, side="right") - 1
            others = join(grow(C, _at_levels(parts, sources), levels.allowances), self._halved())
        return self.exchange(join(alone, fresh, others))

    def _halved(self) -> Points:
        """Columns one after the other, with caps of which each is half the one before, at the fuller levels."""
        allowances = self.levels.allowances
        goals = np.flatnonzero(self.levels.anew > 0)
        every = [Allowance(int(allowances.totals[i]), tuple(map(int, allowances.caps[i]))) for i in goals]
        caps = Allowances.of([splits(allowance)[-1] for allowance in every])
        found = one_by_one(DenseCovariance(self.C), caps, self.V[:, : allowances.r])
        points = Points(found.X, found.X != 0, found.values, goals[found.level])
        return grow(self.C, points, allowances)

    @cached_property
    def _open(self) -> Array:
        """Whether there is something to search: with one entry a column the features of largest variance are best."""
        return self.levels.allowances.totals > self.levels.allowances.r

    def run(self, best: Points, patience: int) -> Points:
        """Grow points from level to level and make columns anew, until every level has failed so often in a row.

        A level goes on when it, or the one that it takes points from, has found more. After so many waves points
        still grow where those below have changed.
        """
        failed, changed = np.zeros(len(self.levels), dtype=int), np.zeros(len(self.levels), dtype=bool)
        for wave in itertools.count():
            anew = wave < self.effort.waves
            below = np.concatenate([[False], changed[:-1]])
            active = self._open & (below | ((failed < patience) & anew))
            if not active.any() or self.progress.ends():
                break
            before = best.first(len(self.levels))
            found = self._wave(best, active, anew=anew)
            best = best if found is None else join(best, found).best(self.effort.keep)
            changed = best.first(len(self.levels)) > before * (1 + _REAL)
            failed = np.where(changed, 0, failed + active)
        return self._settle(best)

    def _settle(self, best: Points) -> Points:
        """Look closer at the best point of each level; what has changed grows, until nothing does."""
        changed = np.zeros(len(self.levels), dtype=bool)
        while True:
            active = self._open & np.concatenate([[False], changed[:-1]])
            resting = best.best(1)
            resting = resting.take((self._open & ~active)[resting.level])
            resting = resting.take(~self.seen.holds(resting) & ~share_no_row(resting.S))
            if (not active.any() and len(resting) == 0) or self.progress.ends():
                return best
            before = best.first(len(self.levels))
            found = self._wave(best, active, anew=False) if active.any() else None
            looked = self._look(resting) if len(resting) else None
            best = join(best, found, looked).best(self.effort.keep)
            changed = best.first(len(self.levels)) > before * (1 + _REAL)

    def _wave(self, best: Points, active: Array, *, anew: bool) -> Points | None:
        """What points become that have grown from levels below, and those made from them and from the best."""
        allowances = self.levels.allowances
        moved = _at_levels(best, np.where(active, np.arange(len(active)) - 1, -1))
        grown = grow(self.C, moved, allowances) if len(moved) else None
        base = join(best.take(active[best.level]), grown)
        base = base.take(np.argsort(base.level, kind="stable"))
        near = placed = None
        if anew:
            draws = Draws.of(self.rng, self.effort.anew, self.V.shape[1], allowances.r)
            near = recreated(self.C, self.V, base, allowances, np.where(active, self.levels.anew, 0), draws)
            placed = permuted(self.C, base, allowances)
        parts = [part for part in (grown, near, placed) if part is not None]
        return self.exchange(join(*parts)) if parts else None

    def exchange(self, points: Points) -> Points:
        """The best of the points, improved and exchanged; the worst are dropped before that, and after a first step."""
        effort, C, race, keep = self.effort, self.C, self.levels.race, self.effort.keep
        points = points.best(_HEAT * race).improve(C, 1).best(_HEAT * race // 2)
        points = points.improve(C, _STEPS - 1, again=True).best(race)
        if self.progress.tick():
            points = exchange(C, points, self.levels.allowances, effort.tries, effort.rounds, keep, self.ends)
        points = self._refilled(points.best(keep))
        self._offer(points)
        return points

    def _look(self, some: Points) -> Points:
        """Points at which nothing has been found, exchanged with more tries and by moves between columns."""
        effort, levels, points = self.effort, self.levels.allowances, some
        if self.progress.tick():
            points = exchange(self.C, points, levels, _CLOSER, effort.rounds, 1, self.seen, tried=self.ends)
        self.seen.add(some)
        points = self._refilled(points)
        self._offer(points)
        return points

    def _refilled(self, points: Points) -> Points:
        """The points, and better ones with other entries in place of those that constraints hold at zero.

        Two columns may take the same row, of which one loses it again: the next turn finds another one for that.
        """
        held = points
        for _ in range(_REFILLS):
            held = held.take(np.count_nonzero(held.X, axis=(1, 2)) < self.levels.allowances.totals[held.level])
            if len(held) == 0:
                break
            X = held.X
            held = grow(self.C, Points(X, X != 0, held.values, held.level), self.levels.allowances)
            held = held.improve(self.C, _STEPS)
            points = join(points, held)
        return points

    def _offer(self, points: Points) -> None:
        """Points of smaller levels may be taken too."""
        self.progress.offer(points.take(np.argsort(-points.values, kind="stable")[:1]))


def _at_levels(points: Points, sources: Array) -> Points:
    """Points as those of other levels: of each level those that its source has, none where that is negative."""
    goal, which = np.nonzero(sources[:, None] == points.level)
    points = points.take(which)
    return Points(points.X, points.S, points.values, goal)


def grow(C: Array, points: Points, allowances: Allowances) -> Points:
    """The same points with larger supports: the entries of largest gain enter.

    Where too few have any, others fill the support that are zero for now. Their order must not be that of the features,
    on which the result would depend.
    """
    values = points.worth(C)
    gain = np.where(points.S, 0.0, values.gain)
    gain = np.where(values.owners > 0, _BARRED / (1.0 + gain), gain)
    top = 2.0 * (1.0 + np.max(gain, axis=(1, 2), keepdims=True))
    sizes = np.where(points.S, top + np.abs(points.X), gain)
    return Points(points.X, allowances.take(points.level).choose(sizes), points.values, points.level)


def permuted(C: Array, points: Points, allowances: Allowances) -> Points | None:
    """The points with two columns in each other's place, where these may have different numbers of entries.

    One gets further entries, the other loses its smallest ones: a feature of large variance may be best alone.
    """
    every = []
    for a, b in itertools.combinations(range(allowances.r), 2):
        some = points.take((allowances.caps[:, a] != allowances.caps[:, b])[points.level])
        order = np.arange(allowances.r)
        order[[a, b]] = b, a
        if len(some):
            every.append(Points(some.X[:, :, order], some.S[:, :, order], some.values, some.level))
    if not every:
        return None
    some = grow(C, join(*every), allowances)
    X, S, there = orthonormalise(some.X, some.S)
    # With a step: points that differ in entries which are still zero have equal values and would count as one.
    return Points(X, S, variance(C, X), some.level[there]).improve(C, 1)

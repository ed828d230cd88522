"""The ledger: what the paper's experiments state, and what was measured, panel by panel.

A panel is one data set, weight and k; its numbers are medians over those seeds that all its methods have. The words
of the paper are put into numbers here and nowhere else. They were written after one run of one setting, and have not
changed since.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from orthoprox.experiments.gather import RunRecord, medians

TIE = 1e-3
"""Two objectives closer than this, relatively, are equal."""
SIMILAR = 0.05
"""Two objectives closer than this, relatively, are similar."""
FAILS = 2.0
"""A method fails when it ends at least this many times as high as the best."""
OURS = "oadmm"
EP, RR, SPGM_EP, SPGM_RR, SUBGRADIENT = "OADMM-EP", "OADMM-RR", "SPGM-EP", "SPGM-RR", "Sub-Grad"
EQUAL = ", mu = tau/beta"
"""Behind the name of a rival: with the smoothing of OADMM."""
THEORY = ", theory"
"""Behind the name of a rival: inside its own theory."""
PAIRS = (
    *((EP, SPGM_EP), (EP, SPGM_EP + EQUAL), (RR, SPGM_RR), (RR, SPGM_RR + EQUAL)),
    *((EP, "RADMM-I"), (EP, "RADMM-I" + THEORY), (EP, "RADMM-II"), (EP, "RADMM-II" + THEORY)),
)
"""Rivals with the smoothing of the figures and with another one, beside the same method."""
FRACTIONS = (0.1, 0.3, 1.0)
"""Of the time budget: verdicts at each show whether the budget decides."""

Panel = dict[str, float]
"""The objective of each method."""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, and the test that stands for it."""

    statement: str
    test: str
    holds: Callable[[Panel], bool]
    needs: tuple[str, ...]


def below(a: float, b: float) -> bool:
    """Whether a is lower than b, beyond a tie."""
    return a < b - TIE * max(abs(a), abs(b))


def paper_methods(panel: Panel) -> Panel:
    """The panel without our own method."""
    return {label: value for label, value in panel.items() if label != OURS}


def _lowest(panel: Panel) -> bool:
    rivals = [value for label, value in paper_methods(panel).items() if label not in (EP, RR)]
    return not below(min(rivals), min(panel[EP], panel[RR]))


def _similar(panel: Panel) -> bool:
    a, b = panel[EP], panel[RR]
    return abs(a - b) <= SIMILAR * max(abs(a), abs(b))


CLAIMS = (
    Claim(
        "Sub-Grad essentially fails to solve this problem",
        f"it ends at least {FAILS:g} times as high as the best of the paper's methods",
        lambda panel: panel[SUBGRADIENT] >= FAILS * min(paper_methods(panel).values()),
        (SUBGRADIENT,),
    ),
    Claim(
        "SPGM-EP is slower than the multiplier-based splitting",
        "it ends above OADMM-EP",
        lambda panel: below(panel[EP], panel[SPGM_EP]),
        (SPGM_EP, EP),
    ),
    Claim(
        "SPGM-RR is slower than the multiplier-based splitting",
        "it ends above OADMM-RR",
        lambda panel: below(panel[RR], panel[SPGM_RR]),
        (SPGM_RR, RR),
    ),
    Claim(
        "OADMM-EP and OADMM-RR demonstrate similar results",
        f"they end within {SIMILAR:.0%} of each other",
        _similar,
        (EP, RR),
    ),
    Claim(
        "OADMM-EP and OADMM-RR generally achieve lower objective values than the other methods",
        f"none of the paper's other methods ends below the lower of the two by more than {TIE:.1%}",
        _lowest,
        (EP, RR, SPGM_EP),
    ),
    Claim(
        "OADMM-EP surpasses OADMM-RR",
        f"it ends lower by more than {TIE:.1%}",
        lambda panel: below(panel[EP], panel[RR]),
        (EP, RR),
    ),
    Claim(
        "(not the paper's) our oadmm is at least as low as each of the paper's methods",
        f"none of them ends below it by more than {TIE:.1%}",
        lambda panel: not below(min(paper_methods(panel).values()), panel[OURS]),
        (OURS, EP),
    ),
)


@dataclass(frozen=True)
class Verdict:
    """In how many panels a claim holds."""

    holds: int
    panels: int

    @property
    def word(self) -> str:
        """The verdict in a word: what the paper's "generally" allows for is three quarters."""
        if self.panels == 0:
            return "not measured"
        share = self.holds / self.panels
        if share == 1:
            return "holds"
        if share >= 0.75:
            return "mostly holds"
        return "mixed" if share > 0.25 else ("mostly fails" if share > 0 else "fails")

    def __str__(self) -> str:
        return f"{self.word} ({self.holds}/{self.panels})" if self.panels else self.word


@dataclass(frozen=True)
class Score:
    """A method beside a rival: in how many panels it is lower, equal up to a tie, higher, and by how much."""

    lower: int
    equal: int
    higher: int
    ratio: float
    """Its objective over the rival's, median over the panels."""

    def __str__(self) -> str:
        return f"{self.lower}, {self.equal}, {self.higher}" if self.panels else "-"

    @property
    def panels(self) -> int:
        """How many panels have both."""
        return self.lower + self.equal + self.higher

    @property
    def with_ratio(self) -> str:
        """The three counts, and the ratio in brackets."""
        return f"{self} ({self.ratio:.4g})" if self.panels else str(self)


def score(method: str, rival: str, cases: Iterable[Panel]) -> Score:
    """A method beside a rival over those panels that have both."""
    both = [(panel[method], panel[rival]) for panel in cases if {method, rival} <= set(panel)]
    lower, higher = sum(below(a, b) for a, b in both), sum(below(b, a) for a, b in both)
    ratio = median(a / b for a, b in both) if both else math.nan
    return Score(lower, len(both) - lower - higher, higher, ratio)


def joined(
    runs: Iterable[RunRecord], value: Callable[[RunRecord], float] = lambda run: run.objective
) -> dict[tuple[str, float, float | None], Panel]:
    """The panels of several experiments on the same problems, by data set, weight and kept."""
    found: dict[tuple[str, float, float | None], Panel] = {}
    for (_, *problem, label), middle in medians(with_common_seeds(runs, _problem), value).items():
        found.setdefault(tuple(problem), {})[label] = middle  # type: ignore[arg-type]
    return found


def panels(
    runs: Iterable[RunRecord], value: Callable[[RunRecord], float] = lambda run: run.objective
) -> dict[tuple[str, str, float, float | None], Panel]:
    """The medians over seeds of every panel, by experiment, data set, weight and kept."""
    by_key: dict[tuple[str, str, float, float | None], Panel] = {}
    for (experiment, dataset, weight, kept, label), middle in medians(with_common_seeds(runs), value).items():
        by_key.setdefault((experiment, dataset, weight, kept), {})[label] = middle
    return by_key


def _problem(run: RunRecord) -> tuple[Any, ...]:
    return run.job.dataset, run.job.weight, run.job.kept


def _panel(run: RunRecord) -> tuple[Any, ...]:
    return run.experiment, *_problem(run)


def with_common_seeds(
    runs: Iterable[RunRecord], panel: Callable[[RunRecord], tuple[Any, ...]] = _panel
) -> list[RunRecord]:
    """The runs whose seed all methods of the panel have: another seed is another sample and another start."""
    runs = list(runs)
    seeds: dict[tuple[Any, ...], dict[str, set[int]]] = {}
    for run in runs:
        seeds.setdefault(panel(run), {}).setdefault(run.label, set()).add(run.job.seed)
    common = {key: set.intersection(*by_label.values()) for key, by_label in seeds.items()}
    return [run for run in runs if run.job.seed in common[panel(run)]]


def verdict(claim: Claim, cases: Iterable[Panel]) -> Verdict:
    """The verdict on a claim over some panels; a panel without one of its methods does not count."""
    judged = [claim.holds(panel) for panel in cases if set(claim.needs) <= set(panel)]
    return Verdict(sum(judged), len(judged))


def verdicts(runs: Sequence[RunRecord]) -> dict[str, dict[tuple[str, float, float | None], Verdict]]:
    """Every claim by experiment, weight and kept."""
    by_key = panels(runs)
    groups = list(dict.fromkeys((experiment, weight, kept) for experiment, _, weight, kept in by_key))
    return {
        claim.statement: {
            group: verdict(claim, [p for (e, _, w, k), p in by_key.items() if (e, w, k) == group]) for group in groups
        }
        for claim in CLAIMS
    }


def objective_after(fraction: float) -> Callable[[RunRecord], float]:
    """The objective of a run after a fraction of its time: that of its result at the end, or without a budget."""

    def value(run: RunRecord) -> float:
        if run.job.seconds is None or fraction >= 1:
            return run.objective
        return run.objective_at(fraction * run.job.seconds)

    return value


def by_budget(runs: Sequence[RunRecord]) -> dict[str, dict[float, Verdict]]:
    """Every claim at some fractions of the time budget, over all panels with one."""
    timed = [run for run in runs if run.job.seconds is not None]
    taken = {fraction: list(panels(timed, objective_after(fraction)).values()) for fraction in FRACTIONS}
    return {claim.statement: {f: verdict(claim, cases) for f, cases in taken.items()} for claim in CLAIMS}

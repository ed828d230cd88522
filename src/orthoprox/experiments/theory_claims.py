"""What the paper's analysis states, measured along watched runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orthoprox.experiments.gather import RunRecord

ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""Relative to Theta: smaller differences are rounding."""
FEASIBLE = 1e-10
"""The norm of X'X - I below which X counts as feasible."""
TRIALS = 20
"""The most trials of a line search that count as O(1)."""


@dataclass(frozen=True)
class TheoryMeasures:
    """One watched run.

    Attributes
    ----------
    label, dataset, weight
    increases : int
        Steps at which Theta rose by more than rounding.
    bare : int
        The same for Theta without c/beta, its dominant part, which does not depend on the run.
    short : int
        Steps at which it fell by less than the lemmas require.
    steps : int
    slope : float
        Of log(mean Crit) against log T over the last decade.
    trials : int
        The most the line search took (0 where there is none).
    """

    label: str
    dataset: str
    weight: float
    increases: int
    bare: int
    short: int
    steps: int
    slope: float
    trials: int


def measure(runs: Sequence[RunRecord]) -> list[TheoryMeasures]:
    """Measure every watched run that is long enough for a decade."""
    return [_measure(run) for run in runs if len(run.archive.theory.get("theta", ())) >= 20]


def _measure(run: RunRecord) -> TheoryMeasures:
    columns = run.archive.theory
    slack = ROUNDING * np.abs(columns["theta"][1:])
    decrease, required = columns["decrease"][1:], columns["required"][1:]
    T, mean = columns["iteration"], columns["mean_criticality"]
    last = T >= T[-1] / 10
    return TheoryMeasures(
        label=run.label,
        dataset=run.job.dataset,
        weight=run.job.weight,
        increases=int(np.sum(decrease < -slack)),
        bare=int(np.sum(np.diff(columns["theta"] - columns["c_over_beta"]) > slack)),
        short=int(np.sum(decrease < required - slack)),
        steps=len(decrease),
        slope=float(np.polyfit(np.log(T[last]), np.log(mean[last]), 1)[0]),
        trials=int(np.max(columns["trials"])),
    )


def worst_infeasibility(runs: Sequence[RunRecord]) -> float:
    """The largest norm of X'X - I recorded anywhere."""
    return max((float(np.max(run.archive.history["infeasibility"])) for run in runs), default=float("nan"))


def statements(runs: Sequence[RunRecord]) -> list[tuple[str, str, str]]:
    """Each statement with its verdict and the number it rests on."""
    lines = []
    measures = measure(runs)
    for label in dict.fromkeys(one.label for one in measures):
        here = [one for one in measures if one.label == label]
        steps = sum(one.steps for one in here)
        rises, short = sum(one.increases for one in here), sum(one.short for one in here)
        bare = sum(one.bare for one in here)
        slope, trials = max(one.slope for one in here), max(one.trials for one in here)
        falls = sum(one.slope <= -1 / 3 for one in here)
        lines += [
            (
                f"{label}: Theta decreases at every step",
                _word(rises == 0),
                f"rises at {rises} of {steps} steps; without its dominant part c/beta at {bare}",
            ),
            (
                f"{label}: by at least what the lemmas require",
                _word(short == 0),
                f"too little at {short} of {steps} steps",
            ),
            (
                f"{label}: the mean of Crit falls at least like T^(-1/3)",
                _word(falls == len(here)),
                f"in {falls} of {len(here)} runs; the slowest slope over the last decade is {slope:.3f}",
            ),
        ]
        if trials:
            lines.append(
                (f"{label}: the line search ends in O(1) trials", _word(trials <= TRIALS), f"at most {trials}")
            )
    if runs:
        worst = worst_infeasibility(runs)
        lines.append(
            (
                "every recorded iterate is feasible, all methods",
                _word(worst <= FEASIBLE),
                f"the norm of X'X - I is at most {worst:.1e}",
            )
        )
    return lines


def _word(holds: bool) -> str:
    return "holds" if holds else "fails"

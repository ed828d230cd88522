"""2. Plain l1 sparse PCA: time to a critical point."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from _problems import unit_columns
from _runs import (
    OURS,
    PEERS,
    Instance,
    Job,
    Options,
    Outcome,
    geometric_mean,
    methods_in,
    table,
    with_common_starts,
)

from orthoprox import Problem, Stiefel
from orthoprox.datasets import load
from orthoprox.terms import L1, ExplainedVariance

SHAPES = ((5, 0.4), (5, 1.0), (10, 0.6), (20, 0.4), (20, 0.8))
SYNTHETIC = tuple(
    (f"randn-50-{n}", r, weight, 1000 * i + j)
    for i, n in enumerate((200, 500, 1000, 2000))
    for j, (r, weight) in enumerate(SHAPES)
)
"""Gaussian data with centred columns of unit length: name, r, weight, seed."""
GENES = {  # r and weight, with the best published value
    ("arabidopsis", 10, 0.4): -481.1,
    ("arabidopsis", 10, 0.6): -442.7,
    ("arabidopsis", 20, 0.4): -509.3,
    ("leukemia", 10, 0.4): -657.8,
    ("leukemia", 20, 0.4): -728.2,
}
TOO_SLOW = ("oadmm-ep", "oadmm-rr", "spgm-ep", "subgradient")
METHODS = (OURS, *(peer for peer in PEERS if peer not in TOO_SLOW))
NOTE = """-tr(X'B'BX) + w |X|_1, centred columns of unit length, 50 samples where the data are random. Seconds until
Crit is at most 1e-6, from common starts; a run that does not get there within {seconds:g} s is marked > and counted at
{seconds:g} s, which makes a ratio too small where it is a peer's and too large where it is ours. The four other
methods, `oadmm-ep`, `oadmm-rr` (with either penalty), `spgm-ep` and `subgradient`, got there on none of these problems
within 20 s, and are left out. Most constants of ours were chosen on these problems: this is no test of them."""


@functools.lru_cache(maxsize=8)
def instance(case: tuple[Any, ...]) -> Instance:
    name, r, weight, *seed = case
    B = unit_columns(50, int(name.split("-")[2]), seed[0]) if seed else load(name).X
    return with_common_starts(Problem.of(ExplainedVariance(B, weight=2.0) + weight * L1(), over=Stiefel(B.shape[1], r)))


def jobs(options: Options) -> list[Job]:
    cases: list[tuple[Any, ...]] = list(SYNTHETIC[2:8:5] if options.quick else SYNTHETIC)
    if os.environ.get("ORTHOPROX_DATA"):
        cases += list(GENES)[:1] if options.quick else list(GENES)
    seconds = options.seconds or (2.0 if options.quick else 40.0)
    return [
        Job(__name__, case, method, seed, seconds)
        for case in cases
        for seed in range(options.starts or 1)
        for method in METHODS
    ]


def report(outcomes: Mapping[tuple[Any, ...], Outcome]) -> str:
    methods = methods_in(outcomes)
    runs = list(dict.fromkeys((case, seed) for case, _, seed in outcomes))
    by = {method: [outcomes[case, method, seed] for case, seed in runs] for method in methods}
    seconds = by[OURS][0].job.seconds
    peers = [method for method in methods if method != OURS]
    cost = {method: geometric_mean(outcome.counted for outcome in by[method]) for method in methods}
    single = min(peers, key=cost.__getitem__)
    each = [min(by[method][i].counted for method in peers) for i in range(len(runs))]
    low = min(peers, key=lambda method: float(np.mean([outcome.F for outcome in by[method]])))
    lowest = [min(by[method][i].F for method in peers) for i in range(len(runs))]
    missed = [_case(case, seed) for (case, seed), ours in zip(runs, by[OURS], strict=True) if math.isinf(ours.time)]
    ours, theirs = ([outcome.F for outcome in by[method]] for method in (OURS, low))
    return "\n\n".join(
        [
            "## 2. Plain l1 sparse PCA",
            NOTE.format(seconds=seconds),
            table(
                ["instance", *methods, "our F", "lowest F of a peer", "published"],
                [
                    [
                        *(_case(case, seed), *(_seconds(by[method][i]) for method in methods)),
                        *(f"{ours[i]:.6g}", f"{lowest[i]:.6g}", GENES.get(case, "")),
                    ]
                    for i, (case, seed) in enumerate(runs)
                ],
            ),
            "Time against ours (geometric mean), and our F against theirs (mean of the relative difference; a "
            "negative one is in our favour):",
            table(
                ["method", f"reached 1e-6 of {len(runs)}", "time / ours", "our F against it", "worst for us"],
                [
                    [method, sum(math.isfinite(outcome.time) for outcome in by[method])]
                    + [f"{cost[method] / cost[OURS]:.2f}"]
                    + [f"{pick(_against(ours, [outcome.F for outcome in by[method]])):+.1e}" for pick in (np.mean, max)]
                    for method in methods
                ],
            ),
            "\n".join(
                [
                    f"- Best single peer, {single}: {cost[single] / cost[OURS]:.2f} times our time (wanted: 5).",
                    f"- Best peer of each instance: {geometric_mean(each) / cost[OURS]:.2f} times our time.",
                    f"- Mean F: ours {np.mean(ours):.6g}, the lowest of a peer ({low}) {np.mean(theirs):.6g}; mean of "
                    f"the relative difference {np.mean(_against(ours, theirs)):+.1e} (wanted: not positive).",
                    f"- Our F against the lowest of all peers at an instance: {np.mean(_against(ours, lowest)):+.1e}.",
                    f"- We did not reach Crit 1e-6 on {len(missed)} of {len(runs)}: {', '.join(missed) or 'none'}.",
                ]
            ),
        ]
    )


def _case(case: tuple[Any, ...], seed: int) -> str:
    return f"{case[0]} r={case[1]} w={case[2]:g}" + (f" start {seed}" if seed else "")


def _seconds(outcome: Outcome) -> str:
    return f"{outcome.time:.3f}" if math.isfinite(outcome.time) else f"> ({outcome.residual:.0e})"


def _against(ours: list[float], theirs: list[float]) -> list[float]:
    return [(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True)]

"""4. Robustness to scale: the same problem in other units, and raw data."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from _problems import unit_columns
from _runs import OURS, Instance, Job, Options, Outcome, count, table, with_common_starts

from orthoprox import Problem, Stiefel
from orthoprox.datasets import load
from orthoprox.models import compressed_modes, sparse_pca
from orthoprox.terms import L1, MCP, ExplainedVariance

SCALES = (1e-4, 1.0, 1e4)
KINDS = ("sparse PCA, l1", "sparse PCA, l1 - largest-k", "sparse PCA, MCP", "compressed modes")
RAW = {  # data, r, weight: the published values of two methods
    ("arabidopsis", 10, 0.5): (-65867.51, -65867.82),
    ("arabidopsis", 10, 0.25): (-65922.31, -65922.30),
    ("arabidopsis", 15, 0.5): (-72553.54, -72553.02),
    ("leukemia", 10, 0.5): (-53787.26, -53787.19),
    ("leukemia", 15, 0.25): (-60209.07, -60208.75),
}
PEERS = ("manial-1", "manpg-ada")
SAME = 1e-5


@functools.lru_cache(maxsize=8)
def instance(case: tuple[Any, ...]) -> Instance:
    if case[0] in KINDS:
        return scale_instance(*case)
    name, r, weight = case
    B = load(name, raw=True).X
    return with_common_starts(Problem.of(ExplainedVariance(B, weight=2.0) + weight * L1(), over=Stiefel(B.shape[1], r)))


def scale_instance(kind: str, c: float) -> Instance:
    """The problem with data times c: f is multiplied by c^2, and so are the weights."""
    B = c * unit_columns(50, 500, 5)
    f, M = ExplainedVariance(B, weight=2.0), Stiefel(500, 10)
    D = c * np.random.default_rng(6).standard_normal((300, 100)) * 0.97 ** np.arange(100)
    if kind == "sparse PCA, l1":
        problem = Problem.of(f + 0.6 * c**2 * L1(), over=M)
    elif kind == "sparse PCA, MCP":
        problem = Problem.of(f + 0.6 * c**2 * MCP(1.0, 5.0), over=M)
    elif kind == "compressed modes":
        problem = compressed_modes(128, n_components=10, weight=0.1 * c**2, length=50 / c)
    else:
        problem = sparse_pca(D, n_components=10, weight=50 * c**2, k=200)

    def residual(now: Any) -> float:
        """Crit in the units of the problem with c = 1: X and y have none, z and the gradient those of f."""
        primal, dual, stationarity = now.criticality_parts
        return float(primal + (dual + stationarity) / c**2)

    # The subgradient method chooses its length at the first point, so the common start is the same at every scale.
    return with_common_starts(problem, residual=residual)


def jobs(options: Options) -> list[Job]:
    kinds = KINDS[:2] if options.quick else KINDS
    starts = options.starts or (1 if options.quick else 5)
    seconds = options.seconds or (5.0 if options.quick else 3.0)
    found = [Job(__name__, (kind, c), OURS, seed, seconds) for kind in kinds for c in SCALES for seed in range(starts)]
    if os.environ.get("ORTHOPROX_DATA"):
        rows = list(RAW)[:1] if options.quick else list(RAW)
        found += [
            Job(__name__, row, method, seed, seconds)
            for row in rows
            for method in (OURS, *PEERS)
            for seed in range(starts)
        ]
    return found


def report(outcomes: Mapping[tuple[Any, ...], Outcome]) -> str:
    kinds = list(dict.fromkeys(case[0] for case, _, _ in outcomes if case[0] in KINDS))
    raw = list(dict.fromkeys(case for case, _, _ in outcomes if case in RAW))
    seeds = sorted({seed for _, _, seed in outcomes})
    rows, changes = [], []
    for kind in kinds:
        for seed in seeds:
            found = [outcomes[(kind, c), OURS, seed] for c in SCALES]
            changes.append(change(found))
            rows.append([kind, seed, *(_counts(one) for one in found), _percent(changes[-1])])
    parts = [
        "## 4. Scale",
        "Data times c, weights times c^2: our steps and products with the data until Crit, in the units of c = 1, is "
        "at most 1e-6 (a > marks a run that the budget ended first).",
        table(["problem", "start", *(f"c = {c:g}" for c in SCALES), "change"], rows),
        f"Largest change: {_percent(max(changes))} (wanted: at most 20 %).",
    ]
    if raw:
        budget = max(outcome.job.seconds for outcome in outcomes.values())
        parts += [
            f"Raw data, neither centred nor scaled: lowest F of {count(len(seeds), 'start')}, {budget:g} s for each. "
            "The gap is relative to the lower of the two published values.",
            table(
                ["data", "r", "w", "published", "method", "F", "gap", "within 1e-5", "Crit", "seconds"],
                [_raw(outcomes, row, method, seeds) for row in raw for method in (OURS, *PEERS)],
            ),
        ]
    return "\n\n".join(parts)


def change(found: list[Outcome]) -> float:
    """The largest relative change of steps or work against those at c = 1; infinite if a run was cut short."""
    if any(math.isinf(one.time) for one in found):
        return math.inf
    base = found[SCALES.index(1.0)]
    ratios = [pair for one in found for pair in (one.iterations / base.iterations, one.work / base.work)]
    return max(abs(ratio - 1) for ratio in ratios)


def _percent(part: float) -> str:
    return f"{100 * part:.0f} %" if math.isfinite(part) else "cut short"


def _counts(outcome: Outcome) -> str:
    mark = "> " if math.isinf(outcome.time) else ""
    return f"{mark}{outcome.iterations} / {outcome.work}"


def _raw(outcomes: Mapping[tuple[Any, ...], Outcome], row: tuple[Any, ...], method: str, seeds: list[int]) -> list[Any]:
    best = min((outcomes[row, method, seed] for seed in seeds), key=lambda outcome: outcome.F)
    target = min(RAW[row])
    gap = (best.F - target) / abs(target)
    lowest = f"{RAW[row][0]} / {RAW[row][1]}"
    good = "yes" if gap <= SAME else "NO"
    return [*row, lowest, method, f"{best.F:.2f}", f"{gap:+.1e}", good, f"{best.residual:.0e}", f"{best.counted:.2f}"]

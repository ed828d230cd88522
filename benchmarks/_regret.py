"""Plain l1 sparse PCA on seven families of data: how far above the best known objective a run ends.

Regret is the objective minus the lowest one that any run has found, in units of the mean of the r leading eigenvalues.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from _runs import OURS, PEERS, Instance, Job, Outcome, geometric_mean, methods_in, table

from orthoprox import Problem, Stiefel, named
from orthoprox.starts import Auto
from orthoprox.terms import L1, ExplainedVariance

WEIGHTS = (0.001, 0.004, 0.02, 0.06, 0.15, 0.4)
"""In units of the mean of the r leading eigenvalues."""
RANDOM = f"{OURS}, random start"
METHODS = (OURS, RANDOM, *PEERS)
EVEN = 1e-6
"""Mean objectives that differ by less, in units of regret, are the same."""


def factors(rng: np.random.Generator) -> Any:
    """Thirty latent factors with sparse loadings of different strength, and noise."""
    loadings = rng.standard_normal((30, 500)) * (rng.random((30, 500)) < 0.1) * np.linspace(2.0, 0.5, 30)[:, None]
    return rng.standard_normal((1500, 30)) @ loadings + rng.standard_normal((1500, 500))


def gaussian(rng: np.random.Generator) -> Any:
    """Independent entries: leading directions that mean nothing."""
    return rng.standard_normal((200, 400))


def genes(rng: np.random.Generator) -> Any:
    """Few samples, many features, overlapping pathways, heavy tails."""
    pathways = (rng.random((40, 1000)) < 0.04) * rng.gamma(2.0, 0.5, (40, 1000))
    return rng.standard_normal((60, 40)) @ pathways + 0.7 * rng.standard_t(3, (60, 1000))


def digits(rng: np.random.Generator) -> Any:
    """Images of digits, from scikit-learn."""
    from sklearn.datasets import load_digits

    return load_digits().data


def blocks(rng: np.random.Generator) -> Any:
    """Fifteen groups of correlated features of different size."""
    sizes = np.arange(6, 36, 2)
    common = np.repeat(rng.standard_normal((400, len(sizes))), sizes, axis=1)
    return np.sqrt(0.6) * common + np.sqrt(0.4) * rng.standard_normal(common.shape)


def spiked(rng: np.random.Generator) -> Any:
    """A covariance with five sparse orthogonal spikes over white noise."""
    V, _ = np.linalg.qr(rng.standard_normal((350, 5)) * (rng.random((350, 5)) < 0.15))
    scores = rng.standard_normal((250, 5)) * np.sqrt([40.0, 30.0, 20.0, 15.0, 10.0])
    return scores @ V.T + rng.standard_normal((250, 350))


def text(rng: np.random.Generator) -> Any:
    """Counts of words in documents about a few of 25 topics, most of them zero; as square roots."""
    topics, mixtures = rng.dirichlet(np.full(400, 0.05), 25), rng.dirichlet(np.full(25, 0.1), 600)
    return np.sqrt(rng.poisson(60 * mixtures @ topics).astype(float))


FAMILIES: dict[str, tuple[Callable[[np.random.Generator], Any], int]] = {
    "factors": (factors, 20),
    "gaussian": (gaussian, 8),
    "genes": (genes, 5),
    "digits": (digits, 8),
    "blocks": (blocks, 8),
    "spiked": (spiked, 5),
    "text": (text, 20),
}
"""The data and r. No constant was chosen on them; a rule was, once: docs/decisions/016-starts.md."""


@functools.lru_cache(maxsize=1)
def data(family: str) -> tuple[Any, float]:
    """Centred columns of unit variance without constant ones, and the mean of the r leading eigenvalues of D'D/m."""
    make, r = FAMILIES[family]
    D = make(np.random.default_rng(list(FAMILIES).index(family)))
    D = D[:, D.std(axis=0) > 0]
    D = (D - D.mean(axis=0)) / D.std(axis=0)
    return D, float(np.mean(np.linalg.svd(D, compute_uv=False)[:r] ** 2) / len(D))


@functools.lru_cache(maxsize=1)
def instance(case: tuple[Any, ...]) -> Instance:
    family, weight = case
    (D, unit), r = data(family), FAMILIES[family][1]
    problem = Problem.of(ExplainedVariance(D, weight=1 / len(D)) + weight * unit * L1(), over=Stiefel(D.shape[1], r))
    return Instance(
        problem,
        problem.M.random,
        variants={RANDOM: named(OURS)},
        rules={OURS: Auto()},
        measure=lambda X: {"unit": unit},
    )


def jobs(families: list[str], methods: list[str], starts: int, seconds: float) -> list[Job]:
    return [
        Job(__name__, (family, weight), method, seed, seconds)
        for family in families
        for weight in WEIGHTS
        for seed in range(starts)
        for method in methods
    ]


def best_known(outcomes: Mapping[tuple[Any, ...], Outcome], folder: Path | None = None) -> dict[tuple[Any, ...], float]:
    """The lowest objective of each case; with a folder also of earlier runs, by other code too, and kept there."""
    file = None if folder is None else folder / "best.json"
    stored = json.loads(file.read_text("utf-8")) if file is not None and file.exists() else {}
    for (case, _, _), outcome in outcomes.items():
        if outcome.residual < math.inf and outcome.infeasibility < 1e-8:
            stored[repr(case)] = min(outcome.F, stored.get(repr(case), math.inf))
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(stored, indent=1), "utf-8")
    return {case: stored[repr(case)] for case in dict.fromkeys(case for case, _, _ in outcomes)}


def report(outcomes: Mapping[tuple[Any, ...], Outcome], best: Mapping[tuple[Any, ...], float]) -> str:
    methods, cases = methods_in(outcomes), list(best)
    regret = {
        (case, method): float(
            np.mean([(one.F - best[case]) / one.more["unit"] for one in _runs_of(outcomes, case, method)])
        )
        for case in cases
        for method in methods
    }
    rows = [[method, *_summary(outcomes, regret, cases, method)] for method in methods]
    weights, families = (list(dict.fromkeys(case[i] for case in cases)) for i in (1, 0))
    head = ["method", "mean regret", f"lowest of {len(cases)}", "reached 1e-6", "seconds"]
    parts = [table(head, rows)]
    for i, names in ((1, weights), (0, families)):
        cells = [[m, *(f"{_mean(regret, cases, m, i, name):.4f}" for name in names)] for m in methods]
        parts.append(table(["mean regret", *map(str, names)], cells))
    if {OURS, RANDOM} <= set(methods):
        ours, random = ([one.counted for one in _all(outcomes, method)] for method in (OURS, RANDOM))
        mean, total = geometric_mean(ours) / geometric_mean(random), sum(ours) / sum(random)
        parts.append(f"Time against that from a random start: {mean:.2f} (geometric mean), {total:.2f} (sum).")
    return "\n\n".join(parts)


def _runs_of(outcomes: Mapping[tuple[Any, ...], Outcome], case: tuple[Any, ...], method: str) -> list[Outcome]:
    return [one for (where, who, _), one in outcomes.items() if where == case and who == method]


def _all(outcomes: Mapping[tuple[Any, ...], Outcome], method: str) -> list[Outcome]:
    return [one for (_, who, _), one in outcomes.items() if who == method]


def _mean(regret: Mapping[Any, float], cases: list[Any], method: str, i: int, name: Any) -> float:
    return float(np.mean([regret[case, method] for case in cases if case[i] == name]))


def _summary(
    outcomes: Mapping[tuple[Any, ...], Outcome], regret: Mapping[Any, float], cases: list[Any], method: str
) -> list[str]:
    """Mean regret, settings with the lowest mean (ours are not each other's rivals), runs that converged, seconds."""
    ours, everyone = (OURS, RANDOM), methods_in(outcomes)
    rivals = [other for other in everyone if other != method and not {other, method} <= set(ours)]
    lowest = [regret[case, method] <= min((regret[case, m] for m in rivals), default=math.inf) + EVEN for case in cases]
    runs = _all(outcomes, method)
    return [
        f"{np.mean([regret[case, method] for case in cases]):.4f}",
        str(sum(lowest)),
        f"{sum(math.isfinite(one.time) for one in runs)} of {len(runs)}",
        f"{geometric_mean(one.counted for one in runs):.2f}",
    ]

"""A subspace among outliers: RobustSubspace and DualPCP beside PCA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from _fits import degrees, fit_timed, medians
from _runs import table
from sklearn.decomposition import PCA

from orthoprox import DualPCP, RobustSubspace

N, D, M = 30, 5, 500
SHARES = (0.1, 0.3, 0.5, 0.7)
CASES = {  # noise of the inliers, how far outliers lean to a common direction
    "spread, no noise": (0.0, 0.0),
    "spread, noise 0.05": (0.05, 0.0),
    "leaning, noise 0.05": (0.05, 1.5),
}
MODELS: dict[str, tuple[Callable[[int], Any], Callable[[Any], Any]]] = {
    "scikit-learn PCA": (lambda seed: PCA(D), lambda model: model.components_),
    "**RobustSubspace**": (lambda seed: RobustSubspace(D, random_state=seed), lambda model: model.components_),
    "**RobustSubspace(center=None)**": (
        lambda seed: RobustSubspace(D, center=None, random_state=seed),
        lambda model: model.components_,
    ),
    "**DualPCP**": (lambda seed: DualPCP(N - D, random_state=seed), lambda model: model.subspace_),
    "**DualPCP(center=None)**": (
        lambda seed: DualPCP(N - D, center=None, random_state=seed),
        lambda model: model.subspace_,
    ),
}


def draw(share: float, noise: float, lean: float, seed: int) -> tuple[Any, Any]:
    """Inliers in a subspace, with noise; outliers as long, in random directions that may lean to a common one."""
    rng = np.random.default_rng(3000 + seed)
    Q = np.linalg.qr(rng.standard_normal((N, D)))[0]
    outliers = round(share * M)
    X = rng.standard_normal((M, D)) @ Q.T + noise * rng.standard_normal((M, N))
    away = rng.standard_normal((outliers, N)) + lean * rng.standard_normal(N)
    X[:outliers] = away * np.sqrt(D) / np.linalg.norm(away, axis=1, keepdims=True)
    return X, Q


def outcome(name: str, case: str, share: float, seed: int) -> tuple[float, float]:
    X, Q = draw(share, *CASES[case], seed)
    make, basis = MODELS[name]
    model, seconds = fit_timed(make(seed), X)
    return degrees(basis(model).T, Q), seconds


def report(quick: bool) -> str:
    draws = range(3 if quick else 10)
    rows = []
    for case in CASES:
        for name in MODELS:
            cells = [medians(outcome(name, case, share, seed) for seed in draws) for share in SHARES]
            angles = [f"{angle:.2g}" for angle, _ in cells]
            rows.append((case, name, *angles, f"{np.median([seconds for _, seconds in cells]):.3f}"))
    return f"""### A subspace among outliers

{M} samples of {N} features, inliers in a subspace of dimension {D}, outliers as long as they are. The largest principal
angle to the true subspace in degrees, for several shares of outliers; medians over {len(draws)} draws. The true one
passes through the origin, which only fits with `center=None` take for granted. Where half of
the samples or more lean to one direction, a subspace with that direction has the smaller sum of distances; where fewer
do, the true one has, but the other may still be a local minimum, and a fit can end there.

{table(("outliers", "", *(f"{share:.0%}" for share in SHARES), "seconds"), rows)}"""

"""Blind separation of bounded sources: RangeICA beside FastICA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from _fits import fit_timed, medians
from _runs import table
from sklearn.decomposition import FastICA

from orthoprox import RangeICA
from orthoprox.models import amari_index

KINDS: dict[str, Callable[[Any, tuple[int, int]], Any]] = {
    "uniform": lambda rng, size: rng.uniform(-1, 1, size),
    "sinusoids of random phase": lambda rng, size: np.sin(2 * np.pi * rng.random(size)),
    "two levels and noise of a tenth": lambda rng, size: rng.choice([-1.0, 1.0], size) + rng.uniform(-0.1, 0.1, size),
}
SIZES = ((500, 3), (2000, 3), (2000, 8))
MODELS: dict[str, Callable[[int, int], Any]] = {
    "FastICA": lambda r, seed: FastICA(r, max_iter=1000, random_state=seed),
    "FastICA, fun='cube'": lambda r, seed: FastICA(r, fun="cube", max_iter=1000, random_state=seed),
    "**RangeICA**": lambda r, seed: RangeICA(r, random_state=seed),
    "**RangeICA(order=1)**": lambda r, seed: RangeICA(r, order=1, random_state=seed),
}


def outcome(make: Callable[[int, int], Any], kind: str, m: int, r: int, seed: int) -> tuple[float, float]:
    """Amari index and seconds for one draw of sources and of a mixing matrix."""
    rng = np.random.default_rng(1000 + seed)
    S, mixing = KINDS[kind](rng, (m, r)), rng.standard_normal((r, r))
    model, seconds = fit_timed(make(r, seed), S @ mixing.T)
    return amari_index(model.components_ @ mixing), seconds


def report(quick: bool) -> str:
    draws = range(3 if quick else 10)
    rows = []
    for kind in KINDS:
        for m, r in SIZES[: 1 if quick else None]:
            cells = [medians(outcome(make, kind, m, r, seed) for seed in draws) for make in MODELS.values()]
            rows.append((f"{kind}, {m} samples of {r}", *(f"{a:.4f} ({seconds:.3f} s)" for a, seconds in cells)))
    return f"""### Blind separation of bounded sources

The Amari index of what is found times the mixing matrix (0 if every source is found, 1 if none is), and the time.
Medians over {len(draws)} draws of sources and mixing matrix.

{table(("sources", *MODELS), rows)}"""

"""Prints the tables of certificate.md: python docs/certificate.py [DATASET ...]"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn import datasets

from orthoprox import SparsePCA, certify, variance_bound
from orthoprox.datasets import pitprops

EFFORTS = ("fast", "balanced", "thorough")
CAPS = ((4,), (2, 2, 2), (4, 4), (6, 6), (4, 4, 4), (5, 2, 2), (2,) * 6)


def correlations(name: str) -> np.ndarray:
    if name == "pitprops":
        return pitprops()[0]
    X = getattr(datasets, f"load_{name}")().data
    return np.corrcoef(X[:, X.std(axis=0) > 0].T)


def samples_of(C: np.ndarray) -> np.ndarray:
    """Centred samples with this covariance."""
    n = len(C)
    w, V = np.linalg.eigh(C)
    Q = np.linalg.qr(np.hstack([np.ones((n + 1, 1)), np.random.default_rng(0).standard_normal((n + 1, n))]))[0][:, 1:]
    return np.sqrt(n) * Q @ (V * np.sqrt(np.maximum(w, 0))).T


def row(name: str, C: np.ndarray, caps: tuple[int, ...]) -> str:
    found, cells = [], []
    model = SparsePCA(n_components=len(caps), n_nonzero_per_component=caps, random_state=0).fit(samples_of(C))
    found.append(certify(model.components_, C, n_nonzero_per_component=caps, effort="fast").variance)
    for effort in EFFORTS:
        begin = time.process_time()
        bound = variance_bound(C, len(caps), n_nonzero_per_component=caps, effort=effort, time_limit=30)
        cells.append((bound.value, 1e3 * (time.process_time() - begin)))
        if bound.components is not None:
            found.append(float(np.sum((bound.components @ C) * bound.components)))
    best = max(found)
    gaps = " | ".join(f"{max(0.0, 100 * (value / best - 1)):.2f} % | {ms:.0f}" for value, ms in cells)
    return f"| {name} | {len(C)} | {', '.join(map(str, caps))} | {best:.4f} | {found[0]:.4f} | {gaps} |"


if __name__ == "__main__":
    print("| data | n | nonzeros | best known | SparsePCA | fast | ms | balanced | ms | thorough | ms |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name in sys.argv[1:] or ("pitprops", "wine", "diabetes", "breast_cancer", "digits"):
        for caps in CAPS:
            print(row(name, correlations(name), caps), flush=True)

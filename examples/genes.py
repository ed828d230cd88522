"""Which genes go up and down together?
====================================

A sparse component is a short list of genes that rise and fall together over the samples. Cross-validation shows how
long the list should be. The data are those of Arabidopsis thaliana if the folder in ORTHOPROX_DATA has
them, otherwise made up: four modules of 24, 18, 14 and 10 genes among 300.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from orthoprox import SparsePCA
from orthoprox.datasets import DataUnavailable, load
from orthoprox.estimators import sparse_pca_path
from orthoprox.plotting import sparsity_path

MODULES = (24, 18, 14, 10)  # genes in each
COUNTS = (8, 16, 32, 50, 66, 90, 130, 200)  # nonzero loadings to try


def made_up() -> np.ndarray:
    """Samples by genes: each module follows an activity of its own, every gene has its own noise."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((80, 300))
    place = 0
    for size in MODULES:
        signs = rng.choice([-1.0, 1.0], size, p=[0.3, 0.7])  # some genes are switched off by what switches others on
        X[:, place : place + size] += 1.5 * rng.standard_normal((80, 1)) * signs
        place += size
    return X[:, rng.permutation(300)]


def expressions() -> tuple[str, np.ndarray, dict[str, int]]:
    """What the data are called, the data, and how many genes to look for."""
    if os.environ.get("ORTHOPROX_DATA"):
        try:
            return "Arabidopsis thaliana", load("arabidopsis").X, {"n_nonzero_per_component": 20}
        except DataUnavailable as error:
            print(error)
    return "made-up expressions", made_up(), {"n_nonzero": sum(MODULES)}


def main(folder: Path) -> Path:
    name, X, wanted = expressions()
    model = SparsePCA(len(MODULES), **wanted).fit(X)
    chosen = [np.flatnonzero(v) for v in model.components_]
    order = np.concatenate([genes[np.argsort(-v[genes])] for genes, v in zip(chosen, model.components_, strict=True)])
    sizes = [len(genes) for genes in chosen]
    print(f"{name}: modules of {', '.join(map(str, sizes))} genes among {X.shape[1]}")

    canvas = Figure(figsize=(9, 4), layout="constrained")
    left, right = canvas.subplots(1, 2, width_ratios=(3, 2))
    samples = np.argsort(model.transform(X)[:, 0])
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    left.imshow(Z[np.ix_(samples, order)].T, cmap="PuOr", vmin=-2, vmax=2, aspect="auto", interpolation="nearest")
    for edge in np.cumsum(sizes)[:-1]:
        left.axhline(edge - 0.5, color="black", lw=1)
    left.set_ylabel("genes, by component")
    left.set_xlabel("samples, by the score of component 1")
    left.set_title(f"{name}: {len(order)} of {X.shape[1]} genes in {len(sizes)} modules", fontsize=10)
    sparsity_path(sparse_pca_path(X, len(MODULES), n_nonzero=COUNTS, cv=4), ax=right)
    right.set_title("how many genes are needed?", fontsize=10)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "genes.png"
    canvas.savefig(path, dpi=80)
    return path


if __name__ == "__main__":
    main(Path("out"))

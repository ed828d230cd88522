"""Clustering: orthogonal nonnegative factors beside k-means, and k-means on the features of NMF."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from _fits import accuracy, fit_timed, medians
from _runs import table
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import NMF
from sklearn.metrics import normalized_mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from orthoprox import OrthogonalNMF


def digits(seed: int) -> tuple[Any, Any]:
    """The same images for every seed."""
    return load_digits(return_X_y=True)


def draw_counts(seed: int, m: int = 1000, n: int = 2000, subjects: int = 8) -> tuple[Any, Any]:
    """Term counts of texts whose lengths differ a lot: half of the words are of a subject, half are anybody's."""
    rng = np.random.default_rng(100 + seed)
    words = rng.dirichlet(np.full(n, 0.05), subjects)
    mixed = 0.5 * words + 0.5 * rng.dirichlet(np.full(n, 0.5))
    truth = rng.integers(subjects, size=m)
    lengths = np.exp(rng.normal(4.0, 1.0, size=m)).astype(int) + 5
    rows = [rng.multinomial(length, mixed[subject]) for length, subject in zip(lengths, truth, strict=True)]
    return scipy.sparse.csr_array(np.array(rows, dtype=float)), truth


DATA = {
    "digits, 1797 x 64, 10 clusters": (digits, 10),
    "planted counts, sparse 1000 x 2000, 8 clusters": (draw_counts, 8),
}
MODELS: dict[str, Callable[[int, int], Any]] = {
    "scikit-learn KMeans": lambda c, seed: KMeans(c, n_init=10, random_state=seed),
    "scikit-learn KMeans, rows of unit length": lambda c, seed: make_pipeline(
        Normalizer(), KMeans(c, n_init=10, random_state=seed)
    ),
    "scikit-learn NMF, then KMeans": lambda c, seed: make_pipeline(
        NMF(c, max_iter=500, random_state=seed), KMeans(c, n_init=10, random_state=seed)
    ),
    "**orthoprox OrthogonalNMF**": lambda c, seed: OrthogonalNMF(c, random_state=seed),
}


def outcome(model: Any, X: Any, truth: Any) -> tuple[float, float, float]:
    model, seconds = fit_timed(model, X)
    labels = model[-1].labels_ if hasattr(model, "steps") else model.labels_
    return accuracy(truth, labels), normalized_mutual_info_score(truth, labels), seconds


def report(quick: bool) -> str:
    seeds = range(3 if quick else 10)
    rows = []
    for name, (draw, clusters) in DATA.items():
        for label, make in MODELS.items():
            found = medians(outcome(make(clusters, seed), *draw(seed)) for seed in seeds)
            rows.append((name, label, *(f"{value:.3f}" for value in found[:2]), f"{found[2]:.2f}"))
            name = ""
    return f"""### Clustering

Accuracy is that of the best matching of clusters and classes; NMI is the normalised mutual information. Medians over
{len(seeds)} seeds, of the methods and of the planted data; all start ten times.

{table(("data", "", "accuracy", "NMI", "seconds"), rows)}"""

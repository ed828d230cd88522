"""Sparse principal components: variance, overlap and time, at equal numbers of nonzero loadings."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from _fits import fit_timed
from _runs import table
from sklearn.decomposition import PCA, MiniBatchSparsePCA
from sklearn.decomposition import SparsePCA as TheirSparsePCA

from orthoprox import SparsePCA
from orthoprox.datasets import load

COMPONENTS = 20
SMOOTHING, WEIGHT = 1e-3, 0.1
"""Of the smoothed l1 norm. Of the weights 0.01, 0.02, 0.05, 0.1 and 0.2 this one keeps most variance on MNIST."""
PRESENT = """ What pymanopt finds is orthonormal but has no zeros; the k largest
entries are kept here, which ends its orthogonality."""
PYMANOPT = importlib.util.find_spec("pymanopt") is not None


def load_data() -> tuple[str, Any]:
    """Unit columns, centred: MNIST if it is there, otherwise the digits of scikit-learn."""
    data = load("mnist-1500-500" if os.environ.get("ORTHOPROX_DATA") else "digits")
    return f"{data.name}, {data.X.shape[0]} x {data.X.shape[1]}", data.X


def variance_kept(D: Any, V: Any) -> float:
    """The variance within the span of components, relative to that within as many principal components."""
    Q, values, _ = np.linalg.svd(V.T, full_matrices=False)
    Q = Q[:, values > 1e-10 * values[0]]
    most = np.linalg.svd(D, compute_uv=False)[: len(V)]
    return float(np.sum((D @ Q) ** 2) / np.sum(most**2))


def overlap(V: Any) -> float:
    """The largest cosine between two components; components that are zero have none."""
    sizes = np.linalg.norm(V, axis=1)
    U = V[sizes > 0] / sizes[sizes > 0, None]
    cosines = np.abs(U @ U.T)
    np.fill_diagonal(cosines, 0.0)
    return float(cosines.max(initial=0.0))


def threshold(V: Any, k: int) -> Any:
    """The k entries of largest magnitude, rows scaled to unit length again."""
    least = np.sort(np.abs(V), axis=None)[-k]
    V = np.where(np.abs(V) >= least, V, 0.0)
    return V / np.maximum(np.linalg.norm(V, axis=1, keepdims=True), 1e-300)


def solve_smoothed(D: Any, r: int, weight: float) -> Any:
    """What pymanopt can express: a smoothed l1 norm, by conjugate gradients from the principal components."""
    import pymanopt

    M = pymanopt.manifolds.Stiefel(D.shape[1], r)
    H = D.T @ D

    @pymanopt.function.numpy(M)
    def cost(X: Any) -> float:
        return float(-np.sum(X * (H @ X)) / 2 + weight * np.sum(np.sqrt(X**2 + SMOOTHING**2)))

    @pymanopt.function.numpy(M)
    def gradient(X: Any) -> Any:
        return -H @ X + weight * X / np.sqrt(X**2 + SMOOTHING**2)

    problem = pymanopt.Problem(M, cost, euclidean_gradient=gradient)
    start = PCA(r, svd_solver="full").fit(D).components_.T
    optimizer = pymanopt.optimizers.ConjugateGradient(verbosity=0, max_iterations=2000, min_gradient_norm=1e-4)
    return optimizer.run(problem, initial_point=start).point.T


def time_call(make: Callable[[], Any]) -> tuple[Any, float]:
    """The value of a call and its seconds."""
    since = time.process_time()
    value = make()
    return value, time.process_time() - since


def groups(D: Any, r: int, quick: bool) -> Iterator[list[tuple[str, Any, float]]]:
    """Names, components and seconds of what one would pick, and of ours, at the number of nonzeros of the first."""
    sought = [] if quick else [TheirSparsePCA]
    for kind in (*sought, MiniBatchSparsePCA):
        model, seconds = fit_timed(kind(r, alpha=0.1, random_state=0), D)
        k = np.count_nonzero(model.components_)
        rows = [(f"scikit-learn {kind.__name__}(alpha=0.1)", model.components_, seconds)]
        pca, seconds = fit_timed(PCA(r, svd_solver="full"), D)
        rows.append(("PCA, thresholded", threshold(pca.components_, k), seconds))
        if PYMANOPT and not quick:
            V, seconds = time_call(lambda: solve_smoothed(D, r, WEIGHT))
            rows.append(("pymanopt, smoothed l1, thresholded", threshold(V, k), seconds))
        ours, seconds = fit_timed(SparsePCA(r, n_nonzero=int(k)), D)
        yield [*rows, (f"**orthoprox SparsePCA(n_nonzero={k})**", ours.components_, seconds)]


def report(quick: bool) -> str:
    name, D = load_data()
    r = min(COMPONENTS, D.shape[1])
    fit_timed(SparsePCA(2, n_nonzero=10), D[:100])  # Python and BLAS load their parts outside the clock
    rows = [
        (
            label,
            k := np.count_nonzero(V),
            f"{k / V.size:.1%}",
            f"{variance_kept(D, V):.1%}",
            f"{overlap(V):.0e}",
            f"{seconds:.2f}",
        )
        for group in groups(D, r, quick)
        for label, V, seconds in group
    ]
    head = ("", "nonzeros", "of all", "variance kept", "largest overlap", "seconds")
    other = PRESENT if PYMANOPT and not quick else "" if PYMANOPT else " pymanopt is not installed and left out."
    return f"""### Sparse principal components

{name}, {r} components. The number of nonzero loadings is at most that of scikit-learn's row above. Variance kept is
that within the span of the components, relative to {r} principal components; overlap is the largest cosine between two
of them.{other}

{table(head, rows)}"""

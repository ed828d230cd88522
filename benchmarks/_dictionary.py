"""Orthogonal dictionaries: recovery of a planted one, and reconstruction at equal sparsity."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _fits import fit_timed, medians
from _runs import count, table
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, DictionaryLearning, MiniBatchDictionaryLearning, sparse_encode

from orthoprox import OrthogonalDictionaryLearning

NONZERO = 3
REAL = """ On the digits atoms that need not be orthogonal give back more;
scikit-learn's DictionaryLearning needs minutes there and is left out."""
SLOW = "scikit-learn DictionaryLearning"
MODELS: dict[str, Callable[[int], Any]] = {
    "scikit-learn PCA": lambda seed: PCA(),
    SLOW: lambda seed: DictionaryLearning(max_iter=200, random_state=seed),
    "scikit-learn MiniBatchDictionaryLearning": lambda seed: MiniBatchDictionaryLearning(random_state=seed),
    "**orthoprox OrthogonalDictionaryLearning**": lambda seed: OrthogonalDictionaryLearning(random_state=seed),
}


def planted(seed: int, noise: float, n: int = 20, m: int = 1000) -> tuple[Any, Any]:
    """Samples that need a tenth of the atoms of an orthogonal dictionary, with noise."""
    rng = np.random.default_rng(2000 + seed)
    atoms = np.linalg.qr(rng.standard_normal((n, n)))[0]
    codes = rng.standard_normal((m, n)) * (rng.random((m, n)) < 0.1)
    return codes @ atoms + noise * rng.standard_normal((m, n)), atoms


def digits(seed: int) -> tuple[Any, None]:
    """Images of digits without the pixels that are always blank, centred, and shuffled by the seed."""
    X = load_digits().data
    X = X[:, X.std(axis=0) > 0]
    X = (X - X.mean(axis=0)) / X.std()
    return X[np.random.default_rng(seed).permutation(len(X))], None


def share_recovered(found: Any, atoms: Any) -> float:
    """The share of planted atoms that one found is within a cosine of 0.99 of."""
    found = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-300)
    return float(np.mean(np.abs(atoms @ found.T).max(axis=1) > 0.99))


def share_lost(X: Any, components: Any, k: int) -> float:
    """The share of |X|^2 that k atoms a sample, chosen by matching pursuit, do not give back."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a sample that needs fewer atoms has nothing left to pursue
        codes = sparse_encode(X, components, algorithm="omp", n_nonzero_coefs=k)
    return float(np.sum((X - codes @ components) ** 2) / np.sum(X**2))


def outcome(
    make: Callable[[int], Any], draw: Callable[[int], tuple[Any, Any]], seed: int
) -> tuple[float, float, float]:
    X, atoms = draw(seed)
    model, seconds = fit_timed(make(seed), X)
    found = model.components_
    return np.nan if atoms is None else share_recovered(found, atoms), share_lost(X, found, NONZERO), seconds


def report(quick: bool) -> str:
    draws = range(1 if quick else 5)
    data: dict[str, Callable[[int], tuple[Any, Any]]] = {
        "planted, 1000 x 20, no noise": lambda seed: planted(seed, 0.0),
        "planted, 1000 x 20, noise 0.05": lambda seed: planted(seed, 0.05),
        **({} if quick else {"digits, 1797 x 61": digits}),
    }
    rows = []
    for name, draw in data.items():
        for label, make in MODELS.items():
            if draw is digits and label == SLOW:
                continue
            share, rest, seconds = medians(outcome(make, draw, seed) for seed in draws)
            rows.append((name, label, "" if np.isnan(share) else f"{share:.0%}", f"{rest:.4f}", f"{seconds:.2f}"))
            name = ""
    return f"""### Orthogonal dictionaries

As many atoms as features. An atom counts as recovered if one that was found has a cosine above 0.99 with it; lost is
the share of the sum of squares that {NONZERO} atoms a sample, chosen by matching pursuit for every method, do not give
back. Medians over {count(len(draws), "draw")}.{"" if quick else REAL}

{table(("data", "", "recovered", "lost", "seconds"), rows)}"""

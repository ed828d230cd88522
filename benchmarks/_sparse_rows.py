"""The rows of benchmarks/sparse.py: covariances of public and of generated data, and how many nonzeros are allowed."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn import datasets

from orthoprox._fields import cached_property
from orthoprox.covariance import DenseCovariance, SampleCovariance
from orthoprox.datasets import pitprops

FORMED = 300
"""Features up to which methods are given the covariance; above they are given samples."""
SEEN, LOOKED, HELD = "chosen on", "looked at", "held out"
"""Constants of the search were chosen on these data; or it was tried on them; or neither."""
PUBLISHED = {
    **{("pitprops", 2, 5): 5.694, ("pitprops", 6, 4): 10.568, ("pitprops", 2, 10): 6.505},
    **{("pitprops", 3, 5): 7.681, ("pitprops", 3, 10): 8.427, ("wine", 2, 5): 5.826},
    **{("wine", 3, 5): 7.840, ("wine", 2, 10): 7.084, ("wine", 3, 10): 8.568},
}
"""Of msPCA, the best of ten seeds, with caps; Cory-Wright and Pauphilet."""


@dataclass(frozen=True)
class Row:
    """Data, and an allowance: k nonzeros in each of r components, or k r in all."""

    data: str
    r: int
    k: float
    """A count, or a share of the features."""
    total: bool
    kind: str

    @property
    def name(self) -> str:
        size = f"{self.k:g}" if isinstance(self.k, int) else f"{self.k:.0%}"
        return f"{self.data} {self.r} x {size}" + (", total" if self.total else "")

    def count(self, n: int) -> int:
        """Nonzeros of a component, of n features."""
        return self.k if isinstance(self.k, int) else int(np.ceil(self.k * n))

    def asked(self, n: int) -> dict[str, int]:
        """The allowance, as estimators and bounds take it."""
        k = self.count(n)
        return {"n_nonzero": k * self.r} if self.total else {"n_nonzero_per_component": k}

    @property
    def published(self) -> float | None:
        return None if self.total else PUBLISHED.get((self.data, self.r, self.k))


@dataclass(frozen=True, eq=False)
class Matrix:
    """A covariance: formed if it is small, otherwise through its samples, divided by their number less one."""

    C: Any
    X: Any

    @cached_property
    def n(self) -> int:
        return int((self.X if self.C is None else self.C).shape[1])

    @cached_property
    def thin(self) -> Any:
        """Products with the covariance."""
        if self.C is not None:
            return DenseCovariance(self.C)
        mean = np.asarray(self.X.mean(axis=0)).reshape(-1)
        return SampleCovariance(self.X, mean, self.X.shape[0] - 1)

    def variance(self, V: Any) -> float:
        """tr(V C V') of components, the rows of V."""
        return float(np.sum(V.T * self.thin.product(np.ascontiguousarray(V.T))))

    def for_bound(self) -> Any:
        return self.C if self.C is not None else self.thin

    def samples(self) -> Any:
        """Samples with this covariance, as few as there can be, for methods that take nothing else."""
        if self.C is None:
            return self.X
        n, rng = self.n, np.random.default_rng(0)
        w, U = np.linalg.eigh(self.C)
        Q = np.linalg.qr(np.hstack([np.ones((n + 1, 1)), rng.standard_normal((n + 1, n))]))[0][:, 1:]
        return np.sqrt(n) * Q @ (U * np.sqrt(np.maximum(w, 0))).T


def standardise(X: Any) -> Any:
    """Features of mean 0 and variance 1, constant ones left out."""
    X = X[:, X.std(axis=0) > 1e-12]
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def of_samples(X: Any) -> Matrix:
    """The covariance of samples."""
    return Matrix(np.cov(X.T), None) if X.shape[1] <= FORMED else Matrix(None, X)


def bundled(name: str) -> Matrix:
    return of_samples(standardise(getattr(datasets, f"load_{name}")().data.astype(np.float64)))


def stored(file: str, read: Callable[[Path], Any]) -> Matrix | None:
    """From a file in the folder ORTHOPROX_DATA; None where there is none."""
    folder = os.environ.get("ORTHOPROX_DATA")
    path = None if folder is None else Path(folder) / file
    return None if path is None or not path.exists() else of_samples(read(path))


def words(path: Path) -> Any:
    A = scipy.sparse.load_npz(path).astype(np.float64).tocsr()
    A.data = np.log1p(A.data)
    return A


def genes(path: Path) -> Any:
    return standardise(np.load(path)["X"].astype(np.float64))


def colon(path: Path) -> Any:
    return standardise(np.log(np.maximum(np.load(path)["X"], 1)))


def mnist(path: Path) -> Any:
    return standardise(np.load(path)["images"].reshape(-1, 784).astype(np.float64)[:3000])


def groups_3000() -> Matrix:
    """60 samples of 3000 features, two groups of which go together."""
    rng = np.random.default_rng(0)
    G = rng.standard_normal((60, 3000))
    G[:, :50] += 2 * rng.standard_normal((60, 1))
    G[:, 50:80] += 2 * rng.standard_normal((60, 1))
    return Matrix(None, G)


def factors(n: int, seed: int) -> Matrix:
    """The correlations of a factor model: n / 5 factors, each with normal loadings on a quarter of the features."""
    rng = np.random.default_rng(seed)
    L = rng.standard_normal((n, n // 5)) * (rng.random((n, n // 5)) < 0.25)
    C = L @ L.T + np.diag(rng.uniform(0.5, 1.5, n))
    d = np.sqrt(np.diag(C))
    return Matrix(C / np.outer(d, d), None)


def autoregressive(n: int, rho: float) -> Matrix:
    return Matrix(rho ** np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(np.float64), None)


def blocks(n: int, m: int, seed: int) -> Matrix:
    """The correlations of m samples of n features in six blocks, correlated 0.6 within and 0.15 between."""
    rng = np.random.default_rng(seed)
    block = rng.integers(6, size=n)
    X = np.sqrt(0.15) * rng.standard_normal((m, 1)) + np.sqrt(0.45) * rng.standard_normal((m, 6))[:, block]
    return of_samples(standardise(X + np.sqrt(0.4) * rng.standard_normal((m, n))))


DATA: dict[str, Callable[[], Matrix | None]] = {
    "pitprops": lambda: Matrix(np.asarray(pitprops()[0], dtype=np.float64), None),
    "wine": lambda: bundled("wine"),
    "diabetes": lambda: bundled("diabetes"),
    "breast cancer": lambda: bundled("breast_cancer"),
    "digits": lambda: bundled("digits"),
    "colon": lambda: stored("colon_alon1999.npz", colon),
    "MNIST": lambda: stored("mnist_test_10k.npz", mnist),
    "TDT2": lambda: stored("tdt2_bow.npz", words),
    "newsgroups": lambda: stored("20newsgroups_bow.npz", words),
    "60 x 3000": groups_3000,
    **{
        f"factors {n}, seed {seed}": functools.partial(factors, n, seed) for n in (20, 40, 80, 200) for seed in (11, 12)
    },
    "AR(1) 60": lambda: autoregressive(60, 0.7),
    **{f"blocks {n}": functools.partial(blocks, n, 80, 13) for n in (30, 100)},
    "leukemia": lambda: stored("leukemia_72x1255.npz", genes),
    "arabidopsis": lambda: stored("arabidopsis_118x834.npz", genes),
}
_SIZES: dict[str, tuple[str, list[tuple[int, float]]]] = {
    "pitprops": (SEEN, [(r, k) for r in (2, 3, 6) for k in (4, 5, 10)]),
    "wine": (SEEN, [(r, k) for r in (2, 3) for k in (5, 10)]),
    "diabetes": (SEEN, [(2, 4), (3, 4)]),
    "breast cancer": (SEEN, [(2, 10), (3, 6)]),
    "digits": (SEEN, [(4, 20), (5, 10)]),
    "colon": (LOOKED, [(5, 20)]),
    "MNIST": (LOOKED, [(10, 50)]),
    "TDT2": (LOOKED, [(10, 30)]),
    "newsgroups": (LOOKED, [(10, 30)]),
    "60 x 3000": (LOOKED, [(5, 0.2), (8, 0.2)]),
    **{f"factors 20, seed {seed}": (HELD, [(3, 4)]) for seed in (11, 12)},
    **{f"factors 40, seed {seed}": (HELD, [(4, 6)]) for seed in (11, 12)},
    **{f"factors 80, seed {seed}": (HELD, [(5, 8)]) for seed in (11, 12)},
    **{f"factors 200, seed {seed}": (HELD, [(5, 10)]) for seed in (11, 12)},
    "AR(1) 60": (HELD, [(4, 5)]),
    "blocks 30": (HELD, [(3, 6)]),
    "blocks 100": (HELD, [(4, 10)]),
    "leukemia": (LOOKED, [(5, 20)]),
    "arabidopsis": (LOOKED, [(5, 20)]),
}
QUICK = ("pitprops", "wine", "factors 20, seed 11", "AR(1) 60")


def rows(quick: bool, wanted: str) -> list[Row]:
    """All rows, or a few of small data; only those with a part of a list such as wine,colon in their name."""
    parts = [part.strip() for part in wanted.split(",") if part.strip()] or [""]
    names = QUICK if quick else tuple(_SIZES)
    every = [
        Row(data, r, k, total, _SIZES[data][0])
        for data in names
        for r, k in _SIZES[data][1][: 2 if quick else None]
        for total in (False, True)
    ]
    return [row for row in every if any(part in row.name for part in parts)]

"""Methods of sparse PCA side by side: each gives components with at most so many nonzeros."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from _fits import fit_timed
from _sparse_pca import overlap
from _sparse_rows import FORMED, Matrix, Row
from scipy.sparse import issparse
from sklearn.decomposition import SparsePCA as TheirSparsePCA

from orthoprox import SparsePCA, variance_bound
from orthoprox.active import disjoint, greedy, largest, restore
from orthoprox.supports.wide import leading_vectors

OURS, FAST, THOROUGH = "orthoprox", "fast", "thorough"
POWER, GREEDY, CUT, THEIRS = "truncated power", "greedy", "thresholded PCA", "scikit-learn"
SMALL = 100
"""Features up to which every effort takes part."""
_FITS, _FEW_FITS = 14, 7  # of scikit-learn, to find its penalty, up to so many entries of the samples and beyond
_ENTRIES = 30_000
_STARTS, _FEW_STARTS = 20, 3  # of truncated power, up to FORMED features and beyond
_STEPS = 50  # of it from a start
_LARGEST = 150_000  # entries of the samples up to which scikit-learn takes part, to save time


@dataclass(frozen=True)
class Found:
    """What a method keeps."""

    variance: float
    seconds: float
    nonzeros: int
    cosine: float
    """The largest between two components."""

    @property
    def failed(self) -> bool:
        return math.isnan(self.variance)


def run(method: str, M: Matrix, row: Row, effort: str) -> Found | None:
    """One method on one row; None where it takes no part."""
    if method in (OURS, FAST, THOROUGH):
        return ours(M, row, effort if method == OURS else method)
    if method == THEIRS:
        return theirs(M, row)
    if method == GREEDY and M.n > FORMED:
        return None
    make = {POWER: truncated_power, GREEDY: greedy_components, CUT: thresholded}[method]
    since = time.process_time()
    V = make(M, row)
    return judge(M, row, V, time.process_time() - since)


def judge(M: Matrix, row: Row, V: Any, seconds: float) -> Found:
    """The variance of orthonormal components that keep to the allowance; an error where they do not."""
    gap = float(np.abs(V @ V.T - np.eye(len(V))).max())
    if gap > 1e-9 or not fits(V, row, M.n):
        raise AssertionError(f"{row.name}: {np.count_nonzero(V, axis=1)} nonzeros, V V' - I up to {gap:.1e}")
    return Found(M.variance(V), seconds, int(np.count_nonzero(V)), overlap(V))


def fits(V: Any, row: Row, n: int) -> bool:
    counts, k = np.count_nonzero(V, axis=1), row.count(n)
    return bool(np.sum(counts) <= k * row.r if row.total else np.all(counts <= k))


def fit_ours(M: Matrix, row: Row, effort: str) -> tuple[Any, float]:
    """Our fitted estimator, and its seconds, with those of the bound that it computes when asked."""
    model = SparsePCA(row.r, effort=effort, **row.asked(M.n))
    with warnings.catch_warnings():  # about units that differ, as counts of words do
        warnings.simplefilter("ignore", UserWarning)
        since = time.process_time()
        model = model.fit(M.X) if M.C is None else model.fit_covariance(M.C)
        assert model.upper_bound_ > 0
        return model, time.process_time() - since


def ours(M: Matrix, row: Row, effort: str) -> Found | None:
    if effort in (FAST, THOROUGH) and M.n > SMALL:
        return None
    since = time.process_time()
    try:
        model, seconds = fit_ours(M, row, effort)
    except np.linalg.LinAlgError:  # a fit that fails is part of the result
        return Found(math.nan, time.process_time() - since, 0, 0.0)
    return judge(M, row, model.components_, seconds)


def theirs(M: Matrix, row: Row) -> Found | None:
    """scikit-learn's with the least penalty found by bisection whose components keep to the allowance.

    The variance is that within their span, for an orthonormal basis of it; the seconds are those of one fit.
    """
    X = M.samples()
    if issparse(X) or X.size > _LARGEST:
        return None
    low, high, best = 0.0, float(np.linalg.norm(X, axis=0).max()), None
    for _ in range(_FITS if X.size <= _ENTRIES else _FEW_FITS):
        alpha = (low + high) / 2
        model, seconds = fit_timed(TheirSparsePCA(row.r, alpha=alpha, random_state=0), X)
        V = model.components_
        if fits(V, row, M.n):
            high = alpha
            best = (V, seconds) if np.any(V) and (best is None or spanned(M, V) >= spanned(M, best[0])) else best
        else:
            low = alpha
    return (
        None if best is None else Found(spanned(M, best[0]), best[1], int(np.count_nonzero(best[0])), overlap(best[0]))
    )


def spanned(M: Matrix, V: Any) -> float:
    """The variance within the span of components."""
    U, values, _ = np.linalg.svd(V.T, full_matrices=False)
    return M.variance(np.ascontiguousarray(U[:, values > 1e-10 * values[0]].T))


# ---------------------------------------------------------------- thresholded and greedy


def thresholded(M: Matrix, row: Row) -> Any:
    """Principal components with their largest entries only, made orthonormal on these, or else on disjoint ones."""
    k = row.count(M.n)
    V = leading_vectors(M.thin, row.r)
    support = largest(np.abs(V), k * row.r if row.total else [k] * row.r)
    found = restore(V, support.astype(np.float64), (0.0,))
    if found is None or not fits(found[0].T, row, M.n):
        return disjoint(V, support, k * row.r if row.total else None).T
    return found[0].T


def greedy_components(M: Matrix, row: Row) -> Any:
    """Eigenvectors on disjoint supports that grow by one entry at a time."""
    k = row.count(M.n)
    support = greedy(M.C, row.r, k * row.r, None if row.total else [k] * row.r)
    return np.stack([leading_on(M, np.flatnonzero(support[:, j]))[1] for j in range(row.r)])


# ---------------------------------------------------------------- truncated power with deflation


def truncated_power(M: Matrix, row: Row) -> Any:
    """One component after the other, on features that no earlier one has, by truncated power steps and exchanges.

    Yuan and Zhang, "Truncated power method for sparse eigenvalue problems", JMLR 14, 2013. With a total, every
    component gets as many entries, and entries then move from one to another while that gains variance. The best of
    several starts, random ones after the first.
    """
    rng = np.random.default_rng(0)
    found = [deflate(M, row, None if i == 0 else rng) for i in range(_STARTS if M.n <= FORMED else _FEW_STARTS)]
    return max(found, key=M.variance)


def deflate(M: Matrix, row: Row, rng: np.random.Generator | None) -> Any:
    """All components from one start."""
    k, free, supports = row.count(M.n), np.ones(M.n, dtype=bool), []
    for j in range(row.r):
        most = min(k, int(np.count_nonzero(free)) - (row.r - 1 - j))  # the last ones need a feature too
        supports.append(one_support(M, free, most, row.r, rng))
        free[supports[-1]] = False
    if row.total and M.C is not None:
        supports = share_out(M, supports)
    return np.stack([leading_on(M, support)[1] for support in supports])


def one_support(M: Matrix, free: Any, k: int, r: int, rng: np.random.Generator | None) -> Any:
    """k free features with a large first eigenvalue.

    From the first eigenvector and from the largest variances, or from a random combination of eigenvectors.
    """
    inside = np.flatnonzero(free)
    part = M.thin.restrict(inside)
    V = leading_vectors(part, 1 if rng is None else min(r, part.n))
    starts = (V[:, 0], part.diagonal) if rng is None else (V @ rng.standard_normal(V.shape[1]),)
    found = []
    for sizes in starts:
        support = np.sort(np.argsort(-np.abs(sizes), kind="stable")[:k])
        for _ in range(_STEPS):
            x = np.zeros((part.n, 1))
            x[support, 0] = leading_block(part.restrict(support).dense())[1]
            after = np.sort(np.argsort(-np.abs(part.product(x)[:, 0]), kind="stable")[:k])
            if np.array_equal(after, support):
                break
            support = after
        support = exchange_one(part.dense(), support) if M.n <= FORMED else support
        found.append((leading_block(part.restrict(support).dense())[0], support))
    return inside[max(found, key=lambda one: one[0])[1]]


def exchange_one(C: Any, support: Any) -> Any:
    """Exchange a feature for one outside, the pair that gains most, while the eigenvalue grows."""
    value = leading_block(C[np.ix_(support, support)])[0]
    for _ in range(100):
        outside = np.setdiff1d(np.arange(len(C)), support)
        tried = []
        for out in support if len(outside) else ():
            kept = support[support != out]
            values = with_each(C, kept, outside)
            tried.append((float(values.max()), kept, outside[int(values.argmax())]))
        if not tried or max(one[0] for one in tried) <= value * (1 + 1e-12):
            break
        value, kept, more = max(tried, key=lambda one: one[0])
        support = np.append(kept, more)
    return support


def share_out(M: Matrix, supports: list[Any]) -> list[Any]:
    """Take the entry that costs least from a component and give another the feature that gains most, while it pays."""
    C, supports = M.C, list(supports)
    for _ in range(sum(map(len, supports))):
        value = [leading_block(C[np.ix_(S, S)])[0] for S in supports]
        losses = [(value[j] - leading_block(C[np.ix_(K, K)])[0], j, i) for j, i, K in shorter(supports)]
        free = np.setdiff1d(np.arange(M.n), np.concatenate(supports))
        if not losses or not len(free):
            break
        gains = [(with_each(C, S, free), j) for j, S in enumerate(supports)]
        loss, source, i = min(losses)
        gain, target, more = max((float(g.max()) - value[j], j, int(free[g.argmax()])) for g, j in gains if j != source)
        if gain <= loss * (1 + 1e-9):
            break
        supports[source] = np.delete(supports[source], i)
        supports[target] = np.append(supports[target], more)
    return supports


def shorter(supports: list[Any]) -> list[tuple[int, int, Any]]:
    """Every support with one entry less: which, which entry, what is left."""
    return [(j, i, np.delete(S, i)) for j, S in enumerate(supports) if len(S) > 1 for i in range(len(S))]


def with_each(C: Any, kept: Any, outside: Any) -> Any:
    """The first eigenvalue of C on kept features and each of the others."""
    s = len(kept)
    blocks = np.empty((len(outside), s + 1, s + 1))
    blocks[:, :s, :s] = C[np.ix_(kept, kept)]
    blocks[:, :s, s] = blocks[:, s, :s] = C[np.ix_(outside, kept)]
    blocks[:, s, s] = np.diag(C)[outside]
    return np.linalg.eigvalsh(blocks)[:, -1]


def leading_block(block: Any) -> tuple[float, Any]:
    """The first eigenvalue and eigenvector."""
    s = len(block)
    values, vectors = scipy.linalg.eigh(block, subset_by_index=[s - 1, s - 1])
    return float(values[0]), vectors[:, 0]


def leading_on(M: Matrix, support: Any) -> tuple[float, Any]:
    """The same for some features, the eigenvector among all."""
    value, inside = leading_block(M.thin.restrict(support).dense())
    x = np.zeros(M.n)
    x[support] = inside
    return value, x


# ---------------------------------------------------------------- bounds


@dataclass(frozen=True)
class Bounded:
    """What no components can exceed."""

    value: float
    seconds: float
    met: float
    """The variance of components that the search for a bound has met; minus infinity without any."""


def bound(M: Matrix, row: Row, effort: Any) -> Bounded:
    since = time.process_time()
    found = variance_bound(M.for_bound(), row.r, effort=effort, **row.asked(M.n))
    seconds = time.process_time() - since
    return Bounded(found.value, seconds, -math.inf if found.components is None else M.variance(found.components))


def principal(M: Matrix, r: int) -> Bounded | None:
    """What r principal components keep, up to rounding; None for sparse samples, or where the bounds know it."""
    if M.C is not None or issparse(M.X):
        return None
    since = time.process_time()
    X = M.X - M.X.mean(axis=0)
    G = X @ X.T if X.shape[0] < X.shape[1] else X.T @ X
    value = float(np.linalg.eigvalsh(G)[-r:].sum() / (X.shape[0] - 1))
    return Bounded(value, time.process_time() - since, -math.inf)

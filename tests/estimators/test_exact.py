"""Exact zeros, as a user of sparse PCA sees them: as many as asked for, and the best that they allow."""

from __future__ import annotations

import numpy as np
import pytest

from orthoprox import SparsePCA
from orthoprox.active import greedy
from orthoprox.manifolds import SparseStiefel

X = np.random.default_rng(21).standard_normal((40, 9)) * np.linspace(1, 2, 9)
X[:, 2:5] += 2 * np.random.default_rng(22).standard_normal((40, 1))
C = np.cov(X.T)
COUNTS = [{"n_nonzero": k} for k in (3, 4, 6, 12, 20)] + [
    {"n_nonzero_per_component": caps} for caps in ([1, 3, 2], [4, 2, 1], 4)
]


@pytest.mark.parametrize("wish", COUNTS, ids=str)
def test_counts_are_kept_exactly_and_f_is_stationary_on_them(wish):
    fitted = SparsePCA(3, **wish).fit(X)
    V = fitted.components_.T
    assert np.max(np.abs(V.T @ V - np.eye(3))) < 1e-13
    if "n_nonzero" in wish:
        assert np.count_nonzero(V) == wish["n_nonzero"]
    else:  # caps hold in their order, and the components stand in it where others would have more variance
        assert np.all(np.count_nonzero(V, axis=0) == wish["n_nonzero_per_component"])
    assert np.all(np.diff(fitted.explained_variance_) <= 0) or wish == {"n_nonzero_per_component": [1, 3, 2]}
    support = (V != 0).astype(float)
    gradient = SparseStiefel(support).tangent_space(V).project((C @ V) * support)
    assert np.linalg.norm(gradient) < 1e-8 * np.linalg.norm(C @ V)


@pytest.mark.parametrize("wish", COUNTS, ids=str)
def test_a_greedy_support_is_never_better(wish):
    fitted = SparsePCA(3, **wish).fit(X)
    caps = wish.get("n_nonzero_per_component")
    caps = [caps] * 3 if isinstance(caps, int) else caps
    support = greedy(C, 3, wish.get("n_nonzero") or sum(caps), caps)
    reached = sum(np.linalg.eigvalsh(C[np.ix_(on, on)])[-1] for on in support.T)
    assert fitted.explained_variance_.sum() >= reached - 1e-9


def test_with_one_entry_a_component_the_largest_variances_are_kept():
    fitted = SparsePCA(3, n_nonzero=3).fit(X)
    assert np.allclose(fitted.explained_variance_, np.sort(np.diag(C))[:-4:-1])

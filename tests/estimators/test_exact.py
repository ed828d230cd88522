"""Exact zeros, as a user of sparse PCA sees them: as many as asked for, and the best that they allow."""

import numpy as np
import pytest

from orthoprox import SparsePCA
from orthoprox.active import greedy
from orthoprox.manifolds import SparseStiefel

X = np.random.default_rng(21).standard_normal((40, 9)) * np.linspace(1, 2, 9)
X[:, 2:5] += 2 * np.random.default_rng(22).standard_normal((40, 1))
C = np.cov(X.T)
CAPS = [([1, 3, 2], [1, 3, 2]), ([4, 2, 1], [4, 2, 1]), (np.array([3, 3, 2]), [3, 3, 2])]
CAPS += [(4, [4] * 3), (0.4, [3] * 3), (0.01, [1] * 3)]
COUNTS = [({"n_nonzero": k}, None) for k in (3, 4, 6, 12, 20)]
COUNTS += [({"n_nonzero_per_component": given}, caps) for given, caps in CAPS]


@pytest.mark.parametrize(("wish", "caps"), COUNTS, ids=str)
def test_counts_are_kept_exactly_f_is_stationary_on_them_and_a_greedy_support_is_never_better(wish, caps):
    fitted = SparsePCA(3, **wish).fit(X)
    V = fitted.components_.T
    assert np.max(np.abs(V.T @ V - np.eye(3))) < 1e-13
    if caps is None:
        assert np.count_nonzero(V) == wish["n_nonzero"]
    else:  # caps hold in their order, and the components stand in it where others would have more variance
        assert np.all(np.count_nonzero(V, axis=0) == caps)
    assert np.all(np.diff(fitted.explained_variance_) <= 0) or caps == [1, 3, 2]
    support = (V != 0).astype(float)
    gradient = SparseStiefel(support).tangent_space(V).project((C @ V) * support)
    assert np.linalg.norm(gradient) < 1e-8 * np.linalg.norm(C @ V)

    greedily = greedy(C, 3, wish.get("n_nonzero") or sum(caps), caps)
    reached = sum(np.linalg.eigvalsh(C[np.ix_(on, on)])[-1] for on in greedily.T)
    assert fitted.explained_variance_.sum() >= reached - 1e-9


@pytest.mark.parametrize(("total", "caps"), [(5, 4), (6, [1, 4, 4]), (20, [2, 3, 1])], ids=str)
def test_both_counts_hold(total, caps):
    found = SparsePCA(3, n_nonzero=total, n_nonzero_per_component=caps).fit(X).n_nonzero_
    assert np.sum(found) == min(total, np.sum(np.broadcast_to(caps, 3))) and np.all(found <= caps)

"""Laws of convex terms, which are subtracted: the subgradient supports the function from below."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue_terms import CONVEX, SHAPE, label, points, softplus, tanh, tries
from orthoprox import terms
from orthoprox.maps import Difference
from orthoprox.terms import L1, ComposedConvex, ConvexSum, LargestK, SmoothConvex, SpectralNorm
from sentences import check_refusal

laws = pytest.mark.parametrize("g", CONVEX, ids=label)


@laws
@given(X=points(), other=points(), c=st.sampled_from([0.0, 0.3, 1.0, 4.0]))
@tries
def test_subgradient_supports_from_below_and_the_weight_multiplies(g, X, other, c):
    xi = g.subgradient(X)
    assert xi.shape == SHAPE and np.array_equal(xi, g.subgradient(X.copy()))
    for Y in (other, X + 0.1 * other, X - 1e-3 * other):  # from afar and from nearby
        rounding = 1e-12 * (1 + abs(g.value(X)) + abs(g.value(Y)) + np.linalg.norm(xi) * np.linalg.norm(Y - X))
        assert g.value(Y) >= g.value(X) + np.sum(xi * (Y - X)) - rounding
    assert np.isclose((c * g).value(X), c * g.value(X), rtol=1e-12, atol=1e-12)
    assert np.allclose((c * g).subgradient(X), c * xi, rtol=1e-12, atol=1e-12)


@given(X=points(), k=st.integers(1, 12))
@tries
def test_largest_k_adds_the_largest(X, k):
    g = LargestK(np.int64(k), weight=0.7)
    assert g == LargestK(k, weight=0.7) and type(g.k) is int
    largest = np.sort(np.abs(X).ravel())[::-1][:k]
    assert np.isclose(g.value(X), 0.7 * np.sum(largest), rtol=1e-12, atol=0)
    assert np.count_nonzero(g.subgradient(X)) == min(k, np.count_nonzero(X))
    assert np.isclose(np.sum(g.subgradient(X) * X), g.value(X), rtol=1e-12, atol=0)
    # more than all entries: the l1 norm; among equals the first count
    assert np.isclose(LargestK(99).value(X), L1().value(X), rtol=1e-12, atol=0)
    assert np.array_equal(LargestK(99).subgradient(X), L1().subgradient(X))
    equal = np.array([[1.0, -1.0], [1.0, 1.0]])
    assert np.array_equal(LargestK(2).subgradient(equal), [[1.0, -1.0], [0.0, 0.0]])
    assert np.array_equal(LargestK(3).subgradient(-equal), [[-1.0, 1.0], [-1.0, 0.0]])


@given(X=points())
@tries
def test_norms(X):
    assert np.isclose(terms.FrobeniusNorm(2.0).value(X), 2 * np.linalg.norm(X))
    assert np.isclose(SpectralNorm(2.0).value(X), 2 * np.linalg.norm(X, 2))
    for g in (terms.FrobeniusNorm(2.0), SpectralNorm(2.0)):
        assert np.isclose(np.sum(g.subgradient(X) * X), g.value(X))
        assert np.isclose(np.linalg.norm(g.subgradient(X)), 2.0 if np.any(X) else 0.0)
        assert np.array_equal(g.subgradient(0 * X), 0 * X)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LargestK(0), "positive"),
        (lambda: LargestK(-3), "positive"),
        (lambda: LargestK(True), "positive"),
        (lambda: LargestK(2.5), "whole number"),
        (lambda: SmoothConvex(softplus, tanh, weight=-1.0), "not be negative"),
        (lambda: SmoothConvex(None), "function of X"),
        (lambda: SmoothConvex(softplus, 1.0), "function of X"),
        (lambda: SmoothConvex(softplus).subgradient(np.ones(SHAPE)), "pair"),
        (lambda: SmoothConvex(softplus, lambda X: X[:1, :]).subgradient(np.ones(SHAPE)), "shape"),
        (lambda: ConvexSum(()), "at least one"),
        (lambda: ConvexSum((terms.MCP(),)), "ConvexTerm"),
        (lambda: ComposedConvex(terms.MCP(), Difference()), "ConvexTerm"),
        (lambda: ComposedConvex(L1(), 2.0), "LinearMap"),
    ],
)
def test_a_refusal_is_a_sentence(make, words):
    assert "given" in check_refusal(make, words)

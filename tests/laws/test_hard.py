"""Counts and constraints: what is peculiar to terms that are not Lipschitz."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue_terms import HARD, SHAPE, C, label, points, tries
from orthoprox.terms import L0, Nonnegative, Shifted, envelope, envelope_gradient, envelope_prox

Y = np.array([[3.0, -0.5, 0.0], [0.0, 2.0, -0.0]])


def test_constants_and_values():
    assert L0().weak_convexity == L0().lipschitz_constant(SHAPE) == math.inf
    assert Nonnegative().weak_convexity == 0.0
    assert (0.0 * L0()).weak_convexity == (0.0 * Nonnegative()).lipschitz_constant(SHAPE) == 0.0
    for h in HARD:
        assert h.lipschitz_constant(SHAPE) == math.inf
    assert L0(0.5).value(Y) == 1.5
    assert L0().value(np.full(SHAPE, 1e-300)) == 8.0  # only exact zeros are zeros
    assert Nonnegative(7.0).value(np.abs(Y)) == 0.0
    for bad in (Y, np.array([[1.0, -1e-300]]), np.array([[1.0, np.nan]])):
        assert Nonnegative().value(bad) == math.inf
    # a tie of the hard threshold is zero
    edge = np.array([[3.0, -3.0, 3.0 + 1e-12, -3.1]])
    assert np.array_equal(L0(2.0).prox(edge, 2.25), [[0.0, 0.0, 3.0 + 1e-12, -3.1]])


def test_subdifferentials():
    low, high = L0(0.3).subdifferential(Y)
    assert np.array_equal(high, np.where(Y == 0, math.inf, 0.0)) and np.array_equal(low, -high)
    low, high = Nonnegative().subdifferential(np.abs(Y))
    assert np.array_equal(low, np.where(Y == 0, -math.inf, 0.0)) and np.array_equal(high, 0 * Y)
    for h in (L0(0.0), Nonnegative(0.0)):
        assert not np.any(h.subdifferential(Y))


@pytest.mark.parametrize("h", HARD, ids=label)
@given(y=points(), z=points())
@tries
def test_distances(h, y, z):
    z0 = h.subgradient(y)
    assert np.array_equal(z0, 0 * y)
    assert not math.isnan(h.subgradient_distance(y, z))
    if math.isfinite(h.value(y)):
        assert h.subgradient_distance(y, z0) == 0.0
    else:
        assert h.subgradient_distance(y, z) == math.inf
    assert np.isclose(L0().subgradient_distance(y, z), np.linalg.norm(z[y != 0]))
    y = np.abs(y)
    assert np.isclose(Nonnegative().subgradient_distance(y, z), np.linalg.norm(np.where(y > 0, z, np.maximum(z, 0))))


@given(y=points(scales=(1.0, 1e-2)), D=points(scales=(1.0, 1e-2, 1e-4)), mu=st.floats(0.05, 3.0))
@tries
def test_the_envelope_of_a_constraint_is_half_the_squared_distance(y, D, mu):
    for h, by in ((Nonnegative(), 0.0), (Shifted(Nonnegative(), C), C)):
        assert np.isclose(envelope(h, y, mu), np.sum(np.minimum(y - by, 0) ** 2) / (2 * mu))
        G = envelope_gradient(h, y, mu)
        change = envelope(h, y + D, mu) - envelope(h, y, mu) - np.sum(G * D)
        assert -1e-10 <= change * mu <= np.sum(D * D) / 2 + 1e-10


@given(b=points(scales=(1.0,)), mu=st.floats(0.05, 1.0), beta=st.floats(1.0, 10.0))
@tries
def test_the_envelope_prox_of_a_constraint(b, mu, beta):
    y, y_breve = envelope_prox(Nonnegative(), b, mu, beta)
    assert np.array_equal(y_breve, np.maximum(b, 0))
    cost = lambda v: np.sum(np.minimum(v, 0) ** 2) / (2 * mu) + beta / 2 * np.sum((v - b) ** 2)
    for other in (b, y_breve, y + 0.01, y - 0.01, 0 * b):
        assert cost(y) <= cost(other) + 1e-12

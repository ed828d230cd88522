"""Laws of the Moreau envelope: Lemmas 2.2 to 2.5, on every proximable term."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue_terms import HARD, PROXIMABLE, SHAPE, label, points, size, tries
from orthoprox.terms import envelope, envelope_gradient, envelope_prox

laws = pytest.mark.parametrize("h", PROXIMABLE, ids=label)
wide_laws = pytest.mark.parametrize("h", [*PROXIMABLE, *HARD], ids=label)
"""Laws that hold without constants, so for counts and constraints too."""
fractions = st.floats(0.01, 0.99)


def step(h, fraction, most):
    """A smoothing below ``most / W_h``, or below 3 when h is convex or not even weakly so."""
    W = h.weak_convexity
    return fraction * (most / W if 0 < W < math.inf else 3.0)


@wide_laws
@given(y=points(), v=points(), fraction=fractions)
@tries
def test_envelope_is_below_every_cost(h, y, v, fraction):
    mu = step(h, fraction, 1.0)
    e = envelope(h, y, mu)
    rounding = 1e-12 * (1 + abs(e) + h.value(v))
    assert e <= h.value(y) + rounding
    assert e <= h.value(v) + size(v - y) ** 2 / (2 * mu) + rounding
    p = h.prox(y, mu)
    assert np.isclose(e, h.value(p) + size(p - y) ** 2 / (2 * mu), rtol=1e-12, atol=1e-15)


@laws
@given(y=points(scales=(1.0, 1e-2)), D=points(scales=(1.0, 1e-2, 1e-4, 1e-6)), fraction=st.floats(0.05, 0.95))
@tries
def test_gradient_of_the_envelope(h, y, D, fraction):
    # Lemma 2.2: differentiable with a Lipschitz gradient, so the linear model errs by at most L/2 |D|^2.
    W = h.weak_convexity
    mu = step(h, fraction, 1.0)
    L = max(1 / mu, W / (1 - mu * W))
    G = envelope_gradient(h, y, mu)
    error = envelope(h, y + D, mu) - envelope(h, y, mu) - np.sum(G * D)
    rounding = 1e-14 * (10 + size(y) ** 2 / mu + abs(h.value(y)))
    assert abs(error) <= L / 2 * size(D) ** 2 * (1 + 1e-6) + rounding
    assert size(envelope_gradient(h, y + D, mu) - G) <= L * size(D) * (1 + 1e-6) + 1e-12 * (1 + size(y)) * L


@laws
@given(y=points(), first=fractions, second=fractions)
@tries
def test_envelope_and_its_gradient_are_continuous_in_mu(h, y, first, second):
    C_h = h.lipschitz_constant(SHAPE)
    mu2, mu1 = sorted((step(h, first, 1.0), step(h, second, 1.0)))  # Lemma 2.3
    gap = envelope(h, y, mu2) - envelope(h, y, mu1)
    rounding = 1e-12 * (1 + abs(h.value(y)))
    assert -rounding <= gap <= (mu1 - mu2) / 2 * C_h**2 + rounding  # half of what is printed
    mu2, mu1 = sorted((step(h, first, 0.5), step(h, second, 1.0)))  # Lemma 2.4: only mu2 need be at most 1/(2 W)
    s1, s2 = envelope_gradient(h, y, mu1), envelope_gradient(h, y, mu2)
    rounding = 1e-12 * (1 + size(y)) / mu2
    if mu2 * h.weak_convexity <= 0.5:
        assert size(s1 - s2) <= (mu1 / mu2 - 1) * size(s1) * (1 + 1e-9) + rounding
    q, a = mu2 * s2 - mu1 * s1, (mu1 - mu2) * s1  # what its proof rests on
    assert np.sum(a * q) <= -(1 - h.weak_convexity * mu2) * size(q) ** 2 + rounding * mu2 * (size(a) + size(q))


@laws
@given(b=points(), rival=points(), direction=points(scales=(1.0,)), fraction=fractions, share=st.floats(0.05, 0.9))
@tries
def test_prox_of_the_envelope(h, b, rival, direction, fraction, share):  # Lemma 2.5, for all mu + 1/beta < 1/W_h
    total = step(h, fraction, 0.98)
    mu = share * total
    beta = 1 / (total - mu)
    y, y_breve = envelope_prox(h, b, mu, beta)
    C = h.lipschitz_constant(SHAPE)
    # (a) y is the minimiser, and y_breve is the point its envelope uses
    cost = lambda v: envelope(h, v, mu) + beta / 2 * size(v - b) ** 2
    rounding = 1e-10 * (1 + abs(cost(y)))
    for other in (rival, b, y_breve, *(y + s * direction for s in (0.1, 1e-2, -1e-3))):
        assert cost(y) <= cost(other) + rounding
    scale = 1e-10 * (1 + size(b))
    assert np.allclose(h.prox(y, mu), y_breve, rtol=0, atol=scale / (1 - min(mu * h.weak_convexity, 0.5)))
    # the derivative vanishes there
    assert np.allclose(envelope_gradient(h, y, mu), beta * (b - y), rtol=0, atol=scale * (1 + beta + 1 / mu))
    # (b)
    assert h.subgradient_distance(y_breve, beta * (b - y)) <= scale * (1 + beta + 1 / mu)
    # (c)
    assert size(y - y_breve) <= mu * C * (1 + 1e-9) + scale


@wide_laws
@given(b=points(), beta=st.floats(0.5, 50.0))
@tries
def test_without_smoothing_it_is_the_prox(h, b, beta):
    y, y_breve = envelope_prox(h, b, 0.0, beta)
    assert np.array_equal(y, y_breve)
    assert np.array_equal(y_breve, h.prox(b, 1 / beta))
    tiny, _ = envelope_prox(h, b, 1e-13, beta * (1 + 1e-12))
    if beta > h.weak_convexity * 1.01:  # there the prox is continuous
        assert np.allclose(tiny, y, rtol=1e-6, atol=1e-6)

"""Laws of the derivative of the prox: differences, symmetry, and who knows it."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from catalogue_terms import HARD, PROXIMABLE, SHAPE, C, label, points, tries
from orthoprox.terms import L1, EntrywiseTerm, GroupL2, LInf, SeparableSum, Shifted

TERMS = [*PROXIMABLE, *HARD]
KNOWN = [h for h in TERMS if h.has_prox_derivative]
laws = pytest.mark.parametrize("h", KNOWN, ids=label)


def smoothing(h, fraction):
    W = h.weak_convexity
    return fraction * (1 / W if 0 < W < np.inf else 2.0)


def test_who_knows_the_derivative():
    simple = [h for h in TERMS if isinstance(h, (EntrywiseTerm, GroupL2))]
    assert {type(h) for h in KNOWN} == {*(type(h) for h in simple), SeparableSum, Shifted}
    for h in TERMS:
        assert (h.prox_derivative(np.ones(SHAPE), 0.1) is not None) == h.has_prox_derivative
    for partly in (Shifted(LInf(), C), SeparableSum((L1(), LInf()), (3, 1))):
        assert not partly.has_prox_derivative and partly.prox_derivative(C, 0.1) is None


@laws
@given(seed=st.integers(0, 2**32 - 1), fraction=st.floats(0.05, 0.9))
@tries
def test_it_is_the_derivative_away_from_kinks(h, seed, fraction):
    rng, mu = np.random.default_rng(seed), smoothing(h, fraction)
    y, D = rng.uniform(-4, 4, SHAPE), rng.standard_normal(SHAPE)
    step = 1e-6
    here = h.prox(y, mu)
    forward, backward = (h.prox(y + step * D, mu) - here) / step, (here - h.prox(y - step * D, mu)) / step
    assume(np.allclose(forward, backward, atol=1e-3))
    assert np.allclose(h.prox_derivative(y, mu)(D), (forward + backward) / 2, atol=1e-5)


@laws
@given(y=points(), D=points(scales=(1.0,)), E=points(scales=(1.0,)), fraction=st.floats(0.05, 0.9))
@tries
def test_it_is_linear_and_symmetric_and_finite_at_kinks_too(h, y, D, E, fraction):
    J = h.prox_derivative(y, smoothing(h, fraction))
    assert np.all(np.isfinite(J(D)))
    assert np.allclose(J(D - 2 * E), J(D) - 2 * J(E), atol=1e-9)
    assert np.sum(J(D) * E) == pytest.approx(np.sum(D * J(E)), rel=1e-9, abs=1e-9)
    if h.weak_convexity == 0:  # between 0 and I
        assert -1e-9 <= np.sum(J(D) * D) <= np.sum(D * D) * (1 + 1e-9)

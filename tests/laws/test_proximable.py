"""Laws of proximable terms: prox and its derivative, subdifferential, constants, slopes, scaling."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from catalogue_terms import (
    CONVEX,
    ENTRYWISE,
    HARD,
    HARD_ENTRYWISE,
    PROXIMABLE,
    SHAPE,
    SMOOTH,
    C,
    label,
    points,
    size,
    tries,
)
from orthoprox import terms
from orthoprox._fields import replace
from orthoprox.terms import L1, MCP, SCAD, ColumnRange, GroupL2, Huber, Nuclear, SeparableSum, Shifted, WeightedL1
from sentences import check_refusal

laws = pytest.mark.parametrize("h", PROXIMABLE, ids=label)
entrywise_laws = pytest.mark.parametrize("h", ENTRYWISE, ids=label)
TERMS = [*PROXIMABLE, *HARD]
KNOWN = [h for h in TERMS if h.has_prox_derivative]
wide_laws = pytest.mark.parametrize("h", TERMS, ids=label)
smooth_laws = pytest.mark.parametrize("h", KNOWN, ids=label)
"""Laws that hold without constants, so for counts and constraints too."""
WIDE_ENTRYWISE = [*ENTRYWISE, *HARD_ENTRYWISE]
below = st.floats(0.01, 0.95)
below_and_above = st.one_of(below, st.sampled_from([1.0, 1.0001, 1.5, 2.0, 3.5, 40.0]), st.floats(1.0, 30.0))
sides = st.sampled_from([1e-1, 1e-2, 1e-4, -1e-1, -1e-2, -1e-4])


def step(h, fraction):
    """The mu that is this fraction of 1 / W_h, or of 2 when h is convex or not even weakly so."""
    W = h.weak_convexity
    return fraction * (1 / W if 0 < W < math.inf else 2.0)


@pytest.mark.parametrize(
    ("base", "tried"),
    [
        (terms.ProximableTerm, TERMS),
        (terms.EntrywiseTerm, WIDE_ENTRYWISE),
        (terms.ConvexTerm, CONVEX),
        (terms.SmoothTerm, SMOOTH),
    ],
)
def test_every_term_is_in_the_catalogue(base, tried):
    public = {getattr(terms, name) for name in terms.__all__}
    kinds = {c for c in public if isinstance(c, type) and issubclass(c, base) and not c.__abstractmethods__}
    assert kinds == {type(term) for term in tried}


@wide_laws
@given(y=points(), other=points(), direction=points(scales=(1.0,)), s=sides, fraction=below_and_above)
@tries
def test_prox_is_the_minimiser_and_solves_the_optimality_condition(h, y, other, direction, s, fraction):
    mu = step(h, fraction)
    p = h.prox(y, mu)
    assert p.shape == SHAPE and np.all(np.isfinite(p))
    cost = lambda v: h.value(v) + size(v - y) ** 2 / (2 * mu)
    # An entry that is zero is a rival too: there the weakly convex terms have a second valley.
    rivals = [other, y, 0 * y, p + s * direction, p + 1e-3 * s * direction, np.where(direction > 0, p, 0.0)]
    rivals += [np.where(direction > 0, p, y)]
    for v in rivals:
        assert cost(p) <= cost(v) + 1e-12 * (1 + cost(v))
    assert h.subgradient_distance(p, (y - p) / mu) <= 1e-9 * (1 + size(y)) * (1 + 1 / mu)
    assert np.allclose(h.prox(y, np.asarray(mu)), p, rtol=1e-12, atol=1e-12)  # mu may be an array without dimensions
    again, there = h.prox_and_value(y, mu)
    assert np.allclose(again, p, rtol=1e-14, atol=1e-14) and abs(there - h.value(p)) <= 1e-13 * (1 + h.value(y))


GRID = np.arange(-7.0, 7.0, 1 / 128)


@cache
def values_on_grid(place):
    """Of the entry in a column, for all weights above: entry by entry, h is a function of one number."""
    h, row, column = WIDE_ENTRYWISE[place[0]], place[1], place[2]
    result = np.empty(len(GRID))
    for i, v in enumerate(GRID):
        E = np.zeros(SHAPE)
        E[row, column] = v
        result[i] = h.value(E)
    return result


@pytest.mark.parametrize("number", range(len(WIDE_ENTRYWISE)), ids=[label(h) for h in WIDE_ENTRYWISE])
@given(y=points(scales=(1.0,)), fraction=below_and_above)
@tries
def test_prox_agrees_with_a_grid_search(number, y, fraction):
    h = WIDE_ENTRYWISE[number]
    mu = step(h, fraction)
    p = h.prox(y, mu)
    for row, column in ((0, 0), (1, 1), (3, 1)):
        costs = values_on_grid((number, row, column)) + (GRID - y[row, column]) ** 2 / (2 * mu)
        E = np.zeros(SHAPE)
        E[row, column] = p[row, column]
        cost = h.value(E) + (p[row, column] - y[row, column]) ** 2 / (2 * mu)
        assert cost <= np.min(costs) + 1e-12
        # and where the best valley is the only good one, the grid point in it is near
        good = GRID[costs <= np.min(costs) + 1e-3 / mu]
        assert good.min() - 0.1 <= p[row, column] <= good.max() + 0.1


def test_a_penalty_that_hardly_bends_is_the_l1_norm_to_the_last_digits():
    y = np.array([[0.7, -2.1], [0.3, 1.1]])
    wanted = L1().prox(y, 0.5)
    assert np.allclose(terms.LogSum(eps=1e12, weight=1e12).prox(y, 0.5), wanted, rtol=1e-11, atol=0)
    assert np.allclose(MCP(lam=1.0, gamma=1e12).prox(y, 0.5), wanted, rtol=1e-11, atol=0)
    assert np.allclose(Huber(delta=1e-12).prox(y, 0.5), wanted, rtol=1e-11, atol=1e-11)


@laws
@given(y=points(), v=points())
@tries
def test_constants_hold_and_subgradients_support_from_below(h, y, v):
    z, W, C_h = h.subgradient(y), h.weak_convexity, h.lipschitz_constant(SHAPE)
    for u in (v, y + 0.1 * v, y - 1e-3 * v):  # from afar and from nearby
        rounding = 1e-12 * (1 + h.value(y) + h.value(u) + size(z) * size(u - y))
        assert h.value(u) >= h.value(y) + np.sum(z * (u - y)) - W / 2 * size(u - y) ** 2 - rounding
    assert np.array_equal(z, h.subgradient(y.copy()))
    assert h.subgradient_distance(y, z) <= 1e-11 * (1 + size(y))
    rounding = 1e-12 * (1 + h.value(y) + h.value(v))
    assert abs(h.value(y) - h.value(v)) <= C_h * size(y - v) * (1 + 1e-12) + rounding
    middle = h.value((y + v) / 2)
    assert middle <= (h.value(y) + h.value(v)) / 2 + W / 8 * size(y - v) ** 2 + rounding
    assert size(h.prox(y, 1e-12) - y) <= 1e-12 * C_h * (1 + 1e-6) + 1e-13 * size(y)
    if size(v) > 0.5:  # a z longer than the Lipschitz constant is no subgradient
        assert h.subgradient_distance(y, v * (C_h + 1) / size(v)) >= 1e-2


multiples = points(scales=(1.0,)).map(lambda y: np.round(16 * y) / 16)


@entrywise_laws
@given(y=multiples, outside=st.floats(0.0, 2.0), inside=st.floats(0.0, 1.0))
@tries
def test_the_subdifferential_is_between_the_one_sided_slopes(h, y, outside, inside):
    low, high = h.subdifferential(y)
    t = 1e-6
    for place in np.ndindex(*SHAPE):
        E = np.zeros(SHAPE)
        E[place] = t
        left, right = (h.value(y) - h.value(y - E)) / t, (h.value(y + E) - h.value(y)) / t
        assert math.isclose(low[place], left, abs_tol=1e-4) and math.isclose(high[place], right, abs_tol=1e-4)
    # and distances are to that interval
    within = low + inside * (high - low)
    assert h.subgradient_distance(y, within) <= 1e-14
    expected = outside * math.sqrt(y.size)
    assert np.isclose(h.subgradient_distance(y, low - outside), expected, atol=1e-12)
    assert np.isclose(h.subgradient_distance(y, high + outside), expected, atol=1e-12)
    z = within.copy()
    z[0, 0] = high[0, 0] + outside
    assert np.isclose(h.subgradient_distance(y, z), outside, atol=1e-12)


@given(y=points(), z=points(), by=st.sampled_from(["rows", "columns"]))
@tries
def test_distance_of_groups(y, z, by):
    w, squares = 0.9, 0.0
    for a, b in zip(*((y, z) if by == "rows" else (y.T, z.T)), strict=True):
        squares += max(size(b) - w, 0) ** 2 if not np.any(a) else size(b - w * a / size(a)) ** 2
    assert np.isclose(GroupL2(by, weight=w).subgradient_distance(y, z), math.sqrt(squares), atol=1e-12)


def test_subgradient_of_the_nuclear_norm_is_the_shortest():
    y = np.array([[3.0, 4.0], [0.0, 0.0], [6.0, 8.0]])
    assert np.allclose(Nuclear(0.7).subgradient(y), 0.7 * y / size(y))
    assert np.array_equal(Nuclear(0.7).subgradient(np.zeros(SHAPE)), np.zeros(SHAPE))


def test_distance_of_parts_and_of_a_shift(rng):
    y, z = rng.standard_normal(SHAPE), rng.standard_normal(SHAPE)
    h = SeparableSum((L1(), GroupL2()), rows=(1, 3), weight=2.0)
    parts = L1(2.0).subgradient_distance(y[:1], z[:1]), GroupL2(weight=2.0).subgradient_distance(y[1:], z[1:])
    assert np.isclose(h.subgradient_distance(y, z), math.hypot(*parts))
    assert np.isclose(Shifted(L1(), C, 2.0).subgradient_distance(y, z), L1(2.0).subgradient_distance(y - C, z))


@pytest.mark.parametrize("h", [h for h in ENTRYWISE if h.weak_convexity > 0], ids=label)
def test_weak_convexity_is_not_larger_than_it_need_be(h):
    a = h.lam * h.a / 2 + h.lam / 2 if isinstance(h, SCAD) else 1e-3
    curve = lambda v: float(h.value(np.array([[v]])))
    t = 1e-4
    assert np.isclose((2 * curve(a) - curve(a + t) - curve(a - t)) / t**2, h.weak_convexity, rtol=2e-2)


def test_lipschitz_constants_are_reached():
    ones, one = np.ones(SHAPE), np.eye(*SHAPE)
    for h, y in (
        (L1(0.7), ones),
        (WeightedL1(np.full((1, 2), 2.0), 0.3), ones),
        (GroupL2("rows", 0.7), ones),
        (GroupL2("columns", 0.7), ones),
        (MCP(2.0, 3.0, 0.7), 1e-7 * ones),
        (SCAD(2.0, 3.7, 0.7), 1e-7 * ones),
        (terms.LogSum(0.5, 0.7), 1e-7 * ones),
        (Huber(1.0, 0.7), 1e7 * ones),
        (terms.NegativePart(0.7), -ones),
        (Nuclear(0.7), one),
        (terms.LInf(0.7), one * [1.0, 0.0]),
        (ColumnRange(2, 1.5), ColumnRange(2).subgradient(np.arange(8.0).reshape(SHAPE))),
        (SeparableSum((terms.LInf(3.0), L1(2.0)), (2, 2), 2.0), np.array([[3.0, 0], [0, 0], [2, 2], [2, 2]])),
    ):
        assert np.isclose(h.value(y) / size(y), h.lipschitz_constant(SHAPE), rtol=1e-5)
    assert terms.Zero().lipschitz_constant(SHAPE) == 0.0
    assert SeparableSum((MCP(1.0, 2.0), MCP(1.0, 5.0)), rows=(1, 3), weight=4.0).weak_convexity == 2.0


@pytest.mark.parametrize("h", WIDE_ENTRYWISE, ids=label)
@given(y=points(scales=(1.0,)), fraction=st.one_of(below, st.sampled_from([1.5, 3.0, 10.0])))
@tries
def test_prox_slope_agrees_with_differences(h, y, fraction):
    mu, t = step(h, fraction), 1e-7
    left, right = (h.prox(y, mu) - h.prox(y - t, mu)) / t, (h.prox(y + t, mu) - h.prox(y, mu)) / t
    slope = h.prox_slope(y, mu)
    # Where it jumps there is no slope; where it bends, one of the two sides or a number between will do.
    smooth = (np.abs(left) < 1e3) & (np.abs(right) < 1e3)
    tolerance = 1e-3 * (1 + np.abs(slope)) ** 3
    assert np.all((slope >= np.minimum(left, right) - tolerance) | ~smooth)
    assert np.all((slope <= np.maximum(left, right) + tolerance) | ~smooth)


@wide_laws
@given(y=points(), c=st.sampled_from([0.3, 1.0, 4.0]), fraction=below)
@tries
def test_the_weight_multiplies_everything(h, y, c, fraction):
    k, mu = c * h, step(h, fraction)
    close = lambda a, b: np.allclose(a, b, rtol=1e-9, atol=1e-9 * (1 + size(y)))
    assert close(k.value(y), c * h.value(y))
    assert close(k.subgradient(y), c * h.subgradient(y))
    assert close(k.weak_convexity, c * h.weak_convexity)
    assert close(k.lipschitz_constant(SHAPE), c * h.lipschitz_constant(SHAPE))
    assert close(k.prox(y, mu / c), h.prox(y, mu))
    none = 0.0 * h
    assert none.value(y) == 0 and none.weak_convexity == 0 and none.lipschitz_constant(SHAPE) == 0
    assert none.subgradient_distance(y, 0 * y) <= 1e-10 * (1 + size(y))
    for mu in (1e-3, 1.0, 1e3):
        assert np.allclose(none.prox(y, mu), y, rtol=1e-12, atol=1e-12 * size(y))
        assert not isinstance(none, terms.EntrywiseTerm) or np.allclose(none.prox_slope(y, mu), 1.0)


ANY = [term for term in (*PROXIMABLE, *HARD, *CONVEX, *SMOOTH) if not hasattr(term, "function")]


@pytest.mark.parametrize("term", ANY, ids=label)
def test_every_weight_is_a_finite_number_and_only_smooth_terms_may_be_negative(term):
    for weight, words in ((np.nan, "finite"), (np.inf, "finite"), ("heavy", "number"), (-1.0, "not be negative")):
        if weight == -1.0 and isinstance(term, terms.SmoothTerm):
            assert replace(term, weight=weight).weight == -1.0
            continue
        with pytest.raises((ValueError, TypeError), match=words):
            replace(term, weight=weight)


def test_a_refused_shape_or_setting_is_a_sentence():
    wide = np.ones((4, 5))
    for make, words in [
        (lambda: GroupL2("blocks"), "rows"),
        (lambda: Huber(0.0), "greater than 0"),
        (lambda: Huber(np.nan), "finite"),
        (lambda: MCP(lam=0.0), "greater than 0"),
        (lambda: MCP(gamma=-1.0), "greater than 0"),
        (lambda: MCP(gamma="a"), "number"),
        (lambda: ColumnRange(0), "positive"),
        (lambda: ColumnRange(True), "positive"),
        (lambda: ColumnRange(1.5), "whole number"),
        (lambda: ColumnRange(3).value(np.ones((5, 2))), "half the number of rows; given 3 and 5"),
        (lambda: ColumnRange(3).prox(np.ones((5, 2)), 1.0), "half the number of rows"),
        (lambda: ColumnRange(3).subgradient(np.ones((5, 2))), "half the number of rows"),
        (lambda: SCAD(a=1.0), "greater than 1"),
        (lambda: SCAD(lam=-1.0), "greater than 0"),
        (lambda: terms.LogSum(eps=0.0), "greater than 0"),
        (lambda: WeightedL1([1.0, 2.0]), "array"),
        (lambda: WeightedL1(np.array([1, 2])), "floating"),
        (lambda: WeightedL1(np.array([1.0, -2.0])), "not negative"),
        (lambda: WeightedL1(np.array([1.0, np.nan])), "finite"),
        (lambda: WeightedL1(np.zeros((0, 2))), "empty"),
        (lambda: WeightedL1(np.ones((2, 2))).prox(wide, 1.0), "does not extend"),
        (lambda: WeightedL1(np.ones(2)).value(wide), "does not extend"),
        (lambda: Shifted(L1(), C).prox(wide, 1.0), "does not extend"),
        (lambda: Shifted(L1(), [1.0]), "array"),
        (lambda: Shifted(terms.FrobeniusNorm(), C), "prox"),
        (lambda: SeparableSum((L1(), L1()), rows=(3,)), "each of its 2 parts"),
        (lambda: SeparableSum((L1(), L1()), rows=(3, 0)), "positive"),
        (lambda: SeparableSum((terms.FrobeniusNorm(),), rows=(3,)), "ProximableTerm"),
        (lambda: SeparableSum((L1(), L1()), rows=(3, 3)).prox(wide, 1.0), "6 rows"),
    ]:
        check_refusal(make, words)


def test_parameters_in_double_precision_do_not_lift_a_single_precision_y(rng):
    y = rng.standard_normal((4, 3)).astype(np.float32)
    for h in (WeightedL1(rng.random((4, 3))), Shifted(L1(), rng.standard_normal((4, 3)))):
        assert h.prox(y, 0.5).dtype == h.subgradient(y).dtype == np.float32
        assert np.float32(h.value(y)) == pytest.approx(h.value(y.astype(float)), rel=1e-5)


def test_who_knows_the_derivative():
    simple = [h for h in TERMS if isinstance(h, (terms.EntrywiseTerm, GroupL2))]
    assert {type(h) for h in KNOWN} == {*(type(h) for h in simple), SeparableSum, Shifted}
    for h in TERMS:
        assert (h.prox_derivative(np.ones(SHAPE), 0.1) is not None) == h.has_prox_derivative
    for partly in (Shifted(terms.LInf(), C), SeparableSum((L1(), terms.LInf()), (3, 1))):
        assert not partly.has_prox_derivative and partly.prox_derivative(C, 0.1) is None


@smooth_laws
@given(seed=st.integers(0, 2**32 - 1), fraction=st.floats(0.05, 0.9))
@tries
def test_it_is_the_derivative_away_from_kinks(h, seed, fraction):
    rng, mu = np.random.default_rng(seed), step(h, fraction)
    y, D = rng.uniform(-4, 4, SHAPE), rng.standard_normal(SHAPE)
    t = 1e-6
    here = h.prox(y, mu)
    forward, backward = (h.prox(y + t * D, mu) - here) / t, (here - h.prox(y - t * D, mu)) / t
    assume(np.allclose(forward, backward, atol=1e-3))
    assert np.allclose(h.prox_derivative(y, mu)(D), (forward + backward) / 2, atol=1e-5)


@smooth_laws
@given(y=points(), D=points(scales=(1.0,)), E=points(scales=(1.0,)), fraction=st.floats(0.05, 0.9))
@tries
def test_it_is_linear_and_symmetric_and_finite_at_kinks_too(h, y, D, E, fraction):
    J = h.prox_derivative(y, step(h, fraction))
    assert np.all(np.isfinite(J(D)))
    assert np.allclose(J(D - 2 * E), J(D) - 2 * J(E), atol=1e-9)
    assert np.sum(J(D) * E) == pytest.approx(np.sum(D * J(E)), rel=1e-9, abs=1e-9)
    if h.weak_convexity == 0:  # between 0 and I
        assert -1e-9 <= np.sum(J(D) * D) <= np.sum(D * D) * (1 + 1e-9)

"""Laws of smooth terms: gradient, product, constants, scaling; and what the bounds and sums are made of."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import aslinearoperator

from catalogue_terms import ROWS, SHAPE, SMOOTH, B, C, Q, Y, inner, label, points, quartic, size, softplus, tanh, tries
from orthoprox import terms
from orthoprox.maps import Difference, Entries, Identity, Matrix
from orthoprox.terms import ExplainedVariance, LeastSquares, Linear, Quadratic, Smooth, Zero, check_gradient, sum_smooth
from orthoprox.terms._differences import products_by_differences
from sentences import check_refusal

laws = pytest.mark.parametrize("f", SMOOTH, ids=label)
factors = st.sampled_from([2.5, 1.0, 0.0, -0.5, -3.0])


def slack(f, *Xs):
    """What rounding may do to a value computed from these points."""
    return 1e-10 * (1 + sum(abs(f.value(X)) + size(X) ** 2 + size(f.gradient(X)) * size(X) for X in Xs))


@laws
@given(X=points(scales=(1.0, 1e-4, 1e2)))
@tries
def test_gradient_agrees_with_differences(f, X):
    t = 1e-4 * max(np.max(np.abs(X)), 1e-2)
    numeric = np.empty(SHAPE)
    for place in np.ndindex(*SHAPE):
        E = np.zeros(SHAPE)
        E[place] = t
        numeric[place] = (f.value(X + E) - f.value(X - E)) / (2 * t)
    tolerance = 1e-6 * (1 + size(f.gradient(X)) + size(X)) + 1e-14 * abs(f.value(X)) / t
    assert np.allclose(f.gradient(X), numeric, rtol=0, atol=tolerance)
    assert f.gradient(X).shape == SHAPE


@laws
@given(X=points(scales=(1.0, 1e-4)), V=points(scales=(1.0,)), W=points(scales=(1.0,)))
@tries
def test_the_hessian_is_the_derivative_of_the_gradient(f, X, V, W):
    value, G = f.value_and_gradient(X)
    assert np.isclose(value, f.value(X), rtol=1e-12, atol=slack(f, X))
    assert np.allclose(G, f.gradient(X), rtol=1e-12, atol=1e-12 * (1 + size(X)))
    product = f.hessian(X)
    assert f.has_hessian
    t = 1e-5
    numeric = (f.gradient(X + t * V) - f.gradient(X - t * V)) / (2 * t)
    scale = 1 + size(numeric) + size(f.gradient(X))
    assert np.allclose(product(V), numeric, rtol=0, atol=(1e-7 if is_exact(f) else 1e-5) * scale)
    if is_exact(f):
        scale = (1 + size(V)) * (1 + size(W))
        assert np.isclose(inner(W, product(V)), inner(V, product(W)), rtol=1e-9, atol=1e-9 * scale)


def is_exact(f):
    """Whether the Hessian products of f are not differences."""
    parts = getattr(f, "parts", None) or ([f.f] if isinstance(f, terms.ComposedSmooth) else None)
    if parts is not None:
        return all(map(is_exact, parts))
    return isinstance(f, (terms.QuadraticTerm, Zero)) or f.second is not None


@pytest.mark.parametrize("f", [f for f in SMOOTH if is_exact(f)], ids=label)
@given(X=points(), V=points(), W=points(), power=st.sampled_from([0, -90, 70]))
@tries
def test_differences_of_the_gradient_agree_with_the_hessian(f, X, V, W, power):
    """In any units, of the function or of V: multiples by powers of two change no digit."""
    assume(size(X) > 0)
    exact, product = f.hessian(X), products_by_differences(f.gradient, X)
    slope = size(f.gradient(X)) / max(size(X), 1e-3) + size(exact(X)) / max(size(X), 1e-3)
    accuracy = 1e-6 * (slope + 3.0)  # e times the third derivative, and rounding over e
    for D in (V, W, 0.0 * V):
        assert size(product(D) - exact(D)) <= accuracy * size(D)
    skew = inner(W, product(V)) - inner(V, product(W))
    assert abs(skew) <= 2 * accuracy * size(V) * size(W)
    unit = 2.0**power
    other = products_by_differences((unit * f).gradient, X)(unit * V)
    assert np.allclose(other / unit / unit, product(V), rtol=1e-12, atol=0)
    there = products_by_differences(lambda Z: f.gradient(Z / unit) / unit, unit * X)  # X in other units
    assert np.allclose(there(V) * unit * unit, product(V), rtol=1e-12, atol=0)


def test_single_precision_takes_longer_differences(rng):
    B32, X, V = (rng.standard_normal(shape).astype(np.float32) for shape in ((40, 6), (6, 2), (6, 2)))
    exact = B32.T @ ((1 - np.tanh(B32 @ X) ** 2) * (B32 @ V))
    in_single = Smooth(softplus, lambda Z: B32.T @ np.tanh(B32 @ Z))
    assert in_single.hessian(X)(V).dtype == np.float32
    # Also where only the gradient is in single precision.
    rounded = Smooth(softplus, lambda Z: B32.T @ np.tanh(B32 @ Z.astype(np.float32)))
    for f, Z, D in ((in_single, X, V), (rounded, X.astype(float), V.astype(float))):
        assert size(f.hessian(Z)(D) - exact) <= 0.02 * size(exact)
    assert not np.any(in_single.hessian(0 * X)(0 * V))


def test_a_product_takes_one_gradient_and_a_point_one_more(rng):
    asked = []
    f = Smooth(softplus, lambda X: asked.append(1) or np.tanh(X))
    product = f.hessian(rng.standard_normal(SHAPE))
    for _ in range(3):
        product(rng.standard_normal(SHAPE))
    assert len(asked) == 4


@laws
@given(X=points(), X_new=points(), a=factors, b=factors)
@tries
def test_what_is_given_the_product_agrees(f, X, X_new, a, b):
    HX, HX_new = f.product(X), f.product(X_new)
    assert np.isclose(f.value_at(X, HX), f.value(X), rtol=1e-9, atol=slack(f, X))
    assert np.allclose(f.gradient_at(X, HX), f.gradient(X), rtol=1e-9, atol=1e-9 * (1 + size(X)))
    difference = f.value(X_new) - f.value(X)
    assert np.isclose(f.change(X, HX, X_new, HX_new), difference, rtol=0, atol=slack(f, X, X_new))
    if isinstance(f, terms.QuadraticTerm):  # the product is linear and symmetric
        scale = 1e-10 * (1 + size(X)) * (1 + size(X_new))
        assert np.allclose(f.product(a * X + b * X_new), a * HX + b * HX_new, rtol=1e-9, atol=scale)
        assert np.isclose(inner(X_new, HX), inner(X, HX_new), rtol=1e-9, atol=scale)


@laws
@given(X=points(), other=points(), turn=points(), c=factors)
@tries
def test_the_laws_of_multiples(f, X, other, turn, c):
    g, r = c * f, SHAPE[1]
    assert np.isclose(g.value(X), c * f.value(X), rtol=1e-10, atol=slack(f, X))
    assert np.allclose(g.gradient(X), c * f.gradient(X), rtol=1e-10, atol=1e-10 * (1 + size(X)))
    if g.rotation_invariant:  # g(XQ) = g(X), and grad g(XQ) = grad g(X) Q, for orthogonal Q
        G, _ = np.linalg.qr(turn[:r] + np.eye(r))
        assert np.isclose(g.value(X @ G), g.value(X), rtol=1e-9, atol=slack(g, X))
        assert np.allclose(g.gradient(X @ G), g.gradient(X) @ G, rtol=1e-9, atol=1e-9 * (1 + size(X)))
    assert (g.lipschitz is None) == (f.lipschitz is None)
    if g.lipschitz is None:
        assert g.upper_curvature is None
        return
    assert np.isclose(g.lipschitz, abs(c) * f.lipschitz)
    assert 0 <= g.upper_curvature <= g.lipschitz
    rounding = 1e-12 * (1 + size(X) + size(other)) * (1 + g.lipschitz)
    assert size(g.gradient(X) - g.gradient(other)) <= g.lipschitz * size(X - other) * (1 + 1e-9) + rounding
    D = other - X
    gap = g.value(other) - g.value(X) - inner(g.gradient(X), D)
    tolerance = slack(g, X, other)
    assert -g.lipschitz / 2 * size(D) ** 2 - tolerance <= gap <= g.upper_curvature / 2 * size(D) ** 2 + tolerance


def test_which_terms_depend_on_the_span_alone():
    some = Entries(np.random.default_rng(2).random(SHAPE) < 0.5)  # a map that tells columns apart
    assert ExplainedVariance(B).rotation_invariant and Quadratic(Q).rotation_invariant
    assert sum_smooth([ExplainedVariance(B), Quadratic(Q)]).rotation_invariant
    assert terms.ComposedQuadratic(Quadratic(np.eye(SHAPE[0] - 1)), Difference()).rotation_invariant
    assert not sum_smooth([ExplainedVariance(B), Linear(C)]).rotation_invariant
    assert not terms.ComposedQuadratic(ExplainedVariance(B), some).rotation_invariant
    assert not ExplainedVariance(some).rotation_invariant
    assert Zero().rotation_invariant
    for f in (Linear(C), LeastSquares(B, Y), Smooth(quartic, lambda X: X**3)):
        assert not f.rotation_invariant


@pytest.mark.parametrize("data", [B, csr_array(B), aslinearoperator(B), Matrix(B)], ids=lambda d: type(d).__name__)
def test_formulas_with_any_kind_of_data(data, rng):
    X = rng.standard_normal(SHAPE)
    assert np.isclose(ExplainedVariance(data, weight=0.7).value(X), -0.35 * size(B @ X) ** 2)
    assert np.isclose(LeastSquares(data, Y, weight=0.7).value(X), 0.35 * size(B @ X - Y) ** 2)
    assert np.isclose(LeastSquares(data, weight=0.7).value(X), 0.35 * size(B @ X) ** 2)
    assert np.allclose(LeastSquares(data, Y, weight=0.7).gradient(X), 0.7 * B.T @ (B @ X - Y))
    assert np.isclose(Quadratic(Q, weight=2.0).value(X), inner(X, Q @ X))
    assert np.isclose(Linear(C, weight=2.0).value(X), 2 * inner(C, X))
    assert np.allclose(Linear(C, weight=2.0).gradient(X), 2 * C)
    largest = np.linalg.norm(B, 2) ** 2
    assert largest <= ExplainedVariance(data).lipschitz <= 1.1 * largest


def test_upper_curvature_is_exact_where_it_can_be():
    D = np.diag([3.0, 1.0, -5.0])
    assert np.isclose(Quadratic(D, weight=2.0).upper_curvature, 6.0)
    assert np.isclose(Quadratic(D, weight=-2.0).upper_curvature, 10.0)
    assert Quadratic(-np.eye(3)).upper_curvature == 0.0
    assert np.isclose(Quadratic(csr_array(D)).upper_curvature, 5.0)
    assert ExplainedVariance(B).upper_curvature == 0.0 < ExplainedVariance(B, weight=-1.0).upper_curvature
    assert LeastSquares(B, weight=-1.0).upper_curvature == 0.0 < LeastSquares(B).upper_curvature
    assert terms.QuadraticSum((ExplainedVariance(B), Linear(C))).upper_curvature == 0.0
    assert terms.ComposedQuadratic(ExplainedVariance(B[:, :3]), Difference()).upper_curvature == 0.0


def test_a_sum_is_sorted_and_flattened(rng):
    X = rng.standard_normal(SHAPE)
    quadratic, other = Quadratic(Q), Smooth(quartic)
    assert isinstance(sum_smooth([]), Zero)
    assert sum_smooth([Zero(), other]) is other
    assert isinstance(sum_smooth([quadratic, Linear(C), Zero()]), terms.QuadraticTerm)
    nested = sum_smooth([0.5 * sum_smooth([quadratic, Linear(C)]), -2.0 * sum_smooth([other, quadratic]), Linear(C)])
    assert isinstance(nested, terms.SmoothSum) and len(nested.parts) == 5
    assert np.isclose(nested.value(X), -1.5 * quadratic.value(X) + 1.5 * inner(C, X) - 2 * other.value(X))
    assert nested.lipschitz is None
    assert terms.SmoothSum((other,)).product(X) is None
    assert np.allclose(nested.product(X), -1.5 * Q @ X)


def test_composition_is_sorted_and_the_function_of_the_image(rng):
    X, A = rng.standard_normal(SHAPE), Matrix(rng.standard_normal((ROWS, ROWS)))
    for f in (Quadratic(Q), LeastSquares(B, Y), terms.QuadraticSum((Linear(C), LeastSquares(B, Y))), Smooth(quartic)):
        assert np.isclose((-0.7 * terms.compose_smooth(f, A)).value(X), -0.7 * f.value(A(X)))
    f = Quadratic(Q)
    assert terms.compose_smooth(f, Identity()) is f
    assert isinstance(terms.compose_smooth(Zero(), Difference()), Zero)
    assert isinstance(terms.compose_smooth(f, Matrix(Q)), terms.ComposedQuadratic)
    assert isinstance(terms.compose_smooth(Smooth(quartic), Difference()), terms.ComposedSmooth)
    bound = terms.ComposedSmooth(Smooth(softplus, tanh, lipschitz=2.0), 3.0 * Identity(), weight=-0.5)
    assert np.isclose(bound.lipschitz, 9.0)


X0 = np.ones(SHAPE)
REFUSED = [
    (lambda: Quadratic(np.arange(9.0).reshape(3, 3)), "symmetric"),
    (lambda: Quadratic(csr_array(np.triu(np.ones((3, 3))))), "symmetric"),
    (lambda: Quadratic(np.ones((2, 3))), "square"),
    (lambda: Quadratic(aslinearoperator(np.ones((2, 3)))), "square"),
    (lambda: Linear(np.array([1.0])), "two dimensions"),
    (lambda: Linear(C).value(np.ones((3, 2))), "same"),
    (lambda: LeastSquares(B, np.ones((4, 2))), "as many rows"),
    (lambda: LeastSquares(B, np.ones((5, 1))).value(X0), "same"),
    (lambda: LeastSquares(B, np.ones((5, 1))).gradient(X0), "same"),
    (lambda: Smooth(softplus, tanh, lipschitz=-1.0), "not negative"),
    (lambda: Smooth(softplus, tanh, lipschitz=np.inf), "finite"),
    (lambda: Smooth(softplus, tanh, lipschitz="large"), "number or None"),
    (lambda: Smooth(3.0), "function of X"),
    (lambda: Smooth(softplus, 3.0), "function of X"),
    (lambda: Smooth(softplus, tanh, hessian=3.0), "function of X"),
    (lambda: Smooth(softplus, tanh, hessian=lambda X, V: V[:1, :]).hessian(X0)(X0), "shape"),
    (lambda: Smooth(softplus).value(X0), "pair"),
    (lambda: Smooth(softplus).gradient(X0), "belongs to NumPy, which does not differentiate"),
    (lambda: Smooth(lambda X: (1.0, X, X)).gradient(X0), "tuple of 3"),
    (lambda: Smooth(quartic, tanh).value(X0), "one number"),
    (lambda: Smooth(tanh, tanh).value(X0), "one number"),
    (lambda: Smooth(softplus, lambda X: X[:1, :]).gradient(X0), "shape"),
    (lambda: Smooth(softplus, lambda X: X[:1, :]).hessian(X0)(X0), "shape"),
    (lambda: terms.SmoothSum(()), "at least one"),
    (lambda: terms.QuadraticSum((Smooth(quartic),)), "QuadraticTerm"),
    (lambda: terms.ComposedSmooth(terms.L1(), Difference()), "SmoothTerm"),
    (lambda: terms.ComposedSmooth(Smooth(quartic), B), "LinearMap"),
    (lambda: check_gradient((softplus, lambda X: X[:1, :]), X0), "shape"),
    (lambda: check_gradient((softplus, tanh), X0, directions=0), "at least one"),
]


@pytest.mark.parametrize(("make", "words"), REFUSED)
def test_a_refusal_is_a_sentence(make, words):
    assert "given" in check_refusal(make, words)


def test_symmetric_up_to_rounding_is_let_through(rng):
    P = np.linalg.qr(rng.standard_normal((50, 50)))[0]
    Quadratic((P * np.arange(50.0)) @ P.T)
    Quadratic(((P * np.arange(50.0)) @ P.T).astype(np.float32))
    Quadratic(eye_array(600, format="csr"))
    with pytest.raises(ValueError, match="symmetric"):
        Quadratic(np.eye(50) + 1e-6 * np.triu(np.ones((50, 50)), 1))


@laws
@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1.0, 1e3, 1e8])
def test_a_right_gradient_passes(f, scale, rng):
    assert check_gradient(scale * f, rng.standard_normal(SHAPE)).ok
    if not isinstance(f, Zero) and scale < 1e8:
        assert check_gradient(f, scale * rng.standard_normal(SHAPE)).ok


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize(
    "wrong",
    [
        lambda X: 2 * (Q @ X + C),
        lambda X: -(Q @ X + C),
        lambda X: Q @ X,
        lambda X: C,
        lambda X: 0 * X,
        lambda X: (Q @ X + C) * np.array([1.0, 1.1], dtype=X.dtype),
    ],
)
def test_a_wrong_gradient_is_told(wrong, scale, dtype, rng):
    X = rng.standard_normal(SHAPE).astype(dtype)
    value = lambda X: scale * (np.sum(X * (Q.astype(dtype) @ X)) / 2 + np.sum(C.astype(dtype) * X))
    right = lambda X: scale * (Q.astype(dtype) @ X + C.astype(dtype))
    assert check_gradient((value, right), X).ok
    check = check_gradient((value, lambda X: (scale * wrong(X)).astype(dtype)), X)
    assert not check.ok and "does not agree" in str(check)


def test_gradient_checks_where_it_is_hard(rng):
    X = rng.standard_normal(SHAPE)
    offset = (lambda X: 1e8 + softplus(X), tanh)
    assert check_gradient(offset, X).ok
    assert not check_gradient((offset[0], lambda X: 0 * X), X).ok
    assert check_gradient((lambda X: quartic(X)[0], lambda X: X**3), np.zeros(SHAPE)).ok
    assert check_gradient((lambda X: np.sum(np.cos(X)), lambda X: -np.sin(X)), 1e4 * X).ok
    assert not check_gradient((lambda X: np.sum(np.cos(X)), np.sin), 1e4 * X).ok
    assert check_gradient((lambda X: np.sum(np.cos(X)), lambda X: -np.sin(X)), 0 * X).ok
    assert not check_gradient((lambda X: np.sum(np.cos(X)), lambda X: 1e-2 + X), 0 * X).ok
    many = rng.standard_normal((200, 100))
    assert check_gradient((lambda X: quartic(X)[0], lambda X: X**3), many).ok
    assert not check_gradient((lambda X: quartic(X)[0], lambda X: 2 * X**3), many).ok
    for not_finite in ((lambda X: np.nan, lambda X: X**3), (lambda X: np.sum(X), lambda X: np.nan * X)):
        assert "NaN or infinite there" in str(check_gradient(not_finite, X))
    check = check_gradient(Smooth(quartic), X, seed=3, directions=1)
    assert check == check_gradient(Smooth(quartic), X, seed=3, directions=1)
    assert "agrees" in str(check)

"""Every map and every term in every library: value, products, gradients and proximal maps; compiled where it can be."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from array_api_compat import array_namespace, device, is_array_api_obj

import orthoprox.terms as terms
from backends.problems import quartic
from catalogue_maps import CASES, catalogue
from orthoprox._fields import parts
from orthoprox.backends import backend_of
from orthoprox.manifolds import Stiefel
from orthoprox.maps import Difference, Matrix
from orthoprox.terms import (
    L0,
    L1,
    MCP,
    SCAD,
    ColumnRange,
    ComposedConvex,
    ComposedQuadratic,
    ComposedSmooth,
    ConvexSum,
    ConvexTerm,
    EntrywiseTerm,
    ExplainedVariance,
    FrobeniusNorm,
    GroupL2,
    Huber,
    LargestK,
    LeastSquares,
    Linear,
    LInf,
    LogSum,
    NegativePart,
    Nonnegative,
    Nuclear,
    ProximableTerm,
    Quadratic,
    QuadraticSum,
    SeparableSum,
    Shifted,
    Smooth,
    SmoothConvex,
    SmoothSum,
    SmoothTerm,
    SpectralNorm,
    Term,
    WeightedL1,
    Zero,
    check_gradient,
    envelope,
    envelope_prox,
)

N, R = 6, 3
_rng = np.random.default_rng(11)
B, C, Y = (_rng.standard_normal(shape) for shape in ((9, N), (N, R), (9, R)))
S = B.T @ B - 3.0 * np.eye(N)
WEIGHTS = _rng.uniform(0.1, 1.0, (N, R))
X = _rng.standard_normal((N, R))
Z = _rng.standard_normal((N, R))
# a tie, a zero, and an empty row
KINKS = np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 0.0], [0.5, 0.25, -2.0], [2.0, 1.0, 0.0], [3.0, -0.5, 0.1], [0, 1, 0]])

TERMS: dict[str, Callable[[Any], Term]] = {
    "ExplainedVariance": lambda a: ExplainedVariance(a(B), 0.5),
    "LeastSquares": lambda a: LeastSquares(a(B), a(Y), 0.5),
    "Linear": lambda a: Linear(a(C), 2.0),
    "Quadratic": lambda a: Quadratic(a(S)),
    "Smooth": lambda a: Smooth(quartic, weight=0.5),
    "FrobeniusNorm": lambda a: FrobeniusNorm(0.5),
    "LargestK": lambda a: LargestK(4, 0.5),
    "SmoothConvex": lambda a: SmoothConvex(quartic, weight=0.5),
    "SpectralNorm": lambda a: SpectralNorm(0.5),
    "GroupL2": lambda a: GroupL2(weight=0.5),
    "Huber": lambda a: Huber(0.7, 0.5),
    "L0": lambda a: L0(0.5),
    "L1": lambda a: L1(0.5),
    "LInf": lambda a: LInf(0.5),
    "ColumnRange": lambda a: ColumnRange(2, 0.5),
    "LogSum": lambda a: LogSum(0.8, 0.5),
    "MCP": lambda a: MCP(0.6, 3.0, 0.5),
    "NegativePart": lambda a: NegativePart(0.5),
    "Nonnegative": lambda a: Nonnegative(0.5),
    "Nuclear": lambda a: Nuclear(0.5),
    "SCAD": lambda a: SCAD(0.6, 3.7, 0.5),
    "WeightedL1": lambda a: WeightedL1(a(WEIGHTS), 0.5),
    "ComposedConvex": lambda a: ComposedConvex(LargestK(3), Difference(), 0.5),
    "ComposedQuadratic": lambda a: ComposedQuadratic(LeastSquares(a(B), a(Y)), Matrix(a(S)), 0.5),
    "ComposedSmooth": lambda a: ComposedSmooth(Smooth(quartic), Matrix(a(S)), 0.5),
    "ConvexSum": lambda a: ConvexSum((LargestK(3), FrobeniusNorm()), 0.5),
    "QuadraticSum": lambda a: QuadraticSum((Linear(a(C)), Quadratic(a(S))), 0.5),
    "SeparableSum": lambda a: SeparableSum((L1(), Nuclear()), (2, 4), 0.5),
    "Shifted": lambda a: Shifted(L1(), a(C), 0.5),
    "SmoothSum": lambda a: SmoothSum((Smooth(quartic), Linear(a(C)), Quadratic(a(S))), 0.5),
    "Zero": lambda a: Zero(),
}


def questions(term: Any) -> dict[str, Callable[[Any, Any], Any]]:
    """What may be asked of a term at a pair of arrays, by the kinds it is of."""
    ask: dict[str, Callable[[Any, Any], Any]] = {"value": lambda y, z: term.value(y)}
    if isinstance(term, SmoothTerm):
        ask["gradient"] = lambda y, z: term.gradient(y)
        ask["value_at"] = lambda y, z: term.value_at(y, term.product(y))
        ask["gradient_at"] = lambda y, z: term.gradient_at(y, term.product(y))
        ask["change"] = lambda y, z: term.change(y, term.product(y), z, term.product(z))
    if isinstance(term, (ConvexTerm, ProximableTerm)):
        ask["subgradient"] = lambda y, z: term.subgradient(y)
    if isinstance(term, ProximableTerm):
        ask["prox"] = lambda y, z: term.prox(y, 0.3)
        ask["prox, mu an array"] = lambda y, z: term.prox(y, _scalar(0.3, y))
        ask["prox, far"] = lambda y, z: term.prox(y, 30.0)
        ask["distance"] = lambda y, z: term.subgradient_distance(y, z)
        ask["envelope"] = lambda y, z: envelope(term, y, _scalar(0.3, y))
        ask["envelope_prox"] = lambda y, z: envelope_prox(term, y, _scalar(0.3, y), 2.0)[0]
    if isinstance(term, EntrywiseTerm):
        ask["prox_slope"] = lambda y, z: term.prox_slope(y, 0.3)
        ask["subdifferential"] = lambda y, z: term.subdifferential(y)[1]
    return ask


def _scalar(value: float, like: Any) -> Any:
    return array_namespace(like).asarray(value, dtype=like.dtype, device=device(like))


def compiled(library: Any, ask: Callable[..., Any]) -> Callable[..., Any]:
    """JAX is asked inside a compiled function, as a step would."""
    return library.module.jit(ask) if library.name == "jax" else ask


def test_every_public_term_is_tried():
    public = {name for name in terms.__all__ if inspect.isclass(getattr(terms, name))}
    concrete = {name for name in public if issubclass(getattr(terms, name), Term)}
    concrete -= {"Term", "SmoothTerm", "QuadraticTerm", "ConvexTerm", "ProximableTerm", "EntrywiseTerm"}
    assert concrete == set(TERMS)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", TERMS)
def test_a_term(library, name, dtype):
    def convert(a: Any) -> Any:
        return library.asarray(a.astype(dtype))

    here, there = TERMS[name](np.asarray), TERMS[name](convert)
    close = {"rtol": 1e-12, "atol": 1e-12} if dtype is np.float64 else {"rtol": 1e-3, "atol": 2e-4}
    for at in (X, KINKS, 0.0 * X) if dtype is np.float64 else (X,):
        if name in ("ComposedSmooth", "Smooth", "SmoothSum", "SmoothConvex") and at is not X:
            continue
        for (question, ask), expected in zip(questions(there).items(), questions(here).values(), strict=True):
            found = compiled(library, ask)(convert(at), convert(Z))
            assert library.owns(found), question
            assert found.dtype == convert(X).dtype, question
            if name in ("SpectralNorm", "Nuclear") and question == "subgradient" and at is not X:
                continue  # one of many where singular values meet or vanish
            assert np.allclose(library.numpy(found), expected(at, Z), **close), question


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_a_map(library, number, dtype):
    here = CASES[number].map
    there = catalogue(dtype, library.asarray)[number].map
    close = {"rtol": 1e-12, "atol": 1e-12} if dtype is np.float64 else {"rtol": 1e-3, "atol": 1e-3}
    on_host = any(not is_array_api_obj(part) and hasattr(part, "shape") for part in parts(there))
    V, W = X.astype(dtype), here(X).astype(dtype)
    for ask, at, expected in ((there.__call__, V, here(V)), (there.adjoint, W, here.adjoint(W))):
        found = (ask if on_host else compiled(library, ask))(library.asarray(at))
        assert library.owns(found)
        assert found.dtype == library.asarray(V).dtype
        assert np.allclose(library.numpy(found), expected, **close)
    assert type(there.norm) is float
    assert there.norm == pytest.approx(here.norm, rel=1e-3, abs=1e-5)


def test_the_manifold(library):
    M = Stiefel(N, R)
    P, G = M.random(1), Z
    for ask in (
        lambda P, G: M.project(P + 0.3 * G),
        lambda P, G: M.project(1e-9 * G),
        lambda P, G: M.retract(P, G),
        lambda P, G: M.retract(P, G, "qr"),
        lambda P, G: M.tangent(P, G),
        lambda P, G: M.direction(P, G, 0.7),
        lambda P, G: M.infeasibility(P + G),
    ):
        found = compiled(library, ask)(library.asarray(P), library.asarray(G))
        assert library.owns(found)
        assert np.allclose(library.numpy(found), ask(P, G), atol=1e-12)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_a_projection_where_it_is_hard(library, rank):
    """The way through the SVD, also inside a compiled step."""
    project = compiled(library, Stiefel(N, R).project)
    Y = Z[:, :rank] @ Z[:rank, :] if rank else 0.0 * Z
    Q = library.numpy(project(library.asarray(Y)))
    assert np.allclose(Q.T @ Q, np.eye(R), atol=1e-13)
    assert np.sum(Q * Y) == pytest.approx(np.sum(np.linalg.svd(Y)[1]), abs=1e-12)  # as near as any
    for bad in (np.nan, np.inf):
        Y = X.copy()
        Y[2, 1] = bad
        assert np.all(np.isnan(library.numpy(project(library.asarray(Y)))))
    large = library.numpy(project(library.asarray(1e200 * X)))  # its squares overflow
    assert np.allclose(large, Stiefel(N, R).project(X), atol=1e-12)


def test_a_gradient_is_checked(library):
    at = library.asarray(X)
    assert backend_of(L1().prox(at, 0.1)) is backend_of(at)
    assert check_gradient(Smooth(quartic), at).ok
    assert not check_gradient(Smooth(lambda X: quartic(X)[0], lambda X: 2.0 * quartic(X)[1]), at).ok

"""Every map and every term in every library: value, products, gradients and proximal maps; compiled where it can be."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from array_api_compat import array_namespace, device, is_array_api_obj

from backends.problems import quartic
from catalogue_maps import CASES, catalogue
from catalogue_terms import CONVEX, HARD, PROXIMABLE, SHAPE, SMOOTH, label, moved
from orthoprox._fields import parts, replace
from orthoprox.backends import backend_of
from orthoprox.manifolds import Stiefel
from orthoprox.terms import L1, Smooth, check_gradient, envelope, envelope_prox

N, R = 6, 3
_rng = np.random.default_rng(11)
X, Z = (_rng.standard_normal((N, R)) for _ in "XZ")
Y0, Z0 = (_rng.standard_normal(SHAPE) for _ in "YZ")
TERMS = {label(term): term for term in (*SMOOTH, *PROXIMABLE, *HARD, *CONVEX)}
FIRST = {type(term): name for name, term in reversed(TERMS.items())}.values()
"""One term of each class."""
KINKS = np.array([[1.0, -1.0], [0.0, 0.0], [0.5, -2.0], [1.0, 0.1]])  # ties, zeros, an empty row


def questions(term: Any) -> dict[str, Callable[[Any, Any], Any]]:
    """What may be asked of a term at a pair of arrays, by what it can do."""
    ask: dict[str, Callable[[Any, Any], Any]] = {"value": lambda y, z: term.value(y)}
    if hasattr(term, "gradient"):
        ask["gradient"] = lambda y, z: term.gradient(y)
        ask["value_at"] = lambda y, z: term.value_at(y, term.product(y))
        ask["gradient_at"] = lambda y, z: term.gradient_at(y, term.product(y))
        ask["change"] = lambda y, z: term.change(y, term.product(y), z, term.product(z))
    if hasattr(term, "subgradient"):
        ask["subgradient"] = lambda y, z: term.subgradient(y)
    if hasattr(term, "prox"):
        ask["prox"] = lambda y, z: term.prox(y, 0.3)
        ask["prox, mu an array"] = lambda y, z: term.prox(y, _scalar(0.3, y))
        ask["prox, far"] = lambda y, z: term.prox(y, 30.0)
        ask["distance"] = lambda y, z: term.subgradient_distance(y, z)
        ask["envelope"] = lambda y, z: envelope(term, y, _scalar(0.3, y))
        ask["envelope_prox"] = lambda y, z: envelope_prox(term, y, _scalar(0.3, y), 2.0)[0]
        if term.has_prox_derivative:
            ask["prox_derivative"] = lambda y, z: term.prox_derivative(y, 0.1)(z)
    if hasattr(term, "prox_slope"):
        ask["prox_slope"] = lambda y, z: term.prox_slope(y, 0.3)
        ask["low"] = lambda y, z: term.subdifferential(y)[0]
        ask["high"] = lambda y, z: term.subdifferential(y)[1]
    return ask


def _scalar(value: float, like: Any) -> Any:
    return array_namespace(like).asarray(value, dtype=like.dtype, device=device(like))


def compiled(library: Any, ask: Callable[..., Any], about: Any = None) -> Callable[..., Any]:
    """JAX is asked inside a compiled function, as a step would, unless the data are SciPy's."""
    on_host = any(not is_array_api_obj(part) and hasattr(part, "shape") for part in parts(about))
    return library.module.jit(ask) if library.name == "jax" and not on_host else ask


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", TERMS)
def test_a_term(library, name, dtype):
    if library.name == "jax" and dtype is np.float32 and name not in FIRST:
        pytest.skip("JAX compiles it anew, and another term of its class is tried in single precision")

    def convert(a: Any) -> Any:
        return library.asarray(a.astype(dtype))

    term, there = TERMS[name], moved(TERMS[name], convert)
    if not hasattr(term, "function"):
        there = replace(there, weight=there.weight)  # made anew from arrays of the library
    close = {"rtol": 1e-12, "atol": 1e-12} if dtype is np.float64 else {"rtol": 1e-3, "atol": 2e-4}
    asked, expected = questions(there), questions(term)
    # one program for all questions and points: JAX takes most of its time to compile
    answers = compiled(library, lambda y, z: {question: ask(y, z) for question, ask in asked.items()}, there)
    for at in (Y0, KINKS, 0.0 * Y0) if dtype is np.float64 else (Y0,):
        for question, found in answers(convert(at), convert(Z0)).items():
            assert library.owns(found), question
            assert found.dtype == convert(at).dtype, question
            if name.startswith(("SpectralNorm", "Nuclear")) and question == "subgradient" and at is not Y0:
                continue  # one of many where singular values meet or vanish
            assert np.allclose(library.numpy(found), expected[question](at, Z0), **close), question


@functools.cache
def everywhere(dtype, library):
    return catalogue(dtype, library.asarray)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_a_map(library, number, dtype):
    here, there = CASES[number].map, everywhere(dtype, library)[number].map
    close = {"rtol": 1e-12, "atol": 1e-12} if dtype is np.float64 else {"rtol": 1e-3, "atol": 1e-3}
    V, W = X.astype(dtype), here(X).astype(dtype)
    both = compiled(library, lambda V, W: (there(V), there.adjoint(W)), there)(library.asarray(V), library.asarray(W))
    for found, expected in zip(both, (here(V), here.adjoint(W)), strict=True):
        assert library.owns(found)
        assert found.dtype == library.asarray(V).dtype
        assert np.allclose(library.numpy(found), expected, **close)
    assert type(there.norm) is float
    tight = {"rel": 1e-9, "abs": 1e-12} if dtype is np.float64 else {"rel": 1e-3, "abs": 1e-5}
    assert there.norm == pytest.approx(here.norm, **tight)


def test_the_manifold(library):
    M = Stiefel(N, R)
    P, G = M.random(1), Z
    asked = (
        lambda P, G: M.project(P + 0.3 * G),
        lambda P, G: M.project(1e-9 * G),
        lambda P, G: M.retract(P, G),
        lambda P, G: M.retract(P, G, "qr"),
        lambda P, G: M.tangent(P, G),
        lambda P, G: M.direction(P, G, 0.7),
        lambda P, G: M.infeasibility(P + G),
    )
    answers = compiled(library, lambda P, G: [ask(P, G) for ask in asked])(library.asarray(P), library.asarray(G))
    for ask, found in zip(asked, answers, strict=True):
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

"""The starting point of a run: check it, move it to where the data are, project it onto the manifold."""

from __future__ import annotations

import math
from dataclasses import is_dataclass
from typing import Any

from array_api_compat import device

from orthoprox._linalg import inner, norm
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.backends._tree import field_names
from orthoprox.maps import LinearMap, Product
from orthoprox.problem import Problem
from orthoprox.starts import Drawn, Start
from orthoprox.terms import ComposedConvex, ComposedSmooth, Smooth, SmoothConvex, Term, check_gradient, check_prox


def starting_point(problem: Problem, X0: Array | Start, seed: Any) -> tuple[Drawn, list[str]]:
    """Return a feasible start, and notes for the user on what was changed."""
    if isinstance(X0, Start):
        X = problem.M.random(0, like=problem.like)
        problem.check(X)  # before a start makes products
        return X0.draw(problem, seed), []
    if isinstance(X0, type):
        raise TypeError(f"X0 must be a start, as in {X0.__name__}(); given the class {X0.__name__}.")
    X, notes = _feasible(problem, X0)
    return Drawn(X, "given"), notes


def _feasible(problem: Problem, X0: Array) -> tuple[Array, list[str]]:
    """Return a given X0 where the data are and on the manifold, and notes on that."""
    X0, notes = problem.M.check(X0), []
    data = problem.data
    if data is not None and not _same_kind(X0, data):
        was = f"{backend_of(X0).name} {X0.dtype}"
        X0 = backend_of(data).from_numpy(backend_of(X0).to_numpy(X0), data)
        notes.append(f"X0 was moved from {was} to {backend_of(data).name} {data.dtype}, where the data are")
    eps, r = backend_of(X0).eps(X0), problem.M.r
    with backend_of(X0).quiet():  # an overflow only means that X0 is far off, and so does a difference of two
        gap = float(problem.M.infeasibility(X0))
        gap = math.inf if math.isnan(gap) else gap  # X0 is finite
    if gap <= 50 * eps * r:
        return X0, notes
    if gap > math.sqrt(eps):
        notes.append(f"X0 was off the manifold (|X'X - I| = {gap:.1e}) and was projected")
        rank = _rank(X0, eps)
        if rank < r:
            notes.append(f"X0 had rank {rank} only: {r - rank} of its directions were filled in")
    return problem.M.project(X0), notes


def check_user_functions(problem: Problem, X0: Array) -> None:
    """Refuse a user's wrong gradient, adjoint or prox: one that does not belong to the value or the map."""
    own = [pair for part in (problem.A, problem.f, problem.g) for pair in _own_maps(part, X0)]
    for A, point in {id(A): (A, point) for A, point in own}.values():  # a term may hold one in two places
        _check_own_map(A, point)
    _check_own_prox(problem, X0)
    for term, at in (*_flatten_terms(problem.f, X0), *_flatten_terms(problem.g, X0)):
        if isinstance(term, (Smooth, SmoothConvex)):
            slope = term.gradient if isinstance(term, Smooth) else term.subgradient
            check = check_gradient((term.value, slope), at)
            if not check.ok:
                raise ValueError(f"{check} Run orthoprox.terms.check_gradient(f, X) while you fix it.")


def has_user_parts(problem: Problem) -> bool:
    """Whether a term or map is a class of the user's, or holds a function of theirs."""
    return any(_is_users(part) for part in (problem.f, problem.g, problem.h, problem.A))


def _is_users(part: Any) -> bool:
    if type(part).__module__.partition(".")[0] == "orthoprox":
        names = field_names(type(part))
        inner = part if isinstance(part, (tuple, list)) else [getattr(part, name) for name in names or ()]
        return any(_is_users(item) for item in inner)
    if isinstance(part, (tuple, list)):
        return any(_is_users(item) for item in part)
    return callable(part) or is_dataclass(part)


def _own_maps(part: Any, X: Array) -> list[tuple[LinearMap, Array]]:
    """The maps of the user's classes in a map or term at X, each with the point at which it is evaluated."""
    if not _is_users(part):
        return []
    if type(part).__module__.partition(".")[0] != "orthoprox":
        inner = part if isinstance(part, (tuple, list)) else ()
        return [(part, X)] if isinstance(part, LinearMap) else [own for item in inner for own in _own_maps(item, X)]
    if isinstance(part, (Product, ComposedSmooth, ComposedConvex)):
        first, then = (part.B, part.A) if isinstance(part, Product) else (part.A, _composed(part))
        return [*_own_maps(first, X), *(_own_maps(then, first(X)) if _is_users(then) else [])]
    return [own for name in field_names(type(part)) or () for own in _own_maps(getattr(part, name), X)]


def _check_own_map(A: LinearMap, X: Array) -> None:
    """Refuse a map of the user's with a wrong adjoint, size or norm: every method rests on them."""
    name, eps = type(A).__name__, backend_of(X).eps(X)
    y, shape = A(X), A.shape(*X.shape)
    if tuple(y.shape) != shape:
        raise ValueError(
            f"{name} gives an array of shape {tuple(y.shape)}, and its rows({X.shape[0]}) promises {shape}."
        )
    back = A.adjoint(y)
    if tuple(back.shape) != tuple(X.shape):
        raise ValueError(f"The adjoint of {name} must give the shape {tuple(X.shape)} of X; given {tuple(back.shape)}.")
    one, other, size = float(inner(y, y)), float(inner(X, back)), float(norm(X))
    if abs(one - other) > math.sqrt(eps) * max(one, size * float(norm(back))):
        raise ValueError(
            f"The adjoint of {name} does not belong to it: <A(X), A(X)> is {one:.4g} and <X, A.adjoint(A(X))> "
            f"{other:.4g}."
        )
    if float(norm(y)) > (1 + math.sqrt(eps)) * A.norm * size:
        raise ValueError(
            f"The norm of {name} must be at least its largest singular value; given {A.norm:.4g}, and one X becomes "
            f"{float(norm(y)) / size:.4g} times as large."
        )


def _check_own_prox(problem: Problem, X0: Array) -> None:
    """Refuse a wrong prox of a user's class: Crit of a term that is not entrywise is measured with that very prox."""
    h, y = problem.h, problem.A(X0)
    if all(type(part).__module__.partition(".")[0] == "orthoprox" for part in (h, *getattr(h, "parts", ()))):
        return
    slope, size = float(h.lipschitz_constant(tuple(y.shape))), float(norm(y))
    # At size/slope a prox is often zero everywhere, as a wrong one would be.
    mu = 0.3 * size / slope if 0 < slope < math.inf and size > 0 else 1.0
    check = check_prox(h, y, min(mu, 0.5 / h.weak_convexity) if h.weak_convexity > 0 else mu)
    if not check.ok:
        raise ValueError(f"{check} Run orthoprox.check_prox(h, y, mu) while you fix h = {type(h).__name__}.")


def _flatten_terms(term: Any, X: Array) -> list[tuple[Term, Array]]:
    """List the terms inside sums and compositions, each with the point at which it is evaluated."""
    if isinstance(term, (ComposedSmooth, ComposedConvex)):
        return _flatten_terms(_composed(term), term.A(X))
    parts = getattr(term, "parts", None)
    return [(term, X)] if parts is None else [inner for part in parts for inner in _flatten_terms(part, X)]


def _composed(term: ComposedSmooth | ComposedConvex) -> Term:
    """The term that acts on the product with the map."""
    return term.f if isinstance(term, ComposedSmooth) else term.g


def _same_kind(a: Array, b: Array) -> bool:
    return array_namespace(a) is array_namespace(b) and a.dtype == b.dtype and device(a) == device(b)


def _rank(X: Array, eps: float) -> int:
    xp = array_namespace(X)
    sizes = xp.linalg.svdvals(X)
    return int(xp.count_nonzero(sizes > eps * max(X.shape) * sizes[0]))

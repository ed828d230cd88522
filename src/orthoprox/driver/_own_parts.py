"""Parts that a user wrote: what they promise is checked before a run rests on it."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator
from dataclasses import is_dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from orthoprox._checks import is_real
from orthoprox._linalg import inner, norm
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.backends._tree import field_names
from orthoprox.maps import LinearMap, Product
from orthoprox.problem import Problem
from orthoprox.terms import (
    ComposedConvex,
    ComposedQuadratic,
    ComposedSmooth,
    ConvexTerm,
    EntrywiseTerm,
    ProximableTerm,
    SeparableSum,
    Shifted,
    Smooth,
    SmoothConvex,
    SmoothTerm,
    Term,
    check_gradient,
    check_prox,
)


def has_user_parts(problem: Problem) -> bool:
    """Whether a term or map is a class of the user's, or holds a function of theirs."""
    return any(_is_users(part) for part in (problem.f, problem.g, problem.h, problem.A))


def check_own_numbers(problem: Problem) -> None:
    """Refuse a constant of the user's that is none: units, penalties and step lengths are made of them."""
    for part, _ in _own_parts(problem):
        name = type(part).__name__
        if isinstance(part, LinearMap):
            _check_constant(part.norm, f"The norm of {name}")
        elif isinstance(part, SmoothTerm) and part.lipschitz is not None:
            _check_constant(part.lipschitz, f"The lipschitz of {name}")
        elif isinstance(part, ProximableTerm):
            _check_constant(part.weak_convexity, f"The weak_convexity of {name}", most=math.inf)
            _check_constant(part.lipschitz_constant(problem.shape), f"The lipschitz_constant of {name}", most=math.inf)


def check_own_arrays(problem: Problem, X: Array) -> None:
    """Refuse parts of the user's that return something else than real arrays and numbers, or change what they get."""
    for part, at in _own_parts(problem, X):
        name = type(part).__name__
        for method in _methods(part):
            out = _ask(part, method, at)
            if method == "value":
                shape = tuple(getattr(out, "shape", ()))
                if shape != () or not is_real(out):
                    given = f"shape {shape}" if shape else f"a {getattr(out, 'dtype', type(out).__name__)}"
                    raise TypeError(f"{name}.value must return one real number; given {given}.")
            else:
                _check_array(out, at, f"{name}.{method}")
        if isinstance(part, LinearMap):
            _check_map(part, at)


def check_user_functions(problem: Problem, X: Array) -> None:
    """Refuse a gradient, adjoint, prox or subgradient of the user's that does not belong to the value or the map."""
    check_own_arrays(problem, X)
    for part, at in _own_parts(problem, X):
        if isinstance(part, (SmoothTerm, SmoothConvex)):
            slope = part.gradient if isinstance(part, SmoothTerm) else part.subgradient
            check = check_gradient((part.value, slope), at)
            if not check.ok:
                raise ValueError(f"{check} Run orthoprox.terms.check_gradient(f, X) while you fix it.")
            if isinstance(part, SmoothTerm):
                _check_lipschitz(part, at)
        elif isinstance(part, ConvexTerm):
            _check_subgradient(part, at, part.subgradient(at), 0.0)
        elif isinstance(part, ProximableTerm):
            _check_own_prox(part, at)


def _own_parts(problem: Problem, X: Array | None = None) -> Iterator[tuple[Any, Any]]:
    """The parts that a user wrote, each with the point at which it is evaluated; A first, since h stands on it."""
    yield from _walk(problem.A, X)
    yield from _walk(problem.f, X)
    yield from _walk(problem.g, X)
    yield from _walk(problem.h, None if X is None else problem.A(X))


def _walk(part: Any, X: Array | None) -> Iterator[tuple[Any, Any]]:
    if not _is_users(part):
        return
    if isinstance(part, (Smooth, SmoothConvex)) or not _is_ours(part):
        yield part, X
    elif isinstance(part, Product):
        yield from _walk(part.B, X)
        yield from _walk(part.A, None if X is None else part.B(X))
    elif isinstance(part, (ComposedSmooth, ComposedQuadratic, ComposedConvex)):
        yield from _walk(part.A, X)
        term = part.g if isinstance(part, ComposedConvex) else part.f
        yield from _walk(term, None if X is None else part.A(X))
    elif isinstance(part, Shifted):
        yield from _walk(part.h, None if X is None else X - part.by)
    elif isinstance(part, SeparableSum):
        for h, ends in zip(part.parts, pairwise(accumulate(part.rows, initial=0)), strict=True):
            yield from _walk(h, None if X is None else X[slice(*ends), :])
    else:
        for name in field_names(type(part)) or ():
            value = getattr(part, name)
            for item in value if isinstance(value, (tuple, list)) else (value,):
                if isinstance(item, (LinearMap, Term)):
                    yield from _walk(item, X)


def _is_ours(part: Any) -> bool:
    return type(part).__module__.partition(".")[0] == "orthoprox"


def _is_users(part: Any) -> bool:
    if _is_ours(part):
        inner = part if isinstance(part, (tuple, list)) else [getattr(part, n) for n in field_names(type(part)) or ()]
        return any(_is_users(item) for item in inner)
    if isinstance(part, (tuple, list)):
        return any(_is_users(item) for item in part)
    return isinstance(part, Term) or callable(part) or is_dataclass(part)


# ---------------------------------------------------------------------- what a part returns


def _methods(part: Any) -> tuple[str, ...]:
    """What a run asks of a part with one array."""
    if isinstance(part, LinearMap):
        return ()  # of another shape than X
    if isinstance(part, SmoothTerm):
        return ("value", "gradient")
    return ("value", "subgradient", "prox") if isinstance(part, ProximableTerm) else ("value", "subgradient")


def _ask(part: Any, method: str, at: Array) -> Any:
    """What a method returns, refused if it has changed the array it was given."""
    xp, name = array_namespace(at), type(part).__name__
    before = xp.asarray(at, copy=True)
    out = part.prox(at, _small(part, at)) if method == "prox" else getattr(part, method)(at)
    if not bool(xp.all((at == before) | (before != before))):
        name = name if method == "__call__" else f"{name}.{method}"
        raise ValueError(
            f"{name} changed the array it was given in place, which spoils the run. Work on a new one: Y = 2 * X "
            "instead of X *= 2."
        )
    return out


def _check_array(out: Any, at: Array, who: str, shape: tuple[int, ...] | None = None) -> None:
    wanted = tuple(at.shape) if shape is None else shape
    plain = is_array_api_obj(out) and (type(out) is np.ndarray or not isinstance(out, np.ndarray))
    if not plain or backend_of(out) is not backend_of(at):
        raise TypeError(
            f"{who} must return an array of the kind it is given, {type(at).__name__}; given {type(out).__name__}."
        )
    if tuple(out.shape) != wanted:
        raise ValueError(f"{who} must return an array of shape {wanted}; given {tuple(out.shape)}.")
    if not is_real(out):
        raise TypeError(f"{who} must return real numbers; given dtype {out.dtype}.")


def _check_constant(value: Any, what: str, most: float = np.finfo(float).max) -> None:
    """Refuse what is not a number from 0 to ``most``."""
    if not (isinstance(value, numbers.Real) or (is_array_api_obj(value) and is_real(value) and value.shape == ())):
        raise TypeError(f"{what} must be a number; given {type(value).__name__}.")
    if not 0 <= float(value) <= most:
        finite = "" if most == math.inf else "finite and "
        raise ValueError(f"{what} must be {finite}at least 0; given {float(value):g}.")


# ---------------------------------------------------------------------- what belongs together


def _check_map(A: LinearMap, X: Array) -> None:
    """Refuse a map of the user's with a wrong adjoint, size or norm: every method rests on them."""
    name, eps = type(A).__name__, backend_of(X).eps(X)
    y, shape = _ask(A, "__call__", X), A.shape(*X.shape)
    if tuple(getattr(y, "shape", ())) != shape and is_array_api_obj(y):
        raise ValueError(
            f"{name} gives an array of shape {tuple(y.shape)}, and its rows({X.shape[0]}) promises {shape}."
        )
    _check_array(y, X, name, shape)
    back = _ask(A, "adjoint", y)
    if is_array_api_obj(back) and tuple(back.shape) != tuple(X.shape):
        raise ValueError(f"The adjoint of {name} must give the shape {tuple(X.shape)} of X; given {tuple(back.shape)}.")
    _check_array(back, X, f"{name}.adjoint")
    one, other, size = float(inner(y, y)), float(inner(X, back)), float(norm(X))
    if not (math.isfinite(one) and math.isfinite(other)):
        raise ValueError(
            f"{name} and its adjoint must give finite numbers; given <A(X), A(X)> = {one:.4g} and "
            f"<X, A.adjoint(A(X))> = {other:.4g} at a finite X."
        )
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


def _check_lipschitz(f: SmoothTerm, X: Array) -> None:
    """Refuse a constant that is too small between X and -X, which is as feasible: step lengths rest on it."""
    if f.lipschitz is None:
        return
    eps, above, below, size = backend_of(X).eps(X), f.gradient(X), f.gradient(-X), 2 * float(norm(X))
    rounding = 100 * eps * (float(norm(above)) + float(norm(below)))
    apart = float(norm(above - below)) - rounding
    if apart > (1 + math.sqrt(eps)) * float(f.lipschitz) * size:
        raise ValueError(
            f"The Lipschitz constant of {type(f).__name__} must be at least {apart / size:.4g}, by which its gradient "
            f"changes from X to -X; given {float(f.lipschitz):.4g}. Without one, solvers find step lengths themselves."
        )


def _small(h: ProximableTerm, y: Array) -> float:
    """A mu at which a prox moves y by a part of its size: at size/slope it is often zero, as a wrong one would be."""
    slope, size = float(h.lipschitz_constant(tuple(y.shape))), float(norm(y))
    mu = 0.3 * size / slope if 0 < slope < math.inf and size > 0 else 1.0
    return min(mu, 0.5 / h.weak_convexity) if h.weak_convexity > 0 else mu


def _check_own_prox(h: ProximableTerm, y: Array) -> None:
    """Refuse a prox or a subdifferential that does not belong to h: Crit is measured with them."""
    name, mu = type(h).__name__, _small(h, y)
    check = check_prox(h, y, mu)
    if not check.ok:
        raise ValueError(f"{check} Run orthoprox.check_prox(h, y, mu) while you fix h = {name}.")
    C = float(h.lipschitz_constant(tuple(y.shape)))
    if math.isinf(C):
        return
    p = h.prox(y, mu)
    z = (y - p) / mu
    tolerance = math.sqrt(backend_of(p).eps(p)) * (C + float(norm(z)))
    if float(h.subgradient_distance(p, z)) > tolerance:
        raise ValueError(
            f"The subdifferential of {name} does not belong to its prox: at p = prox(y, mu) it must hold (y - p)/mu, "
            f"which is {float(h.subgradient_distance(p, z)):.1e} away."
        )
    for z in h.subdifferential(y) if isinstance(h, EntrywiseTerm) else (h.subgradient(y),):
        _check_subgradient(h, y, z, h.weak_convexity)
        if float(norm(z)) > C + tolerance:
            raise ValueError(
                f"The lipschitz_constant of {name} must be at least the size of every subgradient; given {C:.4g}, and "
                f"one has {float(norm(z)):.4g}."
            )


def _check_subgradient(term: Any, X: Array, G: Array, weak: float) -> None:
    """Refuse a subgradient above whose plane the term does not stay, up to its weak convexity."""
    backend, rng, value = backend_of(X), np.random.default_rng(0), float(term.value(X))
    eps = backend.eps(X)
    for length in (0.3, 0.01):
        D = backend.from_numpy(rng.standard_normal(tuple(X.shape)), like=X)
        D = D * (length * max(float(norm(X)), 1.0) / float(norm(D)))
        for step in (D, -D):
            plane = value + float(inner(G, step)) - weak / 2 * float(inner(step, step))
            found = float(term.value(X + step))
            if plane - found > math.sqrt(eps) * (abs(value) + float(norm(G)) * float(norm(step))):
                raise ValueError(
                    f"A subgradient of {type(term).__name__} does not belong to its value, which is {found:.6g} where "
                    f"the subgradient promises at least {plane:.6g}. Either it is wrong, or the term is not "
                    f"{'convex' if weak == 0 else f'weakly convex with the constant {weak:.4g}'}."
                )

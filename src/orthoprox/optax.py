"""Orthonormal weights in JAX: the step of orthoprox.nn as a gradient transformation of optax. Needs JAX."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from orthoprox._extras import extra
from orthoprox._penalties import penalty_terms
from orthoprox.manifolds.inverse_root import inverse_root, orthonormal_within
from orthoprox.terms import Zero

jax = extra("jax", "jax", "orthoprox.optax")
jnp = jax.numpy

# As in orthoprox.nn: how long steps are shortened, and grow again.
_AIM, _BACK, _LEAST = 0.7, 2.0, 1e-2


class Transformation(NamedTuple):
    """The pair of functions that optax calls a GradientTransformation."""

    init: Callable[[Any], Any]
    update: Callable[..., tuple[Any, Any]]


class Leaf(NamedTuple):
    """The state of one parameter, a stack of matrices."""

    momentum: Any
    y: Any
    z: Any
    trust: Any


def orthoprox(
    lr: float,
    momentum: float = 0.9,
    penalty: Any = None,
    beta: float = 1.0,
    *,
    nesterov: bool = True,
    tangent: bool = False,
) -> Transformation:
    """Stochastic OADMM-EP for parameters whose last two axes are orthonormal matrices, along their short side.

    The updates lead from one orthonormal matrix to the next, so they come last in a chain. A step that is not finite or
    too long leaves the matrix where it is. Give other parameters to another transformation, say by
    ``optax.multi_transform``. :func:`nearest` makes a start.

    Parameters
    ----------
    lr, momentum : float
        As in :class:`orthoprox.nn.OrthoProx`; a schedule of optax is not one number.
    penalty : term or sum of terms, optional
        For each matrix.
    beta : float
        The penalty of the splitting, in units of (1 - momentum)/lr.
    nesterov : bool
        Whether momentum is Nesterov's.
    tangent : bool
        Whether a step goes along the tangent part of the gradient.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from orthoprox.optax import nearest, orthoprox
    >>> W = nearest(jnp.arange(6.0).reshape(2, 3) ** 2)
    >>> step = orthoprox(lr=0.05)
    >>> state = step.init(W)
    >>> updates, state = step.update(jnp.ones((2, 3)), state, W)
    >>> W = W + updates
    >>> bool(jnp.abs(W @ W.T - jnp.eye(2)).max() < 1e-6)
    True
    """
    for name, value, most in (("lr", lr, math.inf), ("momentum", momentum, 1.0), ("beta", beta, math.inf)):
        if not (isinstance(value, (int, float)) and 0 <= value < most and (value > 0 or name == "momentum")):
            wanted = "a number in [0, 1)" if name == "momentum" else "a positive number, the same at every step"
            raise ValueError(f"{name} must be {wanted}; given {value!r}.")
    one = functools.partial(_step, lr, momentum, penalty, beta, nesterov, tangent)

    def init(params: Any) -> Any:
        return jax.tree.map(functools.partial(_fresh, penalty), params)

    def update(grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        if params is None:
            raise ValueError("orthoprox needs the parameters: call update(grads, state, params).")
        leaves, tree = jax.tree.flatten(params)
        both = [one(*args) for args in zip(tree.flatten_up_to(grads), tree.flatten_up_to(state), leaves, strict=True)]
        return tree.unflatten([new for new, _ in both]), tree.unflatten([kept for _, kept in both])

    return Transformation(init, update)


def nearest(W: Any) -> Any:
    """The nearest matrices that are orthonormal along their short side."""
    U, _, Vt = jnp.linalg.svd(W, full_matrices=False)
    return _product(U, Vt)


def _fresh(penalty: Any, W: Any) -> Leaf:
    if W.ndim < 2 or 0 in W.shape:
        raise ValueError(f"An orthonormal parameter has two or more axes, none of length zero; given shape {W.shape}.")
    if W.dtype not in (jnp.float32, jnp.float64):
        raise TypeError(f"An orthonormal parameter must be float32 or float64; given {W.dtype}.")
    if penalty is not None:
        penalty_terms(penalty, *W.shape[-2:])  # refuses what is none
    if not isinstance(W, jax.core.Tracer):
        worst = float(jnp.max(jnp.abs(_gram(W) - jnp.eye(min(W.shape[-2:]), dtype=W.dtype))))
        if not worst <= orthonormal_within(W.shape[-2], float(jnp.finfo(W.dtype).eps)):
            raise ValueError(
                f"A parameter of shape {W.shape} is not orthonormal: |W W' - I| has an entry of {worst:.2g}. Begin at "
                "nearest(W)."
            )
    return Leaf(jnp.zeros_like(W), W, jnp.zeros_like(W), jnp.ones(W.shape[:-2], W.dtype))


def _step(
    lr: float,
    momentum: float,
    penalty: Any,
    beta: float,
    nesterov: bool,
    tangent: bool,
    G: Any,
    state: Leaf,
    X: Any,
) -> tuple[Any, Leaf]:
    m, n = X.shape[-2:]
    G = _tangent(G, X) if tangent else G
    terms = None if penalty is None else penalty_terms(penalty, m, n)
    L, reach = (1.0 - momentum) / lr, inverse_root().reach
    M = momentum * state.momentum + (1.0 - momentum) * G
    ahead = momentum * M + (1.0 - momentum) * G if nesterov else M
    trust = state.trust[..., None, None]
    y, z = state.y, state.z
    if terms is None:
        Y = X - trust / L * ahead
    else:
        h, g = terms
        pull = 0.0 if isinstance(g, Zero) else _each(g.subgradient, X)
        Y = X - trust / (L * (1.0 + beta)) * (ahead + z + beta * L * (X - y) - pull)
    new, excess = _polar_near(Y)
    within, finite = excess <= reach, jnp.isfinite(excess)
    new = jnp.where(within[..., None, None], new, X)
    if terms is not None:
        b = new + z / (beta * L)
        y = _each(lambda one: h.prox(one, 1.0 / (beta * L)), b)
        z = beta * L * (b - y)
    factor = jnp.where(finite, jnp.clip(_AIM * reach / excess, _LEAST, _BACK), _LEAST)  # an overflow is too long
    share = jnp.clip(state.trust * factor, jnp.finfo(X.dtype).tiny, 1.0)
    trust = jnp.where(jnp.isfinite(M).all((-2, -1)), share, state.trust)
    M = jnp.where(finite[..., None, None], M, state.momentum)
    return new - X, Leaf(M, y, z, trust)


def _each(function: Callable[[Any], Any], X: Any) -> Any:
    """A function of one matrix at each matrix of a stack."""
    return jax.vmap(function)(X.reshape(-1, *X.shape[-2:])).reshape(X.shape)


def _product(a: Any, b: Any) -> Any:
    return jnp.matmul(a, b, precision="highest")


def _tangent(G: Any, X: Any) -> Any:
    """What is tangent at X, on the short side."""
    if X.shape[-2] <= X.shape[-1]:
        S = _product(G, X.mT)
        return G - 0.5 * _product(S + S.mT, X)
    S = _product(X.mT, G)
    return G - 0.5 * _product(X, S + S.mT)


def _gram(Y: Any) -> Any:
    """The products of the rows or columns of the short side."""
    return _product(Y, Y.mT) if Y.shape[-2] <= Y.shape[-1] else _product(Y.mT, Y)


def _polar_near(Y: Any) -> tuple[Any, Any]:
    """The polar factors of matrices that are nearly orthonormal, and a bound of how far they are from it."""
    root, wide = inverse_root(), Y.shape[-2] <= Y.shape[-1]
    eye = jnp.eye(min(Y.shape[-2:]), dtype=Y.dtype)
    E = _gram(Y) - eye
    square = _product(E, E)
    q = _product(square, root.x * square + root.y * E)
    P = _product(q + root.a * square + root.b * E, q + root.c * square)
    P = P + root.d * q + root.f * square + root.g * E + root.h * eye
    if Y.dtype == jnp.float64:  # a Newton step squares the error of the polynomial
        P = P - 0.5 * _product(P, _product(_product(P, E) + P, P) - eye)
    excess = jnp.sqrt(jnp.sqrt(jnp.sum(square * square, axis=(-2, -1))))
    return (_product(P, Y) if wide else _product(Y, P)), excess

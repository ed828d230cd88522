"""Orthonormal weights in JAX: the step of orthoprox.nn as a gradient transformation of optax. Needs JAX."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from orthoprox._extras import extra
from orthoprox.manifolds.inverse_root import inverse_root
from orthoprox.problem import Problem
from orthoprox.terms import Zero

jax = extra("jax", "jax", "orthoprox.optax")
jnp = jax.numpy

_BACK, _LEAST, _SHORTEST = 2.0, 1e-2, 1e-9  # as in orthoprox.nn: how a refused step is shortened, and grows again


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


def orthoprox(lr: float, momentum: float = 0.9, penalty: Any = None, beta: float = 1.0) -> Transformation:
    """Stochastic OADMM-EP for parameters whose last two axes are orthonormal matrices, along their short side.

    The updates lead from one orthonormal matrix to the next, so they come last in a chain. A step that is not finite or
    too long leaves the matrix where it is. Give other parameters to another transformation, say by
    ``optax.multi_transform``. :func:`nearest` makes a start.

    Parameters
    ----------
    lr, momentum : float
        As in :class:`orthoprox.nn.OrthoProx`.
    penalty : term or sum of terms, optional
        For each matrix.
    beta : float
        The penalty of the splitting, in units of (1 - momentum)/lr.

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
    one = functools.partial(_step, lr, momentum, penalty, beta)

    def init(params: Any) -> Any:
        return jax.tree.map(_fresh, params)

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


def _fresh(W: Any) -> Leaf:
    if W.ndim < 2:
        raise ValueError(f"An orthonormal parameter has two or more axes; given shape {W.shape}.")
    return Leaf(jnp.zeros_like(W), W, jnp.zeros_like(W), jnp.ones(W.shape[:-2], W.dtype))


def _step(lr: float, momentum: float, penalty: Any, beta: float, G: Any, state: Leaf, X: Any) -> tuple[Any, Leaf]:
    m, n = X.shape[-2:]
    terms = None if penalty is None else Problem.of(penalty, over=(max(m, n), min(m, n)))
    L, reach = (1.0 - momentum) / lr, inverse_root().reach
    M = momentum * state.momentum + (1.0 - momentum) * G
    trust = state.trust[..., None, None]
    y, z = state.y, state.z
    if terms is None:
        Y = X - trust / L * M
    else:
        pull = 0.0 if isinstance(terms.g, Zero) else _each(terms.g.subgradient, X)
        Y = X - trust / (L * (1.0 + beta)) * (M + z + beta * L * (X - y) - pull)
    new, excess = _polar_near(Y)
    within, finite = excess <= reach, jnp.isfinite(excess)
    new = jnp.where(within[..., None, None], new, X)
    if terms is not None:
        b = new + z / (beta * L)
        y = _each(lambda one: terms.h.prox(one, 1.0 / (beta * L)), b)
        z = beta * L * (b - y)
    shorter = jnp.maximum(state.trust * jnp.clip(0.5 * reach / excess, _LEAST, 1.0), _SHORTEST)
    trust = jnp.where(finite, jnp.where(within, jnp.minimum(_BACK * state.trust, 1.0), shorter), state.trust)
    M = jnp.where(finite[..., None, None], M, state.momentum)
    return new - X, Leaf(M, y, z, trust)


def _each(function: Callable[[Any], Any], X: Any) -> Any:
    """A function of one matrix at each matrix of a stack."""
    return jax.vmap(function)(X.reshape(-1, *X.shape[-2:])).reshape(X.shape)


def _product(a: Any, b: Any) -> Any:
    return jnp.matmul(a, b, precision="highest")


def _polar_near(Y: Any) -> tuple[Any, Any]:
    """The polar factors of matrices that are nearly orthonormal, and a bound of how far they are from it."""
    root, wide = inverse_root(), Y.shape[-2] <= Y.shape[-1]
    eye = jnp.eye(min(Y.shape[-2:]), dtype=Y.dtype)
    E = (_product(Y, Y.mT) if wide else _product(Y.mT, Y)) - eye
    square = _product(E, E)
    q = _product(square, root.x * square + root.y * E)
    P = _product(q + root.a * square + root.b * E, q + root.c * square)
    P = P + root.d * q + root.f * square + root.g * E + root.h * eye
    if Y.dtype == jnp.float64:  # a Newton step squares the error of the polynomial
        P = P - 0.5 * _product(P, _product(_product(P, E) + P, P) - eye)
    excess = jnp.sqrt(jnp.sqrt(jnp.sum(square * square, axis=(-2, -1))))
    return (_product(P, Y) if wide else _product(Y, P)), excess

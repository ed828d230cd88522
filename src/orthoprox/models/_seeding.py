"""Starts for nonnegative components: columns of the data that are far apart."""

from __future__ import annotations

import math

import numpy as np
from array_api_compat import device

from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.maps._columns import squared_column_norms
from orthoprox.maps._host import beside
from orthoprox.problem import Problem
from orthoprox.solvers.assignment import assigned
from orthoprox.terms import ExplainedVariance


def seed_components(problem: Problem, seed: int, like: Array) -> Array:
    """A nonnegative orthonormal X that grows from r columns of the data, drawn one after the other.

    A column b_i is drawn with a probability proportional to its residual so far,
    ``|b_i|^2 - max_j max(0, b_i'u_j)^2``; of a few draws the one with the least total residual is kept. This is the
    greedy k-means++ of D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007, with
    the residual of this model. Each draw costs one product with the data.
    """
    f, (n, r) = problem.f, (problem.M.n, problem.M.r)
    assert isinstance(f, ExplainedVariance)
    rng, xp = np.random.default_rng(seed), array_namespace(like)
    squares = f.weight * beside(squared_column_norms(f.B), like)
    rows = xp.arange(n, device=device(like))
    explained, products = 0.0 * squares, []
    for _ in range(r):
        residual = backend_of(like).to_numpy(xp.clip(squares - explained, 0.0, None)).astype(np.float64)
        total = float(np.sum(residual))
        draws = rng.choice(n, size=2 + int(math.log(r)), p=residual / total if total > 0 else None)
        indices = xp.asarray(draws, device=device(like))
        E = xp.astype(rows[:, None] == indices, like.dtype)
        lengths = xp.sqrt(xp.take(squares, indices, axis=0))
        P = -f.product(E) / xp.where(lengths > 0, lengths, xp.ones_like(lengths))
        candidates = xp.maximum(explained[:, None], xp.clip(P, 0.0, None) ** 2)
        best = int(xp.argmax(xp.sum(candidates, axis=0)))
        explained = candidates[:, best]
        products.append(P[:, best])
    return assigned(xp.stack(products, axis=1), squares)

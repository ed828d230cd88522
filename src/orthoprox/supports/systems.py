"""Linear systems and eigenproblems, many small ones at once, of which single ones may fail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from orthoprox._types import Array


def solve(A: Array, B: Array) -> Array:
    """The solutions of A Y = B; zero where A is singular, so that nothing moves there."""
    try:
        return np.linalg.solve(A, B)
    except np.linalg.LinAlgError:
        return np.stack([_or_zero(np.linalg.solve, a, b) for a, b in zip(A, B, strict=True)])


def inverse(A: Array) -> Array:
    """The inverses; zero where A is singular."""
    try:
        return np.linalg.inv(A)
    except np.linalg.LinAlgError:
        return np.stack([_or_zero(np.linalg.inv, a) for a in A])


def _or_zero(compute: Callable[..., Array], *given: Array) -> Array:
    try:
        return compute(*given)
    except np.linalg.LinAlgError:
        return np.zeros_like(given[-1])


def eigh(A: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors; by the QR iteration where divide and conquer fails, as it does once in a while."""
    try:
        values, vectors = np.linalg.eigh(A)
        return values, vectors
    except np.linalg.LinAlgError:
        pairs = [scipy.linalg.eigh(a, driver="ev") for a in A]
        return np.stack([pair[0] for pair in pairs]), np.stack([pair[1] for pair in pairs])


def times(c: Array, J: Array) -> Array:
    """J'c for each of several, c of shape (N, q) and J of shape (N, q, p).

    NumPy leaves strided vectors to another loop, whose last bits differ, and how an index lays c out depends on N: what
    becomes of a point must not depend on the others.
    """
    return np.asarray((np.ascontiguousarray(c)[:, None, :] @ J)[:, 0])

"""Upper bounds for eigenvalues that hold in floating-point arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, eigsh

from orthoprox._types import Array

sparse: Any = scipy.sparse
_EPS = float(np.finfo(np.float64).eps)
_DENSE = 120  # up to this order LAPACK is as quick as Lanczos
_LARGE = 200  # and for a proof, which needs all its digits


def upper_eigenvalues(A: Array) -> Array:
    """Numbers that are not below the eigenvalues of symmetric matrices, in rising order; ``A`` may be a stack.

    With the computed V and w, A = V diag(w) V' + R. By Ostrowski's theorem the i-th eigenvalue of V diag(w) V' is at
    most w_i + abs(w_i) times the norm of V'V - I, and R moves it by at most its own norm (Weyl). Both norms are
    computed, and the last term covers the rounding in computing them and in a difference that A may come from.
    """
    w, V = np.linalg.eigh(A)
    n = A.shape[-1]
    transposed = np.swapaxes(V, -1, -2)
    R = _frobenius(A - (V * w[..., None, :]) @ transposed)
    E = _frobenius(transposed @ V - np.eye(n))
    size = np.max(np.abs(w), axis=-1, keepdims=True)
    return np.asarray(w + (R + np.abs(w) * E + _rounding(A, size)))


def upper_largest(A: Array, r: int) -> Array:
    """Numbers that are not below the r largest eigenvalues of a symmetric matrix, in rising order; perhaps more.

    Of a large matrix only these are computed, w with vectors V, and the next one, m. With s = w - m, by Weyl and
    Ostrowski, the i-th eigenvalue of A = V diag(s) V' + D is at most the largest one of D plus s_i (1 + the norm of
    V'V - I). A Cholesky factor of (m + d) I - D shows that D has none above m + d, up to rounding [1]_, in a tenth of
    the time of all eigenvalues.

    References
    ----------
    .. [1] S. Rump, Verification of positive definiteness, BIT 46, 2006, 433-452.
    """
    n = len(A)
    if n <= _LARGE or 4 * r > n:
        return upper_eigenvalues(A)
    try:
        w, V = eigsh(A, k=r + 1, which="LA", v0=np.random.default_rng(0).standard_normal(n))
    except ArpackError:
        return upper_eigenvalues(A)
    m, s, V = float(w[0]), np.maximum(w[1:] - w[0], 0.0), V[:, 1:]
    size = float(np.max(np.abs(w)))
    D = A - (V * s) @ V.T
    room = float(_rounding(A, size)[0])
    M = (m + room) * np.eye(n) - D
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return upper_eigenvalues(A)
    E = float(_frobenius(V.T @ V - np.eye(r))[0]) + 4 * (n + 4) * _EPS
    factor = 2 * (n + 2) * _EPS * float(np.trace(M))
    return np.asarray(m + s * (1 + E) + (2 * room + factor))


def upper_sum(A: Any, r: int, zeros: int = 0) -> float:
    """A number not below the sum of the r largest eigenvalues of a symmetric matrix, dense or sparse.

    The eigenvalues of a matrix are those of its connected blocks, and most features of a thresholded matrix are alone.
    ``zeros`` is the number of rows and columns that were left out because they are zero.
    """
    alone, blocks = _blocks(A)
    values = [alone + 2 * _EPS * np.abs(alone), np.zeros(min(zeros, r))]
    largest = np.sort(np.concatenate([*values, *(upper_largest(block, r) for block in blocks)]))[-r:]
    return float(np.sum(largest) + 2 * r * _EPS * np.sum(np.abs(largest)))


def rough_sum(A: Any, r: int) -> float:
    """The sum of the r largest eigenvalues, as quickly as it can be had; no bound."""
    alone = np.empty(0)
    if sparse.issparse(A):
        diagonal = A.diagonal()
        linked = np.diff(A.indptr) > (diagonal != 0)
        alone, rows = diagonal[~linked], np.flatnonzero(linked)
        A = A[rows][:, rows] if len(rows) < A.shape[0] else A
    largest = np.concatenate([alone, _rough_largest(A, r)])
    return float(np.sum(np.sort(largest)[-r:]))


def _rough_largest(A: Any, r: int) -> Array:
    n = A.shape[0]
    if (A.nnz if sparse.issparse(A) else np.count_nonzero(A)) == 0:
        return np.zeros(min(n, r))
    if n <= max(_DENSE, 4 * r):
        return np.asarray(np.linalg.eigvalsh(A.toarray() if sparse.issparse(A) else A)[-r:])
    start = np.random.default_rng(0).standard_normal(n)
    return np.asarray(eigsh(A, k=r, which="LA", tol=1e-3, v0=start, return_eigenvectors=False))


def largest_block(A: Any) -> int:
    """The order of the largest connected block."""
    return int(np.max(np.bincount(_connected(A)[1])))


def _connected(A: Any) -> tuple[int, Array]:
    """The number of connected blocks, and to which each row belongs.

    One half of a symmetric matrix is enough.
    """
    count, label = connected_components(A, directed=True, connection="weak")
    return int(count), label


def _blocks(A: Any) -> tuple[Array, list[Array]]:
    """The diagonal entries that are alone in their row, and the other connected blocks."""
    if not sparse.issparse(A) and np.count_nonzero(A) > A.shape[0] ** 2 // 2:
        return np.empty(0), [A]
    A = sparse.csr_array(A)
    count, label = _connected(A)
    sizes = np.bincount(label, minlength=count)
    return A.diagonal()[sizes[label] == 1], [A[rows][:, rows].toarray() for rows in _members(label, sizes)]


def _members(label: Array, sizes: Array) -> list[Array]:
    order = np.argsort(label, kind="stable")
    ends = np.cumsum(sizes)
    return [order[end - size : end] for end, size in zip(ends, sizes, strict=True) if size > 1]


def _rounding(A: Array, size: Any) -> Array:
    """Covers the rounding of products of factors of A, with eigenvalues up to a size, and of a difference."""
    n = A.shape[-1]
    return np.asarray(4 * (n + 4) * _EPS * (_frobenius(A) + n * size))


def _frobenius(A: Array) -> Array:
    return np.sqrt(np.sum(A * A, axis=(-1, -2)))[..., None]

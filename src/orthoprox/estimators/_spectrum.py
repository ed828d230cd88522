"""Variances of principal components, and the rank of samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from orthoprox._fields import replace
from orthoprox._namespace import array_namespace
from orthoprox._subspace import Eigenvectors, leading_eigenvectors, with_signs
from orthoprox._types import Array
from orthoprox.covariance import SampleCovariance
from orthoprox.estimators._block_samples import BlockSamples
from orthoprox.estimators._device import host
from orthoprox.estimators._input import Samples
from orthoprox.maps import LinearMap
from orthoprox.maps._norm import rounding
from orthoprox.maps.sparse import is_sparse

_FORMED = 1000  # the largest Gram matrix whose eigenvalues all come at once
_ACCURACY = 1e-5  # of iterated eigenvectors
_BLOCK = 256
_ALL_VALUES = 5000  # the most features in blocks whose principal variances are all computed
_STEPS = 30  # of subspace iteration, each a pass over samples in blocks


def rank_of(data: Samples, most: int) -> int:
    """The rank of the samples, or ``most`` if it is larger.

    The product with ``most`` random vectors has that rank, and costs as much as a step of the fit. Centred samples have
    a rank of one less than their number at most, whatever rounding says.
    """
    m, n = data.n_samples, data.n_features
    most = min(most, m if data.divisor is not None else m - 1)
    omega = np.random.default_rng(0).standard_normal((n, most)).astype(data.like.dtype)
    T = data.scores(omega)
    values = host(array_namespace(T).linalg.svdvals(T))
    rounding = 8 * np.sqrt(max(m, n)) * np.finfo(data.like.dtype).eps
    return int(np.count_nonzero(values > rounding * values[0]))


def is_formed(data: Samples) -> bool:
    """Whether the smaller Gram matrix is small enough to compute all of its eigenvalues."""
    return min(data.n_samples, data.n_features) <= _FORMED and not isinstance(data, BlockSamples)


def leading_pairs(data: Samples, r: int) -> Eigenvectors | None:
    """The r largest eigenvalues of X'X and their eigenvectors, of many samples of many features; computed once.

    None where all eigenvalues come at once, and of samples in blocks, where each product is a pass.
    """
    k = min(data.n_samples, data.n_features)
    if isinstance(data, BlockSamples) or is_formed(data) or k <= 2 * r:
        return None
    if r not in data.spectra:
        gram: Any = LinearOperator((k, k), matvec=lambda y: _gram_product(data, y.reshape(k, 1)), dtype=data.like.dtype)
        start = np.random.default_rng(0).standard_normal(k).astype(data.like.dtype)
        squares, Y = eigsh(gram, k=r, tol=_ACCURACY, v0=start)  # values are twice as accurate
        squares, Y = np.clip(squares[::-1], 0.0, None), np.ascontiguousarray(Y[:, ::-1])
        if data.n_features > data.n_samples:
            Y = np.asarray(host(data.rough.adjoint(data.place(Y))))
            Y = Y / np.maximum(np.linalg.norm(Y, axis=0), np.finfo(Y.dtype).tiny)
        data.spectra[r] = Eigenvectors(squares, with_signs(Y), 0)
    found: Eigenvectors = data.spectra[r]
    return found


def with_norm(data: Samples, r: int) -> LinearMap:
    """The samples as a map whose norm is that of the leading eigenvalue, where r of them are computed anyway.

    It is raised by more than its error. Solvers whose steps must not be too long take ``data.B``.
    """
    pairs = leading_pairs(data, r)
    if pairs is not None:
        return data.map_of_norm(float(np.sqrt(pairs.values[0])) * (1 + _ACCURACY))
    if not is_formed(data) or is_sparse(data.X) or data.remainder is not None:
        return data.B
    sides = sorted((data.n_samples, data.n_features))
    return data.map_of_norm(float(np.sqrt(_all_squares(data)[0] * rounding(np.finfo(data.like.dtype).eps, *sides))))


def principal_shares(data: Samples, r: int) -> Array:
    """The share of the variance that each of the first r principal components keeps; zero beyond the rank."""
    if isinstance(data, BlockSamples):
        return _shares_in_passes(data, r)
    pairs = leading_pairs(data, r)
    squares = _all_squares(data)[:r] if pairs is None else pairs.values
    shares = np.zeros(r)
    shares[: len(squares)] = np.clip(squares, 0.0, None) / data.total_squares
    return shares


def _all_squares(data: Samples) -> Array:
    """All eigenvalues of the smaller Gram matrix in falling order; of samples in memory computed once."""
    if isinstance(data, BlockSamples):
        return np.linalg.eigvalsh(_gram(data))[::-1]
    if None not in data.spectra:
        data.spectra[None] = np.linalg.eigvalsh(_gram(data))[::-1]
    found: Array = data.spectra[None]
    return found


def _shares_in_passes(data: BlockSamples, r: int) -> Array:
    """The same by subspace iteration: each step is one pass over the samples, for all components at once."""
    C = data.covariance
    found = leading_eigenvectors(C.product, C.n, r, np.empty(0), tolerance=1e-6, steps=_STEPS)
    return np.clip(np.asarray(found.values), 0.0, None) * data.degrees_of_freedom / data.total_squares


def components_for(data: Samples, share: float) -> int:
    """The least number of principal components that keep this share of the variance; of a sketch, without its rest."""
    if isinstance(data, BlockSamples) and data.n_features > _ALL_VALUES:
        raise ValueError(
            f"A share of the variance needs all variances of {data.n_features} principal components, which takes too "
            "many passes over samples in blocks. Give the number of components, or fewer features."
        )
    inside = data if data.remainder is None else replace(data, remainder=None)
    shares = np.clip(_all_squares(inside), 0.0, None) / data.total_squares
    return min(int(np.searchsorted(np.cumsum(shares), share * (1 - 1e-12))) + 1, len(shares))


def adjusted_squares(T: Array) -> Array:
    """The sum of squares of each column of scores that the columns before it do not explain."""
    adjusted = np.zeros(T.shape[1])
    diagonal = np.diag(np.linalg.qr(T, mode="r"))
    adjusted[: len(diagonal)] = diagonal**2  # with fewer samples than components nothing is left for the last ones
    return adjusted


def _gram(data: Samples) -> Array:
    """The smaller one of X'X and XX' in double precision, a few columns at a time."""
    k = min(data.n_samples, data.n_features)
    if k <= _FORMED and isinstance(data.covariance, SampleCovariance):  # which keeps it for others
        small = None if k == data.n_features else data.covariance.gram()
        return (data.covariance.dense() if small is None else small[0]) * data.degrees_of_freedom
    starts = range(0, k, _BLOCK)
    blocks = [_gram_product(data, np.eye(k, min(_BLOCK, k - j), -j, dtype=data.like.dtype)) for j in starts]
    return np.concatenate(blocks, axis=1).astype(np.float64)


def _gram_product(data: Samples, Y: Array) -> Array:
    B, Y = data.rough, data.place(np.asarray(Y, dtype=data.like.dtype))
    if data.n_features <= data.n_samples:
        return np.asarray(host(B.gram(Y)))
    return np.asarray(host(B(B.adjoint(Y))))

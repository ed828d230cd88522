"""Samples in blocks: on disk, in Dask, in AnnData, in the memory of a cluster."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import scipy.sparse
from scipy.linalg.lapack import dpstrf

from orthoprox._fields import replace
from orthoprox._memory import SHARE, memory
from orthoprox._types import Array
from orthoprox.blocks import Rows, is_chunked, open_rows
from orthoprox.blocks._base import BlockSource
from orthoprox.blocks._moments import Moments
from orthoprox.blocks._tasks import Task
from orthoprox.driver import Reading
from orthoprox.estimators._block_samples import BlockSamples
from orthoprox.estimators._input import Samples, about, no_centre

_EPS = float(np.finfo(np.float64).eps)


def is_blocked(X: Any) -> bool:
    """Whether these are samples in blocks."""
    return isinstance(X, (Rows, str, Path)) or is_chunked(X)


def read_rows(estimator: Any, X: Any, least: int) -> Samples:
    """Samples for a fit that needs nothing but their mean and covariance.

    Where B'B is formed, these are samples with the same covariance, in memory; else they are the blocks themselves.
    """
    rows = open_rows(X)
    _name_features(estimator, rows.source)
    m, n = rows.shape
    if m < least:
        raise ValueError(f"Found array with {m} sample(s) (shape={(m, n)}) while a minimum of {least} is required.")
    if estimator.verbose:
        estimator._reading = Reading(rows)
    if not rows.forms:
        return cast(Samples, BlockSamples.of(rows))  # and every product is a pass
    with showing(estimator):
        return samples_of(rows.second, rows.dtype)


@contextmanager
def showing(estimator: Any) -> Iterator[None]:
    """Close the bar of the blocks that are read, however this ends."""
    try:
        yield
    finally:
        if (bar := vars(estimator).pop("_reading", None)) is not None:
            bar.close()


def samples_of(found: Moments, dtype: Any) -> Samples:
    """Samples about zero with the covariance of those whose moments these are, and their mean.

    With C = D R D, where D holds standard deviations, and R = L L' by Cholesky's method with pivots, these are the rows
    of L' D, times what makes their mean square that of the samples.
    """
    m, share = found.rows, 1.0 - 1.0 / found.rows
    variances = np.diagonal(found.squares) / max(m - 1, 1)
    constant = np.sqrt(variances) <= 16 * _EPS * np.abs(found.mean)  # what the mean leaves is rounding
    deviations = np.where(constant, 0.0, np.sqrt(variances))
    unit = np.where(deviations > 0, deviations, 1.0)
    R = found.squares / max(m - 1, 1)
    R /= unit
    R /= unit[:, None]
    R[constant], R[:, constant] = 0.0, 0.0
    L, k = _root(R, m)
    S = np.zeros((1, len(unit))) if k == 0 else math.sqrt(k * share) * L * deviations
    mean = np.ldexp(found.mean, found.exponent).astype(dtype)
    S = S.astype(dtype)
    data = about(S, no_centre(S))
    return replace(data, mean=mean, exponent=data.exponent + found.exponent, divisor=max(k, 1) * share)


def _root(R: Array, m: int) -> tuple[Array, int]:
    """A matrix L with L'L = R, with as many rows as the rank; at most one less than there are samples."""
    n = len(R)
    factor, pivots, rank, _ = dpstrf(R.T, tol=4 * n * _EPS, lower=0, overwrite_a=1)
    rank = min(int(rank), m - 1)
    upper = np.triu(factor)[:rank]
    L = np.empty_like(upper)
    L[:, pivots - 1] = upper
    return L, rank


def gather(estimator: Any, X: Any) -> Any:
    """All samples in memory, for an estimator that needs them there; a sentence if they are too many."""
    rows = open_rows(X)
    source, most = rows.source, SHARE * memory()
    if source.bytes > most:
        raise ValueError(
            f"{type(estimator).__name__} needs all samples in memory: these take {source.bytes / 1e9:.3g} GB, and "
            f"{most / 1e9:.3g} GB can be used here. Take some of them; SparsePCA and NonnegativePCA read blocks."
        )
    parts = [source.read(i) for i in range(source.count)]
    return scipy.sparse.vstack(parts, format="csr") if source.sparse else np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class EachBlock(Task):
    """A function of the samples of a block."""

    function: Callable[[Any], Array]

    def __call__(self, block: Any, first: int) -> Array:
        return self.function(block)


def each_block(estimator: Any, X: Any, function: Callable[[Any], Array]) -> Array:
    """What a function gives for the samples of every block, one below the other."""
    return checked_rows(estimator, X).stack(EachBlock(function))


def sum_blocks(estimator: Any, X: Any, function: Callable[[Any], Array]) -> Array:
    """The sum of what a function gives for the samples of every block."""
    return np.asarray(checked_rows(estimator, X).total(EachBlock(function)))


def checked_rows(estimator: Any, X: Any) -> Rows:
    """The rows of samples that have the features of the fit."""
    rows = open_rows(X)
    n, wanted = rows.shape[1], estimator.n_features_in_
    if n != wanted:
        raise ValueError(f"X has {n} features, but {type(estimator).__name__} is expecting {wanted} features as input.")
    names, known = rows.source.names, getattr(estimator, "feature_names_in_", None)
    if names is not None and known is not None and list(names) != list(known):
        raise ValueError(
            "The feature names should match those that were passed during fit, in the same order; the first that "
            f"differs is {next(a for a, b in zip(names, known, strict=True) if a != b)!r}."
        )
    return rows


def _name_features(estimator: Any, source: BlockSource) -> None:
    """Note the number of features and their names, as scikit-learn does for arrays and frames."""
    estimator.n_features_in_ = source.shape[1]
    if source.names is not None:
        estimator.feature_names_in_ = np.asarray(source.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_

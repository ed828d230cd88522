"""Samples that stand for those a sketch has seen: a fit takes them like any others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpstrf

from orthoprox._types import Array
from orthoprox.estimators._input import Samples
from orthoprox.estimators._remainder import Remainder
from orthoprox.estimators._units import exponent, times_power
from orthoprox.sketches import CovarianceSketch, ExactCovariance, FrequentDirections

_EPS = float(np.finfo(np.float64).eps)


def samples_of(sketch: CovarianceSketch) -> Samples:
    """Samples about zero whose sums of squares are those of the sketch.

    There are k of them, multiplied so that their mean square is that of the data; the divisor makes their variances
    those of the data too. Thus objective, weights and variances mean what they mean in a fit to all samples.
    """
    moments = sketch.moments
    if isinstance(sketch, ExactCovariance):
        (rows, top), rest = _root(sketch), None
    else:
        assert isinstance(sketch, FrequentDirections)
        rows, top = sketch.compensated(), sketch._top
        rest = _rest(sketch, rows)
    rows = rows if len(rows) else np.zeros((1, moments.n))
    k = len(rows) + (0 if rest is None else moments.n)
    share = k / moments.weight
    rows = math.sqrt(share) * rows
    e = exponent(rows, *([] if rest is None else [np.sqrt(share * rest.own)]))
    dtype: Any = np.float32 if moments.single else np.float64
    return Samples(
        X=times_power(rows, -e).astype(dtype),
        rest=np.zeros(moments.n, dtype=dtype),
        mean=sketch.mean.astype(dtype),
        exponent=top + e,
        divisor=share * moments.divisor,
        remainder=None if rest is None else rest.scaled(share, -e),
    )


def _rest(sketch: FrequentDirections, rows: Array) -> Remainder | None:
    """What the rows that stand for the samples may lack or have too much, if anything."""
    if sketch.lost == 0:
        return None
    rounding = 4 * _EPS * float(np.sum(np.square(sketch.rows)))
    most = np.full(sketch.n_features, sketch.lost + rounding)
    return Remainder(sketch.remainder(rows), sketch.rows, sketch.remainder(sketch.rows), most)


def _root(sketch: ExactCovariance) -> tuple[Array, int]:
    """Rows whose sums of products are those of the sketch, in units of 2^top, and top.

    They are a Cholesky factor with pivots of the correlations, through which every feature keeps its digits. A
    feature that spreads no more than the rounding of its mean is constant, as in a fit.
    """
    moments, n = sketch.moments, sketch.n_features
    deviations = np.sqrt(sketch._spread / max(moments.weight, 1.0))
    eps = float(np.finfo(np.float32).eps) if moments.single else _EPS
    varies = deviations > 16 * eps * np.abs(moments.high)
    if not np.any(varies):
        return np.zeros((1, n)), 0
    roots = np.where(varies, np.sqrt(sketch._spread), 1.0)
    R = np.where(varies, sketch.scatter, 0.0)
    R = np.where(varies[:, None], R / 2 + R.T / 2, 0.0) / roots / roots[:, None]
    U, pivots, rank, _ = dpstrf(R, tol=n * _EPS)
    rank = min(int(rank), max(moments.n_samples - 1, 1))
    rows = np.zeros((rank, n))
    rows[:, pivots - 1] = np.triu(U)[:rank]
    top = int(np.max(moments.powers[varies]))
    return np.ldexp(rows * roots, np.where(varies, moments.powers - top, 0)) * varies, top

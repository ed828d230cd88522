"""The spectrum of the samples and the inverse root that whitens them."""

from __future__ import annotations

import numpy as np

from orthoprox._types import Array
from orthoprox.estimators._device import host
from orthoprox.estimators._input import Samples
from orthoprox.estimators._units import times_power
from orthoprox.maps import Gram


def spectrum(data: Samples) -> tuple[Array, Array]:
    """The mean squares of the samples along the directions in which they vary, largest first, and these as columns.

    Directions whose mean square is rounding error are left out. Only an n-by-n matrix is formed.
    """
    H = np.asarray(host(Gram(data.B, form=True, norm=data.B.norm**2).H), dtype=np.float64)
    values, vectors = np.linalg.eigh((H + H.T) / 2)
    rounding = float(np.finfo(data.like.dtype).eps) * max(H.shape) * values[-1]
    nonzero = values > rounding
    return values[nonzero][::-1] / data.n_samples, vectors[:, nonzero][:, ::-1]


def inverse_root(C: Array) -> Array:
    """The symmetric inverse square root of a positive definite matrix."""
    values, V = np.linalg.eigh(C)
    return (V / np.sqrt(values)) @ V.T


def whitening_roots(data: Samples, values: Array, V: Array) -> tuple[Array, Array]:
    """The root of the second moments with this spectrum, and its inverse, which whitens the samples."""
    root, inverse = ((V * d) @ V.T for d in (np.sqrt(values), 1 / np.sqrt(values)))
    second = data.moments(inverse.astype(data.like.dtype)) / data.n_samples
    correction = inverse_root(second)  # restores digits that the squares of small values lose
    pair = second @ correction @ root, inverse @ correction
    return pair[0].astype(data.like.dtype), pair[1].astype(data.like.dtype)


def to_inverse_units(data: Samples, W: Array) -> Array:
    """A matrix that multiplies samples of unit size, as one that multiplies the data."""
    V = np.asarray(data.to_data(W, -1))
    if not np.all(np.isfinite(V)):
        raise ValueError(
            f"X varies by {times_power(1.0, data.exponent):.1e} or so, and the matrix that turns it into sources or "
            f"codes of unit size is beyond the range of {V.dtype}. Multiply X by a number first."
        )
    return V

"""The spread of single features: standardise samples, and notice features of different units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from orthoprox._fields import replace
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.estimators._block_samples import BlockSamples
from orthoprox.estimators._device import host, is_elsewhere
from orthoprox.estimators._input import Samples
from orthoprox.estimators._units import exponent, times_power
from orthoprox.estimators._warn import Note
from orthoprox.maps.sparse import is_sparse

SCALES = (None, "standard")
_FAR = 100.0  # a ratio of standard deviations; that of the variances is its square


def standard_deviations(data: Samples) -> Array:
    """The standard deviation of every feature, in the units of the data, by the divisor of ``explained_variance_``."""
    if isinstance(data, BlockSamples):
        return data.deviations
    X, m = data.X, data.n_samples
    if is_sparse(X):
        D = X.data - data.rest[X.indices]
        tops = np.abs(data.rest)
        np.maximum.at(tops, X.indices, np.abs(D))
        unit = np.where(tops > 0, tops, 1.0).astype(np.float64)
        stored = np.bincount(X.indices, minlength=data.n_features)
        squares = np.bincount(X.indices, weights=(D / unit[X.indices]) ** 2, minlength=data.n_features)
        squares += (m - stored) * (data.rest / unit) ** 2
    else:
        xp = array_namespace(X)
        own = 0.0 if data.remainder is None else np.sqrt(data.remainder.own)
        tops = np.maximum(host(xp.max(xp.abs(X), axis=0)), own)
        unit = np.where(tops > 0, tops, 1.0).astype(np.float64)
        squares = host(xp.sum((X / data.place(unit)) ** 2, axis=0)) + np.square(own / unit)
    spread = unit * np.sqrt(squares / data.degrees_of_freedom)
    dtype = data.like.dtype
    return np.minimum(data.to_data(spread.astype(dtype)), np.finfo(dtype).max)  # of two samples it may be larger


def divide(data: Samples, scale: Array) -> Samples:
    """The samples with every feature divided by its scale, a number in the units of the data; again of unit size.

    Mantissas and powers of two are divided apart, so that nothing overflows. A sparse X stays sparse.
    """
    if isinstance(data, BlockSamples):
        return cast(Samples, data.divided(scale))
    mantissa, powers = np.frexp(scale)
    X, rest, left = data.X, data.rest, data.remainder
    columns = np.unique(X.indices) if is_sparse(X) else np.flatnonzero(host(array_namespace(X).any(X != 0, axis=0)))
    if left is not None:
        columns = np.union1d(columns, np.flatnonzero(left.own))
    top = int(np.max(-powers[columns], initial=-1074)) if len(columns) else 0
    shift = np.minimum(-powers - top, 0)  # a feature without an entry has no say
    rest = np.ldexp(rest / mantissa, shift)
    if is_sparse(X):
        Y = X.copy()
        Y.data = np.ldexp(X.data / mantissa[X.indices], shift[X.indices])
        f = exponent(Y.data - rest[Y.indices], rest)
    elif is_elsewhere(X):
        Y = X / data.place(mantissa) * data.place(np.ldexp(np.ones_like(mantissa), shift))
        f = exponent(Y)
    else:
        Y = np.ldexp(X / mantissa, shift)
        left = None if left is None else left.divided(mantissa, shift)
        f = exponent(Y, *([] if left is None else [np.sqrt(left.own)]))
        left = None if left is None else left.scaled(1.0, -f)
    units = {"rest": times_power(rest, -f), "exponent": data.exponent + top + f, "remainder": left}
    return replace(data, X=times_power(Y, -f), **units)


def spread_note(spread: Array, names: Sequence[str]) -> Note | None:
    """A sentence on features that spread a hundred times as far as others, a warning if as far as most others.

    A few features of little spread are common where all have one unit, such as pixels at the margin of images. If most
    spread little beside the largest, they have hardly a part in any component, and units are the likely cause.
    """
    order = np.argsort(spread, kind="stable")
    order = order[spread[order] > 0]
    least, middle, most = order[0], order[(len(order) - 1) // 2], order[-1]
    if spread[least] > spread[most] / _FAR:
        return None
    sentence = (
        f"Features differ much in spread: the standard deviation of {names[most]} is {spread[most]:.3g}, that of "
        f"{names[least]} {spread[least]:.3g}. Components follow the features that spread most; if that is a matter of "
        'units, pass scale="standard".'
    )
    return Note(sentence, warn=bool(spread[middle] <= spread[most] / _FAR))

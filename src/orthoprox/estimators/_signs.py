"""Which way round a component is shown."""

from __future__ import annotations

import numpy as np

from orthoprox._types import Array


def upright(V: Array) -> Array:
    """For each column 1 or -1, so that its largest entry times that is positive; of equal ones the first counts.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.estimators._signs import upright
    >>> upright(np.array([[0.6, 0.6], [-0.8, 0.8]]))
    array([-1.,  1.])
    """
    peaks = V[np.argmax(np.abs(V), axis=0), np.arange(V.shape[1])]
    return np.where(peaks < 0, -1.0, 1.0).astype(V.dtype)

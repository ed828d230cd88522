"""The signs of components."""

from __future__ import annotations

import numpy as np

from orthoprox._types import Array


def choose_signs(V: Array) -> Array:
    """The sign, 1 or -1, that makes the largest entry of each column positive; ties go to the first.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.estimators._signs import choose_signs
    >>> choose_signs(np.array([[0.6, 0.6], [-0.8, 0.8]]))
    array([-1.,  1.])
    """
    peaks = V[np.argmax(np.abs(V), axis=0), np.arange(V.shape[1])]
    return np.where(peaks < 0, -1.0, 1.0).astype(V.dtype)

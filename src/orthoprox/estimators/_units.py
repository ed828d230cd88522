"""Units: samples of any size are brought to unit size, and what is found back to theirs, by powers of two.

A power of two changes no digit, so a fit to samples times 2^k takes the same steps as one to the samples.
"""

from __future__ import annotations

import numpy as np

from orthoprox._powers import exponent, times_power
from orthoprox._types import Array

__all__ = ["affine", "exponent", "times_power"]


def affine(S: Array, V: Array, mean: Array) -> Array:
    """S V + mean for factors of any size; infinite only where an entry of the result is beyond the range."""
    e, f = exponent(S), exponent(V)
    g = max(e + f, exponent(mean))
    P = times_power(times_power(S, -e) @ times_power(V, -f), e + f - g)
    return np.asarray(times_power(P + times_power(mean, -g), g))

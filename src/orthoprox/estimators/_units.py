"""Units: samples of any size are brought to unit size, and what is found back to theirs, by powers of two.

A power of two changes no digit, so a fit to samples times 2^k takes the same steps as one to the samples.
"""

from __future__ import annotations

from orthoprox._namespace import array_namespace
from orthoprox._powers import exponent, times_power
from orthoprox._types import Array
from orthoprox.estimators._device import place

__all__ = ["affine", "exponent", "times_power"]


def affine(S: Array, V: Array, mean: Array) -> Array:
    """S V + mean for factors of any size; infinite only where an entry of the result is beyond the range."""
    e, f = exponent(S), exponent(V)
    g = max(e + f, exponent(mean))
    S, V = times_power(S, -e), place(times_power(V, -f), S)
    xp = array_namespace(S, V)
    kind = xp.result_type(S, V)  # which PyTorch's product does not look for
    P = times_power(xp.astype(S, kind, copy=False) @ xp.astype(V, kind, copy=False), e + f - g)
    return times_power(P + place(times_power(mean, -g), S), g)

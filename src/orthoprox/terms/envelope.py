"""The Moreau envelope: its value, its gradient and its own prox (Lemmas 2.2 and 2.5)."""

from __future__ import annotations

from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.terms._base import ProximableTerm


def envelope(h: ProximableTerm, y: Array, mu: Scalar) -> Scalar:
    """The Moreau envelope ``min_v h(v) + |v - y|^2 / (2 mu)``.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import L1, envelope
    >>> float(envelope(L1(), np.array([[3.0, 0.5]]), mu=1.0))
    2.625
    """
    v = h.prox(y, mu)
    D = v - y
    return h.value(v) + array_namespace(y).sum(D * D) / (2 * mu)


def envelope_gradient(h: ProximableTerm, y: Array, mu: Scalar) -> Array:
    """The gradient ``(y - prox(y, mu)) / mu`` of the envelope; mu must stay below ``1 / h.weak_convexity``.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import L1, envelope_gradient
    >>> envelope_gradient(L1(), np.array([[3.0, 0.5]]), mu=1.0)
    array([[1. , 0.5]])
    """
    return (y - h.prox(y, mu)) / mu


def envelope_prox(h: ProximableTerm, b: Array, mu: Scalar, beta: Scalar) -> tuple[Array, Array]:
    """The minimiser y of ``envelope(h, y, mu) + beta/2 |y - b|^2``, and the point y_breve that its envelope uses.

    By Lemma 2.5, ``beta (b - y)`` is a subgradient of h at y_breve.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import L1, envelope_prox
    >>> y, y_breve = envelope_prox(L1(), np.array([[3.0, 0.5]]), mu=0.5, beta=2.0)
    >>> y, y_breve
    (array([[2.5 , 0.25]]), array([[2., 0.]]))
    """
    y_breve = h.prox(b, mu + 1 / beta)
    # Written without a division by mu, so that mu -> 0 gives y = y_breve.
    return (y_breve + (mu * beta) * b) / (1 + mu * beta), y_breve

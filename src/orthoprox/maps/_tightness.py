"""Whether the rows of a map are orthogonal to one another and of one length."""

from __future__ import annotations

import numpy as np

from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.maps._base import LinearMap

PROBES = 4
"""How many random directions are sent there and back."""
ROUNDING = 1000.0
"""How many units in the last place they may come back different."""


def probe_tightness(A: LinearMap, like: Array) -> float | None:
    """The c with ``A(A*(Z)) = c Z``, found on a few random Z; None when there is none.

    A random direction has a part along every direction in which the two differ, so what passes differs by about
    rounding, times the root of the number of rows. Forming the Gram matrix would cost as much as many iterations.
    """
    n = A.columns
    assert n is not None
    m = A.rows(n)
    xp, backend = array_namespace(like), backend_of(like)
    Z = backend.from_numpy(np.random.default_rng(m).standard_normal((m, PROBES)), like)
    with backend.quiet():  # entries whose squares overflow have no c that could be used
        back = A(A.adjoint(Z))
        c = float(xp.sum(Z * back) / xp.sum(Z * Z))
        largest = float(xp.max(xp.abs(back - c * Z)))
    allowed = ROUNDING * backend.eps(like) * c * float(xp.max(xp.abs(Z)))
    return c if 0 < c and largest <= allowed else None

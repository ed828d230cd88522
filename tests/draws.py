"""Random data for several tests."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array


def sparse(shape: tuple[int, int], density: float, rng: np.random.Generator) -> csr_array:
    """Uniform numbers at random places; versions of scipy.sparse.random_array disagree on the name of ``rng``."""
    count = round(density * shape[0] * shape[1])
    places = rng.choice(shape[0] * shape[1], size=count, replace=False, shuffle=False)
    return csr_array((rng.random(count), np.unravel_index(places, shape)), shape=shape)

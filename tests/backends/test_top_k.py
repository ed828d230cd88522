"""The k largest of large NumPy arrays, found through a sample, are those that sorting finds."""

import numpy as np
import pytest

from orthoprox.backends import Backend, backend_of

KINDS = {
    "normal": lambda rng, n: np.abs(rng.standard_normal(n)),
    "ties": lambda rng, n: rng.integers(0, 4, n).astype(float),
    "mostly zero": lambda rng, n: np.abs(rng.standard_normal(n)) * (rng.random(n) < 0.05),
    "zero": lambda rng, n: np.zeros(n),
    "sorted": lambda rng, n: np.sort(rng.random(n)),
    "one column large": lambda rng, n: np.where(np.arange(n) % 20 == 3, 1e3, 1.0) * rng.random(n),
    "not a number": lambda rng, n: np.where(rng.random(n) < 0.5, np.nan, 1.0),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [100, 4096, 10_000, 61_003])
def test_a_sample_only_saves_time(rng, kind, size):
    values = KINDS[kind](rng, size)
    for k in (1, 2, size // 20, size // 10, size // 2, size - 1):
        mask = backend_of(values).top_k_mask(values, k)
        if kind != "not a number":  # there only the absence of an error is asked for
            assert np.count_nonzero(mask) == k
            assert (mask == Backend().top_k_mask(values, k)).all()

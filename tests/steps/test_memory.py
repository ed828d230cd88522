"""A step takes no more memory than twelve arrays of X's size, old and new state included."""

import tracemalloc

import numpy as np

from orthoprox import named
from orthoprox.models import sparse_pca


def test_a_step_of_the_projection_variant_peaks_at_twelve_arrays(rng):
    n, r = 4000, 20
    problem = sparse_pca(rng.standard_normal((50, n)), n_components=r, weight=1.0, k=n)
    solver = named("oadmm-ep", beta0=10.0)
    X = problem.M.random(0)
    tracemalloc.start()
    try:
        state = solver.init(problem, X)
        for _ in range(3):
            state = solver.step(problem, state)
        tracemalloc.reset_peak()
        for _ in range(2):
            state = solver.step(problem, state)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.isfinite(state.now.X).all()
    assert peak <= 12 * 8 * n * r

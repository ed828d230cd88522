"""Many runs together, of problems that have something to say about their data."""

import numpy as np
import pytest

from orthoprox import Iterations, solve, solve_many
from orthoprox.models import sparse_pca

pytestmark = pytest.mark.backends


def test_problems_with_notes_of_their_own_go_together(torch, together):
    """As one among many whose data have a column of zeros."""
    tables = [np.random.default_rng(seed).standard_normal((20, 6)) for seed in range(3)]
    tables[1][:, 2] = 0.0
    problems = [sparse_pca(torch.tensor(D), n_components=2, weight=1.0) for D in tables]
    found = solve_many(problems, "oadmm-ep", stop=Iterations(9))
    assert together == [3]
    assert [result.notes for result in found] == [problem.notes for problem in problems] != [()] * 3
    for problem, result in zip(problems, found, strict=True):
        assert float((solve(problem, "oadmm-ep", stop=Iterations(9)).X - result.X).abs().max()) < 1e-12

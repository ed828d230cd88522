"""The same starts in every array library, and in single precision."""

from __future__ import annotations

import numpy as np
import pytest

from orthoprox import Iterations, solve
from orthoprox.models import sparse_pca
from orthoprox.starts import Auto, Leading, Turned, Varimax

D = np.random.default_rng(2).standard_normal((40, 3)) @ np.kron(np.diag([3.0, 2.0, 1.0]), np.ones((1, 4)))


@pytest.mark.parametrize("start", [Leading(), Turned(), Varimax(2.0), Auto()], ids=lambda start: start.name)
def test_points_agree_with_those_of_numpy(library, start):
    here, there = (sparse_pca(asarray(D), n_components=3, weight=0.3) for asarray in (np.asarray, library.asarray))
    one, other = start.draw(here, 1), start.draw(there, 1)
    assert library.owns(other.X) and (one.name, one.work, one.near) == (other.name, other.work, other.near)
    assert float(there.objective(other.X)) == pytest.approx(float(here.objective(one.X)), rel=1e-8)


def test_single_precision_in_single_precision_out(library):
    problem = sparse_pca(library.asarray(D.astype(np.float32)), n_components=3, weight=0.3)
    drawn = Auto().draw(problem, 1)
    assert drawn.X.dtype == problem.like.dtype and float(problem.M.infeasibility(drawn.X)) < 1e-5
    result = solve(problem, seed=1, stop=Iterations(2))
    assert library.owns(result.X) and result.objective <= float(problem.objective(drawn.X)) + 1e-4

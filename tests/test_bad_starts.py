"""A start that cannot be taken is refused in a sentence; one that can be put right is, with a note."""

from __future__ import annotations

import re

import numpy as np
import pytest

from orthoprox import Iterations, solve
from test_bad_input import PROBLEM, M, refused


@pytest.mark.parametrize("shape", [(6, 3), (5, 2), (2, 6), (6,)])
def test_a_start_of_the_wrong_shape(shape):
    given = re.escape(str(shape))
    refused(lambda: solve(PROBLEM, X0=np.ones(shape)), ValueError, rf"X0 must have shape \(6, 2\); given {given}")


def test_a_start_that_is_no_array():
    refused(lambda: solve(PROBLEM, X0=[[1.0, 0.0]] * 6), ValueError, r"X0 must have shape \(6, 2\); given list")


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 3.0, 1e200])
def test_a_start_off_the_manifold_is_projected_with_a_note(scale):
    rng = np.random.default_rng(3)
    X0 = scale * rng.standard_normal((6, 2))
    kept = X0.copy()
    result = solve(PROBLEM, X0=X0, stop=Iterations(0))
    U, _, Vt = np.linalg.svd(X0 / scale, full_matrices=False)
    np.testing.assert_allclose(result.X, U @ Vt, atol=1e-12)
    (note,) = result.notes
    assert re.fullmatch(r"X0 was off the manifold \(\|X'X - I\| = .*\) and was projected", note)
    np.testing.assert_array_equal(X0, kept)


def test_a_start_on_the_manifold_is_taken_as_it_is():
    X0 = M.random(0)
    result = solve(PROBLEM, X0=X0, stop=Iterations(0))
    assert result.notes == ()
    assert result.X is X0
    nearly = solve(PROBLEM, X0=X0 * (1 + 1e-11), stop=Iterations(0))
    assert nearly.notes == ()
    assert nearly.infeasibility < 1e-14


@pytest.mark.parametrize(("start", "rank"), [(np.zeros((6, 2)), 0), (np.ones((6, 2)), 1), (np.eye(6)[:, [0, 0]], 1)])
def test_a_rank_deficient_start_is_filled_in_with_a_note(start, rank):
    result = solve(PROBLEM, X0=start, stop=Iterations(5))
    assert f"X0 had rank {rank} only: {2 - rank} of its directions were filled in" in result.notes
    assert result.infeasibility < 1e-13
    assert np.isfinite(result.objective)
    first = solve(PROBLEM, X0=start, stop=Iterations(0)).X
    np.testing.assert_allclose(first @ (first.T @ start), start, atol=1e-12)  # what was there is kept


def test_a_start_of_another_precision_is_moved_with_a_note():
    result = solve(PROBLEM, X0=M.random(0).astype(np.float32), stop=Iterations(1))
    assert result.X.dtype == np.float64
    assert result.notes[0] == "X0 was moved from numpy float32 to numpy float64, where the data are"

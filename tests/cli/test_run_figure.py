"""The figure of ``orthoprox solve``."""

import numpy as np
import pytest

from orthoprox import Iterations, solve
from orthoprox.cli.run_figure import draw_run, figure_of
from orthoprox.models import sparse_pca
from plotting.room import NASTY, check_room


@pytest.mark.parametrize(("n", "r"), [(13, 3), (40, 10), (60, 25)])
def test_features_and_components_are_named_where_there_is_room(n, r):
    D = np.random.default_rng(0).standard_normal((70, n))
    result = solve(sparse_pca(D, n_components=r, weight=0.1), "oadmm-ep", stop=Iterations(5))
    names = (NASTY * 2)[38 : 38 + n]
    texts = check_room(figure_of(result, "sparse-pca", names))
    assert ("cost in $" in texts) == (n <= 40) and ("feature" in texts) == (n > 40)
    assert all((str(j + 1) in texts) == (r <= 20) for j in range(5, r))
    assert draw_run(result, "sparse-pca", range(n)).startswith(b"\x89PNG")


def test_a_run_without_steps_has_its_solution_and_a_sentence():
    D = np.random.default_rng(0).standard_normal((30, 6))
    result = solve(sparse_pca(D, n_components=2, weight=0.1), "oadmm-ep", stop=Iterations(0))
    assert any("has taken no steps" in text for text in check_room(figure_of(result, "sparse-pca", range(6))))

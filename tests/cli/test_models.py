"""``orthoprox solve`` with the models that take one data matrix and no more."""

import json

import numpy as np
import pytest

from cli.helpers import invoke
from orthoprox.models import dual_pcp, nonnegative_pca, orthogonal_dictionary


@pytest.fixture
def solved(tmp_path):
    """The summary of a run on a file, and the loadings it left."""

    def solve(D, model, *options):
        np.save(tmp_path / "data.npy", D)
        options = (*options, "--json", "--prepare", "raw", "--out", tmp_path / "out")
        done = invoke("solve", model, tmp_path / "data.npy", *options)
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout), np.load(tmp_path / "out" / "loadings.npy")

    return solve


def test_dual_pcp_finds_the_normal_of_a_plane(tmp_path, solved):
    rng = np.random.default_rng(5)
    D = np.vstack([rng.standard_normal((60, 3)) * [1.0, 1.0, 0.0], rng.standard_normal((30, 3))])
    summary, X = solved(D, "dual-pcp", "-r", 1)
    assert summary["objective"] == pytest.approx(dual_pcp(D, codimension=1).objective(X), rel=1e-9)
    assert abs(X[2, 0]) > 1 - 1e-6 and summary["status"] == "converged"
    # h acts on the product with the samples, so X itself is all there is to write.
    assert np.array_equal(np.load(tmp_path / "out" / "loadings_sparse.npy"), X) and summary["entries"] == 3
    assert (tmp_path / "out" / "run.png").stat().st_size > 0


def test_nonnegative_pca_parts_the_features(solved):
    D = np.random.default_rng(5).standard_normal((50, 2)) * [3, 1] @ np.array([[0.0, 0, 1, 1], [1, 1, 0, 0]])
    summary, X = solved(D, "nonnegative-pca", "-r", 2)
    problem = nonnegative_pca(D, n_components=2, weight=summary["weight"])
    assert summary["weight"] == pytest.approx(np.linalg.norm(D, 2) ** 2 / 50, rel=1e-6)
    assert summary["objective"] == pytest.approx(problem.objective(X), rel=1e-9)
    assert summary["variance_explained"] == pytest.approx(1.0, abs=1e-6) and X.min() > -1e-6


def test_dictionary_finds_the_axes_of_sparse_samples(solved):
    rng = np.random.default_rng(5)
    Q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    D = np.where(rng.random((300, 4)) < 0.3, rng.standard_normal((300, 4)), 0.0) @ Q.T
    summary, X = solved(D, "dictionary", "-r", 4)
    assert summary["objective"] == pytest.approx(orthogonal_dictionary(D, n_components=4).objective(X), rel=1e-9)
    assert np.all(np.max(np.abs(Q.T @ X), axis=0) > 1 - 1e-4)

"""What models refuse, in a sentence: what is the same for every model, and what only one can get wrong."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator

from orthoprox import Problem, Stiefel, models, solve
from orthoprox.maps import Difference, Matrix
from orthoprox.terms import L1, GroupL2
from sentences import check_refusal

D, LABELS = np.random.default_rng(21).random((14, 6)), [0, 1] * 7
MODELS = {
    "sparse_pca": lambda data=D, r=2, w=0.1, **more: models.sparse_pca(data, n_components=r, weight=w, **more),
    "sparse_lda": lambda data=D, r=2, w=0.1, y=LABELS, **more: models.sparse_lda(
        data, y, n_components=r, weight=w, **more
    ),
    "nonnegative_pca": lambda data=D, r=2, w=None: models.nonnegative_pca(data, n_components=r, weight=w),
    "orthogonal_nmf": lambda data=D, r=2, w=None: models.orthogonal_nmf(data, n_components=r, weight=w),
    "dual_pcp": lambda data=D, r=2, **more: models.dual_pcp(data, codimension=r, **more),
    "robust_subspace": lambda data=D, r=2, **more: models.robust_subspace(data, n_components=r, **more),
    "range_ica": lambda data=D, r=2, **more: models.range_ica(data, n_components=r, **more),
    "orthogonal_dictionary": lambda data=D, r=2, **more: models.orthogonal_dictionary(data, n_components=r, **more),
    "compressed_modes": lambda n=8, r=2, w=0.1, **more: models.compressed_modes(n, n_components=r, weight=w, **more),
}
WEIGHTED = ("sparse_pca", "sparse_lda", "nonnegative_pca", "orthogonal_nmf", "compressed_modes")


def test_every_model_is_tried():
    assert set(MODELS) == set(models.__all__) - {"amari_index", "least_range", "robust_location", "Reweighting"}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_refuses_the_same_mistakes(name):
    make = MODELS[name]
    for r in (0, 15):
        check_refusal(lambda r=r: make(r=r), rf"cannot have {r} orthonormal columns|needs 1 <= r <= n")
    if name in WEIGHTED:
        check_refusal(lambda: make(w=-1.0), "must not be negative")
    if name != "compressed_modes":
        check_refusal(lambda: make(data=Difference()), "known number of features|array or a SciPy sparse matrix")
        check_refusal(lambda: make(data=D * np.nan), "NaN or infinite")


def of(name, **settings):
    return lambda: MODELS[name](**settings)


def reweighted(h):
    return lambda: solve(Problem.of(h @ Matrix(np.eye(4)), over=Stiefel(4, 2)), models.Reweighting())


REFUSED = [
    (of("sparse_pca", penalty="l0"), "penalty must be one of 'l1', 'mcp', 'scad', 'group'; given 'l0'"),
    (of("sparse_pca", penalty="group", k=3), "k belongs to penalty='l1'; given k = 3 with 'group'"),
    (of("sparse_pca", gamma=2.0), "gamma belongs to penalty='mcp'"),
    (of("sparse_pca", penalty="mcp", a=3.0), "a belongs to penalty='scad'"),
    (of("sparse_pca", penalty="mcp", gamma=0.0), "gamma of MCP must be finite and greater than 0"),
    (of("sparse_pca", penalty="scad", a=1.0), "a of SCAD must be finite and greater than 1"),
    (of("sparse_lda", y=[0, 1]), r"one label for each of the 14 samples; given shape \(2,\)"),
    (of("sparse_lda", y=[[0], [1]] * 7), "one label for each of the 14 samples"),
    (of("sparse_lda", y=[1] * 14), "at least two classes; given 1"),
    (of("sparse_lda", y=[0.0, np.nan] * 7), "NaN or infinite"),
    (of("sparse_lda", margin=-1.0), r"margin\) must not be negative"),
    (of("orthogonal_nmf", data=-D), "must not be negative; given 84 negative entries"),
    (of("orthogonal_nmf", data=csr_array(-D)), "must not be negative; given 84 negative entries"),
    (of("orthogonal_nmf", data=Matrix(D)), "array or a SciPy sparse matrix"),
    (of("orthogonal_nmf", data=aslinearoperator(D)), "nonnegative_pca on their transpose"),
    (of("orthogonal_nmf", data=[[1.0]]), "X must be an array"),
    (of("dual_pcp", norm="columns"), "norm must be one of 'rows', 'entries'; given 'columns'"),
    (of("robust_subspace", smoothing=0.0), "smoothing must be finite and greater"),
    (lambda: models.Reweighting(smoothing=-1.0), "smoothing must be positive"),
    (reweighted(L1()), "needs a sum of distances"),
    (reweighted(GroupL2("columns")), "needs a sum of distances"),
    (lambda: models.robust_location(Difference()), "D must be data with a known number of features"),
    (lambda: models.robust_location(np.eye(3), n_components=4), "between 0 and the 3 features; given 4"),
    (of("range_ica", order=8), "at most half the number of samples.*given 8 and 14"),
    (of("range_ica", order=0), "positive"),
    (lambda: models.least_range(np.eye(3)), "more samples than sources; given 3 and 3"),
    (lambda: models.least_range(np.full((4, 2), np.nan)), "finite"),
    (lambda: models.least_range(np.ones((5, 2))), "linearly dependent"),
    (lambda: models.amari_index(np.ones((2, 3))), "square"),
    (lambda: models.amari_index(np.ones((1, 1))), "at least two rows"),
    (lambda: models.amari_index(np.diag([1.0, 0.0])), "zero"),
    (of("orthogonal_dictionary", objective="l2"), "one of l1, l4, codes"),
    (of("orthogonal_dictionary", objective="codes"), "needs it; given None"),
    (of("orthogonal_dictionary", objective="codes", weight=0.0), "must be positive"),
    (of("orthogonal_dictionary", objective="codes", weight=-1.0), "not be negative"),
    (of("orthogonal_dictionary", objective="l1", weight=1.0), 'belongs to objective = "codes"'),
    (of("compressed_modes", n=2, r=1), "at least 3 grid points; given n = 2"),
    (of("compressed_modes", length=0.0), "length must be positive"),
    (of("compressed_modes", n=8.5), "whole number of grid points"),
]


@pytest.mark.parametrize(("make", "sentence"), REFUSED)
def test_a_mistake_gets_a_sentence(make, sentence):
    check_refusal(make, sentence)

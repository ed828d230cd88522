"""What estimators refuse, in a sentence. What every one of them refuses is in ``test_common``."""

from datetime import datetime

import numpy as np
import pandas
import polars
import pytest
from scipy.sparse import csr_array

from orthoprox import (
    DualPCP,
    OrthogonalDictionaryLearning,
    OrthogonalNMF,
    RangeICA,
    RobustSubspace,
    SparsePCA,
    sparse_pca_path,
)

X = np.random.default_rng(1).uniform(-1, 1, (500, 3)) @ np.array([[1.0, 0.3, 0.6], [0.5, 1.0, -0.2], [0.2, 0.4, 1.0]])
RANK_3 = X @ np.random.default_rng(2).standard_normal((3, 5))
WORDS = {"height": [1.0, 2.0, 4.0], "name": ["a", "b", "c"], "width": [2, 1, 1], "colour": ["x", "y", "z"]}
DAYS = {"height": [1.0, 2.0, 4.0], "day": [datetime(2024, 1, day) for day in (1, 2, 3)]}
HOLES = {"height": [1.0, 2.0, np.nan], "width": [2.0, 1.0, 1.0]}
NMF = OrthogonalNMF(n_components=1).fit(X**2)


def fit(model, data=X):
    return lambda: model.fit(data)


def covariance(C, n_samples=None):
    return lambda: SparsePCA(1).fit_covariance(C, n_samples=n_samples)


def both(sentence, **settings):
    """For each of the two robust estimators."""
    return [(fit(kind(n_components=2, **settings)), sentence) for kind in (RobustSubspace, DualPCP)]


VALUES = [
    (fit(SparsePCA(3, n_nonzero=2)), "n_nonzero = 2 is too few: each of the 3 components"),
    (fit(SparsePCA(3, n_nonzero=1.5)), "must be above 0 and at most 1"),
    (fit(SparsePCA(3, n_nonzero=0)), "n_nonzero must be at least 1"),
    (fit(SparsePCA(3, n_nonzero=True)), "n_nonzero must be a whole number or a fraction; given True"),
    *(
        (fit(SparsePCA(**{name: True})), f"{name} must be at least 1; given True")
        for name in ("n_components", "n_init")
    ),
    (fit(SparsePCA(3, n_nonzero=np.True_)), "n_nonzero must be a whole number or a fraction; given True"),
    *((fit(SparsePCA(3, n_jobs=jobs)), "n_jobs must be a number of processes, or -1") for jobs in (0, 1.5, "2", True)),
    (fit(SparsePCA(1), pandas.Series(X[:, 0])), "2-dimensional container but got"),
    (fit(SparsePCA(1), np.array([["2024-01-01"], ["2024-02-03"]], "datetime64[D]")), "X must hold numbers; given date"),
    (covariance(pandas.DataFrame(np.eye(2), list("ab"), list("ba"))), r"'a' first and 'b' first. Give C.loc\[C.colu"),
    (fit(SparsePCA(3, n_nonzero=9, weight=1.0)), "given weight = 1.0 and n_nonzero = 9"),
    (fit(SparsePCA(3, n_nonzero_per_component=[3, 3])), "one for each of the 3 components; given 2 numbers"),
    (fit(SparsePCA(3, n_nonzero_per_component=0.0)), "above 0 and at most 1"),
    (fit(SparsePCA(3, penalty="mcp")), "needs a weight"),
    (fit(SparsePCA(3, weight=1.0, penalty="l2")), "penalty must be one of"),
    (fit(SparsePCA(3, weight=-1.0)), "must not be negative"),
    (fit(SparsePCA(3, weight=1e200)), "units of variance"),
    *((fit(SparsePCA(1, scale=s)), "scale must be one of None, 'standard'") for s in ("robust", True, np.ones(3))),
    *(
        (fit(SparsePCA(effort=e)), "effort must be one of 'fast', 'balanced', 'thorough'; given")
        for e in ("best", 3, None)
    ),
    (fit(SparsePCA(1), np.array([[1.0, np.nan], [2.0, 1.0], [0.0, 1.0]])), "contains NaN"),
    (fit(SparsePCA(1), np.ones((5, 3))), "All features of X are constant"),
    (fit(SparsePCA(1), np.full((10, 3), 0.1)), "All features of X are constant"),  # but for rounding
    (fit(SparsePCA(1), np.ones((1, 3))), "1 sample"),
    *(
        (fit(SparsePCA(1), kind(HOLES)), "Input X contains NaN: 'height' 1 of 3 samples. Leave out such samples")
        for kind in (pandas.DataFrame, polars.DataFrame)
    ),
    *(
        (fit(SparsePCA(1), kind(data)), f"{columns} not. Leave such columns out")
        for kind in (pandas.DataFrame, polars.DataFrame)
        for data, columns in ((WORDS, "'name', 'colour' of this frame do"), (DAYS, "'day' of this frame does"))
    ),
    (fit(SparsePCA(1), pandas.DataFrame(DAYS)[["day"]]), "'day' of this frame does not"),
    (fit(SparsePCA(1), np.ma.masked_greater(X, 1)), "masked entries, and masks are not heeded. Leave such samples"),
    (covariance(np.ones((3, 2))), "not square. For samples use fit"),
    (covariance([[1.0, 0.5], [0.4, 1.0]]), r"symmetric: entry \(0, 1\) is 0.5 and entry \(1, 0\) is 0.4"),
    (covariance([[1.0, 2.0], [2.0, 1.0]]), "the smallest is -1, the largest 3"),
    (covariance(-np.eye(2)), "the smallest is -1, the largest -1"),
    (covariance([[1.0, np.nan], [np.nan, 1.0]]), "C contains NaN"),
    (covariance(np.zeros((3, 3))), "C is zero"),
    (covariance(np.eye(3) * 1j), "Complex data not supported"),
    (covariance(pandas.DataFrame({"name": ["a", "b"], "a": [1.0, 0.0]})), "'name' of this frame does not"),
    (covariance(np.eye(2), 1), "at least 2"),
    (lambda: sparse_pca_path(X, n_nonzero=[]), "at least one number"),
    (lambda: sparse_pca_path(X, n_nonzero=[1]), "n_nonzero = 1 is too few"),
    (lambda: sparse_pca_path(X, n_components=4), "at most as many orthonormal components"),
    (fit(OrthogonalDictionaryLearning(2, codes="some")), "one of all, soft, hard, largest"),
    (fit(OrthogonalDictionaryLearning(2, codes="largest")), "needs transform_n_nonzero_coefs"),
    (fit(OrthogonalDictionaryLearning(2, codes="largest", transform_n_nonzero_coefs=0)), "at least 1"),
    (fit(OrthogonalDictionaryLearning(2, codes="largest", transform_n_nonzero_coefs=1.5)), "whole number"),
    (fit(OrthogonalDictionaryLearning(2, objective="l3")), "objective must be one of"),
    (fit(OrthogonalDictionaryLearning(2, weight=-1.0, codes="soft")), "not be negative"),
    (fit(OrthogonalDictionaryLearning(2, precondition=True), RANK_3), "varies in 3"),
    (fit(RangeICA(order=0)), "between 1 and half"),
    (fit(RangeICA(order=251)), "250; given 251"),
    (fit(RangeICA(4), RANK_3), "varies in 3"),
    (fit(RangeICA(), np.ones((10, 2))), "does not vary"),
    (fit(RangeICA(), 1e-310 * X), "beyond the range of float64. Multiply X"),
    (fit(RangeICA(), (1e-40 * X).astype(np.float32)), "beyond the range of float32. Multiply X"),
    (lambda: RangeICA().fit(X).inverse_transform(np.ones((4, 2))), "each of the 3 components; given 2"),
    *both("'auto' or a share from 0 up to 1; given 1.0", contamination=1.0),
    *both("'auto' or a share", contamination="some"),
    *both("one of 'affine', 'median', 'mean', None or an array; given 'middle'", center="middle"),
    *both(r"3 finite numbers, one for each feature; given shape \(4,\)", center=np.ones(4)),
    *both("3 finite numbers", center=np.array([0, 0, np.nan])),
    *(
        (lambda method=method, kind=kind: getattr(NMF, method)(kind(-(X**2))), "Negative values in data passed to Or")
        for method in ("fit", "predict", "transform", "score")
        for kind in (np.asarray, csr_array)
    ),
]
TYPES = [
    *((fit(SparsePCA(3, n_nonzero=k)), "n_nonzero must be a whole number or a fraction") for k in ("few", "5", "0.5")),
    (fit(SparsePCA(3, n_nonzero_per_component=["1", "2", "3"])), "must be a whole number or a fraction; given '1'"),
    (fit(SparsePCA(3, weight="0.1")), "weight of the penalty must be a number; given '0.1'"),
    *((fit(SparsePCA(r)), "a whole number or a share of the variance between 0 and 1") for r in (1.0, 1.5, "most")),
    (covariance(csr_array(np.eye(3))), "dense data is required"),
    (covariance(np.eye(2), 3.5), "whole number"),
    (fit(SparsePCA(1), polars.LazyFrame(HOLES)), r"a LazyFrame has none yet: give X.collect\(\)"),
    (lambda: sparse_pca_path(X, n_nonzero=4), r"a sequence of numbers, as in \[6, 12, 24\]; given 4"),
    (lambda: sparse_pca_path(X, weight=1.0), "weight cannot be given"),
    (fit(RangeICA(order=0.6)), "share of the samples"),
    (fit(RangeICA(order=-0.1)), "share"),
    (fit(RangeICA(order="1")), "whole number"),
]
CASES = [(ValueError, *case) for case in VALUES] + [(TypeError, *case) for case in TYPES]


@pytest.mark.parametrize(("kind", "make", "sentence"), CASES)
def test_a_mistake_gets_a_sentence(kind, make, sentence):
    with pytest.raises(kind, match=sentence):
        make()

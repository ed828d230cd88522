"""The summary of sparse PCA: names, shares, the comparison with PCA, bounds, notes; frames and HTML."""

import sys
from html.parser import HTMLParser

import numpy as np
import pandas
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from orthoprox import SparsePCA


@pytest.fixture(scope="module")
def fitted():
    return SparsePCA(3, n_nonzero_per_component=[10, 7, 2], scale="standard").fit(load_wine(as_frame=True).data)


def test_the_table_says_what_the_attributes_say(fitted):
    text = str(fitted.summary())
    title, _, _, *rows, _, below, bound = text.splitlines()
    assert title == "3 components of 13 standardised features, 19 of 39 loadings nonzero"
    assert text == repr(fitted.summary()) and len(rows) == 3
    for j, row in enumerate(rows):
        number, variance, share, total, count, loadings = row.split(maxsplit=5)
        V, ratio = fitted.components_[j], fitted.explained_variance_ratio_
        assert int(number) == j + 1 and float(variance) == pytest.approx(fitted.explained_variance_[j], rel=1e-3)
        assert share == f"{ratio[j]:.1%}" and total == f"{ratio[: j + 1].sum():.1%}"
        assert int(count) == fitted.n_nonzero_[j]
        shown, _, more = loadings.partition(" and ")
        pairs = [pair.rsplit(" ", 1) for pair in shown.split(", ")]
        order = np.argsort(-np.abs(V))[: len(pairs)]
        assert [name for name, _ in pairs] == list(fitted.feature_names_in_[order])
        assert np.allclose([float(value) for _, value in pairs], V[order], atol=5e-4)
        assert more == ("4 more" if j == 0 else "") and len(pairs) == [6, 7, 2][j]
    Z = StandardScaler().fit_transform(load_wine().data)
    kept, pca = fitted.explained_variance_ratio_.sum(), PCA(3).fit(Z).explained_variance_ratio_.sum()
    assert below == f"Keeps {kept:.1%} of the variance, {kept / pca:.1%} of what 3 principal components keep."
    assert bound == (
        f"No components with as few nonzeros keep a variance above {fitted.upper_bound_:.4g}; "
        f"these are within {fitted.optimality_gap_:.2%} of that."
    )


def test_frames_and_html(fitted, monkeypatch):
    summary = fitted.summary()
    loadings, variances = summary.loadings(), summary.variances()
    assert list(loadings.columns) == list(variances.index) == list(fitted.get_feature_names_out())
    whole = loadings.reindex(fitted.feature_names_in_).fillna(0.0)
    assert np.array_equal(whole.to_numpy().T, fitted.components_) and np.all(loadings.any(axis=1))
    assert np.array_equal(variances["nonzero"], fitted.n_nonzero_)
    assert variances["sum"].iloc[-1] == pytest.approx(fitted.explained_variance_ratio_.sum())
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'orthoprox\[pandas\]'"):
        summary.loadings()


def test_html_shows_names_as_they_are_and_before_a_fit_there_is_no_summary():
    frame = pandas.DataFrame(np.diag([3.0, 2.0, 1.0]), columns=["<b>", "a&b", "c"])
    html, cells = SparsePCA(2, n_nonzero=2).fit_covariance(frame).summary()._repr_html_(), []
    reader = HTMLParser()
    reader.handle_data = cells.append
    reader.feed(html)
    assert "<b> 1.000" in cells and "a&b 1.000" in cells and html.count("<tr>") == 3
    with pytest.raises(NotFittedError):
        SparsePCA().summary()


def test_a_small_share_is_not_nothing(rng):
    text = str(SparsePCA(1, n_nonzero=1).fit(rng.standard_normal((9, 9000))).summary())
    share = next(line for line in text.splitlines() if line.startswith("1  ")).split()[2]
    assert 0 < float(share.removesuffix("%")) < 0.1 and f"Keeps {share} of the variance" in text

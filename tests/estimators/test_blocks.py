"""Estimators on samples in blocks: the same attributes as in memory."""

import contextlib
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

from orthoprox import NonnegativePCA, OrthogonalDictionaryLearning, RobustSubspace, SparsePCA
from orthoprox.blocks import open_rows
from orthoprox.estimators import _blocks

NUMBERS = ("components_", "explained_variance_", "explained_variance_ratio_", "mean_", "objective_")


def samples(kind="dense", n=30):
    rng = np.random.default_rng(5)
    F = rng.standard_normal((3, n)) * (rng.random((3, n)) < 0.3) * 3
    X = rng.standard_normal((400, 3)) @ F + rng.standard_normal((400, n)) / 2 + 3 * rng.standard_normal(n)
    return X if kind == "dense" else csr_array(np.where(rng.random(X.shape) < 0.2, X, 0))


def assert_same(one, other, names=NUMBERS, digits=1e-10):
    for name in names:
        a, b = np.asarray(getattr(one, name)), np.asarray(getattr(other, name))
        assert a.shape == b.shape and a.dtype == b.dtype, name
        assert np.abs(a - b).max() <= digits * max(1.0, np.abs(a).max()), name


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("form", [True, False], ids=["formed", "passes"])
@pytest.mark.parametrize("block", [9_000])
@pytest.mark.parametrize(
    "settings", [{"n_nonzero": 12}, {"n_nonzero": 12, "scale": "standard"}, {"weight": 0.3}], ids=str
)
def test_sparse_pca_is_that_of_the_samples_in_memory(kind, form, block, settings):
    X = samples(kind)
    whole = SparsePCA(n_components=3, **settings).fit(X)
    rows = open_rows(X, block=block, form=form)
    part = SparsePCA(n_components=3, **settings).fit(rows)
    assert rows.source.count > 1 and rows.forms == form
    assert rows.traffic.passes == 1 if form else rows.traffic.passes > 10
    assert_same(whole, part, (*NUMBERS, "adjusted_variance_ratio_", "n_nonzero_"))
    assert part.upper_bound_ == pytest.approx(whole.upper_bound_, rel=1e-9)
    assert part.pca_variance_ratio_ == pytest.approx(whole.pca_variance_ratio_, rel=1e-6)
    assert np.abs(whole.transform(X) - part.transform(open_rows(X, block=block))).max() < 1e-8
    assert part.score(open_rows(X, block=block)) == pytest.approx(whole.score(X), rel=1e-12)
    assert part.notes_ == whole.notes_


def test_a_share_of_the_variance_and_too_many_components():
    X = samples(n=8)
    X[:, 7] = X[:, 0] - X[:, 1]
    for settings in ({"n_components": 0.8}, {"n_components": 8, "n_nonzero": 20}):
        beyond = settings["n_components"] == 8
        with pytest.warns(UserWarning, match="more than the rank") if beyond else contextlib.nullcontext():
            whole = SparsePCA(**settings).fit(X)
        with pytest.warns(UserWarning, match="more than the rank") if beyond else contextlib.nullcontext():
            part = SparsePCA(**settings).fit(open_rows(X, block=4000))
        assert part.n_components_ == whole.n_components_
        assert np.sum(part.explained_variance_) == pytest.approx(np.sum(whole.explained_variance_), rel=1e-9)


@pytest.mark.parametrize("form", [True, False], ids=["formed", "passes"])
def test_a_share_of_the_variance_is_as_many_components_as_in_memory(form):
    X = samples(n=8)
    part = SparsePCA(n_components=0.8).fit(open_rows(X, block=4000, form=form))
    assert part.n_components_ == SparsePCA(n_components=0.8).fit(X).n_components_


@pytest.mark.parametrize("form", [True, False], ids=["formed", "passes"])
def test_units_float_types_and_constant_features(form):
    X = samples()
    X[:, 4] = 7.1
    for factor in (1e170, 1e-170):
        part = SparsePCA(n_components=2, n_nonzero=8).fit(open_rows(X * factor, block=9000, form=form))
        whole = SparsePCA(n_components=2, n_nonzero=8).fit(X * factor)
        assert_same(whole, part, ("components_", "explained_variance_ratio_"))
        assert part.components_[:, 4].tolist() == [0.0, 0.0]
    single = SparsePCA(n_components=2, n_nonzero=8).fit(open_rows(X.astype(np.float32), block=9000, form=form))
    assert single.components_.dtype == single.mean_.dtype == np.float32
    assert np.abs(single.components_ - whole.components_).max() < 1e-5


def test_wide_samples_are_searched_in_passes():
    rng = np.random.default_rng(0)
    D = rng.poisson(0.02, (300, 3100)).astype(float)
    for first, level in ((0, 5.0), (5, 2.0)):  # two groups, so that the answer is unique
        D[:, first : first + 5] += rng.poisson(level, (300, 1)) + rng.poisson(0.5, (300, 5))
    S = csr_array(D)
    whole = SparsePCA(n_components=2, n_nonzero=10).fit(S)
    rows = open_rows(S, block=20_000, form=False)
    part = SparsePCA(n_components=2, n_nonzero=10).fit(rows)
    assert_same(whole, part, digits=1e-9)  # Newton's method on a support stops at 1e-10
    assert rows.traffic.passes < 150


def test_other_estimators_take_blocks_too(tmp_path):
    X = samples(n=12)
    np.save(tmp_path / "x.npy", X)
    file = tmp_path / "x.npy"
    assert_same(NonnegativePCA(2, random_state=0).fit(X), NonnegativePCA(2, random_state=0).fit(file), digits=1e-9)
    whole, part = RobustSubspace(2).fit(X), RobustSubspace(2).fit(str(file))
    assert np.array_equal(whole.components_, part.components_)
    assert np.allclose(part.distances(open_rows(X, block=5000)), whole.distances(X), rtol=1e-12)
    atoms = OrthogonalDictionaryLearning(random_state=0).fit(X)
    assert np.allclose(atoms.transform(open_rows(X, block=5000)), atoms.transform(X), rtol=1e-12)


def test_anndata_is_known_by_its_looks_and_names_are_kept():
    X, names = samples("sparse", n=6), [f"gene{j}" for j in range(6)]
    cells = SimpleNamespace(X=X, obs=None, var_names=names)
    model = SparsePCA(n_components=1, n_nonzero=3).fit(cells)
    assert model.feature_names_in_.tolist() == names
    assert "gene" in str(model.summary())
    assert model.transform(cells).shape == (400, 1)
    other = SimpleNamespace(X=X, obs=None, var_names=[*names[:4], "gene5", "gene4"])
    with pytest.raises(ValueError, match="should match those that were passed during fit.* differs is 'gene5'"):
        model.transform(other)
    with pytest.raises(ValueError, match="X has 5 features, but SparsePCA is expecting 6"):
        model.transform(open_rows(X[:, :5]))
    model.fit(open_rows(X))
    assert not hasattr(model, "feature_names_in_")


def test_what_cannot_be_fitted_is_refused_in_a_sentence(monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        SparsePCA().fit(open_rows(np.ones((1, 3))))
    with pytest.raises(ValueError, match="All features of X are constant"):
        SparsePCA().fit(open_rows(np.ones((5, 3))))
    monkeypatch.setattr(_blocks, "memory", lambda: 1000)
    with pytest.raises(ValueError, match="RobustSubspace needs all samples in memory: these take .* GB"):
        RobustSubspace(2).fit(open_rows(samples()))
    (tmp_path / "x.csv").write_text("1,2\n")
    with pytest.raises(
        ValueError, match="is not read in blocks: its name must end in .* first, as with pandas.read_csv"
    ):
        SparsePCA().fit(tmp_path / "x.csv")

"""Names, sizes, the datasets that need no file, and the real ones where their folder is at hand."""

import hashlib

import numpy as np
import pytest

from orthoprox._fields import replace
from orthoprox.datasets import DATASETS, DataDamaged, DataUnavailable, load, pitprops
from orthoprox.datasets._base import digest_of


def test_random_data_are_the_generators_numbers_prepared():
    data = load("randn-40-7", seed=5)
    A = np.random.default_rng(5).standard_normal((40, 7))
    assert np.array_equal(load("randn-40-7", seed=5, raw=True).X, A)
    assert data.checksum == hashlib.sha256(A.astype("<f8").tobytes()).hexdigest()
    # of the numbers, whatever their order in memory
    assert digest_of(A) == digest_of(np.asfortranarray(A)) == digest_of(A.astype(">f8")) != digest_of(A.T)
    A = A / np.linalg.norm(A, axis=0)
    assert np.allclose(data.X, A - A.mean(axis=0), rtol=0, atol=1e-15)
    assert data.name == "randn-40-7" and data.X.flags.c_contiguous and data.X.dtype == np.float64
    assert repr(data) == "DataMatrix(randn-40-7: 40 samples of 7 features)"
    assert np.array_equal(load("randn-40-7", seed=5).X, data.X)
    assert load("randn-40-7", seed=6).checksum != data.checksum


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("digits-50-20", {}),
        ("DIGITS-50-20", {}),
        (" digits ", {"samples": 50, "features": 20}),
        ("digits-50", {"features": 20}),
        ("digits-50-20", {"samples": np.int64(50), "features": 20}),
    ],
)
def test_sizes_may_stand_in_the_name_or_beside_it(name, sizes):
    data = load(name, seed=3, **sizes)
    assert data.name == "digits-50-20"
    assert np.array_equal(data.X, load("digits", samples=50, features=20, seed=3).X)
    assert data.X.shape == (50, 20) == (len(data.rows), len(data.columns))
    whole = load("digits", features=20)
    assert whole.X.shape == (1797, 20) and whole.name == "digits-1797-20"
    assert np.array_equal(load(whole.name).X, whole.X)


@pytest.mark.parametrize(
    ("name", "sizes", "error", "sentence"),
    [
        ("digist-50-20", {}, ValueError, "Did you mean 'digits'"),
        ("digits-50-20-3", {}, ValueError, "no dataset named 'digits-50-20-3'"),
        ("digits-50-", {}, ValueError, "as in mnist-1500-500"),
        ("", {}, ValueError, "no dataset named ''"),
        (7, {}, ValueError, "no dataset named 7"),
        ("digits-0-20", {}, ValueError, "samples must be at least 1; given 0"),
        ("digits", {"samples": 2.5}, TypeError, "samples must be a whole number; given 2.5"),
        ("digits", {"features": -1}, ValueError, "features must be at least 1; given -1"),
        ("digits-50-20", {"samples": 51}, ValueError, "asks for 50 samples, the argument for 51"),
        ("digits-50-20", {"features": 21}, ValueError, "asks for 20 features, the argument for 21"),
        ("digits", {"seed": -1}, ValueError, "seed must be at least 0"),
        ("digits", {"seed": "x"}, TypeError, "seed must be a whole number"),
        ("randn", {}, ValueError, "give samples and features, as in randn-1500-500"),
        ("randn-40", {}, ValueError, "give samples and features"),
        ("digits-1798-3", {}, ValueError, "digits has 1797 samples; given 1798"),
    ],
)
def test_a_mistake_gets_a_sentence(name, sizes, error, sentence):
    with pytest.raises(error, match=sentence):
        load(name, **sizes)


def test_bundled_data_are_checked_and_come_without_blank_pixels(monkeypatch):
    digits, data = DATASETS["digits"], load("digits")
    assert data.X.shape == (1797, 61) and data.name == "digits" and 0 not in data.columns  # a corner is blank
    raw = load("digits", raw=True).X
    scaled = raw / np.linalg.norm(raw, axis=0)
    assert raw.max() == 16 and np.allclose(data.X, scaled - scaled.mean(axis=0))
    other = replace(digits, origin=replace(digits.origin, read=lambda: np.ones((3, 3))))
    monkeypatch.setitem(DATASETS, "digits", other)
    with pytest.raises(DataDamaged, match="not the expected ones: expected sha256 8f26"):
        load("digits")
    assert load("digits", check=False).X.shape == (3, 3)


def test_every_dataset_says_where_it_is_from_and_every_public_file_has_an_address_and_a_checksum():
    for name, dataset in DATASETS.items():
        assert dataset.name == name and dataset.summary and dataset.source and dataset.licence
        for file in getattr(dataset.origin, "public", ()):
            assert file.url.startswith("https://") and file.url.endswith("/" + file.name)
            assert len(file.sha256) == 64 and int(file.sha256, 16)


def test_the_eigenvalues_of_pitprops_are_the_published_ones():
    """Jeffers' six largest, as Zou, Hastie and Tibshirani (2006) and others repeat them; they keep 0.87 of 13."""
    C, names = pitprops()
    assert len(names) == 13 and C.shape == (13, 13) and np.array_equal(C, C.T) and np.all(np.diag(C) == 1)
    values = np.linalg.eigvalsh(C)[::-1]
    np.testing.assert_allclose(values[:6], [4.219, 2.378, 1.878, 1.109, 0.910, 0.815], atol=5e-4)
    assert round(values[:6].sum() / 13, 2) == 0.87


@pytest.mark.parametrize("name", ["mnist", "tdt2", "sector", "arabidopsis", "leukemia"])
def test_the_whole_has_the_size_that_lists_tell(name, shared_data):
    dataset = DATASETS[name]
    A = dataset.origin.unpack(shared_data / dataset.origin.packed.name)
    assert A.shape == dataset.shape
    assert dataset.origin.states(shared_data) == [(shared_data / dataset.origin.packed.name, "ok")]


@pytest.mark.parametrize("name", ["mnist-1500-500", "tdt2-1500-500", "sector-1500-500"])
def test_the_papers_sizes(name, shared_data):
    data, other = load(name, folder=shared_data, seed=0), load(name, folder=shared_data, seed=1)
    assert data.X.shape == (1500, 500) and data.name == name
    assert np.all(np.linalg.norm(data.X, axis=0) > 0)
    assert np.abs(data.X.mean(axis=0)).max() < 1e-15
    raw = load(name, folder=shared_data, seed=0, raw=True).X
    raw = raw if isinstance(raw, np.ndarray) else raw.toarray()
    lengths = np.linalg.norm(raw, axis=0)
    assert np.allclose(data.X * lengths, raw - raw.mean(axis=0), rtol=0, atol=1e-12 * np.abs(raw).max())
    assert not np.array_equal(data.rows, other.rows)


@pytest.mark.parametrize("name", ["arabidopsis", "leukemia"])
def test_gene_expressions_as_in_the_published_runs(name, shared_data):
    data = load(name, folder=shared_data)
    assert data.X.shape == DATASETS[name].shape
    assert np.allclose(np.linalg.norm(data.X, axis=0), 1, rtol=1e-13)


def test_only_a_part_of_sector_and_all_of_tdt2_which_stays_sparse(shared_data):
    with pytest.raises(DataUnavailable, match="1826 samples; given 2500. The original has 9619"):
        load("sector-2500-500", folder=shared_data)
    assert load("tdt2", folder=shared_data, raw=True).X.shape == (9394, 36771 - 678)
    with pytest.raises(ValueError, match="GiB"):
        load("tdt2", folder=shared_data)

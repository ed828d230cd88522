"""The real datasets, where their folder is at hand."""

import numpy as np
import pytest

from orthoprox.datasets import DATASETS, DataUnavailable, load

STORED = ("mnist", "tdt2", "sector", "arabidopsis", "leukemia")


@pytest.mark.parametrize("name", STORED)
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

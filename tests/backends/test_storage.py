"""Every storage gives the samples that were put into it; they need h5py, pyarrow, zarr, Dask and AnnData's format."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from backends.needs import need
from orthoprox import SparsePCA
from orthoprox.blocks import BlockUnreadable, Hdf5Blocks, as_source, open_rows

pytestmark = pytest.mark.backends
RNG = np.random.default_rng(3)
D = RNG.standard_normal((400, 3)) @ RNG.standard_normal((3, 9)) + RNG.standard_normal((400, 9)) / 2
S = csr_array(np.where(RNG.random(D.shape) < 0.3, D, 0))
NAMES = [f"g{j}" for j in range(9)]


def write_csr(group, A, kind="csr_matrix"):
    group.attrs["encoding-type"], group.attrs["shape"] = kind, A.shape
    for name in ("data", "indices", "indptr"):
        group.create_dataset(name, data=getattr(A, name))


def write_h5ad(file, A):
    """What AnnData writes, as far as it is read here."""
    write_csr(file.create_group("X"), A)
    var = file.create_group("var")
    var.attrs["_index"] = "names"
    var.create_dataset("names", data=np.array(NAMES, dtype="S4"))


@pytest.fixture
def stored(tmp_path, request):
    """A function that puts the samples into a storage, and gives what a user would pass, and the matrix."""

    def store(kind):
        if kind == "zarr":
            zarr = need("zarr", request.config)
            zarr.save_array(str(tmp_path / "x.zarr"), D)
            return tmp_path / "x.zarr", D
        if kind == "zarr array":
            zarr = need("zarr", request.config)
            zarr.save_array(str(tmp_path / "x.zarr"), D)
            return zarr.open(str(tmp_path / "x.zarr"), mode="r"), D
        if kind in ("hdf5", "h5ad", "dataset"):
            h5py = need("h5py", request.config)
            path = tmp_path / ("x.h5ad" if kind == "h5ad" else "x.h5")
            with h5py.File(path, "w") as file:
                if kind == "h5ad":
                    write_h5ad(file, S)
                else:
                    file.create_dataset("values", data=D, chunks=(50, 9))
            return (
                (h5py.File(path, "r")["values"], D)
                if kind == "dataset"
                else (path, S.toarray() if kind == "h5ad" else D)
            )
        if kind.startswith("parquet"):
            need("pyarrow", request.config)
            pandas = need("pandas", request.config)
            frame = pandas.DataFrame(D, columns=NAMES)
            if kind == "parquet":
                frame.to_parquet(tmp_path / "x.parquet", row_group_size=70)
                return str(tmp_path / "x.parquet"), D
            (tmp_path / "parts").mkdir()
            for k in range(4):
                frame[k * 100 : (k + 1) * 100].to_parquet(tmp_path / "parts" / f"part{k}.parquet")
            return tmp_path / "parts", D
        need("dask", request.config)
        import dask.array
        import dask.dataframe
        import pandas

        if kind == "dask array":
            return dask.array.from_array(D, chunks=(90, 4)), D
        if kind == "dask sparse":
            return dask.array.from_array(D, chunks=(90, 9)).map_blocks(csr_array, meta=csr_array((0, 0))), D
        if kind == "delayed":
            parts = dask.array.from_array(D, chunks=(90, 9)).to_delayed()[:, 0]
            return list(parts), D
        if kind == "dask unknown":
            whole = dask.array.from_array(D, chunks=(90, 9))
            return whole[whole[:, 0] > 0], D[D[:, 0] > 0]
        return dask.dataframe.from_pandas(pandas.DataFrame(D, columns=NAMES), npartitions=5), D

    return store


KINDS = ["zarr", "zarr array", "hdf5", "dataset", "h5ad", "parquet", "parquet folder", "dask array", "dask sparse"]
KINDS += ["dask unknown", "delayed", "dask frame"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_to_any_storage_is_that_to_the_array(kind, stored):
    data, whole = stored(kind)
    source = as_source(data, 3000)
    blocks = [source.read(i) for i in range(source.count)]
    assert source.count > 1 or kind.startswith("zarr")
    assert np.array_equal(np.concatenate([b.toarray() if source.sparse else b for b in blocks]), whole)
    one, other = (SparsePCA(n_components=2, n_nonzero=6).fit(X) for X in (whole, data))
    assert np.abs(one.components_ - other.components_).max() < 1e-10
    assert np.abs(one.transform(whole) - other.transform(data)).max() < 1e-10
    named = kind in ("h5ad", "parquet", "parquet folder", "dask frame")
    assert hasattr(other, "feature_names_in_") == named
    if named:
        assert other.feature_names_in_.tolist() == NAMES


def test_anndata_itself_in_memory_and_backed(request, tmp_path):
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(S.tocsr())
    cells.var_names = NAMES
    cells.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    one = SparsePCA(n_components=2, n_nonzero=6).fit(S)
    for data in (cells, backed, tmp_path / "cells.h5ad"):
        other = SparsePCA(n_components=2, n_nonzero=6).fit(data)
        assert np.abs(one.components_ - other.components_).max() < 1e-10
        assert other.feature_names_in_.tolist() == NAMES


def test_what_storages_cannot_give_is_said_in_a_sentence(request, tmp_path):
    h5py, zarr = need("h5py", request.config), need("zarr", request.config)
    pandas = need("pandas", request.config)
    with h5py.File(tmp_path / "columns.h5", "w") as file:
        write_csr(file.create_group("X"), S.tocsc(), "csc_matrix")
    with pytest.raises(ValueError, match="a sparse matrix by rows.*it is stored as csc_matrix. Save it by rows"):
        as_source(tmp_path / "columns.h5")
    with h5py.File(tmp_path / "two.h5", "w") as file:
        file["a"], file["b"] = D, D
    with pytest.raises(ValueError, match="has a, b; expected X, or a single matrix"):
        as_source(tmp_path / "two.h5")
    assert Hdf5Blocks(tmp_path / "two.h5", "b").shape == D.shape
    (tmp_path / "no.h5").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"cannot be opened as HDF5 \(.*\)\. Save it again\."):
        as_source(tmp_path / "no.h5")
    pandas.DataFrame({"a": [1.0], "town": ["x"]}).to_parquet(tmp_path / "words.parquet")
    with pytest.raises(ValueError, match="'town' of words.parquet does not. Leave such columns out"):
        as_source(tmp_path / "words.parquet")
    zarr.save_group(str(tmp_path / "group.zarr"), a=D, b=D)
    with pytest.raises(ValueError, match="is a group of Zarr arrays .*Name one of them"):
        as_source(tmp_path / "group.zarr")
    assert as_source(tmp_path / "group.zarr" / "a").shape == D.shape
    with h5py.File(tmp_path / "gone.h5", "w") as file:
        file["X"] = D
    rows = open_rows(tmp_path / "gone.h5", block=3000)
    (tmp_path / "gone.h5").unlink()
    with pytest.raises(BlockUnreadable, match=r"Block 0 of gone.h5:X \(rows 0 to 40\) cannot be read"):
        rows.moments  # noqa: B018 -- it is computed


@pytest.mark.parametrize("kind", ["category", "datetime64[ns, UTC]"])
def test_parquet_columns_of_types_that_numpy_lacks_are_named(request, tmp_path, kind):
    pandas, _ = need("pandas", request.config), need("pyarrow", request.config)
    frame = pandas.DataFrame({"a": [1.0, 2.0], "kind": ["2026-01-01", "2026-01-02"]}).astype({"kind": kind})
    frame.to_parquet(tmp_path / "kinds.parquet")
    with pytest.raises(ValueError, match="'kind' of kinds.parquet does not. Leave such columns out"):
        as_source(tmp_path / "kinds.parquet")


def test_parquet_with_many_columns_is_read_in_little_memory(request, tmp_path):
    pyarrow, parquet = need("pyarrow", request.config), need("pyarrow.parquet", request.config)
    rows = np.random.default_rng(0).standard_normal((500, 300))
    table = pyarrow.table({f"x{j}": rows[:, j] for j in range(300)})
    parquet.write_table(table, tmp_path / "wide.parquet")
    source = as_source(tmp_path / "wide.parquet")
    usual = pyarrow.default_memory_pool()
    counting = pyarrow.proxy_memory_pool(usual)
    pyarrow.set_memory_pool(counting)
    try:
        assert np.array_equal(source.read(0), rows)
    finally:
        pyarrow.set_memory_pool(usual)
    assert counting.max_memory() < 2 * source.largest

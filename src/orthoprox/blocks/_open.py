"""Which source of blocks belongs to what users have at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from orthoprox._memory import memory as memory_of_machine
from orthoprox.blocks._base import BLOCK, BlockSource, files_of
from orthoprox.blocks.arrays import ArrayBlocks
from orthoprox.blocks.dask import DaskBlocks, is_dask
from orthoprox.blocks.futures import FutureBlocks, are_futures
from orthoprox.blocks.hdf5 import Hdf5Blocks
from orthoprox.blocks.npy import NpyBlocks
from orthoprox.blocks.npz import NpzBlocks
from orthoprox.blocks.parquet import ParquetBlocks
from orthoprox.blocks.zarr import ZarrBlocks

HDF5 = (".h5ad", ".h5", ".hdf5")
ENDINGS = (".npy", ".npz", ".zarr", ".parquet", *HDF5)
"""Of files and folders that are read in blocks."""
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def as_source(data: Any, block: int = BLOCK) -> BlockSource:
    """A source of blocks from what users have at hand.

    Parameters
    ----------
    data : BlockSource, path, list of paths, array or AnnData-like
        A path ends in .npy, .npz, .zarr, .parquet, .h5, .hdf5 or .h5ad, or is a folder of .parquet or .npz files; a
        list is of .npz files, or of Dask futures or delayed objects. Dask arrays and dataframes, Zarr arrays, HDF5
        datasets, ``np.memmap``, NumPy and SciPy arrays, and objects with ``X`` and ``var_names``, also in backed mode.
    block : int
        About the bytes of a block, where the storage leaves the choice.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.blocks import as_source
    >>> as_source(np.ones((100, 3)))
    ArrayBlocks('X', 100 by 3, 1 blocks)
    """
    if isinstance(data, BlockSource):
        return data
    if isinstance(data, (str, Path)):
        return _of_path(Path(data), block)
    if isinstance(data, (list, tuple)) and data and all(isinstance(path, (str, Path)) for path in data):
        return NpzBlocks(tuple(Path(path) for path in data))
    if are_futures(data):
        return FutureBlocks(tuple(data))
    if is_annotated(data):
        source, names = as_source(_disk(data, block), block), tuple(map(str, data.var_names))
        object.__setattr__(source, "names", names)
        return source
    if is_dask(data):
        return DaskBlocks(data)
    inner = getattr(data, "data", None)
    if hasattr(data, "dims") and hasattr(inner, "shape"):  # xarray
        return as_source(inner, block)
    if _is_of(data, "zarr"):
        return ZarrBlocks(data, block)
    if _is_of(data, "h5py") and hasattr(data, "file"):
        return Hdf5Blocks(Path(data.file.filename), data.name.lstrip("/"), block)
    if hasattr(data, "shape") and hasattr(data, "dtype"):
        return ArrayBlocks(data, block)
    raise TypeError(
        f"Data in blocks must be a path, a Dask array or dataframe, a Zarr array, an HDF5 dataset, an array or an "
        f"AnnData object; given {type(data).__name__}."
    )


def _of_path(path: Path, block: int) -> BlockSource:
    name = path.name.lower()
    if not path.exists() and not any(part.suffix in (".zarr", ".h5", ".hdf5") for part in path.parents):
        raise FileNotFoundError(f"There is no file or folder {path}.")
    if name.endswith(HDF5):
        return Hdf5Blocks(path, block=block)
    if name.endswith(".zarr") or any(part.suffix == ".zarr" for part in path.parents):
        return ZarrBlocks(path, block)
    if name.endswith(".npy"):
        return NpyBlocks(path, block)
    if name.endswith(".npz"):
        return NpzBlocks((path,))
    if name.endswith(".parquet") or (path.is_dir() and files_of(path, ".parquet")):
        return ParquetBlocks(path)
    if path.is_dir() and (parts := files_of(path, ".npz")):
        return NpzBlocks(parts)
    raise ValueError(
        f"{path} is not read in blocks: its name must end in {', '.join(ENDINGS)}, or it must be a folder of .parquet "
        "or .npz files. Read a table of text or a workbook first, as with pandas.read_csv, or give it to the command "
        "orthoprox fit."
    )


def _disk(data: Any, block: int) -> Any:
    """The X of an AnnData-like object: of one in backed mode that of its file, which other processes can open."""
    if getattr(data, "isbacked", False) and getattr(data, "filename", None) and not getattr(data, "is_view", False):
        return Hdf5Blocks(Path(data.filename), "X", block)
    return data.X


def is_chunked(data: Any) -> bool:
    """Whether an estimator should read this in blocks, because NumPy could not take it or memory not hold it."""
    if isinstance(data, (str, Path)):
        return is_chunked_path(data)
    if isinstance(data, BlockSource) or is_dask(data) or is_annotated(data):
        return True
    if isinstance(data, (list, tuple)) and data:
        return are_futures(data) or all(_is_path(path) for path in data)
    if _is_of(data, "zarr") or _is_of(data, "h5py"):
        return hasattr(data, "shape")
    if isinstance(data, np.memmap):
        return data.nbytes > memory_of_machine() // 4
    return hasattr(data, "dims") and is_dask(getattr(data, "data", None))


def _is_path(item: Any) -> bool:
    """Whether an item of a list is a file; text only with the name of one, since lists of text may be samples."""
    return isinstance(item, Path) or (isinstance(item, str) and is_chunked_path(item))


def is_chunked_path(path: str | Path) -> bool:
    """Whether the name is that of a file or folder that is read in blocks."""
    name = Path(path)
    inside = any(part.suffix.lower() in (".zarr", ".parquet") for part in name.parents)
    if name.name.lower().endswith(ENDINGS) or inside:
        return True
    return name.is_dir() and any(any(name.glob(f"*{ending}")) for ending in (".parquet", ".npz"))


def is_annotated(data: Any) -> bool:
    """Whether this looks like AnnData: a matrix X with names of observations and variables."""
    return all(hasattr(data, name) for name in ("X", "obs", "var_names"))


def parse_bytes(size: int | float | str) -> int:
    """A number of bytes from words such as "4GB" or "500 MiB".

    Examples
    --------
    >>> from orthoprox.blocks import parse_bytes
    >>> parse_bytes("4GB"), parse_bytes("1.5 MiB")
    (4000000000, 1572864)
    """
    if isinstance(size, (int, float)) and not isinstance(size, bool):
        value = float(size)
    else:
        text = str(size).strip().lower().removesuffix("b").strip()
        digits = text.rstrip("kmgti ")
        try:
            value = float(digits) * UNITS[text[len(digits) :].strip()]
        except (ValueError, KeyError):
            raise ValueError(f"memory must be a number of bytes such as 4GB or 500MiB; given {size!r}.") from None
    if not 1 <= value < 2**62:
        raise ValueError(f"memory must be at least one byte and finite; given {size!r}.")
    return int(value)


def _is_of(data: Any, package: str) -> bool:
    return type(data).__module__.partition(".")[0] == package

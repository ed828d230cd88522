"""Matrices in HDF5, among them the X of an AnnData file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from orthoprox._extras import extra
from orthoprox.blocks._base import BLOCK, BlockSource, check_shape, even_bounds, float_of, stamp_of


@dataclass(frozen=True, eq=False, repr=False)
class Hdf5Blocks(BlockSource):
    """The rows of a matrix in an HDF5 file: a dataset, or a group with data, indices and indptr, as AnnData has.

    Parameters
    ----------
    path : path
    key : str, optional
        The dataset or group; ``X`` if there is one, else the only one.
    block : int
        About the bytes of a block.
    """

    path: Path
    key: str = ""
    block: int = BLOCK

    def __post_init__(self) -> None:
        h5py = extra("h5py", "storage", "Reading HDF5")
        path = Path(self.path).resolve()
        stamp = stamp_of(path)
        try:
            file = h5py.File(path, "r")
        except OSError as error:
            raise ValueError(f"{path} cannot be opened as HDF5 ({error}). Save it again.") from error
        with file:
            key = self.key or _only_key(file, path)
            if key not in file:
                raise ValueError(f"{path} has no {key}; it has {', '.join(file)}.")
            node, label = file[key], f"{path.name}:{key}"
            facts = _csr_facts(node, label, self.block) if hasattr(node, "keys") else _facts(node, label, self.block)
            names = _names(file, facts["shape"][1]) if key == "X" else None
        facts |= {"path": path, "key": key, "label": label, "stamp": stamp, "names": names}
        for name, value in facts.items():
            object.__setattr__(self, name, value)

    def load(self, i: int) -> Any:
        h5py = extra("h5py", "storage", "Reading HDF5")
        first, last = self.bounds[i], self.bounds[i + 1]
        with h5py.File(self.path, "r") as file:
            node = file[self.key]
            if not self.sparse:
                return node[first:last]
            ends = node["indptr"][first : last + 1]
            data, indices = (node[part][int(ends[0]) : int(ends[-1])] for part in ("data", "indices"))
        return csr_array((data, indices, ends - ends[0]), shape=(last - first, self.shape[1]))


def _facts(node: Any, label: str, block: int) -> dict[str, Any]:
    m, n = check_shape(node.shape, label)
    dtype = float_of(node.dtype, label)
    step = min(int(node.chunks[0]), m) if node.chunks else 1
    bounds = even_bounds(m, n * dtype.itemsize, block, step)
    return {"shape": (m, n), "dtype": dtype, "sparse": False, "entries": m * n, "bounds": bounds}


def _csr_facts(node: Any, label: str, block: int) -> dict[str, Any]:
    """Those of a sparse matrix; its blocks have about equally many entries."""
    kind = node.attrs.get("encoding-type", node.attrs.get("h5sparse_format", "csr"))
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    missing = {"data", "indices", "indptr"} - set(node)
    if missing or not kind.startswith("csr"):
        what = f"it lacks {', '.join(sorted(missing))}" if missing else f"it is stored as {kind}"
        raise ValueError(
            f"{label} must be a sparse matrix by rows, with data, indices and indptr; {what}. Save it by rows, as in "
            "adata.X = adata.X.tocsr()."
        )
    ends = node["indptr"][:]
    shape = node.attrs.get("shape", node.attrs.get("h5sparse_shape"))
    shape = (len(ends) - 1, int(np.max(node["indices"][:], initial=-1)) + 1) if shape is None else shape
    m, n = check_shape(shape, label)
    dtype, entries = float_of(node["data"].dtype, label), int(ends[-1])
    wanted = max(1, block // (dtype.itemsize + 4))
    cuts = np.searchsorted(ends, np.arange(wanted, entries, wanted))
    bounds = sorted({0, m, *(int(cut) for cut in cuts if 0 < cut < m)})
    return {"shape": (m, n), "dtype": dtype, "sparse": True, "entries": entries, "bounds": tuple(bounds)}


def _only_key(file: Any, path: Path) -> str:
    if "X" in file:
        return "X"
    names = [name for name in file if hasattr(file[name], "shape") or "indptr" in file[name]]
    if len(names) != 1:
        raise ValueError(
            f"{path} has {', '.join(file) or 'nothing'}; expected X, or a single matrix. Name one, as in "
            f"Hdf5Blocks({path.name!r}, key=...)."
        )
    return str(names[0])


def _names(file: Any, n: int) -> tuple[str, ...] | None:
    """The names of the variables of an AnnData file."""
    var = file.get("var")
    if var is None or not hasattr(var, "attrs"):
        return None
    index = var.attrs.get("_index", "index")
    if index not in var or len(var[index]) != n:
        return None
    return tuple(name.decode() if isinstance(name, bytes) else str(name) for name in var[index][:])

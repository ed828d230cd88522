"""Dask arrays and dataframes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoprox._extras import extra
from orthoprox.blocks._base import BlockSource, check_shape, float_of


@dataclass(frozen=True, eq=False, repr=False)
class DaskBlocks(BlockSource):
    """The rows of a Dask array or dataframe; a chunk of rows, or a partition, is a block.

    A dataframe does not know how long its partitions are; they are counted once, and so are chunks of unknown length.

    Parameters
    ----------
    collection : dask.array.Array or dask.dataframe.DataFrame
    """

    collection: Any

    def __post_init__(self) -> None:
        dask = extra("dask", "cluster", "Reading Dask collections")
        frame = not hasattr(self.collection, "chunks")
        found = _from_frame(self.collection) if frame else self.collection
        if found.ndim != 2:
            raise ValueError(f"A Dask array must have two dimensions, samples in rows; given {found.ndim}.")
        names = tuple(map(str, self.collection.columns)) if frame else None
        rows = found.chunks[0]
        if any(np.isnan(rows)):
            rows = dask.compute(*(dask.delayed(len)(part) for part in found.to_delayed()[:, 0]))
        elif len(found.chunks[1]) > 1:
            found = found.rechunk({1: -1})
        kept = [k for k, length in enumerate(rows) if length]
        bounds = np.concatenate([[0], np.cumsum([int(rows[k]) for k in kept])])
        m, n = check_shape((int(bounds[-1]), found.shape[1]), "The Dask collection")
        sparse = hasattr(found._meta, "tocsr")
        dtype = float_of(found.dtype, "The Dask collection")
        parts = found.to_delayed()[:, 0]
        facts: dict[str, Any] = {"shape": (m, n), "dtype": dtype, "sparse": sparse, "names": names, "entries": m * n}
        facts |= {"bounds": tuple(int(b) for b in bounds), "label": "the Dask collection", "stamp": ()}
        if sparse:  # what a sample stores, which is enough for the sizes of things
            facts["entries"] = int(dask.compute(parts[kept[0]])[0].nnz * m / int(rows[kept[0]]))
        for name, value in {**facts, "_parts": tuple(parts[k] for k in kept)}.items():
            object.__setattr__(self, name, value)

    def load(self, i: int) -> Any:
        # a thread of ours is waiting for this: a pool of Dask's own in it would only compete with the others
        block = self.delayed(i).compute(scheduler="synchronous")
        return block if hasattr(block, "tocsr") else np.asarray(block)

    def delayed(self, i: int) -> Any:
        return self._parts[i]  # type: ignore[attr-defined]  # set above


def _from_frame(frame: Any) -> Any:
    """The array of a dataframe whose columns all hold numbers."""
    words = [str(name) for name, kind in frame.dtypes.items() if getattr(kind, "kind", "O") not in "fiub"]
    if words:
        verb = "do" if len(words) > 1 else "does"
        raise ValueError(
            f"Every column must hold numbers; {', '.join(map(repr, words))} of this frame {verb} not. Leave such "
            "columns out, or encode them as numbers."
        )
    return frame.to_dask_array()


def is_dask(data: Any) -> bool:
    """Whether this is a Dask array or dataframe; nothing is imported for it."""
    kind = type(data)  # a delayed object has every attribute that it is asked for
    return hasattr(kind, "__dask_graph__") and (hasattr(kind, "chunks") or hasattr(kind, "npartitions"))

"""Blocks that Dask computes, or has computed: futures and delayed objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoprox._extras import extra
from orthoprox.blocks._base import BlockSource, check_shape, float_of, is_sparse


@dataclass(frozen=True, eq=False, repr=False)
class FutureBlocks(BlockSource):
    """Rows in a list of futures or delayed objects, each a block: an array or a sparse matrix.

    Shapes are asked for once, where the blocks are. Delayed objects are computed again for every product, unless a
    cluster holds them.

    Parameters
    ----------
    parts : sequence of distributed.Future or dask.delayed objects
    """

    parts: tuple[Any, ...]

    def __post_init__(self) -> None:
        dask = extra("dask", "cluster", "Reading futures")
        parts, label = tuple(self.parts), "the list of futures"
        found = [_facts_of(part, dask) for part in parts]
        kinds = {(shape[1:], sparse) for shape, _, sparse, _ in found}
        if len(kinds) > 1:
            raise ValueError(
                f"Blocks of one matrix must agree in columns, and be all dense or all sparse; given {sorted(kinds)}."
            )
        bounds = np.concatenate([[0], np.cumsum([shape[0] for shape, *_ in found])])
        m, n = check_shape((bounds[-1], *found[0][0][1:]), label)
        dtype = np.result_type(*(float_of(dtype, label) for _, dtype, _, _ in found))
        facts: dict[str, Any] = {"parts": parts, "shape": (m, n), "dtype": dtype, "sparse": found[0][2], "names": None}
        facts |= {"bounds": tuple(int(b) for b in bounds), "entries": sum(entries for *_, entries in found)}
        for name, value in {**facts, "label": label, "stamp": ()}.items():
            object.__setattr__(self, name, value)

    def load(self, i: int) -> Any:
        part = self.parts[i]
        return part.result() if is_future(part) else part.compute(scheduler="synchronous")

    def delayed(self, i: int) -> Any:
        return self.parts[i]


def _facts_of(part: Any, dask: Any) -> tuple[tuple[int, ...], Any, bool, int]:
    """Shape, dtype, whether it is sparse, and how many entries are stored."""
    if is_future(part):
        found: tuple[tuple[int, ...], Any, bool, int] = part.client.submit(_facts, part).result()
        return found
    (found,) = dask.compute(dask.delayed(_facts)(part))
    return found


def _facts(block: Any) -> tuple[tuple[int, ...], Any, bool, int]:
    sparse = is_sparse(block)
    return tuple(block.shape), block.dtype, sparse, int(block.nnz if sparse else block.size)


def is_future(part: Any) -> bool:
    """Whether this is a future of a cluster."""
    return type(part).__module__.partition(".")[0] == "distributed" and hasattr(type(part), "result")


def are_futures(data: Any) -> bool:
    """Whether this is a list of futures or of delayed objects."""
    if not isinstance(data, (list, tuple)) or not data:
        return False
    return all(is_future(part) or type(part).__module__ == "dask.delayed" for part in data)

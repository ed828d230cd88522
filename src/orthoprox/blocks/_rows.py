"""The rows of a matrix, wherever they are: tasks go to them and results come back."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from orthoprox._fields import cached_property
from orthoprox._memory import check_memory
from orthoprox._memory import memory as memory_of_machine
from orthoprox._types import Array
from orthoprox.blocks._base import BLOCK, BlockSource
from orthoprox.blocks._local import Local
from orthoprox.blocks._moments import TREE, Moments, MomentsOf
from orthoprox.blocks._open import as_source, parse_bytes
from orthoprox.blocks._tasks import Centring, Task
from orthoprox.blocks._traffic import Meter, Traffic
from orthoprox.blocks._tree import GROUPS, grouped
from orthoprox.blocks.dask import DaskBlocks
from orthoprox.blocks.futures import FutureBlocks

SHARE = 4
"""The part of the memory of the machine, one over this, that blocks may take unless a budget is given."""
FORMED = 20_000
"""The most columns of a matrix B'B that is formed."""
MATRICES = 8
"""How many matrices of n by n there are at a time when one is formed and used: sums, their root, samples, copies."""
PRODUCTS = 200
"""Products of a fit, to compare them with forming B'B."""
COLUMNS = 20
"""Of X, as many as is usual."""
SLICES = 32
"""Blocks in a budget, at least: several are in work, each with its copy."""
LEAST = 2**16
"""Bytes of the smallest blocks into which data are cut for several threads or workers."""
_VERY_FAR = 1e4  # from which on means of blocks would lose four digits of twelve
_FAR = 100.0  # spreads that a mean lies from zero, from which on two digits would be lost


class Runner(Protocol):
    """Where tasks run."""

    workers: int

    def total(self, task: Task, groups: Any) -> Any: ...
    def stack(self, task: Task, groups: Any) -> Any: ...
    def close(self) -> None: ...


class Rows:
    """The rows of a matrix B that are read, or held by a cluster, block by block.

    ``open_rows`` makes them. Estimators and maps take them in the place of data.

    Parameters
    ----------
    source : BlockSource
    runner : callable
        Of the source and a meter: where tasks run.
    memory : int
        The budget in bytes.
    form : bool, optional
        Whether B'B is formed, once, for what follows to need no pass over the data; chosen by cost when not given.
    """

    def __init__(
        self, source: BlockSource, runner: Callable[[BlockSource, Meter], Runner], memory: int, form: bool | None = None
    ) -> None:
        self.source, self.memory, self.form = source, memory, form
        self._meter = Meter()
        self._runner = runner(source, self._meter)
        self._groups = grouped(source.count, self._runner.workers)

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.source.dtype

    @property
    def traffic(self) -> Traffic:
        """Blocks, bytes and seconds so far."""
        return self._meter.traffic

    def watch(self, observer: Callable[[Traffic], None] | None) -> Callable[[Traffic], None] | None:
        """Call a function with the traffic after every block; the one that was called until now."""
        before, self._meter.watch = self._meter.watch, observer
        return before

    def total(self, task: Task) -> Any:
        """The results of a task for all blocks, merged in the order of a fixed tree."""
        return self._runner.total(task, self._groups)

    def stack(self, task: Task) -> Array:
        """The results of a task for all blocks, one below the other."""
        return np.concatenate(list(self._runner.stack(task, self._groups)), axis=0)

    def close(self) -> None:
        """Let a cluster forget the rows."""
        self._runner.close()

    @cached_property
    def moments(self) -> Moments:
        """Means and spreads of all columns."""
        known = vars(self).get("second")
        return known if known is not None else self._moments(whole=False)

    @cached_property
    def second(self) -> Moments:
        """The same with all sums of products, B'B about the mean."""
        return self._moments(whole=True)

    def _moments(self, *, whole: bool) -> Moments:
        if whole:
            check_memory(2 * self.shape[1] ** 2, f"B'B for {self.shape[1]} columns")
        wide = whole and self.shape[1] ** 2 > TREE
        found: Moments = self.total(MomentsOf(whole, 0, wide))
        top = float(np.max(found.top))
        if not np.all(np.isfinite(found.squares)) or 0 < top < 1e-140:  # squares beyond the range: once more
            found = self.total(MomentsOf(whole, math.frexp(top)[1] - 1, wide))
        spread, size = np.sqrt(found.diagonal / found.rows), np.abs(found.mean)
        far = (size > _VERY_FAR * spread) & (spread > 16 * np.finfo(np.float64).eps * size)  # but not constant
        if np.any(far):  # the digits of differences of means are few: once more, about a point nearby
            shift = np.where(far, found.mean, 0.0)
            found = self.total(MomentsOf(whole, found.exponent, wide, shift))
            found.mean += shift
        return found

    @cached_property
    def centring(self) -> Centring:
        """What centres the rows: the mean, and which columns lie so far from zero that they are centred one by one."""
        found = self.moments
        mean = np.ldexp(found.mean, found.exponent)
        with np.errstate(over="ignore"):
            far = np.abs(found.mean) > _FAR * np.sqrt(found.diagonal / found.rows)
        if self.source.sparse:
            far &= found.stored == found.rows
        return Centring(mean, far if np.any(far) else None)

    @property
    def forms(self) -> bool:
        """Whether B'B is to be formed: as asked for, or if it fits and takes less time than the products of a fit."""
        if self.form is not None:
            return self.form
        m, n = self.shape
        if n > FORMED or 8 * MATRICES * n * n > self.memory:
            return False
        filled = self.source.entries / (m * n)
        multiplications = m * n * n * min(1.0, 200.0 * filled**2)  # sparse ones take two hundred times as long
        return multiplications / 3e10 <= PRODUCTS * self.source.bytes / 1e9

    def __repr__(self) -> str:
        return f"Rows({self.source!r}, {self._runner.workers} workers)"


def open_rows(
    data: Any,
    *,
    memory: int | float | str | None = None,
    client: Any = None,
    form: bool | None = None,
    block: int | float | str | None = None,
) -> Rows:
    """Open data that are read in blocks, in this process or by a cluster.

    Parameters
    ----------
    data : path, Dask array or dataframe, Zarr array, HDF5 dataset, array or AnnData-like
        Samples in rows; see ``as_source``.
    memory : int or str, optional
        What blocks and their results may take in this process, as in ``"4GB"``; a quarter of the memory by default.
    client : distributed.Client or str, optional
        A cluster, or the address of its scheduler: the rows are held in the memory of its workers. Dask collections use
        the client that is current, if there is one; ``client=False`` reads them in this process.
    form : bool, optional
        Whether B'B is formed once; chosen by cost when not given.
    block : int or str, optional
        About the bytes of a block, where the storage leaves the choice.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np
    >>> from orthoprox import SparsePCA
    >>> from orthoprox.blocks import open_rows
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "rows.npy"
    >>> np.save(file, np.random.default_rng(0).standard_normal((1000, 6)) * [3, 3, 1, 1, 1, 1])
    >>> rows = open_rows(file, memory="100MB")
    >>> rows.moments.mean.shape, rows.forms
    ((6,), True)
    >>> SparsePCA(n_components=2, n_nonzero=2).fit(rows).n_nonzero_
    array([1, 1])
    """
    if isinstance(data, Rows):
        return data
    budget = memory_of_machine() // SHARE if memory is None else parse_bytes(memory)
    size = BLOCK if block is None else parse_bytes(block)
    source = as_source(data, size)
    found = (_current_client(source) if client is None else client) or None
    # a cluster has the memory of its workers, whatever the budget here
    most = budget if found is None else BLOCK * SLICES
    if block is None and (better := _block_size(source, most)) != size:
        source = as_source(data, better)
    if found is None:
        _check_budget(source, budget)
        return Rows(source, lambda source, meter: Local(source, budget, meter), budget, form)
    from orthoprox.blocks._cluster import Cluster

    return Rows(source, lambda source, meter: Cluster(source, found, meter), budget, form)


def _block_size(source: BlockSource, budget: int) -> int:
    """Enough blocks for several to share, but none smaller than two results of a product, within the budget."""
    least = max(LEAST, 2 * 8 * COLUMNS * source.shape[1])
    return max(2**10, min(max(least, min(BLOCK, source.bytes // GROUPS)), budget // SLICES))


def _current_client(source: BlockSource) -> Any:
    """The client that a user of Dask collections has started; nobody else's data go to a cluster unasked."""
    if not isinstance(source, (DaskBlocks, FutureBlocks)) or "distributed" not in sys.modules:
        return None
    try:
        return sys.modules["distributed"].default_client()
    except ValueError:
        return None


def _check_budget(source: BlockSource, budget: int) -> None:
    copies = MomentsOf(whole=False).copies(source.sparse)
    if copies * source.largest > budget:
        raise ValueError(
            f"A block of {source.label} takes about {source.largest / 1e6:.3g} MB, and with what is computed of it "
            f"{copies} times that; the budget is {budget / 1e6:.3g} MB. Raise memory, or store the data in smaller "
            "chunks."
        )
    # With less, blocks would be single rows, and a pass over many rows would hardly end.
    least = 4 * 8 * COLUMNS * source.shape[1]
    if least > budget:
        raise ValueError(
            f"A budget of {budget / 1e6:.3g} MB is too small for rows of {source.shape[1]} entries: a block and what "
            f"comes of it take at least {least / 1e6:.3g} MB. Raise memory."
        )

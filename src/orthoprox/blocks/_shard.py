"""What a worker holds: some groups of blocks, and how it answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoprox._extras import extra
from orthoprox.blocks._base import BlockSource, size_of
from orthoprox.blocks._tasks import Task
from orthoprox.blocks._tree import Parts, Tree

Group = tuple[int, tuple[int, ...]]
"""The number of a group, a leaf of the tree, and its blocks."""


@dataclass(frozen=True)
class Node:
    """A shard in the tree of a product: where it is, and those it asks in turn."""

    address: str
    key: str
    below: tuple[Node, ...] = ()
    blocks: tuple[int, ...] = ()
    """What it holds, where a task is cut to that."""

    @property
    def every(self) -> list[Node]:
        """This one and all below it."""
        return [self, *(node for child in self.below for node in child.every)]


@dataclass(frozen=True)
class Reply:
    """What a shard and those below it have found, or the error of a task; and how long each took."""

    parts: Parts
    seconds: dict[str, float]
    error: Exception | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Given(BlockSource):
    """Blocks that Dask has computed: what a worker has to know of them to put them into their form."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    bounds: tuple[int, ...]
    label: str

    def load(self, i: int) -> Any:
        raise NotImplementedError


class Shard:
    """Blocks in the memory of a worker: a Dask actor.

    Parameters
    ----------
    source : BlockSource
    groups : sequence of groups
    given : sequence of blocks, optional
        Their blocks where Dask has computed them; else they are read here.
    """

    def __init__(self, source: BlockSource, groups: Sequence[Group], given: Sequence[Any] | None = None) -> None:
        self._first = source.bounds
        wanted = [i for _, blocks in groups for i in blocks]
        if given is None:
            self._blocks = {i: source.read(i) for i in wanted}
        else:
            self._blocks = {i: source.convert(_bare(raw), i) for i, raw in zip(wanted, given, strict=True)}
        self._groups = list(groups)

    async def hold(self) -> int:
        """The bytes of all blocks: an answer at all says that they are here, also while a product is computed."""
        return sum(map(size_of, list(self._blocks.values())))

    def drop(self, groups: Sequence[int]) -> None:
        """Forget some groups, which another shard has taken over."""
        gone = set(groups)
        for k, blocks in self._groups:
            for i in blocks if k in gone else ():
                del self._blocks[i]
        self._groups = [group for group in self._groups if group[0] not in gone]

    async def total(self, task: Task, leaves: int, node: Node) -> Reply:
        """The merged results of this shard and those below it; all work at the same time."""
        worker = extra("distributed", "cluster", "A cluster").get_worker()
        below = [asyncio.ensure_future(ask(worker.rpc, child, task, leaves, self._first)) for child in node.below]
        try:
            loop = asyncio.get_running_loop()
            own = await loop.run_in_executor(
                worker.executors["actor"], self._total, task, leaves, node, worker.state.nthreads
            )
            return _merged(task, leaves, [own, *(await asyncio.gather(*below))])
        finally:
            for asked in below:
                asked.cancel()

    def stack(self, task: Task) -> Any:
        """The results of all blocks by their numbers, or the error of the task."""
        try:
            return {i: task(block, self._first[i]) for i, block in self._blocks.items()}
        except Exception as error:
            return error

    def _total(self, task: Task, leaves: int, node: Node, threads: int) -> Reply:
        since = time.perf_counter()
        try:
            parts = self._parts(task, leaves, threads)
        except Exception as error:
            return Reply({}, {}, error)
        return Reply(parts, {node.address: time.perf_counter() - since})

    def _parts(self, task: Task, leaves: int, threads: int) -> Parts:
        tree = Tree(leaves, task.merge)
        groups = sorted(self._groups)
        if task.flat:
            groups = [(0, tuple(i for _, blocks in groups for i in blocks))]
        if threads > 1 and len(groups) > 1:
            with ThreadPoolExecutor(threads) as pool:
                values = list(pool.map(lambda group: self._fold(task, group[1]), groups))
        else:
            values = [self._fold(task, blocks) for _, blocks in groups]
        for (k, _), value in zip(groups, values, strict=True):
            tree.add((0, k), value)
        return tree.parts

    def _fold(self, task: Task, blocks: Sequence[int]) -> Any:
        value = task(self._blocks[blocks[0]], self._first[blocks[0]])
        for i in blocks[1:]:
            value = task.merge(value, task(self._blocks[i], self._first[i]))
        return value


def _merged(task: Task, leaves: int, replies: Sequence[Reply]) -> Reply:
    """Several replies as one."""
    error = next((reply.error for reply in replies if reply.error is not None), None)
    if error is not None:
        return Reply({}, {}, error)
    seconds: dict[str, float] = {}
    for reply in replies:  # a worker may hold two shards, which take turns
        seconds |= {address: seconds.get(address, 0.0) + s for address, s in reply.seconds.items()}
    if task.flat:
        values = [value for reply in replies for value in reply.parts.values()]
        total = values[0]
        for value in values[1:]:
            total = task.merge(total, value)
        return Reply({(0, 0): total}, seconds)
    tree = Tree(leaves, task.merge)
    for reply in replies:
        tree.extend(reply.parts)
    return Reply(tree.parts, seconds)


async def ask(rpc: Any, node: Node, task: Task, leaves: int, bounds: Sequence[int]) -> Reply:
    """Ask a shard for its total, with what of the task it and those below it need.

    It is called by its address rather than through the handle of the actor, which waits for ever for an answer when the
    worker dies at the wrong moment; this raises.
    """
    if task.by_rows:
        task = task.of([(bounds[i], bounds[i + 1]) for one in node.every for i in one.blocks])
    answer: Reply = await call(rpc, node, "total", task, leaves, node)
    return answer


async def call(rpc: Any, node: Node, function: str, *args: Any) -> Any:
    """Call a function of a shard."""
    wrap = extra("distributed.protocol", "cluster", "A cluster").to_serialize
    found = await rpc(node.address).actor_execute(
        actor=node.key, function=function, args=[wrap(arg) for arg in args], kwargs={}
    )
    if found["status"] != "OK":
        raise ConnectionError(f"{node.address} failed ({found['exception']}).")
    return found["result"]


def _bare(raw: Any) -> Any:
    """A block of a dataframe or of an array as an array."""
    return raw if hasattr(raw, "tocsr") else np.asarray(raw)

"""Blocks that the workers of a Dask cluster hold in memory.

A product is one round trip: X goes to one worker and from there on down a tree of workers, partial sums come back up
the same tree. Sums are those of a fixed tree over the groups of blocks, so that it does not matter to any digit which
worker holds which: groups of a lost worker are read again elsewhere and the product is done again.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from orthoprox._extras import extra
from orthoprox.blocks._base import BlockSource
from orthoprox.blocks._errors import ClusterLost
from orthoprox.blocks._placing import Placing
from orthoprox.blocks._shard import Given, Group, Node, Reply, Shard, ask, call
from orthoprox.blocks._tasks import Task
from orthoprox.blocks._traffic import Meter
from orthoprox.blocks._tree import Tree
from orthoprox.blocks.arrays import ArrayBlocks
from orthoprox.blocks.dask import DaskBlocks
from orthoprox.blocks.futures import FutureBlocks, is_future

FULL = 0.6
"""The share of a worker's memory that rows may take: from there on Dask begins to slow it down."""
PATIENCE = 60.0
"""Seconds to wait for workers: a nanny starts another one in the place of one that was killed."""
CONNECT = 10.0
"""Seconds to look for the scheduler at an address."""
ANSWER = 15.0
"""Seconds in which a worker that is there says so, however busy it is."""
LOOK = 2.0
"""Seconds between two looks whether workers have joined or left."""
LEAVING = {"closing_gracefully", "closing", "closed"}
"""States in which the scheduler still names a worker that takes no more tasks."""
TRIES = 5
"""How often one product is begun before the cluster is given up."""


class Cluster:
    """Runs tasks where the rows are.

    Parameters
    ----------
    source : BlockSource
    client : distributed.Client or str
        A client, or the address of a scheduler.
    meter : Meter
    """

    def __init__(self, source: BlockSource, client: Any, meter: Meter) -> None:
        distributed = extra("distributed", "cluster", "A cluster")
        self._client, self._own = (client, False) if hasattr(client, "submit") else (_connect(client), True)
        self._source, self._meter, self._distributed = source, meter, distributed
        self._placing: Placing | None = None
        self._futures: dict[str, Any] = {}
        self._looked = 0.0
        self._lost: ClusterLost | None = None
        self._rpc: Callable[[str], Any] | None = None
        self.workers = max(1, len(self._wait_for_workers(lambda alive: bool(alive))))

    # ------------------------------------------------------------------ tasks

    def total(self, task: Task, groups: Sequence[Sequence[int]]) -> Any:
        """The results of all blocks merged."""
        leaves = 1 if task.flat else len(groups)
        placing = self._ready(groups)
        reply: Reply = self._persist(lambda: self._ask(placing.tree(task.by_rows), task, leaves))
        if reply.error is not None:
            raise reply.error
        placing.learn(reply.seconds)
        tree = Tree(leaves, task.merge)
        tree.extend(reply.parts)
        return tree.root

    def stack(self, task: Task, groups: Sequence[Sequence[int]]) -> Iterator[Any]:
        """The results of all blocks, in order."""
        placing = self._ready(groups)
        found: dict[int, Any] = {}
        for part in self._persist(lambda: self._stack(placing.nodes, task)):
            if isinstance(part, Exception):
                raise part
            found |= part
        yield from (found[i] for i in range(self._source.count))

    def close(self) -> None:
        """Let the workers forget the rows."""
        self._futures.clear()
        self._placing = None
        if self._own:
            self._client.close()

    async def _all(self, nodes: Sequence[Node], function: str, *args: Any) -> list[Any]:
        return list(await asyncio.gather(*(call(self._rpc, node, function, *args) for node in nodes)))

    def _ask(self, root: Node, task: Task, leaves: int) -> Any:
        """One round trip."""
        return self._watched(lambda: ask(self._rpc, root, task, leaves, self._source.bounds), root.every)

    def _stack(self, nodes: Sequence[Node], task: Task) -> Any:
        return self._watched(lambda: self._all(nodes, "stack", task), nodes)

    def _watched(self, begin: Callable[[], Any], nodes: Sequence[Node]) -> Any:
        """Wait for an answer of shards; it ends with an error if a worker of them has gone, whoever notices."""

        async def wait() -> Any:
            asked = asyncio.ensure_future(begin())
            addresses = {node.address for node in nodes}
            try:
                while not asked.done():
                    await asyncio.wait({asked}, timeout=LOOK)
                    if not asked.done() and not addresses <= set(await self._identity()):
                        raise ConnectionError("A worker has gone.")
                return asked.result()
            finally:
                asked.cancel()

        return self._sync(wait())

    def _persist(self, act: Callable[[], Any]) -> Any:
        """Do something with all shards; where some have gone, read their rows elsewhere and do it again."""
        for attempt in range(TRIES):
            self._meter.begin(self._source.count, self.workers)
            try:
                value = act()
            except (OSError, KeyError, RuntimeError, TimeoutError, asyncio.CancelledError) as error:
                if isinstance(error, ClusterLost):
                    raise
                last = error
                time.sleep(0.1 * attempt)
                self._restore()
                continue
            self._meter.count(self._source.count, self._source.bytes)
            self._meter.end()
            return value
        raise ClusterLost(
            f"A product was begun {TRIES} times, and each time a worker was lost ({_words(last)}). Workers too small "
            "for their rows are killed again and again: add workers, or give them more memory."
        ) from last

    # ------------------------------------------------------------------ where rows are

    def _ready(self, groups: Sequence[Sequence[int]]) -> Placing:
        """Where all groups are; they are shared out now if they are nowhere yet, and again if workers have joined."""
        if self._placing is None:
            self._placing = Placing([(k, tuple(group)) for k, group in enumerate(groups)])
            self._restore()
        elif time.monotonic() > self._looked + LOOK:
            self._looked = time.monotonic()
            alive = self._alive()
            if len(_taking(alive)) == len(alive):  # where memory is short nothing is moved about
                for moved, address in self._put(self._placing.moves(alive)):
                    self._drop(moved, address)
            self.workers = len({node.address for node in self._placing.nodes})
        return self._placing

    def _restore(self) -> None:
        """Put every group that no worker holds on one that is there."""
        placing = self._placing
        assert placing is not None
        until = time.monotonic() + PATIENCE
        while True:
            self._forget_lost()
            if not placing.homeless:
                break
            alive = self._wait_for_workers(self._is_enough, until)
            self._put(placing.homes(_taking(alive)))
            if time.monotonic() > until and placing.homeless:
                raise ClusterLost("Workers go as fast as rows are read: some rows found no worker to stay on.")
        self.workers = len({node.address for node in placing.nodes})

    def _forget_lost(self) -> None:
        """Ask every shard whether it is there, if the scheduler knows its worker: one that died would not answer."""
        placing = self._placing
        assert placing is not None
        nodes = list(placing.nodes)
        if not nodes:
            return
        alive = self._alive()

        async def look(node: Node) -> Any:
            if node.address not in alive:
                raise ConnectionError(f"{node.address} has gone.")
            return await asyncio.wait_for(call(self._rpc, node, "hold"), ANSWER)

        async def look_at_all() -> list[Any]:
            return list(await asyncio.gather(*map(look, nodes), return_exceptions=True))

        for node, answer in zip(nodes, self._sync(look_at_all()), strict=True):
            if isinstance(answer, BaseException):
                placing.lose(node)
                self._futures.pop(node.key, None)

    def _put(self, shares: Sequence[tuple[list[Group], str]]) -> list[tuple[list[Group], str]]:
        """Make a shard on each worker, all at the same time; those that worked, not those whose worker has gone."""
        asked = []
        for groups, address in shares:
            try:
                asked.append((groups, address, self._submit(groups, address)))
            except (OSError, TimeoutError, ValueError):  # rows sent to one that has just gone, or has no room for them
                if address in _taking(self._alive()):
                    raise
        assert self._placing is not None
        made = []
        for groups, address, future in asked:
            if self._arrives(future, address):
                node = Node(address, future.key)
                self._futures[node.key] = future
                self._placing.place(node, groups)
                made.append((groups, address))
        return made

    def _submit(self, groups: Sequence[Group], address: str) -> Any:
        """Begin to make a shard: the worker reads its rows, Dask computes them for it, or they go there from here."""
        client, source, given = self._client, self._source, None
        light: BlockSource = source
        numbers = [i for _, blocks in groups for i in blocks]
        if isinstance(source, (ArrayBlocks, DaskBlocks, FutureBlocks)):
            light = Given(source.shape, source.dtype, source.bounds, source.label)
        if isinstance(source, ArrayBlocks):  # and not the whole array to everybody
            given = client.scatter([source.read(i) for i in numbers], workers=[address], hash=False)
        elif light is not source:
            parts = [source.delayed(i) for i in numbers]
            given = [part if is_future(part) else client.compute(part) for part in parts]
        return client.submit(
            Shard, light, list(groups), given, actor=True, workers=[address], allow_other_workers=False, pure=False
        )

    def _arrives(self, future: Any, address: str) -> bool:
        """Wait for a shard; False if its worker has gone meanwhile, or is short of memory and begins nothing new."""
        looked = took = time.monotonic()
        pause = 1e-3
        while not future.done():
            time.sleep(pause)
            pause = min(2 * pause, 0.1)
            if time.monotonic() > looked + LOOK:
                looked, alive = time.monotonic(), self._alive()
                took = looked if address in _taking(alive) else took
                if address not in alive or looked > took + ANSWER:
                    future.cancel()
                    return False
        return True if future.status == "finished" else self._refuse(future, address)

    def _refuse(self, future: Any, address: str) -> bool:
        """Raise the error of reading rows, unless it is that of a worker which has gone."""
        error = future.exception()
        if address not in self._alive() or "lost" in str(error) or isinstance(error, self._distributed.KilledWorker):
            return False
        raise error

    def _drop(self, groups: Sequence[Group], address: str) -> None:
        """Let those that held groups before forget them, now that another one has them."""
        assert self._placing is not None
        for node, gone in self._placing.leave(groups, address):
            if not self._placing.holds(node):
                self._placing.empty(node)
                self._futures.pop(node.key, None)
                continue
            try:
                self._watched(functools.partial(call, self._rpc, node, "drop", gone), [node])
            except OSError:  # it has gone altogether, which the next product will notice
                continue

    # ------------------------------------------------------------------ who is there

    def _alive(self) -> dict[str, Any]:
        """The workers and what they have."""
        return dict(self._sync(self._identity()))

    async def _identity(self) -> dict[str, Any]:
        try:
            found = await asyncio.wait_for(self._client.scheduler.identity(n_workers=-1), ANSWER)
        except TypeError:  # older releases always tell of all
            found = await asyncio.wait_for(self._client.scheduler.identity(), ANSWER)
        # One that is about to leave takes no more work: rows sent there would be waited for in vain.
        return {address: info for address, info in found["workers"].items() if info.get("status") not in LEAVING}

    def _is_enough(self, alive: dict[str, Any]) -> bool:
        taking = _taking(alive)
        return bool(taking) and self._source.bytes <= FULL * sum(_memory(info) for info in taking.values())

    def _wait_for_workers(self, enough: Callable[[dict[str, Any]], bool], until: float | None = None) -> dict[str, Any]:
        """The workers, when there are enough; a sentence if there are not."""
        until = time.monotonic() + ANSWER if until is None else until
        began = self._placing is not None and bool(self._placing.seen)
        while True:
            alive = self._alive()
            if enough(alive):
                return alive
            may_come = began or len(_taking(alive)) < len(alive)
            if (alive and not may_come) or time.monotonic() > until:
                break
            time.sleep(0.2)
        if began:
            raise ClusterLost(
                f"Too few workers are left, and none came back within {PATIENCE:.0f} s. {self._lack(alive)}"
            )
        raise ValueError(self._lack(alive))

    def _lack(self, alive: dict[str, Any]) -> str:
        """What the rows take, what there is, and what to do."""
        have = sum(_memory(info) for info in alive.values())
        paused = len(alive) - len(_taking(alive))
        full = f"; {paused} of them take nothing more, since their memory is nearly full" if paused else ""
        return (
            f"The rows of {self._source.label} take {self._source.bytes / 1e9:.3g} GB; the {len(alive)} workers of the "
            f"cluster have {have / 1e9:.3g} GB, of which rows may take {FULL:.0%}{full}. Add workers, or leave the "
            "cluster out: rows are then read from their storage for every product."
        )

    def _sync(self, coroutine: Any) -> Any:
        """Run a coroutine on the loop of the client; a scheduler that does not answer ends the run with a sentence."""

        async def run() -> Any:
            if self._rpc is None:
                self._rpc = await self._reach()
            return await coroutine

        client = self._client
        if self._lost is not None or client.status not in ("running", "connecting"):
            coroutine.close()  # whoever asks once more, as a checkpoint does, is not kept waiting
            raise self._lost or self._gone(None)
        try:
            return client.sync(run)
        except (OSError, TimeoutError, asyncio.CancelledError) as error:
            if not self._answers():
                raise self._gone(error) from error
            raise

    def _answers(self) -> bool:
        """Whether the scheduler does, now."""

        async def probe() -> Any:
            return await asyncio.wait_for(self._client.scheduler.identity(), ANSWER)

        try:
            self._client.sync(probe)
        except Exception:
            return False
        return bool(self._client.status == "running")

    async def _reach(self) -> Callable[[str], Any]:
        """How to call a worker: directly, or through the scheduler where workers cannot be reached from here."""
        client = self._client
        workers = await self._identity()
        try:
            for address in list(workers)[:1]:
                await asyncio.wait_for(client.rpc(address).identity(), LOOK)
        except (OSError, TimeoutError):
            proxy = extra("distributed.actor", "cluster", "A cluster").ProxyRPC
            return lambda address: proxy(client.scheduler, address)
        rpc: Callable[[str], Any] = client.rpc
        return rpc

    def _gone(self, error: BaseException | None) -> ClusterLost:
        self._lost = ClusterLost(
            f"The scheduler of the cluster does not answer{'' if error is None else f' ({_words(error)})'}. Start a "
            "cluster again and go on from the checkpoint, if the run has one: solve(..., resume=file)."
        )
        return self._lost


def _connect(address: str) -> Any:
    """A client of the scheduler at an address."""
    try:
        return extra("distributed", "cluster", "A cluster").Client(address, timeout=CONNECT)
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterLost(
            f"There is no scheduler at {address} ({_words(error)}). Start one with dask scheduler, or name another."
        ) from error


def _taking(alive: dict[str, Any]) -> dict[str, Any]:
    """The workers that begin new tasks: one that is short of memory answers, but begins nothing."""
    return {address: info for address, info in alive.items() if info.get("status") != "paused"}


def _memory(info: dict[str, Any]) -> int:
    """What a worker may hold; one without a limit says 0."""
    return int(info.get("memory_limit") or 2**62)


def _words(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__

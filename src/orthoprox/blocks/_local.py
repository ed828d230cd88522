"""Blocks that threads of this process read ahead of the products."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from orthoprox.blocks._base import BlockSource, size_of
from orthoprox.blocks._tasks import Task
from orthoprox.blocks._traffic import Meter
from orthoprox.blocks._tree import GROUPS, Tree

MOST_THREADS = 8


class Local:
    """Runs tasks in this process, in bounded memory: a few blocks are in work, and the rest on disk.

    Parameters
    ----------
    source : BlockSource
    memory : int
        Bytes that the blocks in work may take.
    meter : Meter
    """

    workers = 1

    def __init__(self, source: BlockSource, memory: int, meter: Meter) -> None:
        self._source, self._meter = source, meter
        self._memory = memory

    def _width(self, task: Task) -> tuple[int, int]:
        """How many threads work on a task, and how many blocks are in work: with each its copies and its result.

        Besides, there is one result for each level of the tree that adds them up.
        """
        source, result = self._source, task.result(self._source.shape[1])
        each = task.copies(source.sparse) * source.largest + 3 * result
        levels = 1 if task.flat else min(source.count, GROUPS).bit_length() + 1
        fits = max(1, (self._memory - levels * result) // max(each, 1))
        threads = min(max(2, os.cpu_count() or 1), MOST_THREADS, fits)
        return threads, min(threads + 1, fits)

    def total(self, task: Task, groups: Sequence[Sequence[int]]) -> Any:
        """The results of all blocks merged, those of a group one after the other, groups in a tree."""
        tree = Tree(1 if task.flat else len(groups), task.merge)
        group_of = {group[-1]: k for k, group in enumerate(groups)}
        last = self._source.count - 1
        held: Any = None
        for i, value in enumerate(self._each(task)):
            held = value if held is None else task.merge(held, value)
            if (i == last) if task.flat else (i in group_of):
                tree.add((0, 0 if task.flat else group_of[i]), held)
                held = None
        return tree.root

    def stack(self, task: Task, groups: Sequence[Sequence[int]]) -> Iterator[Any]:
        """The results of all blocks, in order."""
        yield from self._each(task)

    def close(self) -> None:
        """Nothing is held between two tasks."""

    def _each(self, task: Task) -> Iterator[Any]:
        """The results in order, computed by threads a few blocks ahead."""
        source, waiting = self._source, deque[Future[Any]]()
        threads, ahead = self._width(task)
        self._meter.begin(source.count, self.workers)
        with one_thread_each(threads), _pool(threads) as submit:
            for i in range(source.count):
                waiting.append(submit(_read_and_run, source, task, i))
                if len(waiting) >= ahead:
                    yield self._next(waiting)
            while waiting:
                yield self._next(waiting)
        self._meter.end()

    def _next(self, waiting: deque[Future[Any]]) -> Any:
        value, size = waiting.popleft().result()
        self._meter.count(1, size)
        return value


@functools.cache
def _controller() -> Any:
    """What sets the threads of BLAS, if there is something: threadpoolctl comes with scikit-learn."""
    try:
        return importlib.import_module("threadpoolctl").ThreadpoolController()
    except ModuleNotFoundError:
        return None


def one_thread_each(threads: int) -> contextlib.AbstractContextManager[Any]:
    """Let BLAS work in one thread where several of ours call it: they would wait for one another.

    The digits of its products then do not depend on the number of processors either.
    """
    controller = _controller() if threads > 1 else None
    return contextlib.nullcontext() if controller is None else controller.limit(limits=1, user_api="blas")


def _read_and_run(source: BlockSource, task: Task, i: int) -> tuple[Any, int]:
    block = source.read(i)
    return task(block, source.bounds[i]), size_of(block)


@contextlib.contextmanager
def _pool(threads: int) -> Iterator[Callable[..., Future[Any]]]:
    """Threads that leave undone what nobody waits for any more, after an error or Ctrl-C."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="orthoprox-blocks")
    try:
        yield pool.submit
    finally:
        pool.shutdown(wait=True, cancel_futures=True)

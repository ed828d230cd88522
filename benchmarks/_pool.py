"""Several processes side by side, one thread each, for all methods alike. Import this before NumPy."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, TypeVar

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # inherited by every process that is started here

J = TypeVar("J")
R = TypeVar("R")
SIDE_BY_SIDE = "{processes} at a time on {cores}, one thread each, all methods alike"


def side_by_side(processes: int) -> str:
    """How the runs were made, for the head of a page."""
    cores = os.cpu_count() or 1
    return SIDE_BY_SIDE.format(
        processes="one" if processes == 1 else processes, cores=f"{cores} core{'' if cores == 1 else 's'}"
    )


def unordered(
    work: Callable[[J], R], jobs: Iterable[J], processes: int, prepare: Callable[[], Any] | None = None
) -> Iterator[tuple[J, R]]:
    """Each job with its result, as they get done; in this process where one is enough."""
    if processes == 1:
        if prepare is not None:
            prepare()
        yield from ((job, work(job)) for job in jobs)
        return
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=prepare) as pool:
        waiting = {pool.submit(work, job): job for job in jobs}
        for future in as_completed(waiting):
            yield waiting[future], future.result()


def in_order(work: Callable[[J], R], jobs: Iterable[J], processes: int) -> list[R]:
    """The results in the order of the jobs."""
    numbered = list(enumerate(jobs))
    found = {i: result for (i, _), result in unordered(_Numbered(work), numbered, processes)}
    return [found[i] for i, _ in numbered]


class _Numbered:
    """A function of a numbered job."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.work = work

    def __call__(self, job: tuple[int, Any]) -> Any:
        return self.work(job[1])

"""Runs of benchmarks/layers.py by their arguments: kept in a file, and made by several processes at a time."""

from __future__ import annotations

import json
import math
import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

Job = tuple[Any, ...]
"""The name of a function that makes runs, and its arguments."""


class Store:
    """Results by job in a file, so that a command that was cut short goes on where it was."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.known: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
        self.wanted: dict[str, Job] = {}

    def get(self, *job: Any) -> Any:
        """The result of a job; None where it is not known yet, and then it is wanted."""
        key = "|".join(map(str, job))
        if key not in self.known:
            self.wanted[key] = job
        return self.known.get(key)

    def all(self, jobs: list[Job]) -> list[Any] | None:
        """The results of several jobs, if all are known."""
        found = [self.get(*job) for job in jobs]
        return None if any(one is None for one in found) else found

    def save(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(self.known))


def fill(store: Store, plan: Callable[[Store], Any], make: dict[str, Any], workers: int, minutes: float) -> Any:
    """Make the runs that a plan asks for until it asks for nothing new, and return what it finds then.

    A plan is called again whenever runs have ended, since which ones it needs may depend on others. No run is begun
    after so many minutes.
    """
    until, saved, running = time.time() + 60 * minutes, time.time(), dict[Future[Any], str]()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_alone) as pool:
        begun: set[str] = set()
        while True:
            store.wanted.clear()
            plan(store)
            for key, job in sorted(store.wanted.items(), key=_slow_first):
                if key not in begun and len(running) < 2 * workers and time.time() < until:
                    begun.add(key)
                    running[pool.submit(make[job[0]], *job[1:])] = key
            if not running:
                break
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                key = running.pop(done)
                store.known[key] = _result(done, key)
            if time.time() > saved + 10:
                store.save()
                saved = time.time()
    store.save()
    store.wanted.clear()
    found = plan(store)
    if store.wanted:
        print(f"The time is over with at least {len(store.wanted)} runs to go: repeat the command.", flush=True)
    return found


def _result(done: Future[Any], key: str) -> Any:
    """What a run has found; one that broke off, say because a method met NaN, counts as diverged."""
    error = done.exception()
    if error is None:
        return done.result()
    print(f"{key}: {type(error).__name__}: {str(error)[:200]}", flush=True)
    return {"curve": [math.nan], "finished": math.nan, "zeros": math.nan, "infeasibility": math.nan}


def _slow_first(item: tuple[str, Job]) -> bool:
    """Runs that take longest are not begun last."""
    return "GeoTorch" not in item[0]


def _alone() -> None:
    import torch

    torch.set_num_threads(1)

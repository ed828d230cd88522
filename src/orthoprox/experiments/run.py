"""Runs what is missing: several processes with one thread each, one result file per run.

Each process takes its orders on its standard input and is done when that ends, so that none outlives a
run that was killed by more than the job it is at. A result stands in its place whole or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from orthoprox._fields import require
from orthoprox.experiments.spec import Job
from orthoprox.experiments.store import DamagedFile, load

ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS",
    ),
    "1",
)
"""Set for a process before it imports NumPy, which reads them once."""


@dataclass(frozen=True)
class Failure:
    """A run that has no result, and why."""

    job: Job
    sentence: str
    data: bool
    """Whether it is for want of data."""


@dataclass
class Outcome:
    """What became of a list of runs."""

    total: int
    present: int = 0
    """Results that were there before."""
    done: int = 0
    failures: list[Failure] = field(default_factory=list)
    interrupted: bool = False


def run(
    jobs: Sequence[Job],
    folder: Path,
    *,
    processes: int = 1,
    data_folder: str | None = None,
    told: Callable[[Outcome, Job], None] | None = None,
) -> Outcome:
    """Run the jobs whose result is missing or damaged.

    Parameters
    ----------
    jobs : sequence of Job
    folder : path
        Where results go, below ``runs``.
    processes : int
        How many at once.
    data_folder : str, optional
        Where data sets are looked for.
    told : callable, optional
        Called after each run with the outcome so far and the job.

    Returns
    -------
    Outcome
        Ctrl-C ends the run with what there is; the same call goes on later.
    """
    require(processes >= 1, f"At least one process is needed; given {processes}.")
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    distinct = list(dict.fromkeys(jobs_by_file(jobs, folder)))
    missing = [job for file, job in jobs_by_file(jobs, folder).items() if not is_whole(file)]
    outcome = Outcome(total=len(distinct), present=len(distinct) - len(missing))
    if missing:
        _Crew(missing, folder, data_folder, outcome, told or _nobody).work(min(processes, len(missing)))
    return outcome


def jobs_by_file(jobs: Sequence[Job], folder: Path) -> dict[Path, Job]:
    """Every run once: two methods may differ in their labels only."""
    return {job.file(folder): job for job in jobs}


def is_whole(path: Path) -> bool:
    """Whether there is a result and it can be read."""
    try:
        load(path)
    except (FileNotFoundError, DamagedFile):
        return False
    return True


def _nobody(outcome: Outcome, job: Job) -> None:
    return None


class _Crew:
    """Some threads, each with a process that it feeds with jobs."""

    def __init__(
        self,
        jobs: Sequence[Job],
        folder: Path,
        data_folder: str | None,
        outcome: Outcome,
        told: Callable[[Outcome, Job], None],
    ) -> None:
        self.folder, self.data_folder, self.outcome, self.told = folder, data_folder, outcome, told
        self.waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
        for job in jobs:
            self.waiting.put(job)
        self.reports: queue.SimpleQueue[tuple[Job, dict[str, Any]] | None] = queue.SimpleQueue()
        self.stopping = threading.Event()
        self.children: set[subprocess.Popen[str]] = set()

    def work(self, processes: int) -> None:
        with (self.folder / "runs" / "log.txt").open("a", encoding="utf-8") as log:
            threads = [threading.Thread(target=self._feed, args=(log,), daemon=True) for _ in range(processes)]
            for thread in threads:
                thread.start()
            try:
                self._listen(len(threads))
            except KeyboardInterrupt:
                self.outcome.interrupted = True
            finally:
                self.stopping.set()
                for child in list(self.children):
                    child.terminate()
                for thread in threads:
                    thread.join()

    def _listen(self, threads: int) -> None:
        """Hear the reports in the main thread, where Ctrl-C arrives."""
        while threads:
            try:
                report = self.reports.get(timeout=0.2)
            except queue.Empty:
                continue
            if report is None:
                threads -= 1
                continue
            job, answer = report
            if answer["error"] is None:
                self.outcome.done += 1
            else:
                self.outcome.failures.append(Failure(job, answer["error"], answer["data"]))
            self.told(self.outcome, job)

    def _feed(self, log: IO[str]) -> None:
        try:
            while not self.stopping.is_set():
                with self._child(log) as child:
                    if self._keep_busy(child):
                        break
        finally:
            self.reports.put(None)

    def _keep_busy(self, child: subprocess.Popen[str]) -> bool:
        """Hand out jobs until there are none (True), or until the process is gone (False)."""
        while not self.stopping.is_set():
            try:
                job = self.waiting.get_nowait()
            except queue.Empty:
                return True
            order = {"job": asdict(job), "folder": str(self.folder), "data_folder": self.data_folder}
            line = self._asked(child, json.dumps(order))
            if line:
                self.reports.put((job, json.loads(line)))
            elif not self.stopping.is_set():
                sentence = f"The process ended with code {child.wait()} in the middle of this run; see runs/log.txt."
                self.reports.put((job, {"error": sentence, "data": False}))
                return False
        return True

    def _asked(self, child: subprocess.Popen[str], line: str) -> str:
        assert child.stdin is not None
        assert child.stdout is not None
        with contextlib.suppress(BrokenPipeError, ValueError):
            child.stdin.write(line + "\n")
            child.stdin.flush()
            return child.stdout.readline()
        return ""

    @contextlib.contextmanager
    def _child(self, log: IO[str]) -> Iterator[subprocess.Popen[str]]:
        """A process of its own session, so that Ctrl-C reaches us only."""
        child = subprocess.Popen(
            [sys.executable, "-m", "orthoprox.experiments.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            encoding="utf-8",
            env={**os.environ, **ONE_THREAD},
            start_new_session=True,
        )
        self.children.add(child)
        if self.stopping.is_set():  # it was started while the others were being ended
            child.terminate()
        try:
            yield child
        finally:
            assert child.stdin is not None
            assert child.stdout is not None
            with contextlib.suppress(OSError):
                child.stdin.close()
            child.wait()
            child.stdout.close()
            self.children.discard(child)

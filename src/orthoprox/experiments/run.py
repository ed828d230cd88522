"""Runs what is missing: several processes with one thread each, one result file per run.

Each process reads its orders from standard input and exits when that ends, so that after a kill none outlives
its current job. A result file is complete or absent.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from orthoprox._fields import require
from orthoprox.experiments.environment import code
from orthoprox.experiments.spec import Job
from orthoprox.experiments.store import code_of

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
    """A run that failed, and why."""

    job: Job
    sentence: str
    data: bool
    """Whether its data are unavailable."""
    unwritten: bool
    """Whether its result could not be written."""


@dataclass
class Tally:
    """How many runs were there, are done, and have failed."""

    total: int
    present: int = 0
    """Results that were there before and stay."""
    outdated: int = 0
    """Results that were there before, of another version of the code."""
    done: int = 0
    failures: list[Failure] = field(default_factory=list)
    interrupted: bool = False

    def say_outdated(self, *, kept: bool) -> str:
        """A sentence on the results of another version of the code; "" if there are none."""
        if not self.outdated:
            return ""
        some = "1 result is" if self.outdated == 1 else f"{self.outdated} results are"
        fate = "kept" if kept else "made again; --keep-old keeps what is there"
        return f"{some} of another version of the code: {fate}."


def run(
    jobs: Sequence[Job],
    folder: Path,
    *,
    processes: int = 1,
    data_folder: str | None = None,
    keep_outdated: bool = False,
    on_start: Callable[[Tally], None] | None = None,
    on_progress: Callable[[Tally, Job], None] | None = None,
) -> Tally:
    """Run the jobs whose result is missing, damaged, or of another version of the code.

    A result of another version stays until the new one is there.

    Parameters
    ----------
    jobs : sequence of Job
    folder : path
        Where results go, below ``runs``.
    processes : int
        How many at once.
    data_folder : str, optional
        Where data sets are looked for.
    keep_outdated : bool
        Whether results of another version of the code count as results.
    on_start : callable, optional
        Called once with the tally before the first run.
    on_progress : callable, optional
        Called after each run with the tally so far and the job.

    Returns
    -------
    Tally
        After Ctrl-C it is marked as interrupted; the same call continues.
    """
    require(processes >= 1, f"At least one process is needed; given {processes}.")
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    by_file = {job.file(folder): job for job in jobs}  # two methods may differ in their labels only
    versions = {file: code_of(file) for file in by_file}
    outdated = {file for file, version in versions.items() if version not in (None, code())}
    there = {file for file, version in versions.items() if version == code()} | (outdated if keep_outdated else set())
    missing = {file: job for file, job in by_file.items() if file not in there}
    tally = Tally(total=len(by_file), present=len(there), outdated=len(outdated))
    if on_start is not None:
        on_start(tally)
    if missing:
        _Workers(missing, folder, data_folder, tally, on_progress).work(min(processes, len(missing)))
    return tally


class _Workers:
    """Threads, each of which feeds jobs to a process of its own."""

    def __init__(
        self,
        jobs: Mapping[Path, Job],
        folder: Path,
        data_folder: str | None,
        tally: Tally,
        on_progress: Callable[[Tally, Job], None] | None,
    ) -> None:
        self.folder, self.data_folder, self.tally, self.on_progress = folder, data_folder, tally, on_progress
        self.waiting: queue.SimpleQueue[tuple[Path, Job]] = queue.SimpleQueue()
        for item in jobs.items():
            self.waiting.put(item)
        self.reports: queue.SimpleQueue[tuple[Job, dict[str, Any]] | None] = queue.SimpleQueue()
        self.processes = 1
        """At a time; how busy the machine was belongs to a result with a clock."""
        self.stopping = threading.Event()
        self.children: set[subprocess.Popen[str]] = set()

    def work(self, processes: int) -> None:
        self.processes = processes
        with (self.folder / "runs" / "log.txt").open("a", encoding="utf-8") as log:
            threads = [threading.Thread(target=self._feed, args=(log,), daemon=True) for _ in range(processes)]
            for thread in threads:
                thread.start()
            try:
                self._listen(len(threads))
            except KeyboardInterrupt:
                self.tally.interrupted = True
            finally:
                self.stopping.set()
                for child in list(self.children):
                    child.terminate()
                for thread in threads:
                    thread.join()

    def _listen(self, threads: int) -> None:
        """Take the reports in the main thread, where Ctrl-C arrives."""
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
                self.tally.done += 1
            else:
                self.tally.failures.append(Failure(job, answer["error"], answer["data"], answer["unwritten"]))
            if self.on_progress is not None:
                self.on_progress(self.tally, job)

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
                file, job = self.waiting.get_nowait()
            except queue.Empty:
                return True
            order = {
                "job": asdict(job),
                "file": str(file),
                "data_folder": self.data_folder,
                "processes": self.processes,
            }
            line = self._ask(child, json.dumps(order))
            if line:
                self.reports.put((job, json.loads(line)))
            elif not self.stopping.is_set():
                sentence = f"The process ended with code {child.wait()} in the middle of this run; see runs/log.txt."
                self.reports.put((job, {"error": sentence, "data": False, "unwritten": False}))
                return False
        return True

    def _ask(self, child: subprocess.Popen[str], line: str) -> str:
        assert child.stdin is not None
        assert child.stdout is not None
        with contextlib.suppress(OSError, ValueError):  # a pipe that nobody reads, whatever the system calls it
            child.stdin.write(line + "\n")
            child.stdin.flush()
            return child.stdout.readline()
        return ""

    @contextlib.contextmanager
    def _child(self, log: IO[str]) -> Iterator[subprocess.Popen[str]]:
        """A process of its own session, on Windows of its own group, so that Ctrl-C reaches us only."""
        child = subprocess.Popen(
            [sys.executable, "-m", "orthoprox.experiments.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            encoding="utf-8",
            env={**os.environ, **ONE_THREAD},
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        self.children.add(child)
        if self.stopping.is_set():  # it was started while the others were being stopped
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

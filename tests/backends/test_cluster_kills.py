"""SIGKILL at random moments of a solve on a cluster: the right answer, or a checkpoint to go on from; never a hang.

``ORTHOPROX_KILLS=20 make backends ARGS=-k random_moments`` tries twenty.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from backends.needs import need
from orthoprox import Checkpoint, Iterations, RunFailed, solve
from orthoprox.blocks import ClusterLost, _cluster, open_rows
from orthoprox.blocks._tasks import GramProduct
from orthoprox.maps import Blocked
from orthoprox.models import sparse_pca

pytestmark = pytest.mark.backends
MOMENTS = int(os.environ.get("ORTHOPROX_KILLS", "1"))
RNG = np.random.default_rng(8)
D = RNG.standard_normal((4000, 3)) @ RNG.standard_normal((3, 20)) + RNG.standard_normal((4000, 20)) / 2 + 2
LONGEST = 90.0


class Machines:
    """A scheduler and two workers with their nannies, each a process of its own."""

    def __init__(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
        port = self.address.rpartition(":")[2]
        self.scheduler = self._start("dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")
        worker = ("dask_worker", self.address, "--nthreads", "1", "--memory-limit", "2GB", "--no-dashboard")
        self.nannies = [self._start(*worker) for _ in range(2)]

    @staticmethod
    def _start(module, *words):
        command = [sys.executable, "-m", f"distributed.cli.{module}", *words]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self):
        for process in (*self.nannies, self.scheduler):
            process.terminate()
        for process in (*self.nannies, self.scheduler):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture
def machines(request):
    need("distributed", request.config)
    started = Machines()
    yield started
    started.stop()


def run(rows, **settings):
    problem = sparse_pca(Blocked(rows, center=True, norm=300.0), n_components=4, weight=0.05)
    return solve(problem, "oadmm-ep", seed=1, stop=Iterations(150), **settings)


def strike_later(client, machines, dice):
    """Kill a worker, or one time in four the scheduler, at a random moment; what was killed is noted."""
    pids, victims = sorted(client.run(os.getpid).values()), []
    delay, whom = dice.uniform(0.0, 1.5), dice.random()

    def strike():
        time.sleep(delay)
        pid = machines.scheduler.pid if whom < 0.25 else dice.choice(pids)
        os.kill(pid, signal.SIGKILL)
        victims.append("scheduler" if whom < 0.25 else "worker")

    thread = threading.Thread(target=strike)
    thread.start()
    return thread, victims


@pytest.mark.parametrize("moment", range(MOMENTS))
def test_random_moments(moment, machines, tmp_path, monkeypatch, request):
    distributed = need("distributed", request.config)
    monkeypatch.setattr(_cluster, "ANSWER", 3.0)
    np.save(tmp_path / "rows.npy", D)
    settings = {"block": 6000, "form": False}
    calm = run(open_rows(tmp_path / "rows.npy", **settings))
    saved, since = tmp_path / "run.npz", time.monotonic()
    with distributed.Client(machines.address, set_as_default=False, timeout="30s") as client:
        client.wait_for_workers(2, timeout=30)
        thread, victims = strike_later(client, machines, random.Random(moment))
        try:
            result = run(open_rows(tmp_path / "rows.npy", client=client, **settings), observers=[Checkpoint(saved)])
        except (RunFailed, ClusterLost) as error:
            result, words = None, str(error)
        thread.join()
    lasted = time.monotonic() - since
    print(f"moment {moment}: {victims[0]} killed, {'answer' if result else 'stopped'} after {lasted:.1f} s")
    if result is None:
        assert victims == ["scheduler"]
        assert "does not answer" in words
        resume = {"resume": saved} if saved.exists() else {}  # none if it was lost before the first iteration
        result = run(open_rows(tmp_path / "rows.npy", **settings), **resume)
    assert np.array_equal(result.X, calm.X)
    assert lasted < LONGEST


def test_a_scheduler_that_answers_no_more_ends_a_run_once(machines, tmp_path, monkeypatch):
    """Stopped, as if its network had gone: nobody refuses a connection, and nobody answers."""
    np.save(tmp_path / "rows.npy", D)
    rows = open_rows(tmp_path / "rows.npy", client=machines.address, block=6000, form=False)
    monkeypatch.setattr(_cluster, "ANSWER", 2.0)
    saved = tmp_path / "run.npz"

    def freeze(now):
        if now.t == 5:
            rows._runner._looked = 0.0  # the next product looks who is there
            os.kill(machines.scheduler.pid, signal.SIGSTOP)

    try:
        with pytest.raises(RunFailed, match=r"does not answer .TimeoutError.*resume=file\)\. The"):
            run(rows, observers=[freeze, Checkpoint(saved, every=1000)])
        since = time.monotonic()
        with pytest.raises(ClusterLost, match="does not answer"):  # and at once: a checkpoint asks as well
            rows.total(GramProduct(np.eye(20)))
        assert time.monotonic() - since < 1.0
    finally:
        os.kill(machines.scheduler.pid, signal.SIGCONT)
    calm = run(open_rows(tmp_path / "rows.npy", block=6000, form=False))
    assert np.array_equal(run(open_rows(tmp_path / "rows.npy", block=6000, form=False), resume=saved).X, calm.X)
    rows.close()

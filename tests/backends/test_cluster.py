"""Rows on a Dask cluster: the digits of one process, and what happens when machines go away. Needs dask.distributed."""

import contextlib
import os
import signal
import threading
import time

import numpy as np
import pytest
from scipy.sparse import csr_array

from backends.needs import need
from orthoprox import Checkpoint, Iterations, RunFailed, SparsePCA, solve
from orthoprox.blocks import BlockUnreadable, ClusterLost, _cluster, open_rows
from orthoprox.blocks._placing import STEADY
from orthoprox.blocks._tasks import Adjoint, Apply, GramProduct
from orthoprox.maps import Blocked
from orthoprox.models import sparse_pca

pytestmark = pytest.mark.backends
RNG = np.random.default_rng(8)
D = RNG.standard_normal((900, 3)) @ RNG.standard_normal((3, 12)) + RNG.standard_normal((900, 12)) / 2 + 2
S = csr_array(np.where(RNG.random(D.shape) < 0.3, D, 0))
X = RNG.standard_normal((12, 4))
BLOCK = 3000


@contextlib.contextmanager
def started(config, workers, *, processes=True):
    """A cluster of this machine and its client."""
    distributed = need("distributed", config)
    # Workers that are threads would count all that this process holds, and pause.
    limit = "2GB" if processes else 0
    settings = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "memory_limit": limit, "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=workers, processes=processes, **settings) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield cluster, client


@pytest.fixture(scope="module")
def two(request):
    """Two workers, each a process."""
    with started(request.config, 2) as found:
        yield found


@pytest.fixture
def file(tmp_path):
    np.save(tmp_path / "rows.npy", D)
    return tmp_path / "rows.npy"


def kill_one(client, number=0):
    """SIGKILL to the process of a worker."""
    pids = sorted(client.run(os.getpid).items())
    os.kill(pids[number % len(pids)][1], signal.SIGKILL)


@contextlib.contextmanager
def delayed(client, seconds):
    """Workers that take longer for a group of blocks, by so many seconds for each address."""

    def set_delay(delay):  # within this function, so that workers need not find this file
        import time

        from orthoprox.blocks._shard import Shard

        own = Shard.__dict__.get("own_fold", Shard._fold)

        def fold(self, task, blocks):
            time.sleep(delay)
            return own(self, task, blocks)

        Shard.own_fold, Shard._fold = own, fold if delay else own

    for address, delay in seconds.items():
        client.run(set_delay, delay, workers=[address])
    yield
    there = set(client.scheduler_info()["workers"])
    for address in there & set(seconds):
        client.run(set_delay, 0.0, workers=[address])


def shares(rows):
    """How many groups each worker holds, by its address."""
    return rows._runner._placing._load(dict.fromkeys(rows._runner._alive()))


def in_passes(rows):
    """A problem whose every product goes to the rows."""
    return sparse_pca(Blocked(rows, center=True, norm=300.0), n_components=4, weight=0.05)


def run(rows, steps=60, **settings):
    return solve(in_passes(rows), "oadmm-ep", seed=1, stop=Iterations(steps), **settings)


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_results_have_the_digits_of_one_process_whoever_holds_the_rows(workers, request):
    with started(request.config, workers, processes=False) as (_, client):
        for data in (D, S):
            here, there = (open_rows(data, block=BLOCK, client=where) for where in (False, client))
            assert here.source.count >= 7
            for task in (GramProduct(X, here.centring), GramProduct(X), Adjoint(D[:, :2] * 1.5)):
                assert np.array_equal(here.total(task), there.total(task))
            assert np.array_equal(here.stack(Apply(X)), there.stack(Apply(X)))
            assert np.array_equal(here.second.squares, there.second.squares)
            assert there.traffic.workers == min(workers, here.source.count)
            one, other = (SparsePCA(n_components=2, n_nonzero=8).fit(rows) for rows in (data, there))
            assert np.abs(one.components_ - other.components_).max() < 1e-10
            assert np.abs(one.transform(data) - other.transform(there)).max() < 1e-10


def test_dask_collections_go_to_the_client_that_is_current(two, request):
    need("dask", request.config)
    import dask.array

    array = dask.array.from_array(D, chunks=(100, 5))
    whole = SparsePCA(n_components=2, n_nonzero=8).fit(D)
    _, client = two
    with client.as_current():
        rows = open_rows(array)
        model = SparsePCA(n_components=2, n_nonzero=8).fit(array)
        for data in (S, D):
            futures = client.scatter([data[:300], data[300:350], data[350:]])
            assert np.abs(open_rows(futures).total(GramProduct(X)) - data.T @ (data @ X)).max() < 1e-8
        persisted = open_rows(array.persist())
        assert np.abs(persisted.total(GramProduct(X)) - D.T @ (D @ X)).max() < 1e-8
    assert "2 workers" in repr(rows)
    assert np.abs(model.components_ - whole.components_).max() < 1e-10
    budget = open_rows(D, memory="1MB", client=client)  # is that of this process, and no reason for small blocks there
    assert budget.source.bounds == open_rows(D, client=False).source.bounds
    passes = open_rows(D, form=False, block=BLOCK, client=client)
    several = SparsePCA(n_components=2, n_nonzero=8, effort="fast", n_init=2, n_jobs=2).fit(passes)
    assert several.n_nonzero_.sum() <= 8


@pytest.mark.parametrize("at", [0, 17])
def test_a_worker_killed_in_mid_solve_changes_no_digit(two, file, at):
    _, client = two
    calm = run(open_rows(file, form=False, block=BLOCK))
    rows = open_rows(file, form=False, block=BLOCK, client=client)
    rows.total(GramProduct(X))
    killed = []

    def strike(now):
        if now.t == at and not killed:
            killed.append(now.t)
            kill_one(client, at)

    result = run(rows, observers=[strike])
    assert killed == [at]
    assert np.array_equal(result.X, calm.X)
    assert result.objective == calm.objective


def test_a_slow_worker_gives_rows_away_once_and_changes_no_digit(two, file, monkeypatch):
    monkeypatch.setattr(_cluster, "LOOK", 0.05)
    _, client = two
    client.wait_for_workers(2, timeout=30)
    expected = open_rows(file, form=False, block=BLOCK).total(GramProduct(X))
    rows = open_rows(file, form=False, block=BLOCK, client=client)
    slow, quick = sorted(client.scheduler_info()["workers"])
    with delayed(client, {slow: 0.016, quick: 0.004}):
        seen = []
        for _ in range(30):
            assert np.array_equal(rows.total(GramProduct(X)), expected)
            seen.append(shares(rows)[slow])
    assert seen[0] in (14, 15)
    assert 1 <= seen[-1] <= 9  # 6 by their paces
    assert len(set(seen[STEADY:])) <= 3  # and rows do not go back and forth


def test_a_worker_that_computes_for_long_is_not_taken_for_lost_when_another_is(two, file, monkeypatch):
    monkeypatch.setattr(_cluster, "ANSWER", 1.0)
    _, client = two
    client.wait_for_workers(2, timeout=30)
    expected = open_rows(file, form=False, block=BLOCK).total(GramProduct(X))
    rows = open_rows(file, form=False, block=BLOCK, client=client)
    rows.total(GramProduct(X))
    pids = client.run(os.getpid)
    other, busy = sorted(pids)  # that which asks the other one goes, so that its end is seen at once
    kept = {node for node in rows._runner._placing.nodes if node.address == busy}
    with delayed(client, {busy: 0.15}):  # for each of its groups, which are 14 at least
        threading.Timer(0.3, os.kill, (pids[other], signal.SIGKILL)).start()
        assert np.array_equal(rows.total(GramProduct(X)), expected)
    assert kept <= set(rows._runner._placing.nodes)


def test_a_worker_that_joins_takes_over_rows_and_one_that_leaves_gives_them_back(request, file, monkeypatch):
    monkeypatch.setattr(_cluster, "LOOK", 0.2)
    with started(request.config, 1, processes=False) as (cluster, client):
        rows = open_rows(file, form=False, block=BLOCK, client=client)
        before = rows.total(GramProduct(X))
        for workers in (3, 1):
            cluster.scale(workers)
            for _ in range(100):
                assert np.array_equal(rows.total(GramProduct(X)), before)
                if rows.traffic.workers == workers:
                    break
                time.sleep(0.1)
            rows.total(GramProduct(X))
            assert rows.traffic.workers == workers


def test_workers_short_of_memory_get_no_rows_and_none_is_waited_for_without_end(request, file, monkeypatch):
    for name, seconds in {"LOOK": 0.1, "ANSWER": 1.0, "PATIENCE": 3.0}.items():
        monkeypatch.setattr(_cluster, name, seconds)
    with started(request.config, 2, processes=False) as (cluster, client):
        states = type(cluster.workers[0].status)

        def tell(status, *numbers):
            for number in numbers:
                cluster.workers[number].status = status
            told = sorted(number in numbers for number in cluster.workers)
            while (
                sorted(info.get("status") == status.name for info in client.scheduler_info()["workers"].values())
                != told
            ):
                time.sleep(0.02)

        expected = open_rows(file, form=False, block=BLOCK, client=False).total(GramProduct(X))
        tell(states.paused, 0)
        rows = open_rows(file, form=False, block=BLOCK, client=client)
        assert np.array_equal(rows.total(GramProduct(X)), expected)
        assert rows.traffic.workers == 1
        tell(states.paused, 0, 1)
        assert np.array_equal(rows.total(GramProduct(X)), expected)  # what they hold they go on computing with
        with pytest.raises(ValueError, match="2 of them take nothing more, since their memory is nearly full. Add"):
            open_rows(file, form=False, block=BLOCK, client=client).total(GramProduct(X))


def test_a_lost_scheduler_leaves_a_checkpoint_from_which_another_cluster_goes_on(request, file, tmp_path, monkeypatch):
    monkeypatch.setattr(_cluster, "ANSWER", 3.0)
    saved = tmp_path / "run.npz"
    calm = run(open_rows(file, form=False, block=BLOCK))
    with started(request.config, 2) as (cluster, client):
        rows = open_rows(file, form=False, block=BLOCK, client=client)

        def strike(now):
            if now.t == 20:
                cluster.close()

        since = time.monotonic()
        with pytest.raises(RunFailed, match="ClusterLost.*scheduler.*does not answer.*go on from the checkpoint"):
            run(rows, observers=[strike, Checkpoint(saved, every=1000)])
        assert time.monotonic() - since < 60
    with started(request.config, 1, processes=False) as (_, client):
        result = run(open_rows(file, form=False, block=BLOCK, client=client), resume=saved)
    assert "resumed at iteration 20" in result.notes
    assert np.array_equal(result.X, calm.X)


def test_what_a_cluster_cannot_do_is_said_in_a_sentence(two, file, monkeypatch):
    _, client = two
    rows = open_rows(file, form=False, block=BLOCK, client=client)
    with file.open("r+b") as opened:
        opened.truncate(40_000)
    with pytest.raises(BlockUnreadable, match=r"Block \d+ of rows.npy \(rows \d+ to \d+\) cannot be read"):
        rows.total(GramProduct(X))
    bad = D.copy()
    bad[500, 3] = np.nan
    with pytest.raises(ValueError, match="row 500, column 3, both counted from 0, is NaN or infinite"):
        open_rows(bad, block=BLOCK, client=client).moments  # noqa: B018 -- it is computed
    monkeypatch.setattr(_cluster, "FULL", 1e-6)
    with pytest.raises(ValueError, match="workers of the cluster have 4 GB, of which rows may take.*Add workers, or"):
        open_rows(D, block=BLOCK, client=client).moments  # noqa: B018
    monkeypatch.setattr(_cluster, "CONNECT", 1.0)
    with pytest.raises(ClusterLost, match="There is no scheduler at tcp://127.0.0.1:1"):
        open_rows(D, client="tcp://127.0.0.1:1")

"""The runner: what is missing is run, whatever happens to single runs or to the runner."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time

import pytest

from experiments.tiny import mischief, tiny
from orthoprox._fields import replace
from orthoprox.experiments import gather, run
from orthoprox.experiments.gather import add_to_manifest, read_manifest
from orthoprox.experiments.store import load
from orthoprox.experiments.table import as_csv
from orthoprox.experiments.worker import answer

TIMES = {"seconds"}


def jobs_of(experiment):
    return [job for _, job in experiment.jobs()]


def table(folder, experiment):
    """The table without its times."""
    results = gather(folder, [experiment])
    assert not results.missing
    return [
        {k: v for k, v in row.items() if k not in TIMES} for row in csv.DictReader(as_csv(results.runs).splitlines())
    ]


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ünbroken results")
    told = []
    outcome = run(
        jobs_of(tiny()), folder, processes=2, on_progress=lambda outcome, job: told.append((outcome.done, job))
    )
    return folder, outcome, told


def test_every_run_has_a_file(unbroken):
    folder, outcome, told = unbroken
    assert (outcome.total, outcome.present, outcome.done, outcome.failures) == (12, 0, 12, [])
    assert [done for done, _ in told] == list(range(1, 13))
    assert {job.key for _, job in told} == {job.key for job in jobs_of(tiny())}
    assert len(list(folder.rglob("*.npz"))) == 12 and not list(folder.rglob("*.part"))


def test_every_process_has_one_thread(unbroken):
    folder, *_ = unbroken
    assert {one.facts["machine"]["blas_threads"] for one in gather(folder, [tiny()]).runs} == {"1"}


def test_what_exists_is_skipped(unbroken):
    folder, *_ = unbroken
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("*.npz")}
    outcome = run(jobs_of(tiny()), folder, on_progress=lambda *_: pytest.fail("something was run"))
    assert (outcome.present, outcome.done) == (12, 0)
    assert times == {path: path.stat().st_mtime_ns for path in folder.rglob("*.npz")}


def test_a_damaged_file_is_done_again(unbroken):
    folder, *_ = unbroken
    before = table(folder, tiny())
    victim = jobs_of(tiny())[4].file(folder)
    victim.write_bytes(victim.read_bytes()[:500])
    assert [job.key for *_, job in gather(folder, [tiny()]).missing] == [jobs_of(tiny())[4].key]
    outcome = run(jobs_of(tiny()), folder)
    assert (outcome.present, outcome.done) == (11, 1)
    assert table(folder, tiny()) == before


def test_one_label_more_is_no_run_more(unbroken):
    folder, *_ = unbroken
    twice = tiny(methods=(*tiny().methods, replace(tiny().methods[0], label="again")))
    assert run(jobs_of(twice), folder).total == 12


def test_a_run_that_fails_does_not_keep_the_others(tmp_path):
    experiment = tiny(
        datasets=("randn-40-12",),
        seeds=(0,),
        iterations=3,
        methods=(*mischief(tmp_path, "Raises", "Dies", "Talks"), tiny().methods[2]),
    )
    outcome = run(jobs_of(experiment), tmp_path / "out")
    assert outcome.done == 2
    why = {failure.job.solver.rpartition(":")[2]: failure.sentence for failure in outcome.failures}
    assert set(why) == {"Raises", "Dies"}
    assert "no step today" in why["Raises"] and "code 7" in why["Dies"]
    assert not any(failure.data for failure in outcome.failures)
    assert "words on standard output" in (tmp_path / "out/runs/log.txt").read_text()
    results = gather(tmp_path / "out", [experiment])
    assert [one.label for one in results.runs] == ["Talks", "Sub-Grad"]
    assert results.runs[0].objective == results.runs[1].objective


def test_data_that_cannot_be_had_are_told_apart(tmp_path, monkeypatch):
    job = replace(jobs_of(tiny())[0], dataset="mnist-20-10")
    order = {"job": vars(job), "file": str(tmp_path / "a.npz"), "data_folder": str(tmp_path)}
    reply = answer(order)
    assert reply["data"] and "mnist" in reply["error"]
    assert answer({**order, "job": vars(jobs_of(tiny())[0])}) == {"error": None, "data": False}
    assert load(tmp_path / "a.npz").facts["dataset"] == "randn-40-12"


def test_processes_must_be_at_least_one(tmp_path):
    with pytest.raises(ValueError, match="At least one process"):
        run([], tmp_path, processes=0)


RUNNER = """
import sys, pathlib
sys.path.insert(0, {tests!r})
from experiments.tiny import mischief, tiny
from orthoprox.experiments import run
folder, users = map(pathlib.Path, sys.argv[1:])
experiment = tiny(methods=mischief(users, "Slow"), seeds=(0, 1, 2), iterations=30)
outcome = run([job for _, job in experiment.jobs()], folder, processes=2)
print(outcome.done, outcome.interrupted)
"""


def started(*folders):
    code = RUNNER.format(tests=os.path.dirname(os.path.dirname(__file__)))
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, folders)],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=heeds_ctrl_c,
        start_new_session=True,
    )


def heeds_ctrl_c():
    """A shell's background jobs ignore it, and so would what they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def until(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """An experiment of slow runs, where its solver stands, and its table when nothing interferes."""
    users, whole = tmp_path_factory.mktemp("users"), tmp_path_factory.mktemp("whole")
    experiment = tiny(methods=mischief(users, "Slow"), seeds=(0, 1, 2), iterations=30)
    assert run(jobs_of(experiment), whole, processes=2).done == 6
    return experiment, users, table(whole, experiment)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "ctrl-c"])
def test_a_broken_run_goes_on_to_the_same_table(tmp_path, slow, how):
    experiment, users, expected = slow
    process = started(tmp_path, users)
    until(lambda: len(list(tmp_path.rglob("*.npz"))) >= 2)
    os.killpg(process.pid, how)  # as a terminal does it: to all of the group
    said, _ = process.communicate(timeout=120)
    there = list(tmp_path.rglob("*.npz"))
    assert 2 <= len(there) < 6
    assert all(load(path).facts for path in there)
    if how == signal.SIGINT:
        done, interrupted = said.split()
        assert interrupted == "True" and int(done) <= len(there)
        assert (tmp_path / "runs/log.txt").read_text() == ""
    outcome = run(jobs_of(experiment), tmp_path, processes=2)
    assert outcome.done <= 6 - len(there) and outcome.present + outcome.done == 6
    assert table(tmp_path, experiment) == expected and len(expected) == 6


def test_ctrl_c_does_not_wait_for_the_runs_at_hand(tmp_path):
    methods = (tiny().methods[2], *mischief(tmp_path, "Slow"))
    experiment = tiny(datasets=("randn-40-12",), seeds=(0,), methods=methods, iterations=3000)  # a minute, if slow

    def stop(outcome, job):
        raise KeyboardInterrupt

    began = time.monotonic()
    outcome = run(jobs_of(experiment), tmp_path / "out", on_progress=stop)
    assert outcome.interrupted and outcome.done == 1
    assert time.monotonic() - began < 30


def test_a_folder_knows_its_experiments(tmp_path):
    add_to_manifest(tmp_path, [tiny(), tiny(name="other")])
    add_to_manifest(tmp_path, [tiny(iterations=5)])
    assert {e.name: e.iterations for e in read_manifest(tmp_path)} == {"tiny": 5, "other": 30}
    assert len(gather(tmp_path).missing) == 24
    (tmp_path / "experiments.json").write_text("[")
    with pytest.raises(ValueError, match="not a list of experiments"):
        read_manifest(tmp_path)

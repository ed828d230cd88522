"""The runner: what is missing is run, whatever happens to single runs or to the runner."""

import csv
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict

import pytest

from experiments.tiny import mischief, slow, tiny
from orthoprox._fields import replace
from orthoprox.experiments import Tally, gather, run
from orthoprox.experiments.environment import code
from orthoprox.experiments.gather import add_to_manifest, read_manifest
from orthoprox.experiments.store import code_of, load, write
from orthoprox.experiments.table import as_csv
from orthoprox.experiments.worker import answer


def jobs_of(experiment):
    return [job for _, job in experiment.jobs()]


def table(folder, experiment):
    """The table without its times."""
    results = gather(folder, [experiment])
    assert not results.missing
    return [{**line, "seconds": None} for line in csv.DictReader(as_csv(results.runs).splitlines())]


def test_every_run_is_made_once(tmp_path):
    folder, progress = tmp_path / "ünbroken results", []
    jobs = jobs_of(tiny())
    tally = run(jobs, folder, processes=2, on_progress=lambda tally, job: progress.append((tally.done, job.key)))
    assert (tally.total, tally.present, tally.done, tally.failures) == (12, 0, 12, [])
    assert [done for done, _ in progress] == list(range(1, 13))
    assert {key for _, key in progress} == {job.key for job in jobs}
    files = sorted(job.file(folder) for job in jobs)
    assert sorted(folder.rglob("*.npz")) == files and not list(folder.rglob("*.part"))
    assert {one.facts["machine"]["blas_threads"] for one in gather(folder, [tiny()]).runs} == {"1"}
    # the same again, and the same under another label: nothing is run
    twice = tiny(methods=(*tiny().methods, replace(tiny().methods[0], label="again")))
    times = [file.stat().st_mtime_ns for file in files]
    tally = run(jobs_of(twice), folder, on_progress=lambda *_: pytest.fail("something was run"))
    assert (tally.total, tally.present, tally.done) == (12, 12, 0)
    assert times == [file.stat().st_mtime_ns for file in files]
    # a damaged file: that run alone
    before, victim = table(folder, tiny()), jobs[4].file(folder)
    victim.write_bytes(victim.read_bytes()[:500])
    assert [job.key for *_, job in gather(folder, [tiny()]).missing] == [jobs[4].key]
    tally = run(jobs, folder)
    assert (tally.present, tally.done) == (11, 1)
    assert table(folder, tiny()) == before


def test_results_of_another_version_of_the_code_are_made_again_unless_they_are_kept(tmp_path):
    jobs = jobs_of(tiny(datasets=("randn-40-12",), seeds=(0,)))
    for job in jobs:
        assert answer({"job": asdict(job), "file": str(job.file(tmp_path)), "data_folder": None}) == {"error": None}
    one = load(jobs[1].file(tmp_path))
    write(jobs[1].file(tmp_path), replace(one, facts={**one.facts, "code": "older", "objective": -1.0}))
    told = []
    tally = run(jobs, tmp_path, keep_outdated=True, on_start=lambda tally: told.append((tally.outdated, tally.done)))
    assert (tally.present, tally.outdated, tally.done, told) == (3, 1, 0, [(1, 0)])
    assert code_of(jobs[1].file(tmp_path)) == "older"
    tally = run(jobs, tmp_path, on_start=lambda tally: told.append((tally.outdated, tally.done)))
    assert (tally.present, tally.outdated, tally.done, told[1:]) == (2, 1, 1, [(1, 0)])
    again = load(jobs[1].file(tmp_path)).facts
    assert (again["code"], again["processes"], again["objective"]) == (code(), 1, one.facts["objective"])
    assert tally.say_outdated(kept=False).startswith("1 result is of another version of the code: made again")
    assert Tally(2, outdated=2).say_outdated(kept=True).startswith("2 results are") and not Tally(2).say_outdated(
        kept=True
    )


def test_a_run_that_fails_does_not_keep_the_others(tmp_path):
    experiment = tiny(
        datasets=("randn-40-12",),
        seeds=(0,),
        iterations=3,
        methods=(*mischief(tmp_path, "Raises", "Dies", "Talks"), tiny().methods[2]),
    )
    tally = run(jobs_of(experiment), tmp_path / "out")
    assert tally.done == 2
    why = {failure.job.solver.rpartition(":")[2]: failure.sentence for failure in tally.failures}
    assert set(why) == {"Raises", "Dies"}
    assert "no step today" in why["Raises"] and "code 7" in why["Dies"]
    assert not any(failure.data for failure in tally.failures)
    assert "words on standard output" in (tmp_path / "out/runs/log.txt").read_text()
    results = gather(tmp_path / "out", [experiment])
    assert [one.label for one in results.runs] == ["Talks", "Sub-Grad"]
    assert results.runs[0].objective == results.runs[1].objective


def test_missing_data_are_a_failure_of_their_own(tmp_path):
    job = replace(jobs_of(tiny())[0], dataset="mnist-20-10")
    order = {"job": vars(job), "file": str(tmp_path / "a.npz"), "data_folder": str(tmp_path)}
    reply = answer(order)
    assert reply["data"] and "mnist" in reply["error"]
    assert answer({**order, "job": vars(jobs_of(tiny())[0])}) == {"error": None}
    assert load(tmp_path / "a.npz").facts["dataset"] == "randn-40-12"
    with pytest.raises(ValueError, match="At least one process"):
        run([], tmp_path, processes=0)


RUNNER = """
import json, sys, pathlib
sys.path.insert(0, {tests!r})
from experiments.tiny import mischief, slow
from orthoprox.experiments import run
folder, users = map(pathlib.Path, sys.argv[1:])
tally = run([job for _, job in slow(users).jobs()], folder, processes=2)
print(tally.done, tally.interrupted)
"""


def started(*folders):
    """The runner in a process that heeds Ctrl-C, which a shell's background jobs ignore."""
    return subprocess.Popen(
        [sys.executable, "-c", RUNNER.format(tests=os.path.dirname(os.path.dirname(__file__))), *map(str, folders)],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        start_new_session=True,
    )


def until(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """An experiment of slow runs, where its solver stands, and its table when nothing interferes."""
    users, whole = tmp_path_factory.mktemp("users"), tmp_path_factory.mktemp("whole")
    experiment = slow(users)
    assert run(jobs_of(experiment), whole, processes=1).done == 6
    return experiment, users, table(whole, experiment)


KILL = getattr(signal, "SIGKILL", None)


@pytest.mark.posix
@pytest.mark.parametrize(
    "how", [pytest.param(KILL, id="killed"), pytest.param(signal.SIGINT, id="ctrl-c", marks=pytest.mark.slow)]
)
def test_a_broken_run_goes_on_to_the_same_table(tmp_path, unbroken, how):
    experiment, users, expected = unbroken
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
    tally = run(jobs_of(experiment), tmp_path, processes=1)
    assert tally.done <= 6 - len(there) and tally.present + tally.done == 6
    assert table(tmp_path, experiment) == expected and len(expected) == 6


def test_ctrl_c_does_not_wait_for_the_runs_at_hand(tmp_path):
    methods = (tiny().methods[2], *mischief(tmp_path, "Slow"))
    experiment = tiny(datasets=("randn-40-12",), seeds=(0,), methods=methods, iterations=3000)  # a minute, if slow

    def stop(tally, job):
        raise KeyboardInterrupt

    began = time.monotonic()
    tally = run(jobs_of(experiment), tmp_path / "out", on_progress=stop)
    assert tally.interrupted and tally.done == 1
    assert time.monotonic() - began < 30


def test_a_folder_lists_its_experiments(tmp_path):
    add_to_manifest(tmp_path, [tiny(), tiny(name="other")])
    add_to_manifest(tmp_path, [tiny(iterations=5)])
    assert {e.name: e.iterations for e in read_manifest(tmp_path)} == {"tiny": 5, "other": 30}
    assert len(gather(tmp_path).missing) == 24
    (tmp_path / "experiments.json").write_text("[")
    with pytest.raises(ValueError, match="not a list of experiments"):
        read_manifest(tmp_path)

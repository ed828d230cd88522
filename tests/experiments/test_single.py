"""One run: its result is what the library computes, with what a table needs."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from experiments.tiny import mischief, tiny
from orthoprox import Iterations, Stiefel, named, solve
from orthoprox._fields import replace
from orthoprox.datasets import DataUnavailable, load
from orthoprox.datasets.files import looks_like_file
from orthoprox.experiments.data import load_data, substitute_missing
from orthoprox.experiments.environment import code
from orthoprox.experiments.single import START, BudgetRecorder, execute
from orthoprox.experiments.store import Archive, write
from orthoprox.models import sparse_pca
from orthoprox.problem import nonzeros


@pytest.fixture(scope="module")
def jobs():
    return dict(tiny(datasets=("randn-40-12",), seeds=(3,)).jobs())


@pytest.mark.parametrize(("kept", "k", "watch"), [(0.25, 6, None), (None, 24, "lyapunov")])
def test_a_run_is_what_the_library_computes_and_says_what_made_it(jobs, kept, k, watch):
    """Without k every entry is penalised; a run that is watched keeps the quantities of the analysis."""
    archive = execute(replace(jobs["OADMM-EP"], kept=kept, watch=watch))
    D = load("randn-40-12", seed=3).X
    problem = sparse_pca(D, n_components=2, weight=2.0, k=None if kept is None else k)
    solver = named("oadmm-ep", beta0=20.0, xi=0.5)
    result = solve(problem, solver, problem.M.random(START + 3), stop=Iterations(30))
    facts = archive.facts
    assert facts["objective"] == pytest.approx(result.objective, rel=1e-12)
    assert facts["criticality"] == pytest.approx(result.criticality, rel=1e-9)
    assert (facts["k"], facts["n"], facts["r"], facts["m"]) == (k, 12, 2, 40)
    assert (facts["nonzeros"], facts["nonzeros_y"]) == (nonzeros(result.X), nonzeros(result.y))
    best = np.sum(np.linalg.svd(D, compute_uv=False)[:2] ** 2)
    assert facts["variance_kept"] == pytest.approx(np.sum((D @ result.X) ** 2) / best, rel=1e-10)
    assert facts["iterations"] == facts["work"] == 30
    assert np.array_equal(archive.history["iteration"], np.arange(31))
    assert facts["objective"] == archive.history["objective"][-1]
    assert facts["status"] == "iterations"
    assert facts["settings"] == {"beta0": 20.0, "xi": 0.5} and "beta0=20.0" in facts["solver_settings"]
    assert (facts["seed"], facts["start_seed"], facts["dataset"]) == (3, START + 3, "randn-40-12")
    assert {"python", "numpy", "scipy", "orthoprox"} <= set(facts["versions"])
    assert {"system", "processor", "cores", "blas_threads"} <= set(facts["machine"])
    assert len(facts["code"]) == 12 and facts["data_checksum"] == load("randn-40-12", seed=3).checksum
    if watch is not None:
        assert len(archive.theory["theta"]) == 30 and np.all(archive.theory["decrease"][1:] > 0)


def test_all_methods_have_one_start_which_is_not_made_of_the_data(jobs):
    firsts = {execute(job).history["objective"][0] for job in jobs.values()}
    assert len(firsts) == 1
    other = execute(replace(jobs["Sub-Grad"], seed=4))
    assert other.history["objective"][0] not in firsts
    # both are Gaussian: drawn from one seed they would share their numbers
    job = replace(jobs["Sub-Grad"], dataset="randn-12-12", components=12)
    start = Stiefel(12, 12).random(execute(job).facts["start_seed"])
    drawn = np.random.default_rng(job.seed).standard_normal((12, 12))
    assert abs(np.trace(start.T @ drawn)) < 0.5 * np.linalg.svd(drawn, compute_uv=False).sum()


def test_work_is_what_the_solver_says(jobs, tmp_path):
    (blocks,) = mischief(tmp_path, "Blocks")
    archive = execute(replace(jobs["Sub-Grad"], solver=blocks.solver, iterations=4))
    assert (archive.facts["iterations"], archive.facts["work"]) == (4, 40)
    assert list(archive.history["work"]) == [0, 10, 20, 30, 40]


def test_a_run_ends_when_it_has_converged_or_its_time_is_over(jobs, tmp_path):
    done = execute(replace(jobs["OADMM-EP"], solver="oadmm", settings={}, iterations=500))
    assert done.facts["status"] == "converged" and done.facts["criticality"] <= 1e-8
    slow, stops = mischief(tmp_path, "Slow", "Stops")
    late = execute(replace(jobs["Sub-Grad"], solver=slow.solver, iterations=None, seconds=0.1))
    assert late.facts["status"] == "seconds" and late.facts["seconds_used"] >= 0.1
    assert late.facts["iterations"] < 5  # a step sleeps for 0.02 s, and the one that ends late does not count
    with pytest.raises(KeyboardInterrupt):  # a part of a run is no result
        execute(replace(jobs["Sub-Grad"], solver=stops.solver))


def test_a_run_is_judged_by_what_it_had_reached_within_its_budget(jobs, tmp_path):
    lasts_long, begins_late = mischief(tmp_path, "LastsLong", "BeginsLate")
    timed = replace(jobs["Sub-Grad"], iterations=None, seconds=1.0)
    long = execute(replace(timed, solver=lasts_long.solver, iterations=3))  # a third step that ends after the budget
    two = execute(replace(jobs["Sub-Grad"], iterations=2))
    same = ("objective", "criticality", "nonzeros", "nonzeros_y", "variance_kept", "iterations", "work")
    assert {name: long.facts[name] for name in same} == {name: two.facts[name] for name in same}
    assert long.facts["status"] == "seconds" and long.facts["seconds_used"] > 1.5
    assert list(long.history["iteration"]) == [0, 1, 2] and max(long.history["seconds"]) <= 1.0
    late = execute(replace(timed, solver=begins_late.solver, seconds=0.2))  # the set-up is on the clock
    assert (late.facts["iterations"], late.facts["status"]) == (0, "seconds")
    assert len(late.history["seconds"]) == 1 and late.history["seconds"][0] > 0.2


def test_records_thin_out_and_never_stop():
    record = BudgetRecorder()
    due = [t for t in range(100_000) if record.due(t)]
    gaps = np.diff(due)
    assert due[:51] == list(range(51))
    assert np.all(np.diff(gaps) >= 0) and gaps[-1] == 2048
    assert len(due) < 400


def test_a_users_file_is_centred_dense_or_sparse(tmp_path, monkeypatch):
    rng = np.random.default_rng(7)
    A = np.where(rng.random((40, 300)) < 0.1, 3 + rng.standard_normal((40, 300)), 0.0)
    save_npz(tmp_path / "sparse.npz", csr_array(A))
    np.savetxt(tmp_path / "dätä.csv", A, delimiter=",")
    C, X = A - A.mean(axis=0), rng.standard_normal((300, 3))
    for name in ("sparse.npz", "dätä.csv"):
        data = load_data(str(tmp_path / name), 0, None)
        assert looks_like_file(str(tmp_path / name)) and (data.m, data.n) == (40, 300)
        assert np.allclose(data.D(X), C @ X)
        assert data.principal_variance(2) == pytest.approx(np.sum(np.linalg.svd(C, compute_uv=False)[:2] ** 2))
        assert data.principal_variance(40) == pytest.approx(np.sum(C**2))
    assert not looks_like_file("randn-30-6")
    monkeypatch.setattr("orthoprox.experiments.data.LARGEST", 5)
    np.save(tmp_path / "wide.npy", rng.standard_normal((9, 6)))
    assert math.isnan(load_data(str(tmp_path / "wide.npy"), 0, None).principal_variance(2))


def test_a_substitute_stands_in_only_where_data_cannot_be_had(tmp_path):
    missing = tiny(datasets=("mnist-20-10", "randn-40-12"), substitutes={"mnist-20-10": "randn-20-10"})
    assert substitute_missing(missing, str(tmp_path), tmp_path).datasets == ("randn-20-10", "randn-40-12")
    with pytest.raises(DataUnavailable, match="mnist"):
        substitute_missing(replace(missing, substitutes={}), str(tmp_path), tmp_path)
    with pytest.raises(DataUnavailable, match="mnist"):
        substitute_missing(replace(missing, substitutes={"mnist-20-10": "tdt2-20-10"}), str(tmp_path), tmp_path)
    there = tiny(substitutes={"randn-40-12": "randn-9-3"})
    assert substitute_missing(there, str(tmp_path), tmp_path).datasets == there.datasets


def test_availability_is_found_without_reading_data(tmp_path, monkeypatch):
    for reader in ("load", "read_matrix"):
        monkeypatch.setattr(f"orthoprox.experiments.data.{reader}", lambda *_, **__: pytest.fail("data were read"))
    missing = tiny(datasets=("mnist-20-10",))
    for made_by in ("older", code()):  # data whose results are there are not needed
        for _, job in missing.jobs():
            write(job.file(tmp_path), Archive({"code": made_by}, {}, {}))
        kept = substitute_missing(missing, str(tmp_path / "none"), tmp_path, keep_outdated=True)
        assert kept == missing
        if made_by == "older":
            with pytest.raises(DataUnavailable, match="mnist.*another version of the code; --keep-old"):
                substitute_missing(missing, str(tmp_path / "none"), tmp_path)
    assert substitute_missing(missing, str(tmp_path / "none"), tmp_path) == missing
    (tmp_path / "mnist_train_60k.npz").touch()
    there = tiny(datasets=("mnist-20-10", "randn-40-12", str(tmp_path / "mnist_train_60k.npz")))
    assert substitute_missing(there, str(tmp_path), tmp_path / "other") == there
    with pytest.raises(DataUnavailable, match="no file .*none.csv"):
        substitute_missing(tiny(datasets=(str(tmp_path / "none.csv"),)), None, tmp_path)

"""One run, from a job to its archive."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from orthoprox.driver import Iterations, Recorder, Result, Seconds, Snapshot, Status, When, solve
from orthoprox.driver.stopping import Rule
from orthoprox.experiments.data import RunData, load_data
from orthoprox.experiments.methods import make_solver
from orthoprox.experiments.spec import Job
from orthoprox.experiments.store import Archive
from orthoprox.models import sparse_pca
from orthoprox.problem import Problem, nonzeros
from orthoprox.theory import Lyapunov

START = 10_000
"""Added to the seed of the data for that of the start: random data and the start must not share their numbers."""
RECORDS_PER_DOUBLING = 50


class Thinning(Recorder):
    """Records every iteration at first and fewer later: the same number for each doubling.

    Examples
    --------
    >>> record = Thinning()
    >>> sum(record.due(t) for t in range(100)), sum(record.due(t) for t in range(6400, 12800))
    (100, 50)
    """

    def due(self, t: int) -> bool:
        return t % (1 << max(0, (t // RECORDS_PER_DOUBLING).bit_length() - 1)) == 0


def execute(job: Job, data_folder: str | None = None) -> Archive:
    """Run a job.

    Examples
    --------
    >>> from orthoprox.experiments import Experiment, Method
    >>> tiny = Experiment(name="tiny", title="", datasets=("randn-40-10",), weights=(1.0,), components=2,
    ...                   methods=(Method("EP", "oadmm-ep", {"beta0": "10 * weight"}),), iterations=5)
    >>> archive = execute(next(tiny.jobs())[1])
    >>> archive.facts["iterations"], len(archive.history["objective"])
    (5, 6)
    """
    data = load_data(job.dataset, job.seed, data_folder)
    problem = _problem(job.dataset, job.seed, data_folder, job.components, job.weight, job.kept)
    record = Thinning(extra={"work": _work})
    watch = Lyapunov() if job.watch == "lyapunov" else None
    result = solve(
        problem,
        make_solver(job.solver, dict(job.settings)),
        problem.M.random(START + job.seed),
        stop=_stop(job, record),
        record=record,
        observers=[] if watch is None else [watch],
    )
    if result.status is Status.INTERRUPTED:  # an interrupted run is no result
        raise KeyboardInterrupt
    facts = {**asdict(job), **_outcome(job, data, problem, result), **environment()}
    return Archive(facts, result.history, {} if watch is None else watch.history)


@functools.lru_cache(maxsize=2)
def _problem(
    dataset: str, seed: int, folder: str | None, components: int, weight: float, kept: float | None
) -> Problem:
    data = load_data(dataset, seed, folder)
    k = None if kept is None else max(1, round(kept * data.n * components))
    return sparse_pca(data.D, n_components=components, weight=weight, k=k)


def _stop(job: Job, record: Recorder) -> Rule:
    """The budget, and Crit at the iterations that are recorded."""

    def converged(now: Snapshot) -> Status | None:
        return Status.CONVERGED if record.due(now.t) and now.criticality <= job.tolerance else None

    rule: Rule = When(converged)
    if job.iterations is not None:
        rule = rule | Iterations(job.iterations)
    if job.seconds is not None:
        rule = rule | Seconds(job.seconds)
    return rule


def _work(now: Snapshot) -> float:
    return float(now.solver.work(now.state))


def _outcome(job: Job, data: RunData, problem: Problem, result: Result[Any]) -> dict[str, Any]:
    n, r = problem.M.n, problem.M.r
    return {
        "method": result.solver.name,
        "solver_settings": repr(result.solver),
        "status": result.status.name.lower(),
        "objective": result.objective,
        "criticality": result.criticality,
        "infeasibility": result.infeasibility,
        "nonzeros": nonzeros(result.X),
        "nonzeros_y": nonzeros(result.y),
        "n": n,
        "r": r,
        "m": data.m,
        "k": n * r if job.kept is None else max(1, round(job.kept * n * r)),
        "variance_kept": float(np.sum(data.D(result.X) ** 2)) / data.principal_variance(r),
        "iterations": result.iterations,
        "work": result.solver.work(result.state),
        "seconds_used": result.seconds,
        "start_seed": START + job.seed,
        "data_checksum": data.checksum,
        "notes": list(result.notes),
        "data_divided_by": data.divisor,
    }


@functools.cache
def environment() -> Mapping[str, Any]:
    """Versions, machine, threads, and a digest of the code that decides the numbers."""
    return {
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("orthoprox", "numpy", "scipy")},
        },
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "processor": _processor(),
            "cores": os.cpu_count(),
            "blas_threads": os.environ.get("OPENBLAS_NUM_THREADS", "not set"),
        },
        "code": _code(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _code() -> str:
    root = Path(__file__).parent.parent
    layers = ("backends", "manifolds", "maps", "terms", "problem", "solvers", "driver", "models")
    files = sorted(file for layer in layers for file in (root / layer).rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]

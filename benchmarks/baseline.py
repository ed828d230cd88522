"""What users get, frozen: the default solver and the estimators on fixed problems, compared with a stored run.

python benchmarks/baseline.py            compare with benchmarks/baseline.json
python benchmarks/baseline.py --store    replace it
python benchmarks/baseline.py --against OTHER/src    run the code in another tree too, in turns, and compare with that

Processor time is comparable only within one run on one machine: use --against for it. The method is chaotic in
places (rounding may lead to another local minimum), so single rows differ between BLAS libraries; means do not.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy is imported

import numpy as np  # noqa: E402
from _problems import dictionary, problems, unit_columns  # noqa: E402
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine  # noqa: E402

from orthoprox import Critical, Problem, Recorder, Seconds, Stiefel, named, solve  # noqa: E402
from orthoprox import estimators as est  # noqa: E402
from orthoprox.maps import Difference, Matrix  # noqa: E402
from orthoprox.models import compressed_modes, sparse_pca  # noqa: E402
from orthoprox.terms import L1, MCP, ExplainedVariance, GroupL2, Huber, LInf, Quadratic, Smooth  # noqa: E402

STORED = Path(__file__).with_name("baseline.json")
CRIT = 1e-6
SECONDS = 3.0
Row = dict[str, float]


def solver_problems() -> dict[str, Problem]:
    """All kinds of docs/solvers.md, and what they leave out: other sizes, weights, scales, h without derivatives."""
    found = dict(problems())
    for n, r, w in ((200, 5, 0.8), (300, 20, 0.3), (500, 11, 0.01), (500, 10, 0.6)):
        f = ExplainedVariance(unit_columns(50, n, n + r), weight=2.0)
        found[f"l1, {n} x {r}, weight {w:g}"] = Problem.of(f + w * L1(), over=Stiefel(n, r))
    digits = load_digits().data
    found["digits, l1 - largest-k, weight 50"] = sparse_pca(digits, n_components=8, weight=50.0, k=60)
    found["digits, raw, l1"] = sparse_pca(digits, n_components=6, weight=1.0)
    wine = load_wine().data
    scaled = (wine - wine.mean(axis=0)) / wine.std(axis=0)
    found["wine, l1 - largest-k, few"] = sparse_pca(scaled, n_components=3, weight=5.0, k=9)
    found["wine, mcp"] = sparse_pca(scaled, n_components=3, weight=0.5, penalty="mcp")
    found["compressed modes 64 x 6"] = compressed_modes(64, n_components=6, weight=0.2)
    S = np.diag(np.linspace(1.0, 30.0, 60))
    M = Stiefel(60, 4)
    found["convex quadratic, l1"] = Problem.of(Quadratic(S) + 0.5 * L1(), over=M)
    found["l1 of differences"] = Problem.of(Quadratic(S) + 0.3 * L1() @ Difference(), over=M)
    found["mcp of a matrix"] = Problem.of(MCP(0.5, 4.0) @ Matrix(dictionary(60, 200, 0.3, 5)), over=M)
    found["linf"] = Problem.of(Quadratic(S) + 2.0 * LInf(), over=M)
    found["rows"] = Problem.of(ExplainedVariance(unit_columns(50, 60, 7)) + 0.3 * GroupL2(), over=M)
    found["huber"] = Problem.of(ExplainedVariance(unit_columns(50, 60, 8)) + 0.3 * Huber(0.2), over=M)
    quartic = Smooth(lambda X: (float(-np.sum(X**4)), -4.0 * X**3), lipschitz=12.0)
    found["own function, l1"] = Problem.of(quartic + 0.1 * L1(), over=M)
    return found


def tables() -> dict[str, Any]:
    """Tables that ship with scikit-learn, and one with more features than samples."""
    raw = {"wine": load_wine(), "diabetes": load_diabetes(), "cancer": load_breast_cancer(), "digits": load_digits()}
    found = {}
    for name, bunch in raw.items():
        X = bunch.data[:, bunch.data.std(axis=0) > 0]
        found[name] = (X - X.mean(axis=0)) / X.std(axis=0)
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((60, 600))
    wide[:, :50] += 2 * rng.standard_normal((60, 1))
    wide[:, 50:80] += 2 * rng.standard_normal((60, 1))
    return {**found, "wide": wide}


def fits() -> dict[str, tuple[Callable[[int], Any], Any]]:
    """Estimators, made for a seed, with the data they are fitted to."""
    data = tables()
    counts = np.abs(load_digits().data)
    rng = np.random.default_rng(3)
    sources = rng.uniform(-1, 1, (800, 4)) @ rng.standard_normal((4, 4))
    inliers = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 12)) + 0.01 * rng.standard_normal((300, 12))
    mixed = np.vstack([inliers, 3 * rng.standard_normal((100, 12))])
    codes = dictionary(16, 600, 0.2, 4)
    found: dict[str, tuple[Callable[[int], Any], Any]] = {}
    for name, X in data.items():
        found[f"SparsePCA {name}"] = (lambda s: est.SparsePCA(4, random_state=s, n_init=1 + s), X)
        found[f"SparsePCA {name}, caps"] = (
            lambda s: est.SparsePCA(3, n_nonzero_per_component=5, random_state=s, n_init=1 + s),
            X,
        )
        found[f"SparsePCA {name}, weight"] = (lambda s: est.SparsePCA(3, weight=0.3, random_state=s, n_init=1 + s), X)
    found["SparsePCA cancer, rows"] = (lambda s: est.SparsePCA(3, weight=0.5, penalty="group"), data["cancer"])
    found["NonnegativePCA digits"] = (lambda s: est.NonnegativePCA(4, random_state=s), data["digits"])
    found["OrthogonalNMF digits"] = (lambda s: est.OrthogonalNMF(5, random_state=s), counts)
    found["RangeICA"] = (lambda s: est.RangeICA(4, random_state=s), sources)
    found["OrthogonalDictionaryLearning"] = (lambda s: est.OrthogonalDictionaryLearning(random_state=s), codes)
    found["RobustSubspace"] = (lambda s: est.RobustSubspace(3, random_state=s), mixed)
    found["DualPCP"] = (lambda s: est.DualPCP(9, center=None, random_state=s), mixed)
    return found


def run_solver(problem: Problem, seed: int) -> Row:
    """One run of the default solver, until Crit is small or time is over."""
    solver = named("oadmm")
    since = time.process_time()
    result = solve(problem, solver, seed=seed, stop=Critical(CRIT) | Seconds(SECONDS), record=Recorder(every=10**9))
    return _row(result, time.process_time() - since, np.count_nonzero(result.X))


def run_fit(estimator: Any, X: Any) -> Row:
    """One fit; the objective is that of the run it kept."""
    since = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X)
    row = _row(estimator.result_, time.process_time() - since, np.count_nonzero(estimator.components_))
    return {**row, "objective": float(estimator.objective_)}  # in the units of the data


def _row(result: Any, cpu: float, nonzeros: int) -> Row:
    # A tree from before Solver.work counted in the state.
    work = result.solver.work(result.state) if hasattr(result.solver, "work") else getattr(result.state, "steps", 0)
    return {
        "objective": float(result.objective),
        "criticality": float(result.criticality),
        "work": int(work),
        "nonzeros": int(nonzeros),
        "cpu": cpu,
    }


def rows(starts: int, only: str) -> Iterator[tuple[str, Row]]:
    """Every row in turn, under its name."""
    solve(problems()["sparse PCA, l1"], stop=Seconds(0.3))  # what Python and BLAS load once is nobody's time
    for name, problem in solver_problems().items():
        for seed in range(starts if only in name else 0):
            yield f"{name} #{seed}", run_solver(problem, seed)
    for name, (estimator, X) in fits().items():
        for seed in range(min(starts, 2) if only in name else 0):
            yield f"{name} #{seed}", run_fit(estimator(seed), X)


def scale(row: Row) -> float:
    return max(abs(row["objective"]), 1e-3)


def worse(before: Row, now: Row) -> list[str]:
    """What a user would notice."""
    found = []
    if now["objective"] > before["objective"] + 1e-3 * scale(before):
        found.append(f"objective {before['objective']:.6g} -> {now['objective']:.6g}")
    if before["criticality"] <= CRIT < now["criticality"]:
        found.append(f"Crit {before['criticality']:.0e} -> {now['criticality']:.0e}")
    if now["cpu"] > 1.5 * before["cpu"] and now["cpu"] > 0.02:
        found.append(f"CPU {before['cpu']:.3f} s -> {now['cpu']:.3f} s")
    return found


def compare(before: dict[str, Row], now: dict[str, Row], *, times: bool) -> None:
    """Print what got worse, then the means."""
    common = [name for name in before if name in now]
    for name in common:
        complaints = [text for text in worse(before[name], now[name]) if times or not text.startswith("CPU")]
        if complaints:
            print(f"  {name}: {'; '.join(complaints)}")
    change = [(now[name]["objective"] - before[name]["objective"]) / scale(before[name]) for name in common]
    reached = [sum(run[name]["criticality"] <= CRIT for name in common) for run in (before, now)]
    lower, higher = sum(c < -1e-6 for c in change), sum(c > 1e-6 for c in change)
    print(f"{len(common)} rows: relative objective {np.mean(change):+.2e} in the mean ({lower} lower, {higher} higher)")
    print(f"Crit {CRIT:g} reached in {reached[0]} rows before and {reached[1]} now")
    if times:
        ratio = [math.log(max(now[name]["cpu"], 1e-3) / max(before[name]["cpu"], 1e-3)) for name in common]
        print(f"processor time {math.exp(np.mean(ratio)):.3f} times that before (geometric mean)")


def from_tree(source: str, starts: int, only: str) -> dict[str, Row]:
    """The same rows from the code in another tree."""
    command = [sys.executable, __file__, "--starts", str(starts), "--only", only, "--print"]
    environment = {**os.environ, "PYTHONPATH": source}
    made = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(made.stdout)  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", action="store_true", help="keep this run as the one to compare with")
    parser.add_argument("--against", metavar="SRC", help="the src folder of another tree, run on this machine too")
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--print", action="store_true", help="write the rows as JSON and compare nothing")
    arguments = parser.parse_args()
    if arguments.against:
        before = from_tree(arguments.against, arguments.starts, arguments.only)
    now = {}
    for name, row in rows(arguments.starts, arguments.only):
        now[name] = row
        if not arguments.print:
            figures = "  ".join(f"{key} {value:.6g}" for key, value in row.items())
            print(f"{name:45s} {figures}", flush=True)
    if arguments.print:
        print(json.dumps(now))
    elif arguments.store:
        STORED.write_text(json.dumps(now, indent=1) + "\n")
    elif arguments.against:
        compare(before, now, times=True)
    else:
        compare(json.loads(STORED.read_text()), now, times=False)


if __name__ == "__main__":
    main()

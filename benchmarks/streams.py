"""Samples in blocks: what a block costs and keeps, what one pass loses, what stochastic steps gain.

scikit-learn's IncrementalPCA is fitted to the same blocks with as many components: its components are dense, so the
time of a block and the memory compare, the variance does not. Times are processor time with one thread. The variances
of one pass are those of the data, computed from all samples.

    python benchmarks/streams.py [--no-quick] [--out docs/streams.md]
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import time
import tracemalloc
import warnings
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import numpy as np
import sklearn
from scipy.sparse import csr_array, random_array
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.decomposition import IncrementalPCA

from orthoprox import Iterations, Problem, Recorder, SparsePCA, solve
from orthoprox.solvers import StochasticOADMM
from orthoprox.terms import L1, ExplainedVariance, Mean

MARK = "## Measured"
ROWS = 500


def factors(m: int, n: int, seed: int) -> np.ndarray:
    """Ten factors with loadings on a twentieth of the features each, and noise."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((10, n)) * (rng.random((10, n)) < 0.05)
    return np.asarray(rng.standard_normal((m, 10)) * np.linspace(3, 1, 10) @ loadings + rng.standard_normal((m, n)) + 5)


def decaying(m: int, n: int, seed: int) -> np.ndarray:
    """Singular values 1/i and no zeros in the true directions."""
    rng = np.random.default_rng(seed)
    k = min(m, n)
    return np.asarray(
        rng.standard_normal((m, k)) / np.arange(1, k + 1) @ np.linalg.qr(rng.standard_normal((n, k)))[0].T
    )


def counts(m: int, n: int, seed: int) -> csr_array:
    """Sparse counts, 7 % of them positive, in groups of features that go together."""
    rng = np.random.default_rng(seed)
    X = random_array(
        (m, n), density=0.07, rng=rng, format="csr", data_sampler=lambda size: 1.0 + rng.poisson(1.0, size)
    )
    X.data *= (1 + 2 * (rng.random((m, 8)) < 0.3))[np.repeat(np.arange(m), np.diff(X.indptr)), X.indices % 8]
    return csr_array(X)


def seconds(function, repeats: int) -> float:
    """The shortest processor time of a call."""
    times = []
    for _ in range(repeats):
        since = time.process_time()
        function()
        times.append(time.process_time() - since)
    return min(times)


def cost_of_blocks(quick: bool) -> str:
    """The time of a block after the first, the time to the components, and the memory that is kept."""
    sizes = [(200, False), (1000, False), (2000, True), (5000, False)] + (
        [] if quick else [(20000, False), (20000, True)]
    )
    lines = [
        "| features | blocks | sketch | block, s | components after it, s | kept, MB | peak of a block, MB "
        "| IncrementalPCA block, s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for n, sparse in sizes:
        X = counts(ROWS, n, 0) if sparse else factors(ROWS, n, 0)
        model = SparsePCA(n_components=10, n_nonzero_per_component=20, effort="fast")
        peer = IncrementalPCA(n_components=10)
        for _ in range(2):
            model.partial_fit(X)
            peer.partial_fit(X.toarray() if sparse else X)
        block = seconds(lambda: model.partial_fit(X), 3)  # noqa: B023
        other = seconds(lambda: peer.partial_fit(X.toarray() if sparse else X), 3)  # noqa: B023
        tracemalloc.start()
        model.partial_fit(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        sketch = model.sketch_
        arrays = [*vars(sketch).values(), *vars(sketch.moments).values()]
        kept = sum(part.nbytes for part in arrays if isinstance(part, np.ndarray))
        found = seconds(lambda: model.components_, 1)  # noqa: B023
        kind = f"{sketch.size} directions" if hasattr(sketch, "size") else "exact"
        lines.append(
            f"| {n} | {ROWS} rows, {'7 % full' if sparse else 'dense'} | {kind} | {block:.3f} | {found:.2f} | "
            f"{kept / 1e6:.0f} | {peak / 1e6:.0f} | {other:.3f} |"
        )
        print(lines[-1], flush=True)
    return "\n".join(["### A block of 500 samples, 10 components", "", *lines])


def one_pass(quick: bool) -> str:
    """The variance kept after one pass over shuffled blocks, relative to a fit to all samples."""
    data = {
        "digits, 1797 x 64": load_digits().data,
        "cancer (standardised), 569 x 30": load_breast_cancer().data / np.std(load_breast_cancer().data, axis=0),
        "factors, 4000 x 300": factors(4000, 300, 1),
        "singular values 1/i, 3000 x 400": decaying(3000, 400, 2),
    }
    if not quick:
        data["factors, 6000 x 3000"] = factors(6000, 3000, 3)
    lines = [
        "| data | sketch | variance kept / batch | estimated / true | upper bound / batch variance | bound of batch "
        "| sketch error / total variance |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, X in data.items():
        X = X[np.random.default_rng(0).permutation(len(X))]
        settings = {"n_components": 5, "n_nonzero_per_component": 8}
        whole = SparsePCA(**settings).fit(X)
        best = whole.explained_variance_.sum()
        for size in (size for size in (None, 50, 20) if size is None or size < X.shape[1]):
            model = SparsePCA(**settings, sketch_size=size)
            for block in np.array_split(X, max(2, len(X) // 100)):
                model.partial_fit(block)
            true = np.sum(((X - X.mean(axis=0)) @ model.components_.T) ** 2) / (len(X) - 1)
            sketch = model.sketch_
            kind = f"{sketch.size} directions" if hasattr(sketch, "size") else "exact"
            lines.append(
                f"| {name} | {kind} | {true / best:.6f} | {model.explained_variance_.sum() / true:.4f} | "
                f"{model.upper_bound_ / best:.3f} | {whole.upper_bound_ / best:.3f} | "
                f"{sketch.error / np.sum(sketch.variances):.2g} |"
            )
            print(lines[-1], flush=True)
    return "\n".join(["### One pass over shuffled blocks, 5 components of 8 nonzeros", "", *lines])


def stochastic(quick: bool) -> str:
    """What is left of F after some passes, of what lies between the start and the best value known."""
    cancer = load_breast_cancer().data
    data = {"cancer (standardised), 569 x 30": ((cancer - cancer.mean(axis=0)) / np.std(cancer, axis=0), 20, 0.2)}
    X = factors(5000 if quick else 20000, 200, 4)
    data[f"factors, {len(X)} x 200"] = (X - X.mean(axis=0), 100, 0.5)
    head = ["data", "batch", "passes", "OADMM-EP", "stochastic OADMM", "without the average"]
    lines = [f"| {' | '.join(head)} |", "|---|---|---|---|---|---|"]
    for name, (X, rows, weight) in data.items():
        m, n = X.shape
        X = X[np.random.default_rng(0).permutation(m)]
        whole = Problem.of(ExplainedVariance(X, weight=1 / m) + weight * L1(), over=(n, 4))
        parts = Problem.of(Mean.of_rows(X, rows, weight=1 / m) + weight * L1(), over=(n, 4))
        X0, batches = whole.M.random(0), len(parts.f.parts)
        best, start = min(solve(whole, seed=seed).objective for seed in range(3)), float(whole.objective(X0))
        for passes in (1, 3, 10) if quick else (1, 3, 10, 30):
            found = [solve(whole, "oadmm-ep", X0, stop=Iterations(passes)).objective]
            for settings in ({}, {"c": math.inf}):
                runs = [StochasticOADMM(seed=seed, **settings) for seed in range(3)]
                stop, record = Iterations(passes * batches), Recorder(every=10**9)
                found.append(np.median([solve(parts, run, X0, stop=stop, record=record).objective for run in runs]))
            left = [f"{(value - best) / (start - best):.2g}" for value in found]
            lines.append(f"| {name} | {rows} | {passes} | {' | '.join(left)} |")
            print(lines[-1], flush=True)
    return "\n".join(["### Stochastic OADMM: what is left of F, medians of three seeds", "", *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action=argparse.BooleanOptionalAction, default=True, help="a short selection")
    parser.add_argument("--out", type=Path, help="a Markdown file whose last part is to be what is printed")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", message="SparsePCA: Features differ")
    head = (
        f"{MARK}\n\nMade by `python benchmarks/streams.py{'' if given.quick else ' --no-quick'}`, one thread, "
        f"{platform.machine()}; Python {platform.python_version()}, NumPy {np.__version__}, scikit-learn "
        f"{sklearn.__version__}. Seconds are processor time."
    )
    parts = [head, cost_of_blocks(given.quick), one_pass(given.quick), stochastic(given.quick)]
    print("\n\n".join(parts))
    if given.out is not None:
        before = given.out.read_text("utf-8").partition(MARK)[0] if given.out.exists() else ""
        given.out.write_text(before + "\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

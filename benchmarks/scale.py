"""Data larger than memory, and clusters: overhead of a product, and speed beside the disk, SciPy and scikit-learn.

    python benchmarks/scale.py                       # all four, at a tenth of their size
    python benchmarks/scale.py --size 1 --part cells # one of them, at full size

Every part runs in a process of its own, which tells its peak of memory. Times on a busy machine are comparable only
within a part: each bar is a ratio of two that were measured in turns, and both are shown.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, save_npz

from orthoprox import SparsePCA
from orthoprox.blocks import open_rows
from orthoprox.blocks._tasks import Task
from orthoprox.maps import Blocked

SOME = 8
"""Blocks on which IncrementalPCA is timed."""
BATCH = 500
"""Rows of the batches that suit it better."""


def seconds(act: Callable[[], Any]) -> float:
    since = time.perf_counter()
    act()
    return time.perf_counter() - since


def peak() -> float:
    """The largest memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def in_turns(one: Callable[[], Any], other: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """The shortest time of each, measured in turns."""
    pairs = [(seconds(one), seconds(other)) for _ in range(rounds)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


# ---------------------------------------------------------------- overhead of a product


def latency(folder: Path, size: float) -> dict[str, Any]:
    """Products with tiny data on two local workers: what is left is overhead."""
    np.save(folder / "tiny.npy", np.random.default_rng(0).standard_normal((2000, 50)))
    X = np.random.default_rng(1).standard_normal((50, 5))
    with cluster(2) as client:
        A = Blocked(open_rows(folder / "tiny.npy", block=100_000, client=client), norm=1.0)
        A.gram(X)
        times = [seconds(lambda: A.gram(X)) for _ in range(300)]
        A.data.close()
    return {
        "median_ms": 1e3 * statistics.median(times),
        "lowest_ms": 1e3 * min(times),
        "bar": "at most 15 ms",
        "met": 1e3 * statistics.median(times) <= 15,
    }


# ---------------------------------------------------------------- beside the disk


class Touch(Task):
    """Nothing but reading."""

    def __call__(self, block: Any, first: int) -> Any:
        return np.zeros(1)


def forget(path: Path) -> None:
    """Let the system drop its copy of a file, so that the next reading is from the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def disk(folder: Path, size: float) -> dict[str, Any]:
    """Gram products with 8 GB of rows of 2000 numbers in a budget of 1 GB, beside reading them."""
    n, r, m = 2000, 20, int(500_000 * size)
    path = folder / "rows.npy"
    rng = np.random.default_rng(0)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (m, n)})
        part = rng.standard_normal((5000, n))
        for first in range(0, m, 5000):
            part[:, : n // 10] = rng.standard_normal((5000, n // 10))
            part[: m - first].tofile(file)
        file.flush()
        os.fsync(file.fileno())
    rows = open_rows(path, memory="1GB" if size >= 0.5 else "100MB", form=False)
    A, X = Blocked(rows, norm=1.0), np.linalg.qr(rng.standard_normal((n, r)))[0]
    found: dict[str, Any] = {"GB": rows.source.bytes / 1e9, "budget_GB": rows.memory / 1e9}
    for state in ("cold", "warm"):

        def fresh(state: str = state) -> None:
            if state == "cold":
                forget(path)

        def read() -> None:
            rows.total(Touch())

        times, processor = [], []
        for _ in range(3):
            fresh()
            one = seconds(read)
            fresh()
            spent = time.process_time()
            times.append((one, seconds(lambda: A.gram(X))))
            processor.append(time.process_time() - spent)
        reading, product = min(a for a, _ in times), min(b for _, b in times)
        found[f"{state}_reading_GB_per_s"] = rows.source.bytes / reading / 1e9
        found[f"{state}_product_GB_per_s"] = rows.source.bytes / product / 1e9
        found[f"{state}_ratio"] = reading / product
        # what a product would reach on processors that nobody else uses
        found[f"{state}_alone_GB_per_s"] = (os.cpu_count() or 1) * rows.source.bytes / min(processor) / 1e9
    found |= {"peak_GB": peak(), "bar": "cold ratio at least 0.6", "met": found["cold_ratio"] >= 0.6}
    return found


# ---------------------------------------------------------------- beside SciPy


def sparse(folder: Path, size: float) -> dict[str, Any]:
    """Gram products with a sparse matrix on two workers, beside SciPy's own by two threads."""
    m, n, each, r, files = int(2_000_000 * size), max(1000, int(200_000 * size)), 100, 20, 16
    rng, paths, halves = np.random.default_rng(0), [], ([], [])
    for k in range(files):
        rows = m * (k + 1) // files - m * k // files
        indices = rng.integers(0, n, rows * each, dtype=np.int32)
        part = csr_array((rng.standard_normal(rows * each), indices, np.arange(0, rows * each + 1, each)), (rows, n))
        part.sum_duplicates()
        paths.append(folder / f"part{k}.npz")
        save_npz(paths[-1], part, compressed=False)
        halves[k * 2 // files].append(part)
    X = np.random.default_rng(1).standard_normal((n, r))

    def half(parts: list[Any]) -> Any:
        total = np.zeros_like(X)
        for part in parts:
            total += part.T @ (part @ X)
        return total

    with ThreadPoolExecutor(2) as pool, cluster(2, memory="6GB") as client:
        A = Blocked(open_rows(paths, client=client, form=False), norm=1.0)
        first = A.gram(X)
        scipy, ours = in_turns(lambda: list(pool.map(half, halves)), lambda: A.gram(X), 3)
        error = float(np.abs(first - sum(pool.map(half, halves))).max() / np.abs(first).max())
        alone = seconds(lambda: [half(parts) for parts in halves])
        A.data.close()
    found = {"rows": m, "columns": n, "nonzeros": m * each, "scipy_two_threads_s": scipy, "two_workers_s": ours}
    found |= {"scipy_one_thread_s": alone, "difference": error, "ratio": ours / scipy}
    return {**found, "bar": "ratio at most 1.5", "met": ours / scipy <= 1.5}


# ---------------------------------------------------------------- beside scikit-learn


def write_cells(path: Path, m: int, n: int) -> None:
    """Counts of cells by genes, 7 % of them not zero, in five kinds of cells, as AnnData stores them."""
    import h5py

    rng = np.random.default_rng(0)
    each = int(0.07 * n)
    rates = rng.gamma(0.3, 1.0, n) * np.where(rng.random((5, n)) < 0.03, 12.0, 1.0)
    cumulated = np.cumsum(rates, axis=1) / rates.sum(axis=1)[:, None]
    with h5py.File(path, "w") as file:
        X = file.create_group("X")
        X.attrs["encoding-type"], X.attrs["shape"] = "csr_matrix", (m, n)
        data = X.create_dataset("data", (m * each,), dtype=np.float32, chunks=(2**20,))
        indices = X.create_dataset("indices", (m * each,), dtype=np.int32, chunks=(2**20,))
        X.create_dataset("indptr", data=np.arange(m + 1, dtype=np.int64) * each)
        for first in range(0, m, 10_000):
            rows = min(10_000, m - first)
            kind = rng.integers(0, 5, rows)
            drawn = np.empty((rows, each), dtype=np.int32)
            for k in range(5):
                here = np.flatnonzero(kind == k)
                drawn[here] = np.searchsorted(cumulated[k], rng.random((len(here), each))).clip(0, n - 1)
            drawn.sort(axis=1)
            counts = np.log1p(rng.poisson(1.0, (rows, each)) + 1).astype(np.float32)
            where = slice(first * each, (first + rows) * each)
            indices[where], data[where] = drawn.reshape(-1), counts.reshape(-1)


def cells(folder: Path, size: float) -> dict[str, Any]:
    """SparsePCA of a million cells by 2000 genes in a file, beside IncrementalPCA on the same blocks."""
    m, n, r = int(1_000_000 * size), 2000, 20
    path = folder / "cells.h5ad"
    write_cells(path, m, n)
    rows = open_rows(path, memory="1GB")
    model = SparsePCA(n_components=r, n_nonzero=r * 30)
    spent = time.process_time()
    reading = seconds(lambda: rows.second)
    fit = reading + seconds(lambda: model.fit(rows))
    spent, high = time.process_time() - spent, peak()
    found = {"cells": m, "genes": n, "fit_s": fit, "of_which_the_pass_s": reading, "fit_processor_s": spent}
    found |= {"peak_GB": high, "kept": float(np.sum(model.explained_variance_ratio_)), "pca": model.pca_variance_ratio_}
    found |= incremental(rows.source, r)
    found |= {
        "ratio": found["incremental_pca_s"] / fit,
        "processor_ratio": found["incremental_pca_processor_s"] / spent,
    }
    return {**found, "bar": "peak under 2 GB", "met": high < 2}


def incremental(source: Any, r: int) -> dict[str, Any]:
    """IncrementalPCA on blocks from all over the file, each with its reading; the others take as long as these.

    It makes a block dense and decomposes it together with the components so far: the same work for every block,
    whatever is in it, and a minute for each at full size. So a few are timed, and the spread of their times is told.
    It is quicker by the row when blocks have fewer rows than columns; so it gets the same rows in short batches, too.
    """
    count = source.count
    some = sorted(set(np.linspace(0, count - 1, min(count, SOME)).astype(int).tolist()))
    rows = sum(source.bounds[i + 1] - source.bounds[i] for i in some)
    share = source.shape[0] / rows
    walls, processor = timed_incremental(source, some, r)
    found: dict[str, Any] = {"of_blocks": f"{len(some)} of {count}, {rows} of {source.shape[0]} rows"}
    found |= {"a_block_processor_s": [round(one, 1) for one in processor]}
    found |= {"incremental_pca_s": share * sum(walls), "incremental_pca_processor_s": share * sum(processor)}
    walls, processor = timed_incremental(source, some, r, BATCH)
    return found | {f"in_batches_of_{BATCH}_s": share * sum(walls), "batches_processor_s": share * sum(processor)}


def timed_incremental(source: Any, blocks: list[int], r: int, most: int | None = None) -> tuple[list[float], ...]:
    """Seconds for each of some blocks, and of the processor; whole ones, or in batches of at most so many rows."""
    from sklearn.decomposition import IncrementalPCA

    model = IncrementalPCA(n_components=r)

    def take(i: int) -> None:
        block = source.read(i)
        for first in range(0, block.shape[0], most or block.shape[0]):
            part = block[first : first + most] if most else block
            if part.shape[0] >= r:  # it refuses less; a few rows at the end of a block
                model.partial_fit(part.toarray())

    walls, processor = [], []
    for i in blocks:
        spent = time.process_time()
        walls.append(seconds(lambda i=i: take(i)))
        processor.append(time.process_time() - spent)
    return walls, processor


# ---------------------------------------------------------------- all

PARTS = {"latency": (latency, 0.1), "disk": (disk, 9), "sparse": (sparse, 3.5), "cells": (cells, 2)}
"""Each with the GB it writes at full size."""


class cluster:  # noqa: N801 -- a context
    """Workers of this machine, one thread each."""

    def __init__(self, workers: int, memory: str = "2GB") -> None:
        self.workers, self.memory = workers, memory

    def __enter__(self) -> Any:
        import distributed

        settings = {"threads_per_worker": 1, "memory_limit": self.memory, "dashboard_address": "127.0.0.1:0"}
        self.local = distributed.LocalCluster(n_workers=self.workers, processes=True, **settings)
        self.client = distributed.Client(self.local)
        return self.client

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.local.close()


def run_part(name: str, size: float, scratch: Path) -> None:
    """A part in this process; its result is the last line."""
    act, gigabytes = PARTS[name]
    free = shutil.disk_usage(scratch).free / 1e9
    if gigabytes * size > free / 2:
        print(json.dumps({"left out": f"it writes {gigabytes * size:.1f} GB, and {free:.1f} GB are free"}))
        return
    folder = Path(tempfile.mkdtemp(prefix="orthoprox-scale-", dir=scratch))
    try:
        print(json.dumps(act(folder, size)))
    except ModuleNotFoundError as error:
        print(json.dumps({"left out": str(error)}))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=list(PARTS), help="one of them")
    parser.add_argument("--size", type=float, default=0.1, help="share of the full size")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()), help="folder for the files")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        run_part(options.part, options.size, options.scratch)
        return
    for name in [options.part] if options.part else PARTS:
        command = [sys.executable, __file__, "--inside", "--part", name, "--size", str(options.size)]
        done = subprocess.run([*command, "--scratch", str(options.scratch)], capture_output=True, text=True)
        print(f"{name}, {options.size:g} of its full size, {os.cpu_count()} processors")
        if done.returncode:
            print(done.stderr)
            continue
        for key, value in json.loads(done.stdout.splitlines()[-1]).items():
            print(f"  {key:28} {value:.4g}" if isinstance(value, float) else f"  {key:28} {value}")


if __name__ == "__main__":
    main()

"""Measure products on local workers, fit the cost model of scaling.md, and predict larger clusters.

    python docs/scaling.py

The model is fitted to every second case and judged by the others. Each time is the lowest of several, since other
programs run on the machine too.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls
from scipy.sparse import csr_array

from orthoprox.blocks import open_rows
from orthoprox.maps import Blocked

PROCESSORS = 2
BLOCKS = 16


class Case(NamedTuple):
    """A product with W bytes of rows on P workers, where X is n by r."""

    workers: int
    n: int
    r: int
    rows: int
    sparse: bool

    @property
    def message(self) -> float:
        return 8.0 * self.n * self.r

    @property
    def bytes(self) -> float:
        return 8.0 * self.n * self.rows if not self.sparse else 1200.0 * self.rows


def hops(workers: int) -> int:
    """The depth of the tree that a product goes down and its sums come up; the client is one more hop."""
    return max(1, math.ceil(math.log2(workers + 1)))


def features(case: Case) -> list[float]:
    """What a product pays: for each hop, for each byte on each hop and of each partial sum, and for the rows."""
    at_work = min(case.workers, PROCESSORS)
    return [
        hops(case.workers),
        2.0 * hops(case.workers) * case.message,
        BLOCKS / at_work * case.message,
        case.bytes / at_work,
        case.bytes * case.r / at_work * (not case.sparse),
        case.bytes * case.r / at_work * case.sparse,
    ]


NAMES = ("hop, ms", "message, ns/byte", "partial sum, ns/byte", "rows, ns/byte")
NAMES += ("dense rows, ns/(byte column)", "sparse rows, ns/(byte column)")
UNITS = (1e3, 1e9, 1e9, 1e9, 1e9, 1e9)


def cases() -> list[Case]:
    small = [Case(p, n, r, 64, False) for p in (1, 2, 4) for n in (20, 5000) for r in (5, 20)]
    dense = [Case(p, 500, r, m, False) for p in (1, 2) for r in (5, 20) for m in (5000, 20_000)]
    sparse = [Case(p, 5000, r, m, True) for p in (1, 2) for r in (5, 20) for m in (10_000, 40_000)]
    return [*small, *dense, *sparse]


def measure(case: Case, client: object) -> float:
    rng = np.random.default_rng(0)
    if case.sparse:
        indices = rng.integers(0, case.n, 100 * case.rows, dtype=np.int32)
        ends = np.arange(0, 100 * case.rows + 1, 100)
        data = csr_array((rng.standard_normal(len(indices)), indices, ends), (case.rows, case.n))
    else:
        data = rng.standard_normal((case.rows, case.n))
    rows = open_rows(data, client=client, form=False, block=max(2**10, int(case.bytes / BLOCKS)))
    A, X = Blocked(rows, norm=1.0), rng.standard_normal((case.n, case.r))
    A.gram(X)
    times, until = [], time.monotonic() + 4.0
    while len(times) < 5 or (time.monotonic() < until and len(times) < 400):
        since = time.perf_counter()
        A.gram(X)
        times.append(time.perf_counter() - since)
    rows.close()
    return min(times)


def main() -> None:
    import distributed

    found: list[tuple[Case, float]] = []
    for workers in (1, 2, 4):
        with (
            distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, memory_limit="3GB", dashboard_address="127.0.0.1:0"
            ) as local,
            distributed.Client(local) as client,
        ):
            found += [(case, measure(case, client)) for case in cases() if case.workers == workers]
    fitted, held = found[::2], found[1::2]
    weights = np.array([1 / seconds for _, seconds in fitted])  # relative errors count
    A = np.array([features(case) for case, _ in fitted]) * weights[:, None]
    scale = A.max(axis=0)
    price = nnls(A / scale, np.ones(len(fitted)))[0] / scale
    for name, unit, value in zip(NAMES, UNITS, price, strict=True):
        print(f"{name:28} {unit * value:.3g}")
    for name, part in (("fitted", fitted), ("held back", held)):
        errors = [abs(float(np.dot(features(c), price)) / s - 1) for c, s in part]
        print(f"{name}: median error {100 * np.median(errors):.0f} %, largest {100 * max(errors):.0f} %")
    for case, seconds in held:
        model = float(np.dot(features(case), price))
        print(f"{tuple(case)}  measured {1e3 * seconds:.1f} ms, model {1e3 * model:.1f} ms")


if __name__ == "__main__":
    main()

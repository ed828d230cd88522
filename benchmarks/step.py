"""How far one step of OADMM-EP is above the matrix products it cannot avoid, and how much memory it takes.

The floor is the product with the data (with B'B where that is formed, with B and B' otherwise) and the
two products of the projection (Y'Y and Y times an r-by-r matrix). Step and floor are timed in turn in
one process, so that what disturbs one disturbs the other; the figure is the ratio of medians.

    python benchmarks/step.py [--quick]
"""

from __future__ import annotations

import argparse
import statistics
import time
import tracemalloc

import numpy as np
import scipy.sparse

from orthoprox import Problem, named
from orthoprox.maps import Gram, as_map
from orthoprox.models import sparse_pca

CASES = {  # n, m, r, the most the ratio may be
    "small": (500, 1500, 20, 3.0),
    "wide": (2500, 500, 20, 3.0),
    "tall": (2000, 10_000, 50, 1.5),
    "large": (20_000, 2000, 50, 1.5),
    "sparse": (36_771, 9394, 20, None),
}
DENSITY = 1_224_135 / (9394 * 36_771)  # of the term counts of TDT2


def data(name: str, n: int, m: int) -> object:
    rng = np.random.default_rng(0)
    if name == "sparse":
        count = round(DENSITY * m * n)
        places = rng.integers(m, size=count), rng.integers(n, size=count)
        return scipy.sparse.csr_array((rng.random(count), places), shape=(m, n))
    return rng.standard_normal((m, n))


def floor_of(problem: Problem, X: np.ndarray, S: np.ndarray) -> object:
    """The products alone, written as plainly as NumPy and SciPy allow."""
    gram = problem.f.gram
    assert isinstance(gram, Gram)
    if gram.formed:
        H = gram.H
        return lambda: (H @ X, X.T @ X, X @ S)
    B = gram.B.B
    Bt = B.T if isinstance(B, np.ndarray) else scipy.sparse.csr_array(B.T)
    return lambda: (Bt @ (B @ X), X.T @ X, X @ S)


def time_call(run: object, least: float) -> float:
    """Seconds of one call, over as many calls as fill the least time."""
    count, since = 0, time.perf_counter()
    while time.perf_counter() - since < least:
        run()
        count += 1
    return (time.perf_counter() - since) / count


def measure(name: str, rounds: int, least: float, penalty: str) -> str:
    n, m, r, most = CASES[name]
    D = as_map(data(name, n, m))
    k = n * r // 10 if penalty == "l1 - largest-k" else None
    problem = sparse_pca(D, n_components=r, weight=1.0, k=k)
    solver = named("oadmm-ep", beta0=10.0)
    state = solver.init(problem, problem.M.random(0))
    for _ in range(3):
        state = solver.step(problem, state)
    floor = floor_of(problem, state.now.X, np.eye(r))
    step = lambda: solver.step(problem, state)  # noqa: E731
    pairs = [(time_call(step, least), time_call(floor, least)) for _ in range(rounds)]
    ratio = statistics.median(a for a, _ in pairs) / statistics.median(b for _, b in pairs)

    tracemalloc.start()
    base = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    state = solver.init(problem, problem.M.random(0))
    for _ in range(3):
        state = solver.step(problem, state)
    tracemalloc.reset_peak()
    for _ in range(2):
        state = solver.step(problem, state)
    peak = (tracemalloc.get_traced_memory()[1] - base) / (8 * n * r)
    tracemalloc.stop()
    within = "" if most is None else f"{'within' if ratio <= most else 'ABOVE'} {most}"
    milliseconds = 1e3 * statistics.median(a for a, _ in pairs)
    kind = "B'B" if problem.f.gram.formed else "B, B'"
    case = f"{name:7s} {n:6d} {m:6d} {r:3d}  {penalty:15s} {kind:6s}"
    return f"{case} {milliseconds:9.2f} {ratio:6.2f}  {within:11s} {peak:6.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    arguments = parser.parse_args()
    rounds, least = (3, 0.05) if arguments.quick else (9, 0.25)
    print("case         n      m   r  penalty         by      ms/step  ratio  wanted      peak/X")
    for name in CASES:
        for penalty in ("l1", "l1 - largest-k"):
            print(measure(name, rounds, least, penalty), flush=True)


if __name__ == "__main__":
    main()

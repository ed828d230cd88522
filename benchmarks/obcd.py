"""How many pairs of rows OBCD updates in a second, and how far that is above the row updates it cannot avoid.

The floor of a sequential pair is its two rows of the product with the data: HX += H[:, i] d1' + H[:, j] d2', compiled
like the sweep itself. The floor of a Jacobi sweep is its one product HX. Sweep and floor are timed in turn in one
process, in seconds of the processor; the figure is the ratio of medians. Run it with one thread
(OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1).

    python benchmarks/obcd.py [--quick]
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from orthoprox._extras import extra
from orthoprox.backends._obcd import compile_sweeps, cyclic_pairs, jacobi_sweep, random_pairs, sequential_rounds
from orthoprox.backends._obcd_jumps import FORBIDDEN, Jumps, signed_start

N, R = 500, 20
WANTED = 2e5
ALPHA = 1e-5


def rank_two(HX: np.ndarray, H: np.ndarray, d: np.ndarray, pairs: np.ndarray) -> None:
    for t in range(pairs.shape[0]):
        i1, i2 = pairs[t, 0], pairs[t, 1]
        for i in range(HX.shape[0]):
            f1, f2 = H[i1, i], H[i2, i]
            for j in range(HX.shape[1]):
                HX[i, j] += f1 * d[0, j] + f2 * d[1, j]


def time_call(run: object, least: float) -> float:
    """Seconds of the processor in one call, over as many calls as fill the least time."""
    count, since = 0, time.process_time()
    while time.process_time() - since < least:
        run()
        count += 1
    return (time.process_time() - since) / count


def medians(run: object, floor: object, rounds: int, least: float) -> tuple[float, float]:
    pairs = [(time_call(run, least), time_call(floor, least)) for _ in range(rounds)]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


KINDS = ("l1 0", "l1 0.05", "l1 0.4", "l0 1e-4", "l0 1e-2", ">= 0")


def entries(kind: str) -> np.ndarray | Jumps:
    """The h of the benchmark: weights, what nonzero entries cost, or the forbidden sign."""
    name, weight = kind.split()
    one = np.ones((N, R))
    if name == "l1":
        return float(weight) * one
    up, down = (float(weight), float(weight)) if name == "l0" else (0.0, FORBIDDEN)
    return Jumps(up * one, down * one, 1e-13)


def case(W: np.ndarray | Jumps, warm: int) -> tuple[np.ndarray, ...]:
    """X after some Jacobi sweeps on Gaussian data with unit columns: rows that still move."""
    rng = np.random.default_rng(0)
    B = rng.standard_normal((3 * N, N))
    B = B / np.linalg.norm(B, axis=0)
    H = -(B.T @ B)
    X = np.linalg.qr(rng.standard_normal((N, R)))[0]
    X = signed_start(X, W) if isinstance(W, Jumps) else X
    for _ in range(warm):
        X, _, _ = jacobi_sweep(X, H @ X, W, random_pairs(N, rng), 0.0, ALPHA)
    return X, H @ X, np.zeros((N, R)), W, H


def report(name: str, kind: str, seconds: float, floor: float, pairs: int, moved: int) -> None:
    rate = pairs / seconds
    within = f"{'above' if rate >= WANTED else 'BELOW'} {WANTED:.0e}" if name == "sequential" else ""
    print(
        f"{name:10s} {N:5d} {R:3d} {kind:>8s} {rate:10.3g} {seconds / floor:7.2f} {moved / pairs:7.2f}  {within}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    arguments = parser.parse_args()
    rounds, least = (3, 0.1) if arguments.quick else (9, 0.3)
    try:
        compile_sweeps()
        compiled = extra("numba", "fast", "The sequential sweep").njit(fastmath={"contract"})(rank_two)
    except ModuleNotFoundError as error:
        compiled = None
        print(error)
    print("sweep          n   r        h    pairs/s   ratio   moved")
    for kind in KINDS:
        X, HX, L, W, H = case(entries(kind), warm=20)
        sets = [cyclic_pairs(N, number) for number in range(8)]
        pairs = np.concatenate(sets)
        if compiled is not None:
            d, scratch = np.full((2, R), 1e-9), HX.copy()
            compiled(scratch, H, d, pairs[:1])
            args = (X, HX, L, W, H, lambda number, *_, sets=sets: sets[number], len(sets), ALPHA)
            moved = sequential_rounds(*args)[3]
            run = medians(
                lambda args=args: sequential_rounds(*args),
                lambda scratch=scratch, H=H, d=d, pairs=pairs: compiled(scratch, H, d, pairs),
                rounds,
                least,
            )
            report("sequential", kind, *run, len(pairs), moved)
        moved = jacobi_sweep(X, HX, W, sets[0], 0.0, ALPHA)[2]
        run = medians(
            lambda X=X, H=H, W=W, sets=sets: jacobi_sweep(X, H @ X, W, sets[0], 0.0, ALPHA),
            lambda X=X, H=H: H @ X,
            rounds,
            least,
        )
        report("jacobi", kind, *run, len(sets[0]), moved)


if __name__ == "__main__":
    main()

"""Solvers side by side from common starts: time and iterations to given accuracies, as ratios to the fastest.

The accuracy is the relative gap of the objective to the lowest that any method reached from the same
start, so that a method is not punished for a local minimum that all of them share. Every method runs in
one process with its default settings; the clock leaves out measuring.

    python benchmarks/peers.py [--seconds 3] [--starts 2] [--quick]
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
from _problems import common_start, problems

from orthoprox import SOLVERS, Critical, Iterations, Recorder, Seconds, UnsupportedProblem, solve

GAPS = (1e-2, 1e-3, 1e-4)


def run(name: str, problem: Any, start: Any, seconds: float) -> Any:
    try:
        stop = Seconds(seconds) | Iterations(50_000) | Critical(1e-8, every=20)
        return solve(problem, name, start, stop=stop, record=Recorder(every=5))
    except UnsupportedProblem:
        return None


def reached(history: Any, target: float) -> tuple[float, float]:
    """Seconds and iterations until the objective is at most the target; infinite if never."""
    hits = np.flatnonzero(history.objective <= target)
    return (history.seconds[hits[0]], history.iteration[hits[0]]) if hits.size else (math.inf, math.inf)


def mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if all(map(math.isfinite, values)) else math.inf


def compare(kind: str, problem: Any, seconds: float, starts: int) -> None:
    times: dict[tuple[str, float], list[float]] = {}
    steps: dict[tuple[str, float], list[float]] = {}
    finals: dict[str, list[float]] = {}
    for seed in range(starts):
        start = common_start(problem, seed)
        runs = {name: run(name, problem, start, seconds) for name in SOLVERS}
        runs = {name: result for name, result in runs.items() if result is not None}
        best = min(float(np.min(result.history.objective)) for result in runs.values())
        for name, result in runs.items():
            finals.setdefault(name, []).append((float(np.min(result.history.objective)) - best) / abs(best))
            for gap in GAPS:
                t, k = reached(result.history, best + gap * abs(best))
                times.setdefault((name, gap), []).append(max(t, 1e-6))
                steps.setdefault((name, gap), []).append(max(k, 1))
    fastest = {gap: min(mean(times[name, gap]) for name in finals) for gap in GAPS}
    print(f"\n{kind}: time over the fastest (iterations), to relative gaps of")
    print(f"{'':12s}" + "".join(f"{gap:>20.0e}" for gap in GAPS) + f"{'last gap':>14s}")
    for name, last in finals.items():
        cells = [
            "-"
            if math.isinf(mean(times[name, gap]))
            else f"{mean(times[name, gap]) / fastest[gap]:.1f} ({mean(steps[name, gap]):.0f})"
            for gap in GAPS
        ]
        print(f"{name:12s}" + "".join(f"{cell:>20s}" for cell in cells) + f"{max(last):>14.1e}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="for each run")
    parser.add_argument("--starts", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="half a second and one start")
    arguments = parser.parse_args()
    seconds, starts = (0.5, 1) if arguments.quick else (arguments.seconds, arguments.starts)
    for kind, problem in problems().items():
        compare(kind, problem, seconds, starts)


if __name__ == "__main__":
    main()

"""Solvers side by side from common starts: time and work to given accuracies, as ratios to the fastest.

The accuracy is the relative gap of the objective to the lowest that any method reached from the same
start, so that a method is not punished for a local minimum that all of them share. With several starts
the means are geometric, and a dash says that one of them was not enough. Work is counted in products
with the data. Every method runs in one process and one thread with its default settings. The clock
leaves out measuring and compiling, and takes in what a method sets up before its first step. The
objective is measured whenever the clock has advanced by two per cent, so that neither many cheap
iterations nor a few long ones are at an advantage.

    python benchmarks/peers.py [--seconds 3] [--starts 2] [--quick]
"""

from __future__ import annotations

import argparse
import math
import os
from dataclasses import dataclass, field
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

from _problems import common_start, problems
from _runs import set_up

from orthoprox import SOLVERS, Critical, Iterations, Recorder, Seconds, UnsupportedProblem, named, solve

GAPS = (1e-2, 1e-3, 1e-4)


@dataclass
class Trace:
    """The seconds, work and objectives of a run."""

    before: float
    """Seconds of the set-up."""
    rows: list[tuple[float, int, float]] = field(default_factory=list)
    due: float = 0.0

    def __call__(self, now: Any) -> None:
        if now.seconds >= self.due:
            self.close(now)
            self.due = 1.02 * now.seconds

    def close(self, now: Any) -> None:
        self.rows.append((self.before + now.seconds, now.solver.work(now.state), now.objective))

    @property
    def lowest(self) -> float:
        return min(row[2] for row in self.rows)

    def reached(self, target: float) -> tuple[float, float]:
        """Seconds and work until the objective is at most the target; infinite if never."""
        return next(((s, max(t, 1)) for s, t, value in self.rows if value <= target), (math.inf, math.inf))


def run(name: str, problem: Any, start: Any, seconds: float) -> Trace | None:
    try:
        named(name).scope.admit(problem, name)
        solver, seconds_before = set_up(named(name), problem, start)
    except UnsupportedProblem:
        return None
    trace = Trace(seconds_before)
    stop = Seconds(seconds) | Iterations(100_000) | Critical(1e-8, every=50)
    solve(problem, solver, start, stop=stop, record=Recorder(every=1000), observers=[trace])
    return trace


def mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if all(map(math.isfinite, values)) else math.inf


def compare(kind: str, problem: Any, seconds: float, starts: int) -> None:
    costs: dict[tuple[str, float], list[tuple[float, float]]] = {}
    last: dict[str, list[float]] = {}
    for seed in range(starts):
        start = common_start(problem, seed)
        runs = {name: run(name, problem, start, seconds) for name in SOLVERS}
        traces = {name: trace for name, trace in runs.items() if trace is not None}
        best = min(trace.lowest for trace in traces.values())
        for name, trace in traces.items():
            last.setdefault(name, []).append((trace.lowest - best) / abs(best))
            for gap in GAPS:
                costs.setdefault((name, gap), []).append(trace.reached(best + gap * abs(best)))
    means = {key: [mean([cost[i] for cost in pair]) for i in (0, 1)] for key, pair in costs.items()}
    least = {gap: [min(means[name, gap][i] for name in last) for i in (0, 1)] for gap in GAPS}
    print(f"\n{kind}\n{'to a relative gap of':21s}" + "".join(f"{gap:>22.0e}" for gap in GAPS) + f"{'last gap':>12s}")
    shortest = (f"{s:.3g} s / {t:.0f}" if math.isfinite(s) else "-" for s, t in least.values())
    print(f"{'least time / work':21s}" + "".join(f"{cell:>22s}" for cell in shortest))
    for name, gaps in last.items():
        cells = [
            f"x {means[name, gap][0] / least[gap][0]:.1f} / x {means[name, gap][1] / least[gap][1]:.1f}"
            if math.isfinite(means[name, gap][0])
            else "-"
            for gap in GAPS
        ]
        print(f"{name:21s}" + "".join(f"{cell:>22s}" for cell in cells) + f"{max(gaps):>12.1e}", flush=True)


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

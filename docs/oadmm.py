"""What each piece of oadmm brings: writes the table in docs/oadmm.md.

python docs/oadmm.py [--seconds 4] [--starts 3] [--jobs 16]
"""

from __future__ import annotations

import argparse
import functools
import math
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "benchmarks"))

import _pool  # noqa: E402 before NumPy: it sets the number of threads

# isort: split
import numpy as np  # noqa: E402
from _problems import problems, unit_columns  # noqa: E402

from orthoprox import Critical, Problem, Recorder, Seconds, Solver, Stiefel, named, solve  # noqa: E402
from orthoprox.models import compressed_modes, sparse_pca  # noqa: E402
from orthoprox.solvers.oadmm import Tuning  # noqa: E402
from orthoprox.starts import Random  # noqa: E402
from orthoprox.terms import L1, ExplainedVariance  # noqa: E402

VARIANTS = {
    "oadmm": {},
    "without roaming (`explore=0`)": {"explore": 0},
    "without Newton's method (`polish=False`)": {"polish": False},
    "without the homotopy (`homotopy=False`)": {"homotopy": False},
    "roaming from a higher penalty (`roam=0.7`)": {"roam": 0.7},
    'gradient steps in X (`fast="gradient"`)': {"fast": "gradient"},
    "without turning": {"tuning": Tuning(steep=math.inf)},
    "one attempt of Newton's method between two blocks": {"tuning": Tuning(streak=1)},
    "without returns to the best point": {"tuning": Tuning(most_returns=0)},
}


@functools.cache
def cases() -> dict[str, Problem]:
    """Plain l1 of two sizes and with a steep f, the paper's penalty, an ill-conditioned f, a map."""
    made = {
        f"l1, {n} x {r}, weight {w:g}": Problem.of(
            ExplainedVariance(unit_columns(50, n, 0), weight=2.0) + w * L1(), over=Stiefel(n, r)
        )
        for n, r, w in ((200, 10, 0.4), (500, 20, 0.4), (500, 11, 0.01))
    }
    D = np.random.default_rng(1).standard_normal((300, 100)) * 0.97 ** np.arange(100)
    made["l1 - largest-k, weight 5"] = sparse_pca(D, n_components=10, weight=5.0, k=200)
    made["compressed modes 128 x 10"] = compressed_modes(128, n_components=10, weight=0.1)
    made["dictionary"] = problems()["dictionary"]
    return made


@functools.cache
def methods() -> dict[str, Solver]:
    """Ours with one piece taken away at a time, and the paper's."""
    made: dict[str, Solver] = {label: named("oadmm", **settings) for label, settings in VARIANTS.items()}
    return {**made, "the paper's `oadmm-ep`": named("oadmm-ep")}


def cell(job: tuple[str, str, int, float]) -> str:
    """Mean objective, largest Crit, and the geometric mean of the seconds."""
    label, case, starts, seconds = job
    rule = Critical(1e-6) | Seconds(seconds)
    runs = [
        solve(cases()[case], methods()[label], Random(), seed=seed, stop=rule, record=Recorder(every=10**9))
        for seed in range(starts)
    ]
    value = sum(run.objective for run in runs) / starts
    crit = max(run.criticality for run in runs)
    time = math.exp(sum(math.log(run.seconds) for run in runs) / starts)
    return f"{value:.6g}<br>{crit:.0e}, {time:.2f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=4.0, help="for each run")
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time, one thread each")
    given = parser.parse_args()
    jobs = [(label, case, given.starts, given.seconds) for label in methods() for case in cases()]
    made_cells = {job[:2]: found for job, found in zip(jobs, _pool.in_order(cell, jobs, given.jobs), strict=True)}
    lines = [f"|  | {' | '.join(cases())} |", "|---" * (len(cases()) + 1) + "|"]
    lines += [f"| {label} | {' | '.join(made_cells[label, case] for case in cases())} |" for label in methods()]
    note = (
        f"Made by `python docs/oadmm.py --seconds {given.seconds:g} --starts {given.starts}`: mean final objective, "
        "largest Crit, geometric mean of the seconds, from common random starts until Crit is at most 1e-6 or "
        f"{given.seconds:g} seconds are over; {_pool.side_by_side(given.jobs)}.\n\n"
    )
    page = HERE / "oadmm.md"
    start, end = "<!-- table -->\n", "<!-- end of the table -->"
    made = start + note + "\n".join(lines) + "\n" + end
    page.write_text(re.sub(f"{start}.*?{end}", lambda _: made, page.read_text(), flags=re.S))


if __name__ == "__main__":
    main()

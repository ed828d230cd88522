"""Every solver on every kind of problem: writes the table in docs/solvers.md.

python docs/solvers.py [--seconds 3] [--jobs 16]
"""

from __future__ import annotations

import argparse
import functools
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "benchmarks"))

import _pool  # noqa: E402 before NumPy: it sets the number of threads

# isort: split
from _problems import common_start, problems  # noqa: E402

from orthoprox import SOLVERS, Critical, Iterations, Recorder, Seconds, UnsupportedProblem, solve  # noqa: E402
from orthoprox.cli.list import solver_rows, table  # noqa: E402

INTRODUCTION = """# Solvers

```
{solver_list}
```

## Every solver on every kind of problem

Made by `python docs/solvers.py --seconds {seconds:g}`, {side_by_side}: from one
common start, with each method's default settings, until Crit is at most 1e-6 or {seconds:g} seconds or 20 000 steps are
over. A cell has the final objective, Crit and the number of iterations, counted as products with the data; *refused*
means outside the method's scope, a star that it has no theory there. Local minima differ: a lower objective from one
start does not make a method better. The problems are in `benchmarks/_problems.py`; `--solvers oadmm,madmm`
prints the rows of these alone.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time, one thread each")
    parser.add_argument("--solvers", help="only these rows, as in oadmm,madmm: printed, and not written")
    given = parser.parse_args()
    kinds, names = list(problems()), given.solvers.split(",") if given.solvers else list(SOLVERS)
    jobs = [(name, kind, given.seconds) for name in names for kind in kinds]
    cells = dict(zip(jobs, _pool.in_order(cell, jobs, given.jobs), strict=True))
    head = ["", *kinds]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| `{name}` | {' | '.join(cells[name, kind, given.seconds] for kind in kinds)} |" for name in names]
    if given.solvers:
        print("\n".join(lines))
        return
    words = {"seconds": given.seconds, "side_by_side": _pool.side_by_side(given.jobs)}
    text = INTRODUCTION.format(solver_list=table(solver_rows()), **words) + "\n" + "\n".join(lines) + "\n"
    (HERE / "solvers.md").write_text(text)
    print(text)


@functools.cache
def problem_and_start(kind: str) -> tuple[Any, Any]:
    problem = problems()[kind]
    return problem, common_start(problem, 0)


def cell(job: tuple[str, str, float]) -> str:
    name, kind, seconds = job
    problem, start = problem_and_start(kind)
    stop = Critical(1e-6) | Seconds(seconds) | Iterations(20_000)  # at every step, which may be a block of iterations
    try:
        result = solve(problem, name, start, stop=stop, record=Recorder(every=100))
    except UnsupportedProblem:
        return "refused"
    work = result.solver.work(result.state)
    star = "*" if result.solver.scope.beyond(problem, name) else ""
    print(f"{name:12s} {result.objective:.8g} {result.criticality:.1e} {work}", file=sys.stderr, flush=True)
    return f"{result.objective:.6g}{star}<br>{result.criticality:.0e}, {work}"


if __name__ == "__main__":
    main()

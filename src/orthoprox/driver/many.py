"""Many runs: all at once where the library can, side by side in processes or one after the other where it cannot."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from orthoprox._fields import require
from orthoprox._types import Array
from orthoprox.driver._batch import Batch, Run
from orthoprox.driver._devices import mover
from orthoprox.driver._stack import NotOfOneShape
from orthoprox.driver.observers import Recorder
from orthoprox.driver.result import Result
from orthoprox.driver.solve import DEFAULT_SOLVER, solve
from orthoprox.driver.stopping import Critical, Iterations, Rule, as_rule
from orthoprox.problem import Problem
from orthoprox.solvers import Solver, named
from orthoprox.starts import Start


def solve_many(
    problems: Problem | Sequence[Problem],
    solver: Solver[Any] | str = DEFAULT_SOLVER,
    X0: Array | Start | None = None,
    *,
    seeds: Sequence[int] | None = None,
    stop: Rule | None = None,
    record: Recorder | None = None,
    device: str | None = None,
    n_jobs: int | None = None,
) -> list[Result[Any]]:
    """Run a method on many problems, or on one problem from many starts.

    Each result is the one that :func:`solve` gives for it alone, to rounding. Every run stops by itself. With arrays of
    PyTorch or JAX, and a method whose steps can be compiled, all runs take their steps together. Otherwise they are
    solved one after the other, or in processes.

    Parameters
    ----------
    problems : sequence of Problem, or Problem
        To be solved together they have to be of one kind: the same shapes, the same classes of terms and maps.
    solver, stop : as in :func:`solve`
        ``Iterations``, ``Seconds``, ``Critical`` and what is made of them with ``|`` and ``&`` are looked at for all
        runs at once; other rules are asked run by run, which only works for runs one after the other.
    X0 : array of shape (k, n, r), or Start, optional
        A point for each run, or a rule.
    seeds : sequence of int, optional
        For what a rule draws, one for each run; 0 for all by default. With one problem their number is that of runs.
    record : Recorder, optional
        How often to measure.
    device : str, optional
        Where to work on problems in NumPy: "cuda", "cuda:1" or "cpu", with PyTorch. Results are in NumPy again.
    n_jobs : int, optional
        Processes for runs that cannot be taken together; -1 for all cores. One by default.

    Returns
    -------
    list of Result
        In the order of the problems or seeds. Where runs went together, ``seconds`` is the time until a run had ended.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import Iterations, solve_many
    >>> from orthoprox.models import sparse_pca
    >>> D = np.random.default_rng(0).standard_normal((40, 12))
    >>> results = solve_many(sparse_pca(D, n_components=2, weight=0.5), seeds=range(3), stop=Iterations(50))
    >>> len(results), results[0].X.shape
    (3, (12, 2))
    """
    runs = _runs(problems, X0, seeds)
    method = named(solver) if isinstance(solver, str) else solver
    if not isinstance(method, Solver):
        raise TypeError(f"solver must be the name of a solver or a Solver; given {type(method).__name__}.")
    rule = Iterations(1000) | Critical(1e-7, relative=True) if stop is None else as_rule(stop)
    record = Recorder() if record is None else record
    if not runs:
        return []
    move = mover(runs[0].problem, device)
    stackable = method.compilable if method.stackable is None else method.stackable
    if move is not None and stackable and rule.sees_many:
        try:
            return Batch(runs, method, rule, record, move).run()
        except (NotOfOneShape, NotImplementedError):
            pass
    return _apart(runs, method, rule, record, n_jobs)


def _runs(problems: Any, X0: Any, seeds: Any) -> list[Run]:
    """One run for each problem, start and seed; what is given once counts for all."""
    one = isinstance(problems, Problem)
    stacked = X0 is not None and not isinstance(X0, Start)
    counts = {}
    if not one:
        problems = list(problems)
        for problem in problems:
            if not isinstance(problem, Problem):
                raise TypeError(f"problems must hold Problems; given a {type(problem).__name__}.")
        counts["problems"] = len(problems)
    if stacked:
        require(getattr(X0, "ndim", 0) == 3, "X0 must be a stack of points, an array of shape (k, n, r), or a Start.")
        counts["points in X0"] = int(X0.shape[0])
    if seeds is not None:
        seeds = [int(seed) for seed in seeds]
        counts["seeds"] = len(seeds)
    if one and not counts:
        raise ValueError("One problem is solved many times from many starts: give seeds, or a stack of points X0.")
    if len(set(counts.values())) > 1:
        given = ", ".join(f"{count} {what}" for what, count in counts.items())
        raise ValueError(f"There must be as many problems as starts and seeds; given {given}.")
    number = next(iter(counts.values()))
    return [
        Run(problems if one else problems[k], X0[k] if stacked else X0, 0 if seeds is None else seeds[k])
        for k in range(number)
    ]


def _apart(runs: list[Run], method: Solver[Any], rule: Rule, record: Recorder, n_jobs: int | None) -> list[Result[Any]]:
    """Each run alone, in as many processes as were asked for."""
    cores = os.cpu_count() or 1
    jobs = min(cores + 1 + n_jobs if n_jobs and n_jobs < 0 else n_jobs or 1, len(runs))
    tasks = [(run, method, rule, record.every) for run in runs]
    if jobs <= 1:
        return [_alone(task) for task in tasks]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return list(pool.map(_alone, tasks, chunksize=max(1, len(tasks) // (4 * jobs))))


def _alone(task: tuple[Run, Solver[Any], Rule, int | None]) -> Result[Any]:
    run, method, rule, every = task
    return solve(run.problem, method, run.X0, seed=run.seed, stop=rule, record=Recorder(every=every))

"""Many runs: all at once where the library can, side by side in processes or one after the other where it cannot."""

from __future__ import annotations

import itertools
import numbers
import operator
import os
import pickle
import sys
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from orthoprox._fields import replace, require
from orthoprox._types import Array
from orthoprox.driver._batch import Batch, EndsAtOnce, Run, no_collection
from orthoprox.driver._devices import Mover, mover
from orthoprox.driver.observers import Recorder, as_recorder
from orthoprox.driver.result import Result, RunFailed, Status
from orthoprox.driver.solve import DEFAULT_SOLVER, as_solver, solve
from orthoprox.driver.stopping import Critical, Iterations, Rule, as_rule
from orthoprox.problem import Problem
from orthoprox.solvers import Solver
from orthoprox.starts import Start

MOST_JOBS = 61 if sys.platform == "win32" else 2**20
"""Windows waits for no more processes at a time."""


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
        To be solved together they must be of one kind: the same shapes and float type, the same classes of terms and
        maps. Otherwise each is solved alone.
    solver, stop : as in :func:`solve`
        ``Iterations``, ``Seconds``, ``Critical``, ``Stalled`` and their combinations by ``|`` and ``&`` are checked for
        all runs at once. Other rules are asked run by run, so runs with them are solved one after the other.
    X0 : array of shape (k, n, r), or Start, optional
        A point for each run, or a rule that gives one.
    seeds : sequence of int, optional
        One for each run, for what its start draws at random; 0 for all by default. One problem is solved once for each.
    record : Recorder, optional
        What to measure and how often. With columns of your own (``extra``) runs are solved one after the other.
    device : str, optional
        Where to work on problems in NumPy: "cuda", "cuda:1" or "cpu", with PyTorch. Results are in NumPy again.
        Runs that are taken one by one, as with ``oadmm``, stay there, and their notes say so.
    n_jobs : int, optional
        Processes for runs that cannot be taken together; -1 for all cores. One by default.

    Returns
    -------
    list of Result
        In the order of the problems or seeds. Where runs went together, ``seconds`` is the time until a run had ended.
        Ctrl-C ends all runs and loses none that has begun: runs that went together have the status ``INTERRUPTED``;
        where they went one after the other, the list ends with the run that was interrupted.

    Raises
    ------
    RunFailed
        When every run fails, or one cannot begin. Otherwise a run in which something raised has the status ``FAILED``,
        its last state, and the error among its notes; a warning says so.

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
    require(n_jobs is None or isinstance(n_jobs, numbers.Integral), f"n_jobs must be a whole number; given {n_jobs!r}.")
    require(n_jobs != 0, "n_jobs must be at least 1, or -1 for all cores; given 0.")
    runs = _runs(problems, X0, seeds)
    method = as_solver(solver)
    rule = Iterations(1000) | Critical(1e-7, relative=True) if stop is None else as_rule(stop)
    record = as_recorder(record)
    if not runs:
        return []
    found = run_together(runs, method, rule, record, mover(runs[0].problem, device))
    if isinstance(found, list):
        return found
    alone = _apart(runs, method, rule, record, n_jobs)
    if device is not None and str(device) != "cpu":
        found = (*found, f"runs that are taken one by one stay in NumPy, so device={str(device)!r} was not used")
    return [replace(result, notes=(*result.notes, *found)) for result in alone]


def run_together(
    runs: Sequence[Run], method: Solver[Any], rule: Rule, record: Recorder, move: Mover | None
) -> list[Result[Any]] | tuple[str, ...]:
    """The results of runs that are led on together; where they cannot be, notes that say why if it is not plain."""
    if move is None or not is_stackable(method):
        return ()
    if not rule.sees_many or record.measures.keys() != Recorder.COLUMNS.keys():
        return ()
    try:
        with no_collection():
            batch = Batch(runs, method, rule, record, move)
        return batch.run()
    except EndsAtOnce as error:
        return _in_two(runs, error.runs, method, rule, record, move)
    except Exception as error:  # shapes that differ, a function that asks the host or raises
        # alone, a run asks whom it likes, and an error has its run and its sentence
        reason = str(error.__cause__ or error).partition("\n")[0]
        return (f"the runs were taken one by one, because together they could not be: {reason}",)


def _in_two(
    runs: Sequence[Run], at_once: frozenset[int], method: Solver[Any], rule: Rule, record: Recorder, move: Mover
) -> list[Result[Any]] | tuple[str, ...]:
    """The results where some runs end at once, which takes no time alone; the others are led on together."""
    others = [run for k, run in enumerate(runs) if k not in at_once]
    led = run_together(others, method, rule, record, move) if others else []
    if not isinstance(led, list):
        return led
    rest = iter(led)
    every = record.every
    return _results(
        [_alone((run, method, rule, every, {})) if k in at_once else next(rest) for k, run in enumerate(runs)]
    )


def is_stackable(method: Solver[Any]) -> bool:
    """Whether many runs of a method can take their steps together."""
    return method.compilable if method.stackable is None else method.stackable


def _runs(problems: Any, X0: Any, seeds: Any) -> list[Run]:
    """One run for each problem, start and seed; what is given once counts for all."""
    one = isinstance(problems, Problem)
    stacked = X0 is not None and not isinstance(X0, Start)
    counts = {}
    if not one:
        if not isinstance(problems, Iterable):
            raise TypeError(f"problems must be a Problem or a sequence of them; given {type(problems).__name__}.")
        problems = list(problems)
        for problem in problems:
            if not isinstance(problem, Problem):
                raise TypeError(f"problems must hold Problems; given a {type(problem).__name__}.")
        counts["problems"] = len(problems)
    if stacked:
        require(getattr(X0, "ndim", 0) == 3, "X0 must be a stack of points, an array of shape (k, n, r), or a Start.")
        counts["points in X0"] = int(X0.shape[0])
    if seeds is not None:
        seeds = _whole_numbers(seeds)
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


def _whole_numbers(seeds: Any) -> list[int]:
    try:
        return [operator.index(seed) for seed in seeds]
    except TypeError:
        raise TypeError(
            f"seeds must be a sequence of whole numbers, one for each run, as in range(8); given {seeds!r}."
        ) from None


def _apart(runs: list[Run], method: Solver[Any], rule: Rule, record: Recorder, n_jobs: int | None) -> list[Result[Any]]:
    """Each run alone, in as many processes as were asked for."""
    cores = os.cpu_count() or 1
    jobs = min(cores + 1 + n_jobs if n_jobs and n_jobs < 0 else n_jobs or 1, len(runs), MOST_JOBS)
    extra = {name: measure for name, measure in record.measures.items() if name not in Recorder.COLUMNS}
    tasks = [(run, method, rule, record.every, extra) for run in runs]
    found: list[Result[Any] | RunFailed] = []
    if jobs > 1:
        found = _in_processes(tasks, jobs)
    else:
        for task in tasks:
            found.append(_alone(task))
            if isinstance(found[-1], Result) and found[-1].status is Status.INTERRUPTED:
                break
    return _results(found)


def _in_processes(tasks: list[_Task], jobs: int) -> list[Result[Any] | RunFailed]:
    try:
        pickle.dumps(tasks[0])
    except Exception as error:
        raise ValueError(
            f"n_jobs sends problems and rules to other processes, which these cannot be: {error}. Leave n_jobs out, or "
            "define your functions at the top level of a module."
        ) from error
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(_alone, task) for task in tasks]
        try:
            return [future.result() for future in futures]
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)  # those under way have heard it too, and end by themselves
            return [future.result() for future in itertools.takewhile(_is_whole, futures)]


def _is_whole(future: Future[Any]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _results(found: Sequence[Result[Any] | RunFailed]) -> list[Result[Any]]:
    """All results; one that failed among others says so in a warning, since an error would lose the others."""
    failed = {k: one for k, one in enumerate(found) if isinstance(one, RunFailed)}
    if failed and (len(failed) == len(found) or any(error.result is None for error in failed.values())):
        raise next((error for error in failed.values() if error.result is None), failed[min(failed)])
    for k, error in failed.items():
        warnings.warn(f"Run {k} of {len(found)}, counted from 0: {error}", RuntimeWarning, stacklevel=4)
    return [_noted(one) if isinstance(one, RunFailed) else one for one in found]


def _noted(error: RunFailed) -> Result[Any]:
    assert error.result is not None
    return replace(error.result, notes=(*error.result.notes, str(error)))


_Task = tuple[Run, Solver[Any], Rule, int | None, dict[str, Any]]


def _alone(task: _Task) -> Result[Any] | RunFailed:
    """The result of a run, or its error: one that is raised in another process would lose its result on the way."""
    run, method, rule, every, extra = task
    try:
        return solve(run.problem, method, run.X0, seed=run.seed, stop=rule, record=Recorder(every, extra))
    except RunFailed as error:
        return error

"""Shared by ``reproduce`` and ``compare``: run experiments, show progress, write the results."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from orthoprox.cli import INTERRUPTED
from orthoprox.cli.errors import FAILED, UNAVAILABLE, UNWRITTEN, CommandError
from orthoprox.cli.options import check_writable
from orthoprox.driver.observers import bar_class
from orthoprox.experiments import Experiment, Tally, gather, run
from orthoprox.experiments.data import substitute_missing
from orthoprox.experiments.gather import Results, add_to_manifest
from orthoprox.experiments.outputs import draw_figures, write_outputs
from orthoprox.experiments.spec import Job
from orthoprox.experiments.table import as_text, row

PAUSE = 10.0
"""Seconds between two lines of progress where there is no terminal."""


def run_experiments(
    experiments: Sequence[Experiment],
    out: Path,
    *,
    processes: int | None,
    data_dir: Path | None,
    title: str,
    claims: bool,
    keep_old: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run what is missing, write and print the results, and end with an exit code."""
    folder = None if data_dir is None else str(data_dir)
    check_writable(out)
    chosen = [substitute_missing(experiment, folder, out, keep_outdated=keep_old) for experiment in experiments]
    add_to_manifest(out, chosen)
    jobs = [job for experiment in chosen for _, job in experiment.jobs()]
    # grouped by data, so that each process reads them once
    jobs.sort(key=lambda job: (job.dataset, job.seed))
    with _display(quiet) as show:
        tally = run(
            jobs,
            out,
            processes=processes or os.cpu_count() or 1,
            data_folder=folder,
            keep_outdated=keep_old,
            on_start=lambda tally: _tell_outdated(tally, keep_old),
            on_progress=show,
        )
    if tally.interrupted:
        done = tally.present + tally.done
        raise CommandError(
            f"Interrupted: {done} of {tally.total} runs are done. Repeat the command to continue.", INTERRUPTED
        )
    results = gather(out, chosen)
    files = write_outputs(results, out, title=title, claims=claims)
    try:
        files += draw_figures(results, out)
    except ModuleNotFoundError as error:  # the runs are done, and their numbers written
        click.echo(f"No figures were drawn. {error}", err=True)
    _print_results(results, tally, files, as_json=as_json, table=not claims)
    if tally.failures:
        raise CommandError(_failure_message(tally), _failure_code(tally))


def _tell_outdated(tally: Tally, keep_old: bool) -> None:
    """No old number stays or goes without a word."""
    if sentence := tally.say_outdated(kept=keep_old):
        click.echo(sentence, err=True)


@contextlib.contextmanager
def _display(quiet: bool) -> Iterator[Any]:
    """A progress bar in a terminal, a line now and then elsewhere."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with contextlib.ExitStack() as stack:
            bars: list[Any] = []

            def draw_bar(tally: Tally, job: Job) -> None:
                if not bars:
                    bar = bar_class()(
                        total=tally.total, desc="runs", unit="run", file=sys.stderr, initial=tally.present, leave=True
                    )
                    bars.append(stack.enter_context(contextlib.closing(bar)))
                bars[0].set_postfix_str(f"{job.dataset} {Path(job.solver).name} w {job.weight:g}", refresh=False)
                bars[0].n = tally.present + tally.done + len(tally.failures)
                bars[0].refresh()

            yield draw_bar
    else:
        last = [time.monotonic()]

        def print_line(tally: Tally, job: Job) -> None:
            if time.monotonic() - last[0] >= PAUSE:
                last[0] = time.monotonic()
                click.echo(f"{tally.present + tally.done} of {tally.total} runs", err=True)

        yield print_line


def _print_results(results: Results, tally: Tally, files: Sequence[Path], *, as_json: bool, table: bool) -> None:
    if as_json:
        summary = {
            "runs": [row(record) for record in results.runs],
            "present": tally.present,
            "outdated": tally.outdated,
            "done": tally.done,
            "failed": [{"dataset": f.job.dataset, "solver": f.job.solver, "why": f.sentence} for f in tally.failures],
            "files": [str(path) for path in files],
        }
        click.echo(json.dumps(summary))
        return
    if table and results.runs:
        click.echo(as_text(results.runs) + "\n")
    click.echo(f"{tally.done} runs done, {tally.present} were there, {len(tally.failures)} failed")
    for path in files:
        if path.suffix != ".pdf":
            click.echo(f"wrote {path}")


def _failure_code(tally: Tally) -> int:
    """What the user can do something about goes first."""
    if any(failure.data for failure in tally.failures):
        return UNAVAILABLE
    return UNWRITTEN if any(failure.unwritten for failure in tally.failures) else FAILED


def _failure_message(tally: Tally) -> str:
    sentences = dict.fromkeys(f"{Path(f.job.solver).name} on {f.job.dataset}: {f.sentence}" for f in tally.failures)
    shown = list(sentences)[:5]
    more = f"\n... and {len(sentences) - len(shown)} more" if len(sentences) > len(shown) else ""
    return f"{len(tally.failures)} of {tally.total} runs failed.\n" + "\n".join(shown) + more


def seed_range(count: int) -> tuple[int, ...]:
    """The seeds 0, 1, ..., count - 1."""
    return tuple(range(count))

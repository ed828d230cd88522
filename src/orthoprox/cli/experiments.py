"""What ``reproduce`` and ``compare`` share: run experiments, show how far they are, write what comes out."""

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

from orthoprox._extras import extra
from orthoprox.cli.errors import FAILED, UNAVAILABLE, Told
from orthoprox.cli.solve import writable
from orthoprox.experiments import Experiment, Outcome, gather, run
from orthoprox.experiments.data import available
from orthoprox.experiments.gather import Gathered, enlist
from orthoprox.experiments.outputs import write_outputs
from orthoprox.experiments.spec import Job
from orthoprox.experiments.table import as_text, row

INTERRUPTED = 130
EXIT_CODES = """Exit codes: 0 done; 1 a run failed; 2 a mistake in the call; 3 data not available; 130 interrupted
(the same command goes on where it stood)."""
PAUSE = 10.0
"""Seconds between two lines about the progress where there is no terminal."""


def carry_out(
    experiments: Sequence[Experiment],
    out: Path,
    *,
    processes: int | None,
    data_dir: Path | None,
    title: str,
    claims: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run what is missing, write tables, figures and report, say so, and end with an exit code."""
    folder = None if data_dir is None else str(data_dir)
    writable(out)
    chosen = [available(experiment, folder, out) for experiment in experiments]
    enlist(out, chosen)
    jobs = [job for experiment in chosen for _, job in experiment.jobs()]
    # the same data one after the other, so that each process reads them once
    jobs.sort(key=lambda job: (job.dataset, job.seed))
    with _display(quiet) as told:
        outcome = run(jobs, out, processes=processes or os.cpu_count() or 1, data_folder=folder, told=told)
    if outcome.interrupted:
        there = outcome.present + outcome.done
        raise Told(f"Interrupted: {there} of {outcome.total} runs are done. The same command goes on.", INTERRUPTED)
    gathered = gather(out, chosen)
    made = write_outputs(gathered, out, title=title, claims=claims)
    _say(gathered, outcome, made, as_json=as_json, table=not claims)
    if outcome.failures:
        code = UNAVAILABLE if any(failure.data for failure in outcome.failures) else FAILED
        raise Told(_failed(outcome), code)


@contextlib.contextmanager
def _display(quiet: bool) -> Iterator[Any]:
    """One bar for all runs in a terminal, now and then a line elsewhere."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with contextlib.ExitStack() as stack:
            bars: list[Any] = []

            def drawn(outcome: Outcome, job: Job) -> None:
                if not bars:
                    tqdm = extra("tqdm", "progress", "A progress bar").tqdm
                    bars.append(stack.enter_context(tqdm(total=outcome.total, unit="run", initial=outcome.present)))
                bars[0].set_postfix_str(f"{job.dataset} {Path(job.solver).name} w {job.weight:g}", refresh=False)
                bars[0].n = outcome.present + outcome.done + len(outcome.failures)
                bars[0].refresh()

            yield drawn
    else:
        last = [time.monotonic()]

        def written(outcome: Outcome, job: Job) -> None:
            if time.monotonic() - last[0] >= PAUSE:
                last[0] = time.monotonic()
                click.echo(f"{outcome.present + outcome.done} of {outcome.total} runs", err=True)

        yield written


def _say(gathered: Gathered, outcome: Outcome, made: Sequence[Path], *, as_json: bool, table: bool) -> None:
    if as_json:
        said = {
            "runs": [row(one) for one in gathered.runs],
            "present": outcome.present,
            "done": outcome.done,
            "failed": [{"dataset": f.job.dataset, "solver": f.job.solver, "why": f.sentence} for f in outcome.failures],
            "files": [str(path) for path in made],
        }
        click.echo(json.dumps(said))
        return
    if table and gathered.runs:
        click.echo(as_text(gathered.runs) + "\n")
    click.echo(f"{outcome.done} runs done, {outcome.present} were there, {len(outcome.failures)} failed")
    for path in made:
        if path.suffix != ".pdf":
            click.echo(f"wrote {path}")


def _failed(outcome: Outcome) -> str:
    sentences = dict.fromkeys(f"{Path(f.job.solver).name} on {f.job.dataset}: {f.sentence}" for f in outcome.failures)
    shown = list(sentences)[:5]
    more = f"\n... and {len(sentences) - len(shown)} more" if len(sentences) > len(shown) else ""
    return f"{len(outcome.failures)} of {outcome.total} runs failed.\n" + "\n".join(shown) + more


def whole(seeds: int | None) -> tuple[int, ...] | None:
    """So many seeds, from 0."""
    return None if seeds is None else tuple(range(seeds))

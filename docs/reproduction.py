"""The paper's experiments: makes the runs, and turns them into docs/reproduction.md and docs/reproduction/.

python docs/reproduction.py out/reproduction --run all --jobs 16 --minutes 9   # as often as it takes
python docs/reproduction.py out/reproduction

The first command makes the runs that are missing, one thread each, and stops after the given time; what is done
stays. Results of another version of the code count as missing, unless --keep-old is given: one page, one version. Parts
made in several folders can be copied into one; then the first command lists them. The second command needs no data,
only the results, and says on the page what they are and what is missing. Data come from the folder in ORTHOPROX_DATA;
panels whose data are missing are left out.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path

from orthoprox._fields import replace
from orthoprox.datasets import DataUnavailable
from orthoprox.experiments import BUILTIN, Experiment, Results, Tally, builtin, gather, run
from orthoprox.experiments.data import substitute_missing
from orthoprox.experiments.gather import add_to_manifest
from orthoprox.experiments.outputs import publish
from orthoprox.experiments.provenance import base

HERE = Path(__file__).parent
SCRIPT = "python docs/reproduction.py out/reproduction"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, nargs="?", default=Path("out/reproduction"))
    parser.add_argument("--run", nargs="+", choices=[*BUILTIN, "all"], default=[], help="make the runs of these")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time, one thread each")
    parser.add_argument("--minutes", type=float, help="stop after this long; repeat the command to go on")
    parser.add_argument("--keep-old", action="store_true", help="keep results of other versions of the code")
    parser.add_argument("--quick", action="store_true", help="on small data")
    parser.add_argument("--docs", type=Path, default=HERE, help="where to write")
    arguments = parser.parse_args()
    if arguments.run:
        sys.exit(make_runs(arguments))
    try:
        results = gather(arguments.results)
    except FileNotFoundError:
        parser.error(f"{arguments.results} has no results: make them with --run all.")
    for path in publish(results, arguments.docs, made_by=made_by(results)):
        print(f"{path.stat().st_size / 1024:8.0f} KB  {path}")
    if results.missing:
        print(f"{len(results.missing)} runs have no result")


def made_by(results: Results) -> str:
    """The commands behind a page, and how far they got; from what is stored, not from how this script was called."""
    names = [base(experiment.name) for experiment in results.experiments]
    quick = " --quick" if any(experiment.name != base(experiment.name) for experiment in results.experiments) else ""
    command = f"{SCRIPT} --run {'all' if set(names) == set(BUILTIN) else ' '.join(names)}{quick}"
    total = len(results.runs) + len(results.missing)
    far = f"{len(results.runs)} of its {total} runs have a result"
    more = "; the same command goes on, or begins again if the code has changed" if results.missing else ""
    return (
        f"Made by `{command}` with the data folder in `ORTHOPROX_DATA`: {far}{more}.\nThen `{SCRIPT}` wrote this page."
    )


def make_runs(arguments: argparse.Namespace) -> int:
    """Make what is missing; 0 when nothing is, 1 when something failed, 130 when the time was over first."""
    names = BUILTIN if "all" in arguments.run else arguments.run
    chosen = [at_hand(builtin(name, quick=arguments.quick), arguments) for name in names]
    add_to_manifest(arguments.results, chosen)
    jobs = [job for experiment in chosen for _, job in experiment.jobs()]
    jobs.sort(key=lambda job: (job.seed, job.dataset))  # a part of the seeds is of use, and data are read once
    if arguments.minutes is not None:
        signal.signal(signal.SIGALRM, signal.default_int_handler)  # as if somebody had pressed Ctrl-C
        signal.setitimer(signal.ITIMER_REAL, 60 * arguments.minutes)
    since = time.monotonic()
    tally = run(
        jobs,
        arguments.results,
        processes=arguments.jobs,
        keep_outdated=arguments.keep_old,
        on_start=lambda tally: tell_outdated(tally, arguments.keep_old),
        on_progress=show(time.monotonic()),
    )
    spoken = "the time is over" if tally.interrupted else f"{len(tally.failures)} failed"
    done = tally.present + tally.done
    print(f"{done} of {tally.total} runs, {(time.monotonic() - since) / 60:.1f} minutes: {spoken}", flush=True)
    for failure in tally.failures:
        print(f"{failure.job.solver} on {failure.job.dataset}: {failure.sentence}")
    return 130 if tally.interrupted else int(bool(tally.failures))


def tell_outdated(tally: Tally, keep: bool) -> None:
    """No old number stays or goes without a word."""
    if sentence := tally.say_outdated(kept=keep):
        print(sentence, flush=True)


def at_hand(experiment: Experiment, arguments: argparse.Namespace) -> Experiment:
    """The experiment on those data sets that can be had; the random ones always can."""
    found = []
    for name in experiment.datasets:
        try:
            one = replace(experiment, datasets=(name,))
            found += substitute_missing(one, None, arguments.results, keep_outdated=arguments.keep_old).datasets
        except DataUnavailable as error:
            print(f"{experiment.name} goes without {name}: {error}", flush=True)
    return replace(experiment, datasets=tuple(found))


def show(last: float):
    """A line every half minute."""

    def line(tally: Tally, job: object) -> None:
        nonlocal last
        if time.monotonic() > last + 30:
            last = time.monotonic()
            print(f"{tally.present + tally.done} of {tally.total} runs", flush=True)

    return line


if __name__ == "__main__":
    main()

"""Where the numbers of a page come from: which runs, how many seeds, what is missing, which code and machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from orthoprox._fields import replace
from orthoprox.experiments.claims import with_common_seeds
from orthoprox.experiments.environment import code
from orthoprox.experiments.gather import Results, RunRecord
from orthoprox.experiments.spec import BUILTIN, Experiment, Job, builtin
from orthoprox.experiments.table import pipe_table

QUICK = "-quick"
"""Behind the name of an experiment on small data."""


def base(experiment: str) -> str:
    """The name without what ``quick`` adds to it."""
    return experiment.removesuffix(QUICK)


def origin(results: Results) -> str:
    """Code, libraries and machine of the runs, in sentences."""
    runs = results.runs
    machines = sorted({f"{_machine(run)['processor']} ({_machine(run).get('cores')} cores)" for run in runs})
    return (
        f"{len(runs)} runs on {', '.join(machines) or 'no machine'}, one thread each, {_at_a_time(runs)}, with "
        f"{_libraries(runs)}.\n{_versions(runs)}{_swaps(results)}\n"
    )


def _machine(run: RunRecord) -> dict[str, object]:
    return dict(run.facts["machine"])


def _at_a_time(runs: Iterable[RunRecord]) -> str:
    counts = [run.facts.get("processes") for run in runs]
    unknown = counts.count(None)
    known = " or ".join(map(str, sorted({count for count in counts if count is not None})))
    if not unknown:
        return f"{known or 'none'} at a time"
    return f"{known} at a time (not recorded for {unknown})" if known else "how many at a time was not recorded"


def _libraries(runs: Iterable[RunRecord]) -> str:
    names = {"python": "Python", "numpy": "NumPy", "scipy": "SciPy"}
    texts = {
        ", ".join(f"{word} {run.facts['versions'].get(name, '?')}" for name, word in names.items()) for run in runs
    }
    return " or ".join(sorted(texts)) or "nothing"


def _versions(runs: Iterable[RunRecord]) -> str:
    """Results of several versions of the code are never mixed without a word."""
    counts = Counter(str(run.facts["code"]) for run in runs)
    if not counts:
        return ""
    if len(counts) == 1:
        said = f"All come from one version of the code, the one with the digest `{next(iter(counts))}`"
    else:
        parts = ", ".join(f"{count} from `{digest}`" for digest, count in counts.most_common())
        said = f"They come from {len(counts)} versions of the code (by digest: {parts})"
    now = "" if set(counts) == {code()} else f"; when this page was written the code had the digest `{code()}`"
    return f"{said}{now}."


def _swaps(results: Results) -> str:
    pairs = {pair for e in results.experiments for pair in e.substitutes.items() if pair[1] in e.datasets}
    swaps = sorted(f"`{there}` stands for `{wanted}`" for wanted, there in pairs)
    return f" {'; '.join(swaps)}, of which only a part is public." if swaps else ""


def what_was_run(results: Results) -> str:
    """How much of each experiment there is, and what is missing, by name."""
    lines = []
    for experiment in results.experiments:
        runs = results.of(experiment.name)
        lost = [job for name, _, job in results.missing if name == experiment.name]
        cells = [
            f"{len(runs)} of {len(runs) + len(lost)}",
            seeds_per_panel(runs),
            missing(experiment, lost) or "nothing",
        ]
        lines.append([experiment.name, *cells])
    absent = [name for name in BUILTIN if name not in {base(e.name) for e in results.experiments}]
    rest = f"\nNot run for this page: {', '.join(absent)}.\n" if absent else ""
    changed = [sentence for e in results.experiments if (sentence := changes(e))]
    return (
        "## What was run\n\n"
        + pipe_table(["experiment", "runs", "seeds for a panel", "missing"], lines)
        + rest
        + ("\n" + " ".join(changed) + "\n" if changed else "")
    )


def seeds_per_panel(runs: Sequence[RunRecord]) -> str:
    """How many seeds the numbers of the panels rest on: those that all methods have."""
    seeds: dict[tuple[object, ...], set[int]] = {
        (run.experiment, run.job.dataset, run.job.weight, run.job.kept): set() for run in runs
    }
    for run in with_common_seeds(runs):
        seeds[run.experiment, run.job.dataset, run.job.weight, run.job.kept].add(run.job.seed)
    counts = Counter(len(found) for found in seeds.values())
    if len(counts) <= 1:
        return (
            "".join(f"{_count(n, 'seed')} in each of {_count(panels, 'panel')}" for n, panels in counts.items()) or "-"
        )
    return ", ".join(f"{_count(n, 'seed')} in {_count(panels, 'panel')}" for n, panels in sorted(counts.items()))


def _count(number: int, word: str) -> str:
    return f"one {word}" if number == 1 else f"{number} {word}s"


def missing(experiment: Experiment, lost: Sequence[Job]) -> str:
    """The missing runs in as few words as they allow: whole seeds, whole data sets of a seed, single runs."""
    planned = [job for _, job in experiment.jobs()]
    whole = [seed for seed in experiment.seeds if _all_of(planned, lost, seed, experiment.datasets)]
    parts = [f"{_plural('seed', whole)} on all data"] if whole else []
    for seed in (seed for seed in experiment.seeds if seed not in whole):
        names = [name for name in experiment.datasets if _all_of(planned, lost, seed, (name,))]
        if names:
            parts.append(f"seed {seed} on {', '.join(names)}")
        for name in experiment.datasets:
            here = [job for job in lost if (job.seed, job.dataset) == (seed, name)]
            if here and name not in names:
                parts.append(f"{_count(len(here), 'run')} with seed {seed} on {name}")
    return "; ".join(parts)


def _all_of(planned: Sequence[Job], lost: Sequence[Job], seed: int, datasets: Sequence[str]) -> bool:
    wanted, absent = (sum(job.seed == seed and job.dataset in datasets for job in jobs) for jobs in (planned, lost))
    return wanted == absent


def _plural(word: str, values: Sequence[int]) -> str:
    return f"{word}{'s' if len(values) > 1 else ''} {', '.join(map(str, values))}"


def changes(experiment: Experiment) -> str:
    """How an experiment differs from the one that comes with the package; "" if it does not."""
    if base(experiment.name) not in BUILTIN:
        return f"`{experiment.name}` does not come with the package."
    shipped = builtin(base(experiment.name), quick=experiment.name.endswith(QUICK))
    stand_ins = shipped.substitutes
    without = ""
    if set(experiment.datasets) <= {*shipped.datasets, *stand_ins.values()}:
        left = [n for n in shipped.datasets if not {n, stand_ins.get(n, n)} & set(experiment.datasets)]
        without = f"`{experiment.name}` goes without {', '.join(left)}." if left else ""
        shipped = replace(shipped, datasets=experiment.datasets)
    wanted, given = shipped.to_mapping(), experiment.to_mapping()
    names = [name for name in sorted({*wanted, *given} - {"about"}) if wanted.get(name) != given.get(name)]
    other = f"`{experiment.name}` was run with other {', '.join(names)} than it comes with." if names else ""
    return " ".join(filter(None, (without, other)))

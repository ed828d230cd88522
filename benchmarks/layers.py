"""Orthogonal layers: the time of a step beside other libraries, and the accuracy of small networks, dense and sparse.

    python benchmarks/layers.py speed [--device cuda]
    python benchmarks/layers.py quality sparse
    python benchmarks/layers.py quality --tasks rnn,cnn --only "orthoprox;POGO, SGD" --seeds 100:180

It needs the extra torch and scikit-learn; geoopt, geotorch and pogo-torch take part where they are installed, and
permuted MNIST if the folder in ORTHOPROX_DATA has mnist_train_60k.npz and mnist_test_10k.npz. Runs are kept in
--results, made by --workers processes with one thread each, and none is begun after --minutes: repeat the command until
nothing is left. Pictures go to --pictures.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
from functools import partial
from pathlib import Path
from typing import Any

if importlib.util.find_spec("torch") is None:
    print("This benchmark needs PyTorch: pip install 'orthoprox[torch]'.")
    raise SystemExit(0)

import torch
from _layers_quality import MAKE, Choice, end, quality, sparsity
from _layers_runs import Store, fill
from _layers_speed import COLUMNS, speed
from _layers_tasks import TASKS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", choices=("speed", "quality", "sparse"), default="speed")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument(
        "--only", default="", help="columns of the speed table or methods, with semicolons between them"
    )
    parser.add_argument("--tasks", default="", help="of the table of accuracy, as in rnn,cnn")
    parser.add_argument("--seeds", default="", help="of the table of accuracy in place of its own, as in 100:180")
    parser.add_argument("--results", type=Path, default=Path("out/layers.json"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--pictures", type=Path, default=Path("out/layers"))
    given = parser.parse_args()
    only, tasks = (tuple(filter(None, text.split(mark))) for text, mark in ((given.only, ";"), (given.tasks, ",")))
    seeds = tuple(range(*map(int, given.seeds.split(":")))) if given.seeds else ()
    if "speed" in given.what:
        torch.set_num_threads(1)
        print(speed_table(speed(given.device, only)))
    accuracy = partial(quality, choice=Choice(tasks, only, seeds))
    plans = [plan for name, plan in (("quality", accuracy), ("sparse", sparsity)) if name in given.what]
    if not plans:
        return
    found = fill(
        Store(given.results), lambda store: [plan(store) for plan in plans], MAKE, given.workers, given.minutes
    )
    for plan, result in zip(plans, found, strict=True):
        show, draw = (quality_table, draw_quality) if plan is accuracy else (sparse_table, draw_sparse)
        print(show(result), flush=True)
        if result and importlib.util.find_spec("matplotlib") is not None:
            draw(result, given.pictures)


def speed_table(found: dict[str, dict[str, float | None]]) -> str:
    names = [name for name in COLUMNS if any(row.get(name) is not None for row in found.values())]
    lines = ["| stack | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for shape, row in found.items():
        cells = ["-" if row.get(name) is None else f"{row[name]:.3g}" for name in names]
        lines.append(f"| {shape} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def mean_and_spread(values: list[float]) -> str:
    return f"{100 * statistics.mean(values):.2f} ± {100 * statistics.stdev(values):.2f}"


def quality_table(found: dict[str, dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in found.values() for name in row))
    lines = ["| method | " + " | ".join(TASKS[task].title for task in found) + " | lr | max WW' - I |"]
    lines.append("|---|" + "---|" * (len(found) + 2))
    for name in names:
        rows = [row.get(name) for row in found.values()]
        cells = [mean_and_spread([end(run) for run in row["runs"]]) if row else "-" for row in rows]
        lrs = ", ".join(f"{row['lr']:g}" if row else "-" for row in rows)
        worst = max(run["infeasibility"] for row in rows if row for run in row["runs"])
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {lrs} | {worst:.0e} |")
    return "\n".join([*lines, "", *(f"{TASKS[task].title}: {leads(row)}" for task, row in found.items())])


def leads(row: dict[str, Any]) -> str:
    """The best of ours beside each of the others, seed by seed: the mean difference and its standard error."""
    ends = {name: [100 * end(run) for run in what["runs"]] for name, what in row.items()}
    best = max((name for name in ends if name.startswith("orthoprox")), key=lambda name: sum(ends[name]), default=None)
    if best is None:
        return "ours is missing"
    parts = []
    for name in sorted(ends, key=lambda name: -sum(ends[name])):
        gaps = [a - b for a, b in zip(ends[best], ends[name], strict=True)]
        if name != best:
            error = statistics.stdev(gaps) / len(gaps) ** 0.5
            parts.append(f"{name} {statistics.mean(gaps):+.2f} ± {error:.2f}")
    return f"{best} less " + ", ".join(parts)


def sparse_table(found: dict[str, dict[str, Any]]) -> str:
    lines = [
        "| task, asked zeros | way | zeros | when finished | after tuning | lr, weight | max WW' - I |",
        "|---|---|---|---|---|---|---|",
    ]
    for case, row in found.items():
        task, share = case.split()
        for way, what in row.items():
            runs = what["runs"]
            zeros = statistics.mean(run["zeros"] for run in runs)
            worst = max(run["infeasibility"] for run in runs)
            lines.append(
                f"| {TASKS[task].title}, {1 - float(share):.0%} | {way} | {zeros:.1%} | "
                f"{mean_and_spread([run['finished'] for run in runs])} | "
                f"{mean_and_spread([end(run) for run in runs])} | "
                f"{', '.join(f'{number:g}' for number in what['option'])} | {worst:.0e} |"
            )
    return "\n".join(lines)


def draw_quality(found: dict[str, dict[str, Any]], folder: Path) -> None:
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(name for row in found.values() for name in row))
    canvas = Figure(figsize=(4 * len(found) + 2, 3.6), layout="constrained")
    lines: dict[str, Any] = {}
    libraries = list(dict.fromkeys(name.partition(",")[0] for name in names))
    styles = {
        name: [one for one in names if one.partition(",")[0] == name.partition(",")[0]].index(name) for name in names
    }
    for ax, (task, row) in zip(canvas.subplots(1, len(found), squeeze=False).flat, found.items(), strict=True):
        for name, what in row.items():
            curves, library = [run["curve"] for run in what["runs"]], name.partition(",")[0]
            mean = [statistics.mean(values) for values in zip(*curves, strict=True)]
            ours = library == "orthoprox"
            style = {"linewidth": 2.2 if ours else 1.0, "linestyle": ("-", "--", ":", "-.")[styles[name]]}
            style["color"] = f"C{libraries.index(library)}"
            (lines[name],) = ax.plot(range(1, len(mean) + 1), mean, zorder=3 if ours else 2, **style)
        ends = [statistics.mean(end(run) for run in what["runs"]) for what in row.values()]
        room = max(ends) - min(ends) + 0.02
        ax.set(title=TASKS[task].title, xlabel="epoch", ylim=(min(ends) - 2 * room, max(ends) + 0.1 * room))
        ax.xaxis.get_major_locator().set_params(integer=True)
    canvas.axes[0].set_ylabel("accuracy on held-out data")
    canvas.legend(lines.values(), lines, fontsize=8, loc="outside right center")
    folder.mkdir(parents=True, exist_ok=True)
    canvas.savefig(folder / "dense.png", dpi=75)


def draw_sparse(found: dict[str, dict[str, Any]], folder: Path) -> None:
    from matplotlib.figure import Figure

    tasks = len({case.split()[0] for case in found})
    canvas = Figure(figsize=(4 * tasks, 6), layout="constrained")
    for ax, (case, row) in zip(canvas.subplots(2, tasks, squeeze=False).T.flat, found.items(), strict=False):
        task, share = case.split()
        for way, what in row.items():
            curves = [
                [*run["curve"][: TASKS[task].epochs], run["finished"], *run["curve"][TASKS[task].epochs :]]
                for run in what["runs"]
            ]
            mean = [statistics.mean(values) for values in zip(*curves, strict=True)]
            ax.plot(range(1, len(mean) + 1), mean, label=way, linestyle="--" if "pruning" in way else "-")
        ax.axvline(TASKS[task].epochs + 1, color="grey", linewidth=0.8)
        ax.set(
            title=f"{TASKS[task].title}: {1 - float(share):.0%} zeros", xlabel="epoch; zeros become exact at the line"
        )
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.legend(fontsize=7, loc="lower left")
    folder.mkdir(parents=True, exist_ok=True)
    canvas.savefig(folder / "sparse.png", dpi=75)


if __name__ == "__main__":
    main()

"""Orthogonal layers: the time of a step beside other libraries, and the accuracy of small networks, dense and sparse.

    python benchmarks/layers.py speed [--device cuda]
    python benchmarks/layers.py quality
    python benchmarks/layers.py sparse

It needs the extra torch and scikit-learn; geoopt, geotorch and pogo-torch take part where they are installed. Results
are kept in --results, and with --minutes no run is begun after that time: repeat the command until nothing is left.
Pictures go to --pictures.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
from pathlib import Path
from typing import Any

if importlib.util.find_spec("torch") is None:
    print("This benchmark needs PyTorch: pip install 'orthoprox[torch]'.")
    raise SystemExit(0)

import torch
from _layers_quality import Store, end, quality, sparsity
from _layers_speed import COLUMNS, speed
from _layers_tasks import TASKS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("speed", "quality", "sparse"), default="speed")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--only", default="", help="columns of the speed table, with semicolons between them")
    parser.add_argument(
        "--without", default="", help="tasks with methods to leave out, as in cnn GeoTorch;copy GeoTorch"
    )
    parser.add_argument("--results", type=Path, default=Path("out/layers.json"))
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--pictures", type=Path, default=Path("out/layers"))
    given = parser.parse_args()
    if given.what == "speed":
        print(speed_table(speed(given.device, tuple(part for part in given.only.split(";") if part))))
        return
    store = Store(given.results, given.minutes)
    if given.what == "quality":
        found = quality(store, tuple(part for part in given.without.split(";") if part))
        print(quality_table(found))
        draw_quality(found, given.pictures)
    else:
        found = sparsity(store)
        print(sparse_table(found))
        draw_sparse(found, given.pictures)


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
    names = list(next(iter(found.values())))
    lines = ["| method | " + " | ".join(TASKS[task].title for task in found) + " | max WW' - I |"]
    lines.append("|---|" + "---|" * (len(found) + 1))
    for name in names:
        runs = [found[task][name]["runs"] if name in found[task] else [] for task in found]
        cells = [mean_and_spread([end(run["curve"]) for run in some]) if some else "-" for some in runs]
        worst = max(run["infeasibility"] for some in runs for run in some)
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {worst:.0e} |")
    return "\n".join(lines)


def sparse_table(found: dict[str, dict[str, Any]]) -> str:
    lines = [
        "| task, asked zeros | way | zeros | accuracy when finished | after tuning | max WW' - I |",
        "|---|---|---|---|---|---|",
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
                f"{mean_and_spread([run['curve'][-1] for run in runs])} | {worst:.0e} |"
            )
    return "\n".join(lines)


def draw_quality(found: dict[str, dict[str, Any]], folder: Path) -> None:
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(12, 3.6), layout="constrained")
    for ax, (task, row) in zip(canvas.subplots(1, len(found)), found.items(), strict=True):
        for k, (name, what) in enumerate(row.items()):
            curves = [run["curve"] for run in what["runs"]]
            mean = [statistics.mean(values) for values in zip(*curves, strict=True)]
            ours = name.startswith("orthoprox")
            style = {"linewidth": 2.2 if ours else 1.0, "linestyle": "-" if k % 2 == 0 else "--", "color": f"C{k // 2}"}
            ax.plot(range(1, len(mean) + 1), mean, label=name, zorder=3 if ours else 2, **style)
        ax.set(title=TASKS[task].title, xlabel="epoch", ylim=(0.5, 1.01))
    canvas.axes[0].set_ylabel("accuracy on held-out data")
    canvas.axes[-1].legend(fontsize=7, loc="lower right")
    folder.mkdir(parents=True, exist_ok=True)
    canvas.savefig(folder / "dense.png", dpi=75)


def draw_sparse(found: dict[str, dict[str, Any]], folder: Path) -> None:
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(12, 6), layout="constrained")
    for ax, (case, row) in zip(canvas.subplots(2, 3).T.flat, found.items(), strict=True):
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
        ax.legend(fontsize=7, loc="lower left")
    folder.mkdir(parents=True, exist_ok=True)
    canvas.savefig(folder / "sparse.png", dpi=75)


if __name__ == "__main__":
    main()

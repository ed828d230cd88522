"""Results as tables: one line per run for machines, medians over seeds for people."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from orthoprox.driver.result import is_off
from orthoprox.experiments.gather import RunRecord, medians
from orthoprox.experiments.spec import in_words

COLUMNS = (
    "experiment",
    "dataset",
    "weight",
    "kept",
    "k",
    "method",
    "seed",
    "objective",
    "criticality",
    "nonzeros",
    "nonzeros_y",
    "variance_kept",
    "infeasibility",
    "iterations",
    "seconds",
    "status",
    "code",
)
"""``kept`` is k as it was given, a number or a fraction of the entries, empty for the plain l1 norm; ``k`` the number.

``nonzeros`` counts those of the feasible X, ``nonzeros_y`` those of its partner y, whose zeros are exact.

``variance_kept`` is relative to principal components; ``iterations`` is the work: products with the data.

``code`` is a digest of the version of the library.
"""


def row(run: RunRecord) -> dict[str, Any]:
    """One run as a line of the table."""
    facts = run.facts
    return {
        "experiment": run.experiment,
        "dataset": run.job.dataset,
        "weight": run.job.weight,
        "kept": run.job.kept,
        "k": facts["k"],
        "method": run.label,
        "seed": run.job.seed,
        "objective": facts["objective"],
        "criticality": facts["criticality"],
        "nonzeros": facts["nonzeros"],
        "nonzeros_y": facts["nonzeros_y"],
        "variance_kept": facts["variance_kept"],
        "infeasibility": facts["infeasibility"],
        "iterations": facts["work"],
        "seconds": facts["seconds_used"],
        "status": facts["status"],
        "code": facts["code"],
    }


def as_csv(runs: Iterable[RunRecord]) -> str:
    """Every run, seven digits."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for run in runs:
        line = row(run)
        writer.writerow({name: f"{v:.7g}" if isinstance(v, float) else v for name, v in line.items()})
    return text.getvalue()


def as_text(runs: Sequence[RunRecord]) -> str:
    """Every run in columns, for a terminal."""
    head = ("method", "seed", "objective", "Crit", "nonzeros X, y", "variance", "iterations", "seconds", "ended")
    rows = [
        (
            line["method"],
            str(line["seed"]),
            f"{line['objective']:.8g}",
            f"{line['criticality']:.1e}",
            f"{line['nonzeros']}, {line['nonzeros_y']}",
            f"{100 * line['variance_kept']:.1f} %",
            str(line["iterations"]),
            f"{line['seconds']:.2f}",
            line["status"] + (", off the manifold" if is_off(line["infeasibility"], sys.float_info.epsilon) else ""),
        )
        for line in map(row, runs)
    ]
    lines = [head, *rows]
    widths = [max(len(cells[i]) for cells in lines) for i in range(len(head))]
    return "\n".join("  ".join(c.rjust(w) for c, w in zip(cells, widths, strict=True)) for cells in lines)


def as_markdown(runs: Sequence[RunRecord]) -> str:
    """Every run as a line of a markdown table."""
    head = [
        "data",
        "weight",
        "k",
        "method",
        "seed",
        "objective",
        "Crit",
        "nonzeros X, y",
        "variance",
        "iterations",
        "s",
    ]
    lines = [_line(head), "|" + "---|" * len(head)]
    for line in map(row, runs):
        lines.append(
            _line(
                [
                    line["dataset"],
                    f"{line['weight']:g}",
                    line["k"],
                    line["method"],
                    line["seed"],
                    f"{line['objective']:.6g}",
                    f"{line['criticality']:.1e}",
                    f"{line['nonzeros']}, {line['nonzeros_y']}",
                    f"{100 * line['variance_kept']:.1f} %",
                    line["iterations"],
                    f"{line['seconds']:.2f}",
                ]
            )
        )
    return "\n".join(lines) + "\n"


def matrix(runs: Sequence[RunRecord], value: Any = lambda run: run.objective) -> str:
    """Medians over seeds: a line per data set, weight and k, a column per method, the lowest in bold."""
    labels = list(dict.fromkeys(run.label for run in runs))
    by_key = medians(runs, value)
    panels = list(dict.fromkeys(key[:4] for key in by_key))
    lines = [_line(["data", "weight", "k", *labels]), "|" + "---|" * (3 + len(labels))]
    for panel in panels:
        values = {label: by_key[(*panel, label)] for label in labels if (*panel, label) in by_key}
        lowest = min(values.values())
        cells = [_cell(values.get(label), lowest) for label in labels]
        _, dataset, weight, kept = panel
        lines.append(_line([dataset, f"{weight:g}", in_words(kept), *cells]))
    return "\n".join(lines) + "\n"


def pipe_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A head and lines of text as a markdown table."""
    return "\n".join(_line(cells) for cells in (head, ["---"] * len(head), *lines)) + "\n"


def _cell(value: float | None, lowest: float) -> str:
    if value is None:
        return ""
    text = f"{value:.5g}"
    return f"**{text}**" if value <= lowest * (1 + 1e-9) else text


def _line(cells: Iterable[Any]) -> str:
    return f"| {' | '.join(map(str, cells))} |"

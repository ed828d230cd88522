"""Everything a folder of results can be turned into, in one place."""

from __future__ import annotations

import os
from pathlib import Path

from orthoprox.experiments.figures import draw
from orthoprox.experiments.gather import Gathered
from orthoprox.experiments.ledger import ledger
from orthoprox.experiments.report import report
from orthoprox.experiments.table import as_csv, as_markdown


def write_outputs(gathered: Gathered, folder: Path, *, title: str, claims: bool = True) -> list[Path]:
    """Tables, figures, report and, where the experiments are the paper's, the ledger. Returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "table.csv": as_csv(gathered.runs),
        "table.md": as_markdown(gathered.runs),
        "report.html": report(gathered, title=title),
    }
    if claims:
        texts["ledger.md"] = ledger(gathered)
    made = [_written(folder / name, text) for name, text in texts.items()]
    for experiment in gathered.experiments:
        if experiment.watch:  # runs for the ledger, which all look alike
            continue
        made += draw(experiment, gathered.of(experiment.name), folder / "figures")
    return made


def publish(gathered: Gathered, docs: Path, *, command: str) -> list[Path]:
    """The compact form for a repository: the ledger beside a folder with the table, small figures and the report."""
    folder = docs / "reproduction"
    folder.mkdir(parents=True, exist_ok=True)
    figures = [
        path
        for experiment in gathered.experiments
        if experiment.name.startswith("figure")
        for path in draw(experiment, gathered.of(experiment.name), folder, dpi=70, endings=("png",))
    ]
    head, _, rest = ledger(gathered).partition("\n")
    made = f"\nMade by `{command}`.\nEvery run: [table.csv](reproduction/table.csv); "
    made += "curves to explore: [report.html](reproduction/report.html) (save it and open it in a browser).\n"
    pictures = "\n## Figures\n\n" + "\n".join(f"![{path.stem}](reproduction/{path.name})" for path in figures) + "\n"
    return [
        _written(docs / "reproduction.md", head + "\n" + made + rest + (pictures if figures else "")),
        _written(folder / "table.csv", as_csv(gathered.runs)),
        _written(folder / "report.html", report(gathered, title="orthoprox: the paper's experiments")),
        *figures,
    ]


def _written(path: Path, text: str) -> Path:
    side = path.with_name(f"{path.name}.{os.getpid()}.part")
    side.write_text(text, "utf-8")
    os.replace(side, path)
    return path

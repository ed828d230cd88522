"""Tables, figures, report and ledger from a folder of results."""

from __future__ import annotations

from pathlib import Path

from orthoprox._files import write_text
from orthoprox.experiments.figures import draw
from orthoprox.experiments.gather import Results
from orthoprox.experiments.ledger import ledger
from orthoprox.experiments.report import report
from orthoprox.experiments.table import as_csv, as_markdown


def write_outputs(results: Results, folder: Path, *, title: str, claims: bool = True) -> list[Path]:
    """Tables, a report and, where the experiments are the paper's, the ledger. Returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "table.csv": as_csv(results.runs),
        "table.md": as_markdown(results.runs),
        "report.html": report(results, title=title, claims=claims),
    }
    if claims:
        texts["ledger.md"] = ledger(results)
    return [write_text(folder / name, text) for name, text in texts.items()]


def draw_figures(results: Results, folder: Path) -> list[Path]:
    """The figures of the experiments that have curves. Returns the files.

    Raises
    ------
    ModuleNotFoundError
        Without matplotlib; nothing is written then.
    """
    paths = []
    for experiment in results.experiments:
        if experiment.curves:
            paths += draw(experiment, results.of(experiment.name), folder / "figures")
    return paths


def publish(results: Results, docs: Path, *, made_by: str) -> list[Path]:
    """The compact form for a repository: the ledger beside a folder with the table, small figures and the report.

    ``made_by`` is a sentence on the commands that made it.
    """
    folder = docs / "reproduction"
    folder.mkdir(parents=True, exist_ok=True)
    figures = [
        path
        for experiment in results.experiments
        if experiment.name.startswith("figure")
        for path in draw(experiment, results.of(experiment.name), folder, dpi=70, endings=("png",))
    ]
    for picture in set(folder.glob("*.png")) - set(figures):
        picture.unlink()  # of an earlier page
    head, _, rest = ledger(results).partition("\n")
    origin = f"\n{made_by}\nEvery run: [table.csv](reproduction/table.csv); "
    origin += "curves to explore: [report.html](reproduction/report.html) (save it and open it in a browser).\n"
    links = "\n".join(f"![{path.stem}](reproduction/{path.name})" for path in figures)
    pictures = f"\n## Figures\n\nThe curves are those of one seed, which the titles name.\n\n{links}\n"
    return [
        write_text(docs / "reproduction.md", head + "\n" + origin + rest + (pictures if figures else "")),
        write_text(folder / "table.csv", as_csv(results.runs)),
        write_text(folder / "report.html", report(results, title="orthoprox: the paper's experiments", claims=True)),
        *figures,
    ]

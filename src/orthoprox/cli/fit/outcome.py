"""The files of a fit."""

from __future__ import annotations

import csv
import functools
import io
import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any

from orthoprox.cli.fit.folder import Writer, write_folder
from orthoprox.cli.fit.pictures import draw_pictures
from orthoprox.cli.fit.report import report
from orthoprox.cli.fit.run import Fit
from orthoprox.cli.fit.words import component_names, opening, summary_of
from orthoprox.cli.outcome import to_json
from orthoprox.cli.tables.places import listed
from orthoprox.plotting._fonts import fonts_for


def write_outcome(fit: Fit, out: Path, source: Path, command: str) -> tuple[dict[str, Any], list[Path]]:
    """Write everything, or nothing; the summary and the files."""
    names = component_names(fit)
    summary = summary_of(fit, source, command)
    summary["created"] = time.strftime("%Y-%m-%d %H:%M:%S %z")
    parts: dict[str, Writer] = {
        "loadings.csv": functools.partial(
            _table, head=["feature", *names], rows=_rows(fit.table.names, fit.components.T)
        ),
    }
    if fit.scores is not None:
        rows = _rows(fit.table.index, fit.scores, *fit.columns.values())
        parts["scores.csv"] = functools.partial(_table, head=[fit.table.index_name, *names, *fit.columns], rows=rows)
    for name, values in fit.tables.items():
        parts[f"{name}.csv"] = functools.partial(_table, head=["feature", *names], rows=_rows(fit.table.names, values))
    pictures: dict[str, bytes] = {}
    try:
        with fonts_for(fit.table.names) as unseen:
            pictures = draw_pictures(fit)
        if unseen and pictures:
            summary["notes"].append(
                f"The pictures have boxes for {listed(unseen)}: matplotlib finds no font with such letters here. "
                "Install one, such as Noto Sans; everything else shows them."
            )
    except (ModuleNotFoundError, ValueError, OverflowError, ArithmeticError) as error:
        # without its library, or with numbers it cannot draw: the numbers are written all the same
        summary["notes"].append(f"No pictures were drawn. {error}")
    summary["files"] = [*parts, *pictures, "summary.json", "report.html"]
    page = report(fit, summary, opening(fit, source), pictures).encode("utf-8", "backslashreplace")
    parts |= {name: functools.partial(_bytes, content=content) for name, content in pictures.items()}
    parts["summary.json"] = functools.partial(_bytes, content=json.dumps(to_json(summary), indent=2).encode() + b"\n")
    parts["report.html"] = functools.partial(_bytes, content=page)
    return summary, write_folder(out, parts)


def _rows(labels: Sequence[str], values: Any, *more: Sequence[Any]) -> Iterable[list[Any]]:
    """A label, then numbers with all their digits."""
    for i, label in enumerate(labels):
        yield [label, *values[i].tolist(), *(column[i] for column in more)]


def _table(file: IO[bytes], head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
    table = csv.writer(text)
    table.writerow(head)
    table.writerows(rows)
    text.detach()  # writes the rest, and leaves the file open


def _bytes(file: IO[bytes], content: bytes) -> None:
    file.write(content)

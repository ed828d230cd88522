"""The report of a fit: one HTML file that opens offline."""

from __future__ import annotations

import base64
import importlib.resources
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from orthoprox.cli.fit.run import Fit
from orthoprox.cli.fit.words import advice_of, number, shares_of, strongest, verdict
from orthoprox.cli.tables.places import count
from orthoprox.estimators._summary import percent

ROWS = 200
"""Features in the table of loadings, at most; the rest are in loadings.csv."""
PICTURES = {
    "loadings.png": "The largest loadings of each component",
    "path.png": "What sparsity costs: the share of the variance that components keep, and what none can exceed",
    "biplot.png": "Samples as points, features as arrows, on the first two components",
}


def report(fit: Fit, summary: Mapping[str, Any], lines: Sequence[str], pictures: Mapping[str, bytes]) -> str:
    """The whole page as text."""
    table = fit.table
    title = f"{summary['estimator']} of {summary['table']['file'].replace(chr(92), '/').rpartition('/')[2]}"
    body = [
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{escape(line)}</p>" for line in lines),
        _facts(fit, summary),
        _components(fit),
        *(f"<p>{escape(line)}</p>" for line in verdict(fit)),
        _list("Notes", summary["notes"]),
    ]
    below = {} if fit.path is None else {"path.png": advice_of(fit.path)}
    body += [
        _picture(name, pictures[name], words, below.get(name, ""))
        for name, words in PICTURES.items()
        if name in pictures
    ]
    body.append(_loadings(fit))
    if table.left_out:
        rows = [(one.name, one.place, one.why) for one in table.left_out]
        body.append("<h2>What was left out</h2>" + _table(("name", "where", "why"), rows))
    body += [
        "<h2>How to get it again</h2>",
        f"<pre>{escape(str(summary['command']))}</pre>",
        "<p>The same in Python:</p>",
        f"<pre>{escape(fit.python)}</pre>",
        "<p class='small'>"
        + escape(", ".join(f"{name} {version}" for name, version in summary["versions"].items()))
        + f"; {escape(str(summary['created']))}</p>",
    ]
    style = (importlib.resources.files("orthoprox.cli.fit") / "report.css").read_text("utf-8")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    content = "\n".join(part for part in body if part)
    page = f"<head>{head}<style>{style}</style></head>\n<body>\n{content}\n</body>"
    return f'<!doctype html>\n<html lang="en">{page}</html>\n'


def _facts(fit: Fit, summary: Mapping[str, Any]) -> str:
    """The numbers that one looks for first."""
    samples = [] if fit.table.is_covariance else [("samples", f"{len(fit.table.index):,}")]
    facts = [*samples, ("features", f"{len(fit.table.names):,}")]
    facts.append(("components", str(len(fit.components))))
    facts.append(("nonzero loadings", f"{np.count_nonzero(fit.components):,} of {fit.components.size:,}"))
    shares = summary.get("explained_variance_ratio")
    if shares:
        facts.append(("variance kept", percent(sum(shares))))
    if summary.get("optimality_gap") is not None:
        facts.append(("at most so far from optimal", f"{summary['optimality_gap']:.2%}"))
    if "outliers" in summary:
        facts.append(("outliers", f"{summary['outliers']:,}"))
    facts.append(("time", f"{fit.seconds:.2g} s"))
    return "<dl>" + "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts) + "</dl>"


def _components(fit: Fit) -> str:
    """Each component with its share, and its largest loadings by name."""
    shares = shares_of(fit)
    rows = []
    for j, row in enumerate(fit.components):
        share = [] if shares is None else [percent(shares[j])]
        rows.append([str(j + 1), *share, str(np.count_nonzero(row)), strongest(row, fit.table.names)])
    share = [] if shares is None else ["share"]
    return _table(["", *share, "nonzero", "largest loadings"], rows)


def _picture(name: str, content: bytes, words: str, below: str) -> str:
    data = base64.b64encode(content).decode("ascii")
    image = f'<img class="{name.partition(".")[0]}" alt="{words}" src="data:image/png;base64,{data}">'
    said = f"<p>{escape(below)}</p>" if below else ""
    return f'<figure><figcaption>{words}</figcaption><div class="wide">{image}</div>{said}</figure>'


def _loadings(fit: Fit) -> str:
    """The loadings as a table, shaded by size; features that no component uses are left out."""
    V = fit.components
    used = np.flatnonzero(np.any(V != 0, axis=0))
    order = used[np.argsort(-np.max(np.abs(V[:, used]), axis=0), kind="stable")][:ROWS]
    first = [int(np.argmax(np.abs(V[:, j]))) for j in order]  # by the component where a feature is largest
    order = order[np.lexsort((-np.max(np.abs(V[:, order]), axis=0), first))]
    top = float(np.max(np.abs(V))) or 1.0
    rows = []
    for j in order:
        cells = "".join(_shaded(float(v), top) for v in V[:, j])
        rows.append(f"<tr><th>{escape(fit.table.names[j])}</th>{cells}</tr>")
    head = "".join(f"<th>{i + 1}</th>" for i in range(len(V)))
    said = f"{count(len(used), 'feature')} of {len(fit.table.names):,} have loadings" + (
        f"; the {ROWS} largest are here, all in loadings.csv." if len(used) > ROWS else "."
    )
    return (
        f"<h2>Loadings</h2><p>{said}</p><div class='scroll'><table><thead><tr><th>feature</th>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _shaded(value: float, top: float) -> str:
    if value == 0:
        return "<td></td>"
    sign = "plus" if value > 0 else "minus"
    return f'<td class="{sign}" style="--strength:{100 * abs(value) / top:.0f}%">{number(value, top)}</td>'


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    titles = "".join(f"<th class='word'>{word}</th>" for word in head)
    body = "".join("<tr>" + "".join(f"<td class='word'>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<div class='scroll'><table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>"


def _list(title: str, items: Sequence[str]) -> str:
    if not items:
        return ""
    return f"<h2>{title}</h2><ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"

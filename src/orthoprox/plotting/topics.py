"""Components of text, as lists of terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orthoprox._extras import extra
from orthoprox.plotting._canvas import axes
from orthoprox.plotting._components import checked_count, components_of, names_of, strongest, titles_of
from orthoprox.plotting._style import FAINT, ink
from orthoprox.plotting._text import width_of

INCH = 72.0  # points
LETTERS = 9.0  # their size in points
PAGE, LEAST = 15.0, 1.1  # inches: all columns, one column
MARGIN, BOLD = 0.15, 1.12  # inches beside the text of a column; how much wider bold letters are


def top_terms(components: Any, names: Sequence[str] | None = None, n: int = 10) -> list[list[tuple[str, float]]]:
    """For each component its n largest loadings in magnitude, with their terms; zeros are left out.

    Parameters
    ----------
    components : estimator or array
        A fitted estimator, or components as rows.
    names : sequence of str, optional
        The terms; those of the data frame the estimator was fitted on, by default.
    n : int
        The largest number of terms of a component.

    Returns
    -------
    list of lists of (str, float)

    Examples
    --------
    >>> from orthoprox.plotting import top_terms
    >>> top_terms([[0.6, 0.0, -0.8], [0.0, 1.0, 0.0]], ["bread", "train", "butter"])
    [[('butter', -0.8), ('bread', 0.6)], [('train', 1.0)]]
    """
    V = components_of(components)
    names, n = names_of(components, names, V.shape[1]), checked_count(n, "n")
    return [[(names[j], float(v[j])) for j in strongest(v, n)] for v in V]


def topic_table(
    components: Any,
    names: Sequence[str] | None = None,
    n: int = 10,
    *,
    titles: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """The table of ``top_terms``, a column for each component; a term with a negative loading has a minus before it.

    Columns are as wide as their terms; terms that are too long for the figure are shortened when it is drawn.

    Parameters
    ----------
    components, names, n
        As for ``top_terms``.
    titles : sequence of str, optional
        One for each component.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        With the table as ``ax.tables[0]``.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from orthoprox.plotting import topic_table
    >>> ax = topic_table([[0.6, 0.0, -0.8]], ["bread", "train", "butter"], ax=Figure().gca())
    >>> ax.tables[0][1, 0].get_text().get_text()
    '- butter'
    """
    topics = top_terms(components, names, n)
    titles = titles_of(titles, [f"component {i + 1}" for i in range(len(topics))])
    height = max(1, *map(len, topics))
    cells = [[_cell(topic, i) for topic in topics] for i in range(height)]
    widths = _widths([[title, *column] for title, column in zip(titles, zip(*cells, strict=True), strict=True)])
    ax = axes(ax, sum(widths), 0.22 * (height + 1) + 0.1)
    ax.set_axis_off()
    shares = [width / sum(widths) for width in widths]
    table = ax.table(cells, colLabels=titles, colWidths=shares, loc="upper center", cellLoc="left", edges="horizontal")
    _set_letters(ax, table)
    return ax


def _widths(columns: Sequence[Sequence[str]]) -> list[float]:
    """Inches of each column: those of its widest cell, within what a page leaves for it."""
    extra("matplotlib", "plots", "A picture")
    most = max(LEAST, PAGE / len(columns))
    widest = [max(width_of(" ".join(text.split()), LETTERS) for text in column) / INCH for column in columns]
    return [min(max(BOLD * width + MARGIN, LEAST), most) for width in widest]


def _set_letters(ax: Any, table: Any) -> None:
    from orthoprox.plotting._drawing import PAD, Cells

    table.auto_set_font_size(False)
    table.set_fontsize(LETTERS)
    for (row, _), cell in table.get_celld().items():
        cell.PAD = PAD
        cell.get_text().set(parse_math=False, color=ink(ax), weight="bold" if row == 0 else "normal")
        cell.set_edgecolor(FAINT)
    Cells(ax, table)


def _cell(topic: list[tuple[str, float]], i: int) -> str:
    if i >= len(topic):
        return ""
    term, loading = topic[i]
    return term if loading > 0 else f"- {term}"

"""Components of text, as lists of terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orthoprox.plotting._canvas import axes
from orthoprox.plotting._components import checked_count, components_of, names_of, strongest, titles_of


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
    ax = axes(ax, 1.5 * len(topics), 0.25 * (height + 1))
    ax.set_axis_off()
    table = ax.table(cells, colLabels=titles, loc="center", cellLoc="left", edges="horizontal")
    table.auto_set_font_size(False)
    table.set_fontsize(9)
    for column in range(len(topics)):
        table[0, column].get_text().set_weight("bold")
    return ax


def _cell(topic: list[tuple[str, float]], i: int) -> str:
    if i >= len(topic):
        return ""
    term, loading = topic[i]
    return term if loading > 0 else f"- {term}"

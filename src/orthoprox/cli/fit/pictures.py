"""The pictures of a fit."""

from __future__ import annotations

import io
import itertools
import math
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from orthoprox.cli.fit.run import Fit
from orthoprox.estimators._summary import percent
from orthoprox.plotting import biplot, loadings_bars, sparsity_path
from orthoprox.plotting._canvas import figure

_LETTERS = string.ascii_letters + string.digits
PANELS = 12
"""Components that are drawn, at most."""
ACROSS = 3
BARS = 12
POINTS = 20_000
"""Samples that are drawn, at most, evenly chosen: more are a blot."""
LONGEST = {"bars": 28, "biplot": 20}
"""Letters of a name beside a bar, and at an arrow."""


def draw_pictures(fit: Fit) -> dict[str, bytes]:
    """PNG files by name: loadings, the first two components as a biplot, the path."""
    names = fit.table.names
    parts = {"loadings.png": _loadings(fit, short_names(names, LONGEST["bars"]))}
    if len(fit.components) > 1 and fit.scores is not None:
        parts["biplot.png"] = _biplot(fit, short_names(names, LONGEST["biplot"]))
    if fit.path is not None:
        parts["path.png"] = _path(fit)
    return parts


def _loadings(fit: Fit, names: list[str]) -> bytes:
    V = fit.components[:PANELS]
    columns = min(ACROSS, len(V))
    bars = max(1, min(BARS, int(np.max(np.count_nonzero(V, axis=1)))))
    rows = math.ceil(len(V) / columns)
    canvas = figure(figsize=(4.2 * columns + 0.4, rows * (0.24 * bars + 1.0)), layout="constrained")
    panels = loadings_bars(V, names, top=BARS, titles=_titles(fit)[: len(V)], columns=columns, figure=canvas)
    for panel in panels:
        panel.set_xlabel("loading", fontsize=8)
    if len(fit.components) > PANELS:
        canvas.suptitle(f"The first {PANELS} of {len(fit.components)} components", fontsize=10)
    return _png(canvas)


def _titles(fit: Fit) -> list[str]:
    """The number of each component, its share of the variance, and how many loadings there are beyond those shown."""
    shares = getattr(fit.model, "explained_variance_ratio_", None)
    titles = []
    for j, row in enumerate(fit.components):
        share = "" if shares is None else f": {percent(float(shares[j]))} of variance"
        count = np.count_nonzero(row)
        titles.append(f"component {j + 1}{share}" + (f"\n{BARS} of {count} loadings" if count > BARS else ""))
    return titles


def _biplot(fit: Fit, names: list[str]) -> bytes:
    canvas = figure(figsize=(7, 6), layout="constrained")
    scores = fit.scores[:: math.ceil(len(fit.scores) / POINTS)]
    classes = fit.columns.get("outlier") or fit.columns.get("component")
    if classes is not None:
        classes = classes[:: math.ceil(len(fit.scores) / POINTS)]
        words = {"yes": "outlier", "no": "other", "": "none"}
        classes = [words.get(word, word.replace("_", " ")) for word in classes]
    ax = biplot(fit.components, scores, names, classes=classes, top=BARS, ax=canvas.subplots())
    shares = getattr(fit.model, "explained_variance_ratio_", None)
    if shares is not None:
        ax.set_xlabel(f"component 1 ({percent(float(shares[0]))} of variance)")
        ax.set_ylabel(f"component 2 ({percent(float(shares[1]))} of variance)")
    return _png(canvas)


def _path(fit: Fit) -> bytes:
    canvas = figure(figsize=(7, 4.6), layout="constrained")
    ax = sparsity_path(fit.path, ax=canvas.subplots())
    here = int(np.count_nonzero(fit.components))
    kept = float(np.sum(fit.model.explained_variance_ratio_))
    ax.plot([here], [kept], marker="*", ms=12, color="#c0392b", ls="none", label=f"this fit: {here} nonzeros")
    ax.legend(fontsize=8, loc="lower right")
    return _png(canvas)


def short_names(names: Sequence[str], longest: int) -> list[str]:
    """Names of few letters that can be told apart: without what all begin with, and without their middle.

    Examples
    --------
    >>> short_names(["How do you like our bread?", "How do you like our service?"], 12)
    ['…bread?', '…service?']
    """
    pairs = zip(min(names), max(names), strict=False)  # all others begin with what these two have in common
    common = "".join(a for a, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    start = len(common.rstrip(_LETTERS)) if len(names) > 1 and max(map(len, names)) > longest else 0
    parts = [f"\u2026{name[start:]}" if start > 3 else name for name in names]
    half = longest // 2
    short = [part if len(part) <= longest else f"{part[:half]}\u2026{part[1 - half :]}" for part in parts]
    return [name.replace("$", r"\$") for name in short]  # no formula


def _png(canvas: Any) -> bytes:
    picture = io.BytesIO()
    canvas.savefig(picture, format="png", dpi=150)
    return picture.getvalue()

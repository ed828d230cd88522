"""The picture of README.md: what PCA and SparsePCA say about the wines that ship with scikit-learn, light and dark.

python docs/loadings.py
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from orthoprox import SparsePCA

HERE = Path(__file__).parent
COMPONENTS, NONZEROS = 3, 12
THEMES = {  # file, background, words, bars of either sign, lines
    "loadings.png": ("white", "#1f2328", "#1b4f72", "#e67e22", "#d0d7de"),
    "loadings-dark.png": ("#0d1117", "#e6edf3", "#58a6ff", "#f0963c", "#30363d"),
}
NAMES = {"od280/od315_of_diluted_wines": "OD280/OD315", "nonflavanoid_phenols": "nonflavanoids"}


def order(V: Any) -> Any:
    """Features by the component that holds them, those that none holds last."""
    owner = np.where(np.any(V != 0, axis=0), np.argmax(np.abs(V), axis=0), len(V))
    return np.lexsort((-np.abs(V).max(axis=0), owner))


def bars(ax: Any, v: Any, theme: tuple[str, ...], widest: float) -> None:
    _, words, plus, minus, line = theme
    y = np.arange(len(v))
    ax.barh(y, v, color=np.where(v > 0, plus, minus), height=0.72)
    ax.axvline(0, color=words, lw=0.8)
    ax.set_xlim(-widest, widest)
    ax.set_ylim(len(v) - 0.4, -0.6)
    ax.set_xticks([])
    for place in ("top", "right", "bottom", "left"):
        ax.spines[place].set_color(line)
    ax.tick_params(length=0, colors=words)


def draw(file: Path, theme: tuple[str, ...], groups: list[tuple[str, str, Any]], names: list[str]) -> None:
    background, words = theme[:2]
    figure = Figure(figsize=(9.6, 3.9), facecolor=background)
    widest = 1.05 * max(float(np.abs(V).max()) for *_, V in groups)
    for side, (title, below, V) in enumerate(groups):
        left = 0.135 + side * 0.442
        figure.text(left, 0.945, title, color=words, fontsize=12, fontweight="bold")
        figure.text(left, 0.885, below, color=words, fontsize=9.5)
        for j, v in enumerate(V):
            ax = figure.add_axes((left + j * 0.14, 0.06, 0.132, 0.74), facecolor=background)
            bars(ax, v, theme, widest)
            ax.set_title(f"component {j + 1}", color=words, fontsize=8.5, pad=4)
            ax.set_yticks(range(len(names)), names if side == j == 0 else [], fontsize=8.5)
    figure.savefig(file, dpi=160, facecolor=background)


def main() -> None:
    wine = load_wine()
    X = StandardScaler().fit_transform(wine.data)
    pca = PCA(COMPONENTS).fit(X)
    sparse = SparsePCA(COMPONENTS, n_nonzero=NONZEROS).fit(X)
    total = float(np.var(X, axis=0, ddof=1).sum())
    most = math.ceil(100 * sparse.upper_bound_ / total)  # upwards: a bound that is rounded down is none
    signs = np.sign(pca.components_[np.arange(COMPONENTS), np.abs(pca.components_).argmax(axis=1)])
    V = sparse.components_
    places = order(V)
    names = [NAMES.get(wine.feature_names[i], wine.feature_names[i].replace("_", " ")) for i in places]
    groups = [
        (
            "PCA",
            f"{pca.components_.size} loadings, {pca.explained_variance_ratio_.sum():.0%} of the variance",
            signs[:, None] * pca.components_[:, places],
        ),
        (
            "orthoprox.SparsePCA",
            f"{np.count_nonzero(V)} loadings, {sparse.explained_variance_ratio_.sum():.0%}; "
            f"proved: no {NONZEROS} can keep more than {most}%",
            V[:, places],
        ),
    ]
    for name, theme in THEMES.items():
        draw(HERE / name, theme, groups, names)


if __name__ == "__main__":
    main()

"""Which handwritten digits look alike, if nobody says which is which?
===================================================================

Orthogonal NMF writes every picture as a multiple of one component: a group of pictures that differ by the strength of
the pen. Components are not negative, so each is a picture itself.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits

from orthoprox import OrthogonalNMF
from orthoprox.plotting import loadings_images


def main(folder: Path) -> Path:
    X, digit = load_digits(return_X_y=True)
    model = OrthogonalNMF(n_components=10, random_state=0).fit(X)

    counts = np.zeros((10, 10), dtype=int)  # the digits were not used until here
    np.add.at(counts, (digit, model.labels_), 1)
    group = linear_sum_assignment(counts, maximize=True)[1]  # of each digit
    right = counts[range(10), group].sum() / len(digit)
    print(f"{right:.0%} of the pictures are with their digit; the components keep {model.score(X):.0%} of |X|^2.")

    canvas = Figure(figsize=(9, 4.2), layout="constrained")
    left, beside = canvas.subfigures(1, 2, width_ratios=(1.4, 1))
    left.suptitle("the ten components, each a picture", fontsize=10)
    shares = counts[range(10), group] / counts.sum(axis=0)[group]
    titles = [f"{share:.0%} are {i}" for i, share in enumerate(shares)]
    loadings_images(model.components_[group], (8, 8), titles=titles, columns=4, figure=left)
    beside.suptitle(f"{right:.0%} of {len(digit)} pictures are with their like", fontsize=10)
    ax = beside.subplots()
    ax.imshow(counts[:, group], cmap="Blues")
    for i, j in np.argwhere(counts[:, group] > 0):
        n = counts[i, group[j]]
        ax.text(j, i, n, ha="center", va="center", fontsize=7, color="white" if n > 90 else "black")
    ax.set(xlabel="component", ylabel="digit", xticks=range(10), yticks=range(10))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "clustering.png"
    canvas.savefig(path, dpi=80)
    return path


if __name__ == "__main__":
    main(Path("out"))

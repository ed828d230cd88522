"""What do pictures of one digit share, if a third of them are damaged?
====================================================================

PCA spends components on the damage, and reproduces it. The subspace with the least sum of distances is that of the
intact pictures, so damage is what it cannot reproduce: the distance tells which pictures are damaged.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from orthoprox import RobustSubspace

COMPONENTS, INTACT, DAMAGED, SHOWN = 12, 100, 40, 7


def main(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    digits, label = load_digits(return_X_y=True)
    zeros = rng.permutation(digits[label == 0])
    intact, unlucky, unseen = np.split(zeros, [INTACT, INTACT + DAMAGED])
    X = np.vstack([intact, damaged(unlucky, rng)])

    models = {"PCA": PCA(COMPONENTS).fit(X), "RobustSubspace": RobustSubspace(COMPONENTS).fit(X)}
    lost = {name: f"{error(model, unseen):.0%}" for name, model in models.items()}
    robust = models["RobustSubspace"]
    found = robust.outliers_[INTACT:].sum()
    print(
        f"Unseen pictures lose {lost['PCA']} with PCA and {lost['RobustSubspace']} with ours; at best "
        f"{error(PCA(COMPONENTS).fit(intact), unseen):.0%}, if the damage were known. {found} of {DAMAGED} damaged "
        f"pictures are found, and {robust.outliers_[:INTACT].sum()} intact ones taken for damaged."
    )

    canvas = Figure(figsize=(10, 4), layout="constrained")
    left, right = canvas.subfigures(1, 2, width_ratios=(1.6, 1))
    rows = {"damaged": X} | {name: model.inverse_transform(model.transform(X)) for name, model in models.items()}
    for name, axes in zip(rows, left.subplots(len(rows), SHOWN), strict=True):
        for picture, ax in zip(rows[name][INTACT:], axes, strict=False):
            ax.imshow(picture.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
            ax.set(xticks=[], yticks=[])
        axes[0].set_ylabel(name)
    left.suptitle(f"with {COMPONENTS} components: PCA reproduces the damage", fontsize=10)
    right.suptitle(f"unseen pictures lose {lost['PCA']} with PCA, {lost['RobustSubspace']} with ours", fontsize=10)
    ax = right.subplots()
    ax.hist(
        np.split(robust.distances_, [INTACT]),
        bins=24,
        stacked=True,
        color=["#0072b2", "#e69f00"],
        label=["intact", "damaged"],
    )
    ax.axvline(robust.threshold_, color="black", linestyle=":", label=f"threshold: {found} of {DAMAGED} found")
    ax.set(xlabel="distance from the subspace", ylabel="pictures")
    ax.legend(loc="center right")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "robust_subspace.png"
    canvas.savefig(path, dpi=80)
    return path


def damaged(pictures: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The pictures with black and white dots in place of a quarter of each."""
    spoilt = pictures.reshape(-1, 8, 8).copy()
    for picture in spoilt:
        i, j = rng.integers(0, 5, 2)
        picture[i : i + 4, j : j + 4] = rng.choice([0, 16], (4, 4))
    return spoilt.reshape(pictures.shape)


def error(model: PCA | RobustSubspace, pictures: np.ndarray) -> float:
    """The share of the pictures' variation that a reconstruction loses."""
    rest = pictures - model.inverse_transform(model.transform(pictures))
    return float(np.sum(rest**2) / np.sum((pictures - pictures.mean(axis=0)) ** 2))


if __name__ == "__main__":
    main(Path("out"))

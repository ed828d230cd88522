"""Which pixels carry the differences between handwritten digits?
==============================================================

Every principal component uses every pixel. A sparse one names a few, and is still orthogonal to all others.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from orthoprox import SparsePCA
from orthoprox.plotting import loadings_images

COMPONENTS = 8


def main(folder: Path) -> Path:
    X = load_digits().data
    pca = PCA(COMPONENTS).fit(X)
    sparse = SparsePCA(COMPONENTS, n_nonzero=0.2).fit(X)
    kept = sparse.explained_variance_ratio_.sum() / pca.explained_variance_ratio_.sum()
    print(f"A fifth of the loadings keeps {kept:.0%} of the variance that {COMPONENTS} principal components explain.")

    canvas = Figure(figsize=(9, 3.4), layout="constrained")
    above, below = canvas.subfigures(2, 1)
    above.suptitle("principal components: every pixel in each", fontsize=10)
    below.suptitle(f"sparse components: a fifth of the loadings, {kept:.0%} of the variance", fontsize=10)
    loadings_images(pca, (8, 8), figure=above)
    loadings_images(sparse, (8, 8), figure=below)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "digits_loadings.png"
    canvas.savefig(path, dpi=80)
    return path


if __name__ == "__main__":
    main(Path("out"))

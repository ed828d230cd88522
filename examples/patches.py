"""What are photographs made of, a few pixels at a time?
=====================================================

We learn orthonormal atoms, so that a few of them describe every small patch of a photograph. They turn out to be waves
and edges, much like the cosines of JPEG, but made for this picture. Because the atoms are orthonormal, a patch is
compressed by one product and by keeping its largest coefficients.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from sklearn.datasets import load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d

from orthoprox import OrthogonalDictionaryLearning
from orthoprox.plotting import loadings_images

SIDE, KEPT = 8, 6


def blocks(picture: np.ndarray) -> np.ndarray:
    """The picture cut into patches that do not overlap, one in each row."""
    rows, columns = (side // SIDE for side in picture.shape)
    cut = picture[: rows * SIDE, : columns * SIDE].reshape(rows, SIDE, columns, SIDE)
    return cut.swapaxes(1, 2).reshape(-1, SIDE * SIDE)


def joined(patches: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    rows, columns = (side // SIDE for side in shape)
    return patches.reshape(rows, columns, SIDE, SIDE).swapaxes(1, 2).reshape(rows * SIDE, columns * SIDE)


def main(folder: Path) -> Path:
    picture = load_sample_image("china.jpg").mean(axis=2)[:, :424] / 255
    patches = extract_patches_2d(picture, (SIDE, SIDE), max_patches=2000, random_state=0).reshape(-1, SIDE * SIDE)
    learned = OrthogonalDictionaryLearning(codes="largest", transform_n_nonzero_coefs=KEPT, random_state=0)
    learned.fit(patches - patches.mean(axis=1, keepdims=True))

    view = picture[56:216, 120:328]  # a temple: put together again from few coefficients
    cut = blocks(view)
    means = cut.mean(axis=1, keepdims=True)
    kept = joined(means + learned.inverse_transform(learned.transform(cut - means)), view.shape)
    error = np.sqrt(np.mean((kept - view) ** 2) / np.var(view))
    print(f"{KEPT} coefficients and the mean of {SIDE * SIDE} pixels: an error of {error:.1%}.")

    canvas = Figure(figsize=(7.4, 2.7), layout="constrained")
    left, right = canvas.subfigures(1, 2, width_ratios=(1, 1.9))
    left.suptitle("the 36 atoms used most", fontsize=8)
    loadings_images(learned.components_[:36], (SIDE, SIDE), titles=[""] * 36, columns=6, figure=left)
    right.suptitle(
        f"the picture, and from {KEPT} + 1 numbers for every {SIDE * SIDE} pixels: error {error:.1%}", fontsize=8
    )
    for ax, pixels in zip(right.subplots(1, 2), (view, kept), strict=True):
        ax.imshow(pixels, cmap=colormaps["gray"].resampled(16), vmin=0, vmax=1, interpolation="nearest")
        ax.set_axis_off()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "patches.png"
    canvas.savefig(path, dpi=70)
    return path


if __name__ == "__main__":
    main(Path("out"))

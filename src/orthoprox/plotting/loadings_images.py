"""Loadings of images, as images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from orthoprox.plotting._canvas import panels
from orthoprox.plotting._components import checked_count, components_of, titles_of
from orthoprox.plotting._style import signed_image


def loadings_images(
    components: Any,
    shape: tuple[int, int],
    *,
    pixels: Any = None,
    titles: Sequence[str] | None = None,
    columns: int = 8,
    figure: Any = None,
) -> Any:
    """Each component as an image: dark blue where it is positive, orange where negative, white where zero.

    Parameters
    ----------
    components : estimator or array
        A fitted estimator, or components as rows.
    shape : tuple of two ints
        Height and width of an image.
    pixels : array of ints, optional
        Where in the flattened image the features lie, if some pixels were left out; these are white.
    titles : sequence of str, optional
        One for each component; its number and how many of its loadings are not zero, by default.
    columns : int
        Number of images side by side.
    figure : Figure or SubFigure, optional
        Where to draw; a new figure by default.

    Returns
    -------
    array of Axes
        One for each component.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from orthoprox.plotting import loadings_images
    >>> axes = loadings_images(np.eye(6), (2, 3), columns=3, figure=Figure())
    >>> len(axes), axes[5].get_title()
    (6, '6: 1 nonzero')
    """
    V = components_of(components)
    r = V.shape[0]
    columns = min(checked_count(columns, "columns"), r)
    try:
        height, width = (checked_count(side, "A side of shape") for side in shape)
    except TypeError:
        raise ValueError(f"shape must be two whole numbers, height and width; given {shape!r}.") from None
    places = _places(V.shape[1], height, width, pixels)
    titles = titles_of(titles, [f"{i + 1}: {np.count_nonzero(v)} nonzero" for i, v in enumerate(V)])
    rows = math.ceil(r / columns)
    grid = panels(figure, rows, columns, 1.3 * columns + 0.2, 1.3 * rows * height / width + 0.25 * rows).ravel()
    for ax, v, title in zip(grid, V, titles, strict=False):
        image = np.zeros(height * width)
        image[places] = v
        signed_image(ax, image.reshape(height, width))
        ax.set_title(title, fontsize=8)
    for ax in grid[r:]:
        ax.set_axis_off()
    return grid[:r]


def _places(n: int, height: int, width: int, pixels: Any) -> Any:
    """Where the n features lie among the pixels."""
    if pixels is None:
        if n != height * width:
            raise ValueError(
                f"Components of {n} features do not make images of {height} x {width} = {height * width} pixels. "
                "If pixels were left out, give the places of the others: pixels=..."
            )
        return np.arange(n)
    places = np.asarray(pixels)
    if places.shape != (n,) or places.dtype.kind not in "iu" or places.min() < 0 or places.max() >= height * width:
        raise ValueError(
            f"pixels must be {n} whole numbers from 0 to {height * width - 1}, the place of each feature in the "
            f"flattened image; given an array of shape {places.shape} and dtype {places.dtype}."
        )
    return places

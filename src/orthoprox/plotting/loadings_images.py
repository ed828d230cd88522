"""Loadings of images, as images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from orthoprox.plotting._canvas import inches, panels
from orthoprox.plotting._components import checked_count, components_of, titles_of
from orthoprox.plotting._style import signed_image
from orthoprox.plotting._text import wrap

INCH = 72.0  # points


def loadings_images(
    components: Any,
    shape: tuple[int, int],
    *,
    pixels: Any = None,
    titles: Sequence[str] | None = None,
    columns: int = 8,
    figure: Any = None,
) -> Any:
    r"""Each component as an image: blue where it is positive, orange where negative, white where zero.

    On dark paper zero is black.

    Parameters
    ----------
    components : estimator or array
        A fitted estimator, or components as rows.
    shape : tuple of two ints
        Height and width of an image.
    pixels : array of ints, optional
        Where in the flattened image the features lie, if some pixels were left out; these are white.
    titles : sequence of str, optional
        One for each component; its name and how many of its loadings are not zero, by default.
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
    (6, 'component 6\n1 nonzero')
    """
    V = components_of(components)
    r = V.shape[0]
    columns = min(checked_count(columns, "columns"), r)
    try:
        height, width = (checked_count(side, "A side of shape") for side in shape)
    except TypeError:
        raise ValueError(f"shape must be two whole numbers, height and width; given {shape!r}.") from None
    places = _places(V.shape[1], height, width, pixels)
    titles = titles_of(titles, [f"component {i + 1}\n{_nonzeros(v)} nonzero" for i, v in enumerate(V)])
    rows = math.ceil(r / columns)
    lines = 1 + max(title.count("\n") for title in titles)
    tall = rows * (1.3 * height / width + 0.15 + 0.15 * lines)
    grid = panels(figure, rows, columns, 1.3 * columns + 0.2, tall).ravel()
    most = 0.95 * INCH * inches(grid[0].figure)[0] / columns
    for ax, v, title in zip(grid, V, titles, strict=False):
        image = np.zeros(height * width)
        image[places] = v
        signed_image(ax, image.reshape(height, width))
        ax.set_title(wrap(title, most, 8), fontsize=8, parse_math=False)
    for ax in grid[r:]:
        ax.set_axis_off()
    return grid[:r]


def _nonzeros(v: np.ndarray[Any, Any]) -> int:
    """Those that are no rounding errors, which principal components have where a pixel is always blank."""
    sizes = np.abs(np.asarray(v, dtype=float))
    return int(np.count_nonzero(sizes > v.size * np.finfo(float).eps * sizes.max(initial=0.0)))


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

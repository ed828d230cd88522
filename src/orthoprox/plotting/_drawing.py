"""What can only be arranged when a figure is drawn, because sizes in pixels are known only then.

This module needs matplotlib and is imported by functions that draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.artist import Artist
from matplotlib.text import Text

from orthoprox.plotting._placing import place_names
from orthoprox.plotting._text import short_names

SHARE = 0.45  # of the width of a biplot, for a name
PAD = 0.04  # of the width of a cell, on either side of its text
ROW = 1.6  # the height of a row of a table, in heights of its letters


class BeforeDrawing(Artist):
    """Something invisible that is drawn before all else on its axes, and then arranges what follows."""

    def __init__(self, ax: Any) -> None:
        super().__init__()
        self.on: Any = ax
        self.set_zorder(-1e6)
        self.set_in_layout(False)
        ax.add_artist(self)

    def draw(self, renderer: Any) -> None:
        """Arrange."""
        self.arrange(renderer)

    def arrange(self, renderer: Any) -> None:
        """What a subclass does."""
        raise NotImplementedError


class NamesOfArrows(BeforeDrawing):
    """Places the names of arrows so that none covers another or leaves the axes; lines lead to those that moved."""

    def __init__(self, ax: Any, texts: Sequence[Any]) -> None:
        super().__init__(ax)
        self.texts, self.names = list(texts), [text.get_text() for text in texts]

    def arrange(self, renderer: Any) -> None:
        if not self.texts:
            return
        ax, unit = self.on, renderer.points_to_pixels(1.0)
        frame, size = ax.get_window_extent(renderer), self.texts[0].get_fontsize()
        for text, name in zip(self.texts, short_names(self.names, SHARE * frame.width / unit, size), strict=True):
            text.set_text(name)
        sizes = [self._size(text, renderer) for text in self.texts]
        tips = ax.transData.transform([text.xy for text in self.texts])
        legend = ax.get_legend()
        taken = [] if legend is None else [legend.get_window_extent(renderer).extents]
        places = place_names(sizes, tips, ax.transData.transform((0.0, 0.0)), frame.extents, taken)
        for text, tip, place in zip(self.texts, tips, places, strict=True):
            text.set_visible(place is not None)
            if place is not None:
                text.set_position(tuple((place - tip) / unit))

    @staticmethod
    def _size(text: Any, renderer: Any) -> tuple[float, float]:
        box = Text.get_window_extent(text, renderer)  # without the line that an annotation includes
        return box.width, box.height


class Cells(BeforeDrawing):
    """Gives the cells of a table the height of their letters, and shortens what is wider than its cell."""

    def __init__(self, ax: Any, table: Any) -> None:
        super().__init__(ax)
        self.table, self.size = table, table[0, 0].get_fontsize()
        self.words = {place: cell.get_text().get_text() for place, cell in table.get_celld().items()}

    def arrange(self, renderer: Any) -> None:
        frame, unit = self.on.get_window_extent(renderer), renderer.points_to_pixels(1.0)
        cells = self.table.get_celld()
        rows, columns = (1 + max(place[i] for place in cells) for i in (0, 1))
        size = min(self.size, frame.height / (unit * ROW * rows))
        for j in range(columns):
            column = [(i, j) for i in range(rows)]
            most = (1 - 2 * PAD) * cells[0, j].get_width() * frame.width / unit
            for place, text in zip(
                column, short_names([self.words[place] for place in column], most, size), strict=True
            ):
                cells[place].get_text().set_text(text)
                cells[place].set_fontsize(size)
                cells[place].set_height(ROW * size * unit / frame.height)

"""Names that give trouble, and an instrument that measures the boxes of all texts of a figure."""

import itertools
from unittest import mock

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

LONG = "annual household disposable income before housing costs, adjusted for inflation and regional prices"
NASTY = [f"{LONG} ({i})" for i in range(40)]
NASTY += [
    "cost in $",
    "a $ b $ c_d^2",
    "two\nlines",
    "",
    "W" * 90,
    "ünïcödé ÅÄÖ",
    r"back\slash",
    "_hidden",
    "%s {x}",
    "x",
]


def drawn(canvas, dpi):
    """The texts that are drawn, with their boxes at that moment; no line that leads to one is part of it."""
    found, draw = [], Text.draw

    def watch(text, renderer, *args, **kwargs):
        draw(text, renderer, *args, **kwargs)
        if text.get_visible() and text.get_text().strip():
            found.append((text, Text.get_window_extent(text, renderer)))

    canvas.set_dpi(dpi)
    FigureCanvasAgg(canvas)
    canvas.canvas.draw()  # the layout settles
    with mock.patch.object(Text, "draw", watch):
        canvas.canvas.draw()
    return found


def check_room(canvas, dpi=100):
    """No box of a text meets another or reaches over the edge."""
    found, edge = drawn(canvas, dpi), canvas.bbox
    assert found
    for text, box in found:
        inside = edge.x0 - 1 <= box.x0 and box.x1 <= edge.x1 + 1 and edge.y0 - 1 <= box.y0 and box.y1 <= edge.y1 + 1
        assert inside, f"{text.get_text()!r} reaches over the edge: {box.extents} of {edge.extents}"
    for (one, a), (other, b) in itertools.combinations(found, 2):
        wide, high = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert wide < 1 or high < 1, f"{one.get_text()!r} lies on {other.get_text()!r}"
    return [text.get_text() for text, _ in found]

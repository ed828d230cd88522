"""Where names of arrows stand: near their tips, inside a frame, none on another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

GAPS = (4.0, 9.0, 15.0, 23.0, 34.0, 48.0, 66.0, 90.0, 120.0)
"""Pixels between a tip and its name, tried in this order."""
TURNS = tuple(math.radians(angle) for angle in (0, 20, -20, 40, -40, 65, -65, 90, -90, 130, -130, 180))
"""From the direction of the arrow."""
ACROSS = 25.0  # what it costs to lie across an arrow, in pixels of distance
COVERED = 30.0  # and to cover a tip
STEPS = 40  # of a grid of places, where nothing nearby is free
APART = 1.5  # pixels between two names

Box = tuple[float, float, float, float]
Array = np.ndarray[Any, Any]


def place_names(
    sizes: Sequence[tuple[float, float]], tips: Array, origin: Array, frame: Sequence[float], taken: Sequence[Any]
) -> list[Array | None]:
    """The lower left corner of each name, or None where there is no room; the first names choose first.

    Parameters
    ----------
    sizes : sequence of (width, height)
    tips : array, shape (k, 2)
        The ends of the arrows, which begin at ``origin``.
    frame : (left, bottom, right, top)
    taken : sequence of such
        Where no name may stand.
    """
    placed: list[Box] = [tuple(map(float, box)) for box in taken]  # type: ignore[misc]
    found: list[Array | None] = []
    for i, (width, height) in enumerate(sizes):
        box = _nearest(width, height, tips[i], origin, frame, placed, tips)
        found.append(None if box is None else np.array(box[:2]))
        if box is not None:
            placed.append(box)
    return found


def _nearest(
    width: float, height: float, tip: Array, origin: Array, frame: Sequence[float], placed: list[Box], tips: Array
) -> Box | None:
    """The cheapest free place around a tip, else the nearest free one anywhere."""
    if width > frame[2] - frame[0] or height > frame[3] - frame[1]:
        return None
    best, least = None, math.inf
    for gap, turn in ((gap, turn) for gap in GAPS for turn in TURNS):
        box = _inside(_beside(width, height, tip, origin, gap, turn), frame)
        cost = gap + 3 * abs(turn) + _nuisance(box, tip, origin, tips)
        if cost < least and _is_free(box, placed):
            best, least = box, cost
    return best if best is not None else _anywhere(width, height, tip, frame, placed)


def _beside(width: float, height: float, tip: Array, origin: Array, gap: float, turn: float) -> Box:
    """A box that the arrow, prolonged and turned at its tip, meets after the gap and leads to the middle of."""
    along = tip - origin
    angle = math.atan2(along[1], along[0]) + turn
    dx, dy = math.cos(angle), math.sin(angle)
    half = min(width / (2 * abs(dx) + 1e-12), height / (2 * abs(dy) + 1e-12))
    x, y = tip[0] + (gap + half) * dx, tip[1] + (gap + half) * dy
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def _inside(box: Box, frame: Sequence[float]) -> Box:
    """The box moved into the frame."""
    dx = max(frame[0] + APART - box[0], 0.0) - max(box[2] - frame[2] + APART, 0.0)
    dy = max(frame[1] + APART - box[1], 0.0) - max(box[3] - frame[3] + APART, 0.0)
    return box[0] + dx, box[1] + dy, box[2] + dx, box[3] + dy


def _is_free(box: Box, placed: list[Box]) -> bool:
    return not any(
        box[0] < other[2] + APART
        and other[0] < box[2] + APART
        and box[1] < other[3] + APART
        and other[1] < box[3] + APART
        for other in placed
    )


def _nuisance(box: Box, tip: Array, origin: Array, tips: Array) -> float:
    """What a place hides: arrows, and the tip itself."""
    return ACROSS * sum(_crosses(box, origin, end) for end in tips) + COVERED * _crosses(box, tip, tip)


def _crosses(box: Box, start: Array, end: Array) -> bool:
    """Whether a segment meets a box: whether the parts between the box's sides have a point in common."""
    first, last = 0.0, 1.0
    for axis in (0, 1):
        low, high, step = box[axis] - start[axis], box[axis + 2] - start[axis], end[axis] - start[axis]
        if step == 0:
            if not low <= 0 <= high:
                return False
            continue
        near, far = sorted((low / step, high / step))
        first, last = max(first, near), min(last, far)
    return first <= last


def _anywhere(width: float, height: float, tip: Array, frame: Sequence[float], placed: list[Box]) -> Box | None:
    """The free place nearest to the tip on a grid over the frame."""
    places = [
        _inside((x, y, x + width, y + height), frame)
        for x in np.linspace(frame[0], frame[2] - width, STEPS)
        for y in np.linspace(frame[1], frame[3] - height, STEPS)
    ]
    places.sort(key=lambda box: math.hypot((box[0] + box[2]) / 2 - tip[0], (box[1] + box[3]) / 2 - tip[1]))
    return next((box for box in places if _is_free(box, placed)), None)

"""Warnings that name the line of the caller."""

from __future__ import annotations

import sys
import warnings
from typing import NamedTuple

_WITHIN = ("orthoprox", "sklearn", "joblib")
"""What may stand between the caller and a fit: fit_transform, a pipeline, a grid search, its workers."""


class Note(NamedTuple):
    """A sentence on the data of a fit, and whether it is worth a warning."""

    sentence: str
    warn: bool


def warn_caller(sentence: str, category: type[Warning] = UserWarning) -> None:
    """Warn with the line that called into this package or into scikit-learn, however deep that is."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _WITHIN:
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, category, stacklevel=level)

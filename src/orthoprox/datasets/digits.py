"""The small handwritten digits that come with scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoprox._extras import extra
from orthoprox.datasets._base import Dataset, LibraryOrigin
from orthoprox.datasets._prepare import scale_then_centre


def _read() -> Any:
    return extra("sklearn.datasets", "sklearn", "The dataset digits").load_digits().data.astype(np.uint8)


DIGITS = Dataset(
    name="digits",
    summary="small handwritten digits, inside scikit-learn: no file, no network",
    shape=(1797, 64),
    source="E. Alpaydin, C. Kaynak, Optical recognition of handwritten digits, UCI repository, 1998 (test part)",
    licence="CC BY 4.0",
    origin=LibraryOrigin(_read, "8f26b2bd9d135c256808f68f14fdabddde6d9c7f869ae419704b051f0f14b3b3"),
    recipe=scale_then_centre,
)

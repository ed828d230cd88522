"""The search for sparse orthonormal components: which entries may differ from zero so that most variance is kept.

``find_components`` is the door. ``allowance`` says how many entries there may be; ``levels`` searches from few entries
to many, with candidates from ``fresh``, improved by ``exchange``, which tries the ``moves`` that promise most, and by
``newton``, which takes joint Newton steps on the ``slots`` of many supports at once, or by ``apart`` where columns
share no row; ``splice`` exchanges many entries at once where there are many, ``wide`` keeps to the features that
matter. ``points`` holds orthonormal points and what their entries are worth, ``systems`` solves many small systems.
"""

from orthoprox.allowance import Allowance
from orthoprox.supports.levels import Effort, search_levels
from orthoprox.supports.progress import Progress
from orthoprox.supports.search import EFFORTS, find_components, included, is_crowded, is_small
from orthoprox.supports.splice import search_splices

__all__ = [
    "EFFORTS",
    "Allowance",
    "Effort",
    "Progress",
    "find_components",
    "included",
    "is_crowded",
    "is_small",
    "search_levels",
    "search_splices",
]

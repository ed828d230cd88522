"""Search for supports."""

from orthoprox.allowance import Allowance
from orthoprox.supports.levels import Effort, search_levels
from orthoprox.supports.progress import Progress
from orthoprox.supports.search import EFFORTS, find_components
from orthoprox.supports.splice import search_splices

__all__ = ["EFFORTS", "Allowance", "Effort", "Progress", "find_components", "search_levels", "search_splices"]

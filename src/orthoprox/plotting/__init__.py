"""Pictures of solutions and runs. Each function returns the matplotlib axes it drew on.

Nothing here shows a window, sets a style or changes other axes: the axes are yours to change and to save.
Needs the extra ``plots``.
"""

from orthoprox.plotting.biplot import biplot
from orthoprox.plotting.convergence import convergence
from orthoprox.plotting.loadings_bars import loadings_bars
from orthoprox.plotting.loadings_images import loadings_images
from orthoprox.plotting.sparsity_path import sparsity_path
from orthoprox.plotting.topics import top_terms, topic_table

__all__ = [
    "biplot",
    "convergence",
    "loadings_bars",
    "loadings_images",
    "sparsity_path",
    "top_terms",
    "topic_table",
]

"""Where a run begins: starts that know the problem, to be given to ``solve`` as X0.

>>> import numpy as np
>>> from orthoprox import solve, starts
>>> from orthoprox.models import sparse_pca
>>> problem = sparse_pca(np.random.default_rng(0).standard_normal((40, 12)), n_components=2, weight=0.1)
>>> solve(problem, X0=starts.Leading()).start
'leading directions'
"""

from orthoprox.starts._base import Drawn, Start
from orthoprox.starts.auto import Auto
from orthoprox.starts.best import Best
from orthoprox.starts.explored import Explored
from orthoprox.starts.leading import Leading
from orthoprox.starts.random import Random
from orthoprox.starts.turned import Turned, Varimax

__all__ = ["Auto", "Best", "Drawn", "Explored", "Leading", "Random", "Start", "Turned", "Varimax"]

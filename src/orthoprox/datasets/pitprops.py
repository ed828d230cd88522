"""The pitprops correlations, the oldest example of sparse principal components."""

from __future__ import annotations

import numpy as np

from orthoprox._types import Array

_NAMES = (
    "topdiam",
    "length",
    "moist",
    "testsg",
    "ovensg",
    "ringtop",
    "ringbut",
    "bowmax",
    "bowdist",
    "whorls",
    "clear",
    "knots",
    "diaknot",
)

_LOWER = """
     1.000
     0.954  1.000
     0.364  0.297  1.000
     0.342  0.284  0.882  1.000
    -0.129 -0.118 -0.148  0.220  1.000
     0.313  0.291  0.153  0.381  0.364  1.000
     0.496  0.503 -0.029  0.174  0.296  0.813  1.000
     0.424  0.419 -0.054 -0.059  0.004  0.090  0.372  1.000
     0.592  0.648  0.125  0.137 -0.039  0.211  0.465  0.482  1.000
     0.545  0.569 -0.081 -0.014  0.037  0.274  0.679  0.557  0.526  1.000
     0.084  0.076  0.162  0.097 -0.091 -0.036 -0.113  0.061  0.085 -0.319  1.000
    -0.019 -0.036  0.220  0.169 -0.145  0.024 -0.232 -0.357 -0.127 -0.368  0.029  1.000
     0.134  0.144  0.126  0.015 -0.208 -0.329 -0.424 -0.202 -0.076 -0.291  0.007  0.184  1.000
"""


def pitprops() -> tuple[Array, tuple[str, ...]]:
    """Correlations of 13 measurements on 180 pit props of Corsican pine.

    The lower triangle is stored as published, to three decimals.

    Returns
    -------
    C : array, shape (13, 13)
        The correlation matrix.
    names : tuple of str
        What was measured, in the usual abbreviations.

    References
    ----------
    J. N. R. Jeffers, Two case studies in the application of principal component analysis, Applied Statistics 16,
    1967, 225-236.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.datasets import pitprops
    >>> C, names = pitprops()
    >>> names[0], C.shape
    ('topdiam', (13, 13))
    >>> np.linalg.eigvalsh(C)[:-4:-1].round(3)  # as published
    array([4.219, 2.378, 1.878])
    """
    n = len(_NAMES)
    C = np.zeros((n, n))
    C[np.tril_indices(n)] = [float(number) for number in _LOWER.split()]
    return C + np.tril(C, -1).T, _NAMES

"""Readers of SciPy, asked for sparse arrays where the version lets us choose.

The default is changing from sparse matrices to sparse arrays, and a version that is about to change it warns.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import scipy.io


def _sparse_arrays(read: Callable[..., Any]) -> Callable[..., Any]:
    return partial(read, spmatrix=False) if "spmatrix" in inspect.signature(read).parameters else read


loadmat = _sparse_arrays(scipy.io.loadmat)

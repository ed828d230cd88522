"""A fit and its time; what clusterings and subspaces are judged by."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.linalg import subspace_angles
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.cluster import contingency_matrix


def fit_timed(model: Any, X: Any) -> tuple[Any, float]:
    """The fitted model, and its seconds of processor time, which others on the machine do not lengthen."""
    since = time.process_time()
    with warnings.catch_warnings():  # a fit that ends at its limit is judged by what it found
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    return model, time.process_time() - since


def accuracy(truth: Any, labels: Any) -> float:
    """The share of samples in the right cluster, clusters matched to classes as well as they can be."""
    counts = contingency_matrix(truth, labels)
    return float(counts[linear_sum_assignment(-counts)].sum() / len(truth))


def degrees(V: Any, W: Any) -> float:
    """The largest principal angle between two spans of columns."""
    return float(np.degrees(subspace_angles(V, W)[0]))


def medians(rows: Iterable[Iterable[float]]) -> list[float]:
    """The median of every column."""
    return [float(value) for value in np.median(np.array([list(row) for row in rows]), axis=0)]

"""The objective of every estimator by its definition, in double precision, for samples divided by their scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from orthoprox.estimators import DualPCP, NonnegativePCA, OrthogonalNMF, RangeICA, RobustSubspace, SparsePCA


def objective(model: Any, X: Any) -> float:
    """What ``objective_`` is, divided by its power of ``scale_``."""
    D = centred(model, X)
    V = model.components_.T.astype(np.float64)
    if isinstance(model, OrthogonalNMF):
        W = model.W_.astype(np.float64)
        return float(np.sum((D - W @ (W.T @ D)) ** 2)) / (2 * D.shape[1])
    if isinstance(model, (SparsePCA, NonnegativePCA)):
        lost = (np.sum(D**2) - np.sum((D @ V) ** 2)) / (2 * len(D))
        weight = getattr(model, "weight", None)
        return float(lost + (weight / model.scale_ / model.scale_ * _penalty(model.penalty, V) if weight else 0.0))
    if isinstance(model, (RobustSubspace, DualPCP)):
        rest = np.linalg.norm(D @ V if isinstance(model, DualPCP) else D - D @ V @ V.T, axis=1)
        lengths = np.linalg.norm(D, axis=1)
        return float(np.mean(rest / np.where(lengths > 0, lengths, 1.0) if model.normalize else rest))
    if isinstance(model, RangeICA):
        S = np.sort(D @ (model.scale_ * model.whitening_.T.astype(np.float64)) @ model.result_.X, axis=0)
        k = max(1, int((0.01 if model.order is None else model.order) * len(D))) if model.order != 1 else 1
        return float(np.sum(S[-k:].mean(axis=0) - S[:k].mean(axis=0)))
    return _of_dictionary(model, D)


def centred(model: Any, X: Any) -> np.ndarray:
    """The samples that were fitted; what is left of a constant column is rounding."""
    D, scale = np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64), getattr(model, "feature_scale_", None)
    unit = model.scale_ if scale is None else 2.0 ** np.floor(np.log2(np.max(np.abs(D))))
    mean = model.mean_.astype(np.float64) / unit
    D = D / unit - mean
    if scale is not None:
        D = D * (unit / scale.astype(np.float64)) / model.scale_
        mean = mean * (unit / scale.astype(np.float64)) / model.scale_
    return np.where(np.max(np.abs(D), axis=0) <= 16 * np.finfo(model.mean_.dtype).eps * np.abs(mean), 0.0, D)


def _penalty(name: str, V: np.ndarray) -> float:
    if name == "group":
        return float(np.sum(np.linalg.norm(V, axis=1)))
    if name == "l1":
        return float(np.sum(np.abs(V)))
    u = 1 / np.sqrt(V.shape[0])  # mcp: the integral of 1 - t / (3 u), up to 3 u
    t = np.minimum(np.abs(V), 3 * u)
    return float(np.sum(t - t**2 / (6 * u)))


def _of_dictionary(model: Any, D: np.ndarray) -> float:
    m, n = D.shape
    unit = 1.0 if model.precondition else model.scale_  # of the codes
    C = D @ (model.analysis_.astype(np.float64) * (model.scale_ / unit))
    if model.objective == "l1":
        return float(np.sum(np.abs(C))) / m
    if model.objective == "l4":
        return -float(np.sum(C**4)) / (4 * m)
    w = model.weight_ / unit
    soft = C - np.clip(C, -w, w)
    squares = m * n if model.precondition else np.sum(D**2)
    return float(squares - np.sum(C**2) + np.sum((C - soft) ** 2)) / (2 * m) + w * float(np.sum(np.abs(soft))) / m

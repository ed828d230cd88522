"""Orthonormal matrices with fixed zeros: finding one near a weight, and steps among them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from orthoprox.active import disjoint, largest, restore
from orthoprox.manifolds import SparseStiefel
from orthoprox.nn._marks import mark_of

_STRENGTHS = (0.0, 1e-4, 1e-2, 1e-1, 0.3, 1.0)  # how strongly columns have to meet, until X'X = I has a solution
_GROWTH = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5)  # of the number of nonzeros; more than that is another support
_HALVINGS = 6  # of a step after which no way back to the manifold was found


def as_columns(W: Any) -> Any:
    """One matrix as a NumPy array in float64 with orthonormal columns: transposed where it is wide."""
    X = W.detach().double().cpu().numpy()
    return X.T if X.shape[0] < X.shape[1] else X


def back(X: Any, like: Any) -> Any:
    """The inverse of :func:`as_columns`."""
    W = X.T if like.shape[0] < like.shape[1] else X
    return torch.from_numpy(np.ascontiguousarray(W)).to(like)


def nearby(X: Any, support: Any, grow: bool) -> tuple[Any, Any]:
    """An orthonormal matrix near an orthonormal X on a support, or on another where there is none, and that support.

    If it may grow, the largest of the other entries enter until there is one. Otherwise entries leave in which two
    columns meet too weakly to be orthogonal. If that does not help, every row keeps at most one entry, and columns
    that share no row are orthogonal.
    """
    S = np.asarray(support, dtype=float)
    if grow:
        others = np.abs(X) * (1 - S)
        for share in _GROWTH:
            larger = S + largest(others, int(share * S.sum()))
            found = restore(X * larger, larger, (0.0,))
            if found is not None:
                return found[0] * larger, larger
    found = restore(X * S, S, _STRENGTHS)
    if found is None:
        sparse = disjoint(X, S > 0, None if grow else max(int(S.sum()), X.shape[1]))
        return sparse, (sparse != 0).astype(float)
    kept, S = found
    return kept * S, S


def step(
    p: Any, state: dict[str, Any], group: dict[str, Any], tell: Callable[[Any, str], None], *, nesterov: bool
) -> None:
    """A gradient step with momentum on the orthonormal matrices with the zeros of a parameter.

    One matrix after the other on the host: it is meant for a few epochs at the end.
    """
    mark = mark_of(p)
    assert mark is not None
    S, G, W = mark.support.to(p), mark.read(p.grad), mark.read(p)
    if not bool(torch.isfinite(G).all()):
        tell(p, "its gradient was NaN or infinite, and that step left it as it was.")
        return
    M: Any = state["momentum"].to(G) if "momentum" in state else torch.zeros_like(G)
    scaled = group.get("betas") is not None
    fresh = 1 - (group["betas"][0] if scaled else group["momentum"])
    state["momentum"] = M = M.lerp(G * S, fresh)
    D = M.lerp(G * S, fresh) if nesterov and not scaled else M
    length = group["lr"] if scaled else group["lr"] / (1 - group["momentum"])
    new = [one(w, m, s, length, scaled) for w, m, s in zip(W, D, S, strict=True)]
    mark.write(p, torch.stack(new))


def one(W: Any, M: Any, S: Any, length: float, scaled: bool) -> Any:
    """The step of one matrix: along the tangent part of the averaged gradient, then back to the manifold."""
    X, D, support = as_columns(W), as_columns(M), as_columns(S)
    manifold = SparseStiefel(support)
    space = manifold.tangent_space(X, dense=False)
    D = space.project(D)
    size = float(np.linalg.norm(D))
    if size == 0:
        return W
    whole = math.sqrt(X.shape[1]) / size  # steps longer than X itself lead nowhere
    length = length * whole if scaled else min(length, whole)
    for k in range(_HALVINGS):
        new = manifold.restore(X - 0.5**k * length * D, space)
        if new is not None:
            return back(new * support, W)
    return W

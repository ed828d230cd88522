"""How far a training run is from a critical point, estimated from the gradients at hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from orthoprox.manifolds import SparseStiefel
from orthoprox.nn._marks import mark_of
from orthoprox.nn._precision import full_precision
from orthoprox.nn._support import as_columns
from orthoprox.nn.optimizer import OrthoProx
from orthoprox.problem import Criticality


def criticality(optimizer: Any) -> Criticality:
    """Crit of the paper over all marked parameters, with the gradients that ``backward`` has left.

    With the gradient of the whole loss it is Crit itself. A mini-batch adds noise to the stationarity: its square is
    larger by the variance of the tangent gradient on average, which falls with the number of samples. So add up
    gradients over several batches, divide the loss by their number, and do not step in between. After
    :func:`finish_` it is the stationarity among the orthonormal matrices with the zeros that were found.

    Parameters
    ----------
    optimizer : OrthoProx

    Returns
    -------
    Criticality
        ``primal`` is ``|W - y|``, ``dual`` the distance from z to the subdifferential of h at y, ``stationarity`` the
        tangent part of gradient - dg + z; ``total`` is their sum.

    Examples
    --------
    >>> import torch
    >>> from orthoprox.nn import OrthoProx, criticality, orthogonal_
    >>> layer = orthogonal_(torch.nn.Linear(4, 1, bias=False))
    >>> optimizer = OrthoProx(layer.parameters(), lr=0.1)
    >>> for _ in range(300):
    ...     optimizer.zero_grad()
    ...     (layer.weight @ torch.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    ...     optimizer.step()
    >>> criticality(optimizer).total < 1e-4
    True
    """
    if not isinstance(optimizer, OrthoProx):
        raise TypeError(f"criticality needs an OrthoProx; given {type(optimizer).__name__}.")
    squares, found = [0.0, 0.0, 0.0], False
    for group in optimizer.param_groups:
        for p in group["params"]:
            mark = mark_of(p)
            if mark is not None and p.grad is not None:
                found = True
                with full_precision(p):
                    parts = _of_one(optimizer, p, mark, group)
                squares = [total + part for total, part in zip(squares, parts, strict=True)]
    if not found:
        raise ValueError("No marked parameter has a gradient: call backward first.")
    return Criticality(*(math.sqrt(total) for total in squares))


def _of_one(optimizer: Any, p: Any, mark: Any, group: dict[str, Any]) -> tuple[float, float, float]:
    X, G = mark.read(p), mark.read(p.grad)
    penalty = optimizer.penalty_of(p)
    if mark.support is not None:
        return 0.0, 0.0, sum(_on_support(*parts) ** 2 for parts in zip(X, G, mark.support.to(p), strict=True))
    if penalty is None:
        return 0.0, 0.0, float(_tangent(X, G).square().sum())
    y, z, weight = mark.read(optimizer.split(p)), mark.read(optimizer.multiplier(p)), optimizer.weight(group)
    G = G + z
    if penalty.subtracts:
        G = G - weight * penalty.pull(X)
    # the subdifferential of a multiple of h is the multiple of that of h
    scaled = z / weight if weight > 0 else z
    dual = sum((weight * d) ** 2 for d in penalty.dual_distance(y, scaled)) if weight > 0 else float(z.square().sum())
    return float((X - y).square().sum()), dual, float(_tangent(X, G).square().sum())


def _on_support(W: Any, G: Any, S: Any) -> float:
    """The norm of the tangent part of a gradient among the orthonormal matrices with the zeros of W."""
    X, D, support = as_columns(W), as_columns(G), as_columns(S)
    space = SparseStiefel(support).tangent_space(X, dense=False)
    return float(np.linalg.norm(space.project(D * support)))


def _tangent(X: Any, G: Any) -> Any:
    """The projection onto the tangent space, on the short side of each matrix of a stack."""
    if X.shape[1] > X.shape[2]:
        S = torch.bmm(X.mT, G)
        return G - torch.bmm(X, (S + S.mT) / 2)
    S = torch.bmm(G, X.mT)
    return G - torch.bmm((S + S.mT) / 2, X)

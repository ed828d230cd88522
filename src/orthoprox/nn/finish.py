"""The end of training: weights that are exactly sparse and orthonormal, and sparse tensors of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace as _replace  # noqa: TID251  (a mark has no derived fields)
from typing import Any

import numpy as np
import torch

from orthoprox.active import largest
from orthoprox.nn._marks import OWNERS, Mark, marked, set_mark
from orthoprox.nn._polar import orthonormal
from orthoprox.nn._support import as_columns, back, nearby
from orthoprox.nn.report import Report, report


def finish_(module: Any, *, nonzeros: float | None = None, evaluate: Callable[[], float] | None = None) -> Report:
    """Make the zeros that training has found exact, with weights that stay orthonormal.

    The zeros of the split variable y become zeros of the weight, and an orthonormal matrix with these zeros is found
    next to it by Newton's method (:class:`~orthoprox.manifolds.SparseStiefel`). Where there is none, a few entries
    return, or leave if ``nonzeros`` says how many there may be. Later steps of :class:`OrthoProx` keep the
    zeros, so a few more epochs tune the rest; they go matrix by matrix on the host.

    Parameters
    ----------
    module : nn.Module
        With marked parameters that an :class:`OrthoProx` has trained.
    nonzeros : int or float, optional
        How many entries each matrix keeps at most, or as a float up to 1.0 which share of them: the largest of y. An
        orthonormal matrix has at least one for each row of its short side, and keeps as many whatever is asked. By
        default all that are not zero in y.
    evaluate : callable, optional
        A measure without arguments, say the accuracy on held-out data; the report has it before and after.

    Examples
    --------
    >>> import torch
    >>> from orthoprox.nn import finish_, orthogonal_
    >>> layer = orthogonal_(torch.nn.Linear(20, 3))
    >>> found = finish_(layer, nonzeros=0.4)
    >>> found.rows[0].nonzeros <= 24, found.infeasibility < 1e-6
    (True, True)
    """
    number = isinstance(nonzeros, (int, float)) and not isinstance(nonzeros, bool)
    if nonzeros is not None and not (number and 0 < nonzeros < math.inf):
        raise ValueError(
            f"nonzeros must be a positive number of entries, or a share of them as a float up to 1.0; given {nonzeros}."
        )
    before = None if evaluate is None else float(evaluate())
    places = list(marked(module))
    for full, _, _, p, _ in places:
        for what, values in ((full, p.detach()), (f"The split variable of {full}", _split(p))):
            if not bool(torch.isfinite(values).all()):
                raise ValueError(f"{what} has NaN or infinite entries: it cannot be finished.")
    for _, inner, name, p, mark in places:
        W, y = mark.read(p), mark.read(_split(p))
        done = [_finish_one(w, v, nonzeros) for w, v in zip(W, y, strict=True)]
        new, support = (torch.stack(parts) for parts in zip(*done, strict=True))
        if bool((support == 0).any()):
            with torch.no_grad():
                mark.write(p, new)
            set_mark(inner, name, _replace(mark, support=support, penalty=None))
            _forget_split(p)
    after = None if evaluate is None else float(evaluate())
    return _replace(report(module), before=before, after=after)


def _split(p: Any) -> Any:
    optimizer = _owner(p)
    return p.detach() if optimizer is None else optimizer.split(p)


def _forget_split(p: Any) -> None:
    """Drop y and z, which no step moves from now on: a state that is saved and loaded must not bring them back."""
    optimizer = _owner(p)
    for name in ("y", "z") if optimizer is not None else ():
        optimizer.state[p].pop(name, None)


def _owner(p: Any) -> Any:
    owner = OWNERS.get(p)
    return None if owner is None else owner()


def _finish_one(W: Any, y: Any, nonzeros: float | None) -> tuple[Any, Any]:
    sizes = np.abs(as_columns(y))
    support = sizes > 0
    if nonzeros is not None:
        share = isinstance(nonzeros, float) and nonzeros <= 1
        count = int(nonzeros * sizes.size) if share else int(nonzeros)
        support = largest(sizes, max(count, sizes.shape[1]))
    if support.all():
        return W, torch.ones_like(W)
    kept = back(support.astype(float), W)
    if not bool((W * (1 - kept)).any()) and orthonormal(W[None]):
        return W, kept  # these zeros it has already
    X, kept = nearby(as_columns(W), support, grow=nonzeros is None)
    return back(X, W), back(kept, W)


def release_(module: Any) -> Any:
    """Remove all marks: the parameters are ordinary ones again, with the weights they have.

    Examples
    --------
    >>> import torch
    >>> from orthoprox.nn import orthogonal_, release_, report
    >>> report(release_(orthogonal_(torch.nn.Linear(4, 2)))).rows
    ()
    """
    for _, inner, name, _, _ in list(marked(module)):
        set_mark(inner, name, None)
    return module


def to_sparse(module: Any) -> dict[str, Any]:
    """The marked weights as sparse tensors by name: CSR for matrices, COO for others.

    Examples
    --------
    >>> import torch
    >>> from orthoprox.nn import finish_, orthogonal_, to_sparse
    >>> layer = orthogonal_(torch.nn.Linear(20, 3))
    >>> finish_(layer, nonzeros=12).rows[0].nonzeros <= 12
    True
    >>> to_sparse(layer)["weight"].layout
    torch.sparse_csr
    """
    return {name: _sparse(p, mark) for name, _, _, p, mark in marked(module)}


def _sparse(p: Any, mark: Mark) -> Any:
    W = p.detach()
    return W.to_sparse_csr() if W.ndim == 2 else W.to_sparse()

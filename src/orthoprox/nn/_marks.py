"""Which parameters have orthonormal matrices, how they hold them, and what penalty they have."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils.weak import WeakIdKeyDictionary

from orthoprox.manifolds.inverse_root import orthonormal_within
from orthoprox.nn._penalty import Penalty
from orthoprox.nn._polar import infeasibility, nearest

_ON_PARAMETER = "_orthoprox"
_ON_MODULE = "_orthoprox_marks"
_WAYS = "None, 'out', 'in', 'batch', ('rows', h) or ('columns', h)"

_COUNT = itertools.count()
_LATEST = [0]

OWNERS: Any = WeakIdKeyDictionary()
"""The optimiser that moves a marked parameter, where there is one."""


@dataclass(frozen=True, eq=False)
class Mark:
    """How a parameter is read as a stack of matrices.

    Parameters
    ----------
    way : str
        ``"batch"``, ``"out"``, ``"in"``, ``"rows"`` or ``"columns"``.
    parts : int
        Into how many matrices the rows or columns are split.
    penalty : Penalty, optional
    support : tensor, optional
        Ones where an entry may differ from zero, in the shape of the stack, after :func:`finish_`.
    """

    way: str
    parts: int = 1
    penalty: Penalty | None = None
    support: Any = None

    def shape(self, p: Any) -> tuple[int, int, int]:
        """The shape (b, m, n) of the stack."""
        s = tuple(self.view(p).shape)
        if self.way in ("out", "in"):
            return 1, s[0], math.prod(s[1:])
        return math.prod(s[:-2]), s[-2], s[-1]

    def view(self, p: Any) -> Any:
        """The same memory with axes in the order of the stack; reading it row by row gives the stack."""
        if self.way == "in":
            return p.transpose(0, 1)
        if self.way == "rows":
            return p.unflatten(0, (self.parts, -1))
        if self.way == "columns":
            return p.unflatten(1, (self.parts, -1)).transpose(0, 1)
        return p

    def read(self, p: Any) -> Any:
        """The stack: a view where the memory allows it, a copy otherwise."""
        return self.view(p.detach()).reshape(self.shape(p))

    def write(self, p: Any, stack: Any) -> None:
        """Put a stack into the parameter."""
        view = self.view(p.detach())
        view.copy_(stack.reshape(view.shape))


def orthogonal_(
    module: Any,
    name: str = "weight",
    penalty: Any = None,
    reshape: Any = None,
    *,
    init: Any = "nearest",
    generator: Any = None,
) -> Any:
    """Mark a parameter as orthonormal along its short side, and make it so.

    The parameter stays an ordinary ``nn.Parameter``; :class:`OrthoProx` keeps it orthonormal.

    Parameters
    ----------
    module : nn.Module
        The module that owns the parameter; it is returned.
    name : str
        The name of the parameter in it.
    penalty : term or sum of terms, optional
        What is added to the loss for each matrix, as in ``0.01 * L1()``, ``0.1 * GroupL2("columns")`` or
        ``0.1 * (L1() - LargestK(200))``. Rows are outputs and columns inputs, as in ``nn.Linear``. By default
        the penalty of the optimiser.
    reshape : None, str or tuple
        How matrices lie in the parameter. A matrix is taken as it is. ``"out"``: one matrix with a row for each
        index of the first axis, the default for convolutions; ``"in"``: the same for the second axis. ``"batch"``: the
        last two axes are the matrices, the default for all else with more axes. ``("rows", h)`` splits the rows into h
        matrices, as heads share a query projection; ``("columns", h)`` the columns, as they share an output projection.
    init : {"nearest", "random", "keep"} or ("blocks", k)
        Where to start: the orthonormal matrix nearest to the weight, one drawn uniformly, or the weight as it is, which
        must then be orthonormal already. ``("blocks", k)`` draws a sparse one: blocks with k rows on the short side,
        in random places. Square matrices with more than half of their entries zero need such a start, see
        ``docs/layers.md``.
    generator : torch.Generator, optional
        For what is drawn.

    Examples
    --------
    >>> import torch
    >>> from orthoprox.nn import orthogonal_
    >>> from orthoprox.terms import L1
    >>> layer = orthogonal_(torch.nn.Conv2d(3, 8, 3), penalty=0.01 * L1())
    >>> W = layer.weight.flatten(1)
    >>> bool((W @ W.T - torch.eye(8)).abs().max() < 1e-5)
    True
    """
    p = _parameter(module, name)
    mark = Mark(*_way(module, p, reshape), penalty=None)
    shape = mark.shape(p)
    if penalty is not None:
        mark = Mark(mark.way, mark.parts, Penalty.of(penalty, shape))
    with torch.no_grad():
        mark.write(p, _start(mark.read(p), init, generator, name))
    set_mark(module, name, mark)
    return module


def _start(W: Any, init: Any, generator: Any, name: str) -> Any:
    blocks = isinstance(init, (tuple, list)) and len(init) == 2 and init[0] == "blocks" and isinstance(init[1], int)
    if blocks and 1 <= init[1] <= min(W.shape[1:]):
        return torch.stack([_blocks(one, init[1], generator) for one in W])
    if init == "random":
        draw = torch.randn(W.shape, generator=generator, dtype=torch.float64, device=W.device)
        return nearest(draw, name).to(W.dtype)
    if init == "nearest":
        return nearest(W, name)
    if init != "keep":
        raise ValueError(
            "init must be 'nearest', 'random', 'keep' or ('blocks', k) with k from 1 to the length of the short side; "
            f"given {init!r}."
        )
    worst = float(infeasibility(W.double()).max())
    if not worst <= orthonormal_within(W.shape[1], torch.finfo(W.dtype).eps):
        raise ValueError(
            f"{name} is not orthonormal: |W W' - I| has an entry of {worst:.2g}. Use init='nearest' to move it."
        )
    return W


def _blocks(W: Any, k: int, generator: Any) -> Any:
    """An orthonormal matrix of blocks that share no row and no column, in random places."""
    if W.shape[0] > W.shape[1]:
        return _blocks(W.mT, k, generator).mT
    m, n = W.shape
    rows, columns = (torch.randperm(count, generator=generator, device=W.device) for count in (m, n))
    X = torch.zeros_like(W)
    count = -(-m // k)
    for some, among in zip(rows.tensor_split(count), columns.tensor_split(count), strict=True):
        draw = torch.randn(1, len(some), len(among), generator=generator, dtype=torch.float64, device=W.device)
        X[some[:, None], among] = nearest(draw, "a block")[0].to(W.dtype)
    return X


def _parameter(module: Any, name: str) -> Any:
    """The parameter of that name, if it can be marked."""
    if not isinstance(module, nn.Module):
        raise TypeError(f"orthogonal_ needs a module and the name of a parameter in it; given {type(module).__name__}.")
    p = module._parameters.get(name)
    if p is None:
        names = ", ".join(n for n, q in module._parameters.items() if q is not None and q.ndim > 1) or "none"
        computed = hasattr(module, name) and "is computed from others, say by a parametrisation: remove that first"
        raise ValueError(
            f"{type(module).__name__}.{name} {computed or 'is not a parameter'}; parameters with two or more axes: "
            f"{names}."
        )
    check_kind(p, name)
    if p.ndim < 2 or 0 in p.shape:
        raise ValueError(f"{name} must have two or more axes, none of length zero; given shape {tuple(p.shape)}.")
    if not p.is_leaf or p._is_view() or 0 in [st for st, n in zip(p.stride(), p.shape, strict=True) if n > 1]:
        raise ValueError(
            f"{name} is a view of other memory, which a step would change as well; make it a parameter of its own, "
            "as in nn.Parameter(W.clone())."
        )
    memory = p.untyped_storage().nbytes()
    if memory > p.numel() * p.element_size() and not isinstance(module, nn.RNNBase):  # CUDA keeps theirs in one piece
        warnings.warn(
            f"{name} is a part of larger memory ({p.numel() * p.element_size()} of {memory} bytes); steps change it "
            "there: if that is not meant, make it a parameter of its own, as in nn.Parameter(W.clone()).",
            RuntimeWarning,
            stacklevel=3,
        )
    return p


def check_kind(p: Any, name: str = "A marked parameter") -> None:
    """Refuse parameters without numbers, and numbers with too few digits to be orthonormal."""
    if isinstance(p, nn.parameter.UninitializedParameter) or p.is_meta:
        raise ValueError(f"{name} has no values yet: run the model once or move it to a device with memory first.")
    if p.is_complex():
        raise TypeError(
            f"{name} must be real; given {p.dtype}. Hold real and imaginary parts as two real parameters; each is then "
            "orthonormal by itself."
        )
    if p.dtype not in (torch.float32, torch.float64):
        raise TypeError(
            f"{name} must be float32 or float64; given {p.dtype}. For mixed precision keep the weights in float32 and "
            "compute under torch.autocast."
        )


def _way(module: Any, p: Any, reshape: Any) -> tuple[str, int]:
    if reshape is None:
        if p.ndim == 2:
            return "batch", 1
        return ("out", 1) if isinstance(module, nn.modules.conv._ConvNd) else ("batch", 1)
    if reshape in ("out", "in", "batch"):
        return reshape, 1
    if isinstance(reshape, (tuple, list)) and len(reshape) == 2 and reshape[0] in ("rows", "columns"):
        way, parts = reshape
        length = p.shape[0 if way == "rows" else 1]
        if p.ndim == 2 and isinstance(parts, int) and not isinstance(parts, bool) and parts > 0 and length % parts == 0:
            return way, parts
        raise ValueError(
            f"reshape=({way!r}, {parts!r}) needs a matrix whose number of {way} is a multiple of {parts!r}; given "
            f"shape {tuple(p.shape)}."
        )
    raise ValueError(f"reshape must be {_WAYS}; given {reshape!r}.")


def mark_of(p: Any) -> Mark | None:
    """The mark of a parameter, if it has one."""
    return getattr(p, _ON_PARAMETER, None)


def mark_count() -> int:
    """A number that changes with every mark that is set or removed."""
    return _LATEST[0]


def set_mark(module: Any, name: str, mark: Mark | None) -> None:
    """Put a mark on a parameter and on its module, or remove it.

    PyTorch copies the attributes of modules with them and those of parameters not, so the module keeps it as well.
    """
    _LATEST[0] = next(_COUNT) + 1
    p, marks = module._parameters[name], module.__dict__.setdefault(_ON_MODULE, {})
    if mark is None:
        marks.pop(name, None)
        if hasattr(p, _ON_PARAMETER):
            delattr(p, _ON_PARAMETER)
    else:
        marks[name] = mark
        setattr(p, _ON_PARAMETER, mark)


def marked(module: Any) -> Iterator[tuple[str, Any, str, Any, Mark]]:
    """The marked parameters below a module: full name, module, name, parameter, mark; copies get their marks back.

    A parameter of several marked modules comes once for each, with the latest mark.
    """
    if not isinstance(module, nn.Module):
        raise TypeError(f"A module is needed; given {type(module).__name__}.")
    for prefix, inner in module.named_modules():
        marks = inner.__dict__.get(_ON_MODULE, {})
        for name, known in list(marks.items()):
            p = inner._parameters.get(name)
            if p is not None:
                marks[name] = mark = mark_of(p) or known
                setattr(p, _ON_PARAMETER, mark)
                yield f"{prefix}.{name}".lstrip("."), inner, name, p, mark

"""Sorting parameters: marked ones and others, those that take one step together; and what is refused."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import torch

from orthoprox.nn._marks import check_kind, mark_of
from orthoprox.nn._penalty import Penalty

_SETTINGS = {"weight_schedule", "nesterov", "tangent", "norm", "base", "graphs"}
_OF_ALL = _SETTINGS | {"beta", "theta", "sigma", "tau", "xi", "p"}
"""What is set for all groups: settings, and numbers of the splitting."""

OWN = "orthogonal"
"""Says in a parameter group whether its parameters are marked."""


def by_shape(params: list[Any]) -> list[tuple[Any, list[Any]]]:
    """The marked parameters that can take one step together."""
    found: dict[Any, list[Any]] = {}
    for p in params:
        mark = mark_of(p)
        if mark is None:
            raise RuntimeError(
                f"A parameter of shape {tuple(p.shape)} is no longer marked, say after release_, and this optimiser "
                "keeps it orthonormal: make a new optimiser for what comes now."
            )
        kind = "stack" if mark.support is None else "support"
        terms = None if mark.penalty is None else (mark.penalty.h, mark.penalty.g)
        found.setdefault((kind, mark.shape(p)[1:], p.dtype, p.device, _hashable(terms)), []).append(p)
    return list(found.items())


def places_of(params: list[Any]) -> tuple[list[Any], ...]:
    """Which parameters there are, where they lie and as what; a model that is moved or cast has them elsewhere."""
    return list(map(id, params)), list(map(torch.Tensor.data_ptr, params)), [p.dtype for p in params]


def _hashable(terms: Any) -> Any:
    """Equal terms are one key; terms that hold arrays are their own."""
    try:
        hash(terms)
    except TypeError:
        return id(terms[0]), id(terms[1])
    return terms


def penalty_for(p: Any, general: Any) -> Penalty | None:
    mark = mark_of(p)
    assert mark is not None
    if mark.support is not None:  # its zeros are found
        return None
    if mark.penalty is not None:
        return mark.penalty
    return None if general is None else Penalty.of(general, mark.shape(p))


def check_penalty(p: Any, general: Any) -> None:
    """Apply the penalty once, so that a misfit is a sentence now."""
    check_kind(p)
    penalty, mark = penalty_for(p, general), mark_of(p)
    if penalty is None or mark is None:
        return
    X = mark.read(p)[:1]
    try:
        with torch.no_grad():
            penalty.prox(X, torch.ones(1, 1, 1, dtype=X.dtype, device=X.device))
            penalty.pull(X)
    except Exception as error:
        raise ValueError(
            f"The penalty {penalty.h} - {penalty.g} cannot be applied to {tuple(X.shape[1:])} matrices of {X.dtype} on "
            f"{X.device}: {error}"
        ) from error


def as_groups(params: Any) -> list[dict[str, Any]]:
    listed = [params] if isinstance(params, (torch.Tensor, dict)) else list(params)
    if not listed:
        raise ValueError("OrthoProx was given no parameters.")
    if isinstance(params, torch.Tensor) or isinstance(listed[0], torch.nn.Module):
        raise TypeError(
            f"OrthoProx needs a model, or a list of parameters or groups; given {type(params).__name__}"
            f"{'' if isinstance(params, torch.Tensor) else ' of modules: put them into a torch.nn.ModuleList'}."
        )
    if isinstance(listed[0], dict):
        for group in listed:
            if "params" not in group:
                raise ValueError(f"A group needs 'params'; given {', '.join(map(str, group)) or 'an empty one'}.")
        return [{**group, "params": _as_list(group["params"])} for group in listed]
    return [{"params": listed}]


def _as_list(params: Any) -> list[Any]:
    return [params] if isinstance(params, torch.Tensor) else list(params)


def check_group(group: dict[str, Any], general: dict[str, Any]) -> None:
    """Refuse what a group of marked parameters cannot have of its own, and numbers that make no sense."""
    if not group["params"]:
        return
    for name in _OF_ALL & set(group):
        raise ValueError(f"{name} is set for all groups, in OrthoProx(..., {name}=...); a group cannot have its own.")
    if "penalty" in group:
        raise ValueError("A group has no penalty; give one to a parameter, as in orthogonal_(module, penalty=...).")
    if group.get("maximize"):
        raise ValueError("maximize has no meaning for orthogonal weights; change the sign of the loss.")
    lr, momentum, betas = (group.get(name, general.get(name)) for name in ("lr", "momentum", "betas"))
    check_numbers(lr, momentum, betas)


def divide(groups: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Each group as one of marked and one of other parameters."""
    own, others = [], []
    for group in groups:
        params = [p[1] if isinstance(p, tuple) else p for p in _as_list(group["params"])]
        own.append({**group, "params": [p for p in params if mark_of(p) is not None], OWN: True})
        rest = {key: value for key, value in group.items() if key != OWN}
        others.append({**rest, "params": [p for p in params if mark_of(p) is None]})
    return own, [group for group in others if group["params"]] or others[:1]


def check_state(saved: Any, groups: list[dict[str, Any]]) -> None:
    """Refuse what is no state of an OrthoProx with the same groups."""
    found = saved.get("param_groups") if isinstance(saved, dict) else None
    if not isinstance(found, list) or "state" not in saved or not all(isinstance(group, dict) for group in found):
        raise TypeError("This is not the state of an optimiser; give what OrthoProx.state_dict() returned.")
    if any(OWN not in group for group in found):
        raise ValueError("This is the state of another optimiser, which knows nothing of orthonormal weights.")
    missing = {key for group in found if group[OWN] for key in ("lr", "momentum", "step") if key not in group}
    if missing or any("params" not in group for group in found):
        raise ValueError(
            f"This state lacks {', '.join(sorted(missing)) or 'params'} in a group: give what OrthoProx.state_dict() "
            "returned, unchanged."
        )
    kinds = [[(group[OWN], len(group["params"])) for group in each] for each in (found, groups)]
    if kinds[0] != kinds[1]:
        have, want = (", ".join(f"{count} {'marked' if own else 'other'}" for own, count in each) for each in kinds)
        raise ValueError(
            f"This state has groups of {have} parameters, and the optimiser of {want}: mark the same parameters and "
            "make the same groups as when it was saved."
        )


def check_overlap(own: list[Any], others: list[Any]) -> None:
    """Refuse a marked parameter that shares memory with another: each step would undo the other's."""
    spans = [(p, True) for p in own] + [(p, False) for p in others if not p.is_meta and p.numel() > 0]
    for device in {p.device for p in own}:
        here = sorted(
            (p.data_ptr(), p.data_ptr() + p.numel() * p.element_size(), mine) for p, mine in spans if p.device == device
        )
        furthest, marked = 0, 0  # ends of all parameters before, and of marked ones
        for begin, end, mine in here:
            if begin < (furthest if mine else marked):
                raise ValueError(
                    "A marked parameter shares memory with another; give each its own, as in nn.Parameter(W.clone())."
                )
            furthest, marked = max(furthest, end), max(marked, end) if mine else marked


def check_numbers(
    lr: Any,
    momentum: Any,
    betas: Any,
    beta: float = 1.0,
    theta: float = 1.0,
    sigma: float = 1.0,
    tau: float = 0.0,
    xi: float = 0.0,
    p: float = 0.0,
) -> None:
    checks: tuple[tuple[str, Any, Any, str], ...] = (
        ("lr", lr, lambda v: v > 0, "a positive number"),
        ("momentum", momentum, lambda v: 0 <= v < 1, "in [0, 1)"),
        ("beta", beta, lambda v: v > 0, "positive"),
        ("theta", theta, lambda v: v >= 1, "at least 1"),
        ("sigma", sigma, lambda v: 0 < v < 2, "in (0, 2)"),
        ("tau", tau, lambda v: v >= 0, "not negative"),
        ("xi", xi, lambda v: v >= 0, "not negative"),
        ("p", p, lambda v: 0 <= v < 1, "in [0, 1)"),
    )
    for name, value, fits, wanted in checks:
        number = isinstance(value, Real) and not isinstance(value, bool)
        if not (number and math.isfinite(value) and fits(value)):
            raise ValueError(f"{name} must be {wanted}; given {value!r}.")
    pair = isinstance(betas, (tuple, list)) and len(betas) == 2
    if betas is not None and not (pair and all(isinstance(b, Real) and 0 <= float(b) < 1 for b in betas)):
        raise ValueError(f"betas must be two numbers in [0, 1); given {betas!r}.")


def check_norm(norm: Any) -> str:
    """The norm in which a step descends most steeply."""
    if norm not in ("frobenius", "spectral"):
        raise ValueError(f"norm must be 'frobenius' or 'spectral'; given {norm!r}.")
    return str(norm)


def check_callables(weight_schedule: Any, base: Any) -> None:
    """Refuse settings that must be functions and are none, before the first step calls them."""
    if weight_schedule is not None and not callable(weight_schedule):
        raise TypeError(
            f"weight_schedule must be a function of the step, as in lambda t: min(1.0, t / 1000); given "
            f"{weight_schedule!r}."
        )
    if base is not None and not callable(base):
        raise TypeError(
            "base must make an optimiser from a list of groups, as in lambda groups: torch.optim.Adam(groups, lr=0.1); "
            f"given {type(base).__name__}."
        )


def make_base(make: Callable[[Any], Any], groups: list[dict[str, Any]]) -> Any:
    """The optimiser of the other parameters, if it can take part."""
    base = make(groups)
    if not isinstance(base, torch.optim.Optimizer):
        raise TypeError(f"base must return an optimiser of torch.optim; given {type(base).__name__}.")
    closure = inspect.signature(type(base).step).parameters.get("closure")
    if closure is not None and closure.default is inspect.Parameter.empty:
        raise ValueError(
            f"{type(base).__name__} computes the loss several times in one step, and orthonormal weights would move "
            "only once: choose a base whose step needs no closure, say torch.optim.AdamW."
        )
    return base

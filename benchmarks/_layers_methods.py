"""The methods of benchmarks/layers.py: who moves the orthonormal matrices. All else is left to the same Adam."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import torch
from _layers_tasks import Stacked, stacks
from torch import nn

from orthoprox.nn import OrthoProx, orthogonal_

OTHERS = 3e-3
"""The lr of Adam for everything that is not orthonormal, the same for all methods."""
SGD = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
ADAM = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
LENGTH = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
WAYS = {"SGD": SGD, "Nesterov": SGD, "Adam": ADAM}
Make = Callable[[nn.Module, float], list[Any]]


def others(model: nn.Module) -> Any:
    own = {id(p) for stack in stacks(model).values() for p in stack.parameters()}
    return torch.optim.Adam([p for p in model.parameters() if id(p) not in own], lr=OTHERS)


def weights(model: nn.Module) -> list[Any]:
    return [p for stack in stacks(model).values() for p in stack.parameters()]


def ours(model: nn.Module, lr: float, **settings: Any) -> list[Any]:
    for stack in stacks(model).values():
        orthogonal_(stack)
    return [OrthoProx(weights(model), lr=lr, **settings), others(model)]


def momentum(way: str) -> dict[str, Any]:
    """Settings of SGD, as all libraries name them; none for Adam."""
    return {} if way == "Adam" else {"momentum": 0.9, "nesterov": way == "Nesterov"}


def pogo(way: str) -> Make:
    def make(model: nn.Module, lr: float) -> list[Any]:
        from pogo import POGO, base

        own = base.VectorAdam() if way == "Adam" else base.SGD(**momentum(way))
        return [POGO(weights(model), own, lr), others(model)]

    return make


def geoopt(way: str) -> Make:
    def make(model: nn.Module, lr: float) -> list[Any]:
        import geoopt as library

        for stack in stacks(model).values():  # its Stiefel manifold has orthonormal columns
            tall = stack.weight.data.mT.contiguous()
            stack.weight = library.ManifoldParameter(tall, manifold=library.Stiefel())
            stack.tall = True
        kind = library.optim.RiemannianAdam if way == "Adam" else library.optim.RiemannianSGD
        return [kind(weights(model), lr=lr, **momentum(way)), others(model)]

    return make


def geotorch(way: str) -> Make:
    def make(model: nn.Module, lr: float) -> list[Any]:
        import geotorch as library

        for stack in stacks(model).values():
            start = stack.weight.data.clone()
            library.orthogonal(stack, "weight")
            stack.weight = start
        return plain(way)(model, lr)

    return make


def plain(way: str) -> Make:
    def make(model: nn.Module, lr: float) -> list[Any]:
        kind = torch.optim.Adam if way == "Adam" else torch.optim.SGD
        return [kind(weights(model), lr=lr, **momentum(way)), others(model)]

    return make


METHODS: dict[str, tuple[Make, tuple[float, ...], str | None]] = {
    "orthoprox": (ours, SGD, None),
    "orthoprox, tangent": (lambda model, lr: ours(model, lr, tangent=True), SGD, None),
    "orthoprox, spectral": (lambda model, lr: ours(model, lr, norm="spectral"), SGD, None),
    "orthoprox, betas": (lambda model, lr: ours(model, lr, betas=(0.9, 0.999)), LENGTH, None),
    "POGO, SGD": (pogo("SGD"), SGD, "pogo"),
    "POGO, Nesterov": (pogo("Nesterov"), SGD, "pogo"),
    "POGO, VectorAdam": (pogo("Adam"), tuple(10 * lr for lr in LENGTH), "pogo"),
    **{f"geoopt, {way}": (geoopt(way), grid, "geoopt") for way, grid in WAYS.items()},
    **{f"GeoTorch, {way}": (geotorch(way), grid, "geotorch") for way, grid in WAYS.items()},
    **{f"unconstrained, {way}": (plain(way), grid, None) for way, grid in WAYS.items()},
}
"""Name -> how it is made, the six values of lr it may choose from, the package it needs."""


def installed() -> list[str]:
    return [name for name, (_, _, needs) in METHODS.items() if needs is None or importlib.util.find_spec(needs)]


def infeasibility(model: nn.Module) -> float:
    found = 0.0
    for stack in stacks(model).values():
        W = stack.matrices().detach().double()
        found = max(found, float((W @ W.mT - torch.eye(W.shape[1], dtype=W.dtype)).abs().max()))
    return found


__all__ = ["METHODS", "Stacked", "infeasibility", "installed"]

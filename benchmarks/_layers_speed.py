"""The time of one step on stacks of matrices, method by method."""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrizations

from orthoprox.nn import OrthoProx, orthogonal_
from orthoprox.terms import L1, GroupL2, LargestK

LARGE = ((1, 1024, 4096), (1024, 64, 64), (16, 256, 1024), (4096, 16, 64))
SMALL = ((1, 256, 1024), (64, 64, 64), (4, 128, 512), (256, 16, 64))
"""The shapes on a GPU, and on a processor."""
ENOUGH = 0.4  # seconds for each number
TURNS, MOST = 4, 50  # in which they are spent, and calls in a turn


def start(shape: tuple[int, int, int], device: str) -> tuple[Any, Any]:
    draw = torch.Generator().manual_seed(0)
    b, p, n = shape
    W = torch.linalg.qr(torch.randn(b, n, p, generator=draw))[0].mT.contiguous()
    return W.to(device), 0.01 * torch.randn(shape, generator=draw).to(device)


def ours(shape: Any, device: str, **settings: Any) -> Callable[[], None]:
    W, G = start(shape, device)
    holder = nn.Module()
    holder.weight = nn.Parameter(W)
    orthogonal_(holder, init="keep")
    holder.weight.grad = G
    return OrthoProx([holder.weight], lr=0.01, **settings).step


def ours_apart(shape: Any, device: str, **settings: Any) -> Callable[[], None]:
    """The same matrices as parameters of their own."""
    W, G = start(shape, device)
    holders = []
    for w, g in zip(W, G, strict=True):
        holder = nn.Module()
        holder.weight = nn.Parameter(w.clone())
        orthogonal_(holder, init="keep")
        holder.weight.grad = g.clone()
        holders.append(holder)
    return OrthoProx([holder.weight for holder in holders], lr=0.01, **settings).step


def largest_k(shape: Any) -> Any:
    """A fifth of the entries, as the sparse runs ask for."""
    return 1e-3 * (L1() - LargestK(max(shape[1], shape[1] * shape[2] // 5)))


def floor(shape: Any, device: str) -> Callable[[], None]:
    """A prox and two Newton-Schulz steps, with nothing around them."""
    W, G = start(shape, device)

    def step() -> None:
        Y = W - 0.01 * G
        for _ in range(2):
            Y = 1.5 * Y - 0.5 * torch.bmm(torch.bmm(Y, Y.mT), Y)
        Y - Y.clamp(-1e-3, 1e-3)

    return step


def floor_in_place(shape: Any, device: str) -> Callable[[], None]:
    """The same in as few calls as there can be, into memory that is there."""
    W, G = start(shape, device)
    Y, Z, C = torch.empty_like(W), torch.empty_like(W), W @ W.mT

    def step() -> None:
        torch.add(W, G, alpha=-0.01, out=Y)
        for one, other in ((Y, Z), (Z, Y)):
            torch.bmm(one, one.mT, out=C)
            torch.baddbmm(one, C, one, beta=1.5, alpha=-0.5, out=other)
        torch.sub(Y, torch.clamp(Y, -1e-3, 1e-3, out=Z), out=Y)

    return step


def by_svd(shape: Any, device: str) -> Callable[[], None]:
    W, G = start(shape, device)

    def step() -> None:
        U, _, Vt = torch.linalg.svd(W - 0.01 * G, full_matrices=False)
        torch.bmm(U, Vt)

    return step


def pogo(shape: Any, device: str) -> Callable[[], None]:
    from pogo import POGO, base

    W, G = start(shape, device)
    p = nn.Parameter(W)
    p.grad = G
    return POGO([p], base.SGD(momentum=0.9), 0.01).step


def geoopt(adam: bool) -> Callable[[Any, str], Callable[[], None]]:
    def make(shape: Any, device: str) -> Callable[[], None]:
        import geoopt as library

        W, G = start(shape, device)
        p = library.ManifoldParameter(W.mT.contiguous(), manifold=library.Stiefel())
        p.grad = G.mT.contiguous()
        kind = library.optim.RiemannianAdam if adam else library.optim.RiemannianSGD
        return kind([p], lr=0.01, **({} if adam else {"momentum": 0.9})).step

    return make


def parametrised(by: str) -> Callable[[Any, str], Callable[[], None]]:
    """Forward, backward and step: a parametrisation costs something in each."""

    def make(shape: Any, device: str) -> Callable[[], None]:
        W, G = start(shape, device)
        holder = nn.Module()
        holder.weight = nn.Parameter(W)
        if by == "geotorch":
            import geotorch

            geotorch.orthogonal(holder, "weight")
        else:
            parametrizations.orthogonal(holder, "weight", orthogonal_map=by, use_trivialization=False)
        optimiser = torch.optim.SGD(holder.parameters(), lr=0.01, momentum=0.9)

        def step() -> None:
            optimiser.zero_grad()
            (holder.weight * G).sum().backward()
            optimiser.step()

        return step

    return make


COLUMNS: dict[str, tuple[Callable[..., Callable[[], None]], str | None]] = {
    "floor": (floor, None),
    "floor in place": (floor_in_place, None),
    "orthoprox": (ours, None),
    "orthoprox, L1": (lambda shape, device: ours(shape, device, penalty=1e-3 * L1()), None),
    "orthoprox, L1, apart": (lambda shape, device: ours_apart(shape, device, penalty=1e-3 * L1()), None),
    "orthoprox, L1 minus largest-k": (lambda shape, device: ours(shape, device, penalty=largest_k(shape)), None),
    "orthoprox, group norm": (lambda shape, device: ours(shape, device, penalty=1e-3 * GroupL2("columns")), None),
    "orthoprox, betas": (lambda shape, device: ours(shape, device, betas=(0.9, 0.99)), None),
    "orthoprox, tangent": (lambda shape, device: ours(shape, device, tangent=True), None),
    "orthoprox, spectral": (lambda shape, device: ours(shape, device, norm="spectral"), None),
    "POGO": (pogo, "pogo"),
    "geoopt SGD": (geoopt(False), "geoopt"),
    "geoopt Adam": (geoopt(True), "geoopt"),
    "GeoTorch": (parametrised("geotorch"), "geotorch"),
    "cayley": (parametrised("cayley"), None),
    "matrix_exp": (parametrised("matrix_exp"), None),
    "householder": (parametrised("householder"), None),
    "SVD": (by_svd, None),
}


def speed(device: str, only: tuple[str, ...] = ()) -> dict[str, dict[str, float | None]]:
    """Milliseconds of each column for each shape; None where a package is missing or a method cannot take the shape.

    All columns of a row are timed in turns, so that what else the machine does meets all of them alike. On a processor
    it is the time of this process on it.
    """
    found: dict[str, dict[str, float | None]] = {}
    for shape in LARGE if device == "cuda" else SMALL:
        steps, slow = {}, {}
        for name, (make, needs) in COLUMNS.items():
            if (needs is None or importlib.util.find_spec(needs) is not None) and (not only or name in only):
                try:
                    steps[name] = make(shape, device)
                    slow[name] = warm_up(steps[name])
                except (RuntimeError, NotImplementedError, ValueError) as error:
                    print(f"{name} on {shape}: {str(error).splitlines()[0][:90]}", flush=True)
                    steps.pop(name, None)
        times: dict[str, list[float]] = {name: [] for name in steps}
        for k in range(TURNS):
            for name, step in steps.items():
                if k < 2 or not slow[name]:
                    times[name] += turn(step, device, slow[name])
        row = found.setdefault(" x ".join(map(str, shape)), dict.fromkeys(COLUMNS))
        for name, some in times.items():
            row[name] = statistics.median(some)
            print(shape, name, row[name], flush=True)
    return found


def warm_up(step: Callable[[], None]) -> bool:
    """Some calls that do not count; whether one takes so long that few are enough."""
    for _ in range(4):
        begun = time.perf_counter()
        step()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    return time.perf_counter() - begun > ENOUGH / TURNS


def turn(step: Callable[[], None], device: str, slow: bool) -> list[float]:
    """The times of some calls: at least one, and no more once they have taken enough."""
    times: list[float] = []
    if not slow:
        step()  # what the other columns left in caches does not count
    while sum(times) < 1e3 * ENOUGH / TURNS and len(times) < MOST:
        times.append(timed(step, device))
    return times


def timed(step: Callable[[], None], device: str) -> float:
    """Milliseconds of one call."""
    if device == "cuda":
        torch.cuda.synchronize()
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        step()
        last.record()
        last.synchronize()
        return float(first.elapsed_time(last))
    begun = time.process_time()
    step()
    return 1e3 * (time.process_time() - begun)

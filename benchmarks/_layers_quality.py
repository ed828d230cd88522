"""Accuracy of small networks with orthonormal weights, dense and sparse, method by method."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import torch
from _layers_methods import METHODS, infeasibility, installed, others, weights
from _layers_runs import Store
from _layers_tasks import TASKS, accuracy, present, stacks, train

from orthoprox.nn import OrthoProx, finish_, orthogonal_
from orthoprox.terms import L1, LargestK

SHARES = (0.2, 0.1)
RISE = (0.25, 0.75)
WEIGHTS = (0.003, 0.01, 0.03, 0.1)
FEW, EIGHT = 2, 8
"""Seeds of the choice of weights, and of the table with zeros."""
ROUNDS = ((2, 4), (6, 2), (None, 1))
"""Of the choice of lr: on how many seeds, or on all, and how many values of lr are left."""
AFTER = 0.1
"""The share of their lr with which the orthonormal weights begin to be tuned on their support, for every way."""


@dataclass(frozen=True)
class Choice:
    """What a table is of: some tasks and methods, and other seeds than its own; all of them where nothing is named."""

    tasks: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()


EVERYTHING = Choice()


def dense(name: str, method: str, lr: float, seed: int) -> dict[str, Any]:
    """One run of a task by a method."""
    torch.manual_seed(seed)
    task = TASKS[name]
    model, (data, test) = task.model(), task.data(seed)
    begun = time.time()
    curve = train(model, METHODS[method][0](model, lr), data, task.epochs, test, task.batch)
    return {"curve": curve, "infeasibility": infeasibility(model), "seconds": time.time() - begun}


def end(run: dict[str, Any]) -> float:
    """The accuracy at the end; zero for a run that diverged."""
    value = run["curve"][-1]
    return value if math.isfinite(value) else 0.0


def score(runs: list[dict[str, Any]]) -> tuple[float, float]:
    """What choices are made by: the accuracy at the end; among equals the whole curve, so the faster one."""
    if any(math.isnan(value) for run in runs for value in run["curve"]):
        return 0.0, 0.0
    return sum(end(run) for run in runs), sum(sum(run["curve"]) for run in runs)


def chosen(store: Store, task: str, method: str) -> float | None:
    """The lr with the best mean: all on two seeds, the best four on six, the best two on all seeds of the choice."""
    lrs, seeds = METHODS[method][1], TASKS[task].tuning
    for count, left in ROUNDS:
        runs = {lr: store.all([("dense", task, method, lr, seed) for seed in seeds[:count]]) for lr in lrs}
        if any(some is None for some in runs.values()):
            return None
        lrs = tuple(sorted(lrs, key=lambda lr: score(runs[lr] or []), reverse=True)[:left])
    return lrs[0]


def quality(store: Store, choice: Choice = EVERYTHING) -> dict[str, dict[str, Any]]:
    """Of each task and method: the chosen lr, and the runs that are reported."""
    found: dict[str, dict[str, Any]] = {}
    for task in [task for task in present() if not choice.tasks or task in choice.tasks]:
        for method in [method for method in installed() if not choice.methods or method in choice.methods]:
            lr = chosen(store, task, method)
            if lr is not None:
                runs = store.all([("dense", task, method, lr, seed) for seed in choice.seeds or TASKS[task].reported])
                if runs is not None:
                    found.setdefault(task, {})[method] = {"lr": lr, "runs": runs}
    return found


def sparse(name: str, way: str, share: float, lr: float, weight: float, seed: int) -> dict[str, Any]:
    """Train, make sparse, tune on the support. A way is "L1", "L1 - LargestK" or "pruning", with "blocks" to start."""
    torch.manual_seed(seed)
    task = TASKS[name]
    model, (data, test) = task.model(), task.data(seed)
    parts = {name: part for name, part in stacks(model).items() if name.rpartition(".")[2] in task.sparse}
    for name, part in stacks(model).items():
        _, p, n = part.weight.shape
        term = {"L1": lambda k: L1(), "L1 - LargestK": lambda k: L1() - LargestK(k)}.get(way.partition(",")[0])
        mine = name in parts
        penalty = weight * term(max(p, int(share * p * n))) if term is not None and mine else None
        orthogonal_(part, penalty=penalty, init=("blocks", round(share * p)) if "blocks" in way and mine else "nearest")
    steps = task.epochs * -(-len(data[0]) // task.batch)
    optimiser = OrthoProx(weights(model), lr=lr, weight_schedule=lambda t: rise(t / steps))
    both = [optimiser, others(model)]
    curve = train(model, both, data, task.epochs, test, task.batch)
    for part in parts.values():
        finish_(part, nonzeros=share)
    finished = accuracy(model, test)
    curve += train(model, both, data, task.tune, test, task.batch, AFTER)
    zeros = sum(1 - float((part.weight != 0).float().mean()) for part in parts.values()) / len(parts)
    return {"curve": curve, "finished": finished, "zeros": zeros, "infeasibility": infeasibility(model)}


def rise(time: float) -> float:
    """The factor on the penalty by the share of steps taken: none until the loss has fallen, all before lr is small."""
    return min(1.0, max(0.0, (time - RISE[0]) / (RISE[1] - RISE[0])))


def ways(task: str) -> tuple[str, ...]:
    both = ("L1", "L1 - LargestK", "pruning")
    return (*(f"{way}, blocks" for way in both), "pruning") if TASKS[task].square else both


def options(store: Store, task: str, way: str) -> list[tuple[float, float]]:
    """Four pairs of lr and weight to choose from for every way: pruning has no weight and varies lr."""
    lr = chosen(store, task, "orthoprox")
    if lr is None:
        return []
    return [(f * lr, 0.0) for f in (0.1, 0.3, 1.0, 3.0)] if way.startswith("pruning") else [(lr, w) for w in WEIGHTS]


def sparsity(store: Store) -> dict[str, dict[str, Any]]:
    """Of each task, share of nonzeros and way: what was chosen, and the runs that are reported."""
    found: dict[str, dict[str, Any]] = {}
    for task in present():
        for share in SHARES:
            for way in ways(task):
                choices = options(store, task, way)
                tried = [
                    store.all([("sparse", task, way, share, *o, s) for s in TASKS[task].tuning[:FEW]]) for o in choices
                ]
                if not tried or any(some is None for some in tried):
                    continue
                best = max(zip(choices, tried, strict=True), key=lambda pair: score(pair[1] or []))[0]
                runs = store.all([("sparse", task, way, share, *best, s) for s in TASKS[task].reported[:EIGHT]])
                if runs is not None:
                    found.setdefault(f"{task} {share}", {})[way] = {"option": best, "runs": runs}
    return found


MAKE = {"dense": dense, "sparse": sparse}

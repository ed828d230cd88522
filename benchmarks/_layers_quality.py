"""Accuracy of small networks with orthonormal weights, dense and sparse, method by method."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import torch
from _layers_methods import METHODS, infeasibility, installed, others, weights
from _layers_tasks import TASKS, Task, accuracy, stacks, train

from orthoprox.nn import OrthoProx, finish_, orthogonal_
from orthoprox.terms import L1, LargestK

SHARES = (0.2, 0.1)
TUNE = 2
"""Epochs of fine-tuning on the support with a tenth of lr, for every way."""
WEIGHTS = (0.003, 0.01, 0.03)


class Store:
    """Results by key in a file, so that a run that was cut short goes on."""

    def __init__(self, file: Path, minutes: float) -> None:
        self.file, self.until = file, time.time() + 60 * minutes
        self.known: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}

    def get(self, key: str, make: Any) -> Any:
        if key not in self.known:
            if time.time() > self.until:
                raise SystemExit("The time is over: repeat the command.")
            self.known[key] = make()
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_text(json.dumps(self.known))
        return self.known[key]


def dense(task: Task, name: str, lr: float, seed: int) -> dict[str, Any]:
    torch.manual_seed(seed)
    model, (data, test) = task.model(), task.data(seed)
    begun = time.time()
    curve = train(model, METHODS[name][0](model, lr), data, task.epochs, test)
    return {"curve": curve, "infeasibility": infeasibility(model), "seconds": time.time() - begun}


def end(curve: list[float]) -> float:
    """The mean over the last three epochs, which is less noisy than the last one; zero for a run that diverged."""
    value = sum(curve[-3:]) / 3
    return value if math.isfinite(value) else 0.0


def chosen(store: Store, task: str, name: str) -> float:
    """The lr with the best mean over the tuning seeds."""
    spec, lrs = TASKS[task], METHODS[name][1]

    def score(lr: float) -> float:
        return sum(end(known(store, task, name, lr, seed)["curve"]) for seed in spec.tuning)

    return max(lrs, key=score)


def known(store: Store, task: str, name: str, lr: float, seed: int) -> Any:
    return store.get(f"{task}|{name}|{lr}|{seed}", lambda: dense(TASKS[task], name, lr, seed))


def quality(store: Store, without: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Of each task and method: the chosen lr, and the runs that are reported; some pairs may be left out."""
    found: dict[str, dict[str, Any]] = {}
    for task, spec in TASKS.items():
        found[task] = {}
        for name in installed():
            if any(f"{task} {name}".startswith(pair) for pair in without):
                continue
            lr = chosen(store, task, name)
            runs = [known(store, task, name, lr, seed) for seed in spec.reported]
            found[task][name] = {"lr": lr, "runs": runs}
            print(f"{task}: {name}, lr {lr:g}, {sum(end(r['curve']) for r in runs) / len(runs):.4f}", flush=True)
    return found


def sparse(task: Task, way: str, share: float, lr: float, weight: float, seed: int) -> dict[str, Any]:
    """Train, make sparse, tune on the support. A way is "L1", "L1 - LargestK" or "pruning", with "blocks" to start."""
    torch.manual_seed(seed)
    model, (data, test) = task.model(), task.data(seed)
    parts = {name: part for name, part in stacks(model).items() if name.rpartition(".")[2] in task.sparse}
    for name, part in stacks(model).items():
        _, p, n = part.weight.shape
        term = {"L1": lambda k: L1(), "L1 - LargestK": lambda k: L1() - LargestK(k)}.get(way.partition(",")[0])
        mine = name in parts
        penalty = weight * term(max(p, int(share * p * n))) if term is not None and mine else None
        orthogonal_(part, penalty=penalty, init=("blocks", round(share * p)) if "blocks" in way and mine else "nearest")
    steps = task.epochs * -(-len(data[0]) // 50)
    optimiser = OrthoProx(weights(model), lr=lr, weight_schedule=lambda t: min(1.0, 2 * t / steps))
    both = [optimiser, others(model)]
    curve = train(model, both, data, task.epochs, test)
    after = {}
    for name, part in parts.items():
        after[name] = finish_(part, nonzeros=share)
    finished = accuracy(model, test)
    for group in optimiser.param_groups:
        group["lr"] = 0.1 * lr
    curve += train(model, both, data, TUNE, test)
    zeros = sum(1 - float((part.weight != 0).float().mean()) for part in parts.values()) / len(parts)
    return {"curve": curve, "finished": finished, "zeros": zeros, "infeasibility": infeasibility(model)}


def ways(task: Task) -> tuple[str, ...]:
    both = ("L1", "L1 - LargestK", "pruning")
    return (*(f"{way}, blocks" for way in both), "pruning") if task.square else both


def sparsity(store: Store) -> dict[str, dict[str, Any]]:
    """Of each task, share of nonzeros and way: what was chosen, and the runs that are reported."""
    found: dict[str, dict[str, Any]] = {}
    for task, spec in TASKS.items():
        for share in SHARES:
            for way in ways(spec):
                lr = chosen(store, task, "orthoprox")
                # three runs to choose from for every way: weights of the penalty, or lr for pruning, which has none
                options = [(lr, w) for w in WEIGHTS]
                if way.startswith("pruning"):
                    options = [(one * lr, 0.0) for one in (0.3, 1.0, 3.0)]

                def run(option: Any, seed: int, way: str = way, share: float = share, task: str = task) -> Any:
                    key = f"sparse|{task}|{way}|{share}|{option}|{seed}"
                    return store.get(key, lambda: sparse(TASKS[task], way, share, *option, seed))

                best = max(options, key=lambda option: sum(run(option, s)["curve"][-1] for s in spec.tuning[:1]))
                runs = [run(best, s) for s in spec.reported[:3]]
                found.setdefault(f"{task} {share}", {})[way] = {"option": best, "runs": runs}
                mean = sum(r["curve"][-1] for r in runs) / len(runs)
                print(f"{task} {1 - share:.0%}: {way} {best}, {mean:.4f}", flush=True)
    return found

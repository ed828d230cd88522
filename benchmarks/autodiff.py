"""Whether Newton steps pay for a user's function that PyTorch differentiates.

The same function is solved to Crit 1e-6 in three ways: by gradient blocks; with its gradient alone, of which the
default solver takes differences; as a function alone, which it differentiates twice. Evaluations count the function,
also inside derivatives.

    python benchmarks/autodiff.py [--quick]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from orthoprox import Critical, Iterations, Problem, Seconds, Stiefel, named, solve
from orthoprox._extras import extra
from orthoprox.maps import Difference
from orthoprox.terms import L1, GroupL2, Smooth

Case = tuple[Callable[[Any], Any], Any, int, int]
SECONDS = 60.0
WAYS = ("gradient", "differences", "Newton")


def cases(torch: Any, seed: int) -> dict[str, Case]:
    """Functions f, terms h, n and r; the data are drawn anew for each seed."""
    rng = np.random.default_rng(seed)

    def tensor(a: Any) -> Any:
        return torch.tensor(np.ascontiguousarray(a))

    mixed = tensor(rng.laplace(size=(1500, 40)) @ np.linalg.qr(rng.standard_normal((40, 40)))[0])
    P = tensor(rng.standard_normal((200, 30)) / np.sqrt(30) * 2)
    X = np.linalg.qr(np.linalg.qr(rng.standard_normal((30, 4)))[0] * (rng.random((30, 4)) < 0.4))[0]
    counts = tensor(rng.poisson(np.exp(P.numpy() @ X)).astype(float))
    D = tensor(rng.standard_normal((300, 40)))
    X = np.linalg.qr(np.vstack([rng.standard_normal((12, 5)), np.zeros((28, 5))]))[0]
    Y = tensor(D.numpy() @ X + 0.1 * rng.standard_t(1.5, size=(300, 5)))
    codes = rng.standard_normal((1000, 30)) * (rng.random((1000, 30)) < 0.2)
    coded = tensor(codes @ np.linalg.qr(rng.standard_normal((30, 30)))[0])
    W = np.linalg.qr(np.repeat(rng.standard_normal((6, 4)), 5, axis=0))[0]
    L = tensor(rng.standard_normal((400, 30)) * 3)
    labels = torch.tensor(np.argmax(L.numpy() @ W + rng.gumbel(size=(400, 4)), axis=1))
    cross_entropy = torch.nn.functional.cross_entropy
    return {
        "log-cosh ICA, l1": (lambda X: -torch.log(torch.cosh(mixed @ X)).mean(), 0.002 * L1(), 40, 6),
        "Poisson, l1": (lambda X: (torch.exp(P @ X) - counts * (P @ X)).mean(), 0.01 * L1(), 30, 4),
        "pseudo-Huber, rows": (lambda X: (torch.sqrt(1 + (D @ X - Y) ** 2) - 1).mean(), 0.02 * GroupL2(), 40, 5),
        "quartic dictionary, l1": (lambda X: -((coded @ X) ** 4).mean(), 0.01 * L1(), 30, 5),
        "logistic, differences": (lambda X: cross_entropy(L @ X, labels), 0.01 * L1() @ Difference(), 30, 4),
    }


def run(torch: Any, case: Case, seed: int, way: str) -> tuple[float, int, float, float]:
    """Seconds, evaluations, F and Crit of a run."""
    f, h, n, r = case
    asked = [0]

    def function(X: Any) -> Any:
        asked[0] += 1
        return f(X)

    own = Smooth(function) if way == "Newton" else Smooth(function, torch.func.grad(function))
    solver = named("oadmm", fast="gradient", polish=False) if way == "gradient" else named("oadmm")
    problem = Problem.of(own + h, over=(n, r))
    since = time.perf_counter()
    stop = Critical(1e-6) | Iterations(3000) | Seconds(SECONDS)
    result = solve(problem, solver, X0=torch.tensor(Stiefel(n, r).random(seed)), stop=stop)
    return time.perf_counter() - since, asked[0], result.objective, result.criticality


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed instead of three")
    seeds = (1,) if parser.parse_args().quick else (1, 2, 3)
    try:
        torch = extra("torch", "torch", "This benchmark")
    except ModuleNotFoundError as error:
        print(error)
        return
    torch.set_num_threads(1)
    columns = ("seconds", "evaluations", "F, by seed")
    print("| problem | " + " | ".join(f"{way}: {name}" for way in WAYS for name in columns) + " |")
    print("|---|" + "---|" * len(WAYS) * len(columns))
    for name in cases(torch, 0):
        cells = []
        for way in WAYS:
            runs = [run(torch, cases(torch, seed)[name], seed, way) for seed in seeds]
            seconds, asked = (statistics.median(one[i] for one in runs) for i in (0, 1))
            values = ", ".join(f"{F:.6f}" + ("" if crit <= 1e-6 else f" (Crit {crit:.0e})") for _, _, F, crit in runs)
            cells += [f"{seconds:.2f}", f"{asked:.0f}", values]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

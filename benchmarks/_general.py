"""5. General problems: time to a critical point, or to the known solution."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from _problems import problems
from _runs import (
    LITERAL,
    OURS,
    PEERS,
    Instance,
    Job,
    Options,
    Outcome,
    count,
    geometric_mean,
    methods_in,
    table,
    with_common_starts,
)

from orthoprox import named
from orthoprox.maps import Identity

METHODS = (OURS, *PEERS, *LITERAL)
NOTE = """The problems of `benchmarks/_problems.py`: seconds until Crit is at most 1e-6, or, where the solution is
known (the complement of the inliers' span, the dictionary), until X is within 1e-6 of it; geometric mean over {starts}.
A run that does not get there within {seconds:g} s is counted at {seconds:g} s; > says how many of them."""


@functools.lru_cache(maxsize=1)
def kinds() -> dict[str, Any]:
    return problems()


@functools.lru_cache(maxsize=8)
def instance(case: tuple[Any, ...]) -> Instance:
    problem = kinds()[case[0]]
    distance = distance_to_solution(case[0], problem)
    # ManPG takes a general A only by its dual inner solver, which has to be asked for.
    variants = {} if isinstance(problem.A, Identity) else {"manpg-ada": named("manpg-ada", inner="dual")}
    if distance is None:
        return with_common_starts(problem, variants=variants)
    return with_common_starts(
        problem,
        variants=variants,
        residual=lambda now: min(now.criticality, distance(now.X)),
        measure=lambda X: {"distance": distance(X)},
    )


def distance_to_solution(kind: str, problem: Any) -> Callable[[Any], float] | None:
    """The distance to the solution that the data were made from, where there is one."""
    if kind.startswith("dual PCP"):
        _, _, Vt = np.linalg.svd(problem.A.B[:500])
        basis = Vt[: problem.M.n - problem.M.r]  # of the inliers' span
        return lambda X: float(np.linalg.norm(basis @ X))
    if kind == "dictionary":
        Q, _ = np.linalg.qr(np.random.default_rng(3).standard_normal((20, 20)))  # as the data were made

        def distance(X: Any) -> float:
            C = np.abs(Q.T @ X)
            nearest = np.zeros_like(C)
            nearest[np.argmax(C, axis=0), np.arange(20)] = 1.0
            return float(np.linalg.norm(C - nearest))

        return distance
    return None


def jobs(options: Options) -> list[Job]:
    seconds, starts = options.seconds or (1.0 if options.quick else 3.0), options.starts or (1 if options.quick else 5)
    return [
        Job(__name__, (kind,), method, seed, seconds)
        for kind in kinds()
        for seed in range(starts)
        for method in METHODS
    ]


def report(outcomes: Mapping[tuple[Any, ...], Outcome]) -> str:
    cases = list(dict.fromkeys(case for case, _, _ in outcomes))
    seeds = sorted({seed for _, _, seed in outcomes})
    methods, times, values, verdicts = methods_in(outcomes), [], [], []
    for case in cases:
        found = {
            method: [outcomes[case, method, seed] for seed in seeds]
            for method in methods
            if (case, method, seeds[0]) in outcomes
        }
        cost = {method: geometric_mean(one.counted for one in runs) for method, runs in found.items()}
        missed = {method: sum(math.isinf(one.time) for one in runs) for method, runs in found.items()}
        best = min((method for method in cost if method != OURS), key=lambda method: (missed[method], cost[method]))
        good = missed[OURS] == 0 and cost[OURS] <= cost[best]
        times.append([case[0], *(_cell(cost, missed, method) for method in methods)])
        values.append([case[0], *(_value(found.get(method)) for method in methods)])
        distances = [one.more["distance"] for one in found[OURS] if "distance" in one.more]
        verdicts.append(
            [
                case[0],
                f"{len(seeds) - missed[OURS]} of {len(seeds)}",
                f"{max(one.residual for one in found[OURS]):.0e}",
                f"{max(distances):.0e}" if distances else "-",
                f"{best} ({len(seeds) - missed[best]} of {len(seeds)})",
                f"{cost[best] / cost[OURS]:.2f}",
                "yes" if good else "NO",
            ]
        )
    head = ["problem", "we reached it", "our residual", "our distance", "best peer", "its time / ours", "met"]
    seconds = next(iter(outcomes.values())).job.seconds
    return "\n\n".join(
        [
            "## 5. General problems",
            NOTE.format(starts=count(len(seeds), "start"), seconds=seconds),
            table(["problem", *methods], times),
            "Final F, mean over the starts:",
            table(["problem", *methods], values),
            "The best peer is the fastest of those that got there from most starts:",
            table(head, verdicts),
        ]
    )


def _cell(cost: Mapping[str, float], missed: Mapping[str, int], method: str) -> str:
    if method not in cost:
        return "refused"
    return f"{cost[method]:.3f}" + (f" (> {missed[method]})" if missed[method] else "")


def _value(runs: list[Outcome] | None) -> str:
    return "refused" if runs is None else f"{np.mean([one.F for one in runs]):.7g}"

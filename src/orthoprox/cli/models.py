"""The models that ``orthoprox solve`` knows. ``MODELS`` has a line for every one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orthoprox import Problem
from orthoprox.cli.source import source_of
from orthoprox.maps import as_map
from orthoprox.maps._frobenius import frobenius_squared
from orthoprox.models import compressed_modes, sparse_pca


@dataclass(frozen=True)
class Ask:
    """What the user wants solved."""

    data: str
    components: int
    weight: float | None
    nonzeros: int | None
    seed: int
    folder: Path | None
    prepare: str | None


@dataclass(frozen=True)
class Built:
    """A problem, the names of the rows of X, and what to say about it in the summary."""

    problem: Problem
    rows: list[str]
    about: dict[str, Any]
    measures: dict[str, Callable[[Any], float]] = field(default_factory=dict)
    """Further numbers of a solution."""


@dataclass(frozen=True)
class Model:
    """A model: what it is, what DATA means for it, and how its problem is built."""

    summary: str
    data: str
    build: Callable[[Ask], Built]


def _sparse_pca(ask: Ask) -> Built:
    source = source_of(ask.data, seed=ask.seed, folder=ask.folder, prepare=ask.prepare)
    B = as_map(source.D, "D")
    m, whole = source.shape[0], frobenius_squared(B)
    weight = 0.1 * B.norm**2 / m if ask.weight is None else ask.weight
    problem = sparse_pca(B, n_components=ask.components, weight=weight, k=ask.nonzeros)
    about = {"data": source.about, "weight": weight, "nonzeros_free": ask.nonzeros}
    measures = {"variance_explained": lambda X: float((B(X) ** 2).sum()) / whole if whole > 0 else 0.0}
    return Built(problem, source.features, about, measures)


def _compressed_modes(ask: Ask) -> Built:
    if ask.nonzeros is not None or ask.prepare is not None:
        raise ValueError("compressed-modes has neither data to prepare nor free entries: no --prepare, no --nonzeros.")
    if not ask.data.isdecimal():
        raise ValueError(f"compressed-modes takes a number of grid points, as in 128, and no data; given {ask.data!r}.")
    n, weight = int(ask.data), 0.1 if ask.weight is None else ask.weight
    problem = compressed_modes(n, n_components=ask.components, weight=weight)
    return Built(problem, [str(i) for i in range(n)], {"grid_points": n, "weight": weight})


MODELS: dict[str, Model] = {
    "sparse-pca": Model("principal components with few nonzero loadings", "a dataset or a file", _sparse_pca),
    "compressed-modes": Model("localised modes of a free electron on a ring", "grid points", _compressed_modes),
}

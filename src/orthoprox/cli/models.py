"""The models that ``orthoprox solve`` knows. ``MODELS`` has a line for every one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orthoprox import Problem
from orthoprox.cli.source import Source, source_of
from orthoprox.maps import LinearMap, as_map
from orthoprox.maps._frobenius import frobenius_squared
from orthoprox.models import compressed_modes, dual_pcp, nonnegative_pca, orthogonal_dictionary, sparse_pca


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


def _data(ask: Ask) -> tuple[Source, LinearMap]:
    source = source_of(ask.data, seed=ask.seed, folder=ask.folder, prepare=ask.prepare)
    return source, as_map(source.D, "D")


def _variance_explained(B: LinearMap) -> dict[str, Callable[[Any], float]]:
    whole = frobenius_squared(B)
    return {"variance_explained": lambda X: float((B(X) ** 2).sum()) / whole if whole > 0 else 0.0}


def _refuse(ask: Ask, model: str, *options: str) -> None:
    """Refuse options that a model has no use for."""
    for name in options:
        if getattr(ask, name) is not None:
            raise ValueError(f"{model} has no --{name}; leave it out.")


def _sparse_pca(ask: Ask) -> Built:
    source, B = _data(ask)
    weight = 0.1 * B.norm**2 / source.shape[0] if ask.weight is None else ask.weight
    problem = sparse_pca(B, n_components=ask.components, weight=weight, k=ask.nonzeros)
    about = {"data": source.about, "weight": weight, "nonzeros_free": ask.nonzeros}
    return Built(problem, source.features, about, _variance_explained(B))


def _nonnegative_pca(ask: Ask) -> Built:
    _refuse(ask, "nonnegative-pca", "nonzeros")
    source, B = _data(ask)
    weight = B.norm**2 / source.shape[0] if ask.weight is None else ask.weight
    problem = nonnegative_pca(B, n_components=ask.components, weight=weight)
    return Built(problem, source.features, {"data": source.about, "weight": weight}, _variance_explained(B))


def _dual_pcp(ask: Ask) -> Built:
    _refuse(ask, "dual-pcp", "nonzeros", "weight")
    source, B = _data(ask)
    return Built(dual_pcp(B, codimension=ask.components), source.features, {"data": source.about})


def _dictionary(ask: Ask) -> Built:
    _refuse(ask, "dictionary", "nonzeros", "weight")
    source, B = _data(ask)
    return Built(orthogonal_dictionary(B, n_components=ask.components), source.features, {"data": source.about})


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
    "nonnegative-pca": Model(
        "principal components, negative loadings penalised", "a dataset or a file", _nonnegative_pca
    ),
    "dual-pcp": Model("normals of the subspace that holds most samples", "a dataset or a file", _dual_pcp),
    "dictionary": Model("orthonormal atoms with sparse coefficients", "a dataset or a file", _dictionary),
    "compressed-modes": Model("localised modes of a free electron on a ring", "grid points", _compressed_modes),
}

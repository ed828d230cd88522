"""The models that ``orthoprox solve`` knows. ``MODELS`` has a line for every one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from array_api_compat import is_numpy_array

from orthoprox import Problem
from orthoprox._memory import check_memory
from orthoprox.backends.devices import Mover
from orthoprox.blocks import Rows
from orthoprox.cli.source import Source, Where, find_source
from orthoprox.cli.tables.places import count
from orthoprox.maps import Blocked, LinearMap, as_map
from orthoprox.maps._frobenius import frobenius_squared
from orthoprox.models import compressed_modes, dual_pcp, nonnegative_pca, orthogonal_dictionary, sparse_pca

COPIES = 6
"""Matrices of the size of X, or of its product with the data, that a method holds at a time."""
MOST_DIGITS = 30


@dataclass(frozen=True)
class SolveRequest:
    """What the user asked for."""

    data: str
    components: int
    weight: float | None
    nonzeros: int | None
    seed: int
    folder: Path | None
    prepare: str | None
    where: Where = field(default_factory=Where)
    move: Mover | None = None
    """Puts the data where the user wants them; None where nothing was said about that."""


@dataclass(frozen=True)
class NamedProblem:
    """A problem, the names of the rows of X, and entries for the summary."""

    problem: Problem
    rows: Sequence[Any]
    about: dict[str, Any]
    measures: dict[str, Callable[[Any], float]] = field(default_factory=dict)
    """Further numbers of a solution."""
    notes: tuple[str, ...] = ()
    """Remarks for the user."""
    blocks: Rows | None = None
    """The data, where they are in blocks."""


@dataclass(frozen=True)
class Model:
    """A model: what it is, what DATA means for it, and how its problem is built."""

    summary: str
    data: str
    build: Callable[[SolveRequest], NamedProblem]


def _data(request: SolveRequest) -> tuple[Source, LinearMap]:
    source = find_source(
        request.data, seed=request.seed, folder=request.folder, prepare=request.prepare, where=request.where
    )
    # of data in blocks only X is held here, unless h acts on the product
    check_run(source.shape[1] if source.rows is not None else max(source.shape), request.components)
    check_components(source.shape[1], request.components)
    if request.move is None:
        return source, as_map(source.D, "D")
    if isinstance(source.D, np.ndarray):
        return source, as_map(request.move(source.D), "D")
    if is_numpy_array(request.move(np.zeros(1))):
        return source, as_map(source.D, "D")
    kind = "read in blocks" if source.rows is not None else "sparse"
    raise ValueError(
        f"{source.about['name']} is {kind}, and products with it are done on the CPU; leave --device and --library "
        "out, or give dense data that fit into memory."
    )


def check_run(rows: int, components: int) -> None:
    """Refuse a run whose matrices, the larger of X and its product with the data, could not be held."""
    check_memory(COPIES * rows * components, f"A run with matrices of {rows} by {components} numbers")


def check_components(features: int, components: int) -> None:
    """Refuse more columns than there are features, by the name of the option: its default may be too many."""
    if components > features:
        raise ValueError(
            f"--components is {components}, and the data have {count(features, 'feature')}: ask for fewer."
        )


def _weight(request: SolveRequest, source: Source, default: float) -> float:
    return default if request.weight is None else divided_weight(request.weight, source.divisor)


def divided_weight(weight: float, divisor: float) -> float:
    """The weight for data that were divided: it is a variance, and can be lost where theirs cannot be written."""
    value = weight / divisor / divisor
    if weight > 0 and not 0 < value < math.inf:
        raise ValueError(
            f"--weight {weight:g} is nothing beside variances of about {divisor:g}^2, or they are nothing beside it. "
            "Give one of their size, or scale the data."
        )
    return value


def _notes(source: Source) -> tuple[str, ...]:
    if source.divisor == 1:
        return ()
    return (f"The data were divided by {source.divisor:.6g}; weight and objective are those of the divided data.",)


def _variance_explained(B: LinearMap) -> dict[str, Callable[[Any], float]]:
    total = frobenius_squared(B)
    if isinstance(B, Blocked):
        return {"variance_explained": lambda X: float((X * B.gram(X)).sum()) / total if total > 0 else 0.0}
    return {"variance_explained": lambda X: float((B(X) ** 2).sum()) / total if total > 0 else 0.0}


def _refuse(request: SolveRequest, model: str, *options: str) -> None:
    """Refuse options that a model does not use."""
    for name in options:
        if getattr(request, name) is not None:
            raise ValueError(f"{model} has no --{name}; leave it out.")


def _sparse_pca(request: SolveRequest) -> NamedProblem:
    source, B = _data(request)
    weight = _weight(request, source, 0.1 * B.norm**2 / source.shape[0])
    problem = sparse_pca(B, n_components=request.components, weight=weight, k=request.nonzeros)
    about = {"data": source.about, "weight": weight, "nonzeros_free": request.nonzeros}
    return NamedProblem(problem, source.features, about, _variance_explained(B), _notes(source), source.rows)


def _nonnegative_pca(request: SolveRequest) -> NamedProblem:
    _refuse(request, "nonnegative-pca", "nonzeros")
    source, B = _data(request)
    weight = _weight(request, source, B.norm**2 / source.shape[0])
    problem = nonnegative_pca(B, n_components=request.components, weight=weight)
    about = {"data": source.about, "weight": weight}
    return NamedProblem(problem, source.features, about, _variance_explained(B), _notes(source), source.rows)


def _dual_pcp(request: SolveRequest) -> NamedProblem:
    _refuse(request, "dual-pcp", "nonzeros", "weight")
    source, B = _data(request)
    problem = dual_pcp(B, codimension=request.components)
    return NamedProblem(problem, source.features, {"data": source.about}, notes=_notes(source), blocks=source.rows)


def _dictionary(request: SolveRequest) -> NamedProblem:
    _refuse(request, "dictionary", "nonzeros", "weight")
    source, B = _data(request)
    problem = orthogonal_dictionary(B, n_components=request.components)
    return NamedProblem(problem, source.features, {"data": source.about}, notes=_notes(source), blocks=source.rows)


def _compressed_modes(request: SolveRequest) -> NamedProblem:
    if request.nonzeros is not None or request.prepare is not None:
        raise ValueError("compressed-modes takes no --prepare and no --nonzeros; leave them out.")
    if request.move is not None and not is_numpy_array(request.move(np.zeros(1))):
        raise ValueError("compressed-modes has no data to put on a device; leave --device and --library out.")
    if not (request.data.isdecimal() and len(request.data) <= MOST_DIGITS):
        raise ValueError(
            f"compressed-modes takes a number of grid points, as in 128, instead of data; given {request.data!r}."
        )
    n, weight = int(request.data), 0.1 if request.weight is None else request.weight
    check_run(n, request.components)
    problem = compressed_modes(n, n_components=request.components, weight=weight)
    return NamedProblem(problem, range(n), {"grid_points": n, "weight": weight})


MODELS: dict[str, Model] = {
    "sparse-pca": Model("principal components with few nonzero loadings", "a dataset or a file", _sparse_pca),
    "nonnegative-pca": Model(
        "principal components, negative loadings penalised", "a dataset or a file", _nonnegative_pca
    ),
    "dual-pcp": Model("normals of the subspace that holds most samples", "a dataset or a file", _dual_pcp),
    "dictionary": Model("orthonormal atoms with sparse coefficients", "a dataset or a file", _dictionary),
    "compressed-modes": Model("localised modes of a free electron on a ring", "grid points", _compressed_modes),
}

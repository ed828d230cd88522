"""The starting point of a run: check it, move it to where the data are, project it onto the manifold."""

from __future__ import annotations

import math
from typing import Any

from array_api_compat import device

from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.driver._own_parts import check_own_arrays
from orthoprox.problem import Problem
from orthoprox.starts import Drawn, Start


def starting_point(problem: Problem, X0: Array | Start, seed: Any) -> tuple[Drawn, list[str]]:
    """Return a feasible start, and notes for the user on what was changed."""
    if isinstance(X0, Start):
        X = problem.M.random(0, like=problem.like)
        problem.check(X)  # before a start makes products
        check_own_arrays(problem, X)
        return X0.draw(problem, seed), []
    if isinstance(X0, type):
        raise TypeError(f"X0 must be a start, as in {X0.__name__}(); given the class {X0.__name__}.")
    X, notes = _feasible(problem, X0)
    return Drawn(X, "given"), notes


def _feasible(problem: Problem, X0: Array) -> tuple[Array, list[str]]:
    """Return a given X0 where the data are and on the manifold, and notes on that."""
    X0, notes = problem.M.check(X0), []
    data = problem.data
    if data is not None and not _same_kind(X0, data):
        was = f"{backend_of(X0).name} {X0.dtype}"
        X0 = backend_of(data).from_numpy(backend_of(X0).to_numpy(X0), data)
        notes.append(f"X0 was moved from {was} to {backend_of(data).name} {data.dtype}, where the data are")
    eps, r = backend_of(X0).eps(X0), problem.M.r
    with backend_of(X0).quiet():  # an overflow only means that X0 is far off, and so does a difference of two
        gap = float(problem.M.infeasibility(X0))
        gap = math.inf if math.isnan(gap) else gap  # X0 is finite
    if gap <= 50 * eps * r:
        return X0, notes
    if gap > math.sqrt(eps):
        notes.append(f"X0 was off the manifold (|X'X - I| = {gap:.1e}) and was projected")
        rank = _rank(X0, eps)
        if rank < r:
            notes.append(f"X0 had rank {rank} only: {r - rank} of its directions were filled in")
    return problem.M.project(X0), notes


def _same_kind(a: Array, b: Array) -> bool:
    return array_namespace(a) is array_namespace(b) and a.dtype == b.dtype and device(a) == device(b)


def _rank(X: Array, eps: float) -> int:
    xp = array_namespace(X)
    sizes = xp.linalg.svdvals(X)
    return int(xp.count_nonzero(sizes > eps * max(X.shape) * sizes[0]))

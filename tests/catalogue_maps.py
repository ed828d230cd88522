"""Every linear map, small, beside the matrix it stands for."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_matrix, csc_array, csr_array
from scipy.sparse.linalg import aslinearoperator

from orthoprox import maps
from orthoprox.blocks import open_rows
from orthoprox.maps import (
    Blocked,
    Centred,
    Difference,
    Entries,
    Gram,
    Identity,
    Matrix,
    ScaledRows,
    Selection,
    Sparse,
    Stack,
)

N, R = 6, 3
"""The shape of X for every map here."""


class Case(NamedTuple):
    """A map, and its matrix: acting on X from the left, or on the entries of X row by row when the map does not."""

    name: str
    map: maps.LinearMap
    matrix: Any

    def expected(self, X: Any) -> Any:
        if self.map.left:
            return self.matrix @ X
        return (self.matrix @ X.reshape(-1)).reshape(-1, X.shape[1])


def catalogue(dtype: Any = np.float64, convert: Callable[[Any], Any] = lambda a: a) -> list[Case]:
    """All maps with data of one float type, dense data in the library that ``convert`` leads to."""
    rng = np.random.default_rng(7)
    tall = (rng.standard_normal((9, N)) + 2.0).astype(dtype)
    wide = rng.standard_normal((4, N)).astype(dtype)
    square = rng.standard_normal((N, N)).astype(dtype)
    holes = np.where(rng.random((9, N)) < 0.4, tall, dtype(0))
    mask = rng.random((N, R)) < 0.5
    shift = rng.standard_normal((N, 1)).astype(dtype)
    factors = np.linspace(-1.0, 2.0, 9).astype(dtype).reshape(-1, 1)

    D = np.diff(np.eye(N), axis=0)
    P = np.roll(np.eye(N), -1, axis=0) - np.eye(N)
    chosen, repeated = [5, 0, 3], [2, 5, 2, 0, 2, 5]
    vec = np.diag(mask.reshape(-1).astype(float))

    A, W, S = (Matrix(convert(B)) for B in (tall, wide, square))
    H = Sparse(csr_array(holes))
    return [
        Case("identity", Identity(), np.eye(N)),
        Case("matrix, tall", A, tall),
        Case("matrix, wide", W, wide),
        Case("matrix, one row", Matrix(convert(wide[:1])), wide[:1]),
        Case("matrix, zero", Matrix(convert(0 * wide)), 0 * wide),
        Case("sparse", H, holes),
        Case("sparse, by columns", Sparse(csc_array(holes.T)[:N, :N]), holes.T[:N, :N]),
        Case("sparse, spmatrix", Sparse(coo_matrix(holes)), holes),
        Case("sparse, nothing stored", Sparse(csr_array((3, N), dtype=dtype)), np.zeros((3, N))),
        Case("operator", maps.Operator(aslinearoperator(tall)), tall),
        Case("operator, sparse", maps.Operator(aslinearoperator(csr_array(holes))), holes),
        Case("blocked", Blocked(open_rows(tall, block=100)), tall),
        Case("blocked, sparse", Blocked(open_rows(csr_array(holes), block=100)), holes),
        Case("blocked, centred", Blocked(open_rows(tall, block=100), center=True), tall - tall.mean(axis=0)),
        Case(
            "blocked, centred, sparse, scaled",
            Blocked(open_rows(csr_array(holes), block=100, form=False), center=True, scale="unit"),
            (holes - holes.mean(axis=0)) / np.linalg.norm(holes, axis=0),
        ),
        Case(
            "gram, blocked",
            Gram(Blocked(open_rows(tall, block=100, form=False), center=True)),
            9 * np.cov(tall.T, ddof=0),
        ),
        Case("centred", Centred(A), tall - tall.mean(axis=0)),
        Case("centred, wide", Centred(convert(wide)), wide - wide.mean(axis=0)),
        Case("centred, sparse", Centred(H), holes - holes.mean(axis=0)),
        Case("centred, operator", Centred(aslinearoperator(tall)), tall - tall.mean(axis=0)),
        Case("centred, mean given", Centred(A, mean=convert(shift)), tall - shift.T),
        Case("centred, one row", Centred(convert(wide[:1])), 0 * wide[:1]),
        Case("scaled rows", ScaledRows(A, convert(factors)), factors * tall),
        Case("scaled rows, sparse", ScaledRows(H, convert(factors[:, 0])), factors * holes),
        Case("scaled rows, centred", ScaledRows(Centred(H), convert(factors)), factors * (holes - holes.mean(axis=0))),
        Case("gram, formed", Gram(A), tall.T @ tall),
        Case("gram, not formed", Gram(W), wide.T @ wide),
        Case("gram, form=False", Gram(A, form=False), tall.T @ tall),
        Case("gram, sparse", Gram(H, form=True), holes.T @ holes),
        Case("gram, centred", Gram(Centred(A)), np.cov(tall.T, ddof=0) * 9),
        Case("gram, centred sparse", Gram(Centred(H)), np.cov(holes.T, ddof=0) * 9),
        Case("gram, differences", Gram(Difference()), D.T @ D),
        Case("gram, entries", Gram(Entries(convert(mask))), vec),
        Case("difference", Difference(), D),
        Case("difference, columns", Difference(columns=N), D),
        Case("difference, periodic", Difference(periodic=True), P),
        Case("selection", Selection(chosen, columns=N), np.eye(N)[chosen]),
        Case("selection, repeated", Selection(repeated, columns=N), np.eye(N)[repeated]),
        Case("entries", Entries(convert(mask)), vec),
        Case("entries, zeros and ones", Entries(convert(mask.astype(dtype))), vec),
        Case("entries, none", Entries(convert(0 * mask.astype(dtype))), 0 * vec),
        Case("sum", A + H, tall + holes),
        Case("difference of maps", S - Identity(), square - np.eye(N)),
        Case("scaled", -2.5 * A, -2.5 * tall),
        Case("product", A @ S, tall @ square),
        Case("product, differences", Difference() @ S, D @ square),
        Case("scaled entries", -2.0 * Entries(convert(mask)), -2.0 * vec),
        Case("sum with entries", Entries(convert(mask)) + Identity(), vec + np.eye(N * R)),
        Case("product with entries", A @ Entries(convert(mask)), np.kron(tall, np.eye(R)) @ vec),
        Case("stack", Stack(A, W), np.vstack([tall, wide])),
        Case("stack, columns given", Stack([Identity(), Difference()], columns=N), np.vstack([np.eye(N), D])),
        Case("stack with entries", Stack(W, Entries(convert(mask))), np.vstack([np.kron(wide, np.eye(R)), vec])),
        Case(
            "stack of sums of products",
            Stack((A @ S + 2.0 * H, W @ Gram(A) - W, Stack(Difference(), Centred(H)))),
            np.vstack([tall @ square + 2 * holes, wide @ tall.T @ tall - wide, D, holes - holes.mean(axis=0)]),
        ),
    ]


CASES = catalogue()
MAPS: list[tuple[maps.LinearMap, int]] = [(case.map, N) for case in CASES]

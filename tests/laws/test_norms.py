"""Bounds on norms: never too small, never far above."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator

from orthoprox.maps import Centred, Gram, Matrix, Operator, Sparse
from orthoprox.maps._norm import EXACT, norm_bound

SPECTRA = {
    "flat": lambda n: np.ones(n),
    "nearly flat": lambda n: 1 + 1e-3 * np.linspace(0, 1, n),
    "linear": lambda n: np.linspace(0, 1, n),
    "crowded at the top": lambda n: 1 - np.linspace(0, 1, n) ** 4,
    "thin at the top": lambda n: np.cos(np.pi * np.arange(n) / (2 * n)) ** 0.1,
    "one above a flat rest": lambda n: np.r_[1.0, np.full(n - 1, 0.97)],
    "one just above a cluster": lambda n: np.r_[1.0, 0.985 + 0.01 * np.linspace(0, 1, n - 1)],
    "two clusters": lambda n: np.r_[np.full(n // 2, 1.0), np.full(n - n // 2, 0.999)],
    "decaying": lambda n: 1 / np.arange(1, n + 1),
    "one of rank one": lambda n: np.r_[1.0, np.zeros(n - 1)],
}
every_spectrum = pytest.mark.parametrize("spectrum", SPECTRA.values(), ids=SPECTRA)


def turned(values, m, n, rng):
    """A matrix with these singular values in random directions."""
    k = len(values)
    U, _ = np.linalg.qr(rng.standard_normal((m, k)))
    V, _ = np.linalg.qr(rng.standard_normal((n, k)))
    return (U * values) @ V.T


def diagonal_bound(values, dtype=np.float64):
    """The bound for a diagonal map: the start is random, so turning it would change nothing."""
    d = values.astype(dtype)[:, None]
    n = len(values)
    return norm_bound(lambda X: d * X, lambda X: d * X, n, n, np.zeros((1, 1), dtype=dtype))


@pytest.mark.parametrize(("dtype", "rounding"), [(np.float64, 1e-10), (np.float32, 1e-3)])
@every_spectrum
def test_maps_are_bounded_exactly_up_to_a_border_and_closely_beyond(spectrum, dtype, rounding) -> None:
    # Each size has a start of its own.
    for n in (EXACT - 1, EXACT, *range(EXACT + 1, EXACT + 20), 2000):
        values = (0.3 * spectrum(n)).astype(dtype)
        top = float(values.max())
        assert top <= diagonal_bound(values, dtype) <= (1 + (rounding if n <= EXACT else 0.05)) * top


@pytest.mark.parametrize("spectrum", list(SPECTRA.values())[::2], ids=list(SPECTRA)[::2])
def test_large_matrices_are_bounded(spectrum) -> None:
    B = turned(spectrum(515), 515, 525, np.random.default_rng(0))
    true = np.linalg.norm(B, 2)
    for A in (
        Matrix(B),
        Matrix(B.T),
        Sparse(csr_array(B)),
        Operator(aslinearoperator(B)),
        Centred(B, mean=np.zeros((525, 1))),
    ):
        assert true <= A.norm <= 1.05 * true
    for form in (True, False):
        assert true**2 <= Gram(B, form=form).norm <= 1.11 * true**2


@every_spectrum
def test_single_precision(spectrum) -> None:
    rng = np.random.default_rng(0)
    for m, n in ((30, 20), (4, 3000), (3000, 50), (200, 1500)):
        B = turned(spectrum(min(m, n)), m, n, rng).astype(np.float32)
        true = np.linalg.norm(B.astype(float), 2)
        assert true <= Matrix(B).norm <= true * 1.001
        assert true <= Sparse(csr_array(B)).norm <= true * 1.001


@pytest.mark.parametrize("seed", [0, 7, 18])
def test_positive_data_in_single_precision(seed) -> None:
    """Sums of positive numbers round worst."""
    B = np.random.default_rng(seed).random((2 + seed, 20_000), dtype=np.float32)
    true = np.linalg.norm(B.astype(float), 2)
    assert true <= Matrix(B).norm <= 1.001 * true
    assert true <= Matrix(B.T).norm <= 1.001 * true


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_entries_give_the_better_bound_where_there_are_few(dtype) -> None:
    n = 600
    tiny = 1000 * np.finfo(dtype).eps
    rank_one = np.outer(np.linspace(1, 2, n), np.linspace(-1, 1, n + 5)).astype(dtype)
    diagonal = np.diag(np.linspace(-2, 1, n)).astype(dtype)
    unequal = np.zeros((n, n + 5), dtype=dtype)
    unequal[0, :], unequal[:, 1] = 1, -1  # one long row and one long column
    for B in (rank_one, -abs(rank_one), diagonal):
        true = np.linalg.norm(B.astype(float), 2)
        for A in (Matrix(B), Sparse(csr_array(B))):
            assert true <= A.norm <= true * (1 + tiny)
    for A in (Matrix(unequal), Sparse(csr_array(unequal))):
        assert np.linalg.norm(unequal.astype(float), 2) <= A.norm <= 1.05 * np.linalg.norm(unequal.astype(float), 2)


def test_the_entries_of_a_matrix_too_large_for_one_pass() -> None:
    rng = np.random.default_rng(0)
    B = np.outer(rng.standard_normal(3000), rng.standard_normal(2900)).astype(np.float32)
    true = np.linalg.norm(B.astype(float)[:, 0]) / np.abs(B.astype(float)[0, 0]) * np.linalg.norm(B.astype(float)[0])
    assert Matrix(B).norm == pytest.approx(true, rel=1e-3)
    assert Matrix(np.diag(np.linspace(2, 1, 2100))).norm == pytest.approx(2, rel=1e-10)


SIZES = [(float, 1e200), (float, 1e-200), (np.float32, 1e25), (np.float32, 1e-25), (float, 0.0)]


@pytest.mark.parametrize("n", [5, 600])
@pytest.mark.parametrize(("dtype", "size"), SIZES)
def test_squares_do_not_overflow_or_vanish(n, dtype, size) -> None:
    B = (size * np.eye(n)).astype(dtype)
    for A in (Matrix(B), Sparse(csr_array(B)), Operator(aslinearoperator(B))):
        assert float(B[0, 0]) <= A.norm <= 1.05 * float(B[0, 0])
        assert type(A)(A.L if isinstance(A, Operator) else A.B).norm == A.norm  # the same every time
    rows = np.vstack([B, -B])
    assert Centred(rows).norm == pytest.approx(2**0.5 * float(B[0, 0]), rel=0.05)
    assert size > 0 or Gram(B).norm == 0.0
    assert Matrix(B, norm=7).norm == 7.0 and isinstance(Matrix(B, norm=7).norm, float)

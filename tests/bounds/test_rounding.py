"""Each term that keeps a bound from falling below the truth is needed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy import sparse

from bounds.brute import solved_pitprops
from orthoprox._fields import replace
from orthoprox.bounds import variance_bound
from orthoprox.bounds._eigen import upper_eigenvalues, upper_largest, upper_sum
from orthoprox.bounds._source import covariance_of
from orthoprox.bounds._tree import Tree
from orthoprox.datasets import pitprops


def test_computed_eigenvalues_fall_below_exact_ones_and_upper_ones_do_not(rng):
    """The eigenvalue of a matrix of equal entries is known exactly."""
    below = 0
    for n in range(2, 30):
        a = float(rng.random())
        A, exact = np.full((n, n), a), n * Fraction(a)
        below += Fraction(float(np.linalg.eigvalsh(A)[-1])) < exact
        upper = float(upper_eigenvalues(A)[-1])
        assert exact <= Fraction(upper) <= exact * (1 + Fraction(1, 10**10))
    assert below > 0


def test_the_largest_eigenvalues_of_large_matrices(rng):
    """Of matrices with known eigenvalues: equal entries, several equal eigenvalues, none positive; against all."""
    n, a = 250, 1 / 3
    upper = upper_largest(np.full((n, n), a), 2)
    assert n * Fraction(a) <= Fraction(float(upper[-1])) <= n * Fraction(a) * (1 + Fraction(1, 10**8))
    assert 0 <= upper[-2] < 1e-7
    B = rng.standard_normal((n, 300))
    for A in (B @ B.T / n, np.diag(np.arange(n) // 7) + 0.0, -B @ B.T / n, B[:, :n] + B[:, :n].T):
        exact, size = np.linalg.eigvalsh(A)[-4:], np.abs(A).sum()
        upper = upper_largest(A, 4)
        assert len(upper) == 4 or np.array_equal(A, np.diag(np.diag(A)))
        assert np.all(upper[-4:] >= exact - 1e-13 * np.abs(exact)) and np.all(upper[-4:] <= exact + 1e-9 * size)


def test_a_start_that_misses_an_eigenvalue_is_found_out(rng, monkeypatch):
    """The proof does not depend on what Lanczos found."""
    A = np.diag(np.append(np.linspace(0, 1, 249), 5.0))

    def blind(A, **settings):
        w, V = np.linalg.eigh(A)
        return w[-4:-1], V[:, -4:-1]

    monkeypatch.setattr("orthoprox.bounds._eigen.eigsh", blind)
    assert upper_largest(A, 2)[-1] >= 5.0


def test_rows_that_were_left_out_count_as_zeros():
    A = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))  # 1 and -1, and with zeros left out 1 and 0
    assert upper_sum(A, 2) < 0.5
    assert 1 <= upper_sum(A, 2, zeros=1) < 1.001


def test_supports_that_were_dropped_are_covered_by_the_level():
    C, _ = pitprops()
    bound = solved_pitprops()
    assert bound.kind == "cases" and bound.value < 5.3
    assert replace(bound, tree=Tree(5.3, bound.tree.roots)).check(C) >= 5.3


def test_the_cancellation_in_sparse_samples_is_covered(rng):
    """Counts with a large mean, whose variance is a difference of large numbers; integers, so that it is known."""
    below = 0
    for _ in range(30):
        x = rng.integers(10**7, 10**7 + 5, size=40)
        mean = Fraction(int(x.sum()), 40)
        exact = sum((Fraction(int(number)) - mean) ** 2 for number in x) / 39
        samples = covariance_of(sparse.csr_array(np.stack([x, 0 * x], axis=1).astype(float)))
        below += Fraction(float(samples.diagonal[0])) < exact
        assert Fraction(variance_bound(samples, 1, n_nonzero=1, effort="fast").value) >= exact
    assert below > 0

"""Each term that keeps a bound from falling below the truth is needed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy import sparse

from bounds.brute import solved_pitprops
from orthoprox._fields import replace
from orthoprox.bounds import variance_bound
from orthoprox.bounds._eigen import upper_eigenvalues, upper_sum
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

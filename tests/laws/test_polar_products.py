"""The polar factor by products of small matrices: certified, or refused."""

import numpy as np
import pytest

from orthoprox.backends._speculation import PRODUCTS, speculate
from orthoprox.manifolds._polar import polar_factor


def matrix(n, r, condition, dtype, seed=0):
    rng = np.random.default_rng(seed)
    U, _ = np.linalg.qr(rng.standard_normal((n, r)))
    V, _ = np.linalg.qr(rng.standard_normal((r, r)))
    return (U * np.geomspace(1, 1 / condition, r) @ V.T).astype(dtype), (U @ V.T)


REACH = (1.3, 5.0, 60.0)
"""Condition numbers that each effort copes with."""


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("effort", range(len(PRODUCTS)))
@pytest.mark.parametrize(("n", "r"), [(30, 1), (40, 6), (300, 40), (12, 12)])
@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e8])
def test_what_is_certified_is_the_polar_factor(n, r, effort, dtype, scale):
    condition = min(REACH[effort], 30.0 if dtype is np.float32 else np.inf)
    Y, exact = matrix(n, r, condition, dtype)
    with speculate(effort) as assumed:
        Q, S = polar_factor(dtype(scale) * Y)
    eps = np.finfo(dtype).eps
    assert bool(assumed.usual) and bool(assumed.enough)
    assert np.max(np.abs(Q.T @ Q - np.eye(r))) < 40 * eps * max(1.0, condition if effort == 0 else 1.0) ** 2
    assert np.max(np.abs(Q - exact)) < 40 * eps * condition**2
    assert np.max(np.abs(dtype(scale) * Y @ S - Q)) < 100 * eps * condition
    assert np.max(np.abs(S - S.T)) <= 100 * eps * condition * np.max(np.abs(S))


@pytest.mark.parametrize("effort", range(len(PRODUCTS)))
@pytest.mark.parametrize("bad", ["rank", "zero", "nan", "overflow", "condition"])
def test_what_is_not_one_is_not_certified(effort, bad):
    Y, _ = matrix(20, 4, 1e9 if bad == "condition" else 2.0, np.float64)
    Y = {"rank": Y * (np.arange(4) > 0), "zero": 0 * Y, "nan": Y * np.nan, "overflow": Y * 1e200}.get(bad, Y)
    with np.errstate(all="ignore"), speculate(effort) as assumed:
        polar_factor(Y)
    assert not bool(assumed.usual & assumed.enough)


def test_a_matrix_that_is_used_only_where_a_test_holds_may_fail_elsewhere():
    for test in (True, False):
        with np.errstate(all="ignore"), speculate(2) as assumed:
            with assumed.only_where(np.asarray(test)):
                polar_factor(np.zeros((5, 2)))
            polar_factor(np.eye(5, 2))
        assert bool(assumed.enough) is not test

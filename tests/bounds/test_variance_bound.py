"""Bounds are never below what exists, and what proves them can be computed again."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from bounds.brute import best_pair, best_single, solved_pitprops
from orthoprox.bounds import variance_bound
from orthoprox.datasets import pitprops

EFFORTS = ("fast", "balanced", "thorough")


def matrices(rng, n):
    """Covariances of several kinds, and symmetric matrices that are none."""
    B = rng.standard_normal((2 * n, n))
    yield "random", B.T @ B / (2 * n)
    yield "few samples", np.cov(rng.standard_normal((3, n)).T)
    x = rng.standard_normal(n)
    yield "rank one", np.outer(x, x)
    yield "diagonal", np.diag(rng.random(n))
    yield "equal features", np.ones((n, n)) + 0.1 * np.eye(n)
    yield "indefinite", B[:n] + B[:n].T
    yield "negative", -B.T @ B
    yield "uneven", np.diag(10.0 ** np.linspace(-6, 6, n)) @ np.corrcoef(B.T) @ np.diag(10.0 ** np.linspace(-6, 6, n))


@pytest.mark.parametrize("effort", EFFORTS)
def test_no_single_component_exceeds_the_bound(rng, effort):
    n = 7
    for name, C in matrices(rng, n):
        for k in (1, 2, 4, 7) if effort == "fast" else (2, 4):
            truth, size = best_single(C, k), np.abs(C).max()
            bound = variance_bound(C, 1, n_nonzero=k, effort=effort)
            assert bound.value >= truth - 1e-14 * size, name
            assert bound.check(C) == bound.value
            if effort == "thorough":  # one component is solved exactly
                assert bound.value <= truth + 1e-5 * size, name


PAIRS = dict(matrices(np.random.default_rng(1), 5))


@functools.cache
def truth(name, k, m):
    return best_pair(PAIRS[name], k, m, np.random.default_rng(2))


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("name", PAIRS)
def test_no_pair_of_components_exceeds_the_bound(effort, name):
    C = PAIRS[name]
    size = np.abs(C).max()
    for k, m in ((1, 1), (2, 2), (3, 2)) if effort == "fast" else ((2, 2), (3, 2)):
        bound = variance_bound(C, 2, n_nonzero_per_component=(m, k), effort=effort, time_limit=0.05)
        assert bound.value >= truth(name, k, m) - 1e-14 * size
        assert bound.check(C) == bound.value
        if bound.components is not None:
            V = bound.components
            np.testing.assert_allclose(V @ V.T, np.eye(2), atol=1e-12)
            assert sorted(np.count_nonzero(V, axis=1)) <= sorted((k, m))
            assert np.trace(V @ C @ V.T) <= bound.value + 1e-14 * size
    if effort != "fast" and name not in ("random", "rank one", "uneven"):
        return  # all ways to share out five nonzeros take long
    both = variance_bound(C, 2, n_nonzero=5, n_nonzero_per_component=4, effort=effort, time_limit=0.05)
    assert both.check(C) == both.value
    assert both.value >= max(truth(name, 3, 2), truth(name, 4, 1)) - 1e-14 * size


@pytest.mark.parametrize("effort", EFFORTS)
def test_the_bound_is_not_below_the_truth_by_a_single_rounding(effort):
    """Matrices with eigenvalues and diagonals that are known exactly, where the bound is tight."""
    for n in (2, 3, 5, 8) if effort == "fast" else (2, 5):
        for a in (1.0, 0.1, 1 / 3):
            ones = np.full((n, n), a)  # its eigenvalue is n a, and k a on k features
            assert variance_bound(ones, 1, n_nonzero=n, effort=effort).value >= n * a
            assert variance_bound(ones, 1, n_nonzero=2, effort=effort).value >= 2 * a
            assert variance_bound(np.diag(np.arange(n) + a), 2, n_nonzero=2, effort=effort).value >= 2 * n - 3 + 2 * a


@pytest.mark.parametrize(
    ("effort", "power"),
    [("fast", -1060), ("fast", 990), ("balanced", -500), ("balanced", 990), ("thorough", -1060), ("thorough", 500)],
)
def test_powers_of_two_change_nothing(effort, power):
    C = np.round(PAIRS["random"] * 64) / 64
    here = variance_bound(C, 2, n_nonzero_per_component=2, effort=effort)
    there = variance_bound(np.ldexp(C, power), 2, n_nonzero_per_component=2, effort=effort)
    if power > -1000:
        assert there.value == pytest.approx(float(np.ldexp(here.value, power)), rel=1e-15)
    assert there.value >= np.ldexp(_rounded_truth(), power)  # where a U is rounded to a few digits, too
    assert there.check(np.ldexp(C, power)) == there.value


@functools.cache
def _rounded_truth():
    return best_pair(np.round(PAIRS["random"] * 64) / 64, 2, 2, np.random.default_rng(2)) * (1 - 1e-14)


def test_extreme_scales(rng):
    B = rng.standard_normal((12, 6))
    C = np.corrcoef(B.T)
    best = best_pair(C, 2, 2, rng) * (1 - 1e-14)
    for scale in (1e-150, 1e150):
        assert variance_bound(C * scale, 2, n_nonzero_per_component=2, effort="thorough").value >= best * scale


def test_single_precision_and_integers_are_taken_as_they_are(rng):
    B = rng.standard_normal((12, 6)).astype(np.float32)
    C = B.T @ B
    assert C.dtype == np.float32
    exact = (C.astype(float) + C.T.astype(float)) / 2
    for effort in ("fast", "balanced"):
        single, double = (variance_bound(A, 2, n_nonzero_per_component=2, effort=effort) for A in (C, exact))
        assert single.value == double.value
    assert variance_bound(np.diag([3, 2, 1]), 2, n_nonzero=2).value == pytest.approx(5)


def test_a_bound_that_was_tampered_with_is_found_out():
    C, _ = pitprops()
    bound = solved_pitprops()
    assert bound.check(C) == bound.value
    assert bound.check(1.01 * C) > bound.value
    from orthoprox._fields import replace
    from orthoprox.bounds._tree import Tree

    with pytest.raises(ValueError, match="no case for columns with"):
        replace(bound, tree=Tree(bound.tree.level, ())).check(C)
    pretended = replace(bound, tree=Tree(0.0, tuple((sizes, _bare(case)) for sizes, case in bound.tree.roots)))
    assert pretended.check(C) > bound.value  # without its cases below, the first U proves less


def _bare(case):
    from orthoprox.bounds._tree import Case

    return Case(case.U)


def test_more_effort_is_never_worse_and_pitprops_are_solved():
    """Two components with four nonzeros each are proved optimal."""
    C, _ = pitprops()
    solved = solved_pitprops()
    other = variance_bound(C, 2, n_nonzero_per_component=(3, 1), effort="thorough")
    for caps, best in (((4, 4), solved), ((3, 1), other)):
        fast, balanced = (variance_bound(C, 2, n_nonzero_per_component=caps, effort=e).value for e in EFFORTS[:2])
        assert fast >= balanced * (1 - 1e-12) >= best.value * (1 - 2e-12)
    V = solved.components
    assert np.count_nonzero(V) == 8
    assert np.trace(V @ C @ V.T) * (1 + 1.1e-6) >= solved.value


def test_different_caps_have_levels_of_their_own(rng):
    """Where there are too many supports, and one cap is much larger than the other."""
    B = rng.standard_normal((80, 40))
    B[:, :20] += rng.standard_normal((80, 1))
    C = np.corrcoef(B.T)
    caps = (10, 2)
    bound = variance_bound(C, 2, n_nonzero_per_component=caps)
    assert bound.kind == "levels" and bound.check(C) == bound.value
    U = np.clip(C, -bound.lam, bound.lam)
    columns = [np.linalg.eigvalsh(U - np.clip(U, -m, m))[-1] + m * k for m, k in zip(bound.levels, caps, strict=True)]
    again = np.linalg.eigvalsh(C - U)[-2:].sum() + sum(columns)
    assert again <= bound.value <= again * (1 + 1e-10)
    assert bound.value < variance_bound(C, 2, n_nonzero=12).value
    x = np.linalg.eigh(C[:10, :10])[0][-1] + 1 + np.abs(C[20, 21:]).max()
    assert bound.value >= x  # ten features and a pair


def test_an_incumbent_saves_work_and_changes_no_truth():
    C, _ = pitprops()
    for incumbent in (5.2552, 7.0):  # right, and higher than any components have
        bound = variance_bound(C, 2, n_nonzero_per_component=4, effort="thorough", incumbent=incumbent, time_limit=0.1)
        assert bound.value >= 5.2551


def test_bad_input_gets_a_sentence():
    C = np.eye(3)
    for wrong, sentence in [
        (lambda: variance_bound(np.ones((2, 3)), 1, n_nonzero=1), "square and symmetric"),
        (lambda: variance_bound(np.triu(np.ones((3, 3))), 1, n_nonzero=1), "must be symmetric"),
        (lambda: variance_bound(np.full((3, 3), np.nan), 1, n_nonzero=1), "must be finite"),
        (lambda: variance_bound(1e305 * C, 1, n_nonzero=1), "too near the largest"),
        (lambda: variance_bound(C, 4, n_nonzero=4), "at most 3 orthonormal"),
        (lambda: variance_bound(C, 2), "give n_nonzero"),
        (lambda: variance_bound(C, 2, n_nonzero=1), "too few"),
        (lambda: variance_bound(C, 2, n_nonzero_per_component=(1, 2, 3)), "one for each of the 2"),
        (lambda: variance_bound(C, 2, n_nonzero=2, effort="wild"), "effort must be one of"),
        (lambda: variance_bound(C, 2, n_nonzero=2, incumbent=np.eye(3)), "shape"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            wrong()
    with pytest.raises(TypeError, match="whole number"):
        variance_bound(C, 1.5, n_nonzero=2)

"""Working sets, and the parts of a search that were made cheaper, each against what it claims."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from orthoprox.allowance import Allowance, Allowances
from orthoprox.covariance import DenseCovariance, SampleCovariance
from orthoprox.supports import Effort, apart, find_components, search
from orthoprox.supports.apart import leading
from orthoprox.supports.disjoint import one_by_one
from orthoprox.supports.moves import best_of
from orthoprox.supports.points import orthonormalise
from orthoprox.supports.progress import Progress
from orthoprox.supports.wide import _largest_sums, first_features


def a_tight_group(n: int, rng: np.random.Generator) -> np.ndarray:
    """Three loose groups, which lead the principal components, and ten features that go together closely."""
    B = rng.standard_normal((200, n))
    for j in range(3):
        B[:, j * n // 5 : (j + 1) * n // 5] += rng.standard_normal((200, 1))
    B[:, -10:] = 0.2 * B[:, -10:] + rng.standard_normal((200, 1))
    return (B - B.mean(axis=0)) / B.std(axis=0)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_the_largest_entries_of_columns_are_summed(kind):
    B = np.random.default_rng(0).standard_normal((30, 620))
    C = SampleCovariance(kind(B), np.zeros(620), 30)
    sizes = np.sort(np.abs(B.T @ B / 30), axis=0)
    for k in (1, 7, 620):
        np.testing.assert_allclose(_largest_sums(C, k), sizes[620 - k :].sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("n", [500, 1200])
def test_a_tight_group_off_the_leading_components_is_among_the_features(n):
    B, allowance = a_tight_group(n, np.random.default_rng(1)), Allowance(20, (10, 10))
    C = SampleCovariance(B, np.zeros(n), 200)
    inside = first_features(C, allowance)
    assert len(inside) < n / 2 and np.all(np.diff(inside) > 0) and set(range(n - 10, n)) <= set(inside)
    X = find_components(C, allowance)
    assert any(np.array_equal(np.flatnonzero(x), np.arange(n - 10, n)) for x in X.T)


def test_known_eigenvectors_take_the_place_of_computed_ones():
    """Features that matter to nothing else are inside if they are said to matter."""
    n = 3200
    C = SampleCovariance(np.random.default_rng(2).standard_normal((40, n)), np.zeros(n), 40)
    said = np.zeros((n, 2))
    said[100:130, 0], said[700:730, 1] = 1.0, 1.0
    inside = set(first_features(C, Allowance(8, (4, 4)), said))
    assert {*range(100, 130), *range(700, 730)} <= inside


@pytest.mark.parametrize("m", [40, 70])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_products_go_through_the_samples_where_these_are_few(m, kind):
    """At most half as many as features; the covariance is the same, that of a part of the features too."""
    rng = np.random.default_rng(4)
    B, center, every, some = rng.standard_normal((m, 120)), rng.standard_normal(120), np.arange(120), np.arange(20, 110)
    C, X = SampleCovariance(kind(B), center, m - 1), rng.standard_normal((90, 3))
    formed = search._formed(C, every)
    few = m == 40 and kind is np.asarray
    assert (formed.root is not None) == (C.factor(some) is not None) == few and C.factor(np.arange(79)) is None
    for part in (
        search._formed(C, some),
        formed.restrict(some),
        search._enter(C, some, Progress(), (some[:30], formed.restrict(some[:30]))),
    ):
        assert (part.root is not None) == few and part.restrict(np.arange(10)).root is None
        np.testing.assert_allclose(part.product(X), part.dense() @ X, rtol=1e-9, atol=1e-12)
    if few:
        np.testing.assert_allclose(formed.root.T @ formed.root, C.dense(), atol=1e-12)


def test_a_working_set_grows_no_more_after_a_round_without_gain(monkeypatch):
    rng, rounds = np.random.default_rng(3), []
    C = SampleCovariance(rng.standard_normal((50, 900)), np.zeros(900), 50)
    improve = lambda C, X, *rest: rounds.append(C.n) or search.at(C, X[None], rest[0])
    monkeypatch.setattr(search, "_improve", improve)
    monkeypatch.setattr(search, "entering_features", lambda C, X, inside, allowance: np.arange(len(rounds) + 5))
    find_components(C, Allowance(10, (5, 5)))
    assert len(rounds) == 1


def test_columns_apart_are_only_made_unit_vectors():
    rng = np.random.default_rng(4)
    S = np.zeros((3, 12, 3), dtype=bool)
    for s in S[:2]:
        s[rng.permutation(12), np.repeat(np.arange(3), 4)] = True
    S[2, :5, 0] = S[2, 3:8, 1] = S[2, 8:, 2] = True  # two columns share rows
    Z = rng.standard_normal(S.shape)
    Z[1, S[1, :, 2], 2] = 0.0  # nothing is left of this one
    X, T, there = orthonormalise(Z, S)
    assert list(there) == [0, 2] and np.array_equal(T, S[[0, 2]])
    wanted = np.where(S[0], Z[0], 0.0)
    np.testing.assert_allclose(X[0], wanted / np.linalg.norm(wanted, axis=0), rtol=1e-14)
    np.testing.assert_allclose(X[1].T @ X[1], np.eye(3), atol=1e-12)
    assert np.all(X[1][~S[2]] == 0)


@pytest.mark.parametrize("tries", [1, 2, 5])
def test_the_best_of_tables_are_the_largest_finite_numbers(tries):
    rng = np.random.default_rng(5)
    table = np.where(rng.random((6, 4, 5)) < 0.8, -np.inf, rng.standard_normal((6, 4, 5)))
    before = table.copy()
    k, i, j, value = best_of(table, tries)
    assert np.array_equal(table, before) and np.array_equal(value, table[k, i, j])
    for t in range(6):
        finite = np.sort(table[t][np.isfinite(table[t])])[::-1]
        assert np.array_equal(np.sort(value[k == t])[::-1], finite[:tries])


def test_an_eigenvector_stays_and_a_batch_of_them_is_solved_at_once(monkeypatch):
    """At an eigenvalue C less the quotient is singular, which one of many must not spoil for all."""
    seen = []
    solve = apart.solve
    monkeypatch.setattr(apart, "solve", lambda A, b: seen.append(np.linalg.solve(A, b).shape) or solve(A, b))
    C = np.diag(np.arange(1.0, 31.0))
    masks = np.ones((4, 30), dtype=bool)
    near = np.tile(np.eye(30)[29], (4, 1))
    found = leading(C, masks, near)
    assert len(seen) > 0 and np.array_equal(np.abs(found), near)


def test_columns_one_after_the_other_have_the_best_features_of_groups():
    B = a_tight_group(120, np.random.default_rng(6))
    C = DenseCovariance(B.T @ B / 200)
    points = one_by_one(C, Allowances.of([Allowance(10, (10,))]), np.zeros((120, 1)))
    assert np.array_equal(np.flatnonzero(points.X[0, :, 0]), np.arange(110, 120))


def test_few_columns_are_made_anew_fewer_times():
    every = [Effort(anew=1000).among(r).anew for r in range(1, 7)]
    assert every == sorted(every) and every[1] < every[5] and Effort(anew=5).among(6).anew == 5


def test_columns_apart_need_as_many_features_as_entries(rng):
    C = DenseCovariance(np.cov(rng.standard_normal((60, 12)).T))
    allowances = Allowances.of([Allowance(12, (4, 4, 4)), Allowance(13, (4, 4, 5)), Allowance(6, (2, 2, 2))])
    assert one_by_one(C, allowances, np.eye(12)[:, :3]).level.tolist() == [0, 2]
    assert len(one_by_one(C, allowances.take(np.array([1])), np.eye(12)[:, :3])) == 0


@pytest.mark.parametrize("caps", [[20, 20], [10, 200, 30], [1, 20, 3, 150, 50]])
def test_the_largest_of_each_column_are_chosen_however_many_caps_there_are(rng, caps):
    sizes = np.round(rng.random((len(caps), 400, 2)), 2)  # with ties, of which the first counts
    masks = Allowances(2 * np.array(caps), np.array([[cap, cap] for cap in caps])).choose(sizes)
    for k, cap in enumerate(caps):
        for j in range(2):
            first = np.argsort(-sizes[k, :, j], kind="stable")[:cap]
            assert set(np.flatnonzero(masks[k, :, j])) == set(first)

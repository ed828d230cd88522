"""Candidates of many levels and sizes in one batch: each as if it were alone."""

from __future__ import annotations

import numpy as np
import pytest

from orthoprox.allowance import Allowance, Allowances
from orthoprox.covariance import DenseCovariance
from orthoprox.datasets import pitprops
from orthoprox.supports import exchange as exchanges
from orthoprox.supports import find_components, levels
from orthoprox.supports.apart import leading, share_no_row
from orthoprox.supports.disjoint import one_by_one, splits
from orthoprox.supports.newton import maximise, variance
from orthoprox.supports.points import Points, join, orthonormalise


def covariance(seed, n, m=30):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((m, n)) @ rng.standard_normal((n, n))
    B /= np.linalg.norm(B, axis=0)
    return B.T @ B


def of_caps(*caps):
    return Allowance(sum(caps), caps)


@pytest.mark.parametrize("slack", [False, True], ids=["caps", "total"])
def test_a_level_does_not_depend_on_those_above(slack, monkeypatch):
    """To the last bit: so more entries never keep less."""
    C, run, values = covariance(5, 14), levels.Search.run, []

    def watched(search, *given):
        points = run(search, *given)
        values.append(points.first(len(search.levels)))
        return points

    monkeypatch.setattr(levels.Search, "run", watched)
    for k in (3, 5):
        find_components(DenseCovariance(C), Allowance(3 * k, (14 if slack else k,) * 3))
    few, many = (values[1], values[3]) if slack else values
    assert len(few) < len(many) and np.array_equal(few, many[: len(few)])


def test_points_where_exchanges_have_ended_are_not_exchanged_again(monkeypatch):
    C, rng, looked = covariance(5, 12), np.random.default_rng(0), []
    allowances = Allowances.of([of_caps(3, 3), of_caps(4, 4)])
    level = np.repeat([0, 1], 4)
    S = allowances.take(level).choose(rng.random((8, 12, 2)))
    X, S, kept = orthonormalise(rng.standard_normal(S.shape), S)
    points = Points(X, S, variance(C, X), level[kept]).improve(C, 4)
    promising = exchanges.promising
    monkeypatch.setattr(
        exchanges, "promising", lambda C, some, *given: looked.append(some) or promising(C, some, *given)
    )
    ends = exchanges.Ends()
    found = exchanges.exchange(C, points, allowances, 2, 20, 8, ends)
    looked.clear()
    again = exchanges.exchange(C, found, allowances, 2, 20, 8, ends)
    assert looked == [] and np.array_equal(np.sort(again.values), np.sort(found.values))
    other = Points(found.X[:1], found.S[:1], found.values[:1], 1 - found.level[:1])  # but at another level it is
    exchanges.exchange(C, join(found, other), allowances, 2, 1, 8, ends)
    assert [len(some) for some in looked] == [1]


def test_columns_that_share_no_row_are_left_alone_by_a_second_improvement():
    C, rng = covariance(8, 12), np.random.default_rng(0)
    S = of_caps(2, 2).choose(rng.random((30, 12, 2)))
    X, S, _ = orthonormalise(rng.standard_normal(S.shape), S)
    points, apart = Points(X, S, variance(C, X)), share_no_row(S)
    first, second = points.improve(C, 3), points.improve(C, 3, again=True)
    assert 0 < apart.sum() < len(S) and np.array_equal(second.X[apart], X[apart])
    assert np.all(first.values[apart] > second.values[apart])
    assert np.array_equal(second.X[~apart], first.X[~apart])


def test_columns_one_after_the_other_take_features_that_are_left():
    """Of every variant: each goes on from a first column of its own."""
    C = covariance(9, 20)
    found = one_by_one(DenseCovariance(C), Allowances.of([of_caps(3, 3, 3), of_caps(5, 5, 5)]), np.eye(20)[:, :3], 3)
    assert found.level.tolist() == [0, 0, 0, 1, 1, 1] and share_no_row(found.X != 0).all()
    assert len({X[:, 0].tobytes() for X in found.X}) == 6


def test_large_blocks_get_their_leading_eigenvectors_without_a_decomposition():
    rng = np.random.default_rng(0)
    C = covariance(4, 60)
    masks = np.zeros((6, 60), dtype=bool)
    for mask, size in zip(masks, (3, 14, 25, 25, 40, 59), strict=True):
        mask[rng.permutation(60)[:size]] = True
    wanted = [np.linalg.eigh(C[np.ix_(mask, mask)]) for mask in masks]
    near = np.zeros((6, 60))
    for x, mask, (_, V) in zip(near, masks, wanted, strict=True):
        x[mask] = V[:, -1] + 0.1 * rng.standard_normal(len(V)) / np.sqrt(len(V))
    for x, mask, start, (values, _) in zip(leading(C, masks, near), masks, near, wanted, strict=True):
        assert np.all(x[~mask] == 0) and abs(np.linalg.norm(x) - 1) < 1e-12
        assert np.array_equal(x, leading(C, mask[None], start[None])[0])
        assert x @ C @ x == pytest.approx(values[-1], rel=1e-10)
    # From anywhere, steps that lead to an eigenvector of less variance than power steps have are not taken.
    many = np.repeat(masks, 20, axis=0)
    anywhere = np.where(many, rng.standard_normal(many.shape), 0.0)
    for x, mask, start in zip(leading(C, many, anywhere), many, anywhere, strict=True):
        power = np.linalg.matrix_power(C[np.ix_(mask, mask)], 3) @ start[mask]
        assert x @ C @ x >= power @ C[np.ix_(mask, mask)] @ power / (power @ power) * (1 - 1e-9)


def test_allowances_of_a_batch_choose_as_each_alone():
    rng = np.random.default_rng(0)
    every = [of_caps(3, 1, 2), Allowance(5, (9, 9, 9)), Allowance(6, (4, 2, 3)), of_caps(9, 9, 9)]
    which = np.arange(40) % 4
    sizes = rng.integers(0, 9, (40, 9, 3)).astype(float)  # ties
    masks = Allowances.of(every).take(which).choose(sizes)
    for allowance, mask, size in zip([every[i] for i in which], masks, sizes, strict=True):
        alone = Allowances.of([allowance]).choose(size[None])[0]
        assert (
            np.array_equal(mask, alone) and mask.sum() == allowance.total and np.all(mask.sum(axis=0) <= allowance.caps)
        )
        assert np.sort(size[mask])[0] >= 0 and np.all(mask.sum(axis=0) >= 1)
        if not allowance.slack:  # what is left out of a column is no larger than what is in it
            assert all(size[~mask[:, j], j].max(initial=-1) <= size[mask[:, j], j].min() for j in range(3))


def test_supports_of_unequal_sizes_are_improved_as_each_alone():
    C, rng, sizes = covariance(6, 12), np.random.default_rng(0), (2, 3, 4, 5, 6, 9)
    S = np.concatenate([of_caps(k, k, k).choose(rng.random((5, 12, 3))) for k in sizes])
    X, S, _ = orthonormalise(rng.standard_normal(S.shape), S)
    together, values = maximise(C, X, S, 6)
    assert len(X) > 2 and np.all(values > np.einsum("kij,kij->k", X, C @ X))
    for x, s, found, value in zip(X, S, together, values, strict=True):
        alone, kept = maximise(C, x[None], s[None], 6)
        assert np.array_equal(alone[0], found) and kept[0] == value


def test_crowded_supports_do_not_follow_the_order_of_features():
    """Six columns of four among thirteen features: they share rows, and few rows are free for another entry."""
    C, kept = np.asarray(pitprops()[0], dtype=float), []
    for seed in range(3):
        p = np.random.default_rng(seed).permutation(13)
        X = find_components(DenseCovariance(C[np.ix_(p, p)]), of_caps(*[4] * 6))
        kept.append(np.sum(X * (C[np.ix_(p, p)] @ X)))
    assert kept == pytest.approx(kept[:1] * 3, rel=1e-6)


@pytest.mark.parametrize(
    "allowance", [Allowance(60, (90,) * 3), Allowance(6, (1, 4, 4)), Allowance(5, (2, 9, 1, 9))], ids=str
)
def test_splits_of_a_total_keep_to_it_and_to_its_caps(allowance):
    for part in splits(allowance):
        assert not part.slack and part.total <= allowance.total and min(part.caps) >= 1
        assert all(k <= cap for k, cap in zip(part.caps, allowance.caps, strict=True))
    assert max(splits(allowance)[1].caps) >= max(splits(allowance)[0].caps)


def test_products_with_a_small_covariance_do_not_depend_on_the_batch():
    C, X = DenseCovariance(covariance(0, 13)), np.random.default_rng(0).standard_normal((30, 13, 6))
    together = C.products(X)
    assert all(np.array_equal(C.products(X[k : k + 1])[0], together[k]) for k in range(30))
    assert np.allclose(together, C.C @ X)

"""The search for supports: against brute force, monotone, independent of order, for many features."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

from orthoprox.allowance import Allowances
from orthoprox.covariance import DenseCovariance, SampleCovariance
from orthoprox.supports import EFFORTS, Allowance, Effort, Progress, find_components, levels, search_splices
from orthoprox.supports import splice as splices
from orthoprox.supports.exchange import exchange
from orthoprox.supports.fresh import singles
from orthoprox.supports.newton import maximise
from orthoprox.supports.points import Points, advance, at, orthonormalise, worth
from orthoprox.supports.splice import splice
from orthoprox.supports.systems import eigh, inverse, solve
from orthoprox.supports.wide import entering_features, first_features


def covariance(seed, n, m=30):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((m, n)) @ rng.standard_normal((n, n))
    B /= np.linalg.norm(B, axis=0)
    return B.T @ B


def variance(C, X):
    return float(np.sum(X * (C @ X)))


def check(C, X, allowance):
    assert allowance.holds(X) and np.max(np.abs(X.T @ X - np.eye(allowance.r))) <= 1e-8
    return variance(C, X)


def of_caps(*caps):
    return Allowance(sum(caps), caps)


@pytest.mark.parametrize("seed", range(6))
def test_one_component_is_the_best_of_all(seed):
    C, k = covariance(seed, 9), 3 + seed % 3
    best = max(np.linalg.eigvalsh(C[np.ix_(s, s)])[-1] for s in itertools.combinations(range(9), k))
    assert check(C, find_components(DenseCovariance(C), of_caps(k)), of_caps(k)) == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("r", [1, 2])
def test_groups_off_the_leading_components_are_found(r):
    """Many features of moderate correlation make the first components; few of high correlation the best sparse ones."""
    C = np.full((300, 300), 0.5)
    C[: 4 * r] = C[:, : 4 * r] = 0.0
    for j in range(r):
        C[4 * j : 4 * j + 4, 4 * j : 4 * j + 4] = 0.9
    np.fill_diagonal(C, 1.0)
    assert check(C, find_components(DenseCovariance(C), of_caps(*[4] * r)), of_caps(*[4] * r)) > 3.69 * r


def brute_force(C, k, starts=4):
    """The best of all pairs of supports with k entries, each from several starts."""
    n, rng = len(C), np.random.default_rng(0)
    sets = list(itertools.combinations(range(n), k))
    masks = np.zeros((len(sets), n), dtype=bool)
    for i, s in enumerate(sets):
        masks[i, list(s)] = True
    pairs = [(i, j) for i in range(len(sets)) for j in range(i + 1)]
    S = np.repeat(np.stack([masks[[i, j]].T for i, j in pairs]), starts, axis=0)
    X, S, _ = orthonormalise(rng.standard_normal(S.shape), S)
    return float(np.max(maximise(C, X, S, 30)[1]))


@pytest.mark.parametrize(("seed", "n", "k"), [(0, 6, 2), (1, 6, 3), (2, 6, 4), (3, 7, 3), (4, 5, 3)])
def test_two_components_are_the_best_of_all_supports(seed, n, k):
    C = covariance(seed, n)
    assert check(C, find_components(DenseCovariance(C), of_caps(k, k)), of_caps(k, k)) >= brute_force(C, k) * (1 - 1e-6)


WEAK = Effort(fresh=1, anew=2, patience=0, waves=1, race=2, keep=1, tries=1, rounds=1)
"""A search that finds little by itself: what holds here holds by construction."""


@pytest.mark.parametrize("effort", [WEAK, Effort()], ids=["weak", "balanced"])
def test_more_is_never_worse_and_a_total_never_worse_than_its_parts(effort):
    C = covariance(0, 10)
    kept = lambda a: check(C, find_components(DenseCovariance(C), a, effort=effort), a)
    caps = [kept(of_caps(k, k, k)) for k in range(1, 5)]
    totals = [kept(Allowance(K, (10,) * 3)) for K in range(3, 13)]
    assert np.all(np.diff(caps) >= -1e-9) and np.all(np.diff(totals) >= -1e-9)
    assert np.all(np.array(totals[::3]) >= np.array(caps) - 1e-9)


def test_a_level_begins_where_the_one_below_ended(monkeypatch):
    """Also where it finds nothing fresh."""
    C, nothing = covariance(0, 10), lambda C, allowances, *_: singles(np.diag(C), 0 * C, allowances)
    found = levels.turned
    few = lambda level, allowances: level[allowances.totals[level] <= 6]
    monkeypatch.setattr(
        levels, "turned", lambda C, V, a, level, turns: found(C, V, a, few(level, a), turns[: len(few(level, a))])
    )
    monkeypatch.setattr(levels, "one_by_one", lambda C, a, *_: nothing(C.dense(), a))
    monkeypatch.setattr(levels, "recreated", lambda *_: None)
    monkeypatch.setattr(levels, "exchange", lambda C, points, *_, **__: points)
    effort = Effort(waves=9)
    kept = [
        check(C, find_components(DenseCovariance(C), of_caps(k, k), effort=effort), of_caps(k, k)) for k in range(1, 8)
    ]
    assert np.all(np.diff(kept) >= -1e-9) and kept[3] > kept[2] > kept[1]


def test_a_total_searches_its_equal_parts_as_if_they_were_asked_for(monkeypatch):
    C, run, values = covariance(2, 10), levels.Search.run, []

    def watched(search, *given):
        points = run(search, *given)
        values.append(points.first(len(search.levels)))
        return points

    monkeypatch.setattr(levels.Search, "run", watched)
    for allowance in (of_caps(3, 3, 3, 3), Allowance(12, (10,) * 4)):
        find_components(DenseCovariance(C), allowance)
    assert len(values) == 3 and np.array_equal(values[0], values[1]) and len(values[2]) == 9


def test_rows_of_columns_that_share_none_have_owners():
    X = np.zeros((1, 5, 3))
    X[0, [0, 1], 0] = X[0, [1, 2], 1] = np.sqrt(0.5)
    X[0, 4, 2] = 1.0
    owners = worth(X, X != 0, np.eye(5) @ X, np.ones(5)).owners[0]
    # The first two share a row, so they do not bar each other; both bar the third, and it bars them in its row.
    assert np.array_equal(owners, [[0, 0, 1], [0, 0, 2], [0, 0, 1], [0, 0, 0], [1, 1, 0]])


def test_both_counts_and_distinct_caps_hold():
    C = covariance(7, 12)
    for allowance in (Allowance(9, (5, 4, 4)), of_caps(1, 6, 3), Allowance(3, (2, 2, 2)), of_caps(12, 12)):
        check(C, find_components(DenseCovariance(C), allowance), allowance)


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_features_and_rounding_change_nothing(seed):
    C, rng = covariance(seed, 12), np.random.default_rng(seed)
    value = variance(C, find_components(DenseCovariance(C), of_caps(4, 4)))
    p = rng.permutation(12)
    moved = C[np.ix_(p, p)] * (1 + 1e-15 * rng.standard_normal((12, 12)))
    moved = (moved + moved.T) / 2
    assert variance(moved, find_components(DenseCovariance(moved), of_caps(4, 4))) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("seed", [1, 8, 10])
def test_negated_features_change_nothing(seed):
    C, signs = covariance(seed, 12), np.random.default_rng(seed).choice([-1.0, 1.0], 12)
    value = variance(C, find_components(DenseCovariance(C), of_caps(4, 4, 4)))
    C = C * signs * signs[:, None]
    assert variance(C, find_components(DenseCovariance(C), of_caps(4, 4, 4))) == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize("allowance", [of_caps(8, 8, 8, 8, 8), Allowance(40, (64,) * 5)], ids=["caps", "total"])
def test_equal_points_in_another_order_lead_on_alike(allowance):
    """In these data candidates often end at the same point, and rounding decides which of them comes first."""
    B, rng = load_digits().data, np.random.default_rng(0)
    kept = lambda B: variance(np.cov(B.T), find_components(DenseCovariance(np.cov(B.T)), allowance))
    changed = [B[rng.permutation(len(B))], B[:, rng.permutation(64)]]
    assert [kept(one) for one in changed] == pytest.approx([kept(B)] * 2, rel=1e-7)


def test_of_equally_good_points_the_first_stays():
    X = np.arange(4.0)[:, None, None] * np.ones((1, 3, 1))
    points = Points(X, X != 0, np.array([1.0, 2.0, 2.0 * (1 + 1e-15), 1.0 - 1e-15]))
    assert np.array_equal(points.best(3).X[:, 0, 0], [1, 0])
    moved = Points(X[:3] + 4.0, X[:3] != 0, np.array([2.0, 2.0 * (1 + 1e-15), 1.0]))
    ahead, live = advance(points.take(np.array([0, 3])), moved, np.array([0, 0, 1]), 1e-8, 2)
    assert np.array_equal(ahead.X[:, 0, 0], [4, 3]) and np.array_equal(live, [True, False])


@pytest.mark.parametrize("allowance", [of_caps(*[4] * 6), Allowance(24, (14,) * 6), of_caps(20, 20, 20)], ids=str)
def test_thorough_holds_what_balanced_finds(allowance, monkeypatch):
    """Also where it finds next to nothing by itself."""
    monkeypatch.setitem(EFFORTS, "thorough", WEAK)
    C = covariance(8, 14 if allowance.few else 70)
    kept = [check(C, find_components(DenseCovariance(C), allowance, effort=e), allowance) for e in EFFORTS]
    assert kept[2] >= kept[1]
    alone = check(C, find_components(DenseCovariance(C), allowance, effort=WEAK), allowance)
    assert alone < kept[1] * (1 - 1e-6)  # so that it has something to hold


def test_exchanges_never_go_down():
    C = covariance(3, 12)
    rng = np.random.default_rng(0)
    for allowance in (of_caps(3, 3, 3), Allowance(9, (12, 12, 12))):
        S = allowance.choose(rng.random((8, 12, 3)))
        X, S, _ = orthonormalise(rng.standard_normal(S.shape), S)
        points = Points(X, S, np.einsum("kij,kij->k", X, C @ X))
        alone = [
            exchange(C, points.take(np.array([i])), Allowances.of([allowance]), 3, 10, 1) for i in range(len(points))
        ]
        better = np.array([one.values[0] for one in alone])
        assert np.all(better >= points.values) and np.mean(better) > 1.05 * np.mean(points.values)
        assert all(allowance.holds(one.X[0]) for one in alone)
        together = exchange(C, points, Allowances.of([allowance]), 3, 10, len(points))  # equal ones are dropped
        assert np.allclose(together.values[0], better.max()) and np.all(together.values >= better.min() - 1e-9)


def test_a_start_in_single_precision_is_improved_in_double():
    C = covariance(5, 7)
    start = np.eye(7, 2, dtype=np.float32)
    with np.errstate(all="raise"):
        X = find_components(DenseCovariance(C), of_caps(1, 2), start=start)
    assert X.dtype == np.float64 and check(C, X, of_caps(1, 2)) >= variance(C, start) - 1e-6


def test_a_start_is_never_lost_and_rounds_are_kept():
    C = DenseCovariance(covariance(5, 14))
    allowance = of_caps(3, 3)
    best = find_components(C, allowance)
    progress = Progress(most=3)
    again = find_components(C, allowance, start=best, progress=progress)
    assert variance(C.C, again) >= variance(C.C, best) - 1e-9
    cut = Progress(most=1)
    X = find_components(C, of_caps(6, 6), progress=cut)
    assert cut.rounds == 1 and cut.cut and of_caps(6, 6).holds(X)
    whole = Progress()
    best = find_components(C, of_caps(6, 6), progress=whole)
    enough = Progress(most=whole.rounds)  # just as many as are wanted
    assert np.array_equal(find_components(C, of_caps(6, 6), progress=enough), best) and not enough.cut


@pytest.mark.parametrize("kind", ["constant", "equal", "diagonal", "one", "rank"])
def test_degenerate_covariances(kind):
    C = covariance(1, 8)
    if kind == "constant":
        C[:, 3:] = C[3:] = 0.0
    elif kind == "equal":
        C = np.ones((8, 8))
    elif kind == "diagonal":
        C = np.diag(np.arange(8.0))
    elif kind == "one":
        C = np.zeros((8, 8))
        C[2, 2] = 1.0
    else:
        x = np.arange(1.0, 9.0)
        C = np.outer(x, x)
    value = check(C, find_components(DenseCovariance(C), of_caps(2, 2, 2)), of_caps(2, 2, 2))
    singles = np.sum(np.sort(np.diag(C))[-3:])
    assert value >= singles - 1e-9
    assert value <= np.sum(np.linalg.eigvalsh(C)[-3:]) * (1 + 1e-9) + 1e-9


# ---------------------------------------------------------------- many entries, many features


def planted(n, m=80):
    """Samples in which the last ten features go together, and ten in the middle."""
    rng = np.random.default_rng(0)
    B = rng.standard_normal((m, n))
    B[:, -10:] += 1.5 * rng.standard_normal((m, 1))
    B[:, n // 2 : n // 2 + 10] += 1.5 * rng.standard_normal((m, 1))
    return B - B.mean(axis=0)


def test_equal_variances_are_not_told_apart_by_rounding():
    B = planted(3600)
    B /= np.linalg.norm(B, axis=0)
    chosen = []
    for noise in (0.0, 1e-15):
        moved = B * (1 + noise * np.random.default_rng(1).standard_normal(B.shape))
        chosen.append(first_features(SampleCovariance(moved, np.zeros(3600), 1), of_caps(10, 10)))
    assert np.array_equal(*chosen) and len(chosen[0]) < 3600


def test_a_batch_that_lapack_refuses_is_computed_one_by_one(monkeypatch):
    A = np.stack([np.eye(3), np.zeros((3, 3)), np.diag([3.0, 1.0, 2.0])])
    assert np.array_equal(solve(A, np.ones((3, 3, 1)))[1], np.zeros((3, 1)))
    assert np.array_equal(inverse(A)[1], np.zeros((3, 3))) and np.allclose(inverse(A)[2], np.linalg.inv(A[2]))

    def refuse(*_):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(np.linalg, "eigh", refuse)
    values, vectors = eigh(A)
    assert np.allclose(values[2], [1, 2, 3]) and np.allclose(A @ vectors, vectors * values[:, None, :])


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_groups_among_many_features_are_found(kind):
    n = 3600  # more than are searched without a working set
    B = planted(n)
    C = SampleCovariance(kind(B), np.zeros(n), 79)
    X = find_components(C, of_caps(10, 10))
    rows = np.flatnonzero(np.any(X != 0, axis=1))
    assert np.array_equal(rows, [*range(n // 2, n // 2 + 10), *range(n - 10, n)]) and of_caps(10, 10).holds(X)


def test_features_outside_enter_if_they_would_gain():
    B = planted(400)
    C = SampleCovariance(B, np.zeros(400), 79)
    inside, X = np.arange(300), np.zeros((400, 1))
    X[[0, 1], 0] = np.sqrt(0.5)
    found = entering_features(C, X, inside, of_caps(2))
    assert set(found) == {i for i in range(300, 400) if i in found} and len(found) > 0
    best = np.zeros((400, 1))
    best[-10:, 0] = np.linalg.eigh(C.dense()[-10:, -10:])[1][:, -1]
    assert len(entering_features(C, best, np.arange(390, 400), of_caps(10))) == 0


def test_a_large_group_is_not_torn_apart_by_equal_parts_of_a_total():
    """Noise leads the principal components, and equal parts of the total split the group of forty in two."""
    rng = np.random.default_rng([3000, 1])
    B, features = rng.standard_normal((100, 3000)), rng.permutation(3000)
    groups = features[:40], features[40:50], features[50:60]
    for group in groups:
        B[:, group] += rng.standard_normal((100, 1))
    B = (B - B.mean(axis=0)) / B.std(axis=0)
    X = find_components(SampleCovariance(B, np.zeros(3000), 100), Allowance(60, (3000,) * 3))
    found = [set(np.flatnonzero(x)) for x in X.T]
    assert sorted(map(sorted, found)) == sorted(map(sorted, groups))


@pytest.mark.parametrize("k", [20, 40])  # with joint Newton steps, and without
def test_a_total_of_many_begins_with_equal_parts(monkeypatch, k):
    """Also where it finds nothing fresh."""
    C, found = DenseCovariance(covariance(0, 120, m=30)), splices._truncated
    poor = lambda C, X, a, caps: at(C, np.eye(120)[None, :, :3], a) if a.slack else found(C, X, a, caps)
    monkeypatch.setattr(splices, "_truncated", poor)
    kept = lambda a: check(C.C, find_components(C, a, effort=WEAK), a)
    assert kept(Allowance(3 * k, (120,) * 3)) >= kept(of_caps(k, k, k)) - 1e-9


def test_many_entries_are_exchanged_by_joint_steps_too():
    C, allowance = DenseCovariance(covariance(3, 60)), of_caps(20, 20, 20)
    V = np.linalg.eigh(C.C)[1][:, ::-1][:, :3]
    spliced = search_splices(C, V, allowance, Effort(), np.random.default_rng(0).spawn(2)[0], Progress()).values[0]
    assert check(C.C, find_components(C, allowance), allowance) > (1 + 1e-4) * spliced


def test_splices_never_go_down():
    C, rng, allowance = DenseCovariance(covariance(1, 60)), np.random.default_rng(0), of_caps(8, 8, 8)
    S = allowance.choose(rng.random((6, 60, 3)))
    X, S, _ = orthonormalise(rng.standard_normal(S.shape), S)
    points = Points(X, S, np.einsum("kij,kij->k", X, C.products(X)))
    last = points.values
    for rounds in range(1, 12):
        found = splice(C, points, allowance, len(points), Progress(most=rounds))
        assert np.all(found.values >= last) and all(allowance.holds(x) for x in found.X)
        last = found.values
    assert np.mean(last) > 1.5 * np.mean(points.values)


def test_products_and_blocks_of_a_covariance():
    rng = np.random.default_rng(1)
    B = np.where(rng.random((40, 130)) < 0.8, 0.0, rng.standard_normal((40, 130)))
    c = B.mean(axis=0)
    wanted = (B - c).T @ (B - c) / 39
    X = np.zeros((130, 2))
    X[[3, 77]] = rng.standard_normal((2, 2))
    some = np.array([5, 2, 100])
    for C in (SampleCovariance(B, c, 39), SampleCovariance(csr_array(B), c, 39), DenseCovariance(wanted)):
        assert np.allclose(C.product(X), wanted @ X) and np.allclose(C.dense(), wanted)
        assert np.allclose(C.product(X + 1.0), wanted @ (X + 1.0)) and np.allclose(C.diagonal, np.diag(wanted))
        assert np.allclose(C.columns(some), wanted[:, some])
        assert np.allclose(C.restrict(some).dense(), wanted[np.ix_(some, some)])
        assert np.allclose(C.products(np.stack([X, 2 * X]))[1], 2 * wanted @ X)


def test_equal_features_do_not_count_as_one():
    B = np.repeat(planted(60), 4, axis=1)  # ties everywhere
    for allowance in (of_caps(7, 7, 5), Allowance(19, (240,) * 3)):
        assert allowance.holds(find_components(SampleCovariance(B, np.zeros(240), 79), allowance))


def test_an_effort_shrinks_with_the_size():
    assert Effort(fresh=100).at(400).fresh == 10 and Effort(fresh=100).at(20).fresh == 100


def test_masks_that_several_factors_give_are_tried_once():
    a, b = np.zeros((2, 3, 1), dtype=bool), np.zeros((2, 3, 1), dtype=bool)
    a[:, 0], b[0, 0], b[1, 2] = True, True, True
    masks, owners = splices._distinct([a, b, b])
    assert owners.tolist() == [0, 1, 1] and np.array_equal(masks, np.stack([a[0], a[1], b[1]]))

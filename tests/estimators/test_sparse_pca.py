"""Sparse PCA as an estimator: exact zeros, exact orthonormality, planted answers, every way to ask for sparsity."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from orthoprox import Iterations, SparsePCA, Status, named, solve
from orthoprox.active import greedy
from orthoprox.allowance import Allowances, resolve_total
from orthoprox.datasets import load
from orthoprox.estimators import _exact, _search
from orthoprox.manifolds import SparseStiefel
from orthoprox.models import sparse_pca
from orthoprox.supports import find_components, fresh, search
from orthoprox.supports.exchange import exchange

PER = 3


def planted(m=60, n=12, r=3, noise=0.3):
    """Samples with r groups of three features, and the groups as 0/1 rows, by falling variance."""
    rng = np.random.default_rng(101)
    groups = np.zeros((r, n))
    for j in range(r):
        groups[j, PER * j : PER * (j + 1)] = 1
    scores = rng.standard_normal((m, r)) * np.arange(2 * r, r, -1)
    return scores @ groups + noise * rng.standard_normal((m, n)), groups


def exact(fitted):
    """Orthonormal to rounding, no row of zeros, sorted, the largest entry of each positive."""
    V = fitted.components_
    gap = np.max(np.abs(V @ V.T - np.eye(len(V))))
    largest = V[np.arange(len(V)), np.argmax(np.abs(V), axis=1)]
    falling = np.all(np.diff(fitted.explained_variance_) <= 1e-9 * fitted.explained_variance_[0])
    return bool(gap <= 1e-12 and np.all(largest > 0) and falling)


# ---------------------------------------------------------------- the answer


@pytest.mark.parametrize(
    "wish",
    [{"n_nonzero": 9}, {"n_nonzero": 0.25}, {"n_nonzero_per_component": 3}, {"n_nonzero_per_component": 0.25}]
    + [{"weight": 0.5, "penalty": name} for name in ("l1", "mcp", "scad")],
    ids=str,
)
def test_planted_groups_are_found(wish):
    X, groups = planted()
    fitted = SparsePCA(3, **wish).fit(X)
    assert exact(fitted) and fitted.result_.converged
    assert np.array_equal(fitted.components_ != 0, groups != 0)
    assert np.array_equal(fitted.n_nonzero_, [3, 3, 3])
    assert np.allclose(fitted.components_, groups / np.sqrt(PER), atol=0.1)


def test_without_zeros_it_is_pca_and_needs_no_step():
    flat = np.random.default_rng(12).standard_normal((40, 15))  # no gap between the variances
    assert SparsePCA(3, n_nonzero=1.0).fit(flat).n_iter_ == 0
    X, _ = planted()
    for wish in ({"n_nonzero": 1.0}, {"weight": 0.0}, {"n_nonzero_per_component": 12}):
        fitted, pca = SparsePCA(3, **wish, n_init=2, random_state=0).fit(X), PCA(3).fit(X)
        signs = np.sign(np.sum(fitted.components_ * pca.components_, axis=1, keepdims=True))
        assert np.allclose(fitted.components_, signs * pca.components_, atol=1e-5)
        assert np.allclose(fitted.explained_variance_, pca.explained_variance_)
        assert np.allclose(fitted.explained_variance_ratio_, pca.explained_variance_ratio_)
        assert np.allclose(fitted.adjusted_variance_ratio_, pca.explained_variance_ratio_, atol=1e-6)


def test_variances_add_up_to_what_a_reconstruction_keeps():
    X, _ = planted(noise=2.0)
    fitted = SparsePCA(3, n_nonzero=14).fit(X)
    T = fitted.transform(X)
    D = X - X.mean(axis=0)
    lost = np.sum((X - fitted.inverse_transform(T)) ** 2) / np.sum(D**2)
    assert fitted.explained_variance_ratio_.sum() == pytest.approx(1 - lost)
    assert np.allclose(fitted.explained_variance_, T.var(axis=0, ddof=1))
    for other in (X, X[:20] + 5.0):  # about the mean of the fit
        rest = other - fitted.inverse_transform(fitted.transform(other))
        assert fitted.score(other) == pytest.approx(1 - np.sum(rest**2) / np.sum((other - X.mean(axis=0)) ** 2))
    # What the scores before it do not explain of each score, by regression.
    for j, own in enumerate(fitted.adjusted_variance_ratio_):
        rest = T[:, j] - T[:, :j] @ np.linalg.lstsq(T[:, :j], T[:, j], rcond=None)[0]
        assert own == pytest.approx(np.sum(rest**2) / np.sum(D**2))


@pytest.mark.parametrize(("wish", "most"), [({"n_nonzero": 7}, 7), ({"n_nonzero_per_component": 2}, 6)], ids=str)
def test_a_warm_start_with_fewer_nonzeros_begins_with_the_largest_of_the_last_fit(wish, most, monkeypatch):
    X = np.random.default_rng(8).standard_normal((25, 11))
    fitted = SparsePCA(3, n_nonzero=20, warm_start=True).fit(X)
    V, starts = fitted.components_, []

    def watched(*given, start, **rest):
        starts.append(start.T)
        return find_components(*given, start=start, **rest)

    monkeypatch.setattr("orthoprox.estimators._search.find_components", watched)
    fitted.set_params(n_nonzero=None).set_params(**wish).fit(X)
    (start,) = starts
    assert np.max(np.abs(start @ start.T - np.eye(3))) <= 1e-12
    assert np.count_nonzero(start) <= most and np.all(V[start != 0] != 0)


@pytest.mark.parametrize("moment", [0, 1, 2, 3])
def test_ctrl_c_in_a_search_keeps_the_best_so_far(moment, monkeypatch):
    X, calls = planted()[0], []

    def interrupted(*given):
        calls.append(given)
        if len(calls) == max(moment, 1):
            raise KeyboardInterrupt
        return exchange(*given)

    monkeypatch.setattr(f"orthoprox.supports.levels.{'exchange' if moment else 'singles'}", interrupted)
    if moment == 0:  # before single features there is nothing to keep
        with pytest.raises(KeyboardInterrupt):
            SparsePCA(3, n_nonzero=9).fit(X)
        return
    with pytest.warns(ConvergenceWarning, match="interrupted in run 1 of 2"):
        fitted = SparsePCA(3, n_nonzero=9, n_init=2).fit(X)
    assert exact(fitted) and np.count_nonzero(fitted.components_) <= 9 and len(calls) == moment


@pytest.mark.parametrize(
    ("max_iter", "wish"),
    [
        *((most, wish) for most in (1, 2, 3) for wish in ({"n_nonzero": 50}, {"n_nonzero_per_component": 10})),
        (1, {"weight": 2.0}),  # two steps from its start are enough
    ],
    ids=str,
)
def test_what_max_iter_ended_is_not_called_converged(wish, max_iter):
    X = load_digits().data
    with pytest.warns(ConvergenceWarning, match=f"iteration limit; .* raise max_iter, now {max_iter}"):
        cut = SparsePCA(5, max_iter=max_iter, **wish).fit(X)
    whole = SparsePCA(5, **wish).fit(X)
    assert cut.result_.status is Status.ITERATIONS and whole.result_.status is Status.CONVERGED
    assert cut.objective_ > (1 - 1e-9) * whole.objective_


@pytest.mark.parametrize(("seed", "r", "wish"), [(2, 4, (10, 4)), (10, 4, (10, 4)), (19, 3, (9, 5))])
def test_a_warm_start_keeps_what_a_total_and_caps_allow(seed, r, wish):
    """A component may have all that its cap allows, and the others what the total leaves."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 12)) * np.repeat([1, 2.5], [9, 3])
    X[:, :9] += 2 * np.repeat(rng.standard_normal((40, 2)), [5, 4], axis=1)
    total, cap = wish
    model = SparsePCA(r, n_nonzero=total, n_nonzero_per_component=cap, effort="fast", warm_start=True).fit(X)
    before, counts = model.explained_variance_.sum(), model.n_nonzero_
    assert np.any(counts > -(-total // r))
    assert model.fit(X).explained_variance_.sum() >= before * (1 - 1e-12)


@pytest.mark.parametrize(("penalty", "weight"), [("l1", 1e4), ("mcp", 1e3), ("group", 1e4), ("group", 30.0)])
@pytest.mark.parametrize("seed", range(3))
def test_no_penalty_ends_below_the_features_of_largest_variance(penalty, weight, seed):
    """A heavy one held a run at the features that it came to first."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((50, 20)) * rng.uniform(1, 4, 20)
    X[:, ::3] += 3 * rng.standard_normal((50, 1))
    order = np.argsort(-X.var(axis=0))
    fitted = SparsePCA(4, weight=weight, penalty=penalty).fit(X)
    alone = SparsePCA(4, weight=weight, penalty=penalty, max_iter=1, warm_start=True)
    alone.components_ = np.eye(20)[order[:4]]  # one step from there
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert fitted.objective_ <= alone.fit(X).objective_ + 1e-9 * abs(fitted.objective_)
    if weight > 1e3:
        assert fitted.explained_variance_.sum() == pytest.approx(X.var(axis=0, ddof=1)[order[:4]].sum())


# ---------------------------------------------------------------- asking for sparsity


DATA = np.random.default_rng(21).standard_normal((40, 9)) * np.linspace(1, 2, 9)
DATA[:, 2:5] += 2 * np.random.default_rng(22).standard_normal((40, 1))
C = np.cov(DATA.T)
CAPS = [([1, 3, 2], [1, 3, 2]), ([4, 2, 1], [4, 2, 1]), (np.array([3, 3, 2]), [3, 3, 2])]
CAPS += [(4, [4] * 3), (0.4, [3] * 3), (0.01, [1] * 3)]
COUNTS = [({"n_nonzero": k}, None) for k in (3, 4, 6, 12, 20)]
COUNTS += [({"n_nonzero_per_component": given}, caps) for given, caps in CAPS]


@pytest.mark.parametrize(("n", "solver"), [(12, "auto"), (30, "auto"), (30, "oadmm")])
@pytest.mark.parametrize("total", [None, 13])
def test_the_order_of_caps_is_that_of_the_components_and_plays_no_other_part(n, solver, total):
    """A warm start finds its components again, whatever the order."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, n)) + np.repeat(rng.standard_normal((40, n // 2)), 2, axis=1)
    X[:, -8:] += 2 * np.repeat(rng.standard_normal((40, 2)), 4, axis=1)
    kept = []
    for caps in ([6, 5, 4, 1], [1, 4, 5, 6], [4, 6, 1, 5]):
        model = SparsePCA(4, n_nonzero=total, n_nonzero_per_component=caps, solver=solver, warm_start=True).fit(X)
        kept.append(model.explained_variance_.sum())
        assert np.all(model.n_nonzero_ <= caps)
        if solver == "auto":
            assert model.fit(X).explained_variance_.sum() >= kept[-1] * (1 - 1e-12)
    assert kept == pytest.approx([kept[0]] * 3, rel=1e-12)


def test_components_of_larger_variance_come_first_as_far_as_caps_allow():
    """Two that fit into each other's places change these, though their caps differ."""
    C = np.diag([9.0, 8, 7, 6, 5, 4, 3, 2])
    X = np.linalg.cholesky(C + 0.5).T  # so that each of two nonzeros is worth more than one
    for caps in itertools.permutations([1, 2, 5]):
        fitted = SparsePCA(3, n_nonzero=5, n_nonzero_per_component=caps).fit_covariance(X.T @ X)
        kept, counts = fitted.explained_variance_, fitted.n_nonzero_
        assert np.all(counts <= caps)
        for i, j in itertools.combinations(range(3), 2):
            assert kept[i] >= kept[j] or counts[j] > caps[i] or counts[i] > caps[j]


@pytest.mark.parametrize("solver", ["auto", "oadmm"])
@pytest.mark.parametrize("caps", [4, [4, 4, 4], [4, 4, 2], [2, 4, 4]], ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_a_total_beside_caps_leaves_components_ordered_by_variance(seed, caps, solver):
    """A single cap binds no component to a place, whatever part of the total it takes; neither do equal ones."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 12)) * np.repeat([1, 2.5], [9, 3])
    X[:, :9] += 2 * np.repeat(rng.standard_normal((40, 2)), [5, 4], axis=1)
    fitted = SparsePCA(3, n_nonzero=8, n_nonzero_per_component=caps, solver=solver, effort="fast").fit(X)
    kept, most = fitted.explained_variance_, np.broadcast_to(caps, 3)
    assert np.sum(fitted.n_nonzero_) <= 8 and np.all(fitted.n_nonzero_ <= most)
    assert all(kept[i] >= kept[j] for i in range(3) for j in range(i, 3) if most[i] == most[j])


@pytest.mark.parametrize(("wish", "caps"), COUNTS, ids=str)
def test_counts_are_kept_exactly_f_is_stationary_on_them_and_a_greedy_support_is_never_better(wish, caps):
    fitted = SparsePCA(3, **wish).fit(DATA)
    V = fitted.components_.T
    assert np.max(np.abs(V.T @ V - np.eye(3))) < 1e-13
    if caps is None:
        assert np.count_nonzero(V) == wish["n_nonzero"]
    else:  # caps hold in their order, and the components stand in it where others would have more variance
        assert np.all(np.count_nonzero(V, axis=0) == caps)
    assert np.min(np.abs(V[V != 0])) > 1e-9  # none that constraints hold at zero
    kept, order = fitted.explained_variance_, range(3)
    assert all(kept[i] >= kept[j] for i in order for j in order if i < j and (caps is None or caps[i] == caps[j]))
    support = (V != 0).astype(float)
    gradient = SparseStiefel(support).tangent_space(V).project((C @ V) * support)
    assert np.linalg.norm(gradient) < 1e-8 * np.linalg.norm(C @ V)
    greedily = greedy(C, 3, wish.get("n_nonzero") or sum(caps), caps)
    reached = sum(np.linalg.eigvalsh(C[np.ix_(on, on)])[-1] for on in greedily.T)
    assert fitted.explained_variance_.sum() >= reached - 1e-9


@pytest.mark.parametrize(("total", "caps"), [(5, 4), (6, [1, 4, 4]), (20, [2, 3, 1])], ids=str)
def test_both_counts_hold(total, caps):
    found = SparsePCA(3, n_nonzero=total, n_nonzero_per_component=caps).fit(DATA).n_nonzero_
    assert np.sum(found) == min(total, np.sum(np.broadcast_to(caps, 3))) and np.all(found <= caps)


@pytest.mark.parametrize(("n", "r", "k"), [(50, 2, 20), (8, 2, 4), (4, 3, 6), (1, 1, 1), (2, 2, 4)])
def test_the_default_is_a_fifth_and_at_least_two_for_each(n, r, k):
    X = np.random.default_rng(4).standard_normal((20, n))
    fitted = SparsePCA(r).fit(X)
    assert resolve_total(None, n, r) == k and r <= np.count_nonzero(fitted.components_) <= k


def test_no_loading_is_a_rounding_error():
    # Two columns here share a single row, where X'X = I holds one of them at zero: it came out as 7e-19.
    model = SparsePCA(8, n_nonzero=0.2).fit(load_digits().data)
    V = model.components_
    assert np.abs(V[V != 0]).min() > 1e-6 and np.abs(V @ V.T - np.eye(8)).max() < 1e-14
    assert model.n_nonzero_.sum() == np.count_nonzero(V) <= 103


def test_more_weight_means_fewer_nonzeros_and_at_last_one_each():
    X, _ = planted(noise=1.0)
    counts = [np.count_nonzero(SparsePCA(3, weight=w).fit(X).components_) for w in (0.1, 1.0, 300.0)]
    assert counts[0] > counts[1] > counts[2] == 3


def test_a_group_penalty_chooses_features_for_all_components():
    X, groups = planted()
    fitted = SparsePCA(2, weight=1.0, penalty="group").fit(X)
    used = np.any(fitted.components_ != 0, axis=0)
    assert exact(fitted) and 2 <= np.count_nonzero(used) <= 9
    assert np.all(groups[:, used].sum(axis=0) == 1)
    T = fitted.transform(X)
    assert abs(np.corrcoef(T.T)[0, 1]) < 1e-6  # principal axes
    assert np.count_nonzero(SparsePCA(2, weight=1e4, penalty="group").fit(X).components_.any(axis=0)) == 2


@pytest.mark.parametrize("solver", ["oadmm-ep", "manpg-ada", named("oadmm", explore=5)])
def test_other_solvers_give_exact_zeros_too(solver):
    X, _ = planted()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # oadmm-ep is slow
        fitted = SparsePCA(3, n_nonzero=9, solver=solver, max_iter=500).fit(X)
    assert exact(fitted) and np.count_nonzero(fitted.components_) <= 9


# ---------------------------------------------------------------- the data


@pytest.mark.parametrize(("m", "n"), [(500, 6), (10, 300), (2, 5)])
def test_tall_and_wide(m, n):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore" if m < 4 else "error", "SparsePCA: n_components = 3 is more than the rank")
        fitted = SparsePCA(3).fit(np.random.default_rng(6).standard_normal((m, n)))
    assert exact(fitted) and np.all(fitted.explained_variance_ratio_ <= 1)
    assert fitted.adjusted_variance_ratio_.shape == (3,)
    assert fitted.adjusted_variance_ratio_.sum() <= 1 and np.all(fitted.adjusted_variance_ratio_[min(m, 3) :] == 0)


# ---------------------------------------------------------------- real data


@pytest.mark.slow
def test_most_of_the_variance_of_handwritten_digits_with_a_ninth_of_the_loadings(shared_data):
    D = load("mnist-1500-500", seed=0, folder=shared_data).X
    fitted = SparsePCA(20, n_nonzero=0.114).fit(D)
    pca = np.sum(np.linalg.svd(D - D.mean(axis=0), compute_uv=False)[:20] ** 2)
    assert exact(fitted) and np.count_nonzero(fitted.components_) <= 1140
    assert np.sum((D @ fitted.components_.T) ** 2) >= 0.82 * pca


CROWDED = np.random.default_rng(4).standard_normal((80, 6)) @ np.random.default_rng(5).standard_normal((6, 20))
CROWDED += np.random.default_rng(6).standard_normal((80, 20))
"""Many components with many entries of few features: more than features, so that supports must overlap."""


def test_a_crowded_search_is_never_worse_than_the_solver_nor_a_total_than_its_parts(monkeypatch):
    singles = lambda C, allowance, *_: fresh.singles(C.diagonal, C.dense(), Allowances.of([allowance]))
    monkeypatch.setattr(search, "_search", singles)  # a search that finds next to nothing
    caps, total = (SparsePCA(8, **wish).fit(CROWDED) for wish in ({"n_nonzero_per_component": 6}, {"n_nonzero": 48}))
    solved = SparsePCA(8, n_nonzero_per_component=6, solver=caps._default_solver()).fit(CROWDED)
    kept = [np.sum(one.explained_variance_) for one in (solved, caps, total)]
    assert kept == sorted(kept) and kept[1] > (1 + 1e-5) * kept[0]  # exchanges have gained
    monkeypatch.setattr("orthoprox.estimators._search.is_crowded", lambda n, allowance: False)
    alone = SparsePCA(8, n_nonzero=48).fit(CROWDED)
    assert np.sum(alone.explained_variance_) < 0.9 * kept[0]


def test_the_last_step_is_taken_from_the_best_alone(monkeypatch):
    finished, singles = [], lambda C, allowance, *_: fresh.singles(C.diagonal, C.dense(), Allowances.of([allowance]))
    last = _search.finish
    monkeypatch.setattr(_search, "finish", lambda *args: finished.append(args[-1].value) or last(*args))
    both = [np.sum(SparsePCA(8, n_nonzero=48).fit(CROWDED).explained_variance_)]
    monkeypatch.setattr(search, "_search", singles)  # a search that finds next to nothing
    count = len(finished)
    both.append(np.sum(SparsePCA(8, n_nonzero=48).fit(CROWDED).explained_variance_))
    assert min(finished) >= 0.99 * max(finished) and 1 <= len(finished) - count < 4
    assert both[1] <= both[0] * (1 + 1e-9)


@pytest.mark.parametrize("count", [48, [9, 7, 7, 6, 6, 5, 4, 4]])
def test_a_start_near_a_solution_keeps_to_the_nonzeros(rng, count):
    problem = sparse_pca(CROWDED - CROWDED.mean(axis=0), n_components=8, weight=1.0, k=48)
    X0 = np.linalg.qr(rng.standard_normal((20, 8)))[0]
    X = _exact.near_count(problem, solve(problem, X0=X0, stop=Iterations(3)), count)
    assert np.abs(X.T @ X - np.eye(8)).max() < 1e-10 and np.count_nonzero(X) <= 48
    assert isinstance(count, int) or np.all(np.count_nonzero(X, axis=0) <= count)


def test_ctrl_c_in_the_solver_of_a_crowded_search_keeps_what_the_search_has_found(monkeypatch):
    def interrupted(*_, **rest):
        raise KeyboardInterrupt

    monkeypatch.setattr(SparsePCA, "_start", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        pca = SparsePCA(8, n_nonzero=56).fit(CROWDED)
    assert pca.result_.status is Status.INTERRUPTED and np.sum(pca.n_nonzero_) <= 56
    assert np.max(np.abs(pca.components_ @ pca.components_.T - np.eye(8))) <= 1e-12


def test_searches_side_by_side_are_those_one_after_the_other():
    X = np.random.default_rng(8).standard_normal((25, 11))
    one, two = (SparsePCA(3, n_nonzero=9, effort="fast", n_init=3, n_jobs=n, random_state=0).fit(X) for n in (None, 2))
    assert np.array_equal(one.components_, two.components_) and one.objective_ == two.objective_

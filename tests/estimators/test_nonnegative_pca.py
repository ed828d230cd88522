"""NonnegativePCA: exact components, planted groups, what is reported, odd data."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from orthoprox import Status, named
from orthoprox.estimators import NonnegativePCA
from orthoprox.models import nonnegative_pca
from orthoprox.solvers import OADMM, Assignment

GROUPS = np.array([0, 1, 2, 0, 0, 1, 2, 2, 2, 0, 1, 1])


@pytest.fixture
def D(rng):
    """Three groups of features that follow a hidden variable each, of variance 9, 4 and 1, far from zero."""
    hidden = rng.standard_normal((80, 3)) * [3, 2, 1]
    return hidden[:, GROUPS] * (0.5 + rng.random(12)) + 0.05 * rng.standard_normal((80, 12)) + 10.0


def test_planted_groups_are_found_and_what_is_reported_is_what_it_is(D):
    fitted = NonnegativePCA(n_components=3, random_state=0).fit(D)
    C, V = D - D.mean(axis=0), fitted.components_
    assert np.min(V) >= 0 and np.max(np.abs(V @ V.T - np.eye(3))) <= 1e-12
    assert np.array_equal(fitted.labels_, GROUPS) and np.all(np.count_nonzero(V, axis=0) == 1)
    scores = C @ V.T
    assert np.allclose(fitted.transform(D), scores)
    assert np.allclose(fitted.explained_variance_, scores.var(axis=0, ddof=1))
    assert np.all(np.diff(fitted.explained_variance_) <= 0)
    lost = np.sum((D - fitted.inverse_transform(scores)) ** 2)
    assert np.sum(fitted.explained_variance_ratio_) == pytest.approx(1 - lost / np.sum(C**2), rel=1e-9)
    assert fitted.score(D) == pytest.approx(1 - lost / np.sum(C**2), rel=1e-9)
    assert fitted.objective_ == pytest.approx(lost / 160, rel=1e-9)
    problem = nonnegative_pca(C, n_components=3)
    assert float(problem.objective(V.T)) == pytest.approx(fitted.objective_, rel=1e-9)
    assert fitted.result_.status is Status.CONVERGED and fitted.result_.solver == Assignment()
    assert np.array_equal(np.sort(fitted.result_.X.T, axis=0), np.sort(V, axis=0))


@pytest.mark.parametrize("solver", ["assignment", Assignment(), "oadmm", named("oadmm", explore=3), "oadmm-ep"])
def test_every_way_to_a_start_ends_at_the_groups(D, solver):
    fitted = NonnegativePCA(n_components=3, solver=solver, n_init=3, random_state=1).fit(D)
    assert np.array_equal(fitted.labels_, GROUPS)


def test_the_first_start_is_led_by_the_solver_and_no_start_by_assignment(D, monkeypatch):
    from orthoprox.estimators import _stages

    solve, runs, starts, ends = _stages.solve, [], [], []

    def seen(problem, solver, X0, **rest):
        runs.append((solver.name, getattr(problem.h, "weight", None), bool(np.min(X0) < 0)))
        starts.append(X0)
        result = solve(problem, solver, X0, **rest)
        ends.append(result.X)
        return result

    monkeypatch.setattr(_stages, "solve", seen)
    NonnegativePCA(n_components=3, n_init=1).fit(D)
    assert [name for name, *_ in runs] == ["oadmm", "oadmm", "assignment"]
    assert 0 < runs[0][1] < runs[1][1]  # a growing penalty
    assert starts[1] is ends[0] and starts[2] is ends[1]
    runs.clear()
    NonnegativePCA(n_components=3, n_init=4, solver="assignment", random_state=0).fit(D)
    assert [(name, negative) for name, _, negative in runs] == [("assignment", False)] * 4
    runs.clear()
    NonnegativePCA(n_components=3, n_init=20, random_state=0).fit(D)
    led = [name for name, *_ in runs].count("oadmm")
    assert 2 * 2 <= led <= 2 * 12  # the first, and about a quarter of the others


def test_ctrl_c_on_the_way_to_a_start_keeps_a_feasible_point(D, monkeypatch):
    step, calls = OADMM.step, []

    def interrupted(self, problem, state):
        calls.append(state.t)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return step(self, problem, state)

    monkeypatch.setattr(OADMM, "step", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted in run 1 of 10"):
        fitted = NonnegativePCA(n_components=3, random_state=0).fit(D)
    V = fitted.components_
    assert np.min(V) >= 0 and np.max(np.abs(V @ V.T - np.eye(3))) <= 1e-12
    assert len(calls) == 2 and fitted.n_iter_ == 0 and fitted.result_.status is Status.INTERRUPTED


def test_digits_are_explained_as_well_as_by_the_best_of_many_starts():
    # Hundreds of random starts reach 0.605 at best and 0.56 in the mean; PCA keeps 0.74.
    D = load_digits().data
    fitted = NonnegativePCA(n_components=10, random_state=0).fit(D)
    assert 0.59 <= np.sum(fitted.explained_variance_ratio_) <= 0.74
    assert np.array_equal(fitted.labels_ < 0, np.all(fitted.components_ == 0, axis=0))


def test_more_components_than_directions_in_the_data():
    D = np.outer(np.arange(6.0), [1.0, 2.0, 0.0, 3.0, 0.5])
    fitted = NonnegativePCA(n_components=4, random_state=0).fit(D)
    V = fitted.components_
    assert np.max(np.abs(V @ V.T - np.eye(4))) <= 1e-12 and np.min(V) >= 0
    whole = NonnegativePCA(n_components=5, random_state=0).fit(D)
    assert np.array_equal(np.sort(whole.components_, axis=None)[-5:], np.ones(5))
    assert whole.score(D) == pytest.approx(1.0)


def test_constant_data_a_single_feature_and_two_samples():
    fitted = NonnegativePCA(n_components=2, random_state=0).fit(np.ones((5, 3)))
    assert np.array_equal(fitted.explained_variance_ratio_, [0, 0]) and fitted.objective_ == 0
    assert NonnegativePCA(n_components=1).fit([[1.0], [2.0], [4.0]]).components_.tolist() == [[1.0]]
    two = NonnegativePCA(n_components=1).fit([[0.0, 1.0, 5.0], [3.0, 5.0, 1.0]])
    assert np.allclose(two.components_, [[0.6, 0.8, 0.0]])  # the third falls where the others rise


def test_sparse_samples_far_from_zero_are_centred(D):
    D = np.where(D > 11, D, 0.0) + 1e13
    plain, sparse = (NonnegativePCA(n_components=3, random_state=0).fit(A) for A in (D, csr_array(D)))
    assert np.allclose(sparse.explained_variance_, plain.explained_variance_)
    assert np.allclose(sparse.components_, plain.components_, atol=1e-5)

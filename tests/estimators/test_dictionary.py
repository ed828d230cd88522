"""OrthogonalDictionaryLearning: planted atoms, the best sparse codes, the score, atoms that are not orthogonal."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import ortho_group
from sklearn.decomposition import SparseCoder

from orthoprox import OrthogonalDictionaryLearning

N = 8
ATOMS = ortho_group.rvs(N, random_state=5)


@pytest.fixture(scope="module")
def C():
    rng = np.random.default_rng(6)
    return rng.standard_normal((500, N)) * (rng.random((500, N)) < 0.2) * np.arange(1, N + 1)


def matched(P):
    """How far from a signed permutation."""
    P = np.abs(P)
    return float(max(np.max(np.abs(1 - P.max(axis=0))), np.max(np.abs(1 - P.max(axis=1)))))


def test_planted_atoms_and_codes_come_back(C):
    learned = OrthogonalDictionaryLearning(objective="l1", tol=1e-9, random_state=0).fit(C @ ATOMS)
    assert matched(learned.components_ @ ATOMS.T) < 1e-10
    codes = learned.transform(C @ ATOMS)
    assert np.allclose(learned.inverse_transform(codes), C @ ATOMS, atol=1e-12)
    # as sparse as they were, ordered by use, each atom with its largest entry positive
    assert np.count_nonzero(np.abs(codes) > 1e-6) == np.count_nonzero(C)
    assert np.all(np.diff(np.sum(np.abs(codes), axis=0)) <= 0)
    V = learned.components_
    assert np.all(V[range(N), np.argmax(np.abs(V), axis=1)] > 0)
    assert np.array_equal(learned.analysis_, V.T) and not np.any(learned.mean_)


def test_codes_are_what_a_lasso_and_a_matching_pursuit_would_find(C):
    X = C @ ATOMS + 0.1 * np.random.default_rng(1).standard_normal(C.shape)
    learned = OrthogonalDictionaryLearning(5, weight=0.3, codes="soft", random_state=0).fit(X)
    V = learned.components_
    lasso = SparseCoder(V, transform_algorithm="lasso_lars", transform_alpha=0.3)
    assert np.allclose(learned.transform(X[:50]), lasso.transform(X[:50]), atol=1e-6)
    pursuit = SparseCoder(V, transform_algorithm="omp", transform_n_nonzero_coefs=2)
    learned.set_params(codes="largest", transform_n_nonzero_coefs=2)
    assert np.allclose(learned.transform(X[:50]), pursuit.transform(X[:50]), atol=1e-8)
    plain = X @ V.T
    hard = learned.set_params(codes="hard").transform(X)
    assert np.array_equal(hard != 0, np.abs(plain) > 0.3) and np.allclose(hard[hard != 0], plain[hard != 0])
    assert np.array_equal(learned.set_params(codes="largest", transform_n_nonzero_coefs=9).transform(X), plain)


def test_exactly_n_nonzero_codes_are_left_among_equals():
    X = np.repeat(np.eye(4), 3, axis=0) + np.repeat(np.eye(4)[::-1], 3, axis=0)
    learned = OrthogonalDictionaryLearning(codes="largest", transform_n_nonzero_coefs=1, random_state=0).fit(X)
    learned.analysis_ = np.eye(4)
    assert np.array_equal(np.count_nonzero(learned.transform(X), axis=1), np.ones(12))


@pytest.mark.parametrize(
    "settings", [{}, {"codes": "hard", "weight": 1.0}, {"codes": "largest", "transform_n_nonzero_coefs": 2}], ids=str
)
@pytest.mark.parametrize("precondition", [False, True])
def test_the_score_is_the_share_that_is_kept(settings, precondition, C):
    X = C @ ATOMS + 0.1 * np.random.default_rng(1).standard_normal(C.shape)
    learned = OrthogonalDictionaryLearning(6, precondition=precondition, random_state=0, **settings).fit(X)
    error = X - learned.inverse_transform(learned.transform(X))
    wanted = 1 - np.sum(error**2) / np.sum(X**2)
    assert learned.score(X) == pytest.approx(wanted, abs=1e-12)
    assert learned.score(csr_array(X)) == pytest.approx(wanted, abs=1e-12)
    assert learned.score(0 * X) == 1.0


def test_atoms_that_are_not_orthogonal_come_back_with_precondition(C):
    # A sample tells its second moments to about 1/sqrt(m), and the atoms are as far off.
    C = C / np.arange(1, N + 1)  # atoms used alike
    D = np.random.default_rng(9).standard_normal((N, N)) + 2 * np.eye(N)
    plain = OrthogonalDictionaryLearning(random_state=0).fit(C @ D)
    learned = OrthogonalDictionaryLearning(precondition=True, random_state=0).fit(C @ D)

    def cosines(V):
        return V @ D.T / np.outer(np.linalg.norm(V, axis=1), np.linalg.norm(D, axis=1))

    assert matched(cosines(learned.components_)) < 2 / np.sqrt(500) < matched(cosines(plain.components_))
    assert np.allclose(learned.components_ @ learned.analysis_, np.eye(N), atol=1e-10)
    assert np.allclose(learned.inverse_transform(learned.transform(C @ D)), C @ D, atol=1e-9)
    sparse = OrthogonalDictionaryLearning(precondition=True, random_state=0).fit(csr_array(C @ D))
    assert np.allclose(sparse.components_, learned.components_, atol=1e-6)


@pytest.mark.parametrize(("objective", "weight"), [("l4", None), ("codes", 0.5), ("codes", None)])
def test_other_objectives(objective, weight, C):
    learned = OrthogonalDictionaryLearning(objective=objective, weight=weight, random_state=0).fit(C @ ATOMS)
    assert matched(learned.components_ @ ATOMS.T) < 0.05
    assert np.max(np.abs(learned.components_ @ learned.components_.T - np.eye(N))) < 1e-12


@pytest.mark.parametrize("precondition", [False, True])
def test_the_weight_is_half_the_size_of_the_codes(precondition, C):
    X = C @ ATOMS
    learned = OrthogonalDictionaryLearning(precondition=precondition, random_state=0).fit(X)
    codes = learned.transform(X)
    assert learned.weight_ == pytest.approx(0.5 * np.sqrt(np.mean(codes**2)), rel=1e-9)
    soft = learned.set_params(codes="soft").transform(X)
    assert np.allclose(soft, np.sign(codes) * np.maximum(np.abs(codes) - learned.weight_, 0), atol=1e-12)
    assert OrthogonalDictionaryLearning(weight=0.3, random_state=0).fit(X).weight_ == 0.3


def test_l1_begins_where_its_smoothed_form_ends(C, monkeypatch):
    from orthoprox.estimators import _stages

    starts, solve = [], _stages.solve

    def watched(problem, solver, X0, **rest):
        starts.append((type(problem.h).__name__, X0))
        return solve(problem, solver, X0, **rest)

    monkeypatch.setattr(_stages, "solve", watched)
    OrthogonalDictionaryLearning(objective="l1", n_init=2, random_state=0).fit(C @ ATOMS)
    assert [name for name, _ in starts] == ["Huber", "L1"] * 2
    assert all(matched(ATOMS @ X0) < 0.05 for _, X0 in starts[1::2])


@pytest.mark.parametrize("size", [1e150, 1e305, 1e-150, 1e-305])
def test_fourth_powers_beyond_the_range_are_infinite_or_zero(size):
    X = size * np.random.default_rng(0).standard_normal((20, 4))
    learned = OrthogonalDictionaryLearning(2, objective="l4", random_state=0).fit(X)
    assert learned.objective_ == (-np.inf if size > 1 else 0) and np.all(np.isfinite(learned.components_))

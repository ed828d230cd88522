"""Sparse principal components, as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoprox._checks import check_weight
from orthoprox._types import Array
from orthoprox.driver import DEFAULT_SOLVER, Result, Rule
from orthoprox.estimators import _exact, _sparsity
from orthoprox.estimators._base import OrthogonalTransformer
from orthoprox.estimators._input import Samples
from orthoprox.estimators._signs import choose_signs
from orthoprox.estimators._stop import FlatObjective
from orthoprox.models import sparse_pca
from orthoprox.problem import Problem
from orthoprox.solvers import Solver, named
from orthoprox.starts import Auto
from orthoprox.starts._directions import principal_components

_START_TOLERANCE = 1e-3  # of the principal components as a start
_SHORT_STAGES = {"block": 10, "rounds": 3}
"""Settings of oadmm for a number of nonzeros: shorter homotopy stages and fewer Newton steps do as well."""


class SparsePCA(OrthogonalTransformer):
    r"""Principal components with few nonzero loadings, exactly orthonormal.

    At most ``n_nonzero`` entries of ``components_`` differ from zero, and among such orthonormal components these
    (locally) keep the most variance:

    .. math:: \max_{VV' = I} \|(X - 1 \mu') V'\|^2 \quad \text{with at most } k \text{ nonzeros in } V

    With ``weight`` instead, a penalty decides how many zeros there are (``orthoprox.models.sparse_pca``).

    Parameters
    ----------
    n_components : int
        The number of components, at most the number of features.
    n_nonzero : int or float, optional
        How many entries of all components together may differ from zero, or as a float their share of all
        ``n_features * n_components`` entries. Without this and the two below: a fifth of all, and at least two for
        each component.
    n_nonzero_per_component : int, float or sequence of them, optional
        Instead: how many in each component, or their share of the features. A sequence has one number for each, and
        then the components keep to that order where they would change places otherwise.
    weight : float, optional
        Instead: the weight of a penalty, in units of variance. A larger one means more zeros.
    penalty : {"l1", "mcp", "scad", "group"}
        With ``weight``: its kind. The first three act on entries; with ``"group"`` a feature takes part in all
        components or in none.
    solver : str or Solver
        "auto" for the default method with suitable settings, the name of a method in ``orthoprox.SOLVERS``, or a
        configured method.
    max_iter : int
        The most steps; for ``oadmm`` a step is a block of iterations.
    tol : float
        Stop when Crit, relative to its own scale, is at most this.
    n_init : int
        The number of starts; the result that keeps most variance (or has the lowest objective) is kept. With a weight
        they come from ``orthoprox.starts.Auto``; else the first is at the principal components, the others random.
    warm_start : bool
        Whether to start from the components of the last fit, if they have the right shape.
    verbose : int
        Show a progress bar if positive.
    random_state : int, RandomState or None
        For the random starts; with ``n_init=1`` nothing is random.

    Attributes
    ----------
    components_ : array, shape (n_components, n_features)
        Orthonormal rows with exact zeros, ordered by explained variance; the largest entry of each is positive.
    n_nonzero_ : array of int, shape (n_components,)
        How many entries of each component differ from zero.
    explained_variance_ : array, shape (n_components,)
        The variance of the scores of each component.
    explained_variance_ratio_ : array, shape (n_components,)
        The same divided by the variance of all features. Because the components are orthonormal, these add up to
        the share that ``inverse_transform(transform(X))`` keeps. Unlike those of PCA the scores are correlated, so
        a part of what one component explains others explain too.
    adjusted_variance_ratio_ : array, shape (n_components,)
        The part of each that the components before it do not explain, by a QR decomposition of the scores (Zou,
        Hastie and Tibshirani).
    mean_ : array, shape (n_features,)
        The vector subtracted from every sample.
    n_iter_, objective_, result_
        Steps, objective and the whole result of the best run.
    n_features_in_, feature_names_in_
        The number of features, and their names if the data have them.

    References
    ----------
    - H. Zou, T. Hastie, R. Tibshirani, "Sparse principal component analysis", Journal of Computational and
      Graphical Statistics 15, 2006.
    - J. Gotoh, A. Takeda, K. Tono, "DC formulations and algorithms for sparse optimization problems",
      Math. Program. 169, 2018 (the l1 minus largest-k penalty, by which the number of nonzeros is fixed).

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import SparsePCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 6))
    >>> X[:, :3] += 3 * rng.standard_normal((100, 1))  # three features that go together
    >>> X[:, 3:5] += 2 * rng.standard_normal((100, 1))  # and two others
    >>> pca = SparsePCA(n_components=2, n_nonzero=5).fit(X)
    >>> pca.components_.round(1)
    array([[0.6, 0.6, 0.6, 0. , 0. , 0. ],
           [0. , 0. , 0. , 0.7, 0.7, 0. ]])
    >>> bool(np.all(np.abs(pca.components_ @ pca.components_.T - np.eye(2)) < 1e-12))
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_nonzero: float | None = None,
        n_nonzero_per_component: Any = None,
        weight: float | None = None,
        penalty: str = "l1",
        solver: str | Solver[Any] = "auto",
        max_iter: int = 500,
        tol: float = 1e-5,
        n_init: int = 1,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_nonzero = n_nonzero
        self.n_nonzero_per_component = n_nonzero_per_component
        self.weight = weight
        self.penalty = penalty
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _check_settings(self) -> None:
        super()._check_settings()
        options = {name: getattr(self, name) for name in ("n_nonzero", "n_nonzero_per_component", "weight")}
        given = [f"{name} = {value!r}" for name, value in options.items() if value is not None]
        if len(given) > 1:
            raise ValueError(f"Only one of {', '.join(options)} may be given; given {' and '.join(given)}.")
        if self.weight is None and self.penalty != "l1":
            raise ValueError(
                f"penalty = {self.penalty!r} needs a weight, which says how strong it is; "
                "with a number of nonzeros the penalty is 'l1'."
            )

    def _count(self, data: Samples) -> int | list[int]:
        """The number of nonzeros in all, or in each component with ``n_nonzero_per_component``."""
        n, r = data.n_features, self.n_components
        if self.n_nonzero_per_component is None:
            return _sparsity.resolve_total(self.n_nonzero, n, r)
        return _sparsity.resolve_caps(self.n_nonzero_per_component, n, r)

    def _total(self, data: Samples) -> int:
        """The number of nonzeros in all."""
        count = self._count(data)
        return count if isinstance(count, int) else sum(count)

    def _problem(self, data: Samples) -> Problem:
        if data.total_variance == 0:
            raise ValueError("All features of X are constant: there is no variance for components to explain.")
        weight, k = self._unit_weight(data), None
        if weight is None:
            k = self._total(data)
            weight = _exact.exact_penalty_weight(data.B.norm**2 / data.n_samples)
        if self._any_basis(data):
            weight, k = weight if self.penalty == "group" else 0.0, None
        return sparse_pca(data.B, n_components=self.n_components, weight=weight, penalty=self.penalty, k=k)

    def _unit_weight(self, data: Samples) -> float | None:
        """The given weight in units of the variance of samples of unit size."""
        if self.weight is None:
            return None
        unit = data.to_unit(check_weight(self.weight, "the penalty"), 2)
        if unit > np.finfo(data.like.dtype).max ** 0.25:
            raise ValueError(
                f"weight = {self.weight:g} is {unit:.0e} times the variance of X, which has no part in the fit then. "
                "The weight is in units of variance; beyond a few times the largest one all weights do the same."
            )
        return unit

    def _first_start(self, data: Samples, problem: Problem) -> Array:
        return principal_components(problem, 1e-12 if self._any_basis(data) else _START_TOLERANCE)

    def _default_solver(self) -> Solver[Any]:
        return named(DEFAULT_SOLVER, **(_SHORT_STAGES if self.weight is None else {}))

    def _start(self, data: Samples, problem: Problem, seed: int, *, first: bool) -> tuple[Array, bool]:
        previous = first and self._previous_solution(data, problem) is not None
        if not previous and self._method(warm=False).auto_start and Auto().knows(problem):
            drawn = Auto().draw(problem, seed)
            return drawn.X, drawn.near
        X0, warm = super()._start(data, problem, seed, first=first)
        if warm and self.weight is None and not self._any_basis(data):
            X0 = _exact.trim(problem, X0, self._count(data))
        return X0, warm

    def _finish(self, data: Samples, problem: Problem, result: Result[Any]) -> Result[Any]:
        if self.weight is not None:
            return _exact.polish_penalised(problem, result, self.tol)
        return _exact.polish_to_count(problem, result, self._count(data), self.tol)

    def _last_stage(self, data: Samples, problem: Problem, result: Result[Any]) -> Result[Any]:
        if self.weight is not None:
            return result
        return _exact.compare_with_greedy(problem, result, self._count(data), self.tol)

    def _objective_power(self) -> int:
        return 2

    def _stop(self) -> Rule:
        return FlatObjective() | super()._stop()

    def _store(self, data: Samples, result: Result[Any]) -> None:
        V = self._order_columns(data, result.X)
        V = V * choose_signs(V) + 0.0  # no zero is negative
        T = data.rough(V).astype(np.float64)
        variance = np.sum(T * T, axis=0) / data.degrees_of_freedom
        self.components_ = np.ascontiguousarray(V.T)
        self.n_nonzero_ = np.count_nonzero(V, axis=0)
        self.explained_variance_ = data.to_data(variance, 2)
        self.explained_variance_ratio_ = variance / data.total_variance
        adjusted = np.zeros(V.shape[1])
        diagonal = np.diag(np.linalg.qr(T, mode="r"))
        adjusted[: len(diagonal)] = diagonal**2  # with fewer samples than components nothing is left for the last ones
        self.adjusted_variance_ratio_ = adjusted / data.total_squares

    def _order_columns(self, data: Samples, X: Array) -> Array:
        """Sort the columns by explained variance."""
        T = data.rough(X)
        if self._any_basis(data):
            return X @ np.linalg.eigh(T.T @ T)[1][:, ::-1]
        order = np.argsort(-np.sum(T * T, axis=0), kind="stable")
        count = self._count(data)
        if not isinstance(count, int) and np.any(np.count_nonzero(X, axis=0)[order] > count):
            return X  # in the order of the caps
        return X[:, order]

    def _any_basis(self, data: Samples) -> bool:
        """Whether every basis of the subspace is equally good; then the fit shows the principal axes."""
        if self.weight is not None:
            return self.weight == 0 or self.penalty == "group"
        return self._total(data) == data.n_features * self.n_components

"""Nonnegative principal components, as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoprox.driver import Result
from orthoprox.estimators._input import Samples
from orthoprox.estimators._nonnegative import NonnegativeTransformer
from orthoprox.estimators._streaming import StreamingTransformer
from orthoprox.models import nonnegative_pca
from orthoprox.problem import Problem
from orthoprox.solvers import Solver


class NonnegativePCA(StreamingTransformer, NonnegativeTransformer):
    """Principal components whose loadings are not negative: groups of features that rise and fall together.

    The components are exactly nonnegative and orthonormal, so no feature has a loading in two of them. Each is the
    best nonnegative combination of its features, and no feature would do better in another one; which partition of the
    features is best of all is a hard problem, so several starts are tried.

    Parameters
    ----------
    n_components : int
        The number of components, at most that of the features.
    solver : str or Solver
        The method that leads to the first start and a quarter of the others, with negative loadings penalised;
        ``"assignment"`` does without. Every run ends with ``orthoprox.solvers.Assignment``, which never increases the
        objective.
    max_iter : int
        The most steps of the alternation.
    tol : float
        Stop when Crit, relative to its own scale, is at most this.
    n_init : int
        The number of starts; the result with the lowest objective is kept.
    warm_start : bool
        Whether to start from the components of the last fit, if they have the right shape.
    sketch_size : int, optional
        For ``partial_fit``, which needs no more than the covariance: how many directions of the blocks are kept.
        Without it the whole covariance for up to 4,000 features, and 200 or ten times ``n_components`` for more.
    half_life : float, optional
        For ``partial_fit``: after how many further samples a sample counts half, so that components follow a drift.
    verbose : int
        Show a progress bar if positive.
    random_state : int, RandomState or None
        For the starts after the first.

    Attributes
    ----------
    components_ : array, shape (n_components, n_features)
        Orthonormal rows without negative entries, ordered by the variance they explain.
    explained_variance_ : array, shape (n_components,)
        The variance of each component's scores. Scores of different components may be correlated, but since the rows
        are orthonormal these numbers add up to the variance that a reconstruction keeps.
    explained_variance_ratio_ : array, shape (n_components,)
        The same, divided by the total variance.
    labels_ : array of int, shape (n_features,)
        The component each feature belongs to, -1 where it has no loading.
    mean_ : array, shape (n_features,)
    n_iter_ : int
        Steps of the alternation in the best run.
    objective_ : float
        Half the mean squared error of a reconstruction.
    result_ : Result
        The run itself; the columns of its X are in the order of the run.
    sketch_, n_samples_seen_
        After ``partial_fit``: the sketch of the covariance (``orthoprox.sketches``) and how many samples it has seen.

    References
    ----------
    R. Zass, A. Shashua, "Nonnegative sparse PCA", NIPS 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import NonnegativePCA
    >>> rng = np.random.default_rng(0)
    >>> D = rng.standard_normal((50, 2)) * [3, 1] @ np.array([[0.0, 0, 1, 1], [1, 1, 0, 0]])
    >>> NonnegativePCA(n_components=2, random_state=0).fit(D).components_.round(2)
    array([[0.  , 0.  , 0.71, 0.71],
           [0.71, 0.71, 0.  , 0.  ]])
    """

    _lazy = StreamingTransformer._lazy | {"explained_variance_", "explained_variance_ratio_", "labels_"}
    _by_covariance = True

    def __init__(
        self,
        n_components: int = 2,
        *,
        solver: str | Solver[Any] = "auto",
        max_iter: int = 1000,
        tol: float = 1e-6,
        n_init: int = 10,
        warm_start: bool = False,
        sketch_size: int | None = None,
        half_life: float | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.warm_start = warm_start
        self.sketch_size = sketch_size
        self.half_life = half_life
        self.verbose = verbose
        self.random_state = random_state

    def _problem(self, data: Samples) -> Problem:
        return nonnegative_pca(data.B, n_components=self.n_components)

    def _store(self, data: Samples, result: Result[Any]) -> None:
        variance = data.squares(result.X) / data.degrees_of_freedom
        order = np.argsort(-variance, kind="stable")
        V, variance, total = result.X.T[order], variance[order], data.total_variance
        self.components_, self.explained_variance_ = V, data.to_data(variance, 2)
        self.explained_variance_ratio_ = variance / total if total > 0 else 0.0 * variance
        self.labels_ = np.where(np.any(V > 0, axis=0), np.argmax(V, axis=0), -1)

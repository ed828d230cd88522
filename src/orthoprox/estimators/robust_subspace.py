"""A subspace among outliers, as a scikit-learn estimator."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from orthoprox._types import Array
from orthoprox.driver import Iterations, Rule
from orthoprox.estimators._device import host
from orthoprox.estimators._input import Samples
from orthoprox.estimators._robust import RobustTransformer, SmallDecrease
from orthoprox.maps._rows import unit_rows
from orthoprox.models import Reweighting, robust_subspace
from orthoprox.models.robust_subspace import SubspaceDistance
from orthoprox.problem import Problem
from orthoprox.solvers import Solver
from orthoprox.starts._directions import principal_components
from orthoprox.terms import ExplainedVariance


class RobustSubspace(RobustTransformer):
    r"""Principal components that outliers do not sway.

    PCA is the subspace with the least sum of *squared* distances to the samples; this is the one with the least sum of
    distances. Outliers that are spread over all directions hardly move it, even when they are the majority; outliers
    in a direction or low-dimensional subspace of their own are taken for the subspace when they weigh more there.

    Parameters
    ----------
    n_components : int
        The dimension d of the subspace.
    center : {"affine", "median", "mean"}, None or array, shape (n_features,)
        The point the subspace passes through. "affine": the centre of the affine subspace of that dimension with the
        least sum of distances (:func:`orthoprox.models.robust_location`); "median": the geometric median; None: the
        origin, and samples that lie far from it give a warning.
    normalize : bool
        Whether samples count by their direction from the centre only. Otherwise far outliers count for more.
    contamination : "auto" or float
        Who is an outlier. A number is the share of the samples with the largest distances. "auto" is a distance above
        the median by more than three times 1.4826 times the median absolute deviation, which are three standard
        deviations if distances are normal; median and deviation are taken again without the outliers until there are no
        new ones. It needs more inliers than outliers.
    solver : str or Solver
        "auto" for reweighting (:class:`orthoprox.models.Reweighting`), which never increases the objective and was the
        fastest; "reweighting", the name of a method in ``orthoprox.SOLVERS``, or a method with its settings.
    max_iter : int
        The most steps.
    tol : float
        Stop when five steps have lowered the objective by at most this, relatively.
    n_init : int
        The number of starts; the result with the lowest objective is kept. The first is PCA of the normalised samples.
    warm_start : bool
        Whether to start from the components of the last fit, if they have the right shape.
    verbose : int
        Show a progress bar if positive.
    random_state : int, RandomState or None
        For the starts after the first.

    Attributes
    ----------
    components_ : array, shape (n_components, n_features)
        Orthonormal rows: the principal axes of the inliers within the subspace, ordered by their variance.
    location_, mean_ : array, shape (n_features,)
        The centre.
    explained_variance_, explained_variance_ratio_ : array, shape (n_components,)
        The mean squares of the inliers' scores, and their shares of the inliers' mean square about the centre.
    distances_ : array, shape (n_samples,)
        The distance of each sample from the subspace.
    threshold_, offset_ : float
        The distance above which a sample is an outlier, and minus that: ``decision_function`` is ``score_samples``
        less ``offset_``.
    outliers_ : array of bool, shape (n_samples,)
    n_iter_, objective_, result_
        Steps, objective (the mean smoothed distance) and the whole result of the best run.

    References
    ----------
    G. Lerman, T. Maunu, "Fast, robust and non-convex subspace recovery", Information and Inference 7, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import RobustSubspace
    >>> rng = np.random.default_rng(0)
    >>> inliers = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 9))
    >>> X = np.vstack([inliers, 3 * rng.standard_normal((40, 9))])
    >>> model = RobustSubspace(n_components=2).fit(X)
    >>> int(model.outliers_.sum()), bool(model.distances(inliers).max() < 1e-6)
    (40, True)
    >>> model.predict(X)[55:65], bool(np.all(model.decision_function(X)[60:] < 0))
    (array([ 1,  1,  1,  1,  1, -1, -1, -1, -1, -1]), True)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        center: Any = "affine",
        normalize: bool = True,
        contamination: str | float = "auto",
        solver: str | Solver[Any] = "auto",
        max_iter: int = 1000,
        tol: float = 1e-12,
        n_init: int = 1,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.normalize = normalize
        self.contamination = contamination
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _dimension(self, n_features: int) -> int:
        return min(int(self.n_components), n_features)

    def _objective_power(self) -> int:
        return 0 if self.normalize else 1

    def _default_solver(self) -> Solver[Any]:
        return Reweighting()

    def _problem(self, data: Samples) -> Problem:
        return robust_subspace(data.B, n_components=self.n_components, normalize=self.normalize)

    def _stop(self) -> Rule:
        return SmallDecrease(self.tol) | Iterations(self.max_iter)

    def _first_start(self, data: Samples, problem: Problem) -> Array:
        assert isinstance(problem.f, SubspaceDistance)
        B = problem.f.B if self.normalize else unit_rows(problem.f.B)
        return principal_components(Problem(M=problem.M, f=ExplainedVariance(B)))

    def _canonical(self, X: Array, inliers: Samples) -> Array:
        values, E = np.linalg.eigh(inliers.moments(X))
        values, total = np.clip(values[::-1], 0.0, None), inliers.total_squares
        self.explained_variance_ = inliers.to_data(values / inliers.n_samples, 2)
        self.explained_variance_ratio_ = values / total if total > 0 else 0.0 * values
        return X @ E[:, ::-1].astype(X.dtype)

    def _distances(self, data: Samples, V: Array) -> Array:
        f = SubspaceDistance(data.rough, sys.float_info.min)  # its square is zero: nothing is smoothed
        V = data.factor(V)
        return np.asarray(host(f.distances(V, data.rough(V))))[:, 0]

"""Dual principal component pursuit, as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.driver import Rule
from orthoprox.estimators._device import host, like_input, place
from orthoprox.estimators._input import Samples, about, validate
from orthoprox.estimators._robust import RobustTransformer, SmallDecrease
from orthoprox.estimators._stop import FlatObjective
from orthoprox.maps._rows import unit_rows
from orthoprox.models import dual_pcp
from orthoprox.models.reweighting import MAX_FORMED, Reweighting, trailing_eigenvectors
from orthoprox.problem import Problem
from orthoprox.solvers import Solver


class DualPCP(RobustTransformer):
    r"""The directions that inliers have nothing of: the equations of their subspace.

    ``components_`` are orthonormal normals of the subspace of dimension n - c that has the least sum of distances to
    the samples, so ``transform`` gives what a sample violates, and its length is the distance. It is the
    complement of :class:`RobustSubspace`, and the way to a hyperplane or another subspace of small codimension.

    Parameters
    ----------
    n_components : int
        The codimension c.
    center : {"affine", "median", "mean"}, None or array, shape (n_features,)
        The point the subspace passes through. "affine": the centre of the affine subspace with the least sum of
        distances, for up to 512 features; for more, and for "median", the geometric median. None: the origin, as in
        the references; samples that lie far from it give a warning.
    normalize : bool
        Whether samples count by their direction from the centre only. Otherwise far outliers count for more.
    contamination : "auto" or float
        Who is an outlier; as in :class:`RobustSubspace`.
    solver : str or Solver
        "auto": reweighting (:class:`orthoprox.models.Reweighting`) for up to 512 features, "oadmm" for more. Or
        "reweighting", the name of a method in ``orthoprox.SOLVERS``, or a configured method.
    max_iter : int
        The most steps; for ``oadmm`` a step is a block of iterations.
    tol : float
        Stop when Crit, relative to its own scale, is at most this.
    n_init : int
        The number of starts; the result with the lowest objective is kept. The first start is the directions of least
        variance of the normalised samples.
    warm_start : bool
        Whether to start from the components of the last fit, if they have the right shape.
    verbose : int
        Show a progress bar if positive.
    random_state : int, RandomState or None
        For the starts after the first.

    Attributes
    ----------
    components_ : array, shape (n_components, n_features)
        Orthonormal normals, those along which the inliers' scores are uncorrelated; the one they violate least first.
    subspace_ : array, shape (n_features - n_components, n_features)
        Orthonormal rows that span the subspace.
    location_, mean_ : array, shape (n_features,)
        The centre.
    distances_ : array, shape (n_samples,)
        The distance of each sample from the subspace.
    threshold_, offset_ : float
        The distance above which a sample is an outlier, and minus that: ``decision_function`` is ``score_samples``
        less ``offset_``.
    outliers_ : array of bool, shape (n_samples,)
    n_iter_, objective_, result_
        Steps, objective and the whole result of the best run.

    References
    ----------
    - M. C. Tsakiris, R. Vidal, "Dual principal component pursuit", JMLR 19, 2018.
    - Z. Zhu, Y. Wang, D. Robinson, D. Naiman, R. Vidal, M. C. Tsakiris, "Dual principal component pursuit: improved
      analysis and efficient algorithms", NeurIPS 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import DualPCP
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 4))
    >>> X[:70, 3] = 2 * X[:70, 0]  # an equation that most samples fulfil: 2 x_0 - x_3 = 0
    >>> abs(DualPCP(n_components=1).fit(X).components_).round(3)
    array([[0.894, 0.   , 0.   , 0.447]])
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        center: Any = "affine",
        normalize: bool = True,
        contamination: str | float = "auto",
        solver: str | Solver[Any] = "auto",
        max_iter: int = 1000,
        tol: float = 1e-6,
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
        # Each round of the affine centre takes all eigenvectors; the geometric median, of dimension 0, takes none.
        return self._subspace_dimension(n_features) if n_features <= MAX_FORMED else 0

    def _subspace_dimension(self, n_features: int) -> int:
        return max(n_features - int(self.n_components), 0)

    def _problem(self, data: Samples) -> Problem:
        return dual_pcp(data.B, codimension=self.n_components, normalize=self.normalize)

    def _objective_power(self) -> int:
        return 0 if self.normalize else 1

    def _default_solver(self) -> Solver[Any]:
        return Reweighting() if self.n_features_in_ <= MAX_FORMED else super()._default_solver()

    def _stop(self) -> Rule:
        # Crit cannot be smaller than rounding, which matters in single precision.
        reweights = isinstance(self._resolve_solver(self.solver), Reweighting)
        return (SmallDecrease(0.0) if reweights else FlatObjective()) | super()._stop()

    def _first_start(self, data: Samples, problem: Problem) -> Array | None:
        if data.n_features > 4 * MAX_FORMED:
            return None
        B = problem.A if self.normalize else unit_rows(problem.A)
        ones, X0 = np.ones((data.n_samples, 1), data.like.dtype), problem.M.random(0, like=data.like)
        return trailing_eigenvectors(B, data.place(ones), data.place(X0))

    def _canonical(self, X: Array, inliers: Samples) -> Array:
        return X @ np.linalg.eigh(inliers.moments(X))[1].astype(X.dtype)

    def _distances(self, data: Samples, V: Array) -> Array:
        T = data.scores(V)
        return np.asarray(host(array_namespace(T).linalg.vector_norm(T, axis=1)))

    @property
    def subspace_(self) -> Array:
        V = host(self.components_)
        c, n = V.shape
        return place(np.linalg.svd(V, full_matrices=True)[2][c:n], self.components_)

    @like_input
    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean distance of the samples from the subspace: larger is better.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
        y : ignored
        """
        check_is_fitted(self)
        data = about(validate(self, X, fitting=False), self.location_)
        return -float(data.to_data(np.mean(self._distances(data, self.components_.T), dtype=np.float64)))

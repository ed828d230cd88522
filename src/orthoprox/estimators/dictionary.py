"""Orthogonal dictionaries: atoms in which the samples are sparse."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from orthoprox._checks import check_weight
from orthoprox._fields import replace
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.driver import DEFAULT_SOLVER, Iterations, Result, Rule
from orthoprox.estimators._base import OrthogonalTransformer
from orthoprox.estimators._blocks import each_block, is_blocked
from orthoprox.estimators._device import host, is_elsewhere, like_input
from orthoprox.estimators._input import Samples, about, no_centre, validate
from orthoprox.estimators._signs import choose_signs
from orthoprox.estimators._stages import Stage
from orthoprox.estimators._stop import FlatObjective, ScaledCritical
from orthoprox.estimators._units import exponent, times_power
from orthoprox.estimators._whitening import spectrum, to_inverse_units, whitening_roots
from orthoprox.maps import LinearMap, Matrix
from orthoprox.models import orthogonal_dictionary
from orthoprox.problem import Problem
from orthoprox.solvers import Solver, named

CODES = ("all", "soft", "hard", "largest")


class OrthogonalDictionaryLearning(OrthogonalTransformer):
    r"""Orthonormal atoms in which every sample needs few: ``X ~ codes @ components_`` with sparse codes.

    Because the atoms are orthonormal, sparse codes are worked out and not searched for: the best code with a penalty
    ``w |c|_1`` is the soft-thresholded product with the atoms, that with ``w^2/2`` for each nonzero the
    hard-thresholded one, and the best with k nonzeros keeps the k largest. No matching pursuit or lasso solver is
    needed.

    Parameters
    ----------
    n_components : int, optional
        The number of atoms; without it as many as there are features.
    objective : {"codes", "l1", "l4"}
        What is minimised (``orthoprox.models.orthogonal_dictionary``): the error of the samples from soft-thresholded
        codes plus the absolute values of these; the absolute values of all codes, which finds the atoms exactly if
        the samples are exactly sparse, and begins where the first one ends; or minus their fourth powers.
    weight : float, optional
        The threshold of the objective "codes" and of soft and hard codes, in the units of the codes; without it half
        the root of the mean square of all codes.
    codes : {"all", "soft", "hard", "largest"}
        What ``transform`` gives: all products with the atoms, these thresholded by ``weight``, or the largest ones,
        ``transform_n_nonzero_coefs`` for each sample.
    transform_n_nonzero_coefs : int, optional
        For ``codes="largest"``: how many are kept for each sample.
    precondition : bool
        Whether to look for atoms that need not be orthogonal: for samples multiplied by the inverse root of their
        second moments, which makes the atoms of a complete dictionary nearly orthonormal. Then codes are products with
        the inverse, and thresholding them is no longer the best there is.
    solver : str or Solver
        "auto" for the default method with suitable settings, the name of a method in ``orthoprox.SOLVERS``, or a
        configured method.
    max_iter : int
        The most steps; for ``oadmm`` a step is a block of iterations.
    tol : float
        Stop when Crit, relative to its own scale, is at most this, or when the objective has not
        changed by more over three steps, relatively.
    n_init : int
        The number of random starts; the result with the lowest objective is kept.
    warm_start : bool
        Whether to start from the atoms of the last fit, if they have the right shape.
    verbose : int
        Show a progress bar if positive.
    random_state : int, RandomState or None
        For the random starts.

    Attributes
    ----------
    components_ : array, shape (n_components, n_features)
        The atoms: orthonormal rows, or rows of any kind with ``precondition``. Those used most come first, and the
        largest entry of each is positive.
    weight_ : float
        The weight that was given or chosen.
    analysis_ : array, shape (n_features, n_components)
        Codes are ``X @ analysis_``: the transpose of ``components_`` unless ``precondition``.
    mean_ : array, shape (n_features,)
        Zeros: samples are taken as they are.
    n_iter_, objective_, result_
        Steps, objective and the whole result of the best run.
    n_features_in_, feature_names_in_
        The number of features, and their names if the data have them.

    References
    ----------
    - J. Sun, Q. Qu, J. Wright, "Complete dictionary recovery over the sphere", IEEE Trans. Inf. Theory 63, 2017.
    - Y. Zhai, Z. Yang, Z. Liao, J. Wright, Y. Ma, "Complete dictionary learning via l4-norm maximization over the
      orthogonal group", JMLR 21, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import OrthogonalDictionaryLearning
    >>> rng = np.random.default_rng(0)
    >>> atoms = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    >>> X = rng.standard_normal((400, 8)) * (rng.random((400, 8)) < 0.2) @ atoms
    >>> learned = OrthogonalDictionaryLearning(objective="l1", random_state=0).fit(X)
    >>> np.abs(learned.components_ @ atoms.T).max(axis=1).round(6)
    array([1., 1., 1., 1., 1., 1., 1., 1.])
    """

    _least_samples = 1
    _optional_components = True

    def __init__(
        self,
        n_components: int | None = None,
        *,
        objective: str = "codes",
        weight: float | None = None,
        codes: str = "all",
        transform_n_nonzero_coefs: int | None = None,
        precondition: bool = False,
        solver: str | Solver[Any] = "auto",
        max_iter: int = 200,
        tol: float = 1e-4,
        n_init: int = 1,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.objective = objective
        self.weight = weight
        self.codes = codes
        self.transform_n_nonzero_coefs = transform_n_nonzero_coefs
        self.precondition = precondition
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.codes not in CODES:
            raise ValueError(f"codes must be one of {', '.join(CODES)}; given {self.codes!r}.")
        if self.weight is not None:
            check_weight(self.weight, "the codes")
        if self.codes == "largest":
            try:
                valid = operator.index(self.transform_n_nonzero_coefs) > 0  # type: ignore[arg-type]
            except TypeError:
                valid = False
            if not valid:
                raise ValueError(
                    'codes = "largest" needs transform_n_nonzero_coefs, a whole number of at least 1; given '
                    f"{self.transform_n_nonzero_coefs!r}."
                )

    def _location(self, X: Any) -> Array:
        return no_centre(X)

    def _objective_power(self) -> int:
        # Preconditioned samples are white and have no units.
        return 0 if self.precondition else {"l1": 1, "codes": 2, "l4": 4}[self.objective]

    def _problem(self, data: Samples) -> Problem:
        B, n = data.B, data.n_features
        self._root, self._inverse = None, None
        if self.precondition:
            values, V = spectrum(data)
            if len(values) < n:
                raise ValueError(
                    f"precondition needs samples that vary in all directions; X has {n} features and varies in "
                    f"{len(values)}. Reduce them by PCA first, or leave precondition out."
                )
            self._root, self._inverse = whitening_roots(data, values, V)
            B = B @ Matrix(data.place(self._inverse))
        self._set_weight(data, B)
        # Fourth powers of samples of size 1/4 or 4 differ by 1e5: l4 is measured in the root mean square of the codes.
        self._size = self._mean_size(data) or 1.0 if self.objective == "l4" else 1.0
        return self._dictionary(B if self._size == 1.0 else (1 / self._size) * B, self.objective)

    def _mean_size(self, data: Samples) -> float:
        """The root mean square of the entries of the samples, which is that of all codes."""
        return 1.0 if self.precondition else math.sqrt(data.total_squares / (data.n_samples * data.n_features))

    def _objective(self, data: Samples, result: Result[Any]) -> float:
        return super()._objective(data, replace(result, objective=result.objective * self._size**4))

    def _set_weight(self, data: Samples, B: LinearMap) -> None:
        """The weight in the units of the codes, and for samples of unit size. Preconditioned ones have no units."""
        power, tiny = 0 if self.precondition else 1, float(np.finfo(data.like.dtype).tiny)
        chosen = 0.5 * self._mean_size(data)
        self.weight_ = data.to_data(chosen, power) if self.weight is None else float(self.weight)
        # A threshold above all codes does what any other such does.
        unit = chosen if self.weight is None else min(data.to_unit(self.weight, power), 2 * B.norm)
        self._unit_weight = 0.0 if self.weight == 0 else max(unit, tiny)

    def _dictionary(self, B: LinearMap, objective: str) -> Problem:
        r = B.columns if self.n_components is None else self.n_components
        assert r is not None  # samples have a number of features
        weight = self._unit_weight if objective == "codes" else None
        return orthogonal_dictionary(B, n_components=r, objective=objective, weight=weight)

    def _stages(self, data: Samples, problem: Problem, X0: Array, *, warm: bool) -> Sequence[Stage]:
        stages = super()._stages(data, problem, X0, warm=warm)
        if self.objective != "l1" or warm:
            return stages
        # l1 from a random start stays among kinks for long; its smoothed form avoids them and often ends lower.
        near = ScaledCritical(1e-3) | Iterations(self.max_iter)
        return [Stage(self._dictionary(problem.A, "codes"), named(DEFAULT_SOLVER), near), *stages]

    def _stop(self) -> Rule:
        # Where samples are not exactly sparse, l1 has kinks everywhere: the objective converges long before Crit.
        return FlatObjective(window=3, tolerance=self.tol) | super()._stop()

    def _previous_solution(self, data: Samples, problem: Problem) -> Array | None:
        last = self.result_.X if self.warm_start and hasattr(self, "result_") else None
        r = data.n_features if self.n_components is None else self.n_components
        return last.astype(data.like.dtype) if last is not None and last.shape == (data.n_features, r) else None

    def _store(self, data: Samples, result: Result[Any]) -> None:
        X = result.X
        analysis, atoms = (X, X.T) if self._root is None else (self._inverse @ X, X.T @ self._root)
        codes = data.scores(analysis)
        xp = array_namespace(codes)
        order = np.argsort(-host(xp.sum(xp.abs(codes), axis=0)), kind="stable")
        signs = choose_signs(atoms.T)
        atoms, analysis = (atoms * signs[:, None])[order], (analysis * signs)[:, order]
        if self.precondition:
            atoms, analysis = data.to_data(atoms), to_inverse_units(data, analysis)
        self.components_, self.analysis_ = atoms, analysis

    @like_input
    def transform(self, X: Any) -> Array:
        """The codes: the coefficient of each sample on each atom, made sparse as ``codes`` says.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)

        Returns
        -------
        array, shape (n_samples, n_components)
        """
        check_is_fitted(self)
        if is_blocked(X):
            return each_block(self, X, lambda block: self._encode(about(block, self.mean_)))
        return self._encode(about(validate(self, X, fitting=False), self.mean_))

    def _encode(self, data: Samples) -> Array:
        self._check_settings()  # codes may have been changed since the fit
        C = data.to_data(data.scores(self.analysis_))
        xp = array_namespace(C)
        w = min(self.weight_ if self.weight is None else self.weight, float(np.finfo(data.like.dtype).max))
        if self.codes == "soft":
            return C - xp.clip(C, -w, w)
        if self.codes == "hard":
            return xp.where(xp.abs(C) > w, C, xp.zeros_like(C))
        k = self.transform_n_nonzero_coefs
        if self.codes == "largest" and k < C.shape[1]:
            # The first ones among equals, so that exactly k are left.
            order = xp.argsort(-xp.abs(C), axis=1, stable=True)
            return xp.where(xp.argsort(order, axis=1, stable=True) < k, C, xp.zeros_like(C))
        return C

    @like_input
    def score(self, X: Any, y: Any = None) -> float:
        """The share of the squares of X that its reconstruction from the codes keeps: one minus the relative error.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
        y : ignored
        """
        check_is_fitted(self)
        data, V = about(validate(self, X, fitting=False), self.mean_), self.components_.astype(np.float64)
        e = exponent(V)  # not zero with precondition: then atoms have the units of the data, and codes have none
        codes = self._encode(data)
        xp = array_namespace(codes)
        V, C = data.place(times_power(V, -e)), times_power(xp.astype(codes, xp.float64), e - data.exponent)
        # |X - CV|^2 without forming CV, which is dense
        total, scores = data.total_squares, data.rough(xp.astype(V.T, codes.dtype) if is_elsewhere(codes) else V.T)
        error = total - 2 * float(xp.sum(scores * C)) + float(xp.sum((C.T @ C) * (V @ V.T)))
        return 1 - error / total if total > 0 else 1.0

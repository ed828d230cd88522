"""The base of all estimators: read the samples, build the problem, solve it, store the result."""

from __future__ import annotations

import abc
import math
import operator
import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from orthoprox._types import Array
from orthoprox.driver import DEFAULT_SOLVER, Iterations, Progress, Result, Rule, Status, solve
from orthoprox.estimators._input import Samples, read_samples, validate, variation
from orthoprox.estimators._stop import ScaledCritical
from orthoprox.problem import Problem
from orthoprox.solvers import Solver, named

AUTO = "auto"
SUCCESSES = (Status.CONVERGED, Status.STALLED)
"""The statuses that give no warning."""


class OrthogonalTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, abc.ABC):  # type: ignore[misc]
    """Components with orthonormal rows, found by ``orthoprox.solve``. The base of all estimators.

    A subclass writes ``__init__`` with the parameters below among its own, and ``_problem``. It may override the first
    start (``_first_start``), the solver's settings (``_method``), a single run (``_run``) and what is stored
    (``_store``).

    Parameters
    ----------
    n_components : int
        The number of components.
    solver : str or Solver
        "auto" for the default method with settings that suit the estimator, the name of a method in
        ``orthoprox.SOLVERS``, or a method with its settings.
    max_iter : int
        The most steps; for ``oadmm`` a step is a block of iterations.
    tol : float
        Stop when Crit, relative to its own scale, is at most this.
    n_init : int
        The number of starts; the result with the lowest objective is kept. Starts after the first are random.
    warm_start : bool
        Whether to start from the components of the last fit, if they have the right shape.
    verbose : int
        Show a progress bar if positive.
    random_state : int, RandomState or None
        For the random starts.

    Attributes
    ----------
    components_ : array, shape (n_components, n_features)
        Orthonormal rows.
    mean_ : array, shape (n_features,)
        The vector subtracted from every sample.
    n_iter_ : int
        Steps of the best run.
    objective_ : float
        Its final objective.
    result_ : Result
        The whole result, with history and notes.
    n_features_in_ : int
    feature_names_in_ : array
        The names of the columns, if the data have them.
    """

    _centre: ClassVar[bool] = True
    _optional_components: ClassVar[bool] = False  # whether n_components may be None, for as many as possible
    n_components: int
    solver: str | Solver[Any]
    max_iter: int
    tol: float
    n_init: int
    warm_start: bool
    verbose: int
    random_state: Any

    # ------------------------------------------------------------------ what a subclass writes

    @abc.abstractmethod
    def _problem(self, data: Samples) -> Problem:
        """The problem whose solution X has the components as columns."""

    def _first_start(self, data: Samples, problem: Problem) -> Array | None:
        """A better first start than a random one, or None."""
        return None

    def _draw_start(self, data: Samples, problem: Problem, seed: int) -> Array:
        """A random start."""
        return problem.M.random(seed, like=data.like)

    def _run(self, data: Samples, problem: Problem, X0: Array, *, warm: bool) -> Result[Any]:
        """One run from one start."""
        observers = [Progress(always=True)] if self.verbose else []
        return solve(problem, self._method(warm=warm), X0, stop=self._stop(), observers=observers)

    def _method(self, *, warm: bool) -> Solver[Any]:
        """The solver; with its settings for a start near a solution if ``warm``."""
        method = self._resolve_solver(self.solver)
        return method.warm() if warm else method

    def _resolve_solver(self, solver: str | Solver[Any]) -> Solver[Any]:
        """The solver for a name; "auto" leaves the choice to the estimator."""
        if solver == AUTO:
            return self._default_solver()
        return named(solver) if isinstance(solver, str) else solver

    def _default_solver(self) -> Solver[Any]:
        """The solver for "auto"."""
        return named(DEFAULT_SOLVER)

    def _store(self, data: Samples, result: Result[Any]) -> None:
        """Set the attributes that follow from the result."""
        self.components_ = result.X.T

    # ------------------------------------------------------------------ written once

    def fit(self, X: Any, y: Any = None) -> Any:
        """Find the components.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
            The samples. A sparse matrix stays sparse.
        y : ignored
        """
        self._check_settings()
        data = read_samples(self, X, centre=self._centre)
        self._check_components(data)
        problem = self._problem(data)
        result = self._best_run(data, problem)
        self.mean_ = data.mean
        self.n_iter_, self.objective_, self.result_ = result.iterations, result.objective, result
        self._store(data, result)
        return self

    def _best_run(self, data: Samples, problem: Problem) -> Result[Any]:
        """The run with the lowest objective; Ctrl-C ends a run and skips the rest."""
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=self.n_init)
        best: Result[Any] | None = None
        for i, seed in enumerate(seeds):
            X0 = self._previous_solution(data) if i == 0 else None
            warm = X0 is not None
            if i == 0 and X0 is None:
                X0 = self._first_start(data, problem)
            result = self._run(
                data, problem, self._draw_start(data, problem, int(seed)) if X0 is None else X0, warm=warm
            )
            if best is None or not best.objective <= result.objective:
                best = result
            if result.status is Status.INTERRUPTED:
                self._warn(
                    f"The fit was interrupted in run {i + 1} of {self.n_init}; the best components so far are kept."
                )
                return best
        assert best is not None  # n_init is at least 1
        if best.status not in SUCCESSES:
            self._warn(
                f"The fit stopped before it converged ({best.message}; tol is {self.tol:g}): raise max_iter, now "
                f"{self.max_iter}, or tol. The components are usable; result_ says how accurate they are."
            )
        return best

    def _warn(self, message: str) -> None:
        warnings.warn(f"{type(self).__name__}: {message}", ConvergenceWarning, stacklevel=4)

    def _previous_solution(self, data: Samples) -> Array | None:
        """The solution of the last fit, or None if the fit does not start there."""
        last = getattr(self, "components_", None) if self.warm_start else None
        if last is None or last.shape != (self.n_components, data.n_features):
            return None
        return np.asarray(last.T, dtype=data.like.dtype)

    def _stop(self) -> Rule:
        return Iterations(self.max_iter) | ScaledCritical(self.tol)

    def _check_settings(self) -> None:
        """Refuse invalid parameters, before reading the data."""
        for name in ("n_components", "n_init", "max_iter"):
            value = getattr(self, name)
            if value is None and name == "n_components" and self._optional_components:
                continue
            try:
                number = operator.index(value)
            except TypeError:
                raise TypeError(f"{name} must be a whole number; given {value!r}.") from None
            if number < 1:
                raise ValueError(f"{name} must be at least 1; given {value}.")
        if not (isinstance(self.tol, (int, float)) and 0 <= self.tol < math.inf):
            raise ValueError(f"tol must be a nonnegative number; given {self.tol!r}.")

    def _check_components(self, data: Samples) -> None:
        if self.n_components is not None and self.n_components > data.n_features:
            raise ValueError(
                f"There are at most as many orthonormal components as features: n_components = {self.n_components}, "
                f"and X has {data.n_features} features."
            )

    # ------------------------------------------------------------------ after the fit

    def transform(self, X: Any) -> Array:
        """The scores: the product of each (centred) sample with each component.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)

        Returns
        -------
        array, shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = validate(self, X, fitting=False)
        return np.asarray(X @ self.components_.T) - self.mean_ @ self.components_.T

    def inverse_transform(self, X: Any) -> Array:
        """The samples that have these scores and no part outside the components.

        Parameters
        ----------
        X : array, shape (n_samples, n_components)
            Scores, as ``transform`` gives them.
        """
        return self._check_scores(X) @ self.components_ + self.mean_

    def _check_scores(self, X: Any) -> Array:
        """Check that X holds scores, a column for each component."""
        check_is_fitted(self)
        X = check_array(X, dtype=(np.float64, np.float32), input_name="X")
        if X.shape[1] != self.components_.shape[0]:
            raise ValueError(
                f"X must have one column for each of the {self.components_.shape[0]} components; given {X.shape[1]}."
            )
        return X

    def score(self, X: Any, y: Any = None) -> float:
        """The share of the variation of X about ``mean_`` that a reconstruction from the scores keeps.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
        y : ignored
        """
        check_is_fitted(self)
        X = validate(self, X, fitting=False)
        total, explained = variation(X, self.mean_, self.components_)
        return explained / total if total > 0 else 1.0

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

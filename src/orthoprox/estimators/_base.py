"""What all estimators share: read, build, solve, store."""

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
from orthoprox.estimators._input import Data, read, validated, variation
from orthoprox.estimators._stop import Settled
from orthoprox.problem import Problem
from orthoprox.solvers import Solver, named

AUTO = "auto"
CHECKED = (Status.CONVERGED, Status.STALLED)
"""The ways a fit may end without a warning."""


class OrthogonalTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, abc.ABC):  # type: ignore[misc]
    """Components with orthonormal rows, found by ``orthoprox.solve``. The base of all estimators.

    A subclass writes ``__init__`` with the parameters below among its own, and ``_problem``. It may say what it knows
    better: a first start (``_first``), the solver's settings
    (``_method``), how one run goes (``_run``), what is stored (``_store``).

    Parameters
    ----------
    n_components : int
        The number of components.
    solver : str or Solver
        "auto" for the default method with settings that suit the estimator, the name of a method in
        ``orthoprox.SOLVERS``, or a method with its settings.
    max_iter : int
        Steps of the method at most; for ``oadmm`` a step is a block of iterations.
    tol : float
        Stop when Crit, divided by the sizes of what it compares, is as small as this.
    n_init : int
        How many starts; the result with the lowest objective is kept. Starts after the first are random.
    warm_start : bool
        Whether to begin at the components of the last fit, if there was one of the same shape.
    verbose : int
        Draw a progress bar if positive.
    random_state : int, RandomState or None
        For the random starts.

    Attributes
    ----------
    components_ : array, shape (n_components, n_features)
        Orthonormal rows.
    mean_ : array, shape (n_features,)
        What is subtracted from every sample.
    n_iter_ : int
        Steps of the run that was kept.
    objective_ : float
        Its last objective.
    result_ : Result
        All of it, with history and notes.
    n_features_in_ : int
    feature_names_in_ : array
        The names of the columns, where the data had them.
    """

    _centre: ClassVar[bool] = True
    _complete: ClassVar[bool] = False  # whether n_components may be None, for as many as there can be
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
    def _problem(self, data: Data) -> Problem:
        """The problem whose solution X has the components as columns."""

    def _first(self, data: Data, problem: Problem) -> Array | None:
        """A better first start than a random one, if there is one."""
        return None

    def _start(self, data: Data, problem: Problem, seed: int) -> Array:
        """A start; random."""
        return problem.M.random(seed, like=data.like)

    def _run(self, data: Data, problem: Problem, X0: Array, *, warm: bool) -> Result[Any]:
        """One run from one start."""
        watching = [Progress(always=True)] if self.verbose else []
        return solve(problem, self._method(warm=warm), X0, stop=self._stop(), observers=watching)

    def _method(self, *, warm: bool) -> Solver[Any]:
        """The solver, for a start near a solution if that is where the fit begins."""
        method = self._choose(self.solver)
        return method.warm() if warm else method

    def _choose(self, solver: str | Solver[Any]) -> Solver[Any]:
        """The method that was asked for; "auto" leaves the choice to the estimator."""
        if solver == AUTO:
            return self._own_choice()
        return named(solver) if isinstance(solver, str) else solver

    def _own_choice(self) -> Solver[Any]:
        """The method for "auto", with the settings that suit."""
        return named(DEFAULT_SOLVER)

    def _store(self, data: Data, result: Result[Any]) -> None:
        """Set the attributes that follow from the result."""
        self.components_ = result.X.T

    # ------------------------------------------------------------------ written once

    def fit(self, X: Any, y: Any = None) -> Any:
        """Find the components.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
            The samples. A sparse matrix is never filled in.
        y : ignored
        """
        self._check_settings()
        data = read(self, X, centre=self._centre)
        self._check_components(data)
        problem = self._problem(data)
        result = self._best(data, problem)
        self.mean_ = data.mean
        self.n_iter_, self.objective_, self.result_ = result.iterations, result.objective, result
        self._store(data, result)
        return self

    def _best(self, data: Data, problem: Problem) -> Result[Any]:
        """The run with the lowest objective; Ctrl-C ends a run and skips the rest."""
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=self.n_init)
        best: Result[Any] | None = None
        for i, seed in enumerate(seeds):
            X0 = self._before(data) if i == 0 else None
            warm = X0 is not None
            if i == 0 and X0 is None:
                X0 = self._first(data, problem)
            result = self._run(data, problem, self._start(data, problem, int(seed)) if X0 is None else X0, warm=warm)
            if best is None or not best.objective <= result.objective:
                best = result
            if result.status is Status.INTERRUPTED:
                self._warn(
                    f"The fit was interrupted in run {i + 1} of {self.n_init}; the best components so far are kept."
                )
                return best
        assert best is not None  # n_init is at least 1
        if best.status not in CHECKED:
            self._warn(
                f"The fit ended before it settled ({best.message}; tol is {self.tol:g}): raise max_iter, now "
                f"{self.max_iter}, or tol. The components are usable; result_ tells how far they are."
            )
        return best

    def _warn(self, sentence: str) -> None:
        warnings.warn(f"{type(self).__name__}: {sentence}", ConvergenceWarning, stacklevel=4)

    def _before(self, data: Data) -> Array | None:
        """Where the last fit ended, if that is where to begin."""
        last = getattr(self, "components_", None) if self.warm_start else None
        if last is None or last.shape != (self.n_components, data.n_features):
            return None
        return np.asarray(last.T, dtype=data.like.dtype)

    def _stop(self) -> Rule:
        return Iterations(self.max_iter) | Settled(self.tol)

    def _check_settings(self) -> None:
        """Refuse what no fit can be made with, before looking at the data."""
        for name in ("n_components", "n_init", "max_iter"):
            value = getattr(self, name)
            if value is None and name == "n_components" and self._complete:
                continue
            try:
                whole = operator.index(value)
            except TypeError:
                raise TypeError(f"{name} must be a whole number; given {value!r}.") from None
            if whole < 1:
                raise ValueError(f"{name} must be at least 1; given {value}.")
        if not (isinstance(self.tol, (int, float)) and 0 <= self.tol < math.inf):
            raise ValueError(f"tol must be a number that is not negative; given {self.tol!r}.")

    def _check_components(self, data: Data) -> None:
        if self.n_components is not None and self.n_components > data.n_features:
            raise ValueError(
                f"There are at most as many orthonormal components as features: n_components = {self.n_components}, "
                f"and X has {data.n_features} features."
            )

    # ------------------------------------------------------------------ what a fitted one does

    def transform(self, X: Any) -> Array:
        """The scores: what each component says of each (centred) sample.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)

        Returns
        -------
        array, shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = validated(self, X, fitting=False)
        return np.asarray(X @ self.components_.T) - self.mean_ @ self.components_.T

    def inverse_transform(self, X: Any) -> Array:
        """The samples that have these scores and no part outside the components.

        Parameters
        ----------
        X : array, shape (n_samples, n_components)
            Scores, as ``transform`` gives them.
        """
        return self._checked_scores(X) @ self.components_ + self.mean_

    def _checked_scores(self, X: Any) -> Array:
        """Scores of a fitted estimator, a column for each component."""
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
        X = validated(self, X, fitting=False)
        whole, kept = variation(X, self.mean_, self.components_)
        return kept / whole if whole > 0 else 1.0

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

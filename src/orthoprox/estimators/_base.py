"""The base of all estimators: read the samples, build the problem, solve it, store the result."""

from __future__ import annotations

import abc
import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from orthoprox._fields import replace
from orthoprox._types import Array
from orthoprox.driver import DEFAULT_SOLVER, Iterations, Result, Rule, RunFailed, Status
from orthoprox.driver.solve import as_solver
from orthoprox.estimators._blocks import each_block, is_blocked, read_rows, showing, sum_blocks
from orthoprox.estimators._device import CAN_DISPATCH, fitting, like_input
from orthoprox.estimators._input import (
    Samples,
    about,
    column_means,
    float_types,
    kept_of,
    read_samples,
    share_kept,
    validate,
)
from orthoprox.estimators._share import is_share
from orthoprox.estimators._stages import SUCCESSES, Stage, run_stages
from orthoprox.estimators._stop import ScaledCritical
from orthoprox.estimators._together import lead_runs
from orthoprox.estimators._units import affine, times_power
from orthoprox.estimators._warn import warn_caller
from orthoprox.problem import Problem
from orthoprox.solvers import Solver, named

AUTO = "auto"


class OrthogonalTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, abc.ABC):  # type: ignore[misc]
    """Components with orthonormal rows, found by ``orthoprox.solve``. The base of all estimators.

    A subclass writes ``__init__`` with the parameters below among its own, ``_problem`` and ``_objective_power``. It
    may override the centre (``_location``), the first start (``_first_start``), the solver's settings (``_method``),
    the stages of a run (``_stages``), what follows it (``_finish``, ``_last_stage``) and what is stored (``_store``).

    Samples are centred and then divided by a power of two, ``scale_``, so that the largest entry lies in [1, 2). All
    of a fit works on these, and the units of the data change nothing; a power of two does not even change rounding.
    Parameters and attributes are in the units of the data. A number beyond the range of its float type is infinite or
    zero, such as the variance of data of 1e200; ratios are not concerned.

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
    scale_ : float
        The power of two by which the centred samples were divided.
    result_ : Result
        The whole result, with history and notes. Its numbers, the objective among them, are those of the divided
        samples.
    n_features_in_ : int
    feature_names_in_ : array
        The names of the columns, if the data have them.
    """

    _least_samples: ClassVar[int] = 2
    _optional_components: ClassVar[bool] = False  # whether n_components may be None, for as many as possible
    _share_components: ClassVar[bool] = False  # whether it may be a share of the variance
    _by_covariance: ClassVar[bool] = False  # whether a fit needs nothing but the mean and the covariance
    n_components: Any
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

    @abc.abstractmethod
    def _objective_power(self) -> int:
        """The power of the scale of the data with which the objective grows: 2 for a variance, 0 for none."""

    def _objective(self, data: Samples, result: Result[Any]) -> float:
        """The objective in the units of the data."""
        return float(data.to_data(result.objective, self._objective_power()))

    def _location(self, X: Any) -> Array:
        """The centre of validated samples."""
        return column_means(X)

    def _first_start(self, data: Samples, problem: Problem) -> Array | None:
        """A better first start than a random one, or None."""
        return None

    def _draw_start(self, data: Samples, problem: Problem, seed: int) -> Array:
        """A random start."""
        return problem.M.random(seed, like=data.like)

    def _stages(self, data: Samples, problem: Problem, X0: Array, *, warm: bool) -> Sequence[Stage]:
        """The parts of a run from X0, each from where the one before ended; the last is of the problem itself."""
        return [Stage(problem, self._method(warm=warm), self._stop())]

    def _finish(self, data: Samples, problem: Problem, result: Result[Any]) -> Result[Any]:
        """What follows each run, in little time: exact zeros."""
        return result

    def _last_stage(self, data: Samples, problem: Problem, result: Result[Any]) -> Result[Any]:
        """What follows the best run."""
        return result

    def _method(self, *, warm: bool) -> Solver[Any]:
        """The solver; with its settings for a start near a solution if ``warm``."""
        method = self._resolve_solver(self.solver)
        return method.warm() if warm else method

    def _resolve_solver(self, solver: str | Solver[Any]) -> Solver[Any]:
        """The solver for a name; "auto" leaves the choice to the estimator."""
        return self._default_solver() if isinstance(solver, str) and solver == AUTO else as_solver(solver)

    def _default_solver(self) -> Solver[Any]:
        """The solver for "auto"."""
        return named(DEFAULT_SOLVER)

    def _store(self, data: Samples, result: Result[Any]) -> None:
        """Set the attributes that follow from the result."""
        self.components_ = result.X.T

    def _tell(self) -> None:
        """Warn of what the data gave rise to, after the attributes are there."""

    # ------------------------------------------------------------------ written once

    def fit(self, X: Any, y: Any = None) -> Any:
        """Find the components.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
            The samples. A sparse matrix stays sparse. With scikit-learn's ``array_api_dispatch`` an array of PyTorch,
            CuPy or JAX stays on its device, and the fitted attributes are arrays of that library there. Or samples in
            blocks: a path, Dask, Zarr, HDF5, AnnData, or what ``orthoprox.blocks.open_rows`` gives.
        y : ignored
        """
        with fitting(self, X), showing(self):
            self._fit(self._read(X))
        self._tell()
        return self

    def _read(self, X: Any) -> Samples:
        """Check the settings, then the samples."""
        self._check_settings()
        if self._by_covariance and is_blocked(X):
            return read_rows(self, X, self._least_samples)
        return read_samples(self, X, self._location, self._least_samples)

    def _fit(self, data: Samples) -> None:
        """Find the components of samples that were read."""
        self._check_components(data)
        result, interrupted = self._solve(data)
        try:
            self._store_all(data, result)
        except KeyboardInterrupt:  # once more: a point is there, and this takes no time
            result, interrupted = replace(result, status=Status.INTERRUPTED), "at its end"
            self._store_all(data, result)
        self._warn_unless_settled(result, interrupted)

    def _solve(self, data: Samples) -> tuple[Result[Any], str]:
        """The result for samples that were read, and where Ctrl-C ended the fit, if it did."""
        return self._best_run(data, self._problem(data))

    def _best_run(self, data: Samples, problem: Problem) -> tuple[Result[Any], str]:
        """The run with the lowest objective, and where Ctrl-C ended the fit, if it did.

        From the first point on Ctrl-C keeps the best one; before that it is raised. A run that fails is passed over
        if another gives a point.
        """
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=self.n_init).tolist()
        best: Result[Any] | None = None
        failures: list[RunFailed] = []
        runs = [functools.partial(self._run, data, problem, seed, first=i == 0) for i, seed in enumerate(seeds)]
        for i, run in enumerate(lead_runs(self, data, problem, runs, seeds)):
            where = f"in run {i + 1} of {self.n_init}"
            try:
                result = run()
            except KeyboardInterrupt:
                if best is None:
                    raise
                return replace(best, status=Status.INTERRUPTED), where
            except RunFailed as failure:
                failures.append(failure)
                continue
            if best is None or math.isnan(best.objective) or result.objective < best.objective:
                best = result
            if result.status is Status.INTERRUPTED:
                return replace(best, status=Status.INTERRUPTED), where
        if best is None:  # n_init is at least 1: all have failed
            raise failures[0]
        if failures:
            sentence = (
                f"{len(failures)} of {self.n_init} runs failed and are left out, the first because: {failures[0]}"
            )
            warn_caller(f"{type(self).__name__}: {sentence}", ConvergenceWarning)
        return self._close(data, problem, best)

    def _side_by_side(self, runs: Sequence[Callable[[], Result[Any]]]) -> Sequence[Callable[[], Result[Any]]]:
        """The same runs, perhaps already computed."""
        return runs

    def _close(self, data: Samples, problem: Problem, best: Result[Any]) -> tuple[Result[Any], str]:
        """The last stage; Ctrl-C keeps what it began with."""
        try:
            return self._last_stage(data, problem, best), ""
        except KeyboardInterrupt:
            return replace(best, status=Status.INTERRUPTED), "in its last stage"

    def _start(self, data: Samples, problem: Problem, seed: int, *, first: bool) -> tuple[Array, bool]:
        """Where a run starts, and whether that is the last fit; after the first run at random."""
        X0 = self._previous_solution(data, problem) if first else None
        warm = X0 is not None
        if X0 is None and first:
            X0 = self._first_start(data, problem)
        return self._draw_start(data, problem, seed) if X0 is None else X0, warm

    def _run(self, data: Samples, problem: Problem, seed: int, *, first: bool) -> Result[Any]:
        """One run from one start."""
        X0, warm = self._start(data, problem, seed, first=first)
        stages = self._stages(data, problem, X0, warm=warm)
        return run_stages(stages, X0, lambda result: self._finish(data, problem, result), verbose=bool(self.verbose))

    def _store_all(self, data: Samples, result: Result[Any]) -> None:
        self.mean_ = data.mean
        self.scale_ = math.ldexp(1.0, data.exponent)
        self.n_iter_, self.result_ = result.iterations, result
        self.objective_ = self._objective(data, result)
        self._store(data, result)

    def _warn_unless_settled(self, result: Result[Any], interrupted: str) -> None:
        """Say what ended the fit if it was not the method itself; after the attributes are there."""
        if interrupted:
            sentence = f"The fit was interrupted {interrupted}; the best components so far are kept."
        elif result.status not in SUCCESSES:
            sentence = (
                f"The fit stopped before it converged ({result.message}; tol is {self.tol:g}): raise max_iter, now "
                f"{self.max_iter}, or tol. The components are usable; result_ says how accurate they are."
            )
        else:
            return
        warn_caller(f"{type(self).__name__}: {sentence}", ConvergenceWarning)

    def _previous_solution(self, data: Samples, problem: Problem) -> Array | None:
        """The solution of the last fit, or None if the fit does not start there."""
        last = getattr(self, "components_", None) if self.warm_start else None
        if last is None or last.shape != (problem.M.r, data.n_features):
            return None
        return np.asarray(last.T, dtype=data.like.dtype)

    def _stop(self) -> Rule:
        return ScaledCritical(self.tol) | Iterations(self.max_iter)

    def _check_settings(self) -> None:
        """Refuse invalid parameters, before reading the data."""
        for name in ("n_components", "n_init", "max_iter"):
            value, or_else = getattr(self, name), ""
            if name == "n_components":
                if (value is None and self._optional_components) or (self._share_components and is_share(value)):
                    continue
                or_else = " or a share of the variance between 0 and 1" if self._share_components else ""
            try:
                number = operator.index(value)
            except TypeError:
                raise TypeError(f"{name} must be a whole number{or_else}; given {value!r}.") from None
            if number < 1 or isinstance(value, bool):
                raise ValueError(f"{name} must be at least 1; given {value}.")
        if not (isinstance(self.tol, (int, float)) and 0 <= self.tol < math.inf):
            raise ValueError(f"tol must be a nonnegative number; given {self.tol!r}.")

    def _check_components(self, data: Samples) -> None:
        if self.n_components is not None and self.n_components > data.n_features:
            raise ValueError(
                f"There are at most as many orthonormal components as features: n_components = {self.n_components}, "
                f"and X has {data.n_features} feature{'' if data.n_features == 1 else 's'}."
            )

    # ------------------------------------------------------------------ after the fit

    @like_input
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
        if is_blocked(X):
            return each_block(self, X, self._scores)
        return self._scores(validate(self, X, fitting=False))

    def _scores(self, X: Any) -> Array:
        data = self._prepared(X)
        return times_power(data.scores(self.components_.T), data.exponent)

    def _prepared(self, X: Any) -> Samples:
        """Validated samples, centred as those of the fit were."""
        return about(X, self.mean_)

    @like_input
    def inverse_transform(self, X: Any) -> Array:
        """The samples that have these scores and no part outside the components.

        Parameters
        ----------
        X : array, shape (n_samples, n_components)
            Scores, as ``transform`` gives them.
        """
        return affine(self._check_scores(X), self.components_, self.mean_)

    def _check_scores(self, X: Any) -> Array:
        """Check that X holds scores, a column for each component."""
        check_is_fitted(self)
        X = check_array(X, dtype=float_types(X), input_name="X")
        if X.shape[1] != self.components_.shape[0]:
            raise ValueError(
                f"X must have one column for each of the {self.components_.shape[0]} components; given {X.shape[1]}."
            )
        return X

    @like_input
    def score(self, X: Any, y: Any = None) -> float:
        """The share of the variation of X about ``mean_`` that a reconstruction from the scores keeps.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
        y : ignored
        """
        check_is_fitted(self)
        if is_blocked(X):
            kept, total = sum_blocks(self, X, self._kept)
            return float(kept / total) if total > 0 else 1.0
        return share_kept(self._prepared(validate(self, X, fitting=False)), self.components_)

    def _kept(self, X: Any) -> Array:
        """The squares of samples that the components keep, and all of them, in units of ``scale_``."""
        data = self._prepared(X)
        return kept_of(data, self.components_) * (math.ldexp(1.0, data.exponent) / self.scale_) ** 2

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = CAN_DISPATCH
        return tags

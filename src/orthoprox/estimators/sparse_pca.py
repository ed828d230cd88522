"""Sparse principal components, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from orthoprox._types import Array
from orthoprox.allowance import Allowance, resolve_allowance, resolve_caps
from orthoprox.driver import DEFAULT_SOLVER, Result, Rule
from orthoprox.estimators import _exact
from orthoprox.estimators._arrange import arrange
from orthoprox.estimators._base import AUTO
from orthoprox.estimators._bound import WithBound, bound_task
from orthoprox.estimators._covariance import read_covariance
from orthoprox.estimators._device import at_home, fitting, host, like_input
from orthoprox.estimators._input import Samples
from orthoprox.estimators._parallel import side_by_side
from orthoprox.estimators._rank import features_for_rank, of_rank, rank_note, with_single_features
from orthoprox.estimators._search import search_run
from orthoprox.estimators._settings import check_sparse_pca, unit_weight
from orthoprox.estimators._share import is_share
from orthoprox.estimators._single import try_single_features
from orthoprox.estimators._spectrum import adjusted_squares, components_for, principal_shares, rank_of, with_norm
from orthoprox.estimators._spread import divide, spread_note, standard_deviations
from orthoprox.estimators._stop import FlatObjective
from orthoprox.estimators._summary import SparsePCASummary, feature_names, summarise
from orthoprox.estimators._units import affine
from orthoprox.estimators._warn import warn_caller
from orthoprox.models import sparse_pca
from orthoprox.problem import Problem
from orthoprox.solvers import Solver, named
from orthoprox.starts import Auto
from orthoprox.starts._directions import principal_components
from orthoprox.supports import is_small

_START_TOLERANCE = 1e-3  # of the principal components as a start
_SHORT_STAGES = {"block": 10, "rounds": 3}  # of oadmm for a number of nonzeros: with fewer steps it does as well


class SparsePCA(WithBound):
    r"""Principal components with few nonzero loadings, exactly orthonormal.

    At most ``n_nonzero`` entries of ``components_`` differ from zero, and among such orthonormal components these
    should keep the most variance:

    .. math:: \max_{VV' = I} \|(X - 1 \mu') V'\|^2 \quad \text{with at most } k \text{ nonzeros in } V

    They are found by a search for supports (``orthoprox.supports``): many candidates, each improved by exchanging
    entries and by Newton's method on what is left. With ``weight`` instead, a penalty decides how many zeros there are
    (``orthoprox.models.sparse_pca``).

    Parameters
    ----------
    n_components : int or float
        The number of components, at most the number of features. A float between 0 and 1 is a share of the variance:
        as many as principal components need to keep it. Sparse components keep less.
    n_nonzero : int or float, optional
        How many entries of all components together may differ from zero, or as a float their share of all
        ``n_features * n_components`` entries. Without this and the two below: a fifth of all, and at least two for
        each component.
    n_nonzero_per_component : int, float or sequence of them, optional
        How many in each component, or their share of the features; with ``n_nonzero`` both hold. A sequence has one
        number for each in this order, and components of larger variance come first as far as these numbers allow.
    weight : float, optional
        Instead: the weight of a penalty, in units of variance. A larger one means more zeros.
    penalty : {"l1", "mcp", "scad", "group"}
        With ``weight``: its kind. The first three act on entries; with ``"group"`` a feature takes part in all
        components or in none.
    scale : {None, "standard"}
        ``"standard"`` divides every feature by its standard deviation, so that units play no part: the covariance is
        then the correlation, and ``components_``, variances and ``weight`` are those of standardised features.
        Constant features stay zero.
    effort : {"fast", "balanced", "thorough"}
        How far the search for the places of a number of nonzeros goes: how many candidates it makes at each level, how
        many of them it follows, and how often it exchanges entries. ``fast`` takes about half the time of ``balanced``,
        ``thorough`` several times as long, and up to a few seconds more to improve ``upper_bound_``; it searches as
        ``balanced`` does first, so that it never keeps less.
    solver : str or Solver
        "auto" for the search, and for the default method with ``weight``; or the name of a method in
        ``orthoprox.SOLVERS``, or a configured method, which then finds the zeros as well.
    max_iter : int
        The most steps: levels and rounds of the search, or blocks of iterations of ``oadmm``.
    tol : float
        Stop when Crit, relative to its own scale, is at most this.
    n_init : int
        The number of searches, each with other candidates; the result that keeps most variance is kept. With
        ``weight``: the number of starts, of which the lowest objective is kept.
    n_jobs : int, optional
        How many of these run side by side: -1 for all processors; on a device and in passes over blocks always one.
    warm_start : bool
        Whether to start from the components of the last fit, if they have the right shape.
    sketch_size : int, optional
        For ``partial_fit``: how many directions of the blocks are kept. Without it the whole covariance for up to 4,000
        features, and 200 or ten times ``n_components`` for more. Read at the first block, as is ``half_life``.
    half_life : float, optional
        For ``partial_fit``: after how many further samples a sample counts half, so that components follow a drift.
    verbose : int
        Show a progress bar if positive.
    random_state : int, RandomState or None
        For the searches or starts after the first; with ``n_init=1`` nothing is random.

    Attributes
    ----------
    components_ : array, shape (n_components, n_features)
        Orthonormal rows with exact zeros, the largest entry of each positive. They are ordered by explained variance,
        with a sequence ``n_nonzero_per_component`` as far as its numbers allow.
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
    pca_variance_ratio_ : float
        The share that as many principal components keep: no components keep more.
    upper_bound_ : float
        What the sum of ``explained_variance_`` cannot exceed for any orthonormal components with the nonzeros allowed
        or, with ``weight``, with no more nonzeros in all (``orthoprox.variance_bound``). At most the variance of as
        many principal components, as computed. Until somebody asks for it, the estimator holds the
        covariance or a copy of the samples. Beyond 16 MB, or for samples not in NumPy, the fit computes it.
    optimality_gap_ : float
        By which share of that bound these components fall short. At 0 they are proved optimal; a positive gap may be
        due to the bound.
    n_components_ : int
        The number of components.
    mean_ : array, shape (n_features,)
        The vector subtracted from every sample.
    feature_scale_ : array, shape (n_features,), or None
        What every centred feature was divided by, 1 for a constant one; None without ``scale``.
    notes_ : tuple of str
        What is worth knowing about the data, also in ``summary()``: features of very different spread, more components
        than the rank. What matters to most features or components is a warning too.
    n_iter_, objective_, result_
        Steps, objective and the whole result of the best run.
    n_features_in_, feature_names_in_
        The number of features, and their names if the data have them.
    sketch_, n_samples_seen_
        After ``partial_fit``: the sketch of the covariance (``orthoprox.sketches``) and how many samples it has seen.
        If it is bounded, ``explained_variance_`` is an estimate, ``docs/streams.md`` says how good, and
        ``upper_bound_`` holds for the data themselves.

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

    _share_components = True
    _by_covariance = True
    _lazy = WithBound._lazy.union(
        ("adjusted_variance_ratio_", "explained_variance_", "explained_variance_ratio_", "feature_scale_"),
        ("n_components_", "n_nonzero_", "notes_", "pca_variance_ratio_"),
    )

    def __init__(
        self,
        n_components: float = 2,
        *,
        n_nonzero: float | None = None,
        n_nonzero_per_component: Any = None,
        weight: float | None = None,
        penalty: str = "l1",
        scale: str | None = None,
        effort: str = "balanced",
        solver: str | Solver[Any] = "auto",
        max_iter: int = 500,
        tol: float = 1e-5,
        n_init: int = 1,
        n_jobs: int | None = None,
        warm_start: bool = False,
        sketch_size: int | None = None,
        half_life: float | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_nonzero = n_nonzero
        self.n_nonzero_per_component = n_nonzero_per_component
        self.weight = weight
        self.penalty = penalty
        self.scale = scale
        self.effort = effort
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.sketch_size = sketch_size
        self.half_life = half_life
        self.verbose = verbose
        self.random_state = random_state

    # ------------------------------------------------------------------ what is brought

    def fit_covariance(self, C: Any, n_samples: int | None = None) -> Any:
        """Find the components from a covariance or correlation matrix alone.

        ``explained_variance_`` and ``weight`` are in units of C. The mean of the samples is not known: ``mean_``
        is zero, and ``transform``, ``inverse_transform`` and ``score`` take centred samples.

        Parameters
        ----------
        C : array or data frame, shape (n_features, n_features)
            Symmetric, without negative eigenvalues. The columns of a frame name the features.
        n_samples : int, optional
            How many samples C was estimated from, with the divisor ``n_samples - 1`` as in ``numpy.cov``. With it
            ``weight`` and ``objective_`` mean what they mean in ``fit``; nothing else depends on it.

        Examples
        --------
        >>> import numpy as np
        >>> from orthoprox import SparsePCA
        >>> C = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.1], [0.0, 0.1, 1.0]])
        >>> SparsePCA(n_components=1, n_nonzero=2).fit_covariance(C).explained_variance_.round(6)
        array([3.])
        """
        self._check_settings()
        with fitting(self, C):
            data = read_covariance(self, C, n_samples)
            self._end_stream()
            self._fit(data)
        self._tell()
        return self

    def _fit(self, data: Samples) -> None:
        self._check_components(data)
        if data.total_variance == 0:
            raise ValueError("All features of X are constant: there is no variance for components to explain.")
        spread = standard_deviations(data)
        self.feature_scale_ = None
        if self.scale is not None:
            self.feature_scale_ = np.where(spread > 0, spread, 1.0).astype(data.like.dtype)
            data = divide(data, self.feature_scale_)
        self.n_components_ = components_for(data, r) if is_share(r := self.n_components) else int(r)
        units = None if self.scale is not None else spread_note(spread, feature_names(self, len(spread)))
        self._notes = [] if units is None else [units]
        super()._fit(data)

    def _solve(self, data: Samples) -> tuple[Result[Any], str]:
        """Beyond the rank: fit as many components as it is, to features that leave some over; add single features."""
        rank = rank_of(data, self.n_components_)
        if rank == self.n_components_:
            return super()._solve(data)
        self._notes.append(rank_note(rank, self.n_components_))
        if self._any_basis(data) or (self._searches(data) and is_small(data.n_features, self._allowance(data))):
            return super()._solve(data)
        inside = features_for_rank(data, self.n_components_ - rank)
        part, interrupted = of_rank(self, data, rank)._solve(data.features(inside))
        problem = self._problem(data)
        X = with_single_features(data, part.X, inside, self.n_components_ - rank)
        result = _exact.measure(problem, part, X)
        return (result, interrupted) if interrupted else self._close(data, problem, result)

    def _tell(self) -> None:
        for note in self._notes:
            if note.warn:
                warn_caller(f"{type(self).__name__}: {note.sentence}")

    # ------------------------------------------------------------------ the fit

    def _check_settings(self) -> None:
        super()._check_settings()
        check_sparse_pca(self)

    def _allowance(self, data: Samples) -> Allowance:
        """How many nonzeros there may be, in all and in each component; what is found hinges on no order of caps."""
        n, r = data.n_features, self.n_components_
        return resolve_allowance(self.n_nonzero, self.n_nonzero_per_component, n, r).with_falling_caps()

    def _count(self, data: Samples) -> int | list[int]:
        """The number of nonzeros in all, or in each component with ``n_nonzero_per_component``."""
        allowance = self._allowance(data)
        return allowance.total if self.n_nonzero_per_component is None else list(allowance.level())

    def _problem(self, data: Samples) -> Problem:
        weight, k = unit_weight(data, self.weight), None
        B = with_norm(data, self.n_components_) if self._searches(data) else data.B
        if weight is None:
            k, weight = self._allowance(data).total, _exact.exact_penalty_weight(B.norm**2 / data.n_samples)
        if self._any_basis(data):
            weight, k = weight if self.penalty == "group" else 0.0, None
        return sparse_pca(B, n_components=self.n_components_, weight=weight, penalty=self.penalty, k=k)

    def _first_start(self, data: Samples, problem: Problem) -> Array:
        return principal_components(problem, 1e-12 if self._any_basis(data) else _START_TOLERANCE)

    def _default_solver(self) -> Solver[Any]:
        return named(DEFAULT_SOLVER, **(_SHORT_STAGES if self.weight is None else {}))

    def _start(self, data: Samples, problem: Problem, seed: int, *, first: bool) -> tuple[Array, bool]:
        previous = first and self._previous_solution(data, problem) is not None
        if not previous and self._method(warm=False).auto_start and Auto().knows(problem):
            # Auto has explored where that pays. A fit that roamed again would pass for stalled: its stop watches F.
            return Auto().draw(problem, seed).X, True
        X0, warm = super()._start(data, problem, seed, first=first)
        if warm and self.weight is None and not self._any_basis(data):
            X0 = _exact.trim(problem, X0, self._allowance(data))
        return X0, warm

    def _run(self, data: Samples, problem: Problem, seed: int, *, first: bool) -> Result[Any]:
        if not self._searches(data):
            return super()._run(data, problem, seed, first=first)
        start = self._previous_solution(data, problem) if first else None
        start = None if start is None else _exact.trim(problem, start, self._allowance(data))
        return search_run(self, data, problem, seed, start, first=first)

    def _finish(self, data: Samples, problem: Problem, result: Result[Any]) -> Result[Any]:
        if self.weight is not None:
            return _exact.polish_penalised(problem, result, self.tol)
        return _exact.polish_to_count(problem, result, self._count(data), self.tol)

    def _last_stage(self, data: Samples, problem: Problem, result: Result[Any]) -> Result[Any]:
        return result if self.weight is None else try_single_features(self, data, problem, result)

    def _objective_power(self) -> int:
        return 2

    def _stop(self) -> Rule:
        return FlatObjective() | super()._stop()

    def _store(self, data: Samples, result: Result[Any]) -> None:
        k, n, r = self.n_nonzero_per_component, data.n_features, self.n_components_
        V = arrange(data, result.X, None if k is None else resolve_caps(k, n, r), any_basis=self._any_basis(data))
        T = host(data.scores(V)).astype(np.float64)
        variance = np.sum(T * T, axis=0) / data.degrees_of_freedom
        self.components_, self.notes_ = np.ascontiguousarray(V.T), tuple(note.sentence for note in self._notes)
        self.n_nonzero_ = np.count_nonzero(V, axis=0)
        self.explained_variance_ = data.to_data(variance, 2)
        self.explained_variance_ratio_ = variance / data.total_variance
        self.pca_variance_ratio_ = float(np.sum(principal_shares(data, V.shape[1])))
        self.adjusted_variance_ratio_ = adjusted_squares(T) / data.total_squares
        self._set_bound_task(bound_task(self, data, V, float(np.sum(variance))))

    def _side_by_side(self, runs: Sequence[Callable[[], Result[Any]]]) -> Sequence[Callable[[], Result[Any]]]:
        return runs if self.n_jobs in (None, 1) or len(runs) == 1 else side_by_side(runs, self.n_jobs)

    def _searches(self, data: Samples) -> bool:
        """Whether the fit is a search for supports."""
        return self.weight is None and self.solver == AUTO and not self._any_basis(data)

    def _any_basis(self, data: Samples) -> bool:
        """Whether every basis of the subspace is equally good; then the fit shows the principal axes."""
        if self.weight is not None:
            return self.weight == 0 or self.penalty == "group"
        return self._allowance(data).total == data.n_features * self.n_components_

    # ------------------------------------------------------------------ after the fit

    def _prepared(self, X: Any) -> Samples:
        data = super()._prepared(X)
        return data if self.feature_scale_ is None else divide(data, self.feature_scale_)

    @like_input
    def inverse_transform(self, X: Any) -> Array:
        """The samples that have these scores and no part outside the components, in the units of the data.

        Parameters
        ----------
        X : array, shape (n_samples, n_components)
            Scores, as ``transform`` gives them.
        """
        scores, scale = self._check_scores(X), self.feature_scale_
        return affine(scores, self.components_ if scale is None else self.components_ * scale, self.mean_)

    def summary(self) -> SparsePCASummary:
        """What was found, as a table to print: loadings by name, variance, shares, the comparison with PCA, notes.

        Returns
        -------
        SparsePCASummary
            With ``loadings()`` and ``variances()`` as pandas frames.
        """
        check_is_fitted(self)
        return summarise(at_home(self))

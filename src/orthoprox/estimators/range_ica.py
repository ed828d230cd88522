"""Independent components of bounded sources."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from orthoprox._types import Array
from orthoprox.driver import Result
from orthoprox.estimators._base import OrthogonalTransformer
from orthoprox.estimators._device import host, like_input
from orthoprox.estimators._input import Samples, about, share_kept, validate
from orthoprox.estimators._signs import choose_signs
from orthoprox.estimators._units import affine, exponent, times_power
from orthoprox.estimators._whitening import inverse_root, spectrum, to_inverse_units
from orthoprox.models import least_range, range_ica
from orthoprox.problem import Problem
from orthoprox.solvers import Solver

_SHARE = 0.01  # of the samples, averaged at either end


class RangeICA(OrthogonalTransformer):
    """The independent sources that samples are mixtures of, for sources that are bounded, as many signals are.

    Mixing independent bounded sources widens their range, so the sources are the directions of smallest range in
    the whitened samples (``orthoprox.models.range_ica`` has the proof). Afterwards they need no longer be exactly
    uncorrelated in the sample, which independent sources are not (``orthoprox.models.least_range``): their error then
    falls with the number of samples itself and not with its square root.

    Parameters
    ----------
    n_components : int, optional
        The number of sources; without it as many as there are directions in which the samples vary. Fewer are sought
        within the leading principal components.
    order : int or float, optional
        How many of the largest and of the smallest values make up the range, or their share of the samples. One is the
        plain range, the most accurate for clean data; the default, one per cent, tolerates some noise and outliers.
    oblique : bool
        Whether the sources may be correlated a little in the sample, as independent ones are. Without it they are a
        rotation of the whitened samples, as in FastICA.
    solver : str or Solver
        "auto" for the default method with suitable settings, the name of a method in ``orthoprox.SOLVERS``, or a
        configured method.
    max_iter : int
        The most steps; for ``oadmm`` a step is a block of iterations.
    tol : float
        Stop when Crit, relative to its own scale, is at most this.
    n_init : int
        The number of random starts; the result with the smallest range is kept.
    warm_start : bool
        Whether to start from the sources of the last fit, if they have the right shape.
    verbose : int
        Show a progress bar if positive.
    random_state : int, RandomState or None
        For the random starts.

    Attributes
    ----------
    components_ : array, shape (n_components, n_features)
        The unmixing matrix: sources are ``(X - mean_) @ components_.T``. They have variance one and are ordered by how
        much they contribute to the samples; the largest entry of each column of ``mixing_`` is positive.
    mixing_ : array, shape (n_features, n_components)
        Its pseudo-inverse.
    mean_ : array, shape (n_features,)
        The vector subtracted from every sample.
    whitening_ : array, shape (n_components, n_features)
        The matrix that whitens the samples.
    n_iter_, objective_, result_
        Steps, objective and the whole result of the best run.
    n_features_in_, feature_names_in_
        The number of features, and their names if the data have them.

    References
    ----------
    - F. Vrins, J. A. Lee, M. Verleysen, "A minimum-range approach to blind extraction of bounded sources", IEEE Trans.
      Neural Netw. 18, 2007.
    - D.-T. Pham, "Blind separation of instantaneous mixture of sources based on order statistics", IEEE Trans. Signal
      Process. 48, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import RangeICA
    >>> from orthoprox.models import amari_index
    >>> S = np.random.default_rng(0).uniform(-1, 1, (1000, 3))
    >>> mixing = np.array([[1.0, 0.5, 0.2], [0.3, 1.0, 0.4], [0.6, -0.2, 1.0]])
    >>> ica = RangeICA(order=1, random_state=0).fit(S @ mixing.T)
    >>> bool(amari_index(ica.components_ @ mixing) < 0.01)
    True
    """

    _optional_components = True

    def __init__(
        self,
        n_components: int | None = None,
        *,
        order: float | None = None,
        oblique: bool = True,
        solver: str | Solver[Any] = "auto",
        max_iter: int = 200,
        tol: float = 1e-3,
        n_init: int = 1,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.order = order
        self.oblique = oblique
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _problem(self, data: Samples) -> Problem:
        values, V = spectrum(data)
        rank = len(values)
        r = rank if self.n_components is None else self.n_components
        if rank == 0:
            raise ValueError("X does not vary: all samples are equal, and there is nothing to unmix.")
        if r > rank:
            raise ValueError(
                f"There are at most as many sources as directions in which X varies: n_components = {r}, and X, with "
                f"{data.n_samples} samples and {data.n_features} features, varies in {rank}."
            )
        K = (V[:, :r] / np.sqrt(values[:r])).astype(data.like.dtype)
        Z = data.B(data.place(K))
        second = host(Z.T @ Z) / data.n_samples
        correction = inverse_root(second)  # restores digits that the squares of small values lose
        self._whitening, self._shear = (K @ correction).T, None
        self.whitening_ = to_inverse_units(data, self._whitening)
        return range_ica(Z @ data.place(correction), n_components=r, order=self._resolve_order(data.n_samples))

    def _resolve_order(self, m: int) -> int:
        """The number of values at either end, of m."""
        order = _SHARE if self.order is None else self.order
        if isinstance(order, float) and 0 < order <= 0.5:
            return max(1, int(order * m))
        try:
            whole = operator.index(order)  # type: ignore[arg-type]
        except TypeError:
            raise TypeError(
                f"order must be a whole number, or a share of the samples above 0 and at most 0.5; given {order!r}."
            ) from None
        if not 1 <= whole <= m // 2:
            raise ValueError(f"order must be between 1 and half the number of samples, {m // 2}; given {whole}.")
        return whole

    def _objective_power(self) -> int:
        return 0  # white data have no units

    def _previous_solution(self, data: Samples, problem: Problem) -> Array | None:
        # The solution before the oblique step, which leaves the manifold and would be a worse start.
        last = getattr(self, "_solution", None) if self.warm_start else None
        if last is None or last.shape != self._whitening.T.shape:
            return None
        K = self._whitening.T
        return np.linalg.pinv(K / np.linalg.norm(K)) @ last.astype(data.like.dtype)

    def _last_stage(self, data: Samples, problem: Problem, result: Result[Any]) -> Result[Any]:
        W = self._whitening.T @ result.X
        if self.oblique and data.n_samples > W.shape[1]:
            self._shear = host(least_range(data.scores(W), order=self._resolve_order(data.n_samples)))
        return result

    def _store(self, data: Samples, result: Result[Any]) -> None:
        W = self._whitening.T @ result.X
        self._solution = W / np.linalg.norm(W)
        if self._shear is not None:
            W = W @ self._shear
        W = W / np.sqrt(data.squares(W) / data.n_samples).astype(W.dtype)
        mixing = np.linalg.pinv(W.T)
        order = np.argsort(-np.sum(mixing * mixing, axis=0), kind="stable")
        signs = choose_signs(mixing)
        self.components_ = to_inverse_units(data, (W * signs)[:, order].T)
        self.mixing_ = data.to_data((mixing * signs)[:, order])

    @like_input
    def inverse_transform(self, X: Any) -> Array:
        """Mix the sources into samples.

        Parameters
        ----------
        X : array, shape (n_samples, n_components)
            Sources, as ``transform`` gives them.
        """
        return affine(self._check_scores(X), self.mixing_.T, self.mean_)

    @like_input
    def score(self, X: Any, y: Any = None) -> float:
        """The share of the variation of X about ``mean_`` that the sources reproduce.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
        y : ignored
        """
        check_is_fitted(self)
        V = self.components_.T
        Q, _ = np.linalg.qr(times_power(V, -exponent(V)))
        return share_kept(about(validate(self, X, fitting=False), self.mean_), Q.T)

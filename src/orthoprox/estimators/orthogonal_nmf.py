"""Orthogonal nonnegative matrix factorisation, as a scikit-learn estimator."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted, check_non_negative

from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.driver import Result
from orthoprox.estimators._device import host, like_input
from orthoprox.estimators._input import Samples, about, no_centre, validate
from orthoprox.estimators._nonnegative import NonnegativeTransformer
from orthoprox.maps._rows import squared_row_norms
from orthoprox.maps.sparse import is_sparse
from orthoprox.models import orthogonal_nmf
from orthoprox.problem import Problem
from orthoprox.solvers import Solver
from orthoprox.solvers.assignment import assigned

_ENTRIES = 2**20
"""Of the data, in one step of measuring what the factors miss."""


class OrthogonalNMF(NonnegativeTransformer):
    """Nonnegative data as multiples of a few nonnegative components, each sample of one: a clustering by direction.

    ``X ~ W diag(s) C``: W (``W_``) is nonnegative and orthonormal, so a sample has at most one nonzero entry in its
    row; C (``components_``) is nonnegative with unit rows. Samples that differ by a factor, such as a short and a long
    text on one subject, belong together, and large samples count for more. A converged fit ends where each
    component is the leading singular vector of its samples, and no sample is nearer to another component.

    Parameters
    ----------
    n_components : int
        The number of components, or clusters; at most that of the samples.
    solver : str or Solver
        The method that leads to the first start and a quarter of the others, with negative entries of W penalised;
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
    verbose : int
        Show a progress bar if positive.
    random_state : int, RandomState or None
        For the starts after the first.

    Attributes
    ----------
    components_ : array, shape (n_components, n_features)
        Nonnegative rows of length one, ordered by how much of the data they keep. They need not be orthogonal. A row
        is zero if fewer samples than components differ from zero.
    W_ : array, shape (n_samples, n_components)
        The orthonormal factor of the data that were fitted.
    labels_ : array of int, shape (n_samples,)
        The component of each sample; -1 for a sample that is all zero.
    mean_ : array, shape (n_features,)
        Zeros: the data are not centred.
    n_iter_ : int
        Steps of the alternation in the best run.
    objective_ : float
        ``|X - WW'X|^2`` divided by twice the number of features.
    reconstruction_err_ : float
        ``|X - WW'X|``, the Frobenius norm of what the factors miss of the data that were fitted, as in
        scikit-learn's NMF. Of sparse data it is a difference of squares, with half the digits of their norm.
    result_ : Result
        The run itself, whose X is W; its columns are in the order of the run.

    References
    ----------
    C. Ding, T. Li, W. Peng, H. Park, "Orthogonal nonnegative matrix tri-factorizations for clustering", KDD 2006.

    F. Pompili, N. Gillis, P.-A. Absil, F. Glineur, "Two algorithms for orthogonal nonnegative matrix factorization
    with application to clustering", Neurocomputing 141, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import OrthogonalNMF
    >>> X = np.array([[3.0, 4.0, 0.0], [6.0, 8.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    >>> model = OrthogonalNMF(n_components=2, random_state=0).fit(X)
    >>> model.components_, model.labels_
    (array([[0.6, 0.8, 0. ],
           [0. , 0. , 1. ]]), array([ 0,  0,  1, -1]))
    >>> round(model.reconstruction_err_, 9)
    0.0
    >>> model.transform(X)
    array([[ 5.,  0.],
           [10.,  0.],
           [ 0.,  2.],
           [ 0.,  0.]])
    """

    _least_samples: ClassVar[int] = 1

    def __init__(
        self,
        n_components: int = 2,
        *,
        solver: str | Solver[Any] = "auto",
        max_iter: int = 1000,
        tol: float = 1e-6,
        n_init: int = 10,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _location(self, X: Any) -> Array:
        return no_centre(X)

    def _problem(self, data: Samples) -> Problem:
        return orthogonal_nmf(data.X, n_components=self.n_components)

    def _check_components(self, data: Samples) -> None:
        check_non_negative(data.X, type(self).__name__)
        if self.n_components > data.n_samples:
            raise ValueError(
                f"Each component needs a sample of its own: n_components = {self.n_components}, and X has "
                f"{data.n_samples} sample{'' if data.n_samples == 1 else 's'}."
            )

    def _previous_solution(self, data: Samples, problem: Problem) -> Array | None:
        last = super()._previous_solution(data, problem)
        return (
            None if last is None else assigned(np.asarray(data.rough(last)), host(squared_row_norms(data.rough))[:, 0])
        )

    def _store(self, data: Samples, result: Result[Any]) -> None:
        H = data.rough.adjoint(result.X).T
        sizes = np.linalg.norm(H, axis=1)
        order = np.argsort(-sizes, kind="stable")
        self.components_ = (H / np.where(sizes > 0, sizes, 1.0)[:, None])[order]
        self.W_ = result.X[:, order]
        self.reconstruction_err_ = float(data.to_data(math.sqrt(_missed(data, self.W_, H[order]))))
        # A sample of zeros may stand in for a component that would have none; it is like no other sample.
        self.labels_ = np.where(host(squared_row_norms(data.rough))[:, 0] > 0, np.argmax(self.W_, axis=1), -1)

    def _products(self, X: Any) -> tuple[Samples, Array, Array]:
        """The samples, each one's best component and the product with it; -1 and 0 if no product is positive."""
        check_is_fitted(self)
        X = validate(self, X, fitting=False)
        check_non_negative(X, type(self).__name__)
        data = about(X, self.mean_)
        V = self.components_.T
        P = data.rough(V.astype(np.result_type(V, data.like), copy=False))
        best = np.max(P, axis=1)
        return data, np.where(best > 0, np.argmax(P, axis=1), -1), best

    def fit_predict(self, X: Any, y: Any = None) -> Array:
        """Fit, and give ``labels_``.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
        y : ignored
        """
        labels: Array = self.fit(X).labels_
        return labels

    @like_input
    def predict(self, X: Any) -> Array:
        """The component of each sample; -1 for a sample orthogonal to all.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
        """
        return self._products(X)[1]

    @like_input
    def transform(self, X: Any) -> Array:
        """The coefficient of each sample on its component: at most one nonzero in a row.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)

        Returns
        -------
        array, shape (n_samples, n_components)
        """
        data, label, best = self._products(X)
        scores = np.where(label[:, None] == np.arange(self.components_.shape[0]), best[:, None], 0.0)
        return np.asarray(data.to_data(scores))

    @like_input
    def score(self, X: Any, y: Any = None) -> float:
        """The share of ``|X|^2`` that ``inverse_transform(transform(X))`` keeps.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
        y : ignored
        """
        data, _, best = self._products(X)
        total = data.total_squares
        return float(np.sum(np.square(best, dtype=np.float64))) / total if total > 0 else 1.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def _missed(data: Samples, W: Array, H: Array) -> float:
    """The sum of squares of X - WH, without a second array as large as X."""
    if is_sparse(data.X):  # H is W'X and W is orthonormal
        return max(data.total_squares - float(np.sum(np.square(H, dtype=np.float64))), 0.0)
    xp, missed, step = array_namespace(data.X), 0.0, max(1, _ENTRIES // data.n_features)
    H = data.place(H)
    for first in range(0, data.n_samples, step):
        last = min(first + step, data.n_samples)
        rest = data.X[first:last, :] - data.place(W[first:last]) @ H
        missed += float(xp.sum(xp.astype(rest, xp.float64) ** 2))
    return missed

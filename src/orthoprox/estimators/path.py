"""Variance retained against sparsity: sparse principal components for many numbers of nonzeros."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from orthoprox._html import card
from orthoprox._types import Array
from orthoprox.allowance import resolve_total
from orthoprox.estimators._device import host, place
from orthoprox.estimators._input import take_rows, validate
from orthoprox.estimators.sparse_pca import SparsePCA

_POINTS = 10
_LEAST = 0.02  # of all entries, where the default grid begins
_MOST = 0.9  # of the variance that principal components keep, for an example


@dataclass(frozen=True, eq=False)
class SparsePCAPath:
    """The variance that sparse components keep, from few nonzeros to many.

    Attributes
    ----------
    n_nonzero : array of int, shape (p,)
        How many entries of all components together were allowed, in rising order.
    variance_ratio : array, shape (p,)
        The share of the variance that a reconstruction keeps.
    relative_variance_ratio : array, shape (p,)
        The same divided by what as many principal components keep.
    components : tuple of p arrays, shape (n_components, n_features)
        Orthonormal rows with exact zeros.
    error, error_se : array, shape (p,), or None
        With cross-validation: the share of the variation of left-out samples that a reconstruction loses, its mean
        over the folds and the standard error of that mean; NaN for a single fold, which says nothing about it.
    upper_bound : array, shape (p,), or None
        The share of the variance that no orthonormal components with as few nonzeros exceed (``upper_bound_`` of
        :class:`SparsePCA`); it never falls from one number to the next.

    Notes
    -----
    The error is that of a reconstruction, which zeros help only where the true loadings have zeros. Without such zeros
    the least error is that of all entries. ``advice`` says so, and ``print`` shows it under the table.
    """

    n_nonzero: Array
    variance_ratio: Array
    relative_variance_ratio: Array
    components: tuple[Array, ...]
    error: Array | None = None
    error_se: Array | None = None
    upper_bound: Array | None = None

    @property
    def best(self) -> int:
        """The number of nonzeros with the least cross-validated error."""
        return int(self.n_nonzero[np.argmin(self._require_error())])

    @property
    def best_one_se(self) -> int:
        """The least number of nonzeros whose error is within a standard error, if it is known, of the least one."""
        error = self._require_error()
        least = int(np.argmin(error))
        assert self.error_se is not None  # it comes with the error
        return int(self.n_nonzero[np.argmax(error <= error[least] + np.nan_to_num(self.error_se[least]))])

    @property
    def advice(self) -> str:
        """What cross-validation says about the choice, and what it does not."""
        if self.error is None:
            return "Not cross-validated; pass cv to sparse_pca_path, for example cv=5."
        best, sparser, everything = self.best, self.best_one_se, max(V.size for V in self.components)
        if best < everything:
            end = "" if sparser == best else f"; {sparser} do as well within a standard error"
            return f"Samples left out are reconstructed best with {best} nonzeros{end}."
        start = f"Samples left out are reconstructed best with all {everything} entries: sparsity costs accuracy here"
        if sparser < everything:
            return f"{start}, though with {sparser} nonzeros no more than a standard error."
        i = int(np.argmax(self.relative_variance_ratio >= _MOST))
        known = ", and no sparser choice comes within a standard error" if self._spread_known else " in the one fold"
        return (
            f"{start}{known}. How much to give up for components that "
            f"can be read is yours to say: {self.n_nonzero[i]} nonzeros keep {self.relative_variance_ratio[i]:.1%} of "
            "the variance that principal components keep."
        )

    def __str__(self) -> str:
        head, columns = ["n_nonzero", "variance", "of PCA"], [self.variance_ratio, self.relative_variance_ratio]
        if self.error is not None:
            head, columns = [*head, "error"], [*columns, self.error]
        if self.error_se is not None and self._spread_known:
            head, columns = [*head, "+-"], [*columns, self.error_se]
        lines = ["  ".join(f"{word:>9}" for word in head)]
        for k, *row in zip(self.n_nonzero, *columns, strict=True):
            lines.append("  ".join([f"{k:>9}", *(f"{value:>9.2%}" for value in row)]))
        return "\n".join([*lines, "", self.advice])

    def _repr_html_(self) -> str:
        """What a notebook shows: the table, with a mark at the sparsest good choice, and the advice."""
        head = ["nonzeros", "variance", "of PCA"]
        columns = [self.variance_ratio, self.relative_variance_ratio]
        if self.upper_bound is not None:
            head, columns = [*head, "at most"], [*columns, self.upper_bound]
        chosen = None
        if self.error is not None:
            head, columns = [*head, "error"], [*columns, self.error]
            chosen = self.best_one_se
        if self.error_se is not None and self._spread_known:
            head, columns = [*head, "\u00b1"], [*columns, self.error_se]
        rows = [
            [f"\u2192 {k}" if k == chosen else str(k), *(f"{value:.2%}" for value in line)]
            for k, *line in zip(self.n_nonzero, *columns, strict=True)
        ]
        return card("Sparse components: what they keep of the variance", rows, head=head, notes=[self.advice])

    @property
    def _spread_known(self) -> bool:
        """Whether there were folds enough for a standard error."""
        return self.error_se is not None and not bool(np.isnan(self.error_se).any())

    def _require_error(self) -> Array:
        if self.error is None:
            raise AttributeError("This path was not cross-validated: pass cv to sparse_pca_path, for example cv=5.")
        return self.error


def sparse_pca_path(
    X: Any, n_components: float = 2, *, n_nonzero: Sequence[float] | None = None, cv: Any = None, **settings: Any
) -> SparsePCAPath:
    """Fit :class:`SparsePCA` for many numbers of nonzeros, each also from the solution before, from few to many.

    Parameters
    ----------
    X : array, sparse matrix or data frame, shape (n_samples, n_features)
    n_components : int or float
        The number of components, or the share of the variance that as many principal components keep.
    n_nonzero : sequence of int or float, optional
        The numbers of nonzeros, or their shares of all entries. Ten in equal ratios by default, from a fiftieth of
        all entries to all of them.
    cv : int or splitter, optional
        How to cross-validate, as in scikit-learn; without it nothing is cross-validated. A number makes folds of
        samples that follow each other; if samples are sorted, give ``KFold(5, shuffle=True, random_state=0)``.
    **settings
        Further parameters of ``SparsePCA``.

    Returns
    -------
    SparsePCAPath

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import sparse_pca_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 8))
    >>> X[:, :3] += 4 * rng.standard_normal((60, 1))  # three features that go together
    >>> X[:, 3:5] += 3 * rng.standard_normal((60, 1))  # and two others
    >>> path = sparse_pca_path(X, 2, n_nonzero=[3, 5, 16], cv=5)
    >>> path.relative_variance_ratio.round(2)
    array([0.78, 1.  , 1.  ])
    >>> path.best_one_se
    5
    >>> print(path)
    n_nonzero   variance     of PCA      error         +-
            3     70.27%     77.56%     32.79%      6.02%
            5     90.43%     99.82%     10.55%      1.26%
           16     90.60%    100.00%     11.01%      1.26%
    <BLANKLINE>
    Samples left out are reconstructed best with 5 nonzeros.
    """
    forbidden = {"n_nonzero_per_component", "weight", "warm_start"} & set(settings)
    if forbidden:
        raise TypeError(f"A path is over n_nonzero, with warm starts: {', '.join(sorted(forbidden))} cannot be given.")
    settings = {"n_components": n_components, **settings}
    dense = SparsePCA(n_nonzero=1.0, **settings).fit(X)
    X = validate(dense, X, fitting=False)
    settings["n_components"] = dense.n_components_
    counts = _grid(n_nonzero, dense.n_features_in_, dense.n_components_)
    fits = _fits(settings, X, counts)
    variance_ratio = np.array([model.explained_variance_ratio_.sum() for model in fits])
    whole = float(host(dense.explained_variance_ratio_).sum())
    error = error_se = None
    if cv is not None:
        folds = [_errors(settings, X, counts, *parts) for parts in check_cv(cv).split(X)]
        error = np.mean(folds, axis=0)
        known = len(folds) > 1
        error_se = np.std(folds, axis=0, ddof=1) / np.sqrt(len(folds)) if known else np.full(len(counts), np.nan)
    return SparsePCAPath(
        n_nonzero=np.asarray(counts),
        variance_ratio=variance_ratio,
        relative_variance_ratio=variance_ratio / whole,
        components=tuple(place(model.components_, X) for model in fits),
        error=error,
        error_se=error_se,
        upper_bound=_upper_bounds(fits),
    )


def _upper_bounds(fits: list[SparsePCA]) -> Array:
    """The share of the variance that each number of nonzeros may keep: a bound for more nonzeros holds for fewer."""
    gaps = np.array([model.optimality_gap_ for model in fits], dtype=np.float64)
    shares = np.array([model.explained_variance_ratio_.sum() for model in fits]) / (1.0 - gaps)
    return np.minimum.accumulate(shares[::-1])[::-1]


def _errors(settings: dict[str, Any], X: Any, counts: list[int], train: Array, test: Array) -> list[float]:
    """The share of the variation of the test samples that each fit to the training samples loses."""
    fits = _fits(settings, take_rows(X, train), counts)
    return [1.0 - model.score(take_rows(X, test)) for model in fits]


def _fits(settings: dict[str, Any], X: Any, counts: list[int]) -> list[SparsePCA]:
    """A fit for every number of nonzeros, in rising order.

    The solution with fewer nonzeros is allowed at the next number too. What a search from there finds is kept where it
    is better than one from scratch, so no larger number ever keeps less.
    """
    fits: list[SparsePCA] = []
    for k in counts:
        model = _fit_one(SparsePCA(**settings), k, X)
        if fits:
            warm = SparsePCA(**settings, warm_start=True)
            warm.components_ = host(fits[-1].components_)
            warm = _fit_one(warm, k, X).set_params(warm_start=False)
            model = max(model, warm, key=lambda fit: float(np.sum(fit.explained_variance_ratio_)))
        fits.append(model)
    return fits


def _fit_one(model: SparsePCA, k: int, X: Any) -> SparsePCA:
    """A fit without what there is to tell of the data, which was told before."""
    model.set_params(n_nonzero=k)
    model._fit(model._read(X))
    return model


def usual_counts(n: int, r: int) -> list[int]:
    """Numbers of nonzeros for r components of n features, where nobody names any: in equal ratios, up to all."""
    return sorted({round(k) for k in np.geomspace(max(r, _LEAST * n * r), n * r, _POINTS)})


def _grid(n_nonzero: Sequence[float] | None, n: int, r: int) -> list[int]:
    """The numbers of nonzeros in rising order, each once."""
    if n_nonzero is None:
        return usual_counts(n, r)
    if np.ndim(n_nonzero) == 0:
        raise TypeError(f"n_nonzero of a path must be a sequence of numbers, as in [6, 12, 24]; given {n_nonzero!r}.")
    counts = sorted({resolve_total(k, n, r) for k in n_nonzero})
    if not counts:
        raise ValueError("n_nonzero must have at least one number; given none.")
    return counts

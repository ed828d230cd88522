"""What a fit of sparse PCA found, as a table to print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoprox._extras import extra
from orthoprox._html import card
from orthoprox._types import Array

_DIGITS = 9  # of loadings that are compared: rounding is not an order
_FEATURES = 6  # named for each component
_HEAD = ("", "variance", "share", "sum", "nonzero", "loadings")


@dataclass(frozen=True, eq=False, repr=False)
class SparsePCASummary:
    """The result of :class:`SparsePCA`; ``print`` shows it, and so does a notebook.

    Attributes
    ----------
    feature_names, component_names : tuple of str
    components : array, shape (n_components, n_features)
    variance, share : array, shape (n_components,)
        What each component explains, and its share of the variance of all features.
    pca_share : float
        The share that as many principal components keep.
    upper_bound, optimality_gap : float or None
        A bound on the variance that any components with as few nonzeros keep, and how much of it is missing.
    standardised : bool
        Whether every feature was divided by its standard deviation.
    notes : tuple of str

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import SparsePCA
    >>> C = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    >>> print(SparsePCA(n_components=1, n_nonzero=2).fit_covariance(C).summary())
    1 component of 3 features, 2 of 3 loadings nonzero
    <BLANKLINE>
       variance  share    sum  nonzero  loadings
    1         3  60.0%  60.0%        2  x0 0.707, x1 0.707
    <BLANKLINE>
    Keeps 60.0% of the variance, 100.0% of what 1 principal component keeps.
    No components with as few nonzeros keep a variance above 3; these are within 0.00% of that.
    """

    feature_names: tuple[str, ...]
    component_names: tuple[str, ...]
    components: Array
    variance: Array
    share: Array
    pca_share: float
    upper_bound: float | None = None
    optimality_gap: float | None = None
    standardised: bool = False
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        rows = [_HEAD, *self._rows()]
        widths = [max(len(row[j]) for row in rows) for j in range(len(_HEAD) - 1)]
        lines = ["  ".join([*(cell.rjust(w) for cell, w in zip(row, widths, strict=False)), row[-1]]) for row in rows]
        return "\n".join([self._title(), "", *lines, "", *self._below()])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return card(self._title(), self._rows(), head=_HEAD, notes=self._below(), words=1)

    def loadings(self) -> Any:
        """The loadings as a pandas frame, a row for each feature that any component uses."""
        pandas = extra("pandas", "pandas", "A table of loadings")
        used = np.flatnonzero(np.any(self.components != 0, axis=0))
        names = [self.feature_names[i] for i in used]
        return pandas.DataFrame(self.components[:, used].T, index=names, columns=list(self.component_names))

    def variances(self) -> Any:
        """Variance, share, sum of shares and number of nonzeros as a pandas frame, a row for each component."""
        pandas = extra("pandas", "pandas", "A table of variances")
        columns = {"variance": self.variance, "share": self.share, "sum": np.cumsum(self.share)}
        nonzero = np.count_nonzero(self.components, axis=1)
        return pandas.DataFrame({**columns, "nonzero": nonzero}, index=list(self.component_names))

    def _rows(self) -> list[tuple[str, ...]]:
        sums = np.cumsum(self.share)
        return [
            (
                str(j + 1),
                f"{self.variance[j]:.4g}",
                percent(self.share[j]),
                percent(sums[j]),
                str(np.count_nonzero(row)),
                self._describe(row),
            )
            for j, row in enumerate(self.components)
        ]

    def _describe(self, row: Array) -> str:
        """The largest loadings by name, and how many more there are."""
        inside = np.flatnonzero(row)
        order = inside[np.argsort(-np.round(np.abs(row[inside]), _DIGITS), kind="stable")]
        shown = (
            order if len(order) <= _FEATURES + 1 else order[:_FEATURES]
        )  # "and 1 more" takes as much room as the one
        words = ", ".join(f"{self.feature_names[i]} {row[i]:.3f}" for i in shown)
        return words if len(shown) == len(order) else f"{words} and {len(order) - len(shown)} more"

    def _title(self) -> str:
        r, n = self.components.shape
        kind = "standardised feature" if self.standardised else "feature"
        nonzero = np.count_nonzero(self.components)
        return f"{_number(r, 'component')} of {_number(n, kind)}, {nonzero} of {n * r} loadings nonzero"

    def _below(self) -> list[str]:
        kept, r = float(np.sum(self.share)), len(self.components)
        verb = "keep" if r > 1 else "keeps"
        lines = [
            f"Keeps {percent(kept)} of the variance, {percent(kept / self.pca_share)} of what "
            f"{_number(r, 'principal component')} {verb}."
        ]
        if self.upper_bound is not None and self.optimality_gap is not None:
            lines.append(
                f"No components with as few nonzeros keep a variance above {self.upper_bound:.4g}; "
                f"these are within {self.optimality_gap:.2%} of that."
            )
        return lines + [f"Note: {note}" for note in self.notes]


def summarise(fitted: Any) -> SparsePCASummary:
    """The summary of a fitted :class:`SparsePCA`."""
    return SparsePCASummary(
        feature_names=feature_names(fitted, fitted.n_features_in_),
        component_names=tuple(str(name) for name in fitted.get_feature_names_out()),
        components=fitted.components_,
        variance=fitted.explained_variance_,
        share=fitted.explained_variance_ratio_,
        pca_share=fitted.pca_variance_ratio_,
        upper_bound=fitted.upper_bound_,
        optimality_gap=fitted.optimality_gap_,
        standardised=fitted.feature_scale_ is not None,
        notes=fitted.notes_,
    )


def feature_names(estimator: Any, n: int) -> tuple[str, ...]:
    """The names of the features; x0, x1 and so on where the data have none."""
    names = getattr(estimator, "feature_names_in_", None)
    return tuple(f"x{i}" for i in range(n)) if names is None else tuple(str(name) for name in names)


def percent(share: float) -> str:
    """A share as a percentage, with a decimal, and two digits where that would be nothing.

    Examples
    --------
    >>> percent(0.2345), percent(0.0), percent(0.0000889)
    ('23.4%', '0.0%', '0.0089%')
    """
    return f"{share:.1%}" if share == 0 or abs(share) >= 1e-3 else f"{100 * share:.2g}%"


def _number(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"

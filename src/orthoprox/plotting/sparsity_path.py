"""What sparsity costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoprox.plotting._canvas import axes
from orthoprox.plotting._style import curve, ink, style
from orthoprox.plotting._text import legend

BOUND = "no components keep more"
DECADES = 2.5  # over more than these only powers of ten are written
WIDE = 10  # counts that differ by more than this factor have a logarithmic axis


def sparsity_path(path: Any, *, ax: Any = None) -> Any:
    """The share of the variance that components keep, against how many loadings differ from zero.

    A band reaches from there to what no components with as few nonzeros can keep, where the path has such a bound. With
    cross-validation there is also what components keep of samples that were left out, with its standard error, and a
    line at the sparsest choice that is as good as the best one within that error.

    Parameters
    ----------
    path : SparsePCAPath
        What ``orthoprox.estimators.sparse_pca_path`` gives; anything with its attributes will do.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from matplotlib.figure import Figure
    >>> from orthoprox.plotting import sparsity_path
    >>> path = SimpleNamespace(n_nonzero=[5, 10, 20], variance_ratio=[0.4, 0.6, 0.7])
    >>> ax = sparsity_path(path, ax=Figure().gca())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('nonzero loadings', 'share of the variance kept')
    """
    x, kept = _column(path, "n_nonzero"), _column(path, "variance_ratio")
    if len(kept) != len(x):
        raise ValueError(f"variance_ratio must have a number for each n_nonzero; given {len(kept)} and {len(x)}.")
    ax = axes(ax, 5.5, 4.0)
    curve(ax, x, kept, style(0), "of the samples", every=True)  # each point is a fit
    if getattr(path, "upper_bound", None) is not None:
        colour, _, _ = style(0)
        bound = _column(path, "upper_bound")
        ax.fill_between(x, kept, bound, facecolor=(colour, 0.25), edgecolor=(colour, 0.7), linewidth=0.6, label=BOUND)
    if getattr(path, "error", None) is not None:
        left_out, spread = 1 - _column(path, "error"), _column(path, "error_se")
        colour, _, _ = style(1)
        curve(ax, x, left_out, style(1), "of samples left out", every=True)
        ax.fill_between(x, left_out - spread, left_out + spread, color=colour, alpha=0.2, linewidth=0)
        ax.axvline(path.best_one_se, color=ink(ax), ls=":", lw=1.2, label=f"{path.best_one_se}: as good as the best")
    if len(ax.get_legend_handles_labels()[0]) > 1:
        legend(ax)
    _count_along(ax, x)
    ax.set_xlabel("nonzero loadings")
    ax.set_ylabel("share of the variance kept")
    ax.grid(alpha=0.3)
    return ax


def _count_along(ax: Any, x: Any) -> None:
    """Whole numbers along the axis, few enough not to meet; logarithmic where they differ much."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

    if x[-1] > WIDE * x[0]:
        ax.set_xscale("log")
        few = np.log10(x[-1] / x[0]) > DECADES
        ax.xaxis.set_major_locator(LogLocator(10, subs=(1.0,) if few else (1.0, 2.0, 5.0), numticks=6 if few else 12))
        ax.xaxis.set_minor_locator(NullLocator())
    else:
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))


def _column(path: Any, name: str) -> np.ndarray[Any, Any]:
    """One of the path's arrays."""
    values = np.asarray(getattr(path, name, ()))
    if values.ndim != 1 or len(values) == 0 or values.dtype.kind not in "iuf":
        raise TypeError(
            f"path must be what sparse_pca_path gives, with {name} as a row of numbers; given {type(path).__name__}."
        )
    return values

"""The path of sparse components: what every number of nonzeros keeps, and what none can exceed."""

from __future__ import annotations

import warnings
from typing import Any

import click
import numpy as np

from orthoprox import Status
from orthoprox._fields import replace
from orthoprox.cli.fit.run import Fit, data_of

QUICK = 1.0
"""Seconds of a fit up to which its path, of about twenty such fits, is made without being asked for."""
NOT_OF_A_PATH = ("n_components", "n_nonzero")


def with_path(fit: Fit, wanted: bool | None, cv: int | None, scale: str, *, tell: bool) -> Fit:
    """The fit with its path, where the estimator has one and the user wants it."""
    if fit.kind.name != "SparsePCA" or wanted is False or fit.model.result_.status is Status.INTERRUPTED:
        return fit
    asked = wanted is True or cv is not None
    reason = _hindrance(fit)
    if reason and asked:
        raise ValueError(f"There is no path {reason}; leave --path and --cv out.")
    if reason:
        return fit
    if cv is not None and cv > len(fit.table.index):
        raise ValueError(f"--cv must be at most the number of samples, {len(fit.table.index)}; given {cv}.")
    if not asked and fit.seconds > QUICK:
        note = (
            f"No path was made, since the fit took {fit.seconds:.1f} s and a path takes about twenty times as long; "
            "--path makes it."
        )
        return replace(fit, notes=(*fit.notes, note))
    if tell:
        fits = "twenty" if cv is None else str(20 * (cv + 1))  # those of the path, and of each fold
        click.echo(f"The path: about {fits} more fits. Ctrl-C leaves it out.", err=True)
    from orthoprox import sparse_pca_path

    settings = {name: value for name, value in fit.settings.items() if name not in NOT_OF_A_PATH}
    settings["scale"] = None if scale == "none" else scale
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what there is to say the fit has said
            path: Any = sparse_pca_path(
                data_of(fit.table), fit.model.n_components_, n_nonzero=_counts(fit), cv=_folds(cv, fit), **settings
            )
    except KeyboardInterrupt:  # the fit itself is there
        return replace(fit, notes=(*fit.notes, "The path was interrupted, and is left out."))
    return replace(fit, path=path)


def _folds(cv: int | None, fit: Fit) -> Any:
    """Folds of samples at random: files are often sorted, and a fold of one group says nothing of the others."""
    from sklearn.model_selection import KFold

    return None if cv is None else KFold(cv, shuffle=True, random_state=fit.settings.get("random_state"))


def _counts(fit: Fit) -> list[int]:
    """The usual numbers of nonzeros and that of the fit: a bound between two numbers is not one for the fit."""
    from orthoprox.estimators.path import usual_counts

    r, n = fit.components.shape
    return sorted({*usual_counts(n, r), int(np.count_nonzero(fit.components))})


def _hindrance(fit: Fit) -> str:
    if fit.table.X is None:
        return "of data in blocks"
    if fit.table.is_covariance:
        return "of covariances, which hold no samples"
    if fit.model.weight is not None:
        return "with --weight, since a path is over numbers of nonzeros"
    return "with --nonzeros-each" if fit.model.n_nonzero_per_component is not None else ""

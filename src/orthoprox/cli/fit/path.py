"""The path of sparse components: what every number of nonzeros keeps, and what none can exceed."""

from __future__ import annotations

import math
import warnings
from typing import Any

import click
import numpy as np

from orthoprox import Status
from orthoprox._fields import replace
from orthoprox.cli.fit.run import Fit, data_of
from orthoprox.cli.tables import Table

QUICK = 1.0
"""Seconds of a fit up to which its path, of about twenty such fits, is made without being asked for."""
NOT_OF_A_PATH = ("n_components", "n_nonzero")


def check_path(table: Table, settings: dict[str, Any], wanted: bool | None, cv: int | None) -> None:
    """Refuse a path that cannot be made, before the fit, which may take long.

    Raises
    ------
    ValueError
        If the user wants one; the sentence says why there is none.
    """
    if (wanted is True or cv is not None) and (reason := _hindrance(table, settings)):
        raise ValueError(f"There is no path {reason}; leave --path and --cv out.")
    m = len(table.index)
    if cv is not None and (cv > m or m - math.ceil(m / cv) < 2):
        most = f"must be at most the number of samples, {m}" if cv > m else f"needs folds that leave 2 of {m} samples"
        raise ValueError(f"--cv {most}; given {cv}.")


def with_path(fit: Fit, wanted: bool | None, cv: int | None, scale: str, *, tell: bool) -> Fit:
    """The fit with its path, where the estimator has one and the user wants it."""
    if fit.kind.name != "SparsePCA" or wanted is False or fit.model.result_.status is Status.INTERRUPTED:
        return fit
    if _hindrance(fit.table, fit.settings):
        return fit
    asked = wanted is True or cv is not None
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


def _hindrance(table: Table, settings: dict[str, Any]) -> str:
    if table.X is None:
        return "of data in blocks"
    if table.is_covariance:
        return "of covariances, which hold no samples"
    if settings.get("weight") is not None:
        return "with --weight, since a path is over numbers of nonzeros"
    return "with --nonzeros-each" if settings.get("n_nonzero_per_component") is not None else ""

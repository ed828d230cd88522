"""What a fit found: a summary for machines, and words for people."""

from __future__ import annotations

import math
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import orthoprox
from orthoprox.cli.fit.run import Fit
from orthoprox.cli.tables.places import count, listed
from orthoprox.estimators._summary import percent

SHOWN = 6
"""Features named for each component."""
COMPONENTS = 20
"""Components described on the screen."""
LIBRARIES = ("scikit-learn", "pandas")
NUMBERS = {
    "explained_variance_": "explained_variance",
    "explained_variance_ratio_": "explained_variance_ratio",
    "adjusted_variance_ratio_": "adjusted_variance_ratio",
    "pca_variance_ratio_": "pca_variance_ratio",
    "upper_bound_": "upper_bound",
    "optimality_gap_": "optimality_gap",
    "objective_": "objective",
    "n_iter_": "iterations",
    "threshold_": "outlier_threshold",
}
"""Fitted attributes that go into the summary, with their names there."""


def component_names(fit: Fit) -> list[str]:
    """component_1, component_2 and so on."""
    return [f"component_{j + 1}" for j in range(len(fit.components))]


def versions() -> dict[str, str]:
    """Of this library and those it used."""
    found = {"orthoprox": orthoprox.__version__, "python": platform.python_version()}
    found |= {"numpy": np.__version__, "scipy": scipy.__version__}
    return found | {name: metadata.version(name) for name in LIBRARIES}


def summary_of(fit: Fit, source: Path, command: str) -> dict[str, Any]:
    """Everything about a fit but its large tables, in the types of JSON."""
    table, model = fit.table, fit.model
    numbers = {name: _plain(getattr(model, own)) for own, name in NUMBERS.items() if hasattr(model, own)}
    if "outlier" in fit.columns:
        numbers["outliers"] = fit.columns["outlier"].count("yes")
    path = None
    if fit.path is not None:
        names = ("n_nonzero", "variance_ratio", "relative_variance_ratio", "upper_bound", "error", "error_se")
        path = {name: _plain(getattr(fit.path, name)) for name in names} | {"advice": advice_of(fit.path)}
    return {
        "command": command,
        "estimator": fit.kind.name,
        "parameters": {name: _plain(value) for name, value in model.get_params().items() if name != "verbose"},
        "python": fit.python,
        "table": {
            "file": str(source),
            "samples": None if table.is_covariance else len(table.index),
            "features": len(table.names),
            "index": table.index_name,
            "transposed": table.transposed,
            "left_out": [{"name": one.name, "place": one.place, "why": one.why} for one in table.left_out],
            **table.facts,
        },
        "scaling": fit.scaling,
        "status": model.result_.status.name.lower(),
        "message": model.result_.message,
        "nonzeros": [int(k) for k in np.count_nonzero(fit.components, axis=1)],
        **numbers,
        "path": path,
        "seconds": fit.seconds,
        "notes": list(fit.notes),
        "versions": versions(),
    }


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (str, int, float, list)) else str(value)


def opening(fit: Fit, source: Path) -> list[str]:
    """What was read, what was left out, what was done to units."""
    table = fit.table
    how = [f"{word} {table.facts[word]}" for word in ("sheet",) if word in table.facts]
    if "separator" in table.facts:
        mark = "decimal commas" if table.facts["decimal"] == "," else "decimal points"
        how = [f"{table.facts['separator']} between columns", mark, table.facts["encoding"]]
    if table.transposed:
        how.append("features in rows")
    facts = f" ({', '.join(how)})" if how else ""
    features = count(len(table.names), "feature")
    if table.is_covariance:
        return [f"Read {source.name}{facts}: covariances of {features}.", fit.scaling]
    lines = [f"Read {source.name}{facts}: {count(len(table.index), 'sample')}, {features}."]
    if table.index_name not in ("row", "sample", "observation"):
        lines.append(f"{table.index_name!r} names the samples, and takes no part in the fit.")
    if table.names_from:
        lines.append(f"{table.names_from!r} names the features.")
    if table.left_out:
        lines.append(table.left_out_words())
    return [*lines, fit.scaling]


def describe(fit: Fit) -> str:
    """What was found, as a table with sentences below it."""
    if hasattr(fit.model, "summary"):
        return str(fit.model.summary()).partition("\nNote: ")[0]
    r, n = fit.components.shape
    nonzero = np.count_nonzero(fit.components)
    lines = [f"{count(r, 'component')} of {count(n, 'feature')}, {nonzero} of {n * r} loadings nonzero", ""]
    shares = shares_of(fit)
    for j, row in enumerate(fit.components[:COMPONENTS]):
        share = "" if shares is None else f"{percent(shares[j]):>6}  "
        lines.append(f"{j + 1:>3}  {share}{strongest(row, fit.table.names)}")
    if r > COMPONENTS:
        lines.append(f"     and {count(r - COMPONENTS, 'more component')}; loadings.csv has them all.")
    return "\n".join([*lines, "", *verdict(fit)]).rstrip()


def verdict(fit: Fit) -> list[str]:
    """Sentences on how good the components are, and on what they say of the samples."""
    if hasattr(fit.model, "summary"):
        return str(fit.model.summary()).partition("\nNote: ")[0].rpartition("\n\n")[2].splitlines()
    lines: list[str] = []
    shares = shares_of(fit)
    if shares is not None:
        whose = " of the samples that are no outliers" if "outlier" in fit.columns else ""
        lines.append(f"Keeps {percent(sum(shares))} of the variance{whose}.")
    if "outlier" in fit.columns:
        outliers = fit.columns["outlier"].count("yes")
        among = count(len(fit.table.index), "sample")
        which = f"{count(outliers, 'outlier')} among {among}; scores.csv says which."
        lines.append(which if outliers else f"No outliers among {among}.")
    if "component" in fit.columns:
        sizes = [fit.columns["component"].count(name) for name in component_names(fit)]
        lines.append(f"Samples of each component: {', '.join(map(str, sizes))}; scores.csv says which.")
        none = fit.columns["component"].count("")
        if none:
            lines.append(f"{count(none, 'sample')} {'belongs' if none == 1 else 'belong'} to no component.")
    return lines


def advice_of(path: Any) -> str:
    """What a path says on the number of nonzeros, in the words of the command."""
    if path.error is None:
        return "The path is not cross-validated: --cv 5 says with how many nonzeros samples left out fare best."
    return str(path.advice)


def shares_of(fit: Fit) -> list[float] | None:
    """The share of the variance that each component explains, where the estimator has it."""
    shares = getattr(fit.model, "explained_variance_ratio_", None)
    return None if shares is None else [float(share) for share in shares]


def strongest(row: Any, names: Any) -> str:
    """The largest loadings by name, and how many more there are."""
    inside = np.flatnonzero(row)
    order = inside[np.argsort(-np.abs(row[inside]), kind="stable")]
    top = float(np.max(np.abs(row), initial=0.0))
    return listed((f"{names[i]} {number(float(row[i]), top)}" for i in order), SHOWN) or "all zero"


def number(value: float, top: float) -> str:
    """A loading with three decimals; with three digits where the largest is not of about one."""
    return f"{value:.3f}" if 1e-2 <= top <= 1e3 else f"{value:.3g}"

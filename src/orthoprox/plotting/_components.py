"""Components and the names of their features, from an estimator or from arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from orthoprox.backends import backend_of

Matrix = np.ndarray[Any, Any]


def components_of(given: Any) -> Matrix:
    """The components as a NumPy array, one row each: of a fitted estimator, or the given array."""
    if hasattr(given, "fit") and not hasattr(given, "components_"):
        raise ValueError(
            f"This {type(given).__name__} has no components yet: call fit first, or give an array of components."
        )
    return matrix(getattr(given, "components_", given), "components", "a row for each component, a column a feature")


def matrix(given: Any, name: str, meaning: str) -> Matrix:
    """A finite two-dimensional array in the memory of the host."""
    array = backend_of(given).to_numpy(given) if is_array_api_obj(given) else np.asarray(given)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"{name} must be a matrix with {meaning}; given shape {array.shape}.")
    if not np.issubdtype(array.dtype, np.number) or np.iscomplexobj(array):
        raise TypeError(f"{name} must hold real numbers; given dtype {array.dtype}. Convert it first.")
    if not np.all(np.isfinite(array)):
        raise ValueError(
            f"{name} must be finite; given {np.sum(~np.isfinite(array))} entries that are not. Fill or drop them first."
        )
    return array


def names_of(given: Any, names: Sequence[str] | None, n: int) -> list[str]:
    """The names of n features: as given, else those the estimator saw in a frame, else their numbers."""
    if names is None:
        names = getattr(given, "feature_names_in_", None)
    if names is None:
        return [f"x{i}" for i in range(n)]
    if isinstance(names, str) or len(names) != n:
        given_names = repr(names) if isinstance(names, str) else f"{len(names)}"
        raise ValueError(
            f"names must have one name for each of the {n} features; given {given_names}. Components are the rows: "
            "of a solution X, whose columns they are, give X.T."
        )
    return [str(name) for name in names]


def shares_of(given: Any, r: int) -> list[str]:
    """For each of r components what share of the variance it explains, in words; nothing where that is not known."""
    shares = getattr(given, "explained_variance_ratio_", None)
    if shares is None or tuple(np.shape(shares)) != (r,):
        return [""] * r
    host = backend_of(shares).to_numpy(shares) if is_array_api_obj(shares) else np.asarray(shares)
    return [f"{100 * share:.3g} % of the variance" for share in host]


def titles_of(titles: Sequence[str] | None, defaults: Sequence[str]) -> list[str]:
    """The given titles, one for each component, else the defaults."""
    if titles is None:
        return list(defaults)
    if isinstance(titles, str) or len(titles) != len(defaults):
        raise ValueError(
            f"titles must be a list with one title for each of the {len(defaults)} components; given {titles!r}."
        )
    return [str(title) for title in titles]


def strongest(component: Matrix, top: int) -> list[int]:
    """The indices of the largest entries in magnitude, at most ``top``, zeros left out."""
    order = np.argsort(-np.abs(component), kind="stable")[:top]
    return [int(j) for j in order if component[j] != 0]


def checked_count(value: Any, name: str) -> int:
    """A whole number, at least 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} must be a whole number, at least 1; given {value!r}.")
    return int(value)

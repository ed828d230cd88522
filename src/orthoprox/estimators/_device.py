"""Samples on a device: large arrays stay there, small ones visit the host, and what is found goes back.

Fits work on samples where they live: products with them, centring, scaling, and the iterations of the solver. What is
small beside the samples (components, scores of a few components, Gram matrices) is brought to NumPy for the steps that
are written for it. Fitted attributes and results of methods are arrays of the library and device of the samples, as
scikit-learn's array API convention asks.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import scipy
import sklearn
from array_api_compat import device, is_array_api_obj, is_numpy_array

from orthoprox._fields import replace
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.driver import Result

Method = TypeVar("Method", bound=Callable[..., Any])
CAN_DISPATCH = np.lib.NumpyVersion(scipy.__version__) >= "1.14.0"
"""Whether scikit-learn lets arrays of other libraries pass: with an older SciPy it refuses."""


def is_elsewhere(X: Any) -> bool:
    """Whether this is an array of another library than NumPy."""
    return is_array_api_obj(X) and not is_numpy_array(X) and not isinstance(X, np.generic)


def dispatches(X: Any) -> bool:
    """Whether X stays in its own library: it has one, and scikit-learn was told to let it."""
    return bool(sklearn.get_config().get("array_api_dispatch", False)) and is_elsewhere(X)


def host(a: Any) -> Any:
    """The array in NumPy."""
    return backend_of(a).to_numpy(a) if is_elsewhere(a) else a


def place(a: Any, like: Array) -> Any:
    """A NumPy array in the library and on the device of another one; floats, integers and truth values stay such."""
    if not is_elsewhere(like) or is_elsewhere(a):
        return a
    return array_namespace(like).asarray(np.array(a), device=device(like))


def numpy_dtype(X: Any) -> np.dtype[Any]:
    """The float type of X as NumPy names it."""
    return np.dtype(str(X.dtype).rpartition(".")[2]) if is_elsewhere(X) else X.dtype


def host_result(result: Result[Any]) -> Result[Any]:
    """The result with its point in NumPy."""
    return _moved(result, host) if is_elsewhere(result.X) else result


def _moved(result: Result[Any], move: Callable[[Any], Any]) -> Result[Any]:
    """The result with X moved, and with y and z where they are as small: of data A(X) they stay where they are."""
    small = result.y is not None and tuple(result.y.shape) == tuple(result.X.shape)
    return replace(result, **{part: move(getattr(result, part)) for part in (("X", "y", "z") if small else ("X",))})


def start_for(data: Array | None, X0: Array) -> Array:
    """A starting point where the data of a problem live."""
    return X0 if data is None or is_numpy_array(data) or is_elsewhere(X0) else backend_of(data).from_numpy(X0, data)


@contextmanager
def fitting(estimator: Any, X: Any) -> Iterator[None]:
    """Fit in NumPy what is fitted, and leave it where X lives: attributes of an earlier fit come home first."""
    _replace_attributes(estimator, host)
    yield
    if dispatches(X):
        _replace_attributes(estimator, lambda a: place(a, X))


def at_home(estimator: Any) -> Any:
    """The estimator, or a copy of it with its attributes in NumPy."""
    if not any(map(is_elsewhere, list(vars(estimator).values()))):  # a list: other threads may store attributes
        return estimator
    twin = copy.copy(estimator)
    _replace_attributes(twin, host)
    return twin


def like_input(method: Method) -> Method:
    """Make a method of a fitted estimator give arrays of the library and device of its argument X."""

    @functools.wraps(method)
    def run(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        found = method(at_home(self), X, *args, **kwargs)
        return place(found, X) if isinstance(found, np.ndarray) and dispatches(X) else found

    return run  # type: ignore[return-value]


def _replace_attributes(estimator: Any, move: Callable[[Any], Any]) -> None:
    """Move the arrays among the attributes, and the point of the result."""
    for name, value in list(vars(estimator).items()):
        if isinstance(value, Result):
            setattr(estimator, name, _moved(value, move))
        elif is_elsewhere(value) or (isinstance(value, np.ndarray) and _is_fitted(name, value)):
            setattr(estimator, name, move(value))


def _is_fitted(name: str, value: Any) -> bool:
    """Whether this is a fitted attribute of numbers; names of features are none."""
    return name.endswith("_") and value.dtype.kind in "fib"

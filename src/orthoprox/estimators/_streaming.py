"""Estimators that need no more of the samples than their covariance: these may come in blocks."""

from __future__ import annotations

import contextlib
import copy
import operator
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.exceptions import NotFittedError

from orthoprox._types import Array
from orthoprox.estimators._base import OrthogonalTransformer
from orthoprox.estimators._input import Samples, validate
from orthoprox.estimators._sketched import samples_of
from orthoprox.sketches import CovarianceSketch, new_sketch
from orthoprox.sketches._moments import check_half_life

_DIRECTIONS = 10  # kept for each component
_LEAST_DIRECTIONS = 200
_LOCK = "_lock"
_NAMES = ("n_features_in_", "feature_names_in_")


class StreamingTransformer(OrthogonalTransformer):
    """``partial_fit``: blocks of samples go into a sketch of their covariance, ``sketch_``.

    The components are found when an attribute of the fit is first asked for after a block, so that a block costs no
    more than its part in the covariance. What is found depends on the blocks alone and not on when it was asked for,
    unless ``warm_start`` begins at the last components.
    """

    _lazy: ClassVar[frozenset[str]] = frozenset({"components_", "mean_", "scale_", "n_iter_", "result_", "objective_"})
    """The attributes of a fit, which are not there until somebody asks."""

    sketch_size: int | None
    half_life: float | None
    _pending: bool = False

    def partial_fit(self, X: Any, y: Any = None) -> Any:
        """Take in a block of samples; the components are found when they are next asked for.

        A block that is refused changes nothing. After ``fit`` the first block begins anew: a fit keeps no covariance.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
            A block of any number of samples, with the features of the blocks before.
        y : ignored
        """
        self._check_settings()
        with self._lock:
            first = "sketch_" not in self.__dict__
            with self._names_if_taken():
                X = validate(self, X, fitting=first)
                sketch = self._new_sketch(X.shape[1]) if first else self.sketch_
                self._check_room(sketch)
                sketch = sketch.update(X)
            self._adopt(sketch)
        return self

    def fit_sketch(self, sketch: CovarianceSketch, feature_names: Any = None) -> Any:
        """Find the components of the samples that a sketch has seen; ``partial_fit`` goes on from there.

        Parameters
        ----------
        sketch : CovarianceSketch
            Loaded from a file, or merged from those of several workers (``orthoprox.sketches``).
        feature_names : sequence of str, optional
            The names of the features, which a sketch does not know.

        Examples
        --------
        >>> import numpy as np
        >>> from orthoprox import SparsePCA
        >>> from orthoprox.sketches import new_sketch
        >>> X = np.random.default_rng(0).standard_normal((60, 5)) * [4, 3, 1, 1, 1]
        >>> halves = [new_sketch(5).update(half) for half in (X[:30], X[30:])]
        >>> SparsePCA(n_components=2, n_nonzero=2).fit_sketch(halves[0].merge(halves[1])).components_.round(2)
        array([[1., 0., 0., 0., 0.],
               [0., 1., 0., 0., 0.]])
        """
        if not isinstance(sketch, CovarianceSketch):
            raise TypeError(f"sketch must be a CovarianceSketch; given {type(sketch).__name__}. For samples use fit.")
        self._check_settings()
        names = None if feature_names is None else np.asarray(feature_names, dtype=object)
        if names is not None and names.shape != (sketch.n_features,):
            raise ValueError(
                f"feature_names must be a list of {sketch.n_features} names, one for each feature of the sketch; "
                f"given shape {names.shape}."
            )
        self._check_room(sketch)
        self._check_samples(sketch.n_samples)
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = sketch.n_features
        if names is not None:
            self.feature_names_in_ = names
        self._adopt(sketch)
        self._refresh()
        return self

    @contextlib.contextmanager
    def _names_if_taken(self) -> Iterator[None]:
        """Samples that are refused leave the number and the names of the features as they were."""
        before = {name: self.__dict__[name] for name in _NAMES if name in self.__dict__}
        try:
            yield
        except BaseException:
            for name in _NAMES:
                self.__dict__.pop(name, None)
            self.__dict__.update(before)
            raise

    def _new_sketch(self, n: int) -> CovarianceSketch:
        r = 0 if self.n_components is None or self.n_components < 1 else int(self.n_components)  # not a share
        return new_sketch(n, self.sketch_size, self.half_life, max(_LEAST_DIRECTIONS, _DIRECTIONS * r))

    def _check_room(self, sketch: Any) -> None:
        """Refuse more components than features; all that is asked for is the number of these."""
        self._check_components(sketch)

    def _adopt(self, sketch: CovarianceSketch) -> None:
        """Make a sketch that of this estimator; what was fitted before is no longer true of it."""
        self._previous = self.__dict__.get("components_", self.__dict__.get("_previous"))
        self._forget_fit()
        self.sketch_, self.n_samples_seen_, self._pending = sketch, sketch.n_samples, True

    def _refresh(self) -> None:
        """Find the components of what the sketch has seen: by a twin, whose attributes appear here all at once."""
        self._check_samples(self.n_samples_seen_)
        twin = copy.copy(self)
        twin._pending = False
        if self.warm_start and self._previous is not None:
            twin.components_ = self._previous
        twin._fit(samples_of(self.sketch_))
        self.__dict__.update(_without_lock(twin.__dict__))
        self._tell()

    def _forget_fit(self) -> None:
        for name in self._lazy:
            self.__dict__.pop(name, None)

    def _check_samples(self, seen: int) -> None:
        if seen < self._least_samples:
            raise NotFittedError(
                f"{type(self).__name__} has seen {seen} sample{'s' if seen != 1 else ''}, and components need at least "
                f"{self._least_samples}. Call partial_fit with more."
            )

    def _read(self, X: Any) -> Samples:
        with self._names_if_taken():
            data = super()._read(X)
            self._check_components(data)
        self._end_stream()
        return data

    def _end_stream(self) -> None:
        """Forget the blocks: a fit begins anew."""
        if self._pending and self.warm_start and self._previous is not None:
            self.components_ = self._previous
        self._pending, self._previous = False, None
        for name in ("sketch_", "n_samples_seen_"):
            self.__dict__.pop(name, None)

    _previous: Array | None = None

    # ------------------------------------------------------------------ what waits for the question

    @property
    def _lock(self) -> Any:
        """Held while an attribute that waits is computed: threads that share an estimator compute it once."""
        return self.__dict__.setdefault(_LOCK, threading.RLock())

    def _supply(self, name: str) -> None:
        """Compute an attribute of the fit that is not there, if it waits; the lock is held."""
        if not self._pending:
            return
        try:
            self._refresh()
        except NotFittedError:
            raise
        except ValueError as error:  # such as constant features: more blocks may help
            raise NotFittedError(str(error)) from error

    def __getstate__(self) -> Any:
        with self._lock:
            return _without_lock(super().__getstate__())

    def __sklearn_is_fitted__(self) -> bool:
        """Without a look at each attribute, as scikit-learn takes it: other threads may store some meanwhile."""
        return "components_" in vars(self) or "sketch_" in vars(self)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in type(self)._lazy:
                with self._lock:
                    self._supply(name)
                    if name in vars(self):  # by this thread or by another
                        return vars(self)[name]
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _check_settings(self) -> None:
        super()._check_settings()
        check_half_life(self.half_life)
        if self.sketch_size is not None:
            try:
                size = operator.index(self.sketch_size)
            except TypeError:
                raise TypeError(f"sketch_size must be a whole number or None; given {self.sketch_size!r}.") from None
            if size < 1:
                raise ValueError(f"sketch_size must be at least 1; given {size}.")


def _without_lock(attributes: dict[str, Any]) -> dict[str, Any]:
    """What goes along to another object; locks cannot be copied."""
    return {name: value for name, value in attributes.items() if name != _LOCK}

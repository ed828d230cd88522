"""A dataset, where it comes from, and what loading gives."""

from __future__ import annotations

import abc
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orthoprox._memory import check_memory
from orthoprox.datasets._errors import DataDamaged, DataUnavailable


@dataclass(frozen=True, eq=False)
class DataMatrix:
    """A matrix of data, samples in rows, and where it is from.

    Attributes
    ----------
    name : str
        Base, samples and features, as in ``mnist-1500-500``.
    X : array, shape (m, n)
        The prepared data in double precision; a SciPy sparse array where raw sparse data were asked for.
    source, licence : str
    notes : tuple of str
        Remarks for the user.
    checksum : str
        The sha256 of the file that was read (of each, where there are several), or of the numbers where there is none.
    rows, columns : array of int
        The indices of the samples and features in the full dataset.
    """

    name: str
    X: Any
    source: str
    licence: str
    notes: tuple[str, ...]
    checksum: str
    rows: Any
    columns: Any

    def __repr__(self) -> str:
        return f"DataMatrix({self.name}: {self.X.shape[0]} samples of {self.X.shape[1]} features)"


@dataclass(frozen=True)
class Request:
    """The arguments of ``load`` that an origin may need."""

    samples: int | None
    features: int | None
    rng: np.random.Generator
    folder: Path | None
    check: bool


class Origin(abc.ABC):
    """Where the numbers of a dataset come from."""

    @abc.abstractmethod
    def matrix(self, request: Request) -> tuple[Any, str]:
        """All samples by all features as they are, and their checksum."""

    def locate(self, request: Request) -> None:
        """Raise the error that ``matrix`` would for what is missing, without reading anything."""
        return None


@dataclass(frozen=True)
class RandomOrigin(Origin):
    """Random numbers of any size."""

    draw: Callable[[np.random.Generator, int, int], Any]

    def matrix(self, request: Request) -> tuple[Any, str]:
        A = self.draw(request.rng, *self._size(request))
        return A, digest_of(A)

    def locate(self, request: Request) -> None:
        self._size(request)

    def _size(self, request: Request) -> tuple[int, int]:
        if request.samples is None or request.features is None:
            raise ValueError("Random data have no size of their own: give samples and features, as in randn-1500-500.")
        m, n = request.samples, request.features
        check_memory(m * n, f"{m} by {n} random numbers")
        return request.samples, request.features


@dataclass(frozen=True)
class LibraryOrigin(Origin):
    """Data that come with another library."""

    read: Callable[[], Any]
    sha256: str

    def matrix(self, request: Request) -> tuple[Any, str]:
        A = self.read()
        digest = digest_of(A)
        if request.check and digest != self.sha256:
            raise DataDamaged(
                f"The data in the library are not the expected ones: expected sha256 {self.sha256}, found {digest}. "
                "Reinstall the library, or pass check=False to use them as they are."
            )
        return A, digest


@dataclass(frozen=True)
class Dataset:
    """A dataset: how to load it and how to cite it."""

    name: str
    summary: str
    """One line for lists."""
    shape: tuple[int, int] | None
    """Samples and features; None where any size will do."""
    source: str
    licence: str
    origin: Origin
    recipe: Callable[[Any], Any]
    """From the chosen raw rows and columns to the array that methods see."""
    drop_empty: bool = True
    """Whether columns that are zero in all chosen rows are dropped before columns are chosen."""
    notes: tuple[str, ...] = ()
    complete: int | None = None
    """The number of samples of the original, where only a part of it is public."""

    @property
    def size(self) -> str:
        """Samples and features in words."""
        return "any size" if self.shape is None else f"{self.shape[0]} x {self.shape[1]}"

    def size_error(self, what: str, wanted: int, there: int) -> Exception:
        """The error for asking too much; not a mistake of the caller where only a part of the data is public."""
        sentence = f"{self.name} has {there} {what}; given {wanted}."
        if what == "samples" and self.complete is not None and wanted <= self.complete:
            return DataUnavailable(
                f"{sentence} The original has {self.complete}, but only this part of it is public: ask for at most "
                f"{there}, or use a file of your own."
            )
        return ValueError(f"{sentence} Ask for at most {there}.")


def digest_of(A: Any) -> str:
    """The sha256 of the numbers of an array, independent of the byte order of the machine."""
    B = np.ascontiguousarray(A)
    return hashlib.sha256(B.astype(B.dtype.newbyteorder("<"), copy=False).tobytes()).hexdigest()

"""A dataset, where it comes from, and what loading gives."""

from __future__ import annotations

import abc
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orthoprox.datasets._errors import DataDamaged, DataUnavailable


@dataclass(frozen=True, eq=False)
class Data:
    """A matrix of data, samples in rows, and where it is from.

    Attributes
    ----------
    name : str
        Base, samples and features, as in ``mnist-1500-500``.
    X : array, shape (m, n)
        The prepared data in double precision; a SciPy sparse array where raw sparse data were asked for.
    source, licence : str
    notes : tuple of str
        What a user should know.
    checksum : str
        The sha256 of the file that was read (of each, where there are several), or of the numbers where there is none.
    rows, columns : array of int
        Which samples and features of the whole these are.
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
        return f"Data({self.name}: {self.X.shape[0]} samples of {self.X.shape[1]} features)"


@dataclass(frozen=True)
class Request:
    """What an origin may need to know: sizes and random numbers for one that draws, a place for one that reads."""

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


@dataclass(frozen=True)
class Drawn(Origin):
    """Random numbers, of the size that is asked for."""

    draw: Callable[[np.random.Generator, int, int], Any]

    def matrix(self, request: Request) -> tuple[Any, str]:
        if request.samples is None or request.features is None:
            raise ValueError("Random data have the size you ask for: give samples and features, as in randn-1500-500.")
        A = self.draw(request.rng, request.samples, request.features)
        return A, digest_of(A)


@dataclass(frozen=True)
class Bundled(Origin):
    """Data that another library brings along."""

    read: Callable[[], Any]
    sha256: str

    def matrix(self, request: Request) -> tuple[Any, str]:
        A = self.read()
        found = digest_of(A)
        if request.check and found != self.sha256:
            raise DataDamaged(
                f"The data inside the library are not those expected: wanted sha256 {self.sha256}, found {found}. "
                "Install the library again, or pass check=False to take them as they are."
            )
        return A, found


@dataclass(frozen=True)
class Dataset:
    """A dataset by its name, with all one has to know to load and to cite it."""

    name: str
    summary: str
    """One line for lists."""
    shape: tuple[int, int] | None
    """Samples and features; None where any size can be had."""
    source: str
    licence: str
    origin: Origin
    recipe: Callable[[Any], Any]
    """From the chosen raw rows and columns to the array that methods see."""
    drop_empty: bool = True
    """Whether columns that are zero in all chosen rows are left out before columns are chosen."""
    notes: tuple[str, ...] = ()
    complete: int | None = None
    """The samples of the original, where what can be had is a part of it."""

    @property
    def size(self) -> str:
        """Samples and features in words."""
        return "any size" if self.shape is None else f"{self.shape[0]} x {self.shape[1]}"

    def too_few(self, what: str, wanted: int, there: int) -> Exception:
        """The error for more samples or features than there are: nobody's fault where only a part can be had."""
        sentence = f"{self.name} has {there} {what}; given {wanted}."
        if what == "samples" and self.complete is not None and wanted <= self.complete:
            return DataUnavailable(
                f"{sentence} The original has {self.complete}, but only this part of it can be had here: ask for at "
                f"most {there}, or solve on a file of your own."
            )
        return ValueError(f"{sentence} Ask for at most {there}.")


def digest_of(A: Any) -> str:
    """The sha256 of the numbers of an array, whatever the order of bytes on this computer."""
    B = np.ascontiguousarray(A)
    return hashlib.sha256(B.astype(B.dtype.newbyteorder("<"), copy=False).tobytes()).hexdigest()

"""Datasets in files: in a folder that the user names, or downloaded from their public home."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from orthoprox._extras import extra
from orthoprox.datasets._base import Origin, Request
from orthoprox.datasets._errors import DataDamaged, DataUnavailable

FOLDER = "ORTHOPROX_DATA"
"""The environment variable that names a folder."""

State = Literal["ok", "damaged", "missing"]


@dataclass(frozen=True)
class File:
    """A file by its name and checksum, and where it is public."""

    name: str
    sha256: str
    url: str = ""


@dataclass(frozen=True)
class Stored(Origin):
    """A matrix in files: one of our own format, or the originals as they are published.

    Parameters
    ----------
    packed : File
        One NumPy file, for folders.
    unpack : callable
        Its reader.
    public : tuple of File
        The originals; each is downloaded by itself, or put into a folder by the user.
    read : callable
        Their reader.
    """

    packed: File
    unpack: Callable[[Path], Any]
    public: tuple[File, ...]
    read: Callable[[Sequence[Path]], Any]

    def matrix(self, request: Request) -> tuple[Any, str]:
        folder = request.folder
        if folder is None:
            paths = self.fetch()
        else:
            paths = self.found(folder)
            if not paths:
                raise DataUnavailable(self._not_in(folder))
        digests = [self._checked(path, request.check) for path in paths]
        try:
            A = self.unpack(paths[0]) if paths[0].name == self.packed.name else self.read(paths)
        except MemoryError:
            raise
        except Exception as error:  # a broken file fails in as many ways as there are formats
            raise DataDamaged(
                f"{paths[0]} cannot be read ({type(error).__name__}: {error}). Get the file anew."
            ) from error
        return A, " ".join(digests)

    def found(self, folder: Path) -> list[Path]:
        """Our file in a folder, else all of the originals, else nothing."""
        for files in ((self.packed,), self.public):
            paths = [folder / file.name for file in files]
            if all(path.is_file() for path in paths):
                return paths
        return []

    def states(self, folder: Path | None) -> list[tuple[Path, State]]:
        """Each file that would be read, and whether it is what it should be; the network is not asked."""
        place = cache() if folder is None else folder
        paths = self.found(place) or [place / file.name for file in (self.public if folder is None else (self.packed,))]
        return [(path, self._state(path)) for path in paths]

    def fetch(self, folder: Path | None = None) -> list[Path]:
        """The originals in the cache, or in a folder; those that are not there, or are damaged, are downloaded."""
        place = cache() if folder is None else folder
        return [_download(file, place) for file in self.public]

    def _not_in(self, folder: Path) -> str:
        originals = " and ".join(file.name for file in self.public)
        return (
            f"{folder} {'has' if folder.is_dir() else 'is no folder, so it has'} neither {self.packed.name} nor "
            f"{originals}. Put one there, name another folder (folder=, --data-dir or {FOLDER}), or none to download."
        )

    def _state(self, path: Path) -> State:
        if not path.is_file():
            return "missing"
        return "ok" if _digest(path) == self._expected(path) else "damaged"

    def _expected(self, path: Path) -> str:
        return next(file.sha256 for file in (self.packed, *self.public) if file.name == path.name)

    def _checked(self, path: Path, check: bool) -> str:
        found, wanted = _digest(path), self._expected(path)
        if check and found != wanted:
            raise DataDamaged(
                f"{path} is damaged or another file: wanted sha256 {wanted}, found {found}. "
                "Get the file anew, or pass check=False to read it as it is."
            )
        return found


def cache() -> Path:
    """Where downloads are kept."""
    return Path(extra("pooch", "data", "Downloading data").os_cache("orthoprox"))


def _download(file: File, place: Path) -> Path:
    """The file in its place; pooch writes it under another name first and moves it when its checksum is right."""
    pooch = extra("pooch", "data", "Downloading data")
    instead = f"Or put {file.name} into a folder by hand and name that (folder=, --data-dir or {FOLDER})."
    # the files are small, and an answer that is read at once leaves no connection open when it is an error
    by = pooch.HTTPDownloader(stream=False, timeout=30)
    try:
        known = f"sha256:{file.sha256}"
        return Path(pooch.retrieve(file.url, known_hash=known, fname=file.name, path=place, downloader=by))
    except ValueError as error:
        raise DataDamaged(
            f"What {file.url} sent is damaged or another file ({_line(error)}); nothing was kept. Try again. {instead}"
        ) from error
    except OSError as error:  # of the network (requests derives its own from it) or of the disk
        raise DataUnavailable(
            f"{file.url} could not be downloaded to {place} ({_line(error)}). Try again with a network. {instead}"
        ) from error


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataUnavailable(f"{path} cannot be read ({_line(error)}).") from error


def _line(error: Exception) -> str:
    """The words of an error in one line of bearable length."""
    words = " ".join(str(error).split()) or type(error).__name__
    return words if len(words) <= 200 else words[:197] + "..."

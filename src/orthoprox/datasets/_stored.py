"""Datasets in files: in a folder of the user's, or downloaded from their public home."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from orthoprox._extras import extra
from orthoprox.datasets._base import Origin, Request
from orthoprox.datasets._errors import DataDamaged, DataUnavailable

FOLDER = "ORTHOPROX_DATA"
"""The environment variable that names a folder."""

UNSAFE = (".mat",)
"""Files that are read only with the known checksum: SciPy's reader crashes on some damaged ones."""

State = Literal["ok", "damaged", "missing"]


@dataclass(frozen=True)
class File:
    """A file by its name and checksum, and where it is public."""

    name: str
    sha256: str
    url: str = ""


@dataclass(frozen=True)
class FileOrigin(Origin):
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
        paths = self.fetch() if request.folder is None else self._locate_in(request.folder)
        digests = [self._verify(path, request.check) for path in paths]
        try:
            A = self.unpack(paths[0]) if paths[0].name == self.packed.name else self.read(paths)
        except MemoryError:
            raise
        except Exception as error:  # every format has its own errors for broken files
            raise DataDamaged(
                f"{paths[0]} cannot be read ({type(error).__name__}: {error}). Download the file again."
            ) from error
        return A, " ".join(digests)

    def locate(self, request: Request) -> None:
        if request.folder is not None:
            self._locate_in(request.folder)
        elif not self.find(cache()):
            self.fetch()

    def _locate_in(self, folder: Path) -> list[Path]:
        paths = self.find(folder)
        if not paths:
            raise DataUnavailable(self._missing_message(folder))
        return paths

    def find(self, folder: Path) -> list[Path]:
        """Our packed file in a folder, else all of the originals, else nothing."""
        for files in ((self.packed,), self.public):
            paths = [folder / file.name for file in files]
            if all(path.is_file() for path in paths):
                return paths
        return []

    def states(self, folder: Path | None) -> list[tuple[Path, State]]:
        """Each file that would be read, and its state, without using the network."""
        place = cache() if folder is None else folder
        paths = self.find(place) or [place / file.name for file in (self.public if folder is None else (self.packed,))]
        return [(path, self._state(path)) for path in paths]

    def fetch(self, folder: Path | None = None) -> list[Path]:
        """Download the originals that are missing or damaged, into the cache or a folder; return their paths."""
        place = cache() if folder is None else folder
        paths = [(file, place / file.name) for file in self.public]
        return [path if self._state(path) == "ok" else _download(file, place) for file, path in paths]

    def _missing_message(self, folder: Path) -> str:
        originals = " and ".join(file.name for file in self.public)
        return (
            f"{folder} {'has' if folder.is_dir() else 'is not a folder, so it has'} neither {self.packed.name} nor "
            f"{originals}. Put one there, name another folder (folder=, --data-dir or {FOLDER}), or none to download."
        )

    def _state(self, path: Path) -> State:
        if not path.is_file():
            return "missing"
        return "ok" if _digest(path) == self._known_digest(path) else "damaged"

    def _known_digest(self, path: Path) -> str:
        return next(file.sha256 for file in (self.packed, *self.public) if file.name == path.name)

    def _verify(self, path: Path, check: bool) -> str:
        digest, wanted = _digest(path), self._known_digest(path)
        always = path.suffix in UNSAFE
        if digest != wanted and (check or always):
            instead = "." if always else ", or pass check=False to read it as it is."
            raise DataDamaged(
                f"{path} is damaged or a different file: expected sha256 {wanted}, found {digest}. "
                f"Download it again{instead}"
            )
        return digest


def cache() -> Path:
    """The folder of downloads, where this system keeps caches."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(local) / "orthoprox" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "orthoprox"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orthoprox"


def _download(file: File, place: Path) -> Path:
    """Download a file; pooch writes it under another name and moves it when its checksum is right."""
    pooch = extra("pooch", "data", "Downloading data")
    instead = f"Or put {file.name} into a folder and name that folder (folder=, --data-dir or {FOLDER})."
    # small files: reading them at once leaves no connection open after an error
    by = pooch.HTTPDownloader(stream=False, timeout=30)
    try:
        known = f"sha256:{file.sha256}"
        return Path(pooch.retrieve(file.url, known_hash=known, fname=file.name, path=place, downloader=by))
    except ValueError as error:
        raise DataDamaged(
            f"The download from {file.url} is damaged or a different file ({_line(error)}). Try again. {instead}"
        ) from error
    except OSError as error:  # from the network (requests derives its errors from it) or the disk
        raise DataUnavailable(
            f"{file.url} could not be downloaded to {place} ({_line(error)}). Check the network. {instead}"
        ) from error


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataUnavailable(f"{path} cannot be read ({_line(error)}).") from error


def _line(error: Exception) -> str:
    """The message of an error in one short line."""
    words = " ".join(str(error).split()) or type(error).__name__
    return words if len(words) <= 200 else words[:197] + "..."

"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO


class WriteFailed(OSError):
    """A file could not be written: the disk is full, or the folder refuses it."""


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes the place of ``path`` in one move, when the block ends without an error.

    It is written under another name beside the old one and is on the disk before it is renamed. After an error the
    old file is there as it was, and nothing else.

    Raises
    ------
    WriteFailed
        For every ``OSError`` in the block and after it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
    >>> with replacing(file) as new:
    ...     _ = new.write(b"whole")
    >>> file.read_bytes(), [entry.name for entry in file.parent.iterdir()]
    (b'whole', ['a.txt'])
    """
    path = Path(path)
    side = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        with side.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(side, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            side.unlink()
        if isinstance(error, OSError):
            raise write_failed(path, error) from error
        raise


def write_text(path: Path, text: str) -> Path:
    """Write a text in one move and return its path; what UTF-8 cannot write, a file name of other bytes, is escaped."""
    with replacing(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
    return path


def write_failed(path: Path, error: OSError) -> WriteFailed:
    """The sentence for a file or folder that cannot be written."""
    return WriteFailed(
        f"{path} could not be written ({error.strerror or error}). Free some space, or choose another folder."
    )

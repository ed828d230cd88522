"""Files that are written whole or not at all: under another name first, then moved into place."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

if sys.platform != "win32":
    import fcntl


class WriteFailed(OSError):
    """A file could not be written: the disk is full, or the folder refuses it."""


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes the place of ``path`` in one move, when the block ends without an error.

    Until then the bytes are in ``NAME.xxxxxxxx.part`` beside it. After an error the old file is there as it was, and
    nothing else. A side file outlives only a process that was killed, and the next write of the same path removes it.

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
    side: Path | None = None
    try:
        _remove_leftovers(path)
        side, file = _open_beside(path)
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if sys.platform == "win32":  # where an open file cannot be moved
                file.close()
            os.replace(side, path)
    except BaseException as error:
        if side is not None:
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


def _open_beside(path: Path) -> tuple[Path, IO[bytes]]:
    """Create the file to write first, and hold it so that no other process takes it for a leftover."""
    while True:
        side = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
        file = side.open("xb")
        if _hold(file) and side.exists():
            return side, file
        file.close()  # another process was quicker, and took it for a leftover


def _remove_leftovers(path: Path) -> None:
    """Remove what killed processes have left of this file: what nobody holds any more."""
    pattern = re.compile(re.escape(path.name) + r"\.[0-9a-f]{8}\.part")
    for side in path.parent.iterdir():
        if pattern.fullmatch(side.name):
            with contextlib.suppress(OSError), side.open("rb") as file:
                if sys.platform == "win32":  # where an open file cannot be removed, neither by its writer nor here
                    file.close()
                if _hold(file):
                    side.unlink()


def _hold(file: IO[bytes]) -> bool:
    """Lock a file until it is closed or the process ends; False if another process holds it."""
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return True
    return True

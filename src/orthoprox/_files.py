"""Files that are always whole: written under another name first, then moved into place."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

if sys.platform != "win32":
    import fcntl


def write_whole(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file in one move: whatever stops the process, it stays the old one or becomes the new one.

    Until then the bytes are in ``NAME.xxxxxxxx.part`` beside it. Such a file outlives only a process that was
    killed, and the next write of the same path removes it.
    """
    _remove_leftovers(path)
    side, file = _open_beside(path)
    try:
        with file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
            if sys.platform == "win32":  # where an open file cannot be moved
                file.close()
            os.replace(side, path)
    except BaseException:
        side.unlink(missing_ok=True)
        raise


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

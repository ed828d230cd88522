"""The command ``orthoprox``."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import Any, NoReturn

from orthoprox._extras import extra

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""


def main() -> None:
    """Run the command; without click, say which extra installs it."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # a command in the background ignores Ctrl-C
    if ours:  # nothing is lost before the command begins, and half-imported libraries turn Ctrl-C into errors of theirs
        signal.signal(signal.SIGINT, _leave)
    try:
        extra("click", "cli", "The command line")
    except ModuleNotFoundError as error:
        sys.exit(str(error))
    from orthoprox.cli.main import command

    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        command(prog_name="orthoprox")
    finally:
        if ours:  # the work is done and its exit code stands
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        _drop_unwritten()


def _leave(*_: Any) -> NoReturn:
    with contextlib.suppress(OSError):
        os.write(2, b"Interrupted.\n")
    os._exit(INTERRUPTED)


def _drop_unwritten() -> None:
    """Forget output that cannot be written: its error is reported, and Python would try again and say so itself."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


__all__ = ["main"]

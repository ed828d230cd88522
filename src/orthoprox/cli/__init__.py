"""The command ``orthoprox``."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, NoReturn

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""
ENOUGH = {"fit": "fit", "demo": "demo"}
"""The extra that brings all a command needs, where that is more than click; so nobody installs twice."""


def main() -> None:
    """Run the command; without click, say which extra installs it."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # a command in the background ignores Ctrl-C
    if ours:  # nothing is lost before the command begins, and half-imported libraries turn Ctrl-C into errors of theirs
        signal.signal(signal.SIGINT, _leave)
    from orthoprox._extras import extra

    try:
        extra("click", ENOUGH.get(next(iter(sys.argv[1:]), ""), "cli"), "The command line")
    except ModuleNotFoundError as error:
        sys.exit(str(error))
    from orthoprox.cli.main import command

    try:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        command(prog_name="orthoprox")
    except KeyboardInterrupt:  # before the command could take it
        _leave()
    finally:
        if ours:  # the work is done and its exit code stands
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _leave(*_: Any) -> NoReturn:
    try:
        os.write(2, b"Interrupted.\n")
    finally:
        os._exit(INTERRUPTED)


__all__ = ["main"]

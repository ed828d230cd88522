"""The command ``orthoprox``."""

from __future__ import annotations

import sys

from orthoprox._extras import extra


def main() -> None:
    """Run the command; without click, say which extra installs it."""
    try:
        extra("click", "cli", "The command line")
    except ModuleNotFoundError as error:
        sys.exit(str(error))
    from orthoprox.cli.main import command

    command(prog_name="orthoprox")


__all__ = ["main"]

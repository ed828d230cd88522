"""Errors become a sentence on standard error and an exit code for scripts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from orthoprox import RunFailed
from orthoprox._files import WriteFailed
from orthoprox.blocks import BlockUnreadable, DataLost
from orthoprox.cli import INTERRUPTED
from orthoprox.datasets import DataUnavailable

FAILED, USAGE, UNAVAILABLE, UNWRITTEN = 1, 2, 3, 4

EXIT_CODES = f"""Exit codes: 0 converged, or the budget was used up; {FAILED} a run failed; {USAGE} a mistake in the
call or in the values of the data; {UNAVAILABLE} data not available or not readable; {UNWRITTEN} results could not be
written; {INTERRUPTED} interrupted by Ctrl-C."""
"""For the help of commands."""


class CommandError(click.ClickException):
    """An error message with an exit code."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.exit_code = code  # type: ignore[misc]  # click reads it from the instance


class Commands(click.Group):
    """A group of commands whose errors are all reported alike."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with report_errors():  # --help and --version are answered here
            return super().make_context(*args, **kwargs)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Say what is missing where the first word is a file."""
        word = args[0]
        if word not in self.commands and Path(word).is_file():
            ctx.fail(f"Name a command before the table, as in: orthoprox fit sparse-pca {word}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with report_errors():
            return super().invoke(ctx)


@contextmanager
def report_errors() -> Iterator[None]:
    """Turn the errors of the library into messages; anything else is a bug and keeps its traceback."""
    try:
        yield
    except BrokenPipeError:
        raise  # the reader has gone; click ends quietly
    except KeyboardInterrupt:
        raise CommandError("Interrupted.", INTERRUPTED) from None
    except (DataUnavailable, BlockUnreadable, FileNotFoundError) as error:
        raise CommandError(str(error), UNAVAILABLE) from None
    except (RunFailed, DataLost, ModuleNotFoundError) as error:
        raise CommandError(str(error), FAILED) from None
    except MemoryError as error:
        raise CommandError(
            f"The memory is not enough for this ({error or 'no more can be had'}). Ask for fewer samples, features or "
            "components.",
            FAILED,
        ) from None
    except WriteFailed as error:
        raise CommandError(str(error), UNWRITTEN) from None
    except OSError as error:  # data that cannot be read are DataUnavailable
        raise CommandError(f"The results could not be written ({error}). Free some space.", UNWRITTEN) from None
    except (ValueError, TypeError) as error:
        raise CommandError(str(error), USAGE) from None

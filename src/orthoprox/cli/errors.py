"""Errors become a sentence on standard error and an exit code for scripts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from orthoprox import RunFailed
from orthoprox.datasets import DataUnavailable

FAILED, USAGE, UNAVAILABLE = 1, 2, 3

EXIT_CODES = """Exit codes: 0 converged, or the budget was used up; 1 the run failed or was interrupted;
2 a mistake in the call or in the values of the data; 3 data not available or not readable."""
"""For the help of commands."""


class CommandError(click.ClickException):
    """An error message with an exit code."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.exit_code = code  # type: ignore[misc]  # click reads it from the instance


@contextmanager
def report_errors() -> Iterator[None]:
    """Turn the errors of the library into messages; anything else is a bug and keeps its traceback."""
    try:
        yield
    except BrokenPipeError:
        raise  # the reader has gone; click ends quietly
    except DataUnavailable as error:
        raise CommandError(str(error), UNAVAILABLE) from None
    except (RunFailed, ModuleNotFoundError) as error:
        raise CommandError(str(error), FAILED) from None
    except (ValueError, TypeError, OSError) as error:
        raise CommandError(str(error), USAGE) from None

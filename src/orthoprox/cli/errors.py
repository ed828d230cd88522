"""What becomes of errors: a sentence on standard error, and an exit code that scripts can use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from orthoprox import RunFailed
from orthoprox.datasets import DataUnavailable

FAILED, USAGE, UNAVAILABLE = 1, 2, 3

EXIT_CODES = """Exit codes: 0 converged, or the budget was used as asked; 1 the run failed or was interrupted;
2 a mistake in the call or in the values of the data; 3 data not available or not readable."""
"""For the help of commands."""


class Told(click.ClickException):
    """A sentence with an exit code."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.exit_code = code  # type: ignore[misc]  # click reads it from the instance


@contextmanager
def told() -> Iterator[None]:
    """Turn the errors of the library into sentences; everything else is a fault of ours and keeps its traceback."""
    try:
        yield
    except BrokenPipeError:
        raise  # nobody reads any more; click ends quietly
    except DataUnavailable as error:
        raise Told(str(error), UNAVAILABLE) from None
    except (RunFailed, ModuleNotFoundError) as error:
        raise Told(str(error), FAILED) from None
    except (ValueError, TypeError, OSError) as error:
        raise Told(str(error), USAGE) from None

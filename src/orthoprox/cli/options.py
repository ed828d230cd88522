"""The types and options that commands share."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import click

from orthoprox._files import write_failed

MOST_SEEDS = 10_000


class Number(click.FloatRange):
    """A finite number in a range; click's own takes NaN for one."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


COUNT = click.IntRange(min=1)
SEEDS = click.IntRange(min=1, max=MOST_SEEDS)
NOT_NEGATIVE = Number(min=0)
POSITIVE = Number(min=0, min_open=True)
FOLDER = click.Path(file_okay=False, path_type=Path)


def check_writable(out: Path) -> None:
    """Create the folder, and check before a long run that it can be written to."""
    probe = out / f".probe-{os.getpid()}"
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise write_failed(out, error) from None

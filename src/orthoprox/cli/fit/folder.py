"""A folder of results that is there complete or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

from orthoprox._files import write_failed

FILES = (
    "loadings.csv",
    "scores.csv",
    "mixing.csv",
    "summary.json",
    "report.html",
    "loadings.png",
    "biplot.png",
    "path.png",
)
"""All that a fit writes: a folder with anything else is never replaced."""
PASSERS_BY = (".DS_Store", "Thumbs.db", "desktop.ini")
"""What file managers leave in a folder that somebody has looked at."""
Writer = Callable[[IO[bytes]], object]


def check_folder(out: Path, *, overwrite: bool) -> None:
    """Refuse, before a long fit, a folder that must not be replaced or cannot be made."""
    above = next(path for path in (out.absolute(), *out.absolute().parents) if os.path.lexists(path))
    if not above.is_dir():
        which = f"is in {above.name}, which is" if above != out.absolute() else "is"
        raise ValueError(f"--out {out} {which} a file; name a folder.")
    if out.is_dir() and (there := sorted({entry.name for entry in out.iterdir()}.difference(PASSERS_BY))):
        foreign = [name for name in there if name not in FILES]
        if foreign:
            raise ValueError(
                f"--out {out} holds other files ({foreign[0]}), which a fit does not touch; name a folder of its own."
            )
        if not overwrite:
            raise ValueError(f"--out {out} holds the results of an earlier fit. Name another folder, or --overwrite.")
    place = above if above != out.absolute() else above.parent
    probe = place / f".probe-{os.getpid()}"
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        raise write_failed(out, error) from None


def write_folder(out: Path, parts: Mapping[str, Writer]) -> list[Path]:
    """Write all files into a folder beside, then move it into place; after an error all is as it was."""
    out = Path(os.path.realpath(out)) if out.is_symlink() else out
    try:
        with _parents(out), _beside(out) as new:
            for name, write in parts.items():
                with (new / name).open("wb") as file:
                    write(file)
                    file.flush()
                    os.fsync(file.fileno())
            _move(new, out)
    except OSError as error:
        raise write_failed(out, error) from error
    return [out / name for name in parts]


@contextlib.contextmanager
def _parents(out: Path) -> Iterator[None]:
    """Make the folders above, and remove them again after an error."""
    made = [folder for folder in out.absolute().parents if not folder.exists()]
    try:
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


@contextlib.contextmanager
def _beside(out: Path) -> Iterator[Path]:
    """A new folder beside the one that is wanted; gone after the block, unless it was moved."""
    new = out.absolute().with_name(f".{out.absolute().name}.{secrets.token_hex(4)}.part")
    new.mkdir()
    try:
        yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _move(new: Path, out: Path) -> None:
    """Put a folder into its place; an earlier one goes only when the new one is there."""
    if not out.exists():
        new.rename(out)
        return
    old = new.with_suffix(".old")
    out.rename(old)
    try:
        new.rename(out)
    except BaseException:
        old.rename(out)
        raise
    shutil.rmtree(old, ignore_errors=True)

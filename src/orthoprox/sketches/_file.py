"""Sketches on disk: a NumPy archive without pickled objects, with a digest, replaced in one move."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from orthoprox._files import replacing
from orthoprox.driver._fingerprint import digest
from orthoprox.driver._interrupts import Interrupts
from orthoprox.sketches._moments import Moments

if TYPE_CHECKING:
    from orthoprox.sketches._base import CovarianceSketch

FORMAT = 1


def save(path: str | os.PathLike[str], sketch: CovarianceSketch) -> None:
    """Write a sketch to a file that is whole or not there."""
    arrays, numbers = {}, {"format": FORMAT, "kind": sketch.kind}
    for owner in (sketch.moments, sketch):
        for field in fields(owner):  # type: ignore[arg-type]
            value = getattr(owner, field.name)
            if isinstance(value, np.ndarray):
                arrays[field.name] = value
            elif not isinstance(value, Moments):
                numbers[field.name] = value
    entries: dict[str, Any] = {**arrays, "meta": np.array(json.dumps(numbers))}
    entries["digest"] = np.array(digest(entries))
    with Interrupts() as interrupts, replacing(path) as file:
        np.savez(file, **entries)
    if interrupts.came:
        raise KeyboardInterrupt


def load_sketch(path: str | os.PathLike[str]) -> CovarianceSketch:
    """Read a sketch; refuse any other file and a damaged one in a sentence.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np
    >>> from orthoprox.sketches import load_sketch, new_sketch
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "covariance.npz"
    >>> new_sketch(3).update(np.eye(3)).save(file)
    >>> load_sketch(file)
    ExactCovariance(3 features, 3 samples, half_life=None)
    """
    name = os.fspath(path)
    try:
        with warnings.catch_warnings(), open(path, "rb") as opened:
            warnings.simplefilter("error")  # NumPy warns of headers that it never writes
            with np.load(opened, allow_pickle=False) as file:
                content = {entry: file[entry] for entry in file.files}
        intact = str(content.pop("digest", "")) == digest(content)
        meta = json.loads(str(content.pop("meta")))
        if not intact:
            raise ValueError("it was changed after it was written")
        return _rebuild(meta, content)
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no sketch at {name}.") from None
    except Exception as error:  # zip files and headers can be damaged in ways that raise almost anything
        raise ValueError(f"{name} is not a sketch, or is damaged ({error}).") from None


def _rebuild(meta: dict[str, Any], arrays: dict[str, Any]) -> CovarianceSketch:
    """The sketch of which a file holds the numbers."""
    from orthoprox.sketches.exact import ExactCovariance
    from orthoprox.sketches.frequent import FrequentDirections

    if meta.pop("format") != FORMAT:
        raise ValueError(f"it has another format than this version reads, {FORMAT}")
    kind = {sketch.kind: sketch for sketch in (ExactCovariance, FrequentDirections)}[meta.pop("kind")]
    given = {**meta, **arrays}
    moments = Moments(**{field.name: given.pop(field.name) for field in fields(Moments)})
    n = moments.n
    shapes = {"scatter": (n, n), "spread": (n,), "high": (n,), "low": (n,)}
    for name, array in arrays.items():
        fits = array.shape[-1:] == (n,) and array.shape == shapes.get(name, array.shape)
        if not (fits and np.all(np.isfinite(array)) and array.dtype == (np.int32 if name == "powers" else np.float64)):
            raise ValueError(f"its {name} has the wrong shape or kind")
    return kind(moments, **given)

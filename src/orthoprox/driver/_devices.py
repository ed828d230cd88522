"""Where runs that go together are worked on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import device as device_of

from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of, devices
from orthoprox.problem import Problem


class Mover:
    """Moves arrays to where the work is done and back.

    Parameters
    ----------
    place : callable
        Takes a NumPy array there.
    home : array
        Of the library, device and float type that results are to have.
    """

    def __init__(self, place: Callable[[np.ndarray[Any, Any]], Array], home: Array) -> None:
        self._place, self.home = place, home

    def __call__(self, a: Any) -> Array:
        """There; what is no array of NumPy's is there already."""
        return self._place(a) if isinstance(a, np.ndarray) else a

    def back(self, a: Array) -> Array:
        """In the library of the problems."""
        if array_namespace(self.home) is array_namespace(a):
            return a
        return backend_of(self.home).from_numpy(backend_of(a).to_numpy(a), self.home)


def mover(problem: Problem, device: str | None) -> Mover | None:
    """To the device that was asked for; where none was, nothing moves, and None for a library without stacks."""
    like = problem.like
    if device is None:
        xp, place = array_namespace(like), device_of(like)
        known = backend_of(like).vmap(len, (0,)) is not None
        return Mover(lambda a: xp.asarray(a, device=place), like) if known else None
    if not isinstance(like, np.ndarray):
        raise ValueError(
            f"device moves problems from NumPy; these are in {backend_of(like).name}, so they stay where they are. "
            "Leave device out."
        )
    return Mover(devices.mover(device, "torch"), like)

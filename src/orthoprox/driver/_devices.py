"""Where runs that go together are worked on."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoprox._extras import extra
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.problem import Problem


class Mover:
    """Moves arrays to where the work is done and back.

    Parameters
    ----------
    like : array
        Of the library, device and float type that the work is done in.
    home : array
        Of those that results are to have.
    """

    def __init__(self, like: Array, home: Array) -> None:
        self.like, self.home = like, home

    def __call__(self, a: Any) -> Array:
        """There; numbers in the double precision they have."""
        if isinstance(a, np.ndarray):
            return array_namespace(self.like).asarray(a, device=self.like.device)
        return a

    def back(self, a: Array) -> Array:
        """In the library of the problems."""
        if array_namespace(self.home) is array_namespace(a):
            return a
        return backend_of(self.home).from_numpy(backend_of(a).to_numpy(a), self.home)


def mover(problem: Problem, device: str | None) -> Mover | None:
    """To the device that was asked for; where none was, there is no move, and None for a library without stacks."""
    like = problem.like
    if device is None:
        return Mover(like, like) if backend_of(like).vmap(len, (0,)) is not None else None
    if not isinstance(like, np.ndarray):
        raise ValueError(
            f"device moves problems from NumPy; these are in {backend_of(like).name}, so they stay where they are. "
            "Leave device out."
        )
    torch = extra("torch", "torch", f"device={device!r}")
    return Mover(torch.empty((0, 0), dtype=getattr(torch, like.dtype.name), device=check_device(torch, device)), like)


def check_device(torch: Any, device: str) -> Any:
    """PyTorch's device of this name; a sentence where there is none."""
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        raise ValueError(f"A device is called 'cpu', 'cuda' or 'cuda:0'; given {device!r}.") from None
    if found.type == "cuda" and not torch.cuda.is_available():
        build = "has no CUDA: install one that has" if torch.version.cuda is None else "finds no GPU and driver here"
        raise RuntimeError(f"device={device!r} needs a GPU; this PyTorch ({torch.__version__}) {build}.")
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        raise RuntimeError(f"There are {torch.cuda.device_count()} GPUs here; given device={device!r}.")
    return found

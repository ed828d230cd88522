"""JAX: compilation, compiled loops, and how JAX sees our dataclasses.

In a problem, arrays are traced and everything else is part of the program: changing data does not
compile again, changing a weight does. In a state numbers are traced as well, so that an iteration
counter does not compile anew every time it moves.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np

from orthoprox._fields import parts
from orthoprox._types import Array
from orthoprox.backends._base import Backend

V = TypeVar("V")


class JAXBackend(Backend):
    """Arrays of JAX; a step is compiled once for each shape of problem."""

    name = "jax"

    def compile(self, step: Callable[..., V], problem: Any) -> Callable[..., V]:
        if not all(_known(part) for part in parts(problem)):
            return step
        _register(problem)
        compiled = jax.jit(step)

        def run(problem: Any, state: Any) -> V:
            _register(state)
            return compiled(problem, state)

        return run

    def while_loop(self, keep_going: Callable[[V], Any], body: Callable[[V], V], value: V) -> V:
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(value)):
            result: V = jax.lax.while_loop(keep_going, body, value)
            return result
        return super().while_loop(keep_going, body, value)

    def cond(self, test: Any, yes: Callable[..., V], no: Callable[..., V], *args: Any) -> V:
        if isinstance(test, jax.core.Tracer):
            result: V = jax.lax.cond(test, yes, no, *args)
            return result
        return super().cond(test, yes, no, *args)

    def top_k_mask(self, values: Array, k: int) -> Array:
        flat = values.reshape(-1)
        _, chosen = jax.lax.top_k(flat, min(max(k, 0), flat.size))  # the lower index wins a tie
        return jax.numpy.zeros(flat.shape, dtype=bool).at[chosen].set(True).reshape(values.shape)

    def from_numpy(self, a: np.ndarray[Any, Any], like: Array) -> Array:
        return jax.device_put(jax.numpy.asarray(a, dtype=like.dtype), like.sharding)

    def finish(self, a: Array) -> None:
        jax.block_until_ready(a)


def _known(part: Any) -> bool:
    """Whether a leaf can be traced, or can be a constant of the program."""
    return part is None or callable(part) or isinstance(part, (jax.Array, bool, int, float, str))


def _traced(value: Any, in_state: bool) -> bool:
    if isinstance(value, tuple):
        return any(_traced(item, in_state) for item in value)
    if dataclasses.is_dataclass(value) or isinstance(value, jax.Array):
        return True
    return in_state and isinstance(value, (int, float))


def _register(obj: Any) -> None:
    """Tell JAX about the class of an object and of everything below it."""
    if isinstance(obj, tuple):
        for item in obj:
            _register(item)
    if not dataclasses.is_dataclass(obj) or isinstance(obj, type):
        return
    names = [field.name for field in dataclasses.fields(obj)]
    for name in names:
        _register(getattr(obj, name))
    cls, in_state = type(obj), "t" in names
    if cls in _registered:
        return

    def flatten(instance: Any) -> tuple[tuple[Any, ...], Any]:
        values = {name: getattr(instance, name) for name in names}
        moving = tuple(name for name in names if _traced(values[name], in_state))
        fixed = tuple((name, values[name]) for name in names if name not in moving)
        return tuple(values[name] for name in moving), (moving, fixed)

    def unflatten(aux: Any, children: tuple[Any, ...]) -> Any:
        moving, fixed = aux
        instance = object.__new__(cls)
        for name, value in (*zip(moving, children, strict=True), *fixed):
            object.__setattr__(instance, name, value)
        return instance

    jax.tree_util.register_pytree_node(cls, flatten, unflatten)
    _registered.add(cls)


_registered: set[type] = set()
JAX = JAXBackend()

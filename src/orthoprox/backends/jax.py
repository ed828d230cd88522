"""JAX: compilation, compiled loops, and how JAX sees our dataclasses.

In a problem, arrays are traced and everything else is part of the program, so that code may ask about
weights and norms. A step is therefore compiled once for each problem and method, and kept for as long as
the problem lives: solving it again from elsewhere compiles nothing, other data or another weight do.
In a state numbers are traced as well, so that an iteration counter does not compile anew when it moves.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import jax
import numpy as np

from orthoprox._fields import parts
from orthoprox._types import Array
from orthoprox.backends._base import Backend

V = TypeVar("V")

_UNTRACEABLE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)


class JAXBackend(Backend):
    """Arrays of JAX; a step is compiled once for each problem and method."""

    name = "jax"

    def compile(self, step: Callable[..., V], problem: Any) -> Callable[..., V]:
        if not all(_is_known(part) for part in parts(problem)):
            return step
        _register(problem, in_state=False)
        known = _compiled.setdefault(problem, {})
        # Two solvers with equal settings take the same step.
        key = (getattr(step, "__func__", step), getattr(step, "__self__", None))
        if not isinstance(key[1], Hashable):
            return _compile(step)
        if key not in known:
            known[key] = _compile(step)
        return known[key]

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

    def to_numpy(self, a: Array) -> np.ndarray[Any, Any]:
        return np.array(a)

    def from_numpy(self, a: np.ndarray[Any, Any], like: Array) -> Array:
        return jax.device_put(jax.numpy.asarray(a, dtype=like.dtype), like.sharding)

    def finish(self, a: Array) -> None:
        jax.block_until_ready(a)


def _compile(step: Callable[..., V]) -> Callable[..., V]:
    """Compile a step; if JAX cannot trace it, run it uncompiled from then on."""
    chosen: list[Callable[..., V]] = [jax.jit(step)]

    def run(problem: Any, state: Any) -> V:
        _register(state, in_state=True)
        try:
            return chosen[0](problem, state)
        except _UNTRACEABLE as error:
            # Most likely a user's function that calls NumPy, or asks "if" of a number that is not there yet.
            warnings.warn(
                "JAX cannot compile this problem, so its steps run uncompiled and slower. Functions of your own must "
                f"keep to operations of JAX to be compiled: {str(error).splitlines()[0]}",
                RuntimeWarning,
                stacklevel=2,
            )
            chosen[0] = step
            return step(problem, state)

    return run


def _is_known(part: Any) -> bool:
    """Whether a leaf can be traced, or can be a constant of the program."""
    if hasattr(part, "matmat"):  # SciPy's operators are callable, and work on the host
        return False
    return part is None or callable(part) or isinstance(part, (*_ARRAYS, bool, int, float, str))


def _is_traced(value: Any, in_state: bool) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_is_traced(item, in_state) for item in value)
    if dataclasses.is_dataclass(value) or isinstance(value, _ARRAYS):
        return True
    return in_state and isinstance(value, (int, float))


def _register(obj: Any, *, in_state: bool) -> None:
    """Tell JAX about the class of an object and of everything below it."""
    if isinstance(obj, (tuple, list)):
        for item in obj:
            _register(item, in_state=in_state)
    if not dataclasses.is_dataclass(obj) or isinstance(obj, type):
        return
    names = [field.name for field in dataclasses.fields(obj)]
    for name in names:
        _register(getattr(obj, name), in_state=in_state)
    cls = type(obj)
    if cls in _registered:
        return

    def flatten(instance: Any) -> tuple[tuple[Any, ...], Any]:
        values = {name: getattr(instance, name) for name in names}
        moving = tuple(name for name in names if _is_traced(values[name], in_state))
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


_ARRAYS = (jax.Array, np.ndarray)
_registered: set[type] = set()
_compiled: WeakKeyDictionary[Any, dict[Any, Callable[..., Any]]] = WeakKeyDictionary()
JAX = JAXBackend()

"""JAX: compilation, compiled loops, and how JAX sees our dataclasses.

In a problem, arrays are traced and everything else is part of the program, so that code may ask about
weights and norms. A step is therefore compiled once for each problem and method, and kept for as long as
the problem lives: solving it again from elsewhere compiles nothing, other data or another weight do.
In a state numbers are traced as well, so that an iteration counter does not compile anew when it moves.
"""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import jax
import numpy as np

from orthoprox._deadline import is_limited, is_over
from orthoprox._fields import parts
from orthoprox._types import Array
from orthoprox.backends._base import Backend
from orthoprox.backends._compiling import add_compile_seconds, compiling
from orthoprox.backends._speculation import LOOPS, MOST_EFFORT, speculate, speculation

V = TypeVar("V")

BLOCK = 32
"""Steps in a compiled loop, at most: as many as are between two looks at the clock."""
SPECULATIVE = {"gpu", "tpu", "cuda", "rocm"}
"""Where loops have no branches."""
ENOUGH = 64
"""Steps by hand before they are compiled, which takes about as long: some problems live for a few steps only."""
FEW = 3
"""The same for measurements."""
COMPILES = ("/jax/core/compile/jaxpr_to_mlir_module_duration", "/jax/core/compile/backend_compile_duration")
"""What JAX reports of every operation that it compiles, also of those that are called by hand."""

_UNTRACEABLE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)


class JAXBackend(Backend):
    """Arrays of JAX; a step is compiled once for each problem and method."""

    name = "jax"

    def is_asynchronous(self, a: Array) -> bool:
        return True

    def vmap(self, function: Callable[..., Any], axes: tuple[Any, ...]) -> Callable[..., Any]:
        found: Callable[..., Any] = jax.vmap(function, in_axes=axes)
        return found

    def number(self, value: float, like: Array) -> Array:
        return jax.numpy.asarray(value, dtype=bool if isinstance(value, bool) else like.dtype)

    def repeat(self, step: Callable[[Any, V], V], problem: Any, state: V, count: int) -> V:
        program = self._compiled(step, problem, Program) if speculation() is None else None
        return super().repeat(step, problem, state, count) if program is None else program.run(problem, state, count)

    def evaluate(self, function: Callable[[Any, Any], tuple[Any, ...]], problem: Any, state: Any) -> list[float]:
        program = self._compiled(function, problem, Numbers)
        return super().evaluate(function, problem, state) if program is None else program.run(problem, state)

    def _compiled(self, function: Callable[..., Any], problem: Any, kind: Callable[..., Any]) -> Any:
        """The compiled function, kept as long as the problem lives; None where the problem cannot be compiled."""
        if not all(_is_known(part) for part in parts(problem)):
            return None
        _register(problem, in_state=False)
        known = _compiled.setdefault(problem, {})
        # Two solvers with equal settings take the same step.
        key = (kind, getattr(function, "__func__", function), getattr(function, "__self__", None))
        if not isinstance(key[2], Hashable):
            return kind(function)
        if key not in known:
            known[key] = kind(function)
        return known[key]

    def prefers_products(self, gram: Array) -> bool:
        return bool(jax.default_backend() != "cpu")

    def while_loop(
        self,
        keep_going: Callable[[V], Any],
        body: Callable[[V], V],
        value: V,
        *,
        longest: int = 0,
        until_over: bool = False,
    ) -> V:
        if speculation() is None and any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(value)):
            result: V = jax.lax.while_loop(keep_going, body, value)
            return result
        return super().while_loop(keep_going, body, value, longest=longest, until_over=until_over)

    def loop(self, body: Callable[[V], V], state: V, count: int) -> V:
        """Long ones as a loop of JAX's, since it compiles every round of another one anew."""
        program = speculation()
        if program is None or count <= LOOPS[1]:
            return super().loop(body, state, count)
        state = body(state)  # only then has it the types that it keeps
        _register(state, in_state=True)

        def one(_: Any, run: tuple[V, Any, Any]) -> tuple[V, Any, Any]:
            state, usual, enough = run
            with program.aside() as found:
                state = body(state)
            return state, usual & found[0], enough & found[1]

        right = jax.numpy.asarray(True)
        state, usual, enough = jax.lax.fori_loop(1, count, one, (state, right, right))
        program.assume(usual)
        program.settle(enough)
        return state

    few_rounds = loop

    def known(self, number: Any, like: Array) -> Any:
        if isinstance(like, jax.core.Tracer):
            return jax.numpy.asarray(number, dtype=like.dtype)
        return super().known(number, like)

    def cond(self, test: Any, yes: Callable[..., V], no: Callable[..., V], *args: Any) -> V:
        if speculation() is None and isinstance(test, jax.core.Tracer):
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
        # JAX may read where NumPy writes, depending on the address: so the copy is NumPy's.
        return jax.device_put(jax.numpy.asarray(np.array(a), dtype=like.dtype), like.sharding)

    def finish(self, a: Array) -> None:
        jax.block_until_ready(a)


class Program:
    """A step, compiled alone and in a loop; uncompiled where JAX cannot trace it.

    On an accelerator a branch makes the device wait for the host, so there a loop has none (``_speculation``), and what
    it assumed is looked at when it has ended.
    """

    def __init__(self, step: Callable[..., Any]) -> None:
        self._step, self._by_hand = step, 0
        self._one: Callable[..., Any] | None = _Compiled(step)
        self._loops: dict[int | None, Callable[..., Any]] = {}
        self._effort: int | None = 0 if jax.default_backend() in SPECULATIVE else None
        self._can_loop = True

    def run(self, problem: Any, state: Any, count: int) -> Any:
        while count > 0:
            # The first state of a run has numbers of Python's, whose types a loop would have to keep.
            settled = all(isinstance(leaf, jax.Array) for leaf in parts(state) if leaf is not None)
            if self._by_hand < ENOUGH:
                self._by_hand, state, count = self._by_hand + 1, self._step(problem, state), count - 1
            elif settled and count > 1 and self._can_loop:
                some = min(count, BLOCK)
                state, count = self._advance(problem, state, some), count - some
            else:
                state, count = self._single(problem, state), count - 1
            if is_limited():
                jax.block_until_ready(state)
            if is_over():
                break
        return state

    def _advance(self, problem: Any, state: Any, count: int) -> Any:
        """So many steps in a loop; one by one where a loop cannot take them."""
        while self._can_loop:
            if self._effort not in self._loops:
                self._loops[self._effort] = _Compiled(functools.partial(self._loop, self._effort))
            try:
                new, usual, enough = self._loops[self._effort](problem, state, count)
            except TypeError:  # the step changes the type of a number
                self._can_loop = False
                break
            if self._effort is None or bool(usual & enough):
                return new
            if bool(enough) or self._effort == MOST_EFFORT:
                break
            self._effort += 1
        for _ in range(count):
            state = self._single(problem, state)
        return state

    def _loop(self, effort: int | None, problem: Any, state: Any, count: Any) -> Any:
        def body(_: Any, run: Any) -> Any:
            state, usual, enough = run
            if effort is None:
                return self._step(problem, state), usual, enough
            with speculate(effort) as assumed:
                state = self._step(problem, state)
            return state, usual & assumed.usual, enough & assumed.enough

        right = jax.numpy.asarray(True)
        return jax.lax.fori_loop(0, count, body, (state, right, right))

    def _single(self, problem: Any, state: Any) -> Any:
        _register(state, in_state=True)
        if self._one is not None:
            try:
                return self._one(problem, state)
            except _UNTRACEABLE as error:
                _warn(error)
                self._one, self._can_loop = None, False
        return self._step(problem, state)


class Numbers:
    """A function that gives numbers, compiled; they come to the host together."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._stacked: Callable[..., Any] | None = _Compiled(self._stack)
        self._by_hand = 0

    def _stack(self, problem: Any, state: Any) -> Any:
        return jax.numpy.stack([jax.numpy.asarray(number, dtype=float) for number in self._function(problem, state)])

    def run(self, problem: Any, state: Any) -> list[float]:
        _register(state, in_state=True)
        self._by_hand += 1
        if self._stacked is not None and self._by_hand > FEW:
            try:
                found: list[float] = self._stacked(problem, state).tolist()
                return found
            except _UNTRACEABLE:
                self._stacked = None
        return [float(number) for number in self._function(problem, state)]


class _Compiled:
    """A compiled function; its first call counts as compiling."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function, self._called = jax.jit(function), False

    def __call__(self, *args: Any) -> Any:
        if self._called:
            return self._function(*args)
        with compiling():
            found = jax.block_until_ready(self._function(*args))
        self._called = True
        return found


def _warn(error: Exception) -> None:
    # Most likely a user's function that calls NumPy, or asks "if" of a number that is not there yet.
    warnings.warn(
        "JAX cannot compile this problem, so its steps run uncompiled and slower. Functions of your own must "
        f"keep to operations of JAX to be compiled: {str(error).splitlines()[0]}",
        RuntimeWarning,
        stacklevel=2,
    )


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


def _count(event: str, seconds: float, **_: Any) -> None:
    if event in COMPILES:
        add_compile_seconds(seconds)


jax.monitoring.register_event_duration_secs_listener(_count)
_ARRAYS = (jax.Array, np.ndarray)
_registered: set[type] = set()
_compiled: WeakKeyDictionary[Any, dict[Any, Callable[..., Any]]] = WeakKeyDictionary()
JAX = JAXBackend()

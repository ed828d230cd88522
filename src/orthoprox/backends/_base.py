"""What a backend must offer beyond the array API standard, built from the standard alone."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from array_api_compat import device

from orthoprox._deadline import is_over
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends._speculation import Loops, speculation
from orthoprox.backends._tree import select

V = TypeVar("V")
_TO_HOST: dict[str, Any] = {"device": "cpu", "copy": True} if np.lib.NumpyVersion(np.__version__) >= "2.1.0" else {}
"""NumPy 2.0 cannot ask another device for a copy; it reads what is in the memory of the host."""


class Backend:
    """The operations; a library that can do better overrides one."""

    name: str = "standard"

    def vmap(self, function: Callable[..., Any], axes: tuple[Any, ...]) -> Callable[..., Any] | None:
        """The function of many arguments at once, stacked along an axis each or shared by all; None if unknown."""
        return None

    def number(self, value: float, like: Array) -> Array:
        """A number as an array without axes: a boolean for True and False, of the float type of ``like`` otherwise."""
        xp = array_namespace(like)
        dtype = xp.bool if isinstance(value, bool) else like.dtype
        return xp.full((), value, dtype=dtype, device=device(like))

    def identity(self, size: int, like: Array) -> Array:
        """The identity matrix where ``like`` lives, in its type."""
        return array_namespace(like).eye(size, dtype=like.dtype, device=device(like))

    def is_asynchronous(self, a: Array) -> bool:
        """Whether functions return before their arrays are computed: then several steps are best asked for at once."""
        return False

    def stacks_pay(self, a: Array) -> bool:
        """Whether a few runs from different starts are faster as a stack than one after the other."""
        return False

    def repeat(self, step: Callable[[Any, V], V], problem: Any, state: V, count: int) -> V:
        """The state after so many steps, each a pure function of problem and state; compiled where that pays.

        Loops end where they are when the time of the run is over.
        """
        if speculation() is not None:
            return self.loop(functools.partial(step, problem), state, count)
        for _ in range(count):
            state = step(problem, state)
            if is_over():
                break
        return state

    def loop(self, body: Callable[[V], V], state: V, count: int) -> V:
        """The state after so many rounds of a pure function, inside a step: a program may know a faster way."""
        program = speculation()
        if program is not None and program.loops is not None:
            return program.loops.run(body, state, count, program)
        for _ in range(count):
            state = body(state)
        return state

    def few_rounds(self, body: Callable[[V], V], state: V, count: int) -> V:
        """The same for the rounds of a loop that is expected to be short."""
        for _ in range(count):
            state = body(state)
        return state

    def loops(self, like: Array) -> Loops | None:
        """What records the loops of programs that run operation by operation where ``like`` lives, if that pays."""
        return None

    def evaluate(self, function: Callable[[Any, Any], tuple[Any, ...]], problem: Any, state: Any) -> list[float]:
        """The numbers that a pure function of problem and state gives, fetched at once; compiled where that pays."""
        return [float(number) for number in function(problem, state)]

    def while_loop(
        self,
        keep_going: Callable[[V], Any],
        body: Callable[[V], V],
        value: V,
        *,
        longest: int = 0,
        until_over: bool = False,
    ) -> V:
        """Repeat the body while the test holds.

        A loop that is often longer than a line search says how many rounds the longest program should have for it. One
        that may take long ends where it is when the time of the run is over (``until_over``); a program has no clock.
        """
        program = speculation()
        if program is not None:

            def masked(value: V) -> V:
                chosen: V = select(keep_going(value), self.where, body(value), value)
                return chosen

            value = self.few_rounds(masked, value, program.rounds(longest))
            program.settle(~keep_going(value))
            return value
        while not (until_over and is_over()) and bool(keep_going(value)):
            value = body(value)
        return value

    def known(self, number: Any, like: Array) -> Any:
        """A number that code may ask about; where a program is put together, one of the float type of ``like``.

        There a number of double precision could make double what it is multiplied with.
        """
        if speculation() is None:
            return float(number)
        is_array = hasattr(number, "dtype")
        return array_namespace(like).astype(number, like.dtype) if is_array else self.number(number, like)

    def cond(self, test: Any, yes: Callable[..., V], no: Callable[..., V], *args: Any) -> V:
        """One of two functions of the same arguments, chosen by a value known only at run time.

        What the host knows already, as in the first round of a loop, is no choice of a program.
        """
        if speculation() is not None and not isinstance(test, bool):
            chosen: V = select(test, self.where, yes(*args), no(*args))
            return chosen
        return yes(*args) if bool(test) else no(*args)

    def usually(self, test: Any, yes: Callable[..., V], no: Callable[..., V], *args: Any) -> V:
        """The same where the test nearly always holds: a program without branches assumes it."""
        program = speculation()
        if program is not None:
            program.assume(test)
            return yes(*args)
        return self.cond(test, yes, no, *args)

    def prefers_products(self, gram: Array) -> bool:
        """Whether products of small matrices like this one are so much faster than its eigenvectors that they pay."""
        return False

    def inverse_root(self, gram: Array, steps: int) -> tuple[Array, Array] | None:
        """So many Newton-Schulz steps for a small matrix in one go, as ``manifolds._polar`` takes them; None if not."""
        return None

    def where(self, test: Any, yes: Any, no: Any) -> Any:
        """One of two arrays, or numbers, of the same shape."""
        return array_namespace(test).where(test, yes, no)

    def top_k_mask(self, values: Array, k: int) -> Array:
        """A mask of the k largest entries of the whole array; among equals the first ones win."""
        xp = array_namespace(values)
        flat = xp.reshape(values, (-1,))
        order = xp.argsort(flat, descending=True, stable=True)
        ranks = xp.argsort(order, stable=True)
        return xp.reshape(ranks < k, values.shape)

    def dot(self, a: Array, b: Array) -> Array:
        """The sum of the products of the entries of two arrays of one shape."""
        xp = array_namespace(a)
        return xp.vecdot(xp.reshape(a, (-1,)), xp.reshape(b, (-1,)))

    def all_finite(self, a: Array) -> Any:
        """Whether the sum of all entries is finite, and so every entry: a bool, or a boolean array without axes."""
        xp = array_namespace(a)
        return xp.isfinite(xp.sum(a))

    def eigh(self, S: Array) -> tuple[Array, Array]:
        """The eigenvalues of a symmetric matrix, from the smallest on, and its eigenvectors."""
        values, vectors = array_namespace(S).linalg.eigh(S)
        return values, vectors

    def solve(self, K: Array, b: Array) -> Array:
        """The solution of a linear system; not finite where the matrix is singular."""
        xp = array_namespace(K)
        try:
            return xp.linalg.solve(K, b)
        except np.linalg.LinAlgError:  # libraries that look say so, others return what division by zero gives
            return xp.full(b.shape, xp.nan, dtype=b.dtype, device=device(b))

    def sign(self, a: Array) -> Array:
        """1, -1 or 0 for each entry."""
        return array_namespace(a).sign(a)

    def clip(self, a: Array, low: Any, high: Any) -> Array:
        """Each entry, or the end of the interval that is nearer to it."""
        return array_namespace(a).clip(a, low, high)

    def to_numpy(self, a: Array) -> np.ndarray[Any, Any]:
        """A copy in the memory of the host."""
        try:
            return np.array(a)
        except (RuntimeError, TypeError):  # a device that NumPy cannot read: DLPack copies
            return np.array(np.from_dlpack(a, **_TO_HOST))

    def from_numpy(self, a: np.ndarray[Any, Any], like: Array) -> Array:
        """An array of the same library, device and float type as ``like``."""
        xp = array_namespace(like)
        return xp.asarray(a, dtype=like.dtype, device=device(like), copy=True)

    def index(self, a: np.ndarray[Any, Any], like: Array, kept: dict[Any, Any]) -> Array:
        """An array of whole numbers on the device of ``like``; ``kept`` may hold copies of it."""
        return array_namespace(like).asarray(a, device=device(like))

    def constant(self, a: Any) -> Any:
        """The same numbers without a record of how they were computed; a Python number as it is."""
        return a

    def quiet(self) -> contextlib.AbstractContextManager[Any]:
        """A context without floating-point warnings; the caller checks for numbers that are not finite."""
        return np.errstate(all="ignore")  # only NumPy, and libraries built on it, warn

    def finish(self, a: Array) -> None:
        """Wait until ``a`` is computed; libraries that compute at once have nothing to wait for."""

    def eps(self, a: Array) -> float:
        """The distance from 1 to the next number of the array's float type."""
        return float(array_namespace(a).finfo(a.dtype).eps)

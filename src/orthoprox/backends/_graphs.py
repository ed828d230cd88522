"""Steps of PyTorch on buffers of fixed shape, recorded as CUDA graphs: nothing goes to the host in between.

A step of a small problem is some dozens of kernels of a few microseconds each, which take Python longer to launch than
the device to run. A graph launches all of them at once. It can hold no branch, so steps are recorded without any
(``_speculation``), and no number of Python's that changes, so the numbers of a state become tensors without axes.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import torch

from orthoprox._deadline import is_over
from orthoprox.backends._compiling import compiling
from orthoprox.backends._speculation import MOST_EFFORT, speculate
from orthoprox.backends._tree import OtherLayout, flatten

V = TypeVar("V")
Step = Callable[[Any, Any], Any]

BLOCK = 8
"""Steps in the longer of two recordings: a block copies its state back once."""
ENOUGH = 2 * (BLOCK + 1)
"""Steps by hand before any are recorded: as many as a recording goes through."""
LONG = 0.02
"""Seconds that a step takes by hand if it is a block of iterations."""
PATIENCE = 8
"""Single steps in which a program was wrong more often than right, after which it is given up."""


class Recording:
    """Something that is done to buffers again and again; on a CUDA device as a graph."""

    def __init__(self, act: Callable[[], None], device: torch.device) -> None:
        self._act, self._graph = act, None
        if device.type != "cuda":
            act()  # to see whether it can be done
        else:
            _warm_up(act, device)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.device(device), torch.cuda.graph(graph):
                act()
            self._graph, self._act = graph, _nothing

    def replay(self) -> None:
        if self._graph is None:
            self._act()
        else:
            self._graph.replay()


def _nothing() -> None:
    """What is left to call of a recorded act: its graph holds the buffers, not the problem."""


def _warm_up(act: Callable[[], None], device: torch.device) -> None:
    """Do it once unrecorded, and see that nothing waits for the host.

    Libraries set themselves up the first time and may wait then; so a wait counts only if it comes a second time.
    """
    side = torch.cuda.Stream(device)
    side.wait_stream(torch.cuda.current_stream(device))
    before = torch.cuda.get_sync_debug_mode()
    with torch.cuda.device(device), torch.cuda.stream(side), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch calls this mode a prototype
        torch.cuda.set_sync_debug_mode("error")
        try:
            act()
        except Exception:
            torch.cuda.set_sync_debug_mode(before)
            act()
            torch.cuda.set_sync_debug_mode("error")
            act()
        finally:
            torch.cuda.set_sync_debug_mode(before)
    torch.cuda.current_stream(device).wait_stream(side)
    torch.cuda.synchronize(device)


class Buffers:
    """Tensors in the places of a state's arrays and numbers."""

    def __init__(self, state: Any, device: torch.device) -> None:
        self._tree = flatten(state)
        self.tensors = [
            leaf.detach().clone()
            if isinstance(leaf, torch.Tensor)
            else torch.full((), leaf, dtype=torch.float64, device=device)
            for leaf in self._tree.leaves
        ]

    def view(self) -> Any:
        """A state whose arrays and numbers are the buffers."""
        return self._tree.build(list(self.tensors))

    def store(self, state: Any) -> None:
        """Copy a state into the buffers."""
        leaves = self._tree.read(state)
        own = {id(tensor) for tensor in self.tensors}
        # A matrix may move from one place to another, whose content must be read before it is written over.
        leaves = [
            leaf.clone() if leaf is not tensor and id(leaf) in own else leaf
            for leaf, tensor in zip(leaves, self.tensors, strict=True)
        ]
        for tensor, leaf in zip(self.tensors, leaves, strict=True):
            if isinstance(leaf, torch.Tensor):
                if leaf is not tensor:
                    tensor.copy_(leaf)
            else:
                tensor.fill_(leaf)

    def fetch(self, like: Any) -> Any:
        """A copy of the state; what is a number of Python's in another state is one here."""
        leaves = self._tree.read(like)
        numbers = [k for k, leaf in enumerate(leaves) if not isinstance(leaf, torch.Tensor)]
        home = torch.stack([self.tensors[k] for k in numbers]).tolist() if numbers else []
        copies: list[Any] = [tensor.clone() for tensor in self.tensors]
        for k, number in zip(numbers, home, strict=True):
            copies[k] = type(leaves[k])(number)
        return self._tree.build(copies)


class Steps:
    """A step of one effort, recorded for a single step and for a block of them."""

    def __init__(
        self, step: Step, problem: Any, state: Any, device: torch.device, effort: int, block: int = BLOCK
    ) -> None:
        self.buffers = Buffers(state, device)
        self.right = torch.ones(2, dtype=torch.bool, device=device)
        """Whether all cases were the usual ones, and whether all loops were long enough."""
        self._one = Recording(lambda: self._advance(step, problem, 1, effort), device)
        self._size = block
        self._block = (
            self._one if block == 1 else Recording(lambda: self._advance(step, problem, block, effort), device)
        )

    def _advance(self, step: Step, problem: Any, count: int, effort: int) -> None:
        with speculate(effort) as assumed:
            state = self.buffers.view()
            for _ in range(count):
                state = step(problem, state)
        self.buffers.store(state)
        for place, test in enumerate((assumed.usual, assumed.enough)):
            if test is not True:
                self.right[place] &= test

    def run(self, state: V, count: int) -> tuple[V | None, bool]:
        """The state so many steps on, or None where it was not as usual; and whether loops were long enough."""
        self.buffers.store(state)
        self.right.fill_(True)
        for _ in range(count // self._size):
            self._block.replay()
        for _ in range(count % self._size):
            self._one.replay()
        usual, enough = self.right.tolist()
        return (self.buffers.fetch(state) if usual and enough else None), enough


class Program:
    """A step on a problem for states of one shape: the recordings that were needed so far."""

    def __init__(self, seconds: float = 0.0) -> None:
        self._steps: dict[int, Steps] = {}
        self._most = BLOCK
        self._effort, self._balance = 0, 0
        self._by_hand, self.seconds = 0, seconds
        self.given_up: str | None = None
        """Why it runs step by step."""
        self._lock = threading.RLock()  # threads that solve one problem share its buffers

    def run(self, step: Step, problem: Any, state: V, count: int, device: torch.device) -> V:
        while count > 0:
            if self.given_up or not self._is_worth_it():
                since = time.perf_counter()
                state, count = step(problem, state), count - 1
                self._by_hand, self.seconds = self._by_hand + 1, self.seconds + time.perf_counter() - since
            else:
                since, asked = time.perf_counter(), min(count, self._most)
                with self._lock:
                    state, count = self._try(step, problem, state, asked, device), count - asked
                self._pace(time.perf_counter() - since)
            if is_over():
                break
        return state

    def _is_worth_it(self) -> bool:
        """Whether as many steps were taken by hand as a recording goes through, or some long ones."""
        return self._by_hand >= ENOUGH or self.seconds > 0.2

    @property
    def is_long(self) -> bool:
        """Whether a step takes Python so long that it must be a block of iterations."""
        return self.seconds > LONG * max(self._by_hand, 1)

    def _pace(self, seconds: float) -> None:
        """So many steps between two looks at what was assumed, and at the clock, as take about a tenth of a second."""
        if seconds < 0.05:
            self._most = min(2 * self._most, 64)
        elif seconds > 0.2:
            self._most = max(self._most // 2, 1)

    def _try(self, step: Step, problem: Any, state: V, count: int, device: torch.device) -> V:
        """So many steps at once; where something was unusual in halves, and the step itself with its branches."""
        while True:
            try:
                if self._effort not in self._steps:
                    # A step that takes Python long is a block by itself.
                    block = 1 if self.is_long else BLOCK
                    with compiling():
                        self._steps[self._effort] = Steps(step, problem, state, device, self._effort, block)
                found, enough = self._steps[self._effort].run(state, count)
            except OtherLayout as error:  # a rare state: the next one may fit again
                self._miss(str(error))
                return _plain(step, problem, state, count)
            except Exception as error:  # it cannot be recorded: most often it asks the host
                self.given_up = f"{type(error).__name__}: {error}"
                return _plain(step, problem, state, count)
            if found is not None:
                self._balance += 1
                return found
            if enough or self._effort == MOST_EFFORT:
                break
            self._effort += 1
        if count == 1:
            self._miss("what it assumes is wrong too often")
            last: V = step(problem, state)
            return last
        half = count // 2
        for part in (half, count - half):
            state = (
                _plain(step, problem, state, part) if self.given_up else self._try(step, problem, state, part, device)
            )
        return state

    def _miss(self, reason: str) -> None:
        """Count steps that had to be taken by hand; too many of them, and no more are recorded."""
        self._balance = min(self._balance, PATIENCE) - 2
        if self._balance < -PATIENCE:
            self.given_up = reason


def _plain(step: Step, problem: Any, state: V, count: int) -> V:
    for _ in range(count):
        state = step(problem, state)
    return state


class Numbers:
    """A function that gives numbers, recorded."""

    def __init__(self, function: Step, problem: Any, state: Any, device: torch.device) -> None:
        self.buffers = Buffers(state, device)
        self._out: torch.Tensor | None = None
        self._lock = threading.Lock()
        self._recording = Recording(lambda: self._compute(function, problem, device), device)

    def _compute(self, function: Step, problem: Any, device: torch.device) -> None:
        with speculate(MOST_EFFORT) as assumed:
            found = function(problem, self.buffers.view())
        numbers = [*found, assumed.usual, assumed.enough]
        row = torch.stack([_number(number, device) for number in numbers])
        if self._out is None:
            self._out = torch.empty_like(row)
        self._out.copy_(row)

    def run(self, state: Any) -> list[float] | None:
        """The numbers, or None where something was not as usual."""
        with self._lock:
            self.buffers.store(state)
            self._recording.replay()
            assert self._out is not None
            *numbers, usual, enough = self._out.tolist()
        return numbers if usual and enough else None


def _number(number: Any, device: torch.device) -> torch.Tensor:
    if isinstance(number, torch.Tensor):
        return number.to(torch.float64)
    return torch.full((), number, dtype=torch.float64, device=device)


class Library:
    """The programs of all problems that are alive."""

    def __init__(self) -> None:
        self._seen: WeakKeyDictionary[Any, dict[Hashable, Any]] = WeakKeyDictionary()
        self._long: WeakKeyDictionary[Any, float] = WeakKeyDictionary()
        """The seconds that long steps took by hand before, on another problem."""

    def repeat(self, step: Step, problem: Any, state: V, count: int, device: torch.device) -> V:
        """So many steps. The first state of a run has another shape than those that follow, as its parts are equal."""
        known = self._of(problem)
        key = (_identity(step), flatten(state).shape)
        owner = getattr(step, "__self__", None)
        if key not in known and getattr(owner, "at_once", False):
            known[key] = Program(1.0)
        elif key not in known:
            known[key] = Program(0.0 if owner is None else self._long.get(owner, 0.0))
            state, count = step(problem, state), count - 1
            return self.repeat(step, problem, state, count, device) if count > 0 else state
        program: Program = known[key]
        if owner is not None and program.is_long:
            self._long[owner] = program.seconds
        return program.run(step, problem, state, count, device)

    def evaluate(self, function: Step, problem: Any, state: Any, device: torch.device) -> list[float] | None:
        """The numbers of a function, or None where it has to be called itself."""
        key, known = (_identity(function), flatten(state).shape, "numbers"), self._of(problem)
        by_hand = known.setdefault(key, 0)
        if isinstance(by_hand, int) and by_hand < 2:  # as often as a recording goes through it
            known[key] += 1
            return None
        if isinstance(by_hand, int):
            try:
                with compiling():
                    known[key] = Numbers(function, problem, state, device)
            except Exception:
                known[key] = None  # it asks the host
        return known[key].run(state) if known[key] else None

    def _of(self, problem: Any) -> dict[Hashable, Any]:
        return self._seen.setdefault(problem, {})


def _identity(function: Step) -> Hashable:
    """What two calls of the same method with equal settings have in common."""
    return getattr(function, "__func__", function), getattr(function, "__self__", None)


LIBRARY = Library()

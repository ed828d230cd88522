"""Many runs of one method at once: every step is one program for all of them.

A step is a pure function of problem, method and state, and the libraries that can compile one can also apply it to
stacks of them. What assumptions of a program without branches hold (``backends._speculation``) is known for each run;
the few for which one does not are led on alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.backends._speculation import MOST_EFFORT, Speculation, speculate
from orthoprox.backends._tree import flatten
from orthoprox.driver._stack import Layout, Move, stack
from orthoprox.problem import Certificate, Numbers, Problem, numbers
from orthoprox.solvers import Solver

FEW = 256
"""A batch as small as this does not get faster by getting smaller."""
LOOKS = 2
"""Measurements of a small batch by hand before they are recorded: as often as a recording goes through them."""


@dataclass(frozen=True, eq=False)
class Pair:
    """A problem and the method that solves it."""

    problem: Problem
    solver: Solver[Any]


@dataclass(frozen=True, eq=False)
class Data:
    """What all steps read: the arrays of problems and methods."""

    arrays: tuple[Array, ...]


@dataclass(frozen=True, eq=False)
class States:
    """Where all runs are: the arrays and numbers of their states, stacked."""

    leaves: tuple[Array, ...]
    right: Array
    """For each run, whether everything that its steps assumed was so."""


@dataclass(frozen=True, eq=False)
class Seen:
    """Where all runs are, and what was measured there."""

    leaves: tuple[Array, ...]
    found: tuple[Array, ...]


class Mapped:
    """Functions of one run, applied to all; it holds no data, so that programs made of it do not keep them alive."""

    def __init__(self, layout: Layout, axes: tuple[int | None, ...], like: Array) -> None:
        self._layout, self._axes, self._backend = layout, axes, backend_of(like)
        self._zero, self._loops = 0 * like[0, 0, 0], self._backend.loops(like)
        self._tree: Any = None

    def begin(self, data: Data, X0: Array, effort: int) -> States:
        """All runs after their first step: only then has a state the shape that it keeps."""

        def one(X0: Array, *arrays: Array) -> tuple[Any, ...]:
            pair = self._layout(arrays)
            with speculate(effort, self._loops) as assumed:
                state = pair.solver.step(pair.problem, pair.solver.init(pair.problem, X0))
            return self._leaves(state), self._right(assumed)

        return States(*self._map(one)(X0, *data.arrays))

    def first_numbers(self, data: Data, X0: Array) -> Numbers:
        """What is measured at the starting points."""

        def one(X0: Array, *arrays: Array) -> tuple[Any, ...]:
            pair = self._layout(arrays)
            with speculate(MOST_EFFORT, self._loops):
                state = pair.solver.init(pair.problem, X0)
                return self._all(pair.solver.numbers(pair.problem, state))

        return self.fetch(self._map(one)(X0, *data.arrays))

    def step(self, effort: int, data: Data, states: States) -> States:
        """One step of all runs."""

        def one(leaves: tuple[Array, ...], *arrays: Array) -> tuple[Any, ...]:
            pair = self._layout(arrays)
            with speculate(effort, self._loops) as assumed:
                state = pair.solver.step(pair.problem, self._tree.build(list(leaves)))
            return self._leaves(state), self._right(assumed)

        leaves, right = self._map(one)(states.leaves, *data.arrays)
        return States(leaves, states.right & right)

    def measure(self, data: Data, seen: Seen) -> Seen:
        """All runs with what is measured of them, one array for each number."""

        def one(leaves: tuple[Array, ...], *arrays: Array) -> tuple[Any, ...]:
            pair = self._layout(arrays)
            with speculate(MOST_EFFORT, self._loops):
                return self._all(pair.solver.numbers(pair.problem, self._tree.build(list(leaves))))

        return Seen(seen.leaves, self._map(one)(seen.leaves, *data.arrays))

    def answers(self, data: Data, states: States) -> tuple[Array, Array, Array, Numbers]:
        """X, y and z of all runs, measured with products computed anew."""

        def one(leaves: tuple[Array, ...], *arrays: Array) -> tuple[Any, ...]:
            pair, state = self._layout(arrays), self._tree.build(list(leaves))
            with speculate(MOST_EFFORT, self._loops):
                at = pair.solver.answer(pair.problem, state)
                fresh = Certificate(pair.problem.at(at.point.X), at.y, at.z)
                found = numbers(pair.problem, at.point.X, fresh, state)
            return at.point.X, at.y, at.z, self._all(found)

        X, y, z, found = self._map(one)(states.leaves, *data.arrays)
        return X, y, z, self.fetch(found)

    def state(self, leaves: list[Any]) -> Any:
        """The state of one run, from its arrays and numbers."""
        return self._tree.build(leaves)

    def gather(self, states: Sequence[Any], move: Move) -> tuple[Array, ...]:
        """The arrays and numbers of states that were made one by one, stacked."""
        kind = self._backend.to_numpy(self._zero).dtype
        self._tree = flatten(states[0])._replace(leaves=[])
        columns = zip(*(self._tree.read(state) for state in states), strict=True)
        return tuple(
            move(array_namespace(column[0]).stack(column))
            if getattr(column[0], "ndim", 0) > 0
            else move(np.asarray([float(value) for value in column], dtype=kind))
            for column in columns
        )

    def leaves(self, state: Any) -> list[Any]:
        """The arrays and numbers of a run's state, in the places they have here."""
        found: list[Any] = self._tree.read(state)
        return found

    def _map(self, one: Callable[..., Any]) -> Callable[..., Any]:
        found = self._backend.vmap(one, (0, *self._axes))
        if found is None:
            raise NotImplementedError(f"{self._backend.name} cannot apply a function to many arrays at once.")
        return found

    def _leaves(self, state: Any) -> tuple[Array, ...]:
        if self._tree is None:
            self._tree = flatten(state)._replace(leaves=[])
        return self._all(self._tree.read(state))

    def _all(self, values: Sequence[Any]) -> tuple[Array, ...]:
        return tuple(value if hasattr(value, "dtype") else self._backend.number(value, self._zero) for value in values)

    def _right(self, assumed: Speculation) -> Array:
        usual, enough = self._all((assumed.usual, assumed.enough))
        return usual & enough

    def fetch(self, found: Sequence[Array]) -> Numbers:
        """The numbers of all runs on the host, brought there at once."""
        xp = array_namespace(self._zero)
        kind = xp.result_type(*(values for values in found if xp.isdtype(values.dtype, "real floating")))
        columns = xp.stack([xp.astype(values, kind) for values in found])
        return Numbers(*np.asarray(self._backend.to_numpy(columns), dtype=np.float64))


class Steps:
    """Steps of one effort: what a program is known by."""

    def __init__(self, mapped: Mapped, effort: int, count: int) -> None:
        self.mapped, self.effort = mapped, effort
        self.at_once = count <= FEW
        """Whether to record the first step: a larger batch may soon be a smaller one, which is recorded anew."""

    def step(self, data: Data, states: States) -> States:
        return self.mapped.step(self.effort, data, states)


class Measuring:
    """Measurements of a small batch: what their program is known by."""

    at_once = True

    def __init__(self, mapped: Mapped) -> None:
        self.mapped = mapped

    def step(self, data: Data, seen: Seen) -> Seen:
        return self.mapped.measure(data, seen)


class Together:
    """Runs of one shape, led on together.

    Parameters
    ----------
    problems, solvers : sequences
        One of each for every run.
    X0 : NumPy array, shape (k, n, r)
        Feasible points, in the float type of the problems.
    move : callable
        Puts an array where the work is done.
    """

    def __init__(self, problems: Sequence[Problem], solvers: Sequence[Solver[Any]], X0: Array, move: Move) -> None:
        self._pairs, self._move = [Pair(*pair) for pair in zip(problems, solvers, strict=True)], move
        arrays, self._axes, layout = stack(self._pairs, move, X0.dtype)
        self._data, self._X0 = Data(arrays), move(X0)
        self._backend = backend_of(self._X0)
        self._mapped = Mapped(layout, self._axes, self._X0)
        # Among many runs there is nearly always one for which the least effort is too little.
        self._steps, self._measuring = Steps(self._mapped, 1, len(self._pairs)), Measuring(self._mapped)
        self._looks, self._found = 0, tuple[Array, ...]()
        """Measurements of this batch so far, and the last of them."""

    def begin(self) -> tuple[Numbers, States]:
        """What is measured at the starting points, and all runs after their first step."""
        try:
            found = self._mapped.first_numbers(self._data, self._X0)
            states = self._mapped.begin(self._data, self._X0, MOST_EFFORT)
        except Exception:  # most often a question to the host, which has another answer for each run
            return self._begin_alone()
        wrong = self._wrong(states)
        states = self._put(states, wrong, [self._first_step(k)[1] for k in wrong])
        return found, states

    def _begin_alone(self) -> tuple[Numbers, States]:
        """The same, each run by itself."""
        columns, kept = [], []
        for k, pair in enumerate(self._pairs):
            begun, state = self._first_step(k)
            with backend_of(self._X0).quiet():
                columns.append([float(number) for number in pair.solver.numbers(pair.problem, begun)])
            kept.append(state)
        leaves = self._mapped.gather(kept, self._move)
        right = array_namespace(self._X0).isfinite(self._X0[:, 0, 0] * 0)
        return Numbers(*np.asarray(columns).T), States(leaves, right)

    def _first_step(self, k: int) -> tuple[Any, Any]:
        """The first state of a run, and the one after it."""
        pair = self._pairs[k]
        begun = pair.solver.init(pair.problem, self._home(self._X0[k : k + 1])[0])
        return begun, pair.solver.step(pair.problem, begun)

    def advance(self, states: States, count: int, ended: np.ndarray[Any, Any]) -> States:
        """All runs so many steps on; of those that have ended nobody asks whether their steps were right."""
        found = self._backend.repeat(self._steps.step, self._data, states, count)
        wrong = [k for k in self._wrong(found) if not ended[k]]
        if wrong and self._steps.effort < MOST_EFFORT:
            self._steps = Steps(self._mapped, self._steps.effort + 1, len(self._pairs))
            return self.advance(states, count, ended)
        alone = zip(wrong, self.states(states, wrong), strict=True)
        return self._put(found, wrong, [self._alone(state, k, count) for k, state in alone])

    def _alone(self, state: Any, k: int, count: int) -> Any:
        """One run, with its branches."""
        for _ in range(count):
            state = self._pairs[k].solver.step(self._pairs[k].problem, state)
        return state

    def numbers(self, states: States) -> Numbers:
        """What is measured, one array for each number; of a small batch by a program, since launching takes longest."""
        self._looks += 1
        if self._looks <= LOOKS or not self._steps.at_once:
            self._found = self._mapped.measure(self._data, Seen(states.leaves, ())).found
        else:
            seen = Seen(states.leaves, self._found)
            self._found = self._backend.repeat(self._measuring.step, self._data, seen, 1).found
        return self._mapped.fetch(self._found)

    def answers(self, states: States) -> tuple[Array, Array, Array, Numbers]:
        """X, y and z of all runs, measured with products computed anew."""
        return self._mapped.answers(self._data, states)

    def take(self, states: States, kept: np.ndarray[Any, Any]) -> tuple[Together, States]:
        """The same with some of the runs only."""
        xp = array_namespace(self._X0)
        index = self._backend.index(kept, self._X0, {})
        twin = object.__new__(Together)
        twin._pairs = [self._pairs[k] for k in kept.tolist()]
        twin._axes, twin._backend, twin._move = self._axes, self._backend, self._move
        twin._mapped, twin._steps = self._mapped, Steps(self._mapped, self._steps.effort, len(kept))
        twin._measuring, twin._looks, twin._found = Measuring(self._mapped), 0, ()
        arrays = zip(self._data.arrays, self._axes, strict=True)
        twin._data = Data(tuple(a if axis is None else xp.take(a, index, axis=0) for a, axis in arrays))
        twin._X0 = xp.take(self._X0, index, axis=0)
        return twin, pick(states, index)

    def pick(self, states: States, chosen: np.ndarray[Any, Any]) -> States:
        """The states of some of the runs."""
        return pick(states, self._backend.index(chosen, self._X0, {}))

    def states(self, states: States, chosen: Sequence[int]) -> list[Any]:
        """The states of some runs, in the library of their problems: all are moved at once."""
        if not len(chosen):
            return []
        picked = self.pick(states, np.asarray(chosen))
        columns = [self._home(leaf) for leaf in picked.leaves]
        return [self._mapped.state([column[place] for column in columns]) for place in range(len(chosen))]

    def _home(self, a: Array) -> Any:
        """Arrays of several runs in the library of their problems; numbers as a list of Python's."""
        if a.ndim == 1:
            values = self._backend.to_numpy(a).tolist()
            return [int(value) if float(value).is_integer() else value for value in values]
        like = self._pairs[0].problem.like
        if array_namespace(like) is array_namespace(a):
            return a
        return backend_of(like).from_numpy(self._backend.to_numpy(a), like)

    def _wrong(self, states: States) -> list[int]:
        wrong: list[int] = np.flatnonzero(~self._backend.to_numpy(states.right)).tolist()
        return wrong

    def _put(self, states: States, chosen: list[int], new: list[Any]) -> States:
        """The same with the states of some runs replaced."""
        if not chosen:
            return states
        xp, count = array_namespace(self._X0), states.right.shape[0]
        order = np.arange(count)
        order[chosen] = count + np.arange(len(chosen))
        index = self._backend.index(order, self._X0, {})
        leaves = []
        for leaf, column in zip(states.leaves, zip(*map(self._mapped.leaves, new), strict=True), strict=True):
            stacked = np.stack(
                [backend_of(value).to_numpy(value) if hasattr(value, "dtype") else value for value in column]
            )
            moved = xp.astype(self._move(np.asarray(stacked)), leaf.dtype)
            leaves.append(xp.take(xp.concat([leaf, moved], axis=0), index, axis=0))
        return States(tuple(leaves), xp.ones_like(states.right))


def pick(states: States, index: Array) -> States:
    """Some of the runs, by their numbers."""
    take = array_namespace(states.right).take
    return States(tuple(take(leaf, index, axis=0) for leaf in states.leaves), take(states.right, index, axis=0))


def join(several: Sequence[States]) -> States:
    """The runs of several batches, one batch after the other."""
    concat = array_namespace(several[0].right).concat
    leaves = tuple(concat(list(leaf), axis=0) for leaf in zip(*(one.leaves for one in several), strict=True))
    return States(leaves, concat([one.right for one in several], axis=0))

"""States of every kind go into a checkpoint and come back; what does not fit is refused in a sentence."""

from __future__ import annotations

import collections
import dataclasses
import enum
import math
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import array_api_strict
import numpy as np
import pytest

from driver.helpers import M, S, assert_same_run, read, seal
from orthoprox import Checkpoint, Iterations, Problem, RunFailed, solve
from orthoprox._fields import replace
from orthoprox._types import Array, Scalar
from orthoprox.problem import Certificate, Criticality, Point
from orthoprox.solvers import Scope, Solver
from orthoprox.terms import L1, Quadratic

T = TypeVar("T")


class Phase(enum.Enum):
    ROAM = "roam"
    FINISH = "finish"


class Level(enum.IntEnum):
    LOW = 0
    HIGH = 1


class Best(NamedTuple):
    value: float
    parts: Criticality


@dataclass(frozen=True)
class Roaming:
    boost: float
    tried: bool


@dataclass(frozen=True)
class Finishing:
    support: Array
    best: Best | None


@dataclass(frozen=True)
class Guarded(Generic[T]):
    inner: T
    memory: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class FakeState:
    t: int
    now: Point
    phase: Phase
    level: Level
    inner: Roaming | Finishing
    guard: Guarded[Roaming | Finishing] | None
    pair: tuple[int, Phase]
    mode: Literal["fast", "safe"]
    shift: Scalar
    gap: float = math.inf


@dataclass(frozen=True)
class Fake(Solver[FakeState]):
    """A method whose state changes its classes on the way: X is turned a little in every step."""

    name = "fake"
    scope = Scope()

    def init(self, problem, X0):
        roaming = Roaming(1.0, False)
        return FakeState(0, problem.at(X0), Phase.ROAM, Level.LOW, roaming, None, (0, Phase.ROAM), "fast", 0.5)

    def step(self, problem, state):
        X, t = problem.M.project(state.now.X - 0.01 * problem.f.gradient(state.now.X)), state.t + 1
        if t < 3:
            return replace(state, t=t, now=problem.at(X), inner=Roaming(1.0 + t, t == 2))
        best = None if t == 3 else Best(1 / 3, Criticality(0.1, math.inf, t / 7))
        finishing = Finishing(X > 0, best)
        guard = Guarded(finishing, (0.1,) * t)
        state = replace(state, phase=Phase.FINISH, level=Level.HIGH, pair=(t, Phase.FINISH), mode="safe", shift=t)
        return replace(state, t=t, now=problem.at(X), inner=finishing, guard=guard)

    def point(self, state):
        return state.now.X

    def certificate(self, problem, state):
        return Certificate(state.now, state.now.AX, problem.h.subgradient(state.now.AX))


PROBLEM = Problem(M=M, f=Quadratic(S), h=L1(0.3))


def same(a, b):
    """Whether two states are of the same classes and hold the same numbers."""
    if type(a) is not type(b):
        return False
    if dataclasses.is_dataclass(a):
        return all(same(getattr(a, field.name), getattr(b, field.name)) for field in dataclasses.fields(a))
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return np.array_equal(a, b) and getattr(a, "dtype", None) == getattr(b, "dtype", None)


@pytest.mark.parametrize("middle", range(6))
@pytest.mark.parametrize("library", ["numpy", "strict"])
def test_a_state_of_every_kind_comes_back_as_it_was(tmp_path, middle, library):
    file, data = tmp_path / "run.npz", S if library == "numpy" else array_api_strict.asarray(S)
    problem = Problem(M=M, f=Quadratic(data), h=L1(0.3))
    first = solve(problem, Fake(), stop=Iterations(middle), observers=[Checkpoint(file)])
    with np.load(file) as content:
        entries = dict(content)
    np.savez(file, **dict(reversed(entries.items())))  # in another order
    again = solve(problem, Fake(), stop=Iterations(middle), resume=file)
    assert same(again.state, first.state)
    whole, rest = solve(problem, Fake(), stop=Iterations(6)), solve(problem, Fake(), stop=Iterations(6), resume=file)
    assert_same_run(rest, whole)
    assert same(rest.state, whole.state)


@pytest.fixture
def file(tmp_path):
    solve(PROBLEM, Fake(), stop=Iterations(5), observers=[Checkpoint(tmp_path / "run.npz")])
    return tmp_path / "run.npz"


def edit(file, change):
    """Change the JSON text of a checkpoint, and its arrays."""
    entries, meta = read(file)
    change(meta, meta["state"]["fields"], entries)
    seal(file, entries, meta)


def put(*path):
    """An edit that puts the last item where the others lead, below the fields of the state."""
    *way, name, value = path

    def change(meta, fields, entries):
        for step in way:
            fields = fields[step]
        fields[name] = value

    return change


def stored(name, array):
    """An edit that puts an array among those of the file."""
    return lambda meta, fields, entries: entries.update({name: array})


def renumber(meta, fields, entries):
    entries["array77"] = entries.pop("array0")


IN_INNER = ("inner", "fields")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (put("phase", "class", "os.system"), r"FakeState\.phase needs Phase; given os\.system FINISH\."),
        (put("phase", "member", "__class__"), r"FakeState\.phase needs Phase; given Phase __class__\."),
        (put("phase", "member", ["ROAM"]), r"FakeState\.phase needs Phase; given Phase \['ROAM'\]\."),
        (put("phase", 1), r"FakeState\.phase needs Phase; given 1\."),
        (put("phase", {"class": "Level", "member": "LOW"}), r"FakeState\.phase needs Phase; given Level LOW\."),
        (put("inner", "class", "Checkpoint"), r"FakeState\.inner needs .*Roaming | .*Finishing; given Checkpoint\."),
        (put("inner", "class", "Point"), r"FakeState\.inner needs .*; given Point\."),
        (put("inner", "class", "Roaming"), r"FakeState\.inner needs the fields boost, tried; given support, best\."),
        (put("inner", None), r"FakeState\.inner needs .*; given None\."),
        (put("inner", "fields", []), r"FakeState\.inner needs .*; given Finishing\."),
        (put(*IN_INNER, "more", 1), r"FakeState\.inner needs the fields support, best; given support, best, more\."),
        (put(*IN_INNER, "best", "fields", {}), r"inner\.best needs the fields value, parts; given none\."),
        (put(*IN_INNER, "best", "fields", "value", True), r"inner\.best\.value needs float; given True\."),
        (put(*IN_INNER, "best", [1.0, 2.0]), r"inner\.best needs .*Best | None; given \[1\.0, 2\.0\]\."),
        (put("guard", "fields", "memory", [1.0, "a"]), r"guard\.memory\[1\] needs float; given 'a'\."),
        (put("guard", "fields", "memory", 3.0), r"guard\.memory needs tuple.*; given 3\.0\."),
        (put("pair", [1]), r"FakeState\.pair needs 2 values; given 1\."),
        (put("mode", "other"), r"FakeState\.mode needs .*Literal.*; given 'other'\."),
        (put("t", 5.0), r"FakeState\.t needs int; given 5\.0\."),
        (put("t", True), r"FakeState\.t needs int; given True\."),
        (put("t", -5), r"at iteration 5; its state has shape \[9, 3\] at iteration -5\. It was edited"),
        (put("now", "fields", "X", 1.0), r"FakeState\.now\.X needs an array .*; given 1\.0\."),
        (put("now", "fields", "X", None), r"FakeState\.now\.X needs an array .*; given None\."),
        (put("now", "fields", "X", "array", 99), r"FakeState\.now\.X needs an array .*; given an array\."),
        (put("now", "fields", "X", "array", -1), r"FakeState\.now\.X needs an array .*; given an array\."),
        (put("now", "fields", "X", "array0"), r"FakeState\.now\.X needs an array .*; given 'array0'\."),
        (put("shift", {"array": 0}), r"FakeState\.shift needs an array .*; given an array\."),
        (lambda meta, fields, entries: fields.pop("gap"), r"FakeState needs the fields t, now.*; given t, now"),
        (lambda meta, fields, entries: meta.update(t=-5), r"damaged \(it claims -5 iterations in"),
        (lambda meta, fields, entries: meta.update(t=4), r"at iteration 4; its state has .* at iteration 5"),
        (lambda meta, fields, entries: meta.update(t="5"), r"damaged \(it has no usable 't'\)"),
        (lambda meta, fields, entries: meta.update(t=True), r"damaged \(it has no usable 't'\)"),
        (lambda meta, fields, entries: meta.update(seconds=math.nan), r"damaged \(it claims 5 iterations in nan"),
        (lambda meta, fields, entries: meta.pop("settings"), r"damaged \(it has no usable 'settings'\)"),
        (lambda meta, fields, entries: meta.update(state=[]), r"damaged \(it has no usable 'state'\)"),
        (stored("array0", np.array(["a"])), r"damaged \(it has entries that are not"),
        (stored("history.dual", np.ones(2)), r"damaged \(the columns of its history have different lengths\)"),
        (stored("array0", np.ones((2, 2))), r"its state has shape \[2, 2\]"),
        (
            stored("array0", 1e200 * np.eye(9, 3)),
            r"needs an X with orthonormal columns; that of its state is off by inf\.",
        ),
        (renumber, r"damaged \(its arrays are not numbered from 0\)"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_in_a_sentence(file, change, sentence):
    edit(file, change)
    with pytest.raises(ValueError, match=sentence):
        solve(PROBLEM, Fake(), stop=Iterations(6), resume=file)


@dataclass(frozen=True, eq=False)
class Unsaveable(FakeState):
    extra: Any = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Unresolved(FakeState):
    extra: NotImported | None = None  # noqa: F821


@dataclass(frozen=True, eq=False)
class Ambiguous(FakeState):
    extra: Certificate | Other | None = None


class Other(NamedTuple):
    number: int


Other.__qualname__ = "Certificate"
Bare = collections.namedtuple("Bare", "number")


@dataclass(frozen=True, eq=False)
class Untyped(FakeState):
    extra: Bare | None = None


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (Unsaveable, "A checkpoint holds numbers, strings, arrays, enums, tuples and dataclasses; given dict"),
        (Unresolved, "needs the type hints of Unresolved, and one of them cannot be resolved: .*NotImported"),
        (Untyped, "needs the types of the fields of Bare, and 'number' has none. Write it as a typing.NamedTuple"),
        (Ambiguous, "Ambiguous has two classes named Certificate"),
    ],
)
def test_a_state_that_could_not_be_read_back_is_refused_when_it_is_written(tmp_path, kind, sentence):
    class Method(Fake):
        def init(self, problem, X0):
            state = super().init(problem, X0)
            return kind(**{field.name: getattr(state, field.name) for field in dataclasses.fields(FakeState)})

    with pytest.raises(RunFailed, match=sentence):
        solve(PROBLEM, Method(), stop=Iterations(0), observers=[Checkpoint(tmp_path / "run.npz")])
    assert list(tmp_path.iterdir()) == []


def test_a_whole_number_is_a_float_where_one_is_wanted(file):
    edit(file, put("gap", 3))
    assert solve(PROBLEM, Fake(), stop=Iterations(5), resume=file).state.gap == 3.0

"""Loops of a batch that runs operation by operation: rounds that are recorded and replayed are those taken by hand."""

from typing import Any

import numpy as np
import pytest

from backends.problems import N, R
from orthoprox import Iterations, Stiefel, solve, solve_many
from orthoprox.backends import backend_of
from orthoprox.backends._speculation import speculate
from orthoprox.driver import _together
from orthoprox.models import sparse_pca
from orthoprox.solvers import NewtonBlocks

pytestmark = pytest.mark.backends


@pytest.fixture
def recorded(torch, monkeypatch) -> Any:
    """Loops as on a GPU, but that a replay calls what was recorded; it gives how often that was, loop by loop."""
    from orthoprox.backends import _loops
    from orthoprox.backends import torch as backend

    counts: list[int] = []

    def count(self: Any, act: Any) -> Any:
        counts.append(0)

        def again() -> None:
            counts[-1] += 1
            act()

        return again

    monkeypatch.setattr(backend, "RECORDED", {"cpu", "cuda"})
    monkeypatch.setattr(_loops.GraphLoops, "_recorded", count)
    monkeypatch.setattr(_together, "FEW", 0)  # else steps are recorded whole
    return counts


def problems(count: int) -> list[Any]:
    rng = np.random.default_rng(5)
    tables = [rng.standard_normal((40, N)) * np.linspace(3, 0.3, N) for _ in range(count)]
    return [sparse_pca(D, n_components=R, weight=1.0) for D in tables]


def test_a_batch_replays_its_loops(recorded):
    """Projections, Newton's rounds and those for its multiplier, twice a step; each but for the round by hand."""
    method, rule = NewtonBlocks(block=10, rounds=5), Iterations(4)
    found = solve_many(problems(3), method, stop=rule, device="cpu")
    assert len(recorded) >= 4 * 4 and set(recorded) == {9, 4, 7}
    for problem, result in zip(problems(3), found, strict=True):
        alone = solve(problem, method, stop=rule)
        assert np.max(np.abs(alone.X - result.X)) < 1e-9
        z = Stiefel(N, R).tangent(alone.X, result.z - alone.z)  # along the manifold: the rest of it may be open
        assert np.max(np.abs(z)) < 1e-7
        assert result.criticality == pytest.approx(alone.criticality, abs=1e-8)


def run(loops: Any, body: Any, start: Any, count: int) -> tuple[Any, Any, Any]:
    """Where a loop ends, for a stack of starts, with what it assumed."""
    import torch

    def one(start: Any) -> tuple[Any, Any, Any]:
        with speculate(0, loops) as program:
            end = backend_of(start).loop(lambda state: body(state, program), start, count)
        yes = torch.ones((), dtype=torch.bool)
        return end, program.usual & yes, program.enough & yes

    return torch.func.vmap(one)(start)


def up(state: Any, program: Any) -> Any:
    """A step up that is usual below 6.5, in a loop that is long enough below 8.5."""
    program.assume(state[0] < 6.5)
    program.settle(state[0] < 8.5)
    return state + 1


def test_assumptions_of_every_round_count(recorded, torch):
    """The first round goes by hand and the others are replayed: one that is wrong is noticed in each."""
    start = torch.tensor([[0.0], [1.0], [2.0], [6.0], [7.0], [9.0]])
    end, usual, enough = run(backend_of(start).loops(start), up, start, 6)
    assert recorded == [5]
    assert (end - start).unique().tolist() == [6]
    assert usual.tolist() == [True, True, False, False, False, False]  # of 0, 1, ..., 5 rounds up
    assert enough.tolist() == [True, True, True, False, False, False]


def test_assumptions_count_only_where_they_are_asked(recorded, torch):
    def masked(state: Any, program: Any) -> Any:
        with program.only_where(state[0] > 0):
            return up(state, program)

    start = torch.tensor([[-90.0], [5.0]])
    _, usual, _ = run(backend_of(start).loops(start), masked, start, 6)
    assert recorded == [5] and usual.tolist() == [True, False]


def test_a_loop_that_cannot_be_recorded_goes_by_hand(recorded, torch, monkeypatch):
    """And none of this batch is tried again; what was assumed in the attempt is not counted."""
    from orthoprox.backends import _loops

    tries: list[int] = []

    def refuse(self: Any, act: Any) -> Any:
        tries.append(1)
        act()
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(_loops.GraphLoops, "_recorded", refuse)
    start = torch.tensor([[0.0], [1.0]])
    loops = backend_of(start).loops(start)
    for _ in range(2):
        end, usual, _ = run(loops, up, start, 6)
        assert (end - start).unique().tolist() == [6] and usual.tolist() == [True, True]
    assert tries == [1]


def test_rounds_that_assume_what_the_first_did_not_go_by_hand(recorded, torch):
    """The first compares a number of Python's, the others one of the device."""

    def one(a: Any) -> tuple[Any, Any]:
        with speculate(0, loops) as program:

            def body(state: Any) -> Any:
                program.assume(state[1] < 3)
                return state[0] + 1, state[1] + 1

            end, _ = backend_of(a).loop(body, (a, 0), 6)
        return end, program.usual & torch.ones((), dtype=torch.bool)

    start = torch.tensor([[0.0], [1.0]])
    loops = backend_of(start).loops(start)
    end, usual = torch.func.vmap(one)(start)
    assert (end - start).unique().tolist() == [6] and usual.tolist() == [False, False]


def test_short_loops_are_not_recorded(recorded, torch):
    start = torch.tensor([[0.0], [1.0]])
    end, _, _ = run(backend_of(start).loops(start), up, start, 3)
    assert recorded == [] and (end - start).unique().tolist() == [3]


def test_a_state_with_a_number_and_a_matrix_in_two_places(recorded, torch):
    """The first state shares what later ones do not, and a number of Python's becomes one of the device."""

    def body(state: Any, program: Any) -> Any:
        one, two, count = state
        return one + two, two, count + 1

    def start(a: Any) -> Any:
        with speculate(0, loops) as program:
            one, two, count = backend_of(a).loop(lambda state: body(state, program), (a, a, 0), 6)
        return one, two, count + 0 * one.sum()

    a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    loops = backend_of(a).loops(a)
    one, two, count = torch.func.vmap(start)(a)
    assert recorded == [5]
    assert torch.equal(one, 7 * a) and torch.equal(two, a) and count.tolist() == [6, 6]

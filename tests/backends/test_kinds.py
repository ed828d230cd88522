"""Problems that are solved together are read as one: one of another kind must not hide among them."""

from typing import Any

import numpy as np
import pytest

from orthoprox import (
    Critical,
    Iterations,
    Problem,
    Recorder,
    Stalled,
    Status,
    Stiefel,
    UnsupportedProblem,
    solve,
    solve_many,
)
from orthoprox.maps import Matrix
from orthoprox.models import sparse_pca
from orthoprox.problem import Certificate
from orthoprox.solvers import OADMMEP, NewtonBlocks
from orthoprox.solvers.oadmm.projections import Projections
from orthoprox.terms import L1, ColumnRange, ExplainedVariance, GroupL2, Huber, LargestK, Linear, LInf, Nuclear

pytestmark = pytest.mark.backends
TABLES = np.random.default_rng(5).standard_normal((6, 40, 12)) * np.linspace(3, 0.3, 12)
FEW = Iterations(3)


@pytest.fixture
def make(torch) -> Any:
    def made(D: Any, weight: float = 1.0, **settings: Any) -> Problem:
        return sparse_pca(torch.tensor(D), n_components=3, weight=weight, **settings)

    return made


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda make, D: make(D.astype(np.float32)), "shapes"),
        (lambda make, D: make(D[:-1]), "shapes"),
        (lambda make, D: make(D, penalty="mcp"), "shapes"),
        (lambda make, D: make(1e60 * D, 1e120), "other units"),
    ],
)
def test_one_of_another_kind_is_told(make, change, reason):
    usual, odd = [make(D) for D in TABLES[1:]], change(make, TABLES[0])
    assert not any("one by one" in note for result in solve_many(usual, "oadmm-ep", stop=FEW) for note in result.notes)
    found = solve_many([*usual, odd], "oadmm-ep", stop=FEW)
    assert all(reason in result.notes[-1] for result in found)
    assert found[-1].objective == solve(odd, "oadmm-ep", stop=FEW).objective


def test_one_that_the_method_does_not_take_is_told(torch, make):
    f, over = ExplainedVariance(torch.tensor(TABLES[0])), Stiefel(12, 3)
    odd = Problem.of(f + L1() - 0.1 * LargestK(2), over=over)
    with pytest.raises(UnsupportedProblem, match="g to be absent"):
        solve_many([*map(make, TABLES[1:]), odd], NewtonBlocks(), stop=FEW)
    odd = Problem.of(f + L1() @ Matrix(torch.eye(12, dtype=torch.float64)), over=over)
    with pytest.raises(UnsupportedProblem, match="A = I"):
        solve_many([odd, odd], Projections(), stop=FEW)


def test_one_with_data_that_are_not_numbers_is_told(torch, make):
    *_, spoilt = problems = [make(D) for D in TABLES[:3]]
    spoilt.f.gram.H[0, 0] = torch.nan
    statuses = [result.status for result in solve_many(problems, "oadmm-ep", stop=FEW)]
    assert statuses == [Status.ITERATIONS, Status.ITERATIONS, Status.NOT_FINITE]


@pytest.mark.parametrize(("window", "every"), [(1, 1), (4, 1), (3, 2)])
def test_a_rule_that_looks_back_sees_many(make, window, every):
    """Runs that stall at different iterations, some of them after others have ended."""
    looks = Critical(1e-30, every=1)  # at every iteration, whether it is recorded or not
    problems, stop = [make(D, 0.5) for D in TABLES], Stalled(1e-4, window) | looks | Iterations(400)
    found = solve_many(problems, "oadmm-ep", stop=stop, record=Recorder(every))
    alone = [solve(problem, "oadmm-ep", stop=stop, record=Recorder(every)) for problem in problems]
    assert [(a.status, a.iterations) for a in found] == [(a.status, a.iterations) for a in alone]
    assert len({a.iterations for a in alone}) > 2 and all(a.status is Status.STALLED for a in alone)
    assert not any("one by one" in note for a in found for note in a.notes)


def test_sums_whose_parts_differ_from_run_to_run_go_together(torch, together):
    """Their Lipschitz constants, and the norms of their maps, are numbers of a batch then."""
    problems = [
        Problem.of(
            Linear(torch.tensor(D[:3].T))
            - ExplainedVariance(torch.tensor(D))
            + L1() @ torch.tensor(D[:5])
            + w * Huber(0.1),
            over=Stiefel(12, 3),
        )
        for D, w in zip(TABLES[:2], (1.0, 2.0), strict=True)
    ]
    found = solve_many(problems, "oadmm-ep", stop=FEW)
    assert together == [2]
    for problem, result in zip(problems, found, strict=True):
        assert torch.allclose(result.X, solve(problem, "oadmm-ep", stop=FEW).X, rtol=0, atol=1e-12)


@pytest.mark.parametrize("h", [GroupL2(), LInf(), Nuclear(), ColumnRange()], ids=lambda h: type(h).__name__)
def test_terms_that_measure_by_their_prox_go_together_with_weights_of_their_own(torch, together, h):
    problems = [
        Problem.of(w * h - ExplainedVariance(torch.tensor(D)), over=Stiefel(12, 3))
        for D, w in zip(TABLES[:2], (1.0, 2.0), strict=True)
    ]
    found = solve_many(problems, "oadmm-ep", stop=FEW)
    assert together == [2]
    for problem, result in zip(problems, found, strict=True):
        alone = solve(problem, "oadmm-ep", stop=FEW)
        assert torch.allclose(result.X, alone.X, rtol=0, atol=1e-12)
        assert result.criticality == pytest.approx(alone.criticality, rel=1e-9)


class Longer(OADMMEP):
    """Reports X longer than it is."""

    def certificate(self, problem: Any, state: Any) -> Any:
        found = super().certificate(problem, state)
        return Certificate(problem.at(1.01 * found.point.X), found.y, found.z)


def test_runs_off_the_manifold_have_the_notes_of_each_alone(torch, together):
    problem = sparse_pca(torch.tensor(TABLES[0]), n_components=3, weight=1.0)
    found = solve_many(problem, Longer(), seeds=[0, 1], stop=Iterations(3))
    assert together == [2] and all("X is off the manifold" in result.notes[0] for result in found)
    assert [result.notes for result in found] == [
        solve(problem, Longer(), seed=k, stop=Iterations(3)).notes for k in (0, 1)
    ]


def test_an_n_jobs_that_is_no_number_of_processes_is_refused_where_runs_go_together_too(torch):
    problem = sparse_pca(torch.tensor(TABLES[0]), n_components=3, weight=1.0)
    with pytest.raises(ValueError, match="n_jobs must be a whole number; given 1.5"):
        solve_many(problem, "oadmm-ep", seeds=[0, 1], stop=Iterations(1), n_jobs=1.5)

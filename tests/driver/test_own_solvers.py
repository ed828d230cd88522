"""Methods of the user's, and what they hand to a run beside them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from orthoprox import Iterations, Problem, Recorder, RunFailed, solve, solve_many
from orthoprox._fields import replace
from orthoprox.problem import Certificate
from orthoprox.solvers import Scope, Solver
from orthoprox.terms import L1, Quadratic
from sentences import check_refusal

PROBLEM = Problem.of(Quadratic(np.diag(np.arange(6.0))) + 0.1 * L1(), over=(6, 2))


@dataclass(frozen=True)
class At:
    t: int
    X: Any


class Descent(Solver[At]):
    """A projected gradient step, which something happens to, as it does to the certificate."""

    name, complexity, scope, compilable = "descent", "unknown", Scope(), False

    def __init__(self, to_point: Any = None, to_certificate: Any = None) -> None:
        self.to_point = to_point or (lambda X: X)
        self.to_certificate = to_certificate or (lambda at: at)

    def init(self, problem: Problem, X0: Any) -> At:
        return At(0, X0)

    def step(self, problem: Problem, state: At) -> At:
        X = problem.M.project(state.X - 0.1 * problem.f.gradient(state.X))
        return At(state.t + 1, self.to_point(X) if state.t == 2 else X)

    def point(self, state: At) -> Any:
        return state.X

    def certificate(self, problem: Problem, state: At) -> Any:
        at = problem.at(state.X)
        return self.to_certificate(Certificate(at, at.AX, problem.h.subgradient(at.AX)))


@pytest.mark.parametrize(
    ("solver", "sentence", "reached"),
    [
        (Descent(lambda X: X[:, :1]), r"The point of descent must be real, of shape \(6, 2\); given shape \(6, 1\)", 2),
        (Descent(lambda X: X + 0j), "of shape .6, 2.; given shape .6, 2., complex128", 2),
        (Descent(lambda X: X.tolist()), "given a list", 2),
        (Descent(None, lambda at: None), "certificate of descent must be a Certificate; given NoneType", 0),
        (
            Descent(None, lambda at: replace(at, y=at.y[:1])),
            r"have the shape \(6, 2\) of A\(X\); given \(1, 2\) and",
            0,
        ),
    ],
)
def test_what_is_no_point_or_certificate_ends_the_run(solver, sentence, reached):
    """A row too few would be spread over all rows, and Crit would be that of something else."""
    with pytest.raises(RunFailed, match=sentence) as failed:
        solve(PROBLEM, solver, stop=Iterations(5))
    assert failed.value.result.iterations == reached
    assert solve(PROBLEM, Descent(), stop=Iterations(5)).iterations == 5


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: solve(PROBLEM, record=5), "record must be a Recorder; given int"),
        (lambda: solve(PROBLEM, observers=print), "observers must be a sequence of functions .* given builtin_func"),
        (lambda: solve(PROBLEM, observers=[3]), "observers must be a sequence of functions"),
        (lambda: solve(PROBLEM, stop=Iterations), "given the class Iterations"),
        (lambda: Iterations(1.5), "Iterations needs a whole number; given 1.5"),
        (lambda: Recorder(every=2.5), "A recorder needs a whole number for every; given 2.5"),
        (lambda: solve_many(PROBLEM, seeds=[1], n_jobs=0), "n_jobs must be at least 1, or -1 .* given 0"),
        (lambda: Recorder(extra=[len]), "extra must map names of columns to functions; given list"),
    ],
)
def test_what_is_no_recorder_observer_or_rule_gets_a_sentence(make, sentence):
    check_refusal(make, sentence)
    limit = Iterations(1e4).most
    assert (type(limit), limit) == (int, 10000) and Iterations(np.inf).most == np.inf

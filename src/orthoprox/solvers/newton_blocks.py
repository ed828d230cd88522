"""Blocks of projections, each followed by Newton's method: a method for thousands of small problems at once.

``OADMM`` asks the host after every block what to do next, which ten thousand runs at once cannot. Here a step is always
the same, without a question to the host, so ``solve_many`` leads all runs on together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from orthoprox._fields import replace, require
from orthoprox._linalg import rounding
from orthoprox._types import Array
from orthoprox.backends import backend_of, either, speculation
from orthoprox.backends._tree import select
from orthoprox.problem import Certificate, Problem
from orthoprox.solvers import _joint as joint
from orthoprox.solvers._base import Measured, Scope, Solver, UnsupportedProblem
from orthoprox.solvers.oadmm.iterate import Iterate, measure
from orthoprox.solvers.oadmm.projections import Projections, ProjectionsState

BLOCK = 80  # among 20, 40 and 80: a block should cost as much as the Newton steps after it
ROUNDS = 6  # among 3, 4, 6, 8 and 12: most that end at a solution do so after three or four, a few need more
NEARER = 0.5  # factor on Crit by which a point must be nearer than earlier ones if F is not lower; set by reason


@dataclass(frozen=True, kw_only=True, eq=False)
class NewtonBlocksState:
    """Where the blocks are, and what Newton's method has led to."""

    t: int
    inner: ProjectionsState
    lowest: float
    """The lowest F of points that came from Newton's method; at first that of the start."""
    least: float
    """The least Crit of these."""


@dataclass(frozen=True, kw_only=True)
class NewtonBlocks(Solver[NewtonBlocksState]):
    """Blocks of projections, each followed by Newton's method for X, z and the multiplier of X'X = I together.

    For small matrices: a step solves dense systems with half as many unknowns as X has entries, so it is meant for up
    to about a thousand entries. There is no guard; Crit says how far a run came.

    Parameters
    ----------
    block : int
        Iterations between two attempts by Newton's method.
    rounds : int
        Newton steps in an attempt.
    explore : int
        As in :class:`OADMM`; with 0 a run ends near its start.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import Critical, Iterations, solve_many
    >>> from orthoprox.models import sparse_pca
    >>> from orthoprox.solvers import NewtonBlocks
    >>> tables = np.random.default_rng(0).standard_normal((5, 40, 12))
    >>> problems = [sparse_pca(D, n_components=2, weight=0.3) for D in tables]
    >>> results = solve_many(problems, NewtonBlocks(), stop=Iterations(50) | Critical(1e-8))
    >>> all(result.converged for result in results)
    True
    """

    name: ClassVar[str] = "newton-blocks"
    summary: ClassVar[str] = "projections and joint Newton steps, for many small problems at once"
    complexity: ClassVar[str] = "unknown"
    scope: ClassVar[Scope] = Scope(concave=False, any_map=False, entrywise_only=True)
    compilable: ClassVar[bool] = False
    stackable: ClassVar[bool | None] = True

    block: int = BLOCK
    rounds: int = ROUNDS
    explore: int = 0

    def __post_init__(self) -> None:
        for name, least in (("block", 1), ("rounds", 1), ("explore", 0)):
            require(getattr(self, name) >= least, f"{name} must be at least {least}; given {getattr(self, name)}.")

    def for_problem(self, problem: Problem) -> Self:
        if not (Projections.takes(problem) and joint.takes(problem)):
            raise UnsupportedProblem(
                "NewtonBlocks needs a concave quadratic f that acts on every column of X alike; given "
                f"{type(problem.f).__name__}. Choose another solver."
            )
        return self

    @property
    def _projections(self) -> Projections:
        return Projections(explore=self.explore, block=self.block)

    def init(self, problem: Problem, X0: Array) -> NewtonBlocksState:
        inner = self._projections.init(problem, X0)
        return NewtonBlocksState(t=0, inner=inner, lowest=inner.at.objective, least=inner.at.crit)

    def step(self, problem: Problem, state: NewtonBlocksState) -> NewtonBlocksState:
        inner = self._projections.step(problem, state.inner)
        return self._attempt(problem, replace(state, t=state.t + 1, inner=inner))

    def _attempt(self, problem: Problem, state: NewtonBlocksState) -> NewtonBlocksState:
        """Where Newton's method leads, if F, or Crit without a higher F, is lower than here and ever before there.

        Without the latter, blocks that leave a point which is not critical would be led back to it for ever.
        """
        at, backend = state.inner.at, backend_of(state.inner.at.point.X)
        there = self._newton(problem, at, state.inner)
        room = rounding(at.point.X, 1.0) * at.scale
        lower = (there.objective < at.objective - room) & (there.objective < state.lowest - room)
        nearer = (there.crit < NEARER * at.crit) & (there.crit < NEARER * state.least)
        better = (there.crit < math.inf) & (lower | (nearer & (there.objective <= at.objective)))
        new = NewtonBlocksState(
            t=state.t,
            inner=replace(state.inner, at=there),
            lowest=either(there.objective < state.lowest, there.objective, state.lowest),
            least=either(there.crit < state.least, there.crit, state.least),
        )
        if speculation() is None:
            return new if better else state
        chosen: NewtonBlocksState = select(better, backend.where, new, state)
        return chosen

    def _newton(self, problem: Problem, at: Iterate, state: ProjectionsState) -> Iterate:
        blocks = self._projections
        beta = blocks.penalty(blocks.penalties(problem, at.point, at.z), state.rises)
        with backend_of(at.point.X).quiet():  # far from a solution it may run into anything
            return measure(problem, *joint.newton(problem, at.point.X, at.z, beta, self.rounds))

    def point(self, state: NewtonBlocksState) -> Array:
        return state.inner.at.point.X

    def certificate(self, problem: Problem, state: NewtonBlocksState) -> Certificate:
        return state.inner.at.at

    def measured(self, state: NewtonBlocksState) -> Measured:
        return Measured(state.inner.at.objective, state.inner.at.parts)

    def work(self, state: NewtonBlocksState) -> int:
        return state.t * self.block

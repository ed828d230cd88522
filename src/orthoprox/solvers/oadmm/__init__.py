"""OADMM, the default solver: fast blocks, Newton's method on the active set, and a guard behind them.

``plan`` chooses once which method makes the blocks: ``projections`` where one projection does for an X-step,
``multipliers`` where Newton steps in X are possible, ``gradient`` otherwise. A run goes through phases, forwards only.
With g, ``homotopy`` follows the weight of h. Then projections roam at a low penalty. Then blocks settle under the
``guard``, which calls the paper's OADMM-EP whenever a block does not bring Crit down. In between, ``finish`` attempts
Newton's method on the zeros that y has found. The best point seen is what is reported. docs/oadmm.md says why, and what
is proved.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self, get_args

from orthoprox._fields import replace, require
from orthoprox._linalg import norm, rounding
from orthoprox._types import Array
from orthoprox.problem import Certificate, Problem
from orthoprox.solvers._base import Measured, Scope, Solver
from orthoprox.solvers.oadmm.block import Block
from orthoprox.solvers.oadmm.finish import Attempts, Finish, vanishes
from orthoprox.solvers.oadmm.gradient import Gradient, GradientState
from orthoprox.solvers.oadmm.guard import Guarded, GuardedState
from orthoprox.solvers.oadmm.homotopy import Homotopy, HomotopyState
from orthoprox.solvers.oadmm.iterate import Iterate, is_better
from orthoprox.solvers.oadmm.multipliers import Multipliers, MultipliersState
from orthoprox.solvers.oadmm.plan import IN_WORDS, Fast, check_blocks, choose_blocks, follows_homotopy
from orthoprox.solvers.oadmm.projections import Projections, ProjectionsState
from orthoprox.solvers.oadmm.tuning import BLOCK, EXPLORE, MEMORY, ROAM, ROUNDS, SETTLE, Tuning
from orthoprox.solvers.oadmm_ep import OADMMEP, OADMMEPState

__all__ = ["OADMM", "OADMMState", "Phase", "Tuning"]


class Phase(enum.IntEnum):
    """What a step does. A run goes through these forwards only."""

    HOMOTOPY = 0
    """Follow the weight of h without g."""
    ROAM = 1
    """Blocks at a penalty that rises, without a guard."""
    SETTLE = 2
    """Guarded blocks."""
    DONE = 3
    """Crit is nothing but rounding: another block would only lose the zeros again."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OADMMState:
    """Where OADMM is."""

    t: int
    phase: Phase
    inner: (
        HomotopyState
        | ProjectionsState
        | GuardedState[ProjectionsState | MultipliersState | GradientState, OADMMEPState]
    )
    """The state of the method whose phase it is."""
    attempts: Attempts
    best: Iterate
    """The best point seen: the lowest F, and of even ones the least Crit."""
    lowest: float
    """The lowest F seen, which the best point never exceeds by more than counts as even."""
    returns: int
    """How often blocks have settled above the best point and begun there again."""
    work: int


@dataclass(frozen=True, kw_only=True)
class OADMM(Solver[OADMMState]):
    """ADMM with fitted penalties and Newton's method on the zeros it finds, guarded by the paper's OADMM-EP.

    A step is a block of iterations, or an attempt to finish by Newton's method.

    Parameters
    ----------
    explore : int
        In this many blocks the penalty rises from a small value, at which the iterates roam and find lower minima, to
        one at which they settle; blocks that bring Crit down do not count. With 0 the method stays near its start.
    block : int
        Iterations in a block.
    roam, settle : float
        The first penalty in units of the one at which h moves entries by as much as they are large, and the last one
        in units of the curvature that it has to outweigh. Neither goes below what the prox of a weakly convex h needs.
    rounds : int
        Newton steps in an attempt, at most.
    polish : bool
        Whether to attempt Newton's method.
    homotopy : bool
        Whether to approach a problem with g through the same problem without g, with a weight of h that grows.
    memory : int
        Crit has to fall by a hundredth below its largest value at this many accepted points; at three times as many
        where blocks are steps of an augmented Lagrangian method, after which Crit goes up and down.
    fast : {"projections", "multipliers", "gradient"}, optional
        Which method makes the blocks; chosen for the problem when it is not given.
    tuning : Tuning
        All other constants.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import Critical, Iterations, solve
    >>> from orthoprox.models import sparse_pca
    >>> D = np.random.default_rng(0).standard_normal((40, 12))
    >>> result = solve(sparse_pca(D, n_components=2, weight=0.1), stop=Iterations(200) | Critical(1e-8))
    >>> result.converged, bool((result.X == 0).any()), result.solver.fast
    (True, True, 'projections')
    """

    name: ClassVar[str] = "oadmm"
    summary: ClassVar[str] = "OADMM with fitted penalties and Newton steps, guarded by the paper's own"
    complexity: ClassVar[str] = "O(eps^-3)"
    scope: ClassVar[Scope] = Scope()
    compilable: ClassVar[bool] = False
    auto_start: ClassVar[bool] = True

    explore: int = EXPLORE
    block: int = BLOCK
    roam: float = ROAM
    settle: float = SETTLE
    rounds: int = ROUNDS
    polish: bool = True
    homotopy: bool = True
    memory: int = MEMORY
    fast: Fast | None = None
    tuning: Tuning = Tuning()

    def __post_init__(self) -> None:
        for name, least in (("explore", 0), ("block", 1), ("rounds", 1), ("memory", 1)):
            require(getattr(self, name) >= least, f"{name} must be at least {least}; given {getattr(self, name)}.")
        sentence = f"roam must be positive and at most settle; given {self.roam} and {self.settle}."
        require(0 < self.roam <= self.settle, sentence)
        kinds = get_args(Fast)
        require(self.fast is None or self.fast in kinds, f"fast must be one of {kinds}; given {self.fast!r}.")

    def for_problem(self, problem: Problem) -> Self:
        if self.fast is None:
            return replace(self, fast=choose_blocks(problem))
        check_blocks(problem, self.fast)
        return self

    def warm(self) -> Self:
        return replace(self, explore=0)

    # ------------------------------------------------------------------ the parts

    def blocks(self, problem: Problem) -> Block[Any]:
        """The method that makes the blocks."""
        kind = self.fast or choose_blocks(problem)
        if kind == "projections":
            return self._projections
        return Multipliers(tuning=self.tuning) if kind == "multipliers" else Gradient(tuning=self.tuning)

    def guard(self, problem: Problem, returns: int = 0) -> Guarded:
        """The blocks with the paper's method behind them, its penalty higher after every return to the best point."""
        safe, fast = OADMMEP().for_problem(problem), self.blocks(problem)
        memory = self.memory if isinstance(fast, Projections) else 3 * self.memory
        safe = replace(safe, beta0=safe.beta0 * self.tuning.returns**returns)
        return Guarded(fast=fast, safe=safe, memory=memory, block=self.block, falls=self.tuning.falls)

    @property
    def _projections(self) -> Projections:
        return Projections(
            explore=self.explore, block=self.block, roam=self.roam, settle=self.settle, tuning=self.tuning
        )

    @property
    def _homotopy(self) -> Homotopy:
        return Homotopy(projections=replace(self._projections, explore=0), rounds=self.rounds)

    @property
    def _finish(self) -> Finish:
        return Finish(rounds=self.rounds, tuning=self.tuning)

    # ------------------------------------------------------------------ the phases

    def init(self, problem: Problem, X0: Array) -> OADMMState:
        if self.homotopy and self.explore > 0 and follows_homotopy(problem, self.fast or choose_blocks(problem)):
            inner = self._homotopy.init(problem, X0)
            if not inner.finished:
                return self._begin(problem, Phase.HOMOTOPY, inner)
        return self._begin(problem, Phase.ROAM, self.blocks(problem).init(problem, X0))

    def init_near(self, problem: Problem, X0: Array) -> OADMMState:
        inner = self.blocks(problem).init(problem, X0)
        if isinstance(inner, ProjectionsState):
            inner = replace(inner, rises=math.ceil(self.tuning.midway * self.explore))
        return self._begin(problem, Phase.ROAM, inner)

    def _begin(self, problem: Problem, phase: Phase, inner: Any) -> OADMMState:
        attempts = self._finish.begin(problem, inner.at)
        state = OADMMState(
            t=0,
            phase=phase,
            inner=inner,
            attempts=attempts,
            best=inner.at,
            lowest=inner.at.objective,
            returns=0,
            work=0,
        )
        return self._advance(problem, state)

    def step(self, problem: Problem, state: OADMMState) -> OADMMState:
        new = replace(state, t=state.t + 1)
        if state.phase is Phase.DONE:
            return new
        if state.phase is Phase.HOMOTOPY:
            inner = self._homotopy.step(problem, state.inner)  # type: ignore[arg-type]
            return self._advance(problem, replace(new, inner=inner, work=inner.work))
        if self.polish and self._due(problem, state):
            found, attempts = self._finish.attempt(problem, _now(state), state.attempts)
            new = replace(new, attempts=attempts, work=state.work + attempts.cost)
            if found is not None:
                return self._advance(problem, self._restart(problem, new, found))
        return self._advance(problem, self._block(problem, new))

    @property
    def inside(self) -> str | None:
        return None if self.fast is None else IN_WORDS[self.fast]

    def finished(self, state: OADMMState) -> bool:
        return state.phase is Phase.DONE

    def _due(self, problem: Problem, state: OADMMState) -> bool:
        return self._finish.due(problem, _now(state), state.attempts, roaming=state.phase is Phase.ROAM)

    def _block(self, problem: Problem, state: OADMMState) -> OADMMState:
        """A block of the method whose phase it is."""
        method = self._method(problem, state)
        inner = method.step(problem, state.inner)
        work = method.work(inner) - method.work(state.inner)
        attempts = self._finish.after_block(state.attempts, work)
        return replace(state, inner=inner, attempts=attempts, work=state.work + work)

    def _restart(self, problem: Problem, state: OADMMState, at: Iterate) -> OADMMState:
        return replace(state, inner=self._method(problem, state).restart(problem, state.inner, at))

    def _method(self, problem: Problem, state: OADMMState) -> Any:
        return self.blocks(problem) if state.phase is Phase.ROAM else self.guard(problem, state.returns)

    def _advance(self, problem: Problem, state: OADMMState) -> OADMMState:
        """Keep the best point, and go on to the next phase where this one is over."""
        now, inner = _now(state), state.inner
        for seen in (now, inner.reported) if isinstance(inner, GuardedState) else (now,):
            lowest = min(state.lowest, seen.objective)
            even = seen.objective - lowest <= max(self.tuning.even * seen.size, rounding(seen.point.X, seen.size))
            best = seen if even and self._is_better(seen, state.best) else state.best
            state = replace(state, best=best, lowest=lowest)
        if isinstance(inner, HomotopyState) and inner.finished:
            sparse = vanishes(problem, now.y)  # roaming would lose these zeros again
            inner = ProjectionsState(t=0, at=now, rises=self.explore if sparse else 0)
            state = replace(state, phase=Phase.ROAM, inner=inner)
        # At a critical point there is nowhere to roam to.
        if state.phase is Phase.ROAM and (now.is_exact() or not self.blocks(problem).roams(state.inner)):
            state = replace(state, phase=Phase.SETTLE, inner=self.guard(problem).watch(problem, state.inner))
        if isinstance(state.inner, GuardedState) and self._is_above(state):
            return self._return(problem, state, state.inner)
        if state.phase > Phase.HOMOTOPY and now.is_exact():
            state = replace(state, phase=Phase.DONE)
        return state

    def _is_better(self, one: Iterate, other: Iterate) -> bool:
        return is_better(one, other, self.tuning.even)

    def _is_above(self, state: OADMMState) -> bool:
        """Whether the blocks have settled above the best point, by more than they may still fall."""
        now, best = _now(state), state.best
        if now.crit > self.tuning.near * now.scale or state.returns >= self.tuning.most_returns:
            return False
        room = max(now.crit * float(norm(now.point.X)), rounding(now.point.X, now.size))
        return best.objective < now.objective - room

    def _return(self, problem: Problem, state: OADMMState, inner: GuardedState[Any, Any]) -> OADMMState:
        """Begin again at the best point, with a higher penalty."""
        blocks, returns = self.blocks(problem), state.returns + 1
        fast = blocks.restart(problem, inner.fast, state.best)
        for _ in range(returns):
            fast = blocks.tighten(problem, fast)
        attempts = self._finish.begin(problem, state.best)
        return replace(
            state, inner=self.guard(problem, returns).watch(problem, fast), returns=returns, attempts=attempts
        )

    # ------------------------------------------------------------------ what is reported

    def _reported(self, state: OADMMState) -> Iterate:
        """The best point seen; while exploring, where the method is, unless that would pass for a solution."""
        now = _now(state)
        broken = not math.isfinite(now.objective + now.crit)  # which whoever watches has to see
        exploring = state.phase < Phase.SETTLE and now.crit > state.best.crit
        return now if broken or exploring else state.best

    def point(self, state: OADMMState) -> Array:
        return self._reported(state).point.X

    def certificate(self, problem: Problem, state: OADMMState) -> Certificate:
        return self._reported(state).at

    def answer(self, problem: Problem, state: OADMMState) -> Certificate:
        return state.best.at

    def work(self, state: OADMMState) -> int:
        return state.work

    def add_work(self, state: OADMMState, products: int) -> OADMMState:
        return replace(state, work=state.work + products)

    def measured(self, state: OADMMState) -> Measured:
        reported = self._reported(state)
        return Measured(reported.objective, reported.parts)


def _now(state: OADMMState) -> Iterate:
    """Where the method is; what is reported may be an earlier point."""
    return state.inner.now if isinstance(state.inner, GuardedState) else state.inner.at

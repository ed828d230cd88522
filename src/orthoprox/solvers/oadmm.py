"""OADMM: the paper's ADMM made fast, with its own safe iteration behind it. docs/oadmm.md explains the method."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from array_api_compat import array_namespace

from orthoprox._fields import replace, require
from orthoprox._linalg import norm
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.maps import Identity
from orthoprox.problem import Certificate, Point, Problem, criticality
from orthoprox.solvers import _path
from orthoprox.solvers._base import Scope, Solver
from orthoprox.solvers._curvature import local_lipschitz
from orthoprox.solvers._lagrangian import Multiplied, first_penalty, has_newton_steps, multiplied, multiplier_step
from orthoprox.solvers._path import Path, next_level, raised, vanishes
from orthoprox.solvers._penalty import penalties
from orthoprox.solvers._polish import Polished, filled, is_sparse_enough, polish, polishable
from orthoprox.solvers.manial import ManIAL, ManIALState
from orthoprox.solvers.oadmm_ep import OADMMEP, OADMMEPState
from orthoprox.terms import LargestK, Zero

_LONGER = 3  # memory where the blocks are augmented Lagrangian steps, after which Crit goes up and down
_MULTIPLIERS = 5  # steps of the method of multipliers in a block
_PATIENCE = 30  # blocks after which Newton's method is tried in any case; twice as many after a failure
_BLOCKS = 3  # between two weights of the homotopy
_FALLS = 0.99  # of Crit, in a block after which the penalty stays as it is
_WILD = 0.03  # of the gradient: at a larger Crit the iterates are far from settling
_NEAR = 1e-4  # of the gradient: at a smaller Crit they are settling, whatever the penalty
_FAR = 100.0  # times Crit: where Newton's method would begin with more, it has other zeros
_MOST = 2.0  # how far the penalty is raised at most because Crit did not fall


@dataclass(frozen=True, kw_only=True, eq=False)
class OADMMState:
    """Where OADMM is."""

    t: int
    now: Point
    y: Array
    z: Array
    path: Path
    """Where the homotopy in the weight of h is; over from the beginning where there is no g."""
    explored: int
    """How far the penalty has risen, in blocks that did not bring Crit down; all the way where nothing roams."""
    boost: float
    """How much the penalty has been raised because the residual did not fall."""
    crit: float
    """Crit here, with its primal part in units of the gradient; infinite until a block after the homotopy."""
    recent: tuple[float, ...]
    """Crit after the last blocks that were accepted."""
    waited: int
    """Blocks since Newton's method was last tried."""
    tried: float
    """Crit when Newton's method was last tried."""
    reached: float
    """F after that."""
    failures: int
    """How many of its attempts came to nothing."""
    radius: float
    """Of its trust region."""
    paper: OADMMEPState
    """The paper's own method, which goes on by itself whenever a block does not bring Crit down."""
    newton: Multiplied | None
    """For problems whose X-step takes Newton steps."""
    inner: ManIALState | None
    """For problems whose X-step takes gradient steps."""
    steps: int
    """Iterations in all, those within blocks."""


@dataclass(frozen=True, kw_only=True)
class OADMM(Solver[OADMMState]):
    """ADMM with projections, a penalty that fits the problem, and Newton's method on the zeros it finds.

    A step is a block of iterations, or an attempt to finish by Newton's method. Whenever a block does not bring Crit
    down, the paper's own iteration goes on by a block, and the better of the two counts: its theorem still holds.

    Parameters
    ----------
    explore : int
        In so many blocks the penalty rises from a small value, at which the iterates roam and find lower minima, to one
        at which they settle; blocks that bring Crit down do not count. With 0 the method stays near its start: take
        it for warm starts.
    block : int
        Iterations in a block.
    roam, settle : float
        The first penalty in units of the one at which h moves entries by as much as they are large, and the last one
        in units of the curvature that it has to outweigh.
    rounds : int
        Newton steps in an attempt, at most.
    polish : bool
        Whether to try Newton's method.
    homotopy : bool
        Whether to approach a problem with g through that without, its weight rising.
    memory : int
        Crit has to fall below its largest value after this many accepted blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import Critical, Iterations, solve
    >>> from orthoprox.models import sparse_pca
    >>> D = np.random.default_rng(0).standard_normal((40, 12))
    >>> result = solve(sparse_pca(D, n_components=2, weight=0.1), stop=Iterations(200) | Critical(1e-8))
    >>> result.converged, bool((result.X == 0).any())
    (True, True)
    """

    name: ClassVar[str] = "oadmm"
    summary: ClassVar[str] = "OADMM with fitted penalties and Newton steps, guarded by the paper's own"
    complexity: ClassVar[str] = "O(eps^-3)"
    scope: ClassVar[Scope] = Scope()
    compilable: ClassVar[bool] = False

    explore: int = 45
    block: int = 20
    roam: float = 0.45
    settle: float = 0.9
    rounds: int = 15
    polish: bool = True
    homotopy: bool = True
    memory: int = 10

    def __post_init__(self) -> None:
        for name, least in (("explore", 0), ("block", 1), ("rounds", 1), ("memory", 1)):
            require(getattr(self, name) >= least, f"{name} must be at least {least}; given {getattr(self, name)}.")
        sentence = f"roam must be positive and at most settle; given {self.roam} and {self.settle}."
        require(0 < self.roam <= self.settle, sentence)

    def init(self, problem: Problem, X0: Array) -> OADMMState:
        now = problem.at(X0)
        y, z = now.AX, 0.0 * now.AX
        one_step = _one_step(problem)
        by_newton = not one_step and has_newton_steps(problem)
        follow = self.homotopy and one_step and self.explore > 0 and _path.has_path(problem)
        return OADMMState(
            t=0,
            now=now,
            y=y,
            z=z,
            path=_path.first_level(problem) if follow else Path.over(),
            explored=0 if one_step else self.explore,
            boost=1.0,
            crit=math.inf,
            recent=(),
            waited=0,
            tried=math.inf,
            reached=math.inf,
            failures=0,
            radius=0.1 * math.sqrt(problem.M.r),
            paper=OADMMEPState(t=0, now=now, before=now, y=y, z=z, L=_lipschitz(problem, X0)),
            newton=multiplied(problem, now, z, first_penalty(problem, now)) if by_newton else None,
            inner=None if one_step or by_newton else ManIAL().for_problem(problem).init(problem, X0),
            steps=0,
        )

    def step(self, problem: Problem, state: OADMMState) -> OADMMState:
        if not state.path.finished:
            return self._along(problem, state)
        if self._due(problem, state):
            polished = self._polished(problem, state)
            if polished is not None:
                return polished
            state = replace(
                state,
                waited=0,
                tried=min(state.crit, state.tried),
                failures=state.failures + 1,
                radius=max(state.radius, 1e-8),
            )
        if state.crit <= _rounding(problem, state.now):
            return replace(state, t=state.t + 1)  # another block would only lose the zeros again
        return self._guarded(problem, state)

    def _along(self, problem: Problem, state: OADMMState) -> OADMMState:
        """Some blocks without g and with a weaker h, and what weight comes next."""
        path, now, y, z = state.path, state.now, state.y, state.z
        easier = Problem(M=problem.M, f=problem.f, h=path.level * problem.h, A=problem.A)
        for _ in range(_BLOCKS):
            _, beta, turns = penalties(easier, now, z, self.roam, self.settle)
            now, y, z = self._block(easier, now, y, z, beta, turns)
        steps = state.steps + _BLOCKS * self.block
        if not path.closing:
            following = next_level(path, problem, y)
        else:
            there = replace(state, now=now, y=y, z=z)
            found = self._newton(easier, there, False) if polishable(problem) else None
            if found is not None:
                now, y, z, steps = found.point, found.point.X, found.z, steps + found.products
            done = found is not None and vanishes(problem, y)
            if isinstance(problem.g, LargestK):
                done = done and is_sparse_enough(problem, y)
            # No orthonormal matrix has a column of zeros, and more weight would only make more of them.
            done = done or _path.has_empty_column(y)
            following = Path.over() if done else raised(path, exact=found is not None)
        if following.finished:
            now, y, z = _path.refilled(problem, now, y, z)
        if following.finished and vanishes(problem, y):
            # On the entries that are left z takes back what dg takes away; elsewhere it stays a multiplier for f.
            # Roaming would lose them again.
            z = z + problem.g.subgradient(y)
            state = replace(state, explored=self.explore)
        else:
            low, high = (following.level * bound for bound in problem.h.subdifferential(0.0 * y))  # type: ignore[attr-defined]
            z = array_namespace(z).clip(z * (following.level / path.level), low, high)
        crit = _crit(problem, now, y, z) if following.finished else math.inf
        return replace(state, t=state.t + 1, now=now, y=y, z=z, crit=crit, path=following, steps=steps)

    def _block(
        self, problem: Problem, now: Point, y: Array, z: Array, beta: float, turns: bool
    ) -> tuple[Point, Array, Array]:
        """OADMM-EP for A = I and concave f, which is below its linearisation: no proximal term, and no smoothing."""
        f, g, h, M = problem.f, problem.g, problem.h, problem.M
        with_g = not isinstance(g, Zero)
        for _ in range(self.block):
            G = f.gradient_at(now.X, now.HX)
            W = beta * y - z
            if with_g:
                # At y, which has exact zeros: at X the k largest of fewer entries would include rounding errors.
                W = W + g.subgradient(y)
            if turns:
                # f(XQ) = f(X): linearised where XQ is nearest to W, it does not hold X back from turning.
                G = G @ M.project(now.X.T @ W)
            X = M.project(W - G)
            u = X + z / beta
            y = h.prox(u, 1 / beta)
            z = beta * (u - y)
            now = Point(X, f.product(X), X)
        return now, y, z

    def _guarded(self, problem: Problem, state: OADMMState) -> OADMMState:
        """A fast block; if it does not bring Crit down, one of the paper's as well, and the better of the two."""
        roaming, newton, inner = state.explored < self.explore, state.newton, state.inner
        if newton is not None:
            before = newton.products
            tolerance = 1e-3 * min(state.recent, default=0.0)
            for _ in range(_MULTIPLIERS):
                newton = multiplier_step(problem, newton, tolerance)
            now, y, z, steps = newton.now, newton.y, newton.z, newton.products - before
        elif inner is not None:
            before = inner.inner
            inner = ManIAL().for_problem(problem).step(problem, inner)
            now, y, z, steps = inner.now, inner.Y, -1.0 * inner.Z, inner.inner - before
        else:
            found = penalties(problem, state.now, state.z, self.roam, self.settle)
            beta = state.boost * found.at(state.explored / self.explore if self.explore else 1.0)
            now, y, z = self._block(problem, state.now, state.y, state.z, beta, found.turns)
            steps = self.block
        crit = _crit(problem, now, y, z)
        new = replace(
            state,
            t=state.t + 1,
            now=now,
            y=y,
            z=z,
            crit=crit,
            explored=state.explored + self._rises(problem, state, now, crit),
            waited=0 if roaming else state.waited + 1,
            steps=state.steps + steps,
            newton=newton,
            inner=inner,
        )
        if roaming:
            return new
        direct = newton is None and inner is None
        memory = self.memory if direct else _LONGER * self.memory
        if len(state.recent) < memory or crit < 0.999 * max(state.recent):
            return replace(new, recent=(*state.recent, crit)[-memory:])
        return self._safe(problem, state, new)

    def _rises(self, problem: Problem, state: OADMMState, now: Point, crit: float) -> bool:
        """Whether the next penalty is higher: where Crit does not fall by itself and the iterates roam or are wild."""
        if state.explored >= 2 * self.explore or crit < _FALLS * state.crit:
            return False
        if state.explored < self.explore or not _one_step(problem):
            return state.explored < self.explore
        return crit > _WILD * float(norm(problem.f.gradient_at(now.X, now.HX)))

    def _safe(self, problem: Problem, state: OADMMState, new: OADMMState) -> OADMMState:
        """A block of OADMM-EP as the paper has it, from where that stood, and the better of the two."""
        method = OADMMEP().for_problem(problem)
        paper = state.paper
        if paper.t == 0:
            paper = replace(paper, now=state.now, before=state.now, y=state.y, z=state.z)
        for _ in range(self.block):
            paper = method.step(problem, paper)
        reached = method.certificate(problem, paper)
        crit = _crit(problem, paper.now, reached.y, reached.z)
        if crit < new.crit:
            new = _restarted(new, paper.now, reached.y, reached.z, crit)
        return replace(
            new, paper=paper, boost=min(1.2 * state.boost, _MOST), recent=state.recent[1:], steps=new.steps + self.block
        )

    def _due(self, problem: Problem, state: OADMMState) -> bool:
        """Whether to try Newton's method: when Crit is small, or much smaller than the last time, or after a while."""
        if not self.polish or not polishable(problem):
            return False
        if _on_k_entries(problem, state) or state.radius == 0:
            return True
        roaming = state.explored < self.explore
        if state.waited == 0 and not roaming:
            return False
        first = (_NEAR if roaming else 1e-3) * float(norm(problem.f.gradient_at(state.now.X, state.now.HX)))
        patience = _PATIENCE * (2 if state.failures else 1)
        return state.crit <= min(0.2 * state.tried, first) or state.waited > patience

    def _newton(self, problem: Problem, state: OADMMState, free: bool) -> Polished | None:
        now, y = state.now, state.y
        least, on = max(state.radius, 0.02 * math.sqrt(problem.M.r)), filled(problem, now, y) if free else None
        enough, largest = _rounding(problem, now), math.inf if free else _FAR * state.crit
        return polish(
            problem, y, state.z, radius=least, rounds=self.rounds, tolerance=enough, on=on, free=free, largest=largest
        )

    def _polished(self, problem: Problem, state: OADMMState) -> OADMMState | None:
        free = _on_k_entries(problem, state)
        found = self._newton(problem, state, free)
        if found is None:
            return None
        value, reached = float(problem.objective(state.now)), float(problem.objective(found.point))
        if reached > value and found.residual > 0.5 * state.crit:
            return None  # the zeros of y were not yet the right ones
        finished = free and (found.steps < self.rounds or found.radius < 1e-8)
        # On the k entries f is least already: all that is missing is Crit.
        goes_on = not free and state.radius == 0 and reached >= value and found.residual < 0.5 * state.crit
        # Where Newton's method gets further than blocks of the same cost and than last time, it is soon tried again.
        last = value if math.isinf(state.reached) else state.reached
        blocks = found.products / (self.block * max(state.waited, 1))
        further = value - reached > blocks * max(last - value, 0.0) and last - reached > 0.1 * (value - reached)
        productive = found.steps >= self.rounds and further
        if not (productive or free or goes_on) and found.residual > state.crit:
            return None
        return replace(
            _restarted(state, found.point, found.point.AX, found.z, found.residual),
            t=state.t + 1,
            recent=(*state.recent, found.residual)[1:],
            waited=_PATIENCE * (2 if state.failures else 1) if productive else 0,
            tried=min(state.crit, state.tried),
            reached=reached,
            radius=0.0 if finished or goes_on else max(found.radius, 1e-8),
            steps=state.steps + found.products,
        )

    def point(self, state: OADMMState) -> Array:
        return state.now.X

    def certificate(self, problem: Problem, state: OADMMState) -> Certificate:
        return Certificate(state.now, state.y, state.z)


def _one_step(problem: Problem) -> bool:
    """Whether one projection does for an X-step: A = I, and f lies below its linearisations."""
    return isinstance(problem.A, Identity) and problem.f.upper_curvature == 0


def _on_k_entries(problem: Problem, state: OADMMState) -> bool:
    """Whether h - g vanishes, and f has not yet been minimised on the k entries that are left.

    Where that has been done and Crit is not small, the weight does not keep the others at zero: they may enter then.
    """
    return state.radius > 0 and is_sparse_enough(problem, state.y)


def _lipschitz(problem: Problem, X: Array) -> Scalar:
    L = problem.f.lipschitz
    return local_lipschitz(problem, X) if L is None else L


def _crit(problem: Problem, now: Point, y: Array, z: Array) -> float:
    """Crit, with its primal part in units of the gradient: then all of it grows with the objective."""
    parts = criticality(problem, Certificate(now, y, z))
    size = float(norm(now.AX))
    unit = float(norm(problem.f.gradient_at(now.X, now.HX))) / size if size > 0 else 0.0
    return (unit or 1.0) * parts.primal + parts.dual + parts.stationarity


def _rounding(problem: Problem, now: Point) -> float:
    """What Crit cannot fall below."""
    scale = float(norm(problem.f.gradient_at(now.X, now.HX))) or 1.0
    return 64 * backend_of(now.X).eps(now.X) * scale


def _restarted(state: OADMMState, now: Point, y: Array, z: Array, crit: float) -> OADMMState:
    """The same state at another point, which the inner methods have to know too."""
    newton, inner = state.newton, state.inner
    if newton is not None:
        newton = replace(newton, now=now, y=y, z=z, gap=math.inf)
    if inner is not None:
        inner = replace(inner, now=now, Y=y, Z=-1.0 * z, t=inner.t + 1)
    return replace(state, now=now, y=y, z=z, crit=crit, newton=newton, inner=inner)

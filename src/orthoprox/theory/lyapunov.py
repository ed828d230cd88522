"""The Lyapunov function of section 4, the sequence e^t and the ergodic mean of Crit, along a run of OADMM."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from orthoprox._linalg import norm
from orthoprox.driver import History, Snapshot
from orthoprox.problem import Problem
from orthoprox.solvers import OADMMEP, OADMMRR
from orthoprox.solvers._augmented import lagrangian, smooth_part_gradient
from orthoprox.solvers._schedules import growing_penalty


@dataclass(frozen=True)
class Constants:
    """The constants of section 4 for a method on a problem.

    They are the paper's, which are right for every sigma in [1, 2), except for ``epsilon_x``. For OADMM-EP it is
    larger: the paper's is some 1e-12 times ``|A|^2`` at the default alpha. For OADMM-RR it is that of a step whose
    first trial is accepted, and every trial refused multiplies it by gamma. ``docs/theory.md`` has the proofs.
    ``epsilon_beta`` may be any positive number.
    """

    epsilon_beta: float
    epsilon_x: float
    epsilon_y: float
    epsilon_z: float
    c: float

    @classmethod
    def of(cls, solver: OADMMEP | OADMMRR, problem: Problem) -> Constants:
        """Computed from the settings, C_h and the norm of A."""
        s, C_h = solver, problem.h.lipschitz_constant(problem.shape)
        epsilon_beta = 0.01 * s.tau * C_h**2
        sigma_2 = 12 * s.sigma**2 / (s.p * (2 - s.sigma) ** 2) * C_h**2
        if isinstance(s, OADMMEP):
            share = (s.theta - 1) * (1 - s.alpha) - (1 + s.xi) * s.alpha * (1 + s.theta)
            epsilon_x = share * problem.A.norm**2 / 2
        else:
            least_b = 1.0 if s.length == "fixed" else min(1.0, s.b_range[0])
            epsilon_x = s.delta * least_b * min(1.0, 2 * s.rho) ** 2
        return cls(
            epsilon_beta=epsilon_beta,
            epsilon_x=epsilon_x,
            epsilon_y=(2 - s.sigma) / 8,
            epsilon_z=1 / 4,
            c=epsilon_beta + s.tau * C_h**2 + 2 / s.sigma * sigma_2,
        )


class Lyapunov:
    """An observer for any run of OADMM-EP or OADMM-RR.

    After the run ``history`` has a row for every iteration t >= 1 with the columns

    - ``theta`` and its parts ``lagrangian``, ``c_over_beta``, ``momentum`` (P^t), ``relaxation`` (D^t);
    - ``B, X, Y, Z`` and their sum ``e`` (the sequence e^t);
    - ``decrease``, theta at t - 1 minus theta at t (NaN in the first row), and ``required``, the
      least decrease that Lemmas 4.7(a) and 4.12(a) promise of a solver with ``strict_theory``;
    - ``criticality`` and ``mean_criticality``, its ergodic mean, which Theorems 4.8 and 4.13 bound by
      a constant times T^(-1/3);
    - ``trials`` of the line search (0 for OADMM-EP).

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import solve, Iterations
    >>> from orthoprox.models import sparse_pca
    >>> from orthoprox.theory import Lyapunov
    >>> D = np.random.default_rng(0).standard_normal((40, 10))
    >>> watch = Lyapunov()
    >>> result = solve(sparse_pca(D, n_components=2, weight=0.1), "oadmm-ep", stop=Iterations(30), observers=[watch])
    >>> bool((watch.history.decrease[1:] > 0).all())
    True
    """

    def __init__(self) -> None:
        self.rows: dict[str, list[float]] = {}
        self._before: Any = None
        self._constants: Constants | None = None
        self._sum = 0.0

    @property
    def history(self) -> History:
        return History(self.rows)

    def __call__(self, now: Snapshot) -> None:
        solver = now.solver
        if not isinstance(solver, (OADMMEP, OADMMRR)):
            raise TypeError(f"Lyapunov watches runs of oadmm-ep and oadmm-rr; given {solver.name}.")
        before, self._before = self._before, now.state
        if before is not None and now.t == before.t + 1:
            self._add(self._measure(now, solver, before))

    def _measure(self, now: Snapshot, solver: OADMMEP | OADMMRR, before: Any) -> dict[str, float]:
        problem, state, t = now.problem, now.state, now.t
        if self._constants is None:
            self._constants = Constants.of(solver, problem)
        k = self._constants
        beta_prev, beta = (growing_penalty(solver.beta0, solver.xi, solver.p, i) for i in (t - 1, t))
        B = math.sqrt((1 / beta_prev - 1 / beta) / beta_prev)
        X, momentum, epsilon_x = _x_part(solver, problem, before, state, (beta_prev, beta), k.epsilon_x)
        Y = float(norm(state.y - before.y))
        Z = float(norm(state.now.AX - state.y))
        relaxation = 2 * beta_prev * (solver.sigma - 1) / (2 - solver.sigma) * (solver.sigma * Z) ** 2
        L = float(lagrangian(problem, state.now, state.y, state.z, beta, solver.tau))
        theta = L + k.c / beta + momentum + relaxation
        last = self.rows["theta"][-1] if self.rows.get("theta") else math.nan
        required = beta_prev * (k.epsilon_beta * B**2 + k.epsilon_z * Z**2 + k.epsilon_y * Y**2 + epsilon_x * X**2)
        self._sum += now.criticality
        return {
            "iteration": t,
            "theta": theta,
            "lagrangian": L,
            "c_over_beta": k.c / beta,
            "momentum": momentum,
            "relaxation": relaxation,
            "B": B,
            "X": X,
            "Y": Y,
            "Z": Z,
            "e": B + X + Y + Z,
            "decrease": last - theta,
            "required": required,
            "criticality": now.criticality,
            "mean_criticality": self._sum / (len(self.rows.get("theta", ())) + 1),
            "trials": int(getattr(state, "trials", 0)),
        }

    def _add(self, row: dict[str, float]) -> None:
        for name, value in row.items():
            self.rows.setdefault(name, []).append(value)


def _x_part(
    solver: OADMMEP | OADMMRR, problem: Problem, before: Any, state: Any, beta: tuple[float, float], epsilon_x: float
) -> tuple[float, float, float]:
    """X of e^t, P^t, and the epsilon_x of the step from ``before`` to ``state``, whose penalties are ``beta``."""
    if isinstance(solver, OADMMEP):
        moved = float(norm(state.now.X - before.now.X))
        ell = beta[1] * problem.A.norm**2 + float(state.L)
        return moved, solver.alpha * (solver.theta + 1) * ell / 2 * moved**2, epsilon_x
    G = smooth_part_gradient(problem, before.now, before.y, before.z, beta[0]) - problem.g.subgradient(before.now.X)
    size = float(norm(problem.M.tangent(before.now.X, G))) / beta[1]
    return size, 0.0, epsilon_x * solver.gamma ** (int(state.trials) - 1)

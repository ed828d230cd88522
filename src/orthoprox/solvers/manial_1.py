"""ManIAL, option I: an augmented Lagrangian whose X-step is exact up to a falling tolerance.

K. Deng, J. Hu, J. Wu, Z. Wen, "Oracle complexities of augmented Lagrangian methods for nonsmooth manifold
optimization", arXiv 2404.05121, 2024.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from orthoprox._fields import replace
from orthoprox._types import Array
from orthoprox.problem import Certificate, Problem
from orthoprox.solvers._base import Scope, Solver
from orthoprox.solvers._manial import (
    ManIALState,
    check_manial,
    manial_certificate,
    manial_init,
    manial_step,
    open_settings,
)


@dataclass(frozen=True, kw_only=True)
class ManIAL1(Solver[ManIALState]):
    """An inexact augmented Lagrangian method on the manifold, its inner tolerance halved at every iteration.

    The X-step minimises ``f(X) + h(Y) + nu/2 |A(X) - Z/nu - Y|^2``, Y its prox, by Riemannian gradient steps of
    Barzilai-Borwein length. With g present, its linearisation at the last point stands in for it: an extension.

    Parameters
    ----------
    nu0 : float, optional
        The first penalty; ``L_f / |A|^2`` by default.
    rho : float
        The factor by which the penalty grows when the residual shrinks by less than tau, and by which it falls when
        only stationarity is missing.
    tau : float
    tol : float, optional
        The relative residual that counts as small in that rule; 1e-10 n r by default.
    most_inner : int
        Inner steps in an iteration, at most.
    least_gradient : float
        The inner tolerance 2^-k does not fall below this.
    dual_step : {"classical", "damped"}
        The multiplier moves by the penalty times the residual, or by less, as in the analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import named, solve, Iterations
    >>> from orthoprox.models import sparse_pca
    >>> D = np.random.default_rng(0).standard_normal((40, 12))
    >>> result = solve(sparse_pca(D, n_components=2, weight=0.1), named("manial-1"), stop=Iterations(10))
    >>> result.iterations, result.state.inner > 10
    (10, True)
    """

    name: ClassVar[str] = "manial-1"
    summary: ClassVar[str] = "augmented Lagrangian with Riemannian inner steps, tolerance 2^-k"
    complexity: ClassVar[str] = "O(eps^-3)"
    scope: ClassVar[Scope] = Scope(unproved=frozenset({"concave", "weakly_convex"}))
    compilable: ClassVar[bool] = False

    nu0: float | None = None
    rho: float = 1.8
    tau: float = 0.8
    tol: float | None = None
    most_inner: int = 100
    least_gradient: float = 1e-6
    dual_step: Literal["classical", "damped"] = "classical"

    def __post_init__(self) -> None:
        check_manial(self)

    def for_problem(self, problem: Problem) -> Self:
        self.scope.admit(problem, self.name)
        return replace(self, **open_settings(self, problem))

    def init(self, problem: Problem, X0: Array) -> ManIALState:
        return manial_init(self, problem, X0)

    def step(self, problem: Problem, state: ManIALState) -> ManIALState:
        tolerance = max(2.0 ** -(state.t + 1), self.least_gradient)
        return manial_step(self, problem, state, tolerance=tolerance, most=self.most_inner)

    def point(self, state: ManIALState) -> Array:
        return state.now.X

    def certificate(self, problem: Problem, state: ManIALState) -> Certificate:
        return manial_certificate(state)

"""The simplest sparse components, which no penalty may end below."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orthoprox._fields import replace
from orthoprox.driver import Result, Status
from orthoprox.estimators._input import Samples
from orthoprox.estimators._spread import standard_deviations
from orthoprox.estimators._stages import run_stages
from orthoprox.problem import Problem


def try_single_features(estimator: Any, data: Samples, problem: Problem, result: Result[Any]) -> Result[Any]:
    """The result, or what a run from the features of largest variance finds where these alone are better.

    A heavy penalty holds a run at whatever features it comes to first.
    """
    X = np.zeros_like(result.X)
    X[np.argsort(-standard_deviations(data), kind="stable")[: problem.M.r], np.arange(problem.M.r)] = 1.0
    least = float(problem.objective(problem.at(X)))
    if result.status is Status.INTERRUPTED or not least < result.objective - 1e-12 * abs(result.objective):
        return result
    stages = estimator._stages(data, problem, X, warm=True)
    again = run_stages(stages, X, lambda run: estimator._finish(data, problem, run), verbose=bool(estimator.verbose))
    best = min(result, again, key=lambda run: math.inf if math.isnan(run.objective) else run.objective)
    return replace(best, status=Status.INTERRUPTED) if again.status is Status.INTERRUPTED else best

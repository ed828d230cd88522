"""Run by .ci/release.py with the built wheel, in an environment that has only its dependencies."""

from __future__ import annotations

import importlib.resources
import importlib.util
from pathlib import Path

import numpy as np

import orthoprox
from orthoprox import Problem, Stiefel, solve
from orthoprox.terms import L1, ExplainedVariance

assert not Path(orthoprox.__file__).is_relative_to(Path(__file__).parents[1]), "These are the sources, not the wheel."
assert importlib.resources.files(orthoprox).joinpath("py.typed").is_file(), "The wheel lacks py.typed."
assert importlib.util.find_spec("click") is None, "This environment was meant to have no extras."
B = np.random.default_rng(0).standard_normal((30, 8))
problem = Problem.of(ExplainedVariance(B) + 5.0 * L1(), over=Stiefel(8, 2))
result = solve(problem, "oadmm-ep", seed=0)
gap = np.linalg.norm(result.X.T @ result.X - np.eye(2))
assert gap < 1e-10, f"The columns of the solution are orthonormal only to {gap}."
print(f"The wheel solves a small sparse PCA: objective {float(result.objective):.4f}.")

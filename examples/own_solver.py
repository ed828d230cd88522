"""How does a method of your own do beside the library's?
======================================================

A solver is settings, a scope and one step. This one takes projected gradient steps on a smoothed h, and the command
``orthoprox compare`` runs it beside others: ``python examples/own_solver.py [options of orthoprox compare]``.
"""

import sys
from typing import NamedTuple

from orthoprox import SOLVERS, Solver
from orthoprox.cli.main import command
from orthoprox.problem import Certificate, Point
from orthoprox.solvers import Scope


class Where(NamedTuple):
    t: int
    at: Point


class Smoothed(Solver):
    name, summary, complexity, scope = "smoothed", "projected gradient steps, h smoothed", "unknown", Scope()
    mu = 1e-2

    def init(self, problem, X0):
        return Where(0, problem.at(X0))

    def step(self, problem, state):
        X, z = state.at.X, self.certificate(problem, state).z
        G = problem.f.gradient(X) - problem.g.subgradient(X) + problem.A.adjoint(z)
        length = 1 / (problem.f.lipschitz + problem.A.norm**2 / self.mu)
        return Where(state.t + 1, problem.at(problem.M.project(X - length * G)))

    def point(self, state):
        return state.at.X

    def certificate(self, problem, state):
        y = problem.h.prox(state.at.AX, self.mu)
        return Certificate(state.at, y, (state.at.AX - y) / self.mu)


SOLVERS["smoothed"] = Smoothed()  # from here on solve(problem, "smoothed") knows it; other programs name the file
if __name__ == "__main__":
    command(["compare", "digits-500-40", "oadmm", "oadmm-ep", f"{__file__}:Smoothed", *sys.argv[1:]])

# sphinx_gallery_thumbnail_path = 'reproduction/figure1-k0.1-seconds.png'

# %%
# The site does not run this script, which compares for a while. It prints a table, and draws curves such as these of
# the paper's methods:
#
# .. image:: /reproduction/figure1-k0.1-seconds.png
#    :alt: The objective of several methods over time

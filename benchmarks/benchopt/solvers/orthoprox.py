"""The methods of orthoprox at their defaults, each from the same start, a step between two measurements."""

from benchopt import BaseSolver

from orthoprox import iterate, named
from orthoprox.models import sparse_pca


class Solver(BaseSolver):
    name = "orthoprox"
    requirements = ["pip::orthoprox"]
    sampling_strategy = "callback"
    parameters = {"method": ["oadmm", "oadmm-ep", "oadmm-rr", "radmm", "manpg-ada", "spgm-rr", "madmm", "socm"]}
    references = [
        "G. Yuan, ADMM for Nonsmooth Composite Optimization under Orthogonality Constraints, arXiv:2405.15129, 2024"
    ]

    def set_objective(self, D, weight, X0):
        self.problem = sparse_pca(D, n_components=X0.shape[1], weight=weight)
        self.solver = named(self.method).for_problem(self.problem)
        self.X0 = X0

    def run(self, callback):
        self.X = self.X0
        for state in iterate(self.problem, self.solver, self.solver.init(self.problem, self.X0)):
            self.X = self.solver.point(state)
            if not callback() or self.solver.finished(state):
                break

    def get_result(self):
        return {"X": self.X}

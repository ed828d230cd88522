"""The Riemannian subgradient method in plain NumPy: what a few lines reach without this library.

X. Li, S. Chen, Z. Deng, Q. Qu, Z. Zhu, A. M.-C. So, "Weakly convex optimization over Stiefel manifold using Riemannian
subgradient-type methods", SIAM Journal on Optimization 31, 2021.
"""

import numpy as np
from benchopt import BaseSolver


class Solver(BaseSolver):
    name = "subgradient"
    requirements = ["numpy"]
    sampling_strategy = "callback"
    parameters = {"first": [0.1, 1.0]}

    def set_objective(self, D, weight, X0):
        self.D, self.weight, self.X0 = D, weight, X0

    def run(self, callback):
        self.X, t, L = self.X0, 0, np.linalg.norm(self.D, 2) ** 2 / len(self.D)
        while callback():
            G = self.weight * np.sign(self.X) - self.D.T @ (self.D @ self.X) / len(self.D)
            S = self.X.T @ G
            t += 1
            U, _, Vt = np.linalg.svd(
                self.X - self.first / L / np.sqrt(t) * (G - self.X @ (S + S.T) / 2), full_matrices=False
            )
            self.X = U @ Vt

    def get_result(self):
        return {"X": self.X}

"""Sparse PCA on the Stiefel manifold, for benchopt: F(X) = (|D|^2 - |DX|^2) / (2 m) + weight |X|_1 over X'X = I.

Evaluated here with NumPy alone, whatever a solver says of itself, and at the orthonormal matrix nearest to its answer.
"""

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    name = "Sparse PCA over X'X = I"
    min_benchopt_version = "1.7"
    requirements = ["numpy"]
    parameters = {"weight": [0.1, 0.5], "n_components": [5]}

    def set_data(self, D):
        """Columns of mean 0 and variance 1 make one weight fit all data."""
        self.D = D
        m, n = D.shape
        self.X0 = np.linalg.qr(np.random.default_rng(0).standard_normal((n, self.n_components)))[0]
        self.offset = np.sum(D**2) / (2 * m)

    def get_objective(self):
        return {"D": self.D, "weight": self.weight, "X0": self.X0}

    def get_one_result(self):
        return {"X": self.X0}

    def evaluate_result(self, X):
        U, _, Vt = np.linalg.svd(X, full_matrices=False)
        P = U @ Vt
        smooth = self.offset - np.sum((self.D @ P) ** 2) / (2 * len(self.D))
        return {
            "value": smooth + self.weight * np.sum(np.abs(P)),
            "infeasibility": np.linalg.norm(X.T @ X - np.eye(X.shape[1])),
            "nonzeros": int(np.count_nonzero(np.abs(P) > 1e-8)),
        }

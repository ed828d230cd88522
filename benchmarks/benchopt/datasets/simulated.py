"""A few sparse directions in noise."""

import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    name = "simulated"
    parameters = {"n_samples, n_features": [(100, 20), (300, 200), (1000, 500)], "seed": [0]}

    def get_data(self):
        rng = np.random.default_rng(self.seed)
        m, n = self.n_samples, self.n_features
        L = rng.standard_normal((n, 5)) * (rng.random((n, 5)) < 0.1)
        X = 2 * rng.standard_normal((m, 5)) @ L.T + rng.standard_normal((m, n))
        return {"D": (X - X.mean(axis=0)) / X.std(axis=0)}

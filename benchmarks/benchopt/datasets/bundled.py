"""Data that ship with scikit-learn, standardised, constant features left out."""

from benchopt import BaseDataset
from sklearn import datasets


class Dataset(BaseDataset):
    name = "bundled"
    requirements = ["scikit-learn"]
    parameters = {"data": ["wine", "breast_cancer", "digits"]}

    def get_data(self):
        X = getattr(datasets, f"load_{self.data}")().data.astype(float)
        X = X[:, X.std(axis=0) > 1e-12]
        return {"D": (X - X.mean(axis=0)) / X.std(axis=0)}

"""Data for experiments, by name. ``DATASETS`` has a line for every set."""

from __future__ import annotations

from os import PathLike

from orthoprox.datasets._base import Data, Dataset
from orthoprox.datasets._errors import DataDamaged, DataUnavailable
from orthoprox.datasets._load import loaded
from orthoprox.datasets.arabidopsis import ARABIDOPSIS
from orthoprox.datasets.digits import DIGITS
from orthoprox.datasets.files import read_matrix
from orthoprox.datasets.leukemia import LEUKEMIA
from orthoprox.datasets.mnist import MNIST
from orthoprox.datasets.randn import RANDN
from orthoprox.datasets.sector import SECTOR
from orthoprox.datasets.tdt2 import TDT2

__all__ = ["DATASETS", "Data", "DataDamaged", "DataUnavailable", "Dataset", "load", "read_matrix"]

DATASETS: dict[str, Dataset] = {
    "randn": RANDN,
    "digits": DIGITS,
    "mnist": MNIST,
    "tdt2": TDT2,
    "sector": SECTOR,
    "arabidopsis": ARABIDOPSIS,
    "leukemia": LEUKEMIA,
}
"""Every dataset by its name."""


def load(
    name: str,
    *,
    samples: int | None = None,
    features: int | None = None,
    seed: int = 0,
    folder: str | PathLike[str] | None = None,
    raw: bool = False,
    check: bool = True,
) -> Data:
    """Data by name, prepared as in the paper's experiments.

    Rows are chosen at random; columns that are zero in all of them are dropped; columns are chosen from the rest,
    scaled to unit length, and centred. (Gene expressions are centred first and then scaled, and no column is
    dropped, as in the runs whose values are published.) What is not asked for is taken whole.

    Parameters
    ----------
    name : str
        A name in ``DATASETS``, with the number of samples and features behind it if you like: ``mnist-1500-500``.
    samples, features : int, optional
        The same numbers as arguments.
    seed : int
        For the choice, or for the numbers themselves where they are random.
    folder : path, optional
        Where the files are; by default the folder in the environment variable ``ORTHOPROX_DATA``. A folder that is
        named is the only place where we look. Without one, files are downloaded once and kept in a cache.
    raw : bool
        Neither scale nor centre; sparse data stay sparse.
    check : bool
        Refuse a file whose checksum is not the known one.

    Returns
    -------
    Data
        The array is ``X``, samples in rows.

    Raises
    ------
    DataUnavailable
        When the files are not there and cannot be downloaded; ``DataDamaged`` when they are not what they should be.

    Examples
    --------
    >>> from orthoprox.datasets import load
    >>> data = load("randn-200-50", seed=1)
    >>> data.X.shape
    (200, 50)
    >>> bool(abs(data.X.mean(axis=0)).max() < 1e-15)
    True
    """
    return loaded(DATASETS, name, samples=samples, features=features, seed=seed, folder=folder, raw=raw, check=check)

"""Data for experiments, by name. ``DATASETS`` has a line for every set."""

from __future__ import annotations

from os import PathLike

from orthoprox.datasets._base import DataMatrix, Dataset
from orthoprox.datasets._errors import DataDamaged, DataUnavailable
from orthoprox.datasets._load import load_dataset, why_unavailable_in
from orthoprox.datasets.arabidopsis import ARABIDOPSIS
from orthoprox.datasets.digits import DIGITS
from orthoprox.datasets.files import read_matrix
from orthoprox.datasets.leukemia import LEUKEMIA
from orthoprox.datasets.mnist import MNIST
from orthoprox.datasets.pitprops import pitprops
from orthoprox.datasets.randn import RANDN
from orthoprox.datasets.sector import SECTOR
from orthoprox.datasets.tdt2 import TDT2

__all__ = [
    "DATASETS",
    "DataDamaged",
    "DataMatrix",
    "DataUnavailable",
    "Dataset",
    "load",
    "pitprops",
    "read_matrix",
    "why_unavailable",
]

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
) -> DataMatrix:
    """Data by name, prepared as in the paper's experiments.

    Rows are chosen at random; columns that are zero in all of them are dropped; columns are chosen from the rest,
    scaled to unit length, and centred. (Gene expressions are centred first and then scaled, and no column is
    dropped, as in the published runs.) Without ``samples`` or ``features`` all of them are taken.

    Parameters
    ----------
    name : str
        A name in ``DATASETS``, optionally followed by the numbers of samples and features: ``mnist-1500-500``.
    samples, features : int, optional
        The same numbers as arguments.
    seed : int
        For the choice, or for the numbers themselves where they are random.
    folder : path, optional
        Where the files are; by default the folder in the environment variable ``ORTHOPROX_DATA``. Files are looked
        for there and nowhere else. Without a folder they are downloaded once and kept in a cache.
    raw : bool
        Neither scale nor centre; sparse data stay sparse.
    check : bool
        Refuse a file whose checksum is not the known one.

    Returns
    -------
    DataMatrix
        The array is ``X``, samples in rows.

    Raises
    ------
    DataUnavailable
        When files are missing and cannot be downloaded; ``DataDamaged`` when their checksums are wrong.

    Examples
    --------
    >>> from orthoprox.datasets import load
    >>> data = load("randn-200-50", seed=1)
    >>> data.X.shape
    (200, 50)
    >>> bool(abs(data.X.mean(axis=0)).max() < 1e-15)
    True
    """
    return load_dataset(
        DATASETS, name, samples=samples, features=features, seed=seed, folder=folder, raw=raw, check=check
    )


def why_unavailable(name: str, *, folder: str | PathLike[str] | None = None) -> str | None:
    """Look for the files of a dataset, without reading them.

    Parameters
    ----------
    name, folder
        As for ``load``. Without a folder, files that are not in the cache are downloaded.

    Returns
    -------
    str or None
        A sentence that says what is missing; None where the dataset can be loaded.

    Examples
    --------
    >>> import tempfile
    >>> from orthoprox.datasets import why_unavailable
    >>> why_unavailable("randn-200-50") is None
    True
    >>> why_unavailable("mnist-1500-500", folder=tempfile.mkdtemp())
    '...has neither mnist_train_60k.npz nor train-images-idx3-ubyte.gz...'
    """
    return why_unavailable_in(DATASETS, name, folder)

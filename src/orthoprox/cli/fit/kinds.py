"""The estimators that ``orthoprox fit`` knows. ``KINDS`` has a line for every one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orthoprox._extras import extra


@dataclass(frozen=True)
class Kind:
    """An estimator: its class, what it finds, and what it can take."""

    name: str
    summary: str
    blocks: bool = False
    """Whether it reads samples in blocks."""

    nonnegative: bool = False
    """Whether features must stay nonnegative, so that standardised ones are not centred."""

    centres: bool = True
    """Whether the estimator centres features itself."""

    @property
    def estimator(self) -> Any:
        """The class itself; scikit-learn is imported here."""
        extra("sklearn", "fit", "orthoprox fit")
        import orthoprox

        return getattr(orthoprox, self.name)


KINDS: dict[str, Kind] = {
    "sparse-pca": Kind("SparsePCA", "principal components with few nonzero loadings", blocks=True),
    "nonnegative-pca": Kind("NonnegativePCA", "groups of features that rise and fall together", blocks=True),
    "orthogonal-nmf": Kind(
        "OrthogonalNMF", "clusters of samples by direction, of data >= 0", nonnegative=True, centres=False
    ),
    "robust-subspace": Kind("RobustSubspace", "principal components that outliers do not sway"),
    "dual-pcp": Kind("DualPCP", "equations that most samples satisfy, and which do not"),
    "range-ica": Kind("RangeICA", "independent sources of bounded signals"),
    "dictionary": Kind("OrthogonalDictionaryLearning", "orthonormal atoms in which samples are sparse", centres=False),
}

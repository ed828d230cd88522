"""The problem, its composition language and what is measured on it."""

from orthoprox.problem.measures import (
    Certificate,
    Criticality,
    Numbers,
    Sizes,
    criticality,
    distances,
    nonzeros,
    numbers,
    relative_criticality,
    shares,
    sparsity,
)
from orthoprox.problem.point import Point, extrapolate
from orthoprox.problem.problem import Problem

__all__ = [
    "Certificate",
    "Criticality",
    "Numbers",
    "Point",
    "Problem",
    "Sizes",
    "criticality",
    "distances",
    "extrapolate",
    "nonzeros",
    "numbers",
    "relative_criticality",
    "shares",
    "sparsity",
]

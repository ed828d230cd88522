"""The problem, its composition language and what is measured on it."""

from orthoprox.problem.measures import (
    Certificate,
    Criticality,
    criticality,
    nonzeros,
    relative_criticality,
    sparsity,
)
from orthoprox.problem.point import Point, extrapolate
from orthoprox.problem.problem import Problem

__all__ = [
    "Certificate",
    "Criticality",
    "Point",
    "Problem",
    "criticality",
    "extrapolate",
    "nonzeros",
    "relative_criticality",
    "sparsity",
]

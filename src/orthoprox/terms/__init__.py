"""The terms of a problem: smooth ones for f, convex ones for g, proximable ones for h."""

from __future__ import annotations

from orthoprox.terms._base import ConvexTerm, EntrywiseTerm, ProximableTerm, QuadraticTerm, SmoothTerm, Term
from orthoprox.terms._expression import Expression
from orthoprox.terms.check_gradient import GradientCheck, check_gradient
from orthoprox.terms.check_prox import ProxCheck, check_prox
from orthoprox.terms.combine import ConvexSum, QuadraticSum, SeparableSum, Shifted, SmoothSum, sum_convex, sum_smooth
from orthoprox.terms.composed import ComposedConvex, ComposedQuadratic, ComposedSmooth, compose_smooth
from orthoprox.terms.concave.frobenius import FrobeniusNorm
from orthoprox.terms.concave.largest_k import LargestK
from orthoprox.terms.concave.smooth_convex import SmoothConvex
from orthoprox.terms.concave.spectral import SpectralNorm
from orthoprox.terms.envelope import envelope, envelope_gradient, envelope_prox
from orthoprox.terms.prox.column_range import ColumnRange
from orthoprox.terms.prox.group_l2 import GroupL2
from orthoprox.terms.prox.huber import Huber
from orthoprox.terms.prox.l0 import L0
from orthoprox.terms.prox.l1 import L1
from orthoprox.terms.prox.linf import LInf
from orthoprox.terms.prox.log_sum import LogSum
from orthoprox.terms.prox.mcp import MCP
from orthoprox.terms.prox.negative_part import NegativePart
from orthoprox.terms.prox.nonnegative import Nonnegative
from orthoprox.terms.prox.nuclear import Nuclear
from orthoprox.terms.prox.scad import SCAD
from orthoprox.terms.prox.weighted_l1 import WeightedL1
from orthoprox.terms.smooth.explained_variance import ExplainedVariance
from orthoprox.terms.smooth.function import Smooth
from orthoprox.terms.smooth.least_squares import LeastSquares
from orthoprox.terms.smooth.linear import Linear
from orthoprox.terms.smooth.mean import Mean
from orthoprox.terms.smooth.quadratic import Quadratic
from orthoprox.terms.zero import Zero

__all__ = [
    # smooth
    "ExplainedVariance",
    "LeastSquares",
    "Linear",
    "Mean",
    "Quadratic",
    "Smooth",
    # convex, to be subtracted
    "FrobeniusNorm",
    "LargestK",
    "SmoothConvex",
    "SpectralNorm",
    # proximable
    "ColumnRange",
    "GroupL2",
    "Huber",
    "L0",
    "L1",
    "LInf",
    "LogSum",
    "MCP",
    "NegativePart",
    "Nonnegative",
    "Nuclear",
    "SCAD",
    "WeightedL1",
    # made of others, or of nothing
    "ComposedConvex",
    "ComposedQuadratic",
    "ComposedSmooth",
    "ConvexSum",
    "QuadraticSum",
    "SeparableSum",
    "Shifted",
    "SmoothSum",
    "Zero",
    "compose_smooth",
    "sum_convex",
    "sum_smooth",
    # the envelope
    "envelope",
    "envelope_gradient",
    "envelope_prox",
    # checks
    "GradientCheck",
    "check_gradient",
    "check_prox",
    # what may be asked
    "ConvexTerm",
    "EntrywiseTerm",
    "Expression",
    "ProxCheck",
    "ProximableTerm",
    "QuadraticTerm",
    "SmoothTerm",
    "Term",
]

"""Certificates for sparse principal components: what variance no others can exceed."""

from orthoprox.bounds.certify import Certified, certify
from orthoprox.bounds.variance_bound import VarianceBound, variance_bound

__all__ = ["Certified", "VarianceBound", "certify", "variance_bound"]

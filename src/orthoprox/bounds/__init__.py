"""Certificates for sparse principal components: how much more variance could any others keep?"""

from orthoprox.bounds.certify import Certified, certify
from orthoprox.bounds.variance_bound import VarianceBound, variance_bound

__all__ = ["Certified", "VarianceBound", "certify", "variance_bound"]

"""How many nonzeros components may have."""

from orthoprox.allowance.allowance import Allowance
from orthoprox.allowance.resolve import resolve_allowance, resolve_total

__all__ = ["Allowance", "resolve_allowance", "resolve_total"]

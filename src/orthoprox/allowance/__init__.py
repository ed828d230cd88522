"""How many nonzeros components may have."""

from orthoprox.allowance.allowance import Allowance
from orthoprox.allowance.resolve import resolve_allowance, resolve_caps, resolve_total
from orthoprox.allowance.several import Allowances

__all__ = ["Allowance", "Allowances", "resolve_allowance", "resolve_caps", "resolve_total"]

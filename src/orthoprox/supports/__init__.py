"""Search for supports."""
from orthoprox.supports.allowance import Allowance
from orthoprox.supports.levels import Effort, search

"""A state of its own kind, for steps that are made up."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Counted:
    X: Any
    count: int

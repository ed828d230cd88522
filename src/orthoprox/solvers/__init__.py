"""The methods, one file each. ``SOLVERS`` has a line for every one of them."""

from __future__ import annotations

import difflib
import inspect
from typing import Any

from orthoprox.solvers._base import Scope, Solver, State, UnsupportedProblem
from orthoprox.solvers.oadmm_ep import OADMMEP, OADMMEPState
from orthoprox.solvers.oadmm_rr import OADMMRR, OADMMRRState
from orthoprox.solvers.subgradient import Subgradient, SubgradientState

__all__ = [
    "OADMMEP",
    "OADMMRR",
    "SOLVERS",
    "OADMMEPState",
    "OADMMRRState",
    "Scope",
    "Solver",
    "State",
    "Subgradient",
    "SubgradientState",
    "UnsupportedProblem",
    "named",
]

SOLVERS: dict[str, type[Solver[Any]]] = {
    "oadmm-ep": OADMMEP,
    "oadmm-rr": OADMMRR,
    "subgradient": Subgradient,
}
"""Every method by its name."""


def named(name: str, **settings: Any) -> Solver[Any]:
    """The method of this name, with these settings.

    Examples
    --------
    >>> from orthoprox import named
    >>> named("oadmm-ep", beta0=5.0, sigma=1.2).tau
    5.0
    """
    if name not in SOLVERS:
        near = difflib.get_close_matches(str(name), SOLVERS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"There is no solver named {name!r}; there are {', '.join(SOLVERS)}.{hint}")
    try:
        return SOLVERS[name](**settings)
    except TypeError as error:
        known = ", ".join(inspect.signature(SOLVERS[name]).parameters)
        raise TypeError(f"{name} does not take these settings ({error}); it takes {known}.") from None

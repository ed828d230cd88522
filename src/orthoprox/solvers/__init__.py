"""The methods, one file each. ``SOLVERS`` has a line for every one of them."""

from __future__ import annotations

import difflib
import inspect
from typing import Any

from orthoprox._fields import replace
from orthoprox.solvers._base import Scope, Solver, State, UnsupportedProblem
from orthoprox.solvers.assignment import Assignment, AssignmentState
from orthoprox.solvers.madmm import MADMM, MADMMState
from orthoprox.solvers.manial import ManIAL, ManIALState
from orthoprox.solvers.manpg import ManPG, ManPGState
from orthoprox.solvers.newton_blocks import NewtonBlocks, NewtonBlocksState
from orthoprox.solvers.oadmm import OADMM, OADMMState
from orthoprox.solvers.oadmm_ep import OADMMEP, OADMMEPState
from orthoprox.solvers.oadmm_rr import OADMMRR, OADMMRRState
from orthoprox.solvers.obcd import OBCD, OBCDState
from orthoprox.solvers.radmm import RADMM, RADMMState
from orthoprox.solvers.rsg import RSG, RSGState
from orthoprox.solvers.socm import SOCM, SOCMState
from orthoprox.solvers.spgm_ep import SPGMEP, SPGMEPState
from orthoprox.solvers.spgm_rr import SPGMRR, SPGMRRState
from orthoprox.solvers.stochastic import StochasticOADMM, StochasticOADMMState
from orthoprox.solvers.subgradient import Subgradient, SubgradientState

__all__ = [
    "Assignment",
    "AssignmentState",
    "MADMM",
    "OADMM",
    "OADMMEP",
    "OADMMRR",
    "OBCD",
    "SOCM",
    "SOLVERS",
    "MADMMState",
    "ManIAL",
    "ManIALState",
    "ManPG",
    "ManPGState",
    "NewtonBlocks",
    "NewtonBlocksState",
    "RADMM",
    "RADMMState",
    "RSG",
    "RSGState",
    "SPGMEP",
    "SPGMEPState",
    "SPGMRR",
    "SPGMRRState",
    "OADMMEPState",
    "OADMMState",
    "OADMMRRState",
    "OBCDState",
    "SOCMState",
    "Scope",
    "Solver",
    "State",
    "StochasticOADMM",
    "StochasticOADMMState",
    "Subgradient",
    "SubgradientState",
    "UnsupportedProblem",
    "named",
]

SOLVERS: dict[str, Solver[Any]] = {
    "oadmm": OADMM(),
    "oadmm-ep": OADMMEP(),
    "oadmm-rr": OADMMRR(),
    "madmm": MADMM(),
    "manial-1": ManIAL(),
    "manial-2": ManIAL(inner="doubling"),
    "manpg": ManPG(),
    "manpg-ada": ManPG(growth=1.01),
    "obcd": OBCD(),
    "socm": SOCM(),
    "radmm": RADMM(),
    "rsg": RSG(),
    "spgm-ep": SPGMEP(),
    "spgm-rr": SPGMRR(),
    "subgradient": Subgradient(),
}
"""Every method by its name, with its default settings."""


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
    solver = SOLVERS[name]
    if not settings:
        return solver
    try:
        return replace(solver, **settings)
    except TypeError as error:
        known = ", ".join(inspect.signature(type(solver)).parameters)
        raise TypeError(f"{name} does not take these settings ({error}); it takes {known}.") from None

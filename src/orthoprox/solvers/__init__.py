"""The methods, one file each. ``SOLVERS`` has a line for every one of them."""

from __future__ import annotations

import difflib
import inspect
from typing import Any

from orthoprox.solvers._base import Scope, Solver, State, UnsupportedProblem
from orthoprox.solvers._manial import ManIALState
from orthoprox.solvers.assignment import Assignment, AssignmentState
from orthoprox.solvers.madmm import MADMM, MADMMState
from orthoprox.solvers.manial_1 import ManIAL1
from orthoprox.solvers.manial_2 import ManIAL2
from orthoprox.solvers.manpg import ManPG, ManPGAda, ManPGState
from orthoprox.solvers.oadmm import OADMM, OADMMState
from orthoprox.solvers.oadmm_ep import OADMMEP, OADMMEPState
from orthoprox.solvers.oadmm_rr import OADMMRR, OADMMRRState
from orthoprox.solvers.obcd import OBCD, OBCDState
from orthoprox.solvers.radmm import RADMM, RADMMState
from orthoprox.solvers.rsg import RSG, RSGState
from orthoprox.solvers.socm import SOCM, SOCMState
from orthoprox.solvers.spgm_ep import SPGMEP, SPGMEPState
from orthoprox.solvers.spgm_rr import SPGMRR, SPGMRRState
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
    "ManIAL1",
    "ManIAL2",
    "ManIALState",
    "ManPG",
    "ManPGAda",
    "ManPGState",
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
    "Subgradient",
    "SubgradientState",
    "UnsupportedProblem",
    "named",
]

SOLVERS: dict[str, type[Solver[Any]]] = {
    "oadmm": OADMM,
    "oadmm-ep": OADMMEP,
    "oadmm-rr": OADMMRR,
    "madmm": MADMM,
    "manial-1": ManIAL1,
    "manial-2": ManIAL2,
    "manpg": ManPG,
    "manpg-ada": ManPGAda,
    "obcd": OBCD,
    "socm": SOCM,
    "radmm": RADMM,
    "rsg": RSG,
    "spgm-ep": SPGMEP,
    "spgm-rr": SPGMRR,
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

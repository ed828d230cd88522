"""The loop that runs a solver, its stopping rules and its observers."""

from orthoprox.driver.checkpoint import Checkpoint
from orthoprox.driver.many import solve_many
from orthoprox.driver.observers import Observer, Progress, Recorder
from orthoprox.driver.reading import Reading
from orthoprox.driver.result import History, Result, RunFailed, Status
from orthoprox.driver.snapshot import Snapshot
from orthoprox.driver.solve import DEFAULT_SOLVER, iterate, solve
from orthoprox.driver.stopping import Critical, Iterations, NotFinite, Rule, Seconds, Stalled, When

__all__ = [
    "DEFAULT_SOLVER",
    "Checkpoint",
    "Critical",
    "History",
    "Iterations",
    "NotFinite",
    "Observer",
    "Progress",
    "Reading",
    "Recorder",
    "Result",
    "Rule",
    "RunFailed",
    "Seconds",
    "Snapshot",
    "Stalled",
    "Status",
    "When",
    "iterate",
    "solve",
    "solve_many",
]

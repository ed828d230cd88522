"""The paper's experiments: specifications, a runner, figures, tables, a report and a ledger of claims."""

from orthoprox.experiments.gather import Results, gather
from orthoprox.experiments.run import Tally, run
from orthoprox.experiments.spec import BUILTIN, Experiment, Job, Method, builtin, from_mapping, read

__all__ = [
    "BUILTIN",
    "Experiment",
    "Job",
    "Method",
    "Results",
    "Tally",
    "builtin",
    "from_mapping",
    "gather",
    "read",
    "run",
]

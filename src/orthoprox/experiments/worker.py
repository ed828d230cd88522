"""A process that runs jobs: one JSON line in, one JSON line out. ``run`` starts it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from orthoprox._fields import replace
from orthoprox._files import WriteFailed
from orthoprox.datasets import DataUnavailable
from orthoprox.experiments.single import execute
from orthoprox.experiments.spec import Job
from orthoprox.experiments.store import write


def answer(order: dict[str, Any]) -> dict[str, Any]:
    """Run a job and store its result; return its error, if any."""
    try:
        archive = execute(Job(**order["job"]), order["data_folder"])
        facts = {**archive.facts, "processes": order.get("processes")}
        write(Path(order["file"]), replace(archive, facts=facts))
    except Exception as error:  # the other runs go on, whatever a user's solver or a full disk does
        kinds = {"data": isinstance(error, DataUnavailable), "unwritten": isinstance(error, WriteFailed)}
        return {"error": f"{type(error).__name__}: {error}", **kinds}
    return {"error": None}


def serve(orders: TextIO, answers: TextIO) -> None:
    """Answer every order until the input ends."""
    for line in orders:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    # Output of a solver must not mix with the answers: it goes to standard error.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, channel)

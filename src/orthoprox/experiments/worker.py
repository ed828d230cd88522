"""A process that runs jobs: one JSON line in, one JSON line out. Started by ``run``, not by hand."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from orthoprox.datasets import DataUnavailable
from orthoprox.experiments.single import execute
from orthoprox.experiments.spec import Job
from orthoprox.experiments.store import write


def answer(order: dict[str, Any]) -> dict[str, Any]:
    """Run a job and keep its result; say what came of it."""
    job, folder = Job(**order["job"]), Path(order["folder"])
    try:
        write(job.file(folder), execute(job, order["data_folder"]))
    except Exception as error:  # whatever a user's solver or a full disk does, the other runs go on
        missing = isinstance(error, DataUnavailable)
        return {"error": f"{type(error).__name__}: {error}", "data": missing}
    return {"error": None, "data": False}


def serve(orders: TextIO, answers: TextIO) -> None:
    """Answer orders until there are no more."""
    for line in orders:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    # What a solver prints must not get between the answers: it goes where errors go.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, channel)

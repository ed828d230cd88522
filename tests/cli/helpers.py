"""Two ways to run the command: in a process of its own, and here, which is faster."""

import os
import subprocess
import sys
from inspect import signature

import pandas
from click.testing import CliRunner

CALL = "from orthoprox.cli import main; main()"
NAMES = ["alpha", "beta", "gamma", "delta", "epsilon"]
KEEP = {"OPENBLAS_NUM_THREADS": "1"}
APART = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}  # click 8.1; later ones always


def orthoprox(*arguments, before="", env=None, encoding_errors=None, **options):
    """The finished process; ``before`` is code to run first."""
    environment = {name: value for name, value in os.environ.items() if name != "ORTHOPROX_DATA"} | KEEP | (env or {})
    call = [sys.executable, "-c", f"{before}\n{CALL}", *map(str, arguments)]
    return subprocess.run(
        call,
        capture_output=True,
        encoding="utf-8",
        errors=encoding_errors,
        timeout=120,
        check=False,
        env=environment,
        **options,
    )


def into_a_closed_pipe(*arguments):
    """Exit code and standard error of the command when nobody reads what it says."""
    call = [sys.executable, "-c", CALL, *map(str, arguments)]
    process = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **KEEP})
    process.stdout.close()
    errors = process.stderr.read().decode()
    process.stderr.close()
    return process.wait(timeout=120), errors


def invoke(*arguments):
    """The outcome of the command in this process: ``exit_code``, ``stdout``, ``stderr``."""
    from orthoprox.cli.main import command

    outcome = CliRunner(**APART).invoke(command, [str(argument) for argument in arguments])
    if outcome.exception is not None and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception  # a traceback for the user
    return outcome


def columns(X, names):
    """A frame as pandas reads it from a file: each column in one piece, which matters to the last digit."""
    return pandas.DataFrame({name: X[:, j] for j, name in enumerate(names)})


def fit(kind, table, *options):
    """The outcome of a fit into the folder ``out`` beside the table."""
    return invoke("fit", kind, table, "--out", table.parent / "out", *options)

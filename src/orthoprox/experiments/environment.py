"""What a run depends on besides its job: the code, the libraries, the machine."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

APART = ("cli", "estimators", "experiments", "plotting")
"""Parts of the library that do not decide the numbers of a run."""


@functools.cache
def environment() -> Mapping[str, Any]:
    """Versions, machine, threads, and a digest of the code that decides the numbers."""
    return {
        "versions": {
            "python": platform.python_version(),
            **{name: _version(name) for name in ("orthoprox", "numpy", "scipy")},
        },
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "processor": _processor(),
            "cores": os.cpu_count(),
            "blas_threads": os.environ.get("OPENBLAS_NUM_THREADS", "not set"),
        },
        "code": code(),
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # run from a checkout
        return "not installed"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


@functools.cache
def code(apart: tuple[str, ...] = APART) -> str:
    """A digest of the files of the library that decide the numbers of a run: its version, whatever it is called."""
    root = Path(__file__).parent.parent
    files = sorted(file for file in root.rglob("*.py") if file.relative_to(root).parts[0] not in apart)
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]

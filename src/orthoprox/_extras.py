"""Optional libraries, imported only when used."""

from __future__ import annotations

import importlib
from typing import Any


def extra(module: str, name: str, purpose: str) -> Any:
    """Import an optional library, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        package = module.partition(".")[0]
        raise ModuleNotFoundError(
            f"{purpose} needs {package}, which is not installed: pip install 'orthoprox[{name}]'.", name=package
        ) from None

"""What there is to choose from."""

from __future__ import annotations

from orthoprox import SOLVERS


def solvers() -> str:
    """One line per solver: name, what it does, what it takes, its complexity."""
    rows = [("solver", "what it does", "takes (* without theory)", "complexity")]
    rows += [(name, kind.summary, str(kind.scope), kind.complexity) for name, kind in SOLVERS.items()]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)

"""What the orthogonal weights of a model are like: zeros, infeasibility, accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from orthoprox.nn._marks import marked
from orthoprox.nn._polar import infeasibility


class Row(NamedTuple):
    """One marked parameter."""

    name: str
    shape: tuple[int, int, int]
    """How many matrices, and of which shape."""
    nonzeros: int
    infeasibility: float
    """The largest entry of |W W' - I| over all its matrices."""

    @property
    def zeros(self) -> float:
        """The share of entries that are exactly zero."""
        b, m, n = self.shape
        return 1.0 - self.nonzeros / (b * m * n)


@dataclass(frozen=True)
class Report:
    """The marked parameters of a model, and what a user's measure says before and after :func:`finish_`."""

    rows: tuple[Row, ...]
    before: float | None = None
    after: float | None = None

    @property
    def zeros(self) -> float:
        """The share of zeros in all marked parameters together."""
        entries = sum(b * m * n for _, (b, m, n), _, _ in self.rows)
        return 1.0 - sum(row.nonzeros for row in self.rows) / entries if entries else 0.0

    @property
    def infeasibility(self) -> float:
        """The largest of all."""
        return max((row.infeasibility for row in self.rows), default=0.0)

    def __str__(self) -> str:
        lines = [f"{'weight':<28} {'matrices':>16} {'nonzeros':>9} {'zeros':>7} {'max |WW-I|':>11}"]
        for row in self.rows:
            shape = " x ".join(str(k) for k in row.shape)
            lines.append(f"{row.name:<28} {shape:>16} {row.nonzeros:>9} {row.zeros:>7.1%} {row.infeasibility:>11.1e}")
        if self.before is not None and self.after is not None:
            lines.append(f"before {self.before:.4g}, after {self.after:.4g}")
        return "\n".join(lines)


def report(module: Any) -> Report:
    """Count the zeros of the marked weights of a model, and measure how orthonormal they are.

    Examples
    --------
    >>> import torch
    >>> from orthoprox.nn import orthogonal_, report
    >>> report(orthogonal_(torch.nn.Linear(4, 2))).rows[0].shape
    (1, 2, 4)
    """
    rows = []
    for name, _, _, p, mark in marked(module):
        W = mark.read(p)
        worst = float(infeasibility(W.double()).max())
        rows.append(Row(name, mark.shape(p), int((W != 0).sum()), worst))
    return Report(tuple(rows))

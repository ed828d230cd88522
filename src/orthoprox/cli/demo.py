"""The demonstration: sparse principal components of handwritten digits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from orthoprox import Critical, Iterations, Problem, Progress, Recorder, Result, Status, named, solve
from orthoprox._extras import extra
from orthoprox.cli.figures import draw_curves, draw_loadings
from orthoprox.cli.options import check_writable
from orthoprox.models import sparse_pca
from orthoprox.problem import nonzeros

WEIGHT = 0.2
KEPT = 0.2  # the fraction of loadings that go unpenalised
BETA0 = 20.0


def run(out: Path, *, components: int, iterations: int, progress: bool) -> None:
    """Solve, print a table, draw two figures."""
    check_writable(out)
    extra("matplotlib", "demo", "The demonstration")  # before the runs, not after them
    D, pixels = digits()
    m, n = D.shape
    k = max(1, round(KEPT * n * components))
    problem = sparse_pca(D, n_components=components, weight=WEIGHT, k=k)
    print_line(
        f"{m} images of {n} pixels that are not always blank; {components} components; k = {k} of {n * components}"
    )
    print_line(f"minimise (1/2m)(|D|^2 - |DX|^2) + {WEIGHT} (|X|_1 - |X|_[k]) over X'X = I")
    print_line("")
    results = {}
    paper = Recorder(every=max(1, iterations // 300))
    for method, stop, record in (
        (named("oadmm"), Iterations(iterations) | Critical(1e-8), Recorder()),
        (named("oadmm-ep", beta0=BETA0), Iterations(iterations), paper),
        (named("oadmm-rr", beta0=BETA0), Iterations(iterations), paper),
    ):
        observers = [Progress(label=method.name)] if progress else []
        result = solve(problem, method, seed=0, stop=stop, record=record, observers=observers)
        results[method.name] = result
        if result.status is Status.INTERRUPTED:
            break
    axes = principal_axes(D, components)
    print_line(table(problem, D, axes, results))
    print_line("")
    for figure in (
        draw_loadings(out / "loadings.png", axes, {name: by_variance(D, r.y) for name, r in results.items()}, pixels),
        draw_curves(out / "curves.png", {name: result.history for name, result in results.items()}),
    ):
        print_line(f"drew {figure}")
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt


def digits() -> tuple[Any, Any]:
    """The images as the paper prepares data: blank columns dropped, unit columns, centred; and the pixels kept.

    The factor sqrt(m) makes D'D/m a matrix of variances, so that a weight means the same for any number of images.
    """
    data = extra("sklearn.datasets", "demo", "The demonstration").load_digits().data
    pixels = np.flatnonzero(data.any(axis=0))
    D = data[:, pixels]
    D = D / np.linalg.norm(D, axis=0)
    return np.sqrt(len(D)) * (D - D.mean(axis=0)), pixels


def principal_axes(D: Any, r: int) -> Any:
    """Ordinary principal components, as columns."""
    return np.linalg.svd(D, full_matrices=False)[2][:r].T


def variance(D: Any, X: Any) -> float:
    """The variance along orthonormal columns."""
    return float(np.sum((D @ X) ** 2) / len(D))


def by_variance(D: Any, X: Any) -> Any:
    """The columns ordered by the variance along them."""
    return X[:, np.argsort(-np.sum((D @ X) ** 2, axis=0))]


def table(problem: Problem, D: Any, axes: Any, results: dict[str, Result[Any]]) -> str:
    """One row per method, principal components for comparison first."""
    rows = [
        ("", "objective", "primal", "dual", "stationary", "|X'X - I|", "nonzeros", "variance kept", "seconds"),
        ("pca", f"{problem.objective(axes):.4f}", "", "", "", "", f"{nonzeros(axes)}", "100.0 %", ""),
    ]
    for name, result in results.items():
        primal, dual, stationarity = result.criticality_parts
        kept = variance(D, result.X) / variance(D, axes)
        rows.append(
            (
                name,
                f"{result.objective:.4f}",
                f"{primal:.1e}",
                f"{dual:.1e}",
                f"{stationarity:.1e}",
                f"{result.infeasibility:.0e}",
                f"{nonzeros(result.y)}",
                f"{100 * kept:.1f} %",
                f"{result.seconds:.2f}",
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def print_line(line: str) -> None:
    """A line on standard output, at once."""
    print(line, file=sys.stdout, flush=True)

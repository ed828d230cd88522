"""The table of README.md: SparsePCA beside scikit-learn's, on data that everybody has.

    python benchmarks/readme.py

One thread, one fit after the other; seconds of the processor, those of a fit with its bound. benchmarks/sparse.py has
more data and other methods.
"""

from __future__ import annotations

import platform
import statistics

import _pool  # noqa: F401 - before NumPy: it sets the number of threads

# isort: split
import sklearn
from _runs import table
from _sparse_methods import OURS, THEIRS, Found, bound, fit_ours, run
from _sparse_rows import DATA, HELD, SEEN, Row

import orthoprox

ROWS = (
    Row("wine", 3, 5, True, SEEN),
    Row("breast cancer", 3, 6, True, SEEN),
    Row("digits", 5, 10, True, SEEN),
    Row("factors 80, seed 11", 5, 8, True, HELD),
    Row("AR(1) 60", 4, 5, True, HELD),
    Row("blocks 100", 4, 10, True, HELD),
)
TITLES = {"factors 80, seed 11": "a factor model", "AR(1) 60": "an autoregression", "blocks 100": "blocks of features"}
HEAD = (
    "correlations of, features",
    "components, nonzeros",
    "**variance kept**",
    "scikit-learn",
    "**overlap**",
    "scikit-learn",
)
HEAD += ("**gap to the bound**", "**seconds**", "scikit-learn")
FITS = 3
"""The seconds are the median of so many."""


def cosine(value: float) -> str:
    return "0" if value < 1e-12 else f"{value:.2f}"


def line(row: Row) -> tuple[str, ...]:
    """Ours, with the bound that proves how good it is, and theirs, whose penalty is found by bisection."""
    M = DATA[row.data]()
    time = statistics.median(fit_ours(M, row, "balanced")[1] for _ in range(FITS))
    ours, theirs = run(OURS, M, row, "balanced"), run(THEIRS, M, row, "balanced")
    assert isinstance(ours, Found)
    assert isinstance(theirs, Found)
    gap = bound(M, row, "balanced").value / ours.variance - 1
    mark = "" if row.kind == SEEN else ", held out"
    return (
        f"{TITLES.get(row.data, row.data)}, {M.n}{mark}",
        f"{row.r}, {row.r * row.count(M.n)}",
        f"**{ours.variance:.2f}**",
        f"{theirs.variance:.2f}",
        f"**{cosine(ours.cosine)}**",
        cosine(theirs.cosine),
        f"**{gap:.1%}**",
        f"{time:.2f}",
        f"{theirs.seconds:.2f}",
    )


if __name__ == "__main__":
    print(table(HEAD, map(line, ROWS)))
    print(
        f"\northoprox {orthoprox.__version__}, scikit-learn {sklearn.__version__}, Python {platform.python_version()}, "
        f"{platform.machine()}; effort balanced, the default."
    )

"""Whether SparsePCA answers alike to questions that are alike, and never worse to one that allows more.

Alike are data with their features or samples in another order, with noise of 1e-15 in every entry, times a number, or
with two threads of BLAS instead of one. Allowing more means one more nonzero for each component, or in all. Rows whose
file is not in the folder ORTHOPROX_DATA are left out.

    python benchmarks/robust_answers.py [--quick] [--out FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import _pool  # noqa: F401 - before NumPy: it sets the number of threads

# isort: split
import numpy as np
from _runs import table
from _sparse_rows import DATA, Row, rows
from threadpoolctl import threadpool_limits

from orthoprox import SparsePCA

AGREE = 1e-3
"""Relative differences in variance up to this count as agreement."""
EQUAL = 1e-9
"""And up to this as rounding."""
FEW = 48
"""Entries in all up to which more is promised never to be worse."""
STABLE = (
    *("pitprops 2 x 5", "pitprops 3 x 4, total", "pitprops 6 x 4", "wine 2 x 5", "wine 3 x 10, total"),
    *("diabetes 3 x 4", "breast cancer 3 x 6, total", "factors 20, seed 11 3 x 4", "factors 40, seed 11 4 x 6"),
    "blocks 30 3 x 6, total",
)
WIDE = (
    "factors 200, seed 11 5 x 10",
    "factors 200, seed 12 5 x 10",
    "colon 5 x 20",
    "leukemia 5 x 20",
    "arabidopsis 5 x 20",
)
RISING = ("pitprops", "wine", "diabetes", "breast cancer", "factors 20, seed 12", "blocks 30")
COMPONENTS = 3


def variance(X: Any, asked: dict[str, Any], r: int) -> float:
    """What the fit keeps of standardised samples."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return float(np.sum(SparsePCA(r, **asked).fit(X).explained_variance_))


def variants(X: Any, cases: int) -> Iterator[tuple[str, Any, int]]:
    """What is done to the samples, the samples after it, and threads: ten of them for three cases."""
    rng = np.random.default_rng(5)
    for i in range(cases):
        yield "features permuted", X[:, rng.permutation(X.shape[1])], 1
        yield "noise of 1e-15", X * (1 + 1e-15 * rng.standard_normal(X.shape)), 1
        if i < 2:
            yield "samples permuted", X[rng.permutation(X.shape[0])], 1
    yield "times 0.99", 0.99 * X, 1
    yield "two threads", X, 2


def stability(names: tuple[str, ...], cases: int) -> str:
    """The share of cases in which the variance agrees with that of the data as they are."""
    every = {row.name: row for row in rows(False, "")}
    found: dict[str, list[tuple[float, str]]] = {}
    for name in names:
        row: Row = every[name]
        M = DATA[row.data]()
        if M is None:
            continue
        X, asked = M.samples(), row.asked(M.n)
        plain = variance(X, asked, row.r)
        for kind, changed, threads in variants(X, cases):
            with threadpool_limits(threads) if threads > 1 else contextlib.nullcontext():
                value = variance(changed, asked, row.r)
            value /= 0.99**2 if kind == "times 0.99" else 1.0
            found.setdefault(kind, []).append((value / plain - 1, name))
    entries = [_agreement(kind, shares) for kind, shares in found.items()]
    entries.append(_agreement("all", list(itertools.chain(*found.values()))))
    return table(("case", f"agree to {AGREE:g}", "agree to 1e-6", "largest difference", "rows that differ"), entries)


def _agreement(kind: str, shares: list[tuple[float, str]]) -> tuple[Any, ...]:
    alike = sum(abs(share) <= AGREE for share, _ in shares)
    close = sum(abs(share) <= 1e-6 for share, _ in shares)
    differ = sorted({name for share, name in shares if abs(share) > 1e-6})
    largest = max(abs(share) for share, _ in shares)
    return kind, f"{alike} of {len(shares)}", f"{close} of {len(shares)}", f"{largest:.0e}", "; ".join(differ)


def monotonicity(quick: bool) -> str:
    """How often a fit keeps less than one that was allowed less."""
    entries, falls = [], []
    for name in RISING[: 1 if quick else None]:
        M = DATA[name]()
        assert M is not None
        assert M.C is not None
        most = min(12, M.n)
        asked = [("each", COMPONENTS * k, {"n_nonzero_per_component": k}) for k in range(1, most + 1)]
        total = range(COMPONENTS, min(54, COMPONENTS * M.n) + 1, 3 if quick else 1)
        asked += [("in all", K, {"n_nonzero": K}) for K in total]
        values = [(kind, size, _kept(M.C, given)) for kind, size, given in asked]
        for kind in ("each", "in all"):
            part = [(size, value) for way, size, value in values if way == kind]
            fallen = [(size, before / value - 1) for (_, before), (size, value) in itertools.pairwise(part)]
            fallen = [(size, share) for size, share in fallen if share > EQUAL]
            few = sum(size <= FEW for size, _ in fallen)
            entries.append((name, kind, len(part), part[-1][0], few, len(fallen) - few))
            falls += [f"- {name}, {kind}, {size} entries: {share:.1e} less than with fewer" for size, share in fallen]
    head = ("data", "nonzeros", "fits", "entries up to", f"decreases up to {FEW} entries", "decreases beyond")
    return "\n\n".join([table(head, entries), *(["\n".join(falls)] if falls else [])])


def _kept(C: Any, asked: dict[str, Any]) -> float:
    return float(np.sum(SparsePCA(COMPONENTS, **asked).fit_covariance(C).explained_variance_))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few cases")
    parser.add_argument("--out", type=Path, help="a Markdown file for what is printed")
    given = parser.parse_args()
    parts = ["# Robust answers"]
    for part in sections(given.quick):
        parts.append(part)
        print(part + "\n", flush=True)
        if given.out is not None:
            given.out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def sections(quick: bool) -> Iterator[str]:
    cases = 1 if quick else 3
    yield f"## Questions that are alike\n\n{stability(STABLE[: 3 if quick else None], cases)}"
    if not quick:
        yield f"Of wide data:\n\n{stability(WIDE, cases)}"
    yield f"## Questions that allow more\n\n{COMPONENTS} components.\n\n{monotonicity(quick)}"


if __name__ == "__main__":
    main()

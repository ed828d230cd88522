"""Our estimators beside what one would pick instead: sparse PCA, clustering, ICA, dictionaries, robust subspaces.

Both sides are fitted in the same run, on the same data, with one thread. By default a short selection is made
(--quick, below a minute). MNIST is read from the folder in ORTHOPROX_DATA; without it scikit-learn's digits stand in.
pymanopt takes part if it is installed. With --out the tables go into the file below its line "## Side by side".

    python benchmarks/estimators.py [--items 1,2] [--no-quick] [--out docs/estimators.md]
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import _clustering
import _dictionary
import _ica
import _sparse_pca
import _subspace
import numpy as np
import sklearn

ITEMS = {1: _sparse_pca, 2: _clustering, 3: _ica, 4: _dictionary, 5: _subspace}
MARK = "## Side by side"


def parse_items(text: str) -> list[int]:
    """The numbers in a list such as 1,2."""
    parts = text.split(",")
    if not all(part.strip().isdigit() and int(part) in ITEMS for part in parts):
        raise argparse.ArgumentTypeError(
            f"expected numbers from 1 to {len(ITEMS)} with commas, as in 1,2; given {text!r}"
        )
    return sorted({int(part) for part in parts})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=parse_items, default=list(ITEMS), help="which of 1 to 5, as in 1,2")
    parser.add_argument("--quick", action=argparse.BooleanOptionalAction, default=True, help="a short selection")
    parser.add_argument("--out", type=Path, help="a Markdown file whose last part is to be what is printed")
    given = parser.parse_args()
    since = time.perf_counter()
    parts = [_head(given.quick)]
    print(parts[0], flush=True)
    for item in given.items:
        parts.append(ITEMS[item].report(given.quick))
        print("\n" + parts[-1], flush=True)
    parts.append(f"All of this took {time.perf_counter() - since:.0f} seconds.")
    print("\n" + parts[-1])
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        before = given.out.read_text("utf-8").partition(MARK)[0] if given.out.exists() else ""
        given.out.write_text(before + "\n\n".join(parts) + "\n", encoding="utf-8")


def _head(quick: bool) -> str:
    return (
        f"{MARK}\n\nMade by `python benchmarks/estimators.py{'' if quick else ' --no-quick'}`, one thread, "
        f"{platform.machine()}; Python {platform.python_version()}, NumPy {np.__version__}, scikit-learn "
        f"{sklearn.__version__}. Seconds are processor time of `fit`."
    )


if __name__ == "__main__":
    main()

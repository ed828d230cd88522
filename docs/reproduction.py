"""Turns a folder of results into docs/reproduction.md and docs/reproduction/: ledger, table, figures, report.

orthoprox reproduce all --data-dir DIR --out out/reproduction --jobs 16
python docs/reproduction.py [out/reproduction]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from orthoprox.experiments import gather
from orthoprox.experiments.outputs import publish

HERE = Path(__file__).parent
COMMAND = "orthoprox reproduce all --data-dir DIR --out out/reproduction` and `python docs/reproduction.py"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, nargs="?", default=Path("out/reproduction"))
    parser.add_argument("--command", default=COMMAND, help="what made the results, for the first line")
    parser.add_argument("--docs", type=Path, default=HERE, help="where to write")
    arguments = parser.parse_args()
    try:
        results = gather(arguments.results)
    except FileNotFoundError:
        parser.error(f"{arguments.results} has no results: run orthoprox reproduce first.")
    for path in publish(results, arguments.docs, command=arguments.command):
        print(f"{path.stat().st_size / 1024:8.0f} KB  {path}")
    if results.missing:
        print(f"{len(results.missing)} runs have no result")


if __name__ == "__main__":
    main()

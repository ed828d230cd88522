"""Cases of test_problems.py by their numbers, on many cores: Hypothesis draws one case after the other.

    python tests/fuzz/numbered.py results 90000 900 --jobs 16
    python tests/fuzz/numbered.py default 200000 1500 --jobs 16

A line for each failure, with the number that brings it back.
"""

import argparse
import sys
import traceback
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fuzz import test_problems
from fuzz.cases import make_case
from orthoprox import SOLVERS
from orthoprox.solvers.obcd import compile_sweeps


def try_results(number):
    rng = np.random.default_rng(number + 1)
    name, seed = sorted(SOLVERS)[int(rng.integers(len(SOLVERS)))], int(rng.integers(10))
    compile_sweeps()  # its time is not the run's
    test_problems.check_results(make_case(number, test_problems.UNITS), name, seed)


def try_default(number):
    rng = np.random.default_rng(number + 1)
    seed, power = int(rng.integers(10)), test_problems.POWERS[int(rng.integers(4))]
    test_problems.check_default(make_case(number, (0,)), seed, power)


CAMPAIGNS = {"results": try_results, "default": try_default}


def failure(campaign, number):
    """What went wrong with a case, or None."""
    try:
        CAMPAIGNS[campaign](number)
    except Exception:
        return f"case {number}: {traceback.format_exc(limit=-1, chain=False).strip()}"
    return None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaign", choices=CAMPAIGNS)
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    numbers = range(asked.first, asked.first + asked.count)
    with ProcessPoolExecutor(asked.jobs) as pool:
        outcomes = pool.map(failure, [asked.campaign] * len(numbers), numbers, chunksize=4)
        failures = [line for line in outcomes if line]
    print(*failures, f"{len(numbers)} cases, {len(failures)} failures", sep="\n")
    sys.exit(bool(failures))

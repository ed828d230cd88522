"""The table of campaigns that docs/reliability.md shows."""

import re
from pathlib import Path

from fuzz.campaign import CAMPAIGNS, table


def test_every_campaign_has_its_row():
    found = set()
    for file in Path(__file__).parent.glob("test_*.py"):
        found |= set(re.findall(r"^@campaign\(.*?^def (\w+)\(", file.read_text("utf-8"), re.MULTILINE | re.DOTALL))
    assert found == set(CAMPAIGNS)


def test_the_table_counts_cases_and_failures():
    outcomes = [
        ("fuzz/a.py::test_ctrl_c_keeps_the_best_so_far[A]", "passed"),
        ("fuzz/a.py::test_ctrl_c_keeps_the_best_so_far[B]", "failed"),
        ("fuzz/b.py::test_results_are_true", "passed"),
        ("fuzz/b.py::test_of_something_else", "failed"),
    ]
    assert table(outcomes, 700, 3) == [
        "| campaign | cases | seeds | failures |",
        "|---|---|---|---|",
        "| problems x solvers | 700 | 3 | 0 |",
        "| fits with Ctrl-C | 700 of each of 2 estimators: 1,400 | 3 | 1 |",
    ]

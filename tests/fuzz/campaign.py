"""How many cases a campaign tries: a few in `make test`, as many as asked for in `make fuzz`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, settings

CASES = int(os.environ.get("ORTHOPROX_FUZZ_CASES", "0"))
"""Cases of each campaign; 0 for the short form, the same cases every time."""

CAMPAIGNS = {
    "test_results_are_true": "problems x solvers",
    "test_the_default_solver": "default solver: start, twice, units",
    "test_a_fit_keeps_what_it_promises": "fits",
    "test_ctrl_c_keeps_the_best_so_far": "fits with Ctrl-C",
    "test_a_command_ends_with_a_code_and_a_sentence": "command lines",
    "test_a_comparison_ends_with_a_code_and_a_sentence": "comparisons",
    "test_a_process_ends_with_a_code_and_a_sentence": "command lines, each a process of its own",
    "test_numbers_come_back_with_every_digit": "tables, written in many ways",
    "test_a_mess_is_a_table_of_finite_numbers_or_a_sentence": "tables, messy",
    "test_a_damaged_file_is_read_or_refused_in_a_sentence": "files, damaged",
    "test_a_file_that_was_changed_is_refused_or_goes_on_bit_for_bit": "checkpoints, changed",
    "test_a_file_of_another_version_never_ends_in_a_foreign_error": "checkpoints, as of another version",
    "test_a_run_that_was_killed_goes_on_bit_for_bit": "runs killed, one to three times each",
}
"""The tests that draw cases, in the order of the table, and what the table calls them."""


def campaign(short: int) -> Callable[[Any], Any]:
    """Settings for one campaign: ``short`` cases, or the number asked for, drawn anew from the seed."""
    if not CASES:
        return settings(max_examples=short, derandomize=True, phases=[Phase.generate])
    return settings(
        max_examples=CASES,
        derandomize=False,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )


def table(outcomes: list[tuple[str, str]], cases: int, seed: Any) -> list[str]:
    """A row for each campaign: how many cases were asked for, and how many of its tests failed."""
    rows = ["| campaign | cases | seeds | failures |", "|---|---|---|---|"]
    for test, name in CAMPAIGNS.items():
        found = [outcome for node, outcome in outcomes if node.rpartition("::")[2].partition("[")[0] == test]
        if found:
            several = f"{cases} of each of {len(found)} estimators: " if len(found) > 1 else ""
            rows.append(f"| {name} | {several}{cases * len(found):,} | {seed} | {found.count('failed')} |")
    return rows

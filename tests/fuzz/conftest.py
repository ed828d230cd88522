"""Prints what the campaigns tried, as the table that docs/reliability.md shows."""

from __future__ import annotations

from typing import Any

from fuzz.campaign import CASES, table


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    """The table, where cases were asked for."""
    if CASES:
        outcomes = [
            (report.nodeid, outcome)
            for outcome in ("passed", "failed")
            for report in terminalreporter.stats.get(outcome, [])
            if report.when == "call"
        ]
        terminalreporter.write_line("\n" + "\n".join(table(outcomes, CASES, config.getoption("hypothesis_seed"))))

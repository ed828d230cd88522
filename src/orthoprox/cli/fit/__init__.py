"""``orthoprox fit``: an estimator, a table, a folder of results."""

from orthoprox.cli.fit.command import fit_command

__all__ = ["fit_command"]

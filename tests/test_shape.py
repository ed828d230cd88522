"""How large the parts of the default solver may get."""

import ast
import dataclasses
from pathlib import Path

from orthoprox.solvers import oadmm

PACKAGE = Path(oadmm.__file__).parent
PLAIN = (0, 1, 2, 0.5)
"""Numbers that say nothing: every other one is a choice that needs a name."""


def trees():
    for file in sorted(PACKAGE.glob("*.py")):
        yield file.name, ast.parse(file.read_text("utf-8"))


def literals():
    """Numbers in the package other than the plain ones, with file and line."""
    return [
        (name, node.lineno, node.value)
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, (int, float))
        and not isinstance(node.value, bool)
        and node.value not in PLAIN
    ]


def function_lengths():
    """Lines of every function, without its docstring."""
    found = {}
    for name, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                doc = node.body[0] if ast.get_docstring(node) is not None else None
                inside = 0 if doc is None else (doc.end_lineno or 0) - doc.lineno + 1
                found[f"{name}:{node.name}"] = (node.end_lineno or 0) - node.lineno + 1 - inside
    return found


def state_fields():
    return [field.name for field in dataclasses.fields(oadmm.OADMMState)]


def test_every_number_is_a_named_one():
    outside = [(name, line, value) for name, line, value in literals() if name != "tuning.py"]
    assert len(literals()) <= 50
    assert len(outside) <= 12, outside


def test_functions_are_short_and_the_state_is_small():
    assert max(function_lengths().values()) <= 50
    assert len(state_fields()) <= 8

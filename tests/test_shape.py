"""How large the parts of the default solver may get."""

import ast
import dataclasses
from pathlib import Path

from orthoprox.solvers import oadmm

PLAIN = (0, 1, 2, 0.5)
"""Numbers that say nothing: every other one is a choice that needs a name."""


def nodes(kind):
    """The nodes of a kind in the package, with the names of their files."""
    for file in sorted(Path(oadmm.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, kind):
                yield file.name, node


def length(function):
    """Lines without the docstring."""
    doc = function.body[0] if ast.get_docstring(function) is not None else None
    inside = 0 if doc is None else doc.end_lineno - doc.lineno + 1
    return function.end_lineno - function.lineno + 1 - inside


def test_every_number_is_a_named_one():
    numbers = [(name, node.lineno, node.value) for name, node in nodes(ast.Constant)]
    numbers = [found for found in numbers if type(found[2]) in (int, float) and found[2] not in PLAIN]
    outside = [found for found in numbers if found[0] != "tuning.py"]
    assert 0 < len(numbers) <= 50
    assert len(outside) <= 12, outside


def test_functions_are_short_and_the_state_is_small():
    assert max(length(node) for _, node in nodes(ast.FunctionDef)) <= 50
    assert len(dataclasses.fields(oadmm.OADMMState)) <= 8

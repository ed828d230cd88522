"""Print, as constraints for pip, the oldest dependencies that pyproject.toml allows for the tests.

`make oldest` installs these, so that a lower bound is never a guess: python .ci/oldest.py > constraints.txt
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[(?P<extras>[\w,-]+)\])?(>=(?P<bound>[\w.]+))?")


def oldest(project: dict[str, Any], requirements: list[str]) -> Iterator[str]:
    """The lower bound of each requirement, and of those that an extra of the project itself stands for."""
    for requirement in requirements:
        found = REQUIREMENT.fullmatch(requirement)
        if found and found["name"] == project["name"]:
            for extra in (found["extras"] or "").split(","):
                yield from oldest(project, project["optional-dependencies"][extra])
        elif found and found["bound"]:
            yield f"{found['name']}=={found['bound']}"
        else:
            sys.exit(
                f"{requirement!r} in pyproject.toml must be of the form name>=version: `make oldest` tests the bound."
            )


if __name__ == "__main__":
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    print(*oldest(project, [*project["dependencies"], f"{project['name']}[test]"]), sep="\n")

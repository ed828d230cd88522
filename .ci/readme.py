"""The README as PyPI shows it: links and pictures that begin at the repository get its address.

hatchling calls this when it builds (tool.hatch.metadata.hooks.custom in pyproject.toml). Without a `Repository` under
`[project.urls]` the README stays as it is.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r'(?P<before>\]\(|(?:src|srcset|href)=")(?P<target>(?![a-z]+:|#)[^)"\s]+)')
PICTURES = (".png", ".svg", ".jpg", ".gif")


def absolute(text: str, repository: str, version: str) -> str:
    """Give each relative link the address of the file at this version: a page, or the bytes of a picture."""

    def whole(found: re.Match[str]) -> str:
        kind = "raw" if found["target"].endswith(PICTURES) else "blob"
        return f"{found['before']}{repository.rstrip('/')}/{kind}/v{version}/{found['target']}"

    return LINK.sub(whole, text)


class CustomMetadataHook(MetadataHookInterface):
    """Fills the field `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text("utf-8")
        repository = metadata.get("urls", {}).get("Repository")
        if repository:
            text = absolute(text, repository, metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}

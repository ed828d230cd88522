"""Links of the Markdown pages to what is no page of the site: the same link leads to its counterpart here.

The pages are read on code hosts too, so their links name files of the repository.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"\]\((?!\w+:|#|/)([^)#\s]+)(#[^)\s]*)?\)")
PAGES = {
    "README.md": "/start.md",
    "CONTRIBUTING.md": "/contributing.md",
    "CHANGELOG.md": "/changelog.md",
    "docs/gallery.md": "/auto_examples/index.rst",
}

CONTENTS = {"decisions/README": "\n```{toctree}\n:hidden:\n:glob:\n\n0*\n```\n"}
"""Tables of contents that a code host would show as code."""


def counterpart(folder: str, target: str) -> str | None:
    """What stands on the site for a file of the repository; None where the link is right as it is."""
    path = posixpath.normpath(posixpath.join("docs", folder, target))
    if path in PAGES:
        return PAGES[path]
    if path.startswith("examples/") and path.endswith(".py"):
        return f"/auto_examples/{Path(path).stem}.rst"
    return None


def redirect(app: Any, docname: str, source: list[str]) -> None:
    if app.env.doc2path(docname).suffix != ".md":
        return
    folder = posixpath.dirname(docname)

    def replaced(match: re.Match[str]) -> str:
        target = counterpart(folder, match[1])
        return match[0] if target is None else f"]({target}{match[2] or ''})"

    source[0] = LINK.sub(replaced, source[0]) + CONTENTS.get(docname, "")


def setup(app: Any) -> dict[str, Any]:
    app.connect("source-read", redirect)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

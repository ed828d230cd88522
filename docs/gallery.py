"""Runs every example and writes docs/gallery.md with their questions, words and pictures.

python docs/gallery.py
"""

from __future__ import annotations

import ast
import importlib.util
import os
import runpy
import tempfile
from pathlib import Path

# The pictures are those that everybody gets.
os.environ.pop("ORTHOPROX_DATA", None)
os.environ["SCIKIT_LEARN_DATA"] = tempfile.mkdtemp()

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
ORDER = (
    "digits_loadings",
    "topics",
    "genes",
    "clustering",
    "blind_sources",
    "patches",
    "robust_subspace",
    "orthogonal_layers",
)
HEAD = """# Gallery

Every picture is made by a script that runs in a few seconds on data that ship with scikit-learn, with the script, or
with nothing: `python examples/NAME.py` writes it to `out/`. This page is made by `python docs/gallery.py`.
"""


def order(file: Path) -> tuple[int, str]:
    """Those with a place first, others by name."""
    return ORDER.index(file.stem) if file.stem in ORDER else len(ORDER), file.stem


def main() -> None:
    parts = [HEAD]
    for file in sorted(EXAMPLES.glob("*.py"), key=order):
        source = file.read_text("utf-8")
        if "def main(" not in source:
            continue
        print(f"{file.stem} ...", flush=True)
        picture = HERE / "gallery" / f"{file.stem}.png"
        if "\nimport torch\n" in source and importlib.util.find_spec("torch") is None:
            print("PyTorch is not installed: its picture stays as it is.")
        else:
            picture = runpy.run_path(str(file))["main"](HERE / "gallery")
        question, _, words = ast.get_docstring(ast.parse(source)).partition("\n\n")
        title = question.partition("\n")[0]
        parts.append(
            f"## {title}\n\n{words.strip()}\n\n![{title}](gallery/{picture.name})\n\n"
            f"The script: [examples/{file.name}](../examples/{file.name})\n"
        )
    (HERE / "gallery.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()

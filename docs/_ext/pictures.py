"""How sphinx-gallery shows the examples: in the order of docs/gallery.md, each with the picture it leaves in out/."""

from __future__ import annotations

import ast
import shutil
import sys
from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst

HERE = Path(__file__).resolve().parent


def order_of_the_page() -> tuple[str, ...]:
    """``ORDER`` in docs/gallery.py, which must not be imported: it sets up its own environment."""
    tree = ast.parse((HERE.parent / "gallery.py").read_text("utf-8"))
    assigned = (node for node in tree.body if isinstance(node, ast.Assign))
    found = (node.value for node in assigned if getattr(node.targets[0], "id", "") == "ORDER")
    return ast.literal_eval(next(found))


class Order:
    """Sorts files: those with a place in the gallery first, others by name."""

    def __init__(self, folder: str) -> None:
        self.places = order_of_the_page()

    def __call__(self, name: str) -> tuple[int, str]:
        stem = Path(name).stem
        return (self.places.index(stem) if stem in self.places else len(self.places)), stem

    def __repr__(self) -> str:
        return "<Order>"


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Take the pictures that an example wrote to out/, as every script of the folder does."""
    folder = Path(block_vars["src_file"]).parent / "out"
    taken = []
    for picture in sorted(folder.glob("*.png")):
        path = next(block_vars["image_path_iterator"])
        shutil.move(picture, path)
        taken.append(path)
    if folder.is_dir():
        folder.rmdir()
    return figure_rst(
        taken, gallery_conf["src_dir"], block_vars["example_globals"].get("__doc__", "").partition("\n")[0]
    )


# sphinx-gallery finds scrapers and orders by module path
sys.modules.setdefault("pictures", sys.modules[__name__])

"""Formulas as MathML, which browsers draw by themselves: no script, no fonts, no network.

docutils turns LaTeX into MathML. A command it does not know is a warning, and so an error of the build.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def formula(node: nodes.Element, *, block: bool) -> str:
    try:
        return tex2mathml(node.astext(), as_block=block)
    except MathError as error:
        logger.warning("no MathML for %r: %s", node.astext(), error, location=node)
        return f"<code>{node.astext()}</code>"


def inline(self: Any, node: nodes.math) -> None:
    self.body.append(formula(node, block=False))
    raise nodes.SkipNode


def block(self: Any, node: nodes.math_block) -> None:
    label = f' id="{node["ids"][0]}"' if node["ids"] else ""
    self.body.append(f'<div class="math-block"{label}>{formula(node, block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

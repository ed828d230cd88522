"""How Sphinx makes the site: ``make docs``. Decision 021 says why it is as it is."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "_ext"))
# An example starts on what everybody has, whoever makes the site.
os.environ.pop("ORTHOPROX_DATA", None)
os.environ["SCIKIT_LEARN_DATA"] = str(ROOT / "build" / "no-data")

project = "orthoprox"
author = "The orthoprox developers"
copyright = author
version = release = importlib.metadata.version("orthoprox")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "reference",
    "outside",
]
exclude_patterns = [
    "gallery.md",
    "_ext",
    "_templates",
    "auto_examples/**/*.ipynb",
    "auto_examples/sg_execution_times.rst",
]
templates_path = ["_templates"]
default_role = "code"
highlight_language = "text"
suppress_warnings = ["config.cache"]  # the classes that sort and find pictures are no text, and cannot be kept
nitpicky = False

# ---------------------------------------------------------------- pages in Markdown

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

# ---------------------------------------------------------------- reference

autosummary_generate = True
autodoc_mock_imports = ["jax", "optax", "torch", "triton"]
autodoc_typehints = "none"  # the Parameters sections say it in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the template of a class lists them
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"

# ---------------------------------------------------------------- examples

NOT_RUN = ("own_solver", "orthogonal_layers")
sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "auto_examples",
    "filename_pattern": rf"/(?!{'|'.join(NOT_RUN)})\w+\.py$",
    "within_subsection_order": "pictures.Order",
    "image_scrapers": ("pictures.scrape",),
    "reset_modules": (),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 1e9,
    "abort_on_example_error": True,
    "write_computation_times": False,
}

# ---------------------------------------------------------------- looks

html_theme = "pydata_sphinx_theme"
html_title = f"orthoprox {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "orthoprox"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "show_prev_next": False,
    "show_toc_level": 2,
    "collapse_navigation": True,  # or every page of the reference lists all others
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "start": []}

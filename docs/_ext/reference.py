"""Writes the pages of the reference, one for each public package, from the names that its ``__all__`` promises.

A name that several packages offer has one page, under the shortest of its addresses.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path
from typing import Any

PACKAGES = {  # in the order of the page: what people call first, what they build from, what works inside
    "orthoprox": "what most programs need",
    "orthoprox.estimators": "scikit-learn estimators",
    "orthoprox.plotting": "pictures",
    "orthoprox.models": "an application as a problem",
    "orthoprox.terms": "f, g and h",
    "orthoprox.maps": "A",
    "orthoprox.manifolds": "the constraint",
    "orthoprox.problem": "a problem, and how far a point is from critical",
    "orthoprox.solvers": "methods",
    "orthoprox.solvers.oadmm": "the default method",
    "orthoprox.starts": "where a run begins",
    "orthoprox.driver": "the loop: stopping, recording, checkpoints",
    "orthoprox.bounds": "what no components can exceed",
    "orthoprox.theory": "the quantities of the convergence proof along a run",
    "orthoprox.nn": "orthogonal layers for PyTorch",
    "orthoprox.optax": "orthogonal layers for JAX",
    "orthoprox.datasets": "data by name, and files",
    "orthoprox.experiments": "the experiments of the paper",
    "orthoprox.blocks": "data on disk or on a cluster",
    "orthoprox.sketches": "covariances of samples that come in blocks",
    "orthoprox.covariance": "covariances that are not formed",
    "orthoprox.allowance": "how many nonzeros there may be",
    "orthoprox.supports": "the search behind SparsePCA",
    "orthoprox.active": "Newton's method with given zeros",
    "orthoprox.backends": "NumPy, PyTorch and JAX",
}
COMMANDS = {"orthoprox.cli"}
"""A program and no library: its page is what ``orthoprox --help`` prints."""
SOURCE = Path(__file__).resolve().parents[2] / "src"


def found_packages() -> set[str]:
    """Every public module of the source that has an ``__all__``, PyTorch or not."""
    modules = set()
    for file in (SOURCE / "orthoprox").rglob("*.py"):
        path = file.relative_to(SOURCE).with_suffix("")
        parts = path.parts[:-1] if path.name == "__init__" else path.parts
        if not any(part.startswith("_") for part in parts) and promised(".".join(parts)):
            modules.add(".".join(parts))
    return modules


def promised(package: str) -> list[str]:
    """Its ``__all__``, read and not imported: PyTorch and JAX need not be there. That of the whole and its estimators."""
    path = SOURCE.joinpath(*package.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    lists = {
        target.id: ast.literal_eval(node.value)
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id in ("__all__", "_ESTIMATORS")
    }
    return [*lists.get("_ESTIMATORS", ()), *lists.get("__all__", ())]


def addresses() -> dict[str, dict[str, str]]:
    """For every package and name the address of its page."""
    missing = found_packages() - set(PACKAGES) - COMMANDS
    if missing:
        raise RuntimeError(f"docs/_ext/reference.py does not list the public packages {', '.join(sorted(missing))}.")
    places: dict[tuple[str, int], str] = {}
    pages: dict[str, dict[str, str]] = {}
    for package in PACKAGES:
        pages[package] = {}
        for name in promised(package):
            try:
                value = getattr(importlib.import_module(package), name)
            except ModuleNotFoundError:  # an optional library; nothing of it is elsewhere
                value = object()
            key = (name, id(value)) if not isinstance(value, str | int) else (name, 0)
            pages[package][name] = places.setdefault(key, f"{package}.{name}")
    return pages


def page(package: str, places: dict[str, str], words: str) -> str:
    lines = [package, "=" * len(package), "", f"{words[0].upper()}{words[1:]}.", ""]
    groups: dict[str, list[str]] = {}
    for name, place in places.items():
        groups.setdefault(kind(place), []).append(place)
    for title in sorted(groups):
        if len(groups) > 1:
            lines += [title, "-" * len(title), ""]
        lines += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
        lines += [f"   ~{place}" for place in groups[title]] + [""]
    return "\n".join(lines)


def kind(place: str) -> str:
    """Under which heading of its page a name stands."""
    package, _, name = place.rpartition(".")
    try:
        value = getattr(importlib.import_module(package), name)
    except ModuleNotFoundError:
        return "Classes and functions"
    if inspect.isclass(value):
        return "Exceptions" if issubclass(value, BaseException) else "Classes"
    return "Functions" if callable(value) else "Values"


def write(app: Any, config: Any) -> None:
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    for package, places in addresses().items():
        text, file = page(package, places, PACKAGES[package]), folder / f"{package}.rst"
        if not file.is_file() or file.read_text("utf-8") != text:  # an unchanged page is not read again
            file.write_text(text, "utf-8")


def hide_others(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what a class has from other libraries: their documents refer to pages that are not here."""
    owner = getattr(inspect.unwrap(obj) if callable(obj) else obj, "__module__", None)
    return True if isinstance(owner, str) and not owner.startswith("orthoprox") else None


def setup(app: Any) -> dict[str, Any]:
    app.connect("config-inited", write)
    app.connect("autodoc-skip-member", hide_others)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

"""Writes the pages of the reference, one for each public package, from the names that its ``__all__`` promises.

A name that several packages offer has one page, at the first of its addresses.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
from pathlib import Path
from typing import Any

PACKAGES = {  # in the order of the page: what people call first, what they build from, what works inside
    "orthoprox": "what most programs need",
    "orthoprox.estimators": "scikit-learn estimators",
    "orthoprox.plotting": "pictures",
    "orthoprox.models": "an application as a problem",
    "orthoprox.terms": "what f, g and h are made of",
    "orthoprox.maps": "the linear map A",
    "orthoprox.manifolds": "the constraint",
    "orthoprox.problem": "a problem, and how far a point is from critical",
    "orthoprox.solvers": "methods, and what a method of your own needs",
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
COMMANDS = "orthoprox.cli"
"""A program and no library: ``orthoprox --help`` describes it."""
SOURCE = Path(__file__).resolve().parents[2] / "src"
HEADINGS = ("Classes", "Classes and functions", "Functions", "Values", "Exceptions")


def public_packages() -> set[str]:
    """Every public module of the source that promises names."""
    found = set()
    for file in (SOURCE / "orthoprox").rglob("*.py"):
        path = file.relative_to(SOURCE).with_suffix("")
        parts = path.parts[:-1] if path.name == "__init__" else path.parts
        if not any(part.startswith("_") for part in parts) and promised(".".join(parts)):
            found.add(".".join(parts))
    return found


def promised(package: str) -> list[str]:
    """Its ``__all__``, read and not imported, since PyTorch and JAX may be missing; of the whole its estimators too."""
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


def value_of(package: str, name: str) -> Any:
    """What the name stands for; None where that needs a library that is not here."""
    try:
        return getattr(importlib.import_module(package), name)
    except ModuleNotFoundError:
        return None


@functools.cache
def addresses() -> dict[str, dict[str, str]]:
    """For every package and name the address of its page."""
    missing = {name for name in public_packages() - set(PACKAGES) if not f"{name}.".startswith(f"{COMMANDS}.")}
    if missing:
        raise RuntimeError(f"docs/_ext/reference.py does not list the public packages {', '.join(sorted(missing))}.")
    places: dict[tuple[Any, ...], str] = {}
    pages: dict[str, dict[str, str]] = {}
    for package in PACKAGES:
        pages[package] = {}
        for name in promised(package):
            value = value_of(package, name)
            key = (package, name) if value is None else (name, id(value))
            pages[package][name] = places.setdefault(key, f"{package}.{name}")
    return pages


def heading(place: str) -> str:
    """Under which heading of its page a name stands."""
    value = value_of(*place.rsplit(".", 1))
    if value is None:
        return "Classes and functions"
    if inspect.isclass(value):
        return "Exceptions" if issubclass(value, BaseException) else "Classes"
    return "Functions" if callable(value) else "Values"


def titled(text: str, line: str) -> list[str]:
    return [text, line * len(text), ""]


def page(package: str, places: list[str]) -> str:
    words = PACKAGES[package]
    lines = [*titled(package, "="), f"{words[0].upper()}{words[1:]}.", ""]
    groups = {title: [place for place in places if heading(place) == title] for title in HEADINGS}
    groups = {title: group for title, group in groups.items() if group}
    for title, group in groups.items():
        lines += titled(title, "-") if len(groups) > 1 else []
        lines += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
        lines += [f"   ~{place}" for place in group] + [""]
    return "\n".join(lines)


def index() -> str:
    lines = [
        *titled("API reference", "="),
        "Every public name, by package. ``from orthoprox import ...`` has what most programs need; what a package",
        "offers besides is imported from there. A name in two packages is one thing, and has one page.",
        "",
        ".. list-table::",
        "   :widths: 30 70",
        "",
    ]
    for package, words in PACKAGES.items():
        lines += [f"   * - :doc:`{package}`", f"     - {words}"]
    return "\n".join([*lines, "", ".. toctree::", "   :hidden:", "", *(f"   {package}" for package in PACKAGES), ""])


def write(app: Any, config: Any) -> None:
    """Write what changed, so that a page that did not is not read again, and remove what nobody promises any more."""
    folder = Path(app.srcdir) / "api"
    texts = {folder / f"{package}.rst": page(package, list(places.values())) for package, places in addresses().items()}
    texts[folder / "index.rst"] = index()
    folder.mkdir(exist_ok=True)
    for file, text in texts.items():
        if not file.is_file() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")
    wanted = {place for places in addresses().values() for place in places.values()}
    for file in [*folder.glob("*.rst"), *(folder / "generated").glob("*.rst")]:
        if file not in texts and file.stem not in wanted:
            file.unlink()


def hide_others(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what a class has from other libraries: their documents refer to pages that are not here."""
    owner = getattr(inspect.unwrap(obj) if callable(obj) else obj, "__module__", None)
    return True if isinstance(owner, str) and not owner.startswith("orthoprox") else None


@functools.cache
def public_classes() -> dict[int, str]:
    pairs = ((value_of(*place.rsplit(".", 1)), place) for places in addresses().values() for place in places.values())
    return {id(value): place for value, place in pairs if inspect.isclass(value)}


def name_bases(app: Any, name: str, obj: Any, options: Any, bases: list[Any]) -> None:
    """Link to the base classes that have a page, and leave out private ones."""
    known = [public_classes()[id(base)] for base in obj.__mro__[1:] if id(base) in public_classes()]
    others = [base for base in bases if not getattr(base, "__module__", "").startswith("orthoprox")]
    bases[:] = [f":py:class:`~{place}`" for place in known] or others


def setup(app: Any) -> dict[str, Any]:
    app.connect("config-inited", write)
    app.connect("autodoc-skip-member", hide_others)
    app.connect("autodoc-process-bases", name_bases)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

"""The shape of the package: import order, no array library in solvers, short files, public names."""

import ast
import inspect
import sys
from pathlib import Path

import orthoprox

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = REPOSITORY / "src" / "orthoprox"
MATHEMATICS = ("active", "solvers", "problem", "terms", "maps", "manifolds")
ACCELERATORS = {"torch", "jax", "cupy"}
LONGEST_FILE = 400


def files(*folders):
    return sorted(file for folder in folders for file in folder.rglob("*.py"))


def named(file):
    return file.relative_to(REPOSITORY).as_posix()


def imports(source):
    """The full names of all modules a source imports, wherever in the source that happens."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def libraries(source):
    """The top-level packages a source imports, the standard library and this package aside."""
    roots = {name.partition(".")[0] for name in imports(source)}
    return roots - sys.stdlib_module_names - {"orthoprox"}


def test_the_instruments_find_imports_wherever_they_stand_and_the_package():
    source = "import numpy as np, os\ndef f():\n    from torch.linalg import svd\nif 0:\n    import jax.numpy\n"
    assert libraries(source) == {"numpy", "torch", "jax"}
    assert Path(orthoprox.__file__).resolve().parent == PACKAGE
    assert all(files(PACKAGE / layer) for layer in MATHEMATICS)


def test_import_contracts(capsys, monkeypatch):
    from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

    monkeypatch.chdir(REPOSITORY)
    status = lint_imports(config_filename="pyproject.toml", no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_only_the_backends_import_accelerator_libraries_and_solvers_no_array_library():
    """The contracts name the libraries they forbid; this allows what it names."""
    given = {named(file): libraries(file.read_text("utf-8")) for file in files(*(PACKAGE / f for f in MATHEMATICS))}
    assert {name: found for name, found in given.items() if found & ACCELERATORS} == {}
    solvers = {name: found for name, found in given.items() if "/solvers/" in name}
    assert solvers and all(found <= {"array_api_compat"} for found in solvers.values())


def test_no_layer_imports_the_front_door():
    """The front door imports every layer, so going through it would be a way around the import order."""
    through = {file for file in files(PACKAGE) if "orthoprox" in set(imports(file.read_text("utf-8")))}
    assert {named(file) for file in through - set(files(PACKAGE / "cli"))} == set()


def test_files_are_short():
    ours = files(PACKAGE, *(REPOSITORY / folder for folder in ("tests", "benchmarks", "docs")))
    lengths = {named(file): len(file.read_text("utf-8").splitlines()) for file in ours}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_every_folder_of_the_package_is_a_package_and_typed():
    """A folder without ``__init__.py`` is invisible to the import contracts."""
    assert (PACKAGE / "py.typed").is_file()
    folders = {file.parent for file in files(PACKAGE)}
    assert [named(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_public_names_are_those_listed():
    def public(names):
        return {name for name in names if name[0] != "_" and not inspect.ismodule(getattr(orthoprox, name))}

    assert len(orthoprox.__all__) == len(set(orthoprox.__all__))
    assert public(set(dir(orthoprox)) - set(orthoprox._ESTIMATORS)) == public(orthoprox.__all__)

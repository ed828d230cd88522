"""Build the sdist and the wheel into dist/, and check what a user gets.

`make release` calls it, and so does the workflow that publishes, with the tag:

    python .ci/release.py --tag v0.1.0

Checked: one version everywhere, metadata, the README as PyPI shows it, the files inside, that the sdist builds the same
wheel, and that the wheel works in a bare environment. Everything runs without isolation, in the environment of `make
release`, so that only the dependencies of the wheel are downloaded.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
CHECK = Path(__file__).with_name("installed.py")
MOST_MEGABYTES = {".whl": 2, ".gz": 12}
KINDS = {".py", ".typed", ".toml", ".html", ".css", ".js", ".svg"}
"""What a package of code may hold; anything else is data or was left behind."""
RECIPE, SUM, ADDRESS = "recipe/recipe.yaml", "SHA256_OF_THE_SDIST", "ADDRESS_OF_THE_REPOSITORY"
VERSIONED = {  # where else the version stands, for tools that read nothing else
    "CITATION.cff": r"(?m)^version: (\S+)$",
    RECIPE: r"(?m)^  version: \"?([^\s\"]+)\"?$",
}


def call(*command: str | Path, env: dict[str, str] | None = None) -> str:
    """What a command says; one that fails ends this one, with its words."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=env)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} ended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def check(holds: bool, sentence: str) -> None:
    """End with a sentence unless this holds."""
    if not holds:
        sys.exit(sentence)


def version() -> str:
    """The one in src/orthoprox/__init__.py, from which hatchling takes it too."""
    text = (ROOT / "src/orthoprox/__init__.py").read_text("utf-8")
    found = re.search(r'(?m)^__version__ = "(.+)"$', text)
    check(found is not None, "src/orthoprox/__init__.py has no line __version__ = ...")
    assert found is not None
    return found[1]


def check_versions(tag: str | None) -> str:
    """The version, which must be the same everywhere, and with a tag what only a release must have."""
    ours = version()
    for name, pattern in VERSIONED.items():
        there = re.findall(pattern, (ROOT / name).read_text("utf-8"))
        check(
            there[:1] == [ours], f"{name} has version {there}, src/orthoprox/__init__.py has {ours}: make them equal."
        )
    if tag is not None:
        check(tag == f"v{ours}", f"The tag is {tag}, but the version is {ours}: the tag must be v{ours}.")
        changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
        dated = re.search(rf"(?m)^## \[?{re.escape(ours)}\b.*\d{{4}}-\d\d-\d\d", changes)
        check(dated is not None, f"CHANGELOG.md has no heading with {ours} and its date: rename Unreleased.")
        check(bool(repository()), "pyproject.toml has no Repository under [project.urls]: README's links need it.")
    return ours


def project() -> dict[str, Any]:
    """What pyproject.toml says of the project."""
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"])


def repository() -> str:
    """Its address, without which relative links of README.md cannot be made whole."""
    return str(project().get("urls", {}).get("Repository", ""))


def check_recipe() -> None:
    """The recipe of conda-forge asks for what the wheel asks for, and for what the extra ``fit`` brings."""
    ours = project()
    extras = ours["optional-dependencies"]
    recipe = (ROOT / RECIPE).read_text("utf-8")
    brought = [
        requirement for name in ("cli", "pandas", "plots", "progress", "sklearn") for requirement in extras[name]
    ]
    for requirement in [*ours["dependencies"], *brought]:
        named = re.sub("^matplotlib(?=>)", "matplotlib-base", requirement)
        line = "    - " + re.sub(r"(?=>=)", " ", named)
        check(f"{line}\n" in recipe, f"{RECIPE} lacks the line {line!r}, which pyproject.toml asks for.")


def write_recipe(sdist: Path) -> None:
    """The recipe with the sum of this sdist, and where it will lie, for conda-forge."""
    text = (ROOT / RECIPE).read_text("utf-8")
    check(text.count(SUM) == 1, f"{RECIPE} must have {SUM} in one place.")
    (ROOT / "build").mkdir(exist_ok=True)
    digest = hashlib.sha256(sdist.read_bytes()).hexdigest()
    filled = text.replace(SUM, digest).replace(ADDRESS, repository().rstrip("/") or ADDRESS)
    (ROOT / "build/recipe.yaml").write_text(filled, "utf-8")


def tracked() -> set[str] | None:
    """The files of the repository, without what git ignores; None outside one, as in an unpacked sdist."""
    if not (ROOT / ".git").exists():
        return None
    return set(call("git", "ls-files", "--cached", "--others", "--exclude-standard").splitlines())


def build() -> tuple[Path, Path]:
    """The sdist and the wheel, fresh."""
    shutil.rmtree(DIST, ignore_errors=True)
    call(sys.executable, "-m", "build", "--no-isolation", "--outdir", DIST)  # the sdist, and from it the wheel
    (sdist,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    return sdist, wheel


def inside(wheel: Path) -> set[str]:
    """The names of its files."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def check_contents(sdist: Path, wheel: Path, ours: str) -> None:
    """All that belongs there is there, and nothing else."""
    files, ledger = inside(wheel), tracked()
    own = {f"orthoprox-{ours}.dist-info/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")}
    own.add(f"orthoprox-{ours}.dist-info/licenses/LICENSE")
    source = {file.relative_to(ROOT / "src").as_posix() for file in sources()}
    wanted = own | {name for name in source if ledger is None or f"src/{name}" in ledger}
    check("orthoprox/py.typed" in files, "The wheel lacks py.typed.")
    check(not wanted - files, f"The wheel lacks {sorted(wanted - files)}.")
    check(not files - wanted, f"The wheel has files that do not belong to it: {sorted(files - wanted)}.")
    odd = sorted(name for name in source if Path(name).suffix not in KINDS)
    check(not odd, f"These files are neither code nor pages; should they be in the wheel? {odd}")
    with tarfile.open(sdist) as archive:
        packed = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    extra = set() if ledger is None else packed - ledger - {"PKG-INFO"}
    check(not extra, f"The sdist has files that git does not have: {sorted(extra)[:10]}.")
    must = {"README.md", "LICENSE", "pyproject.toml", "Makefile", ".ci/readme.py", "tests/conftest.py"}
    check(must <= packed, f"The sdist lacks {sorted(must - packed)}.")
    for file in (sdist, wheel):
        size, most = file.stat().st_size / 1e6, MOST_MEGABYTES[file.suffix]
        check(size <= most, f"{file.name} has {size:.1f} MB, more than {most}: has data come in?")
        print(f"{file.name}: {len(packed if file is sdist else files)} files, {size:.2f} MB")


def sources() -> list[Path]:
    """The files of the package, without what Python and Numba have compiled."""
    found = (ROOT / "src/orthoprox").rglob("*")
    return [file for file in found if file.is_file() and "__pycache__" not in file.parts]


def check_same_wheel(wheel: Path, scratch: Path) -> None:
    """The tree and the sdist must give the same files."""
    call(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", scratch)
    (direct,) = scratch.glob("*.whl")
    different = inside(direct) ^ inside(wheel)
    check(not different, f"The wheel of the tree and that of the sdist differ in {sorted(different)}.")


def check_readme(wheel: Path) -> None:
    """As PyPI shows it: nothing but what its renderer lets through."""
    from readme_renderer import markdown

    with zipfile.ZipFile(wheel) as archive:
        (name,) = [entry for entry in archive.namelist() if entry.endswith(".dist-info/METADATA")]
        text = archive.read(name).decode("utf-8").partition("\n\n")[2]
    page = markdown.render(text)
    check(page is not None, "PyPI could not render README.md.")
    for tag in ("<h1", "<img", "<table", "<pre"):
        check(tag in str(page), f"README.md lost its {tag}> when it was rendered as PyPI does it.")
    relative = re.findall(r'(?:href|src)="(?![a-z]+:|#)([^"]+)"', str(page))
    check(not (relative and repository()), f"These links of README.md lead nowhere on PyPI: {relative}")
    if relative:
        print(f"On PyPI {len(relative)} links of README.md lead nowhere until [project.urls] names the Repository.")
    print(f"README.md renders: {str(page).count('<table')} tables, {str(page).count('<img')} pictures")


def check_installed(wheel: Path, ours: str, scratch: Path) -> None:
    """In an environment with nothing but the dependencies: solve, and without click a sentence; then the command."""
    home = scratch / "venv"
    venv.create(home, with_pip=True)
    programs = home / ("Scripts" if os.name == "nt" else "bin")
    python, environment = programs / "python", {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    pip = (python, "-m", "pip", "install", "-qq", "--disable-pip-version-check")
    call(*pip, wheel)
    print(call(python, "-W", "error", CHECK, env=environment), end="")
    said = subprocess.run([programs / "orthoprox", "--version"], capture_output=True, text=True, env=environment)
    check(
        said.returncode == 1 and "orthoprox[cli]" in said.stderr and "Traceback" not in said.stderr,
        f"Without click the command should name its extra; it said: {said.stdout}{said.stderr}",
    )
    print(f"Without the extra cli the command says: {said.stderr}", end="")
    call(*pip, f"{wheel}[cli]")
    version = call(programs / "orthoprox", "--version", env=environment).strip()
    check(version == f"orthoprox, version {ours}", f"orthoprox --version says {version!r}, the wheel is of {ours}.")
    print(f"With it: {version}")


def main() -> None:
    """Build, then check in turn; the first failure ends it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tag", help="the tag that is to be published; checks what only a release must have")
    ours = check_versions(parser.parse_args().tag)
    check_recipe()
    with tempfile.TemporaryDirectory() as scratch:
        sdist, wheel = build()
        print(call(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel), end="")
        check_contents(sdist, wheel, ours)
        check_same_wheel(wheel, Path(scratch))
        check_readme(wheel)
        check_installed(wheel, ours, Path(scratch))
        write_recipe(sdist)
    print(f"orthoprox {ours} is in dist/, its recipe for conda-forge in build/recipe.yaml.")


if __name__ == "__main__":
    main()

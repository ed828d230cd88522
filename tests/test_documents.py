"""What the documents show runs, and what they point to exists."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest

import orthoprox
from orthoprox.models import sparse_pca

ROOT = Path(__file__).resolve().parent.parent


D = np.random.default_rng(0).standard_normal((40, 9))
EXAMPLES = {  # what stands before an example, and words it prints
    "README.md": ({}, "objective"),
    "docs/overview.md": ({}, "oadmm on 50 x 5: converged"),
    "docs/theory.md": ({"problem": sparse_pca(D, n_components=2, weight=0.1)}, ""),
    "docs/estimators.md": ({"X": D, "frame": pandas.DataFrame(D, columns=list("abcdefghi"))}, "standardised features"),
    "docs/certificate.md": ({}, "this is proved"),
    "docs/streams.md": ({}, "1000 (2, 30)"),
    "docs/scaling.md": ({}, "1 worker"),
    "docs/index.md": ({}, "12 of 39 loadings nonzero"),
    "docs/start.md": ({}, "oadmm on 50 x 5: converged"),
    "docs/choose-estimator.md": ({}, "SparsePCA (2, 12) 8 nonzeros"),
    "docs/choose-solver.md": ({}, "needs a Lipschitz h"),
    "docs/tutorial.md": ({}, "[26 27 28 29 30 31 32 33 34]"),
    "docs/howto/sparsity.md": ({}, "reconstructed best with 10 nonzeros"),
    "docs/howto/big-data.md": ({}, "5000 ["),
    "docs/howto/checkpoints.md": ({}, "resumed at iteration 300"),
    "docs/howto/compare.md": ({}, "radmm     F"),
}


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[] if page == "README.md" else pytest.mark.pages) for page in EXAMPLES]
)
def test_the_examples_of_a_page_run_one_after_the_other(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, words = EXAMPLES[page]
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    for block in blocks:
        exec(block, names)
    assert blocks and words in capsys.readouterr().out
    if page == "README.md":  # its two examples are one problem, solved in two ways
        X, V = names["result"].X, names["pca"].components_
        assert names["result"].criticality < 1e-6 and np.count_nonzero(X) == 12
        assert np.array_equal(X.any(axis=1), V.any(axis=0)) and np.linalg.norm(V @ X) ** 2 > 3 - 1e-9
    if page == "docs/overview.md":
        result, same = names["result"], names["same"]
        assert np.isclose(same.objective, result.objective, rtol=1e-12) and np.count_nonzero(same.X) == 50
        assert (tmp_path / "loadings.png").stat().st_size > 1000
    if page == "docs/theory.md":
        assert len(names["watch"].history.theta) == 1000


PAGES = ["README.md", "CONTRIBUTING.md", *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md"))]


@pytest.mark.parametrize("page", PAGES)
def test_links_and_pictures_lead_somewhere(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r'(?:\]\(|(?:src|srcset)=")([^)"#]+)', text):
        if "://" not in target:
            assert ((ROOT / page).parent / target).exists(), f"{page} points to {target}"
    for path in re.findall(r"`((?:docs|src|tests|benchmarks)/[\w/.]+\.(?:py|md|toml|png))`", text):
        assert "NAME" in path or (ROOT / path).exists(), f"{page} names {path}"


def script(path, monkeypatch):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)  # where dataclasses look for names
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def measuring(monkeypatch):
    return script(ROOT / "docs" / "measure.py", monkeypatch)


def test_the_reference_of_the_site_has_every_public_name_once(monkeypatch):
    reference = script(ROOT / "docs" / "_ext" / "reference.py", monkeypatch)
    places = reference.addresses()  # raises where a public package is not listed
    assert set(places["orthoprox"]) == {*orthoprox.__all__, *orthoprox._ESTIMATORS}
    assert set(places["orthoprox.terms"]) == set(orthoprox.terms.__all__) and "OrthoProx" in places["orthoprox.nn"]
    assert places["orthoprox.estimators"]["SparsePCA"] == places["orthoprox"]["SparsePCA"] == "orthoprox.SparsePCA"
    for package in reference.PACKAGES:
        text = reference.page(package, list(places[package].values()))
        assert all(f"~{place}\n" in text for place in places[package].values())
    monkeypatch.delitem(reference.PACKAGES, "orthoprox.maps")
    reference.addresses.cache_clear()
    with pytest.raises(RuntimeError, match="orthoprox.maps"):
        reference.addresses()


def test_every_measured_page_says_where_its_figures_come_from(measuring):
    for name, page in measuring.PAGES.items():
        text = measuring.file_of(name).read_text()
        begin = f"<!-- {measuring.MARK}" if page.hidden else measuring.MARK
        assert text.split("\n")[2].startswith(begin) and text.count(measuring.MARK) == 1, name
        assert set(page.sections) <= {""} | set(re.findall(r"^## (.*)$", text, flags=re.MULTILINE))
        for script in re.findall(r"(?:docs|benchmarks)/\w+\.py", " ".join(page.commands)):
            assert (ROOT / script).is_file()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not here")
def test_pages_are_measured_from_one_commit_and_stamped_with_it(measuring, tmp_path, monkeypatch, capsys):
    def git(*words):
        call = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", *words]
        return subprocess.run(call, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    monkeypatch.setattr(measuring, "ROOT", tmp_path)
    pages = {
        "whole": measuring.Page(("docs/whole.py",)),
        "part": measuring.Page(("docs/part.py --jobs {jobs}",), ("Measured",), printed=True),
        "top": measuring.Page(("docs/top.py",), printed=True, path="TOP.md", hidden=True),
        "far": measuring.Page(("docs/far.py",), needs=("a_library_that_nobody_has",)),
    }
    monkeypatch.setattr(measuring, "PAGES", pages)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/whole.py").write_text("open('docs/whole.md', 'w').write('# Whole\\n\\n| a |\\n|---|\\n| 2 |\\n')")
    (tmp_path / "docs/part.py").write_text("print('printed 3')")
    (tmp_path / "docs/top.py").write_text("print('| a |\\n|---|\\n| 7 |')")
    for name in pages:
        text = "# Title\n\n| by hand |\n|---|\n\n## Measured\n\n| a |\n|---|\n| 1 |\n"
        measuring.file_of(name).write_text(text.replace("| by hand |\n|---|\n", "") if name == "top" else text)
    git("init", "-q")
    git("add", "."), git("commit", "-qm", "first")
    commit = git("rev-parse", "--short=8", "HEAD")

    assert measuring.main(["--note"]) == 0
    note = (tmp_path / "docs/part.md").read_text()
    assert f"one table was last changed by commit `{commit}`" in note and note.count(measuring.MARK) == 1
    for _ in range(2):  # the second time replaces what the first has written
        assert measuring.main([]) == 0
    whole, part, top, far = (measuring.file_of(name).read_text() for name in pages)
    assert f"<!-- {measuring.MARK} commit `{commit}`" in top and top.endswith("| a |\n|---|\n| 7 |\n")
    assert f"{measuring.MARK} commit `{commit}`" in whole and "| 2 |" in whole and "NumPy" in whole
    assert part.count("printed 3") == 1 and part.count(measuring.MARK) == 1 and f"commit `{commit}`" in part
    assert measuring.told_by_the_log("far") in far and "left as it is" in capsys.readouterr().out

    # A table with the same head takes the place of the one on the page: nothing of another commit is left.
    (tmp_path / "docs/part.py").write_text("print('words\\n\\n|  a |\\n|---|\\n| 5 |\\n| 6 |')")
    git("commit", "-qam", "second")
    commit = git("rev-parse", "--short=8", "HEAD")
    assert measuring.main(["part"]) == 0
    part = (tmp_path / "docs/part.md").read_text()
    assert part.endswith("| by hand |\n|---|\n\n## Measured\n\n|  a |\n|---|\n| 5 |\n| 6 |\n")
    assert re.findall("commit `(.*?)`", part) == [commit] and "printed" not in part

    (tmp_path / "docs/part.py").write_text("print('printed 4')")
    assert measuring.main(["part"]) == 1 and "not committed" in capsys.readouterr().err
    assert (tmp_path / "docs/part.md").read_text() == part

"""What the documents show runs, and what they point to exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def blocks(name):
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), flags=re.DOTALL)


def test_the_examples_of_the_readme_run_one_after_the_other(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks("README.md"):
        exec(block, names)
    assert "objective" in capsys.readouterr().out
    assert names["result"].X.shape == (50, 5)
    assert (tmp_path / "loadings.png").stat().st_size > 1000


def test_the_example_of_the_theory_page_runs():
    import numpy as np

    from orthoprox.models import sparse_pca

    problem = sparse_pca(np.random.default_rng(0).standard_normal((40, 10)), n_components=2, weight=0.1)
    names: dict[str, object] = {"problem": problem}
    for block in blocks("docs/theory.md"):
        exec(block, names)
    assert len(names["watch"].history.theta) == 1000


def test_the_examples_of_the_page_on_estimators_run(capsys):
    import numpy as np
    import pandas

    D = np.random.default_rng(0).standard_normal((40, 9))
    names: dict[str, object] = {"X": D, "frame": pandas.DataFrame(D, columns=list("abcdefghi"))}
    for block in blocks("docs/estimators.md"):
        exec(block, names)
    assert "standardised features" in capsys.readouterr().out


def test_the_examples_of_the_certificate_page_run(capsys):
    names: dict[str, object] = {}
    for block in blocks("docs/certificate.md"):
        exec(block, names)
    assert "this is proved" in capsys.readouterr().out


PAGES = ["README.md", "CONTRIBUTING.md", *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md"))]


@pytest.mark.parametrize("page", PAGES)
def test_links_and_pictures_lead_somewhere(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\(([^)#]+)", text):
        if "://" not in target:
            assert ((ROOT / page).parent / target).exists(), f"{page} points to {target}"
    for path in re.findall(r"`((?:docs|src|tests|benchmarks)/[\w/.]+\.(?:py|md|toml|png))`", text):
        assert "NAME" in path or (ROOT / path).exists(), f"{page} names {path}"

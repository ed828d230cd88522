"""What the documents show runs, and what they point to exists."""

import re
from pathlib import Path

import numpy as np
import pandas
import pytest

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
}


@pytest.mark.parametrize("page", EXAMPLES)
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

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
    "docs/theory.md": ({"problem": sparse_pca(D, n_components=2, weight=0.1)}, ""),
    "docs/estimators.md": ({"X": D, "frame": pandas.DataFrame(D, columns=list("abcdefghi"))}, "standardised features"),
    "docs/certificate.md": ({}, "this is proved"),
    "docs/streams.md": ({}, "1000 (2, 30)"),
    "docs/scaling.md": ({}, "1 worker"),
    "docs/index.md": ({}, "12 of 39 loadings nonzero"),
    "docs/start.md": ({}, "oadmm on 50 x 5: converged"),
    "docs/choose-estimator.md": ({}, "SparsePCA (2, 12) 8 entries are not zero"),
    "docs/choose-solver.md": ({}, "needs a Lipschitz h"),
    "docs/tutorial.md": ({}, "[26 27 28 29 30 31 32 33 34]"),
    "docs/howto/sparsity.md": ({}, "reconstructed best with 10 nonzeros"),
    "docs/howto/big-data.md": ({}, "5000 ["),
    "docs/howto/checkpoints.md": ({}, "resumed at iteration 300"),
    "docs/howto/compare.md": ({}, "radmm     F"),
}


@pytest.mark.parametrize("page", EXAMPLES)
def test_the_examples_of_a_page_run_one_after_the_other(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, words = EXAMPLES[page]
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    for block in blocks:
        exec(block, names)
    assert blocks and words in capsys.readouterr().out
    if page == "README.md":
        assert names["result"].X.shape == (50, 5) and (tmp_path / "loadings.png").stat().st_size > 1000
    if page == "docs/theory.md":
        assert len(names["watch"].history.theta) == 1000


PAGES = ["README.md", "CONTRIBUTING.md", *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md"))]


@pytest.mark.parametrize("page", PAGES)
def test_links_and_pictures_lead_somewhere(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\(([^)#]+)", text):
        if "://" not in target:
            assert ((ROOT / page).parent / target).exists(), f"{page} points to {target}"
    for path in re.findall(r"`((?:docs|src|tests|benchmarks)/[\w/.]+\.(?:py|md|toml|png))`", text):
        assert "NAME" in path or (ROOT / path).exists(), f"{page} names {path}"

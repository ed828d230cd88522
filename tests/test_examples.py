"""Every example runs, on small data, and ends with a picture. What the pictures show is tested where it is computed."""

import ast
import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = {file.stem: file for file in sorted((ROOT / "examples").glob("*.py")) if "def main(" in file.read_text()}
OTHERS = {name for name, file in EXAMPLES.items() if "\nimport torch\n" in file.read_text()}
"""Examples that need PyTorch; ``tests/backends/test_nn_finish.py`` runs them."""
SHORTER = {"genes": {"COUNTS": (32, 66)}}
"""Settings that make an example shorter; the gallery, made by ``make docs``, runs it as it is."""
LARGEST = 80_000


def module(file):
    spec = importlib.util.spec_from_file_location(f"example_{file.stem}", file)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    return example


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in OTHERS])
def test_an_example_is_a_script_about_a_question_that_ends_with_a_picture_in_the_gallery(
    name, tmp_path, tmp_path_factory, monkeypatch
):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path_factory.mktemp("home")))  # where nothing was fetched
    check_example(name, tmp_path, monkeypatch)


def check_example(name, tmp_path, monkeypatch):
    """Run an example in an empty folder, and see that its page and picture are in the gallery."""
    from matplotlib.image import imread

    monkeypatch.delenv("ORTHOPROX_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "new" / "pictures"
    example = module(EXAMPLES[name])
    for setting, value in SHORTER.get(name, {}).items():
        monkeypatch.setattr(example, setting, value)
    picture = example.main(folder)
    assert picture == folder / f"{name}.png"
    assert [path.name for path in folder.rglob("*")] == [picture.name]
    assert len(list(tmp_path.iterdir())) == 1  # nothing is left elsewhere
    assert picture.stat().st_size < LARGEST
    pixels = imread(picture)[..., :3]
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 2
    blank = np.all(pixels == pixels[0, 0], axis=2)
    assert not blank.all(axis=0).mean() > 0.5 and not blank.all(axis=1).mean() > 0.5
    text, page = EXAMPLES[name].read_text("utf-8"), (ROOT / "docs" / "gallery.md").read_text("utf-8")
    question, _, rest = (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")
    question, _, line = question.partition("\n")
    assert question.endswith("?") and line == "=" * len(question) and rest.strip()  # a title, as the site wants it
    assert 'Path("out")' in text.partition("__main__")[2]
    assert f"## {question}" in page, "make the page again: python docs/gallery.py"
    assert f"(../examples/{name}.py)" in page
    assert re.search(rf"!\[.+\]\(gallery/{name}\.png\)", page)
    assert 0 < (ROOT / "docs" / "gallery" / f"{name}.png").stat().st_size < LARGEST


def test_newsgroups_are_read_where_they_are_at_hand(tmp_path, monkeypatch, capsys):
    example, asked = module(EXAMPLES["topics"]), {}
    words = ["orbit shuttle launch moon", "doctor patient disease drug", "goal puck team season", "pixel image render"]

    def fetched(**how):
        asked.update(how)
        draw = np.random.default_rng(0)
        return SimpleNamespace(data=[" ".join(draw.choice(words[i % 4].split(), 6)) for i in range(200)])

    monkeypatch.setattr(example, "fetch_20newsgroups", fetched)
    assert example.texts()[1] == "articles"
    assert example.main(tmp_path).is_file()
    assert asked["download_if_missing"] is False  # an example must not begin with a download
    assert "shuttle" in capsys.readouterr().out

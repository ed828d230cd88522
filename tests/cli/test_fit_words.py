"""What ``orthoprox fit`` says of tables that are out of the ordinary."""

import warnings

import matplotlib
import pytest
from matplotlib.font_manager import fontManager

from cli.helpers import fit
from orthoprox.cli.fit.pictures import draw_pictures


def test_names_in_any_script_are_drawn_or_a_note_says_that_no_font_has_them(frame, tmp_path, monkeypatch):
    own = [font for font in fontManager.ttflist if font.fname.startswith(matplotlib.get_data_path())]
    monkeypatch.setattr(fontManager, "ttflist", own)  # whatever is installed here
    seen = []
    monkeypatch.setattr(
        "orthoprox.cli.fit.outcome.draw_pictures",
        lambda fit: seen.extend(matplotlib.rcParams["font.family"]) or draw_pictures(fit),
    )
    frame.columns = [
        "\u8eab\u9ad8",
        "\u24b6ge",
        "\u0104",
        "delta",
        "eps",
    ]  # in no font of matplotlib's; in STIX; in DejaVu
    frame.to_csv(tmp_path / "a.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = fit("nonnegative-pca", tmp_path / "a.csv")
    assert done.exit_code == 0 and (tmp_path / "out" / "biplot.png").is_file()
    assert "Note: The pictures have boxes for \u8eab, \u9ad8: matplotlib finds no font with such letters" in done.stdout
    assert seen[:-1] == (before := matplotlib.rcParams["font.family"]) and seen[-1] not in before


def test_features_of_sizes_beyond_comparison_are_put_in_words(frame, no_pictures, tmp_path):
    (frame * [1, 1e200, 1e-200, 1, 1]).to_csv(tmp_path / "a.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = fit("dual-pcp", tmp_path / "a.csv", "--only", "beta,gamma,delta")
    assert done.exit_code == 0 and "Spreads differ more than a billion-fold" in done.stdout


def test_too_many_components_are_refused_with_what_was_left_out(frame, tmp_path):
    frame[["alpha"]].assign(town="Bonn").to_csv(tmp_path / "a.csv", index=False)
    done = fit("dual-pcp", tmp_path / "a.csv", "-r", 2)
    assert "--components = 2, and 1 feature of the table can take part. Left out: 'town' (text)." in done.stderr
    frame[["alpha"]].to_csv(tmp_path / "a.csv", index=False)
    assert "--components = 2, and the table has 1 feature." in fit("dual-pcp", tmp_path / "a.csv", "-r", 2).stderr


def test_what_has_no_path_is_refused_before_a_fit_that_may_take_long(frame, tmp_path, monkeypatch):
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame[:2].to_csv(tmp_path / "two.csv", index=False)
    monkeypatch.setattr("orthoprox.SparsePCA.fit", lambda *_: pytest.fail("ran"))
    for table, options, words in (
        ("two.csv", ("--cv", 2), "--cv needs folds that leave 2 of 2 samples; given 2."),
        ("a.csv", ("--path", "--weight", 1), "There is no path with --weight"),
        ("a.csv", ("--path", "--nonzeros-each", 1), "There is no path with --nonzeros-each"),
    ):
        assert words in fit("sparse-pca", tmp_path / table, *options).stderr


def test_many_components_do_not_fill_the_screen(frame, tmp_path, monkeypatch, no_pictures):
    monkeypatch.setattr("orthoprox.cli.fit.words.COMPONENTS", 3)
    frame.to_csv(tmp_path / "a.csv", index=False)
    said = fit("range-ica", tmp_path / "a.csv").stdout
    assert said.index("  3  ") < said.index("and 2 more components; loadings.csv has them all.") and "  4  " not in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--path", "6,12"), "--path takes no value: leave '6,12' out."),
        (
            ("--components", "2", "b.csv"),
            "One table at a time: 'b.csv' is left over. Put names",
        ),
    ],
)
def test_words_left_over_are_told_apart(frame, tmp_path, words, sentence):
    frame.to_csv(tmp_path / "a.csv", index=False)
    found = fit("sparse-pca", tmp_path / "a.csv", *words)
    assert found.exit_code == 2 and sentence in found.stderr

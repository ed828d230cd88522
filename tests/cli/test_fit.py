"""``orthoprox fit``: what Python gives, on tables as people have them, all files or none."""

import csv
import inspect
import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest
from sklearn.preprocessing import StandardScaler

import orthoprox
from cli import messy
from cli.helpers import NAMES, columns, fit, invoke
from orthoprox import estimators
from orthoprox.cli.fit.folder import FILES
from orthoprox.cli.fit.kinds import KINDS
from orthoprox.cli.fit.parameters import NOT_OFFERED, PARAMETERS
from orthoprox.cli.tables.text import _exact

EXACT = _exact(pandas)


def read(path):
    """The first column, the other titles, and the numbers of a file."""
    with path.open(encoding="utf-8", newline="") as file:
        head, *lines = csv.reader(file)
    return [line[0] for line in lines], head, [line[1:] for line in lines]


@pytest.mark.filterwarnings("ignore:SparsePCA. Features differ much in spread")  # as is right without scaling
@pytest.mark.parametrize("scale", ["standard", "none"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_estimator_gives_what_python_gives(kind, scale, frame, no_pictures, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index_label="who")
    paths = ["--no-path"] if kind == "sparse-pca" else []
    done = fit(kind, tmp_path / "a.csv", "--components", 2, "--scale", scale, *paths)
    assert (done.exit_code, done.stderr) == (0, "")
    estimator = getattr(orthoprox, KINDS[kind].name)
    own = "scale" in inspect.signature(estimator).parameters
    settings = {"scale": "standard" if scale == "standard" else None} if own else {}
    scaler = StandardScaler(with_mean=kind != "orthogonal-nmf").set_output(transform="pandas")
    X = scaler.fit_transform(frame) if scale == "standard" and not own else frame
    model = estimator(n_components=2, random_state=0, **settings).fit(X)
    features, head, numbers = read(tmp_path / "out" / "loadings.csv")
    assert (features, head) == (NAMES, ["feature", "component_1", "component_2"])
    assert np.array_equal(np.array(numbers, dtype=float), model.components_.T)
    index, head, numbers = read(tmp_path / "out" / "scores.csv")
    assert head[:3] == ["who", "component_1", "component_2"] and index == [str(i) for i in range(messy.ROWS)]
    assert np.array_equal(np.array([line[:2] for line in numbers], dtype=float), model.transform(X))
    if kind in ("robust-subspace", "dual-pcp"):
        assert [line[3] == "yes" for line in numbers] == model.outliers_.tolist()
    if kind == "orthogonal-nmf":
        assert [line[2] for line in numbers] == [f"component_{k + 1}" for k in model.labels_]
    if kind == "range-ica":
        assert np.array_equal(np.array(read(tmp_path / "out" / "mixing.csv")[2], dtype=float), model.mixing_)


def test_all_options_reach_the_estimator(frame, no_pictures, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    options = (
        "-r",
        2,
        "--nonzeros-each",
        "3,2",
        "--effort",
        "fast",
        "--starts",
        2,
        "--seed",
        7,
        "--tol",
        1e-4,
        "--json",
    )
    summary = json.loads(fit("sparse-pca", tmp_path / "a.csv", *options).stdout)
    settings = {"n_components": 2, "n_nonzero_per_component": [3, 2], "effort": "fast", "n_init": 2, "random_state": 7}
    assert settings | {"tol": 1e-4, "scale": "standard"} == {
        name: summary["parameters"][name] for name in [*settings, "tol", "scale"]
    }
    assert summary["nonzeros"] == [3, 2] and summary["path"] is None
    scope = {"X": frame, "__name__": "lines"}
    exec(summary["python"], scope)  # the lines that the report shows
    loadings = np.array(read(tmp_path / "out" / "loadings.csv")[2], dtype=float)
    assert np.array_equal(scope["model"].components_.T, loadings)


def test_every_parameter_has_an_option_or_is_left_out_on_purpose():
    for kind in KINDS.values():
        names = set(inspect.signature(kind.estimator).parameters)
        assert names - set(PARAMETERS) <= NOT_OFFERED
    exported = {getattr(estimators, name) for name in estimators.__all__}
    base = estimators.OrthogonalTransformer
    wanted = {one for one in exported if inspect.isclass(one) and issubclass(one, base)} - {base}
    assert {kind.estimator for kind in KINDS.values()} == wanted and len(wanted) == 7


# ---------------------------------------------------------------- the six tables


def test_a_bank_export(no_pictures, tmp_path):
    X = messy.bank(tmp_path / "umsatz.csv")
    done = fit("sparse-pca", tmp_path / "umsatz.csv", "-r", 2, "--nonzeros", 4, "--no-path")
    assert done.exit_code == 0, done.stderr
    for words in (
        "Read umsatz.csv (semicolons between columns, decimal commas, cp1252): 24 samples, 5 features.",
        "'Buchung' names the samples, and takes no part in the fit.",
        "Left out: 'Währung' (text).",
        "Every feature was centred and divided by its standard deviation (--scale none: units are kept).",
        "Note: Rows 1 to 2 stand above the table and are left out: they have fewer cells.",
        "Note: 'Miete' was read without €.",
    ):
        assert words in done.stdout
    model = orthoprox.SparsePCA(n_components=2, n_nonzero=4, scale="standard", random_state=0).fit(columns(X, "abcde"))
    features, _, numbers = read(tmp_path / "out" / "loadings.csv")
    assert features == ["Miete", "Strom", "Gehalt", "Zins", "Gebühr"]
    assert np.array_equal(np.array(numbers, dtype=float), model.components_.T)
    assert read(tmp_path / "out" / "scores.csv")[0][:2] == ["01.03.2024", "02.03.2024"]


def test_a_table_of_genes(no_pictures, tmp_path):
    X = messy.genes(tmp_path / "genes.tsv")
    options = ("-r", 2, "--nonzeros", 5, "--scale", "none", "--no-path")
    done = fit("sparse-pca", tmp_path / "genes.tsv", *options, "--transpose")
    assert done.exit_code == 0, done.stderr
    assert "(tabs between columns, decimal points, utf-8, features in rows): 24 samples, 6 features." in done.stdout
    assert "Left out: 'description' (text)." in done.stdout and "Features keep their units" in done.stdout
    assert "Note: 2 rows have the name 'MYC'; the others are 'MYC (2)' and so on here." in done.stdout
    features, _, numbers = read(tmp_path / "out" / "loadings.csv")
    assert features == ["TP53", "BRCA1", "EGFR", "MYC", "MYC (2)", "KRAS"]
    genes = pandas.read_csv(tmp_path / "genes.tsv", sep="\t", index_col="gene", **EXACT).drop(columns="description").T
    assert np.array_equal(genes, X)
    model = orthoprox.SparsePCA(n_components=2, n_nonzero=5, random_state=0).fit(np.asarray(genes))
    assert np.array_equal(np.array(numbers, dtype=float), model.components_.T)
    assert read(tmp_path / "out" / "scores.csv")[0][0] == "patient0"
    hint = fit("sparse-pca", tmp_path / "genes.tsv", *options, "--overwrite")
    assert "Note: If the rows are features, as the name 'gene' suggests, give --transpose." in hint.stdout


def test_a_survey_with_texts_and_gaps(no_pictures, tmp_path):
    X = messy.survey(tmp_path / "survey.csv")
    refused = fit("sparse-pca", tmp_path / "survey.csv")
    assert refused.exit_code == 2 and not (tmp_path / "out").exists()
    assert refused.stderr == (
        "Error: 4 cells of 120 are empty or not a number: 'height' 2 (first row 4, column F), 'age' 1 (row 4, column "
        "C), 'weight' 1 (row 11, column G). Say what to do with them: --missing drop-rows keeps 21 of 24 samples "
        "(rows), --missing median fills each with the median of its feature, --missing drop-columns keeps 2 of 5 "
        "features (columns).\n"
    )
    holes = X.copy()
    holes[2, 0] = holes[[2, 7], 3] = holes[9, 4] = np.nan
    filled = np.where(np.isnan(holes), np.nanmedian(holes, axis=0), holes)
    kept = [i for i in range(messy.ROWS) if i not in (2, 7, 9)]
    ways = {"drop-rows": X[kept], "median": filled, "drop-columns": X[:, [1, 2]]}
    for way, wanted in ways.items():
        done = fit("sparse-pca", tmp_path / "survey.csv", "--missing", way, "--overwrite", "--no-path")
        assert done.exit_code == 0, done.stderr
        model = orthoprox.SparsePCA(scale="standard", random_state=0).fit(columns(wanted, "abcde"[: wanted.shape[1]]))
        numbers = read(tmp_path / "out" / "loadings.csv")[2]
        assert np.array_equal(np.array(numbers, dtype=float), model.components_.T)
        index, head, _ = read(tmp_path / "out" / "scores.csv")
        assert head[0] == "respondent id" and len(index) == len(wanted) and index[0] == "1000"
        said = {
            "drop-rows": "Note: Rows 4, 9, 11 of the file were left out for empty cells.",
            "median": "Note: 4 empty cells of 3 features took the median of the feature.",
            "drop-columns": "'age' (1 empty cell), 'height' (2 empty cells), 'weight' (1 empty cell).",
        }
        assert said[way] in done.stdout and "'comment' (text" in done.stdout


def test_sparse_counts(no_pictures, tmp_path, monkeypatch):
    A = messy.counts(tmp_path / "counts.mtx")
    done = fit("orthogonal-nmf", tmp_path / "counts.mtx", "-r", 2)
    assert done.exit_code == 0, done.stderr
    assert "Read counts.mtx: 24 samples, 8 features." in done.stdout
    assert "Left out: 'x4' (constant: 0 everywhere)." in done.stdout
    assert "Every feature was divided by its standard deviation, not centred" in done.stdout
    none = int(np.sum(np.all(A == 0, axis=1)))
    assert none == 3 and "3 samples belong to no component." in done.stdout
    kept = np.delete(A, 4, axis=1)
    model = orthoprox.OrthogonalNMF(2, random_state=0).fit(StandardScaler(with_mean=False).fit_transform(kept))
    features, _, numbers = read(tmp_path / "out" / "loadings.csv")
    assert features == [f"x{j}" for j in range(9) if j != 4]
    assert np.allclose(np.array(numbers, dtype=float), model.components_.T, rtol=0, atol=1e-12)


def test_constants_and_nothing(no_pictures, tmp_path):
    messy.constants(tmp_path / "same.csv")
    done = fit("sparse-pca", tmp_path / "same.csv")
    assert done.exit_code == 2 and done.stderr == (
        "Error: All 2 columns of numbers are constant: there is no variance for components to explain ('dose' is 5, "
        "'day' is 3). Check the table.\n"
    )
    (tmp_path / "none.csv").touch()
    done = fit("sparse-pca", tmp_path / "none.csv")
    said = f"Error: {tmp_path / 'none.csv'} is empty: it has no rows. Export the table again.\n"
    assert (done.exit_code, done.stderr) == (3, said)
    assert not (tmp_path / "out").exists()


# ---------------------------------------------------------------- what is written


def test_the_folder_is_complete_and_the_report_is_one_file(frame, tmp_path):
    frame.columns = ["alpha <b>", "$beta_1$", *NAMES[2:]]
    frame.assign(same=3).to_csv(tmp_path / "a b.csv", index=False)
    done = fit("sparse-pca", tmp_path / "a b.csv", "-r", 2, "-k", 9)
    assert done.exit_code == 0, done.stderr
    files = [file for file in FILES if file != "mixing.csv"]
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == sorted(files)
    assert (
        re.search(r"Spreads differ [\d,]+-fold", done.stdout) and "the standard deviation of 'epsilon'" in done.stdout
    )
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert not re.search(r"""(?:src|href)=["'](?!data:)|https?://|@import|url\(""", page)  # opens offline
    assert page.count("data:image/png;base64,") == 3 and "alpha &lt;b&gt;" in page and "<b>" not in page
    for words in (
        "&#x27;same&#x27; (constant: 3 everywhere)",
        "SparsePCA(n_components=2, n_nonzero=9",
        "orthoprox fit",
    ):
        assert words in page
    summary = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert summary["command"].startswith("orthoprox fit sparse-pca '") and summary["path"]["upper_bound"]
    at = summary["path"]["n_nonzero"].index(9)  # not one of the usual numbers; the star must not lie above the bound
    kept, bound = summary["path"]["variance_ratio"][at], summary["path"]["upper_bound"][at]
    assert sum(summary["explained_variance_ratio"]) <= kept + 1e-12 and kept <= bound + 1e-12
    assert summary["versions"]["orthoprox"] == orthoprox.__version__
    for name in ("loadings", "biplot", "path"):
        assert (tmp_path / "out" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_correlation_matrix_gives_what_its_samples_give(frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.cov().to_csv(tmp_path / "c.csv")
    options = ("-r", 2, "-k", 5, "--overwrite", "--no-path")
    assert fit("sparse-pca", tmp_path / "a.csv", *options).exit_code == 0
    names, _, samples = read(tmp_path / "out" / "loadings.csv")
    done = fit("sparse-pca", tmp_path / "c.csv", *options, "--covariance")
    assert done.exit_code == 0 and "Read c.csv (commas" in done.stdout and "covariances of 5 features." in done.stdout
    assert "was taken" not in done.stdout and "Note" not in done.stdout
    found, _, numbers = read(tmp_path / "out" / "loadings.csv")
    assert found == names and np.allclose(np.array(numbers, float), np.array(samples, float), atol=1e-8)
    files = {file.name for file in (tmp_path / "out").iterdir()}
    assert files == {"loadings.csv", "loadings.png", "summary.json", "report.html"}
    assert "fit_covariance(C)" in (tmp_path / "out" / "report.html").read_text("utf-8")
    for more, words in {
        ("a.csv", "--covariance"): "--covariance takes a dense table with a row and a column for each feature",
        ("c.csv", "--covariance", "--path"): "There is no path of covariances",
    }.items():
        done = fit("sparse-pca", tmp_path / more[0], "--overwrite", *more[1:])
        assert done.exit_code == 2 and words in done.stderr


def test_folds_are_at_random_since_tables_are_sorted(frame, no_pictures, tmp_path):
    from sklearn.model_selection import KFold

    frame = frame.sort_values("alpha")
    frame.to_csv(tmp_path / "a.csv", index=False)
    done = fit("sparse-pca", tmp_path / "a.csv", "-r", 1, "-k", 2, "--cv", 3, "--seed", 5, "--json")
    path = json.loads(done.stdout)["path"]
    same = {"n_nonzero": path["n_nonzero"], "scale": "standard", "random_state": 5}
    shuffled = orthoprox.sparse_pca_path(frame, 1, cv=KFold(3, shuffle=True, random_state=5), **same)
    assert np.allclose(path["error"], shuffled.error, rtol=1e-9)
    done = fit("sparse-pca", tmp_path / "a.csv", "--cv", len(frame) + 1, "--overwrite")
    assert f"--cv must be at most the number of samples, {len(frame)}; given {len(frame) + 1}." in done.stderr
    assert not np.allclose(path["error"], orthoprox.sparse_pca_path(frame, 1, cv=3, **same).error, rtol=1e-3)


def test_a_device_that_is_not_there_is_a_sentence_and_nothing_is_written(frame, tmp_path):
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        pytest.skip("here the device is there")
    frame.to_csv(tmp_path / "a.csv", index=False)
    done = fit("sparse-pca", tmp_path / "a.csv", "--device", "cuda")
    (line,) = done.stderr.strip().splitlines()[-1:]
    assert done.exit_code != 0 and re.match("Error: (A run on a GPU needs torch|PyTorch .* CUDA)", line), line
    done = fit("sparse-pca", tmp_path / "a.csv", "--device", "gpu")
    assert done.exit_code == 2 and "device must be cpu, cuda, cuda:0 (and so on) or auto; given 'gpu'." in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_failure_leaves_nothing_and_an_earlier_fit_as_it_was(frame, no_pictures, tmp_path, monkeypatch):
    frame.to_csv(tmp_path / "a.csv", index=False)
    there, options = {"a.csv"}, ("-r", 1, "--no-path", "--overwrite")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("orthoprox.cli.fit.folder.os.fsync", full)
        done = invoke("fit", "sparse-pca", tmp_path / "a.csv", "--no-path", "--out", tmp_path / "x" / "y")
        assert done.exit_code == 4 and "No space left on device" in done.stderr
        assert {entry.name for entry in tmp_path.iterdir()} == there
    assert fit("sparse-pca", tmp_path / "a.csv", "--no-path").exit_code == 0
    before = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    again = fit("sparse-pca", tmp_path / "a.csv", "-r", 1)
    assert again.exit_code == 2 and "holds the results of an earlier fit" in again.stderr
    with monkeypatch.context() as broken:
        broken.setattr("orthoprox.cli.fit.folder.os.fsync", full)
        assert fit("sparse-pca", tmp_path / "a.csv", *options).exit_code == 4
    with monkeypatch.context() as broken:
        rename = Path.rename
        broken.setattr(Path, "rename", lambda self, to: full() if self.suffix == ".part" else rename(self, to))
        assert fit("sparse-pca", tmp_path / "a.csv", *options).exit_code == 4
    assert before == {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    assert fit("sparse-pca", tmp_path / "a.csv", *options).exit_code == 0
    assert before["loadings.csv"] != (tmp_path / "out" / "loadings.csv").read_bytes()
    assert {entry.name for entry in tmp_path.iterdir()} == there | {"out"}
    (tmp_path / "out" / ".DS_Store").touch()
    assert fit("sparse-pca", tmp_path / "a.csv", *options).exit_code == 0
    (tmp_path / "out" / "thesis.txt").touch()
    done = fit("sparse-pca", tmp_path / "a.csv", "--overwrite")
    assert done.exit_code == 2 and "holds other files (thesis.txt)" in done.stderr
    done = invoke("fit", "sparse-pca", tmp_path / "a.csv", "--out", tmp_path / "a.csv" / "x" / "y")
    assert done.exit_code == 2 and "is in a.csv, which is a file; name a folder." in done.stderr


def test_without_pandas_or_matplotlib_there_is_a_sentence(frame, tmp_path, monkeypatch):
    frame.to_csv(tmp_path / "a.csv", index=False)
    with monkeypatch.context() as missing:
        missing.setitem(sys.modules, "matplotlib", None)
        done = fit("sparse-pca", tmp_path / "a.csv", "--no-path")
        assert done.exit_code == 0 and "Note: No pictures were drawn." in done.stdout
        assert not list((tmp_path / "out").glob("*.png"))
    monkeypatch.setitem(sys.modules, "pandas", None)
    done = invoke("fit", "sparse-pca", tmp_path / "a.csv", "--out", tmp_path / "b")
    assert done.exit_code == 1 and "orthoprox[fit]" in done.stderr


def test_blocks_give_the_same_components(frame, no_pictures, tmp_path):
    np.save(tmp_path / "a.npy", frame.to_numpy())
    done = fit("sparse-pca", tmp_path / "a.npy", "-r", 2, "--memory", "1MB", "--no-path")
    assert done.exit_code == 0 and "Note: The table was read in" in done.stdout
    inside = orthoprox.SparsePCA(2, scale="standard", random_state=0).fit(frame.to_numpy())
    numbers = np.array(read(tmp_path / "out" / "loadings.csv")[2], dtype=float)
    assert np.allclose(numbers, inside.components_.T, rtol=0, atol=1e-10)
    refused = fit("sparse-pca", tmp_path / "a.npy", "--memory", "1MB", "--drop", "x1", "--overwrite")
    assert refused.exit_code == 2 and "leave --drop out" in refused.stderr


def test_an_estimator_has_its_own_options():
    page = invoke("fit", "range-ica", "--help").stdout
    assert "--oblique" in page and "--nonzeros" not in page and "The table:" in page
    for words, said in {
        "sparse-pcb a.csv": "There is no estimator 'sparse-pcb'. Did you mean 'sparse-pca'?",
        "patients.csv": "Name an estimator before the table, as in: orthoprox fit sparse-pca patients.csv",
        "SparsePCA none.csv": "There is no file none.csv.",
        "sparse_pca none.csv": "There is no file none.csv.",
        "sparse_pca https://none.org/a.csv": "none.org/a.csv is an address, and no file. Download it first.",
        "orthogonal-dictionary-learning none.csv": "There is no file none.csv.",
        "xyz a.csv": "There is no estimator 'xyz'. There are sparse-pca, nonnegative-pca, ",
        "sparse-pca none.csv -r 0": "'0' is neither a whole number of at least 1 nor a share such as 0.2.",
        "range-ica none.csv --nonzeros 3": "No such option",
        "robust-subspace none.csv --contamination 2": "'2' is neither auto nor a share such as 0.1.",
    }.items():
        assert said in invoke("fit", *words.split()).stderr

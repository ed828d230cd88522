"""A mistake in a command gets a sentence and a code, and nothing is run."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from cli.helpers import invoke

USAGE = {
    "walk": "No such command 'walk'",
    "a.xlsx": "Name a command before the table, as in: orthoprox fit sparse-pca a.xlsx",
    "list walks": "'walks' is not one of",
    "data walk": "No such command 'walk'",
    "data fetch": "Missing argument",
    "data fetch digitz": "Did you mean 'digits'?",
    "data check digitz": "Did you mean 'digits'?",
    "demo --components 0": "0 is not in the range",
    "demo --components 99": "cannot have 99 orthonormal columns",
    "demo --iterations 0": "0 is not in the range",
    "demo --out text.csv": "is a file",
    "reproduce": "Missing argument",
    "reproduce figure9": "'figure9' is not one of",
    "reproduce figure1 --seeds 0": "0 is not in the range",
    "reproduce figure1 --seconds inf": "'inf' is not a finite number",
    "reproduce figure1 --quick --dataset digitz-60-12": "Did you mean 'digits'",
    "reproduce figure1 --quick --out text.csv": "is a file",
    "compare randn-60-12": "Missing argument",
    "compare randn-60-12 oadm": "Did you mean 'oadmm'",
    "compare randn-60-12 nothing.py:Mine": "there is no file",
    "compare randn-60-12 oadmm --components 99": "--components is 99, and the data have 12 features",
    "compare randn-60-12 oadmm --nonzeros 0": "0 is not in the range",
    "compare randn-60-12 oadmm --nonzeros 61": "1..60; given 61",
    "compare randn-60-12 oadmm --tol nan": "'nan' is not a finite number",
    "compare randn-60-12 oadmm --seeds 1000000000": "is not in the range",
    "compare randn-60-12 oadmm --weight -1": "-1.0 is not in the range",
    "compare randn-60-12 oadmm --set beta0=3": "SOLVER.NAME=VALUE",
    "compare randn-60-12 oadmm --set radmm.beta=3": "for one of oadmm",
    "compare randn-60-12 oadmm --set oadmm.speed=3": "it takes explore",
    "compare randn-99999999-99999999 oadmm": "GiB of memory",
    "solve sparse-pcb digits": "'sparse-pcb' is not one of",
    "solve sparse-pca": "Missing argument 'DATA'",
    "solve sparse-pca digitz-80-12": "Did you mean 'digits'?",
    "solve sparse-pca randn-99999999-99999999": "GiB of memory",
    "solve sparse-pca nan.npy": "2 entries that are NaN or infinite out of 240. Fill or drop them first.",
    "solve sparse-pca a.xlsx": "its name must end in",
    "solve sparse-pca digits-80-12 --out text.csv": "is a file",
    "solve sparse-pca digits-80-12 --solver oadmm-pe": "Did you mean 'oadmm-ep'?",
    "solve sparse-pca digits-80-12 --solver oadmm-ep --set beta": "--set takes NAME=VALUE",
    "solve sparse-pca digits-80-12 --solver oadmm-ep --set beta=3": "oadmm-ep does not take these settings",
    "solve sparse-pca digits-80-12 --solver oadmm-ep --set sigma=7": "sigma",
    "solve sparse-pca digits-80-12 --components 13": "--components is 13, and the data have 12 features",
    "solve sparse-pca digits-80-12 --components 0": "0 is not in the range",
    "solve sparse-pca digits-80-12 --weight nan": "'nan' is not a finite number",
    "solve sparse-pca digits-80-12 --weight -1": "-1.0 is not in the range",
    "solve sparse-pca digits-80-12 --tol nan": "'nan' is not a finite number",
    "solve sparse-pca digits-80-12 --tol -1": "-1.0 is not in the range",
    "solve sparse-pca digits-80-12 --seconds inf": "'inf' is not a finite number",
    "solve sparse-pca digits-80-12 --seconds -1": "--seconds",
    "solve sparse-pca digits-80-12 --device gpu": "device must be cpu, cuda, cuda:0",
    "solve sparse-pca digits-80-12 --device cpu:0": "device must be cpu, cuda, cuda:0",
    "solve sparse-pca digits-80-12 --device cuda --library numpy": "NumPy has no GPU",
    "solve sparse-pca digits-80-12 --library cupy": "CuPy has no CPU",
    "solve sparse-pca digits-80-12 --library pandas": "'pandas' is not one of",
    "solve sparse-pca digits-80-12 --nonzeros -1": "k",
    "solve sparse-pca digits-80-12 --iterations 0": "--iterations",
    "solve sparse-pca digits-80-12 --seed -1": "--seed",
    "solve compressed-modes digits": "takes a number of grid points, as in 128",
    "solve compressed-modes 99999999999999999999": "GiB of memory",
    "solve compressed-modes 2": "at least 3 grid points",
    "solve compressed-modes 32 --nonzeros 3": "no --nonzeros",
    "solve compressed-modes 32 --prepare raw": "no --prepare",
    **{f"solve {model} digits-80-12 --weight 3": f"{model} has no --weight" for model in ("dual-pcp", "dictionary")},
    **{
        f"solve {model} digits-80-12 --nonzeros 3": f"{model} has no --nonzeros; leave it out."
        for model in ("dual-pcp", "dictionary", "nonnegative-pca")
    },
}
DATA = {
    "solve sparse-pca pipe.csv": "is not a regular file",
    "solve sparse-pca mnist-10-10 --data-dir .": "has neither mnist_train_60k.npz nor train-images",
    "solve sparse-pca ./none.csv": "No such file",
    "solve sparse-pca text.csv": "the command orthoprox fit reads tables with text and gaps",
    "reproduce figure2 --data-dir none": "mnist.*--quick",
    "compare ./none.csv oadmm": "none.csv",
}
WRITING = {"solve sparse-pca digits-80-12 --out text.csv/deeper": "text.csv/deeper could not be written"}
CASES = [
    pytest.param(call, code, words, marks=[pytest.mark.posix] * ("pipe.csv" in call))
    for code, some in ((2, USAGE), (3, DATA), (4, WRITING))
    for call, words in some.items()
]


@pytest.mark.parametrize(("call", "code", "sentence"), CASES)
def test_a_mistake_gets_a_sentence_and_a_code(tmp_path, monkeypatch, call, code, sentence):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("orthoprox.cli.solve.solve", lambda *_, **__: pytest.fail("ran"))
    bad = np.random.default_rng(1).standard_normal((30, 8))
    bad[3, 4], bad[5, 6] = np.nan, np.inf
    np.save("nan.npy", bad)
    if "pipe.csv" in call:
        os.mkfifo("pipe.csv")
    for name in ("text.csv", "a.xlsx"):
        Path(name).write_text("some,words\nand,more\n")
    done = invoke(*call.split(), *(("--out", "out") if code == 3 else ()))
    assert (done.exit_code, done.stdout) == (code, "")
    said = re.sub(r"\s+", " ", done.stderr.replace("\\", "/"))  # paths as they were given, on Windows too
    assert re.search(sentence if code == 3 else re.escape(sentence), said)
    assert not list(tmp_path.rglob("*.npz"))

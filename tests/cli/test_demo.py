"""The demonstration."""

import re

from cli.helpers import invoke, orthoprox


def test_the_demo_prints_a_table_and_draws_its_figures(tmp_path):
    out = tmp_path / "demo with space" / "figures"
    done = invoke("demo", "--out", out, "--components", 4, "--iterations", 200)
    assert done.exit_code == 0, done.stderr
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line.split()}
    columns = ("objective", "primal", "dual", "stationary", "|X'X - I|", "nonzeros", "variance kept", "seconds")
    assert re.split(r"\s\s+", done.stdout.splitlines()[3].strip()) == list(columns)
    for name in ("oadmm", "oadmm-ep", "oadmm-rr"):
        _, objective, primal, _, _, feasibility, nonzeros, kept, *_ = rows[name]
        assert float(objective) < float(rows["pca"][1]) and float(feasibility) < 1e-12
        assert float(primal) > 0 or name == "oadmm"
        assert 0 < int(nonzeros) < int(rows["pca"][2]) and 20 < float(kept) < 100
    for figure in (out / "loadings.png", out / "curves.png"):
        assert figure.read_bytes().startswith(b"\x89PNG") and figure.stat().st_size > 10_000
        assert f"drew {figure}" in done.stdout
    assert done.stderr == ""  # no bar where there is no terminal


def test_without_its_library_the_command_names_the_extra():
    done = orthoprox(before="import sys; sys.modules['click'] = None")
    assert done.returncode == 1
    assert "pip install 'orthoprox[cli]'" in done.stderr and "Traceback" not in done.stderr

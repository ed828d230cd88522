"""The instruments of benchmarks/regret.py: units, rivals, what is kept."""

import argparse
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))

import _regret
import _runs
import regret as benchmark

CASES = [("digits", 0.02), ("text", 0.4)]


def outcomes(values, unit=2.0, seconds=5.0, **more):
    """One outcome for each case, method and seed, with F from a table of lists."""
    known = {"residual": 1e-7, "iterations": 3, "work": 60, "nonzeros": 5, "infeasibility": 1e-15, **more}
    return {
        (case, method, seed): _runs.Outcome(
            job=_runs.Job("_regret", case, method, seed, seconds), rows=[], time=0.5, F=F, more={"unit": unit}, **known
        )
        for case in CASES
        for method, Fs in values.items()
        for seed, F in enumerate(Fs)
    }


def test_regret_is_in_units_of_the_eigenvalues_and_ours_are_no_rivals_of_each_other():
    found = outcomes({"oadmm": [-4.0, -3.0], _regret.RANDOM: [-4.0, -4.0], "socm": [-3.5, -3.5]})
    rows = [line.split("|")[1:4] for line in _regret.report(found, _regret.best_known(found)).splitlines()[2:5]]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["oadmm", "0.2500", "2"],
        [_regret.RANDOM, "0.0000", "2"],
        ["socm", "0.2500", "0"],
    ]


def test_the_best_known_value_is_kept_across_runs_and_only_feasible_points_count(tmp_path):
    first = _regret.best_known(outcomes({"oadmm": [-4.0]}), tmp_path)
    later = _regret.best_known(outcomes({"oadmm": [-3.0]}), tmp_path)
    assert first == later == dict.fromkeys(CASES, -4.0)
    assert _regret.best_known(outcomes({"oadmm": [-9.0]}, infeasibility=1e-3), tmp_path) == first


def test_the_problem_is_that_of_scaled_data_with_a_weight_in_units_of_eigenvalues():
    D, unit = _regret.data("digits")
    np.testing.assert_allclose([D.mean(axis=0), D.std(axis=0)], [np.zeros(D.shape[1]), np.ones(D.shape[1])], atol=1e-9)
    values = np.linalg.eigvalsh(D.T @ D / len(D))[::-1]
    assert unit == pytest.approx(values[:8].mean())
    problem = _regret.instance(("digits", 0.15)).problem
    X = problem.M.random(1)
    expected = -np.sum((D @ X) ** 2) / (2 * len(D)) + 0.15 * unit * np.abs(X).sum()
    assert float(problem.objective(X)) == pytest.approx(expected)


def test_only_ours_has_a_start_of_its_own_and_names_are_checked():
    instance = _regret.instance(("digits", 0.4))
    assert list(instance.rules) == ["oadmm"] and np.array_equal(instance.start(3), instance.problem.M.random(3))
    assert len(_regret.jobs(list(_regret.FAMILIES), list(_regret.METHODS), 3, 5.0)) == 42 * 3 * 12
    parse = benchmark.some_of(_regret.METHODS)
    assert parse("random, socm") == [_regret.RANDOM, "socm"]
    with pytest.raises(argparse.ArgumentTypeError, match="expected some of oadmm.*given 'soc'"):
        parse("soc")

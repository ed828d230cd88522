"""The instruments of benchmarks/oadmm.py: clocks, budgets, verdicts. What it finds is not tested here."""

import argparse
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path.insert(0, str(FOLDER))

import _general  # noqa: E402
import _modes  # noqa: E402
import _paper  # noqa: E402
import _plain  # noqa: E402
import _runs  # noqa: E402
import _scale  # noqa: E402
import oadmm as benchmark  # noqa: E402

from orthoprox import SOLVERS  # noqa: E402


def job(seconds=1.0, item="_plain", case=("randn-50-200", 5, 0.4, 0), method="oadmm", seed=0):
    return _runs.Job(item, case, method, seed, seconds)


def outcome(time=0.5, F=-1.0, rows=None, **more):
    given = job(**{key: more.pop(key) for key in ("seconds", "case", "method") if key in more})
    known = {"residual": 1e-7, "iterations": 10, "work": 100, "nonzeros": 5, "infeasibility": 1e-15, "more": {}}
    return _runs.Outcome(job=given, rows=rows or [(0.5, F)], time=time, F=F, **{**known, **more})


def seen(seconds, criticality=1.0, objective=0.0):
    return SimpleNamespace(seconds=seconds, criticality=criticality, objective=objective)


def watch(seconds=1.0, set_up=0.0):
    return _runs.Watch(_runs.Instance(None, None), job(seconds), set_up)


def test_a_watch_counts_the_set_up_stops_at_the_budget_and_measures_what_is_due():
    w, early, late = watch(seconds=1.0), seen(0.9), seen(1.1, criticality=1e-9)
    assert not w(early) and w(late)
    assert w.last is early and math.isinf(w.time)  # a state after the budget does not count
    w = watch(seconds=1.0, set_up=0.3)
    assert not w(seen(0.0)) and w(seen(0.5, criticality=1e-7))
    assert w.time == pytest.approx(0.8)
    w = watch(seconds=1.0, set_up=0.3)
    assert w(seen(0.1)) is False and w(seen(0.75)) and w.last.seconds == 0.1  # 1.05 s in all
    w = watch()
    w(seen(0.5))
    assert not w(seen(0.505, criticality=0.0)) and w(seen(0.52, criticality=0.0))
    assert [seconds for seconds, _ in w.rows] == [0.5, 0.52]


def test_the_clock_covers_what_a_method_does_for_a_problem(monkeypatch):
    ticks = iter(range(100))  # a clock on which every call that asks for the time takes a second
    calls = []
    kind = type(SOLVERS["socm"])
    for name in ("for_problem", "init"):
        inner = getattr(kind, name)

        def spy(self, *arguments, inner=inner, name=name):
            calls.append((name, next(ticks)))
            return inner(self, *arguments)

        monkeypatch.setattr(kind, name, spy)
    monkeypatch.setattr(_runs.time, "perf_counter", lambda: next(ticks))
    problem = _general.kinds()["sparse PCA, l1"]
    _, seconds = _runs.set_up(SOLVERS["socm"], problem, problem.M.random(0))
    assert [name for name, _ in calls] == ["for_problem", "for_problem", "init"]
    assert seconds == 3  # from before the second call, the first being for the compiler


def test_outcomes_are_kept_and_no_run_begins_too_late(monkeypatch, tmp_path):
    made = []
    monkeypatch.setattr(_runs, "warm_up", lambda: None)
    monkeypatch.setattr(_runs, "run", lambda job: made.append(job) or {"oadmm": outcome(time=math.inf)}.get(job.method))
    todo = [job(), job(method="obcd")]  # one outcome, one refusal
    assert _runs.run_all(todo, 1, tmp_path, until=0.0) == ({}, 2) and not made
    first = _runs.run_all(todo, 1, tmp_path)
    assert first == ({(todo[0].case, "oadmm", 0): outcome(time=math.inf)}, 0) and made == todo
    assert _runs.run_all(todo, 1, tmp_path, until=0.0) == first and len(made) == 2
    monkeypatch.setattr(_runs, "environment", lambda: {"code": "another"})
    assert _runs.run_all(todo, 1, tmp_path, until=0.0)[1] == 2


def test_times_of_an_outcome():
    assert outcome(time=math.inf, seconds=4.0).counted == 4.0  # a run that did not get there counts at its budget
    assert outcome(time=0.25, seconds=4.0).counted == 0.25
    one = outcome(rows=[(0.1, 5.0), (0.2, 3.0), (0.3, 4.0), (0.4, 1.0)])
    assert [one.first(target) for target in (5.0, 3.5, 1.0, 0.9)] == [0.1, 0.2, 0.4, math.inf]


def test_a_run_is_feasible_within_its_budget_and_reproducible(monkeypatch):
    monkeypatch.setattr(type(SOLVERS["manial-1"]), "work", lambda self, state: 7 * state.t)
    runs = [_runs.run(job(seconds=60.0, method=name)) for name in ("oadmm", "oadmm", "manial-1")]
    assert runs[0].F == runs[1].F
    assert all(one.time < 60.0 and one.residual <= _runs.TOLERANCE for one in runs)
    assert all(one.infeasibility < 1e-12 for one in runs)
    assert runs[2].work == 7 * runs[2].iterations > 0
    firsts = {one.rows[0][1] for one in runs}  # F at the common start
    assert len(firsts) == 1


@pytest.mark.slow
def test_processes_give_what_one_process_gives():
    todo = [job(seconds=60.0), job(seconds=60.0, method="manpg-ada")]
    (alone, _), (pool, _) = (_runs.run_all(todo, processes) for processes in (1, 2))
    assert list(alone) == list(pool) == [(one.case, one.method, one.seed) for one in todo]
    assert [one.F for one in alone.values()] == pytest.approx([one.F for one in pool.values()], rel=1e-12)


@pytest.mark.parametrize("kind", _scale.KINDS)
def test_scaled_problems_are_the_same_in_other_units(kind):
    one, other = (_scale.scale_instance(kind, c).problem for c in (1.0, 1e-4))
    X = one.M.random(3)
    assert float(other.objective(X)) == pytest.approx(1e-8 * float(one.objective(X)), rel=1e-10)
    starts = [_scale.scale_instance(kind, c).start(0) for c in (1.0, 1e4)]
    assert float(np.abs(starts[0] - starts[1]).max()) < 1e-6


def test_the_scaled_residual_has_the_units_of_c_1_and_change_looks_at_steps_and_at_work():
    now = SimpleNamespace(criticality_parts=(0.25, 2e8, 3e8))
    assert _scale.scale_instance("sparse PCA, l1", 1e4).residual(now) == pytest.approx(5.25)

    def three(*counts):
        return [outcome(iterations=steps, work=work) for steps, work in counts]

    assert _scale.change(three((10, 100), (10, 100), (10, 130))) == pytest.approx(0.3)
    assert _scale.change(three((5, 100), (10, 100), (10, 100))) == pytest.approx(0.5)
    assert math.isinf(_scale.change([*three((10, 100), (10, 100)), outcome(time=math.inf)]))


def test_problems_and_settings_are_those_of_the_literature():
    paper, general = _paper.instance(("randn-60-30", 50.0, 0.2)), _general.instance(("sparse PCA, l1",))
    _, _, Vt = np.linalg.svd(_paper.data("randn-60-30")[0])
    assert paper.measure(Vt[:20].T) == {"variance": pytest.approx(1.0), "k": 120}
    assert (paper.solver("radmm").beta, paper.solver("oadmm-ep, paper").beta0) == (10_000, 500)  # ten times the weight
    assert general.solver("oadmm-ep, paper").beta0 == pytest.approx(4.0)
    assert general.solver("oadmm-ep").for_problem(general.problem).beta0 > 4.0
    assert _general.instance(("dual PCP, l1",)).solver("manpg-ada").inner == "dual"
    assert _general.instance(("MCP",)).solver("manpg-ada").inner == "newton"
    problem = _plain.instance(("randn-50-200", 5, 0.4, 0)).problem  # without a factor one half
    B, X = _plain.unit_columns(50, 200, 0), problem.M.random(7)
    assert float(problem.objective(X)) == pytest.approx(-np.sum((B @ X) ** 2) + 0.4 * np.abs(X).sum())


def test_raw_rows_are_raw_and_judged_against_the_lower_value(monkeypatch):
    asked = []
    monkeypatch.setattr(_scale, "load", lambda name, raw: asked.append(raw) or SimpleNamespace(X=np.eye(12) + 0.1))
    _scale.instance.__wrapped__(("leukemia", 10, 0.5))
    assert asked == [True]
    row = ("leukemia", 10, 0.5)
    for F, good in ((-53787.26 * (1 - 0.9e-5), "yes"), (-53787.26 * (1 - 1.1e-5), "NO"), (-60000.0, "yes")):
        found = {(row, "oadmm", 0): outcome(F=F), (row, "oadmm", 1): outcome(F=-1.0)}
        assert good in _scale._raw(found, row, "oadmm", [0, 1])


def test_known_solutions_are_at_distance_zero():
    for kind in ("dual PCP, l1", "dual PCP, rows"):
        problem = _general.kinds()[kind]
        _, _, Vt = np.linalg.svd(problem.A.B[:500])
        distance = _general.distance_to_solution(kind, problem)
        assert distance(Vt[25:].T) < 1e-12
        assert distance(Vt[24:29].T) == pytest.approx(1.0)
    problem = _general.kinds()["dictionary"]
    distance = _general.distance_to_solution("dictionary", problem)
    Z = problem.A.B
    Q, _ = np.linalg.qr(np.random.default_rng(3).standard_normal((20, 20)))
    assert np.mean(np.abs(Z @ Q) < 1e-12) > 0.6  # so that this is the dictionary
    assert distance(-Q[:, ::-1]) < 1e-12
    turned = np.column_stack([(Q[:, 0] + Q[:, 1]) / math.sqrt(2), (Q[:, 0] - Q[:, 1]) / math.sqrt(2), Q[:, 2:]])
    assert distance(turned) == pytest.approx(math.sqrt(4 - 2 * math.sqrt(2)))
    assert _general.distance_to_solution("MCP", problem) is None


def test_published_values_are_matched_to_their_digits_and_accuracy_is_the_peer_s_own():
    assert _modes.allowed((128, 10, 0.2)) == pytest.approx(8.2055)
    assert _modes.allowed((512, 50, 0.1)) == pytest.approx(109.85)
    assert _modes.allowed((128, 10, 0.05)) == pytest.approx(2.936859 * (1 + 1e-5), rel=1e-12)
    assert len(_modes.PUBLISHED) == 33
    ours = outcome(rows=[(1.0, 2.0), (2.0, 1.0)])
    theirs = outcome(rows=[(3.0, 5.0), (6.0, 1.500001), (9.0, 1.5)])
    assert _modes._same_accuracy(ours, theirs) == (2.0, 6.0)
    assert math.isinf(_modes._same_accuracy(theirs, ours)[0])


def test_modes_tell_what_was_not_matched():
    case = (128, 10, 0.2)
    found = {(case, "oadmm", 0): outcome(rows=[(2.0, 8.2)], F=8.2, seconds=8.0, case=case)}
    found[case, "manial-1", 0] = outcome(rows=[(6.0, 8.3)], F=8.3, seconds=8.0, case=case)
    found[case, "manpg-ada", 0] = outcome(rows=[(4.0, 8.1)], F=8.1, seconds=8.0, case=case)
    text = _modes.report(found)
    assert "matched: 1 of 1" in text
    assert "manial-1's time to its own accuracy: 3.00 times ours (wanted: 5); we did not come as low in 0 of 1" in text
    assert "manpg-ada's time to its own accuracy: 0.50 times ours (wanted: 5); we did not come as low in 1 of 1" in text
    found[case, "oadmm", 0] = outcome(F=8.21, seconds=8.0, case=case)
    assert "matched: 0 of 1" in _modes.report(found)


def test_plain_ratios_and_misses():
    cases = [("a", 5, 0.4, 0), ("b", 5, 0.4, 1)]
    found = {}
    for i, case in enumerate(cases):
        for method in _plain.METHODS:
            slow = {"oadmm": 0.1, "madmm": (0.8, 0.2)[i], "socm": (0.2, 1.6)[i]}.get(method, math.inf)
            F = {"oadmm": -10.0, "madmm": -8.0}.get(method, -5.0)
            found[case, method, 0] = outcome(time=slow, F=F, seconds=10.0, case=case, method=method)
    text = _plain.report(found)
    assert "Best single peer, madmm: 4.00 times our time" in text
    assert "Best peer of each instance: 2.00 times our time" in text
    assert "lowest of a peer (madmm) -8; mean of the relative difference -2.5e-01" in text
    assert "on 0 of 2: none." in text
    found[cases[1], "oadmm", 0] = outcome(time=math.inf, F=-10.0, seconds=10.0)
    assert "on 1 of 2: b r=5 w=0.4." in _plain.report(found)


def test_only_the_methods_and_data_that_were_asked_for_are_run_and_told_of():
    found = {(("a", 5, 0.4, 0), method, 0): outcome(time=1.0, F=-1.0) for method in ("oadmm", "socm")}
    text = _plain.report(found)
    assert "| socm " in text and "manial-1 " not in text
    assert "Best single peer, socm: 1.00" in text
    assert benchmark.parse_methods("socm, radmm") == ["oadmm", "socm", "radmm"]
    with pytest.raises(argparse.ArgumentTypeError, match="expected some of oadmm, manial-1.*given 'soc'"):
        benchmark.parse_methods("socm,soc")
    jobs = [
        job(item="_paper", case=(name, 50.0, 0.2), method=method)
        for name in ("mnist-1500-500", "tdt2-1500-500", "randn-1500-500")
        for method in ("oadmm", "socm", "radmm")
    ]
    assert benchmark.select_jobs(jobs, ["oadmm", "socm"], "mnist, tdt2,") == [jobs[i] for i in (0, 1, 3, 4)]
    assert benchmark.select_jobs(jobs, ["oadmm"], "") == jobs[::3]
    assert benchmark.select_jobs(jobs, ["oadmm"], "nothing") == []


def paper(**ours):
    found = {}
    for method in _paper.METHODS:
        own = {"F": 0.5, "nonzeros": 10, **ours} if method == "oadmm" else {"F": 1.0}
        more = {"variance": own.pop("variance", 0.9), "k": 10}
        found[("mnist-1500-500", 50.0, 0.2), method, 0] = outcome(more=more, **own)
    return _paper.report(found)


def test_the_paper_s_bars():
    assert "met: 1 of 1." in paper()
    for fault in ({"F": 1.1}, {"nonzeros": 11}, {"infeasibility": 2e-12}, {"variance": 0.87}):
        assert "met: 0 of 1." in paper(**fault)


def test_general_verdicts():
    found = {}
    for method in _general.METHODS:
        time = {"oadmm": 0.2, "socm": 0.5}.get(method, math.inf)
        for kind in ("MCP", "SCAD"):
            found[(kind,), method, 0] = outcome(time=time, seconds=3.0)
    del found[("MCP",), "manpg-ada", 0]
    text = _general.report(found)
    assert "refused" in text
    assert "socm (1 of 1)" in text and "2.50" in text and "yes" in text
    found[("MCP",), "oadmm", 0] = outcome(time=0.6, seconds=3.0)
    assert "NO" in _general.report(found)


@pytest.mark.parametrize("module", [_paper, _plain, _modes, _scale, _general])
def test_without_data_and_in_a_hurry_there_is_less_to_do(module, monkeypatch):
    monkeypatch.setenv("ORTHOPROX_DATA", "somewhere")
    whole, quick = (module.jobs(_runs.Options(quick=quick)) for quick in (False, True))
    monkeypatch.delenv("ORTHOPROX_DATA")
    without = module.jobs(_runs.Options())
    assert 0 < len(quick) < len(whole)
    assert len(without) <= len(whole)
    assert not {one.case[0] for one in without} & {"arabidopsis", "leukemia", "mnist-1500-500", "tdt2-1500-500"}
    asked = module.jobs(_runs.Options(seconds=0.7, starts=2, quick=True))
    assert {one.seconds for one in asked} == {0.7}
    assert {one.seed for one in asked} == {0, 1}
    assert len(set(whole)) == len(whole)

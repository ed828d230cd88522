"""The ledger on made-up results: a claim holds where it should and fails where it should."""

import numpy as np
import pytest

from experiments.tiny import made_up, tiny
from orthoprox.experiments import Results
from orthoprox.experiments.claims import CLAIMS, EQUAL, Verdict, by_budget, joined, panels, score, verdict, verdicts
from orthoprox.experiments.ledger import ledger
from orthoprox.experiments.rivals import rival_by_rival, what_smoothing_decides
from orthoprox.experiments.theory_claims import measure, statements

BASE = {
    "OADMM-EP": 1.0, "OADMM-RR": 1.02, "RADMM-I": 9.0, "RADMM-II": 1.5,
    "SPGM-EP": 1.1, "SPGM-RR": 1.2, "Sub-Grad": 2.0, "oadmm": 1.0,
}  # fmt: skip
FAILS, SPGM_EP, SPGM_RR, SIMILAR, LOWEST, SURPASSES, OURS = CLAIMS
T = np.arange(1, 101)
FIGURE = {"name": "figure1", "datasets": ("randn-40-12",), "weights": (5.0,), "kept": (0.1,)}


HOLDS = [
    *((claim, {}) for claim in CLAIMS),  # where the paper is right
    (LOWEST, {"RADMM-II": 0.9995}),  # a tie
    (LOWEST, {"oadmm": 0.1}),  # ours is not among the paper's
    (FAILS, {"oadmm": 0.01, "Sub-Grad": 2.0}),
    (LOWEST, {"OADMM-RR": 5.0}),  # the lower of the two counts
    (OURS, {"oadmm": 1.0005}),
]
BROKEN = [
    (FAILS, {"Sub-Grad": 1.99}),
    *((SPGM_EP, {"SPGM-EP": value}) for value in (1.0005, 0.9)),
    (SPGM_RR, {"SPGM-RR": 1.0205}),
    *((SIMILAR, {"OADMM-RR": value}) for value in (1.06, 0.94)),
    *((LOWEST, change) for change in ({"RADMM-II": 0.998}, {"SPGM-RR": 0.9})),
    *((SURPASSES, {"OADMM-RR": value}) for value in (1.0005, 0.9)),
    *((OURS, change) for change in ({"oadmm": 1.002}, {"RADMM-II": 0.5})),
]


def test_a_claim_holds_where_it_should_and_fails_where_it_should():
    for wanted, table in ((True, HOLDS), (False, BROKEN)):
        for claim, change in table:
            assert claim.holds({**BASE, **change}) == wanted, (claim.statement, change)


def runs(change=None, **options):
    return [made_up(label, value, **options) for label, value in {**BASE, **(change or {})}.items()]


def test_verdicts_count_panels_and_take_medians_over_seeds():
    several = [
        *runs(seed=0),
        *runs({"Sub-Grad": 1.5}, seed=1),
        *runs({"Sub-Grad": 7.0}, seed=2),
        *runs({"Sub-Grad": 1.0}, dataset="randn-60-12"),
        *runs({"Sub-Grad": 1.0}, kept=0.2),
    ]
    assert panels(several)["figure1", "randn-40-12", 5.0, 0.1]["Sub-Grad"] == 2.0
    by_group = verdicts(several)[FAILS.statement]
    assert by_group == {("figure1", 5.0, 0.1): Verdict(1, 2), ("figure1", 5.0, 0.2): Verdict(0, 1)}
    assert verdict(FAILS, [{"OADMM-EP": 1.0}]) == Verdict(0, 0)  # a panel without the method
    words = {count: Verdict(count, 8).word for count in (8, 6, 5, 2, 0)}
    assert words == {8: "holds", 6: "mostly holds", 5: "mixed", 2: "mostly fails", 0: "fails"}
    assert str(Verdict(0, 0)) == "not measured" and str(Verdict(5, 8)) == "mixed (5/8)"


def test_verdicts_at_fractions_of_the_budget_look_at_the_curves():
    curve = [5.0] * 3 + [0.5] * 8  # at 0, 1, ..., 10 of 10 seconds
    several = [*(run for run in runs() if run.label != "Sub-Grad"), made_up("Sub-Grad", 0.5, curve=curve)]
    by_fraction = by_budget(several)[FAILS.statement]
    assert {fraction: v.holds for fraction, v in by_fraction.items()} == {0.1: 1, 0.3: 0, 1.0: 0}


def test_a_score_counts_panels_lower_equal_and_higher():
    values = {"randn-40-12": 2.0, "randn-60-12": 1.0005, "randn-80-12": 0.5}
    figure = [made_up("OADMM-EP", 1.0, dataset=name) for name in values]
    other = [made_up("SPGM-EP", value, dataset=name, experiment="smoothing") for name, value in values.items()]
    cases = joined([*figure, *other])
    assert list(cases) == [(name, 5.0, 0.1) for name in values]
    assert str(score("OADMM-EP", "SPGM-EP", cases.values())) == "1, 1, 1"
    assert score("OADMM-EP", "SPGM-EP", cases.values()).ratio == pytest.approx(1 / 1.0005)
    assert str(score("OADMM-EP", "RADMM-I", cases.values())) == "-"


def watched(**changes):
    columns = {
        "iteration": T,
        "theta": 200.0 - T,
        "c_over_beta": np.zeros(100),
        "decrease": np.r_[np.nan, np.ones(99)],
        "required": np.full(100, 0.5),
        "mean_criticality": 5.0 * T**-0.5,
        "trials": np.full(100, 3.0),
    }
    return made_up("OADMM-RR", 1.0, theory={**columns, **changes})


def words(*several):
    return {statement: word for statement, word, _ in statements(several)}


@pytest.mark.parametrize(
    ("changes", "statement"),
    [
        ({"decrease": np.r_[np.nan, np.ones(98), -1e-9]}, "Theta decreases"),
        ({"decrease": np.r_[np.nan, np.ones(98), 0.4]}, "by at least"),
        ({"mean_criticality": 5.0 * T**-0.3}, "T^(-1/3)"),
        ({"trials": np.full(100, 30.0)}, "O(1) trials"),
    ],
)
def test_a_statement_fails_where_it_is_wrong(changes, statement):
    for several in ([watched(**changes)], [watched(), watched(**changes)]):  # one of two is enough
        assert [word for line, word in words(*several).items() if statement in line] == ["fails"]


def test_one_slow_run_is_told_of_and_one_infeasible_record_is_enough():
    slow = watched(mean_criticality=5.0 * T**-0.3)
    (told,) = [told for line, _, told in statements([watched(), slow]) if "T^(-1/3)" in line]
    assert "in 1 of 2 runs; the slowest slope over the last decade is -0.300" in told
    run = made_up("OADMM-EP", 1.0, curve=[3.0, 2.0, 1.0])
    run.archive.history["infeasibility"][1] = 1e-6
    assert words(run)["every recorded iterate is feasible, all methods"] == "fails"


def test_a_run_as_the_theory_has_it_and_what_the_measures_look_at():
    assert list(words(watched()).values()) == ["holds"] * 5
    (one,) = measure([watched()])
    assert (one.increases, one.bare, one.short, one.steps, one.trials) == (0, 0, 0, 99, 3)
    assert one.slope == pytest.approx(-0.5)
    (rounding,) = measure([watched(decrease=np.r_[np.nan, np.ones(98), -1e-14], required=np.zeros(100))])
    assert (rounding.increases, rounding.short) == (0, 0)
    (last_decade,) = measure([watched(mean_criticality=np.where(T < 10, T**-2.0, 10**-1.8 * T**-0.2))])
    assert last_decade.slope == pytest.approx(-0.2)
    (dominant,) = measure([watched(c_over_beta=400.0 - 2.0 * T)])
    assert (dominant.increases, dominant.bare) == (0, 99)


def test_every_pair_has_its_counts_and_its_ratio_for_each_k():
    """The ratios of two k are never in one median."""
    high = [*runs({"RADMM-I": 4.0}, dataset="randn-60-12"), *runs({"OADMM-EP": 500.0, "RADMM-I": 10.0}, kept=0.2)]
    text = rival_by_rival([*runs(), *high])
    assert "| OADMM-EP | RADMM-I | 2, 0, 1 | 2, 0, 0 (0.1806) | 0, 0, 1 (50) |" in text  # 1/9 and 1/4; 500/10
    assert "OADMM-EP ends lower than RADMM-I in 2 of 3, RADMM-II in 2 of 3, SPGM-EP in 2 of 3" in text
    assert "OADMM-RR ends lower than RADMM-I in 3 of 3" in text


def test_methods_are_compared_on_the_seeds_that_all_have():
    several = [made_up("OADMM-EP", 1.0), made_up("OADMM-EP", 99.0, seed=1), made_up("RADMM-I", 2.0)]
    later = [made_up("SPGM-EP", 3.0, seed=1, experiment="smoothing")]
    assert panels(several) == {("figure1", "randn-40-12", 5.0, 0.1): {"OADMM-EP": 1.0, "RADMM-I": 2.0}}
    assert joined(several) == {("randn-40-12", 5.0, 0.1): {"OADMM-EP": 1.0, "RADMM-I": 2.0}}
    assert joined([*several, *later]) == {}  # no seed in common
    again = joined([several[0], several[1], *later])
    assert again == {("randn-40-12", 5.0, 0.1): {"OADMM-EP": 99.0, "SPGM-EP": 3.0}}


def test_how_much_of_the_gap_is_smoothing():
    """At 10, 30 and 100 % of the time: 16 times as high goes to 4 times, 1 time, half as high."""
    ours = made_up("OADMM-EP", 16.0, curve=[16.0, 16.0, 16.0])
    equal = [4.0] * 3 + [16.0] * 4 + [32.0] * 4  # at 0, 1, ..., 10 of 10 seconds
    rivals = [made_up("SPGM-EP", 1.0), made_up(f"SPGM-EP{EQUAL}", 32.0, experiment="smoothing", curve=equal)]
    text = what_smoothing_decides([ours, *rivals])
    assert "| OADMM-EP | SPGM-EP | 50% | 100% | 125% |" in text and "| OADMM-RR | SPGM-RR | - | - | - |" in text
    assert "At the end the smoothing decides 125% of the gap to SPGM, earlier 50% to 100%." in text
    assert "as high as that of SPGM: OADMM-EP 0.5 times (k = 0.1 nr)." in text


def test_the_page_has_every_part():
    settings = {"EP beta0=10w": 3.0, "EP beta0=1000w": 1.0, "RADMM-II": 2.0, "oadmm": 0.1}
    other = [made_up(label, value, experiment="settings") for label, value in settings.items()]
    text = ledger(Results((tiny(**FIGURE),), (*runs(), *other, watched()), ()))
    for part in (*[claim.statement for claim in CLAIMS], "How the paper was read", "## The analysis", "k-sparse"):
        assert part in text
    assert "| EP beta0=10w | 0 of 1 |" in text and "| EP beta0=1000w | 1 of 1 |" in text
    assert "fail as follows: OADMM-EP in 0 of 1, OADMM-RR in 0 of 1, RADMM-I in 1 of 1, RADMM-II in 0 of 1" in text
    assert "## What the smoothing decides" not in text
    equal = [made_up("SPGM-EP, mu = tau/beta", 0.9, experiment="smoothing", curve=[4.0, 0.9], seconds_used=10.3)]
    text = ledger(Results((tiny(**FIGURE),), (*runs(), *equal), ()))
    line = "| OADMM-EP | SPGM-EP, mu = tau/beta | 1, 0, 0 (0.25) | 1, 0, 0 (0.25) | 0, 0, 1 (1.111) |"
    assert line in text  # at 10, 30 and 100 % of the time
    assert "| SPGM-EP, mu = tau/beta | 1 of 1 | 0 of 1 | 10.30 s |" in text
    assert "| SPGM-EP | 0 of 1 | 0 of 1 | 1.50 s |" in text
    assert "| Sub-Grad | 2 |" in text  # as high as twice the lowest
    assert "| oadmm | 0 of 1 | 1 of 1 |" in text  # nonzeros: 5 of X, 4 of y, k = 4
    for block in ledger(Results((tiny(**FIGURE),), (*runs(), watched()), ())).split("\n\n"):
        assert len({line.count("|") for line in block.splitlines() if line.startswith("|")}) <= 1, block

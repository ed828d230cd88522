"""What a page says of its own runs: all of it comes from the records."""

import pytest

from experiments.tiny import made_up, tiny
from orthoprox._fields import replace
from orthoprox.experiments import BUILTIN, Results, builtin
from orthoprox.experiments.environment import code
from orthoprox.experiments.provenance import changes, missing, origin, seeds_per_panel, what_was_run


def lost(experiment, where):
    return [job for _, job in experiment.jobs() if where(job)]


@pytest.mark.parametrize(
    ("where", "words"),
    [
        (lambda job: False, ""),
        (lambda job: job.seed >= 1, "seeds 1, 2 on all data"),
        (lambda job: job.seed == 2 and job.dataset == "randn-60-12", "seed 2 on randn-60-12"),
        (
            lambda job: (job.seed, job.solver) == (0, "radmm"),
            "one run with seed 0 on randn-40-12; one run with seed 0 on ",
        ),
        (
            lambda job: job.seed == 1 or (job.seed == 2 and (job.dataset == "randn-60-12" or job.solver == "radmm")),
            "seed 1 on all data; seed 2 on randn-60-12; one run with seed 2 on randn-40-12",
        ),
    ],
)
def test_what_is_missing_is_named(where, words):
    experiment = tiny(seeds=(0, 1, 2))
    said = missing(experiment, lost(experiment, where))
    assert said.startswith(words) and bool(said) == bool(words)


def test_seeds_are_counted_panel_by_panel():
    assert seeds_per_panel([]) == "-"
    one = [made_up("A", 1.0), made_up("B", 1.0)]
    assert seeds_per_panel(one) == "one seed in each of one panel"
    both = [*one, made_up("A", 1.0, seed=1), made_up("B", 1.0, seed=1)]
    assert seeds_per_panel(both) == "2 seeds in each of one panel"
    assert seeds_per_panel(both[:3]) == "one seed in each of one panel"  # B lacks the second
    other = [made_up("A", 1.0, dataset="randn-60-12", seed=seed) for seed in range(5)]
    assert seeds_per_panel([*one, *other[:1]]) == "one seed in each of 2 panels"
    assert seeds_per_panel([*both, *other]) == "2 seeds in one panel, 5 seeds in one panel"


def test_versions_of_the_code_are_never_mixed_without_a_word():
    def said(*codes):
        return origin(Results((), tuple(made_up("A", 1.0, seed=i, code=c) for i, c in enumerate(codes)), ()))

    assert f"one version of the code, the one with the digest `{code()}`." in said(code(), code())
    assert f"digest `old`; when this page was written the code had the digest `{code()}`." in said("old")
    assert "2 versions of the code (by digest: 2 from `old`, 1 from `new`); when" in said("old", "new", "old")
    assert "no machine" in said()


def test_machine_and_libraries():
    facts = {"machine": {"processor": "P", "cores": 4}, "versions": {"python": "3.1", "numpy": "2", "scipy": "1"}}
    runs = [made_up("A", 1.0, processes=3, **facts), made_up("B", 1.0, **facts)]
    text = origin(Results((), tuple(runs[:1]), ()))
    assert text.startswith("1 runs on P (4 cores), one thread each, 3 at a time, with Python 3.1, NumPy 2, SciPy 1.")
    assert "3 at a time, how many at a time was not recorded" not in text
    assert "not recorded for 1" in origin(Results((), tuple(runs), ()))


def test_the_table_of_what_was_run():
    figure = replace(builtin("figure1"), datasets=("randn-1500-500",), seeds=(0, 1))
    gone = tuple((figure.name, label, job) for label, job in figure.jobs() if job.seed == 1)
    text = what_was_run(Results((figure,), (made_up("A", 1.0),), gone))
    assert f"| figure1 | 1 of {1 + len(gone)} | one seed in each of one panel | seed 1 on all data |" in text
    assert f"Not run for this page: {', '.join(BUILTIN[1:])}." in text
    assert "`figure1` goes without mnist-1500-500, " in text and "`figure1` was run with other seeds than" in text


def test_changes_against_what_comes_with_the_package():
    figure = builtin("figure1")
    swapped = tuple(figure.substitutes.get(name, name) for name in figure.datasets)
    assert changes(figure) == changes(builtin("theory", quick=True)) == changes(replace(figure, datasets=swapped)) == ""
    assert changes(replace(figure, about="")) == ""
    assert "other datasets, iterations than" in changes(replace(figure, datasets=("randn-9-3",), iterations=5))
    assert "goes without randn-2500-500." in changes(replace(figure, datasets=figure.datasets[:-1]))
    assert "does not come with" in changes(tiny())

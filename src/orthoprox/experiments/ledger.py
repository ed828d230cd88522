"""The claims and their verdicts as a page of markdown."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from orthoprox.experiments.claims import (
    CLAIMS,
    FAILS,
    OURS,
    TIE,
    below,
    by_budget,
    panels,
    paper_methods,
    verdicts,
    with_common_seeds,
)
from orthoprox.experiments.gather import Results, RunRecord
from orthoprox.experiments.provenance import base, origin, seeds_per_panel, what_was_run
from orthoprox.experiments.rivals import late_runs, rival_by_rival, what_smoothing_decides
from orthoprox.experiments.spec import in_words
from orthoprox.experiments.table import matrix, pipe_table
from orthoprox.experiments.theory_claims import statements

READINGS = (
    ("weights, beta0 = 10 x weight, xi = 0.5, b^t = 1, polar retraction, RADMM's beta = 100 and 10000", "as stated"),
    ("r and k", "not stated: r = 20 and k = 0.1 nr as in the same author's later paper, and k = 0.2 nr beside it"),
    ("tau", "only its range is stated: the least that is admissible, 4/(2 - sigma)"),
    ("f", "on the manifold equal to the quadratic we use; off it a quartic without a Lipschitz gradient"),
    ("SPGM's smoothing", "not stated: the schedule of the later paper, 1/beta^t with the same beta0 and xi"),
    (
        "Sub-Grad's step",
        "not stated: a first move of a tenth of the norm of X, then 1/sqrt(t); the best point is shown",
    ),
    ("centring", "written without the factor 1/m: the mean is subtracted"),
    ("common start", "one Gaussian matrix for each seed, projected onto the manifold"),
    (
        "time limits",
        "not stated: a budget of seconds, the same for all; it covers what a method sets up before its first step and "
        "leaves out measuring; a run is judged by the last state within it",
    ),
)


def ledger(results: Results) -> str:
    """The whole page."""
    figures = [run for run in results.runs if _is_figure(run.experiment)]
    smoothing = [run for run in results.runs if base(run.experiment) == "smoothing"]
    settings = [run for run in results.runs if base(run.experiment) == "settings"]
    parts = [_head(results, figures), what_was_run(results), late_runs(results.runs)]
    if figures:
        parts += [
            _verdicts(figures),
            rival_by_rival([*figures, *smoothing]),
            what_smoothing_decides([*figures, *smoothing]),
        ]
        parts += [_excess(figures), _budget(figures), _sparsity(figures), _objectives(results, figures)]
    if settings:
        parts.append(_settings(settings))
    parts += [_theory(results), _readings()]
    return "\n".join(part for part in parts if part)


def _is_figure(experiment: str) -> bool:
    return experiment.startswith("figure")


def _head(results: Results, figures: Sequence[RunRecord]) -> str:
    return (
        "# The paper's experiments, measured\n\n"
        + origin(results)
        + "\nA panel is one data set, weight and k; its numbers are medians over those seeds that all its methods have"
        + (f".\nIn the figures these are {seeds_per_panel(figures)}" if figures else "")
        + ".\nA claim *holds* in all panels, *mostly holds* in three quarters or more, is *mixed* above a quarter,"
        "\n*mostly fails* in a quarter or fewer and *fails* in none; the tests stand in"
        "\n`src/orthoprox/experiments/claims.py`.\n"
    )


def _verdicts(runs: Sequence[RunRecord]) -> str:
    by_key = verdicts(runs)
    groups = list(next(iter(by_key.values())))
    head = ["claim", "test", *(f"{e}, w = {w:g}, k = {in_words(k)}" for e, w, k in groups)]
    lines = [[c.statement, c.test, *(str(by_key[c.statement][group]) for group in groups)] for c in CLAIMS]
    return "## Verdicts by figure\n\n" + pipe_table(head, lines) + _failing(runs)


def _failing(runs: Sequence[RunRecord]) -> str:
    """Every method of the paper by the test for "fails", not only the one that the paper names."""
    cases = [paper_methods(panel) for panel in panels(runs).values()]
    counts = []
    for label in dict.fromkeys(run.label for run in runs if run.label != OURS):
        here = [panel for panel in cases if label in panel]
        failing = sum(panel[label] >= FAILS * min(panel.values()) for panel in here)
        counts.append(f"{label} in {failing} of {len(here)}")
    return f"\nBy the test of the first claim the paper's methods fail as follows: {', '.join(counts)} panels.\n"


def _excess(runs: Sequence[RunRecord]) -> str:
    """Every method by what its objective is in units of the lowest."""
    by_key = panels(runs)
    labels = list(dict.fromkeys(run.label for run in runs))
    groups = list(dict.fromkeys((e, w, k) for e, _, w, k in by_key))
    lines = []
    for label in labels:
        cells = []
        for group in groups:
            here = [p for (e, _, w, k), p in by_key.items() if (e, w, k) == group and label in p]
            ratios = sorted(panel[label] / min(panel.values()) for panel in here)
            cells.append(f"{median(ratios):.4g}" if ratios else "")
        lines.append([label, *cells])
    head = ["method", *(f"{e}, w = {w:g}, k = {in_words(k)}" for e, w, k in groups)]
    return "## How many times as high as the lowest of all methods (median over panels)\n\n" + pipe_table(head, lines)


def _budget(runs: Sequence[RunRecord]) -> str:
    by_key = by_budget(runs)
    fractions = list(next(iter(by_key.values())))
    head = ["claim", *(f"at {fraction:.0%} of the time" for fraction in fractions)]
    lines = [[statement, *map(str, line.values())] for statement, line in by_key.items()]
    return "## Whether the time budget decides\n\n" + pipe_table(head, lines)


def _sparsity(runs: Sequence[RunRecord]) -> str:
    """The paper: for a large weight the l1 norm is that of the k largest entries, and X has k of them."""
    lines = []
    for label in dict.fromkeys(run.label for run in runs):
        here = [run for run in runs if run.label == label]
        of_X = sum(run.facts["nonzeros"] <= run.facts["k"] for run in here)
        of_y = sum(run.facts["nonzeros_y"] <= run.facts["k"] for run in here)
        lines.append([label, f"{of_X} of {len(here)}", f"{of_y} of {len(here)}"])
    head = ["method", "X has at most k nonzeros", "y has"]
    return (
        "## Whether the solution is k-sparse (runs, all weights)\n\n"
        "X is the feasible point, y its partner in the splitting.\n\n" + pipe_table(head, lines)
    )


def _objectives(results: Results, runs: Sequence[RunRecord]) -> str:
    parts = ["## Final objectives\n"]
    for e in results.experiments:
        here = [run for run in runs if run.experiment == e.name]
        if here:
            parts.append(f"### {e.title}\n\n{matrix(with_common_seeds(here))}")
    return "\n".join(parts)


def _settings(runs: Sequence[RunRecord]) -> str:
    """The settings of OADMM-EP that give the paper's ranking."""
    by_key = panels(runs)
    variants = [label for label in dict.fromkeys(run.label for run in runs) if label.startswith("EP ")]
    rivals = [label for label in dict.fromkeys(run.label for run in runs) if label not in variants and label != "oadmm"]
    lines = []
    for variant in variants:
        cells = []
        for kept in dict.fromkeys(key[3] for key in by_key):
            here = [p for key, p in by_key.items() if key[3] == kept and variant in p and set(rivals) & set(p)]
            lowest = sum(not below(min(p[r] for r in rivals if r in p), p[variant]) for p in here)
            cells.append(f"{lowest} of {len(here)}")
        lines.append([variant, *cells])
    head = ["OADMM-EP with", *(f"k = {in_words(kept)}" for kept in dict.fromkeys(key[3] for key in by_key))]
    return (
        "## What decides: k, beta0 and tau\n\n"
        "In how many panels OADMM-EP with these settings is not beaten by RADMM, SPGM or Sub-Grad\n"
        f"(by more than {TIE:.1%}).\n"
        "A tau below 4/(2 - sigma) is outside the theory.\n\n"
        + pipe_table(head, lines)
        + "\nThe objectives:\n\n"
        + matrix(with_common_seeds(runs))
    )


def _theory(results: Results) -> str:
    lines = [list(line) for line in statements(results.runs)]
    return "## The analysis\n\n" + pipe_table(["statement", "verdict", "measured"], lines) if lines else ""


def _readings() -> str:
    return "## How the paper was read\n\n" + pipe_table(["place", "what we take"], [list(line) for line in READINGS])

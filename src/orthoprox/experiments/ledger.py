"""The claims and their verdicts as a page of markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median

from orthoprox.experiments.claims import CLAIMS, TIE, below, by_budget, panels, verdicts
from orthoprox.experiments.gather import Results, RunRecord
from orthoprox.experiments.rivals import late_runs, rival_by_rival, what_smoothing_decides
from orthoprox.experiments.table import matrix, penalty, pipe_table
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
    smoothing = [run for run in results.runs if _base(run.experiment) == "smoothing"]
    settings = [run for run in results.runs if _base(run.experiment) == "settings"]
    parts = [_head(results), late_runs(results.runs)]
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


def _base(experiment: str) -> str:
    return experiment.removesuffix("-quick")


def _is_figure(experiment: str) -> bool:
    return experiment.startswith("figure")


def _head(results: Results) -> str:
    codes = Counter(run.facts["code"] for run in results.runs)
    machines = Counter(
        f"{run.facts['machine']['processor']} ({run.facts['machine'].get('cores')} cores)" for run in results.runs
    )
    missing = f" {len(results.missing)} runs have no result." if results.missing else ""
    mixed = f" They come from {len(codes)} versions of the code." if len(codes) > 1 else " One version of the code."
    swaps = sorted(
        f"`{there}` stands for `{wanted}`"
        for wanted, there in {pair for e in results.experiments for pair in e.substitutes.items()}
        if any(there in e.datasets for e in results.experiments)
    )
    return (
        "# The paper's experiments, measured\n\n"
        f"{len(results.runs)} runs on {', '.join(sorted(machines)) or 'no machine'}, one thread each, all methods side "
        f"by side.{missing}{mixed}"
        f"{' ' + '; '.join(swaps) + ', of which only a part is public.' if swaps else ''}\n"
        "A panel is one data set, weight and k, its numbers medians over seeds. A claim *holds* in all panels,\n"
        "*mostly holds* in three quarters of them; the tests stand in `src/orthoprox/experiments/claims.py`.\n"
    )


def _verdicts(runs: Sequence[RunRecord]) -> str:
    by_key = verdicts(runs)
    groups = list(next(iter(by_key.values())))
    head = ["claim", "test", *(f"{e}, w = {w:g}, k = {penalty(k)}" for e, w, k in groups)]
    lines = [[c.statement, c.test, *(str(by_key[c.statement][group]) for group in groups)] for c in CLAIMS]
    return "## Verdicts by figure\n\n" + pipe_table(head, lines)


def _excess(runs: Sequence[RunRecord]) -> str:
    """Every method by the test for "fails", not only the one the paper names."""
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
    head = ["method", *(f"{e}, w = {w:g}, k = {penalty(k)}" for e, w, k in groups)]
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
    return "## Whether the solution is k-sparse (runs, all weights)\n\n" + pipe_table(head, lines)


def _objectives(results: Results, runs: Sequence[RunRecord]) -> str:
    parts = ["## Final objectives\n"]
    for e in results.experiments:
        here = [run for run in runs if run.experiment == e.name]
        if here:
            parts.append(f"### {e.title}\n\n{matrix(here)}")
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
    head = ["OADMM-EP with", *(f"k = {penalty(kept)}" for kept in dict.fromkeys(key[3] for key in by_key))]
    return (
        "## What decides: k, beta0 and tau\n\n"
        "In how many panels OADMM-EP with these settings is not beaten by RADMM, SPGM or Sub-Grad\n"
        f"(by more than {TIE:.1%}).\n"
        "A tau below 4/(2 - sigma) is outside the theory.\n\n"
        + pipe_table(head, lines)
        + "\nThe objectives:\n\n"
        + matrix(runs)
    )


def _theory(results: Results) -> str:
    lines = [list(line) for line in statements(results.runs)]
    return "## The analysis\n\n" + pipe_table(["statement", "verdict", "measured"], lines) if lines else ""


def _readings() -> str:
    return "## How the paper was read\n\n" + pipe_table(["place", "what we take"], [list(line) for line in READINGS])

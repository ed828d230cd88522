"""Method beside method: who ended late, who is lower than whom, and what the smoothing has to do with it."""

from __future__ import annotations

from collections.abc import Sequence

from orthoprox.experiments.claims import EP, FRACTIONS, OURS, PAIRS, RR, TIE, joined, objective_after, score
from orthoprox.experiments.gather import RunRecord
from orthoprox.experiments.table import penalty, pipe_table

LATE = 0.01
"""A run keeps to its budget if its last step ends no later than this share of the budget after it."""


def late_runs(runs: Sequence[RunRecord]) -> str:
    """How often a long step went past the budget, by method."""
    timed = [run for run in runs if run.job.seconds is not None]
    if not timed:
        return ""
    lines = []
    for label in dict.fromkeys(run.label for run in timed):
        here = [run for run in timed if run.label == label]
        late = [run for run in here if run.overrun > LATE * float(run.job.seconds or 0.0)]
        longest = max(float(run.facts["seconds_used"]) for run in here)
        lines.append([label, f"{len(late)} of {len(here)}", f"{longest:.2f} s"])
    budgets = " or ".join(f"{seconds:g} s" for seconds in sorted({float(run.job.seconds or 0.0) for run in timed}))
    return (
        "## Whether the runs kept to their budget\n\n"
        f"Every run has {budgets} and is judged by the last state it had reached by then, whatever the method.\n"
        f"A step that goes on for longer is lost: here is how many runs ended more than {LATE:.0%} late.\n\n"
        + pipe_table(["method", "runs that ended late", "the longest took"], lines)
    )


def rival_by_rival(runs: Sequence[RunRecord]) -> str:
    """Every pair of methods, so that no verdict hides which rival it rests on."""
    by_key = joined(runs)
    labels = list(dict.fromkeys(run.label for run in runs))
    ks = list(dict.fromkeys(kept for _, _, kept in by_key))
    lines = []
    for method in (EP, RR, OURS):
        for rival in labels:
            if rival != method:
                groups = [list(by_key.values()), *([p for key, p in by_key.items() if key[2] == kept] for kept in ks)]
                whole = score(method, rival, groups[0])
                lines.append([method, rival, *(str(score(method, rival, g)) for g in groups), f"{whole.ratio:.3g}"])
    head = ["method", "rival", "all panels", *(f"k = {penalty(kept)}" for kept in ks), "its F / the rival's, median"]
    return (
        "## Rival by rival\n\n"
        "In how many panels the method ends lower, equal, higher than the rival; two objectives are equal if they\n"
        f"differ by at most {TIE:.1%}.\n\n" + pipe_table(head, lines)
    )


def what_smoothing_decides(runs: Sequence[RunRecord]) -> str:
    """The same pairs with the smoothing of the figures and with another one, at several times."""
    labels = {run.label for run in runs}
    if not any(rival in labels for _, rival in PAIRS if "," in rival):
        return ""
    at = {fraction: joined(runs, objective_after(fraction)) for fraction in FRACTIONS}
    ks = list(dict.fromkeys(key[2] for key in at[1.0]))
    head = ["method", "rival", *(f"k = {penalty(kept)}, {f:.0%} of the time" for kept in ks for f in FRACTIONS)]
    lines = []
    for method, rival in PAIRS:
        cells = []
        for kept in ks:
            for by_key in at.values():
                one = score(method, rival, [p for key, p in by_key.items() if key[2] == kept])
                cells.append(f"{one} ({one.ratio:.3g})")
        lines.append([method, rival, *cells])
    return (
        "## What the smoothing decides\n\n"
        "OADMM's theory asks for mu = tau/beta with tau of at least 4/(2 - sigma) = 40/9. SPGM in the figures has\n"
        "mu = 1/beta with the same beta: the function it minimises is nearer to F by that factor, and most of the gap\n"
        "between them is what the smoothing leaves. The rows *mu = tau/beta* give SPGM the smoothing of OADMM at\n"
        "every iteration. The rows *theory* give RADMM the smoothing that its own theory asks for, mu = 4/beta, and\n"
        "half the step size; in the figures mu beta = 1e-8, as in its authors' experiments. Lower, equal, higher, and\n"
        "in brackets the method's F over the rival's, median over the panels:\n\n" + pipe_table(head, lines)
    )

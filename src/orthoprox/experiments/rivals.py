"""Method beside method: who ended late, who is lower than whom, and what the smoothing has to do with it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from orthoprox.experiments import claims
from orthoprox.experiments.claims import EP, EQUAL, FRACTIONS, OURS, PAIRS, RR, SPGM_EP, SPGM_RR, TIE, Panel, Score
from orthoprox.experiments.gather import RunRecord
from orthoprox.experiments.spec import in_words
from orthoprox.experiments.table import pipe_table

LATE = 0.01
"""A run keeps to its budget if its last step ends no later than this share of the budget after it."""

Panels = Mapping[tuple[str, float, float | None], Panel]
"""By data set, weight and kept."""


def late_runs(runs: Sequence[RunRecord]) -> str:
    """How often a long step went past the budget, by method."""
    timed = [run for run in runs if run.job.seconds is not None]
    if not timed:
        return ""
    lines = []
    for label in dict.fromkeys(run.label for run in timed):
        here = [run for run in timed if run.label == label]
        late = sum(run.overrun > LATE * float(run.job.seconds or 0.0) for run in here)
        early = sum(run.facts["status"] == "converged" for run in here)
        longest = max(float(run.facts["seconds_used"]) for run in here)
        lines.append([label, f"{late} of {len(here)}", f"{early} of {len(here)}", f"{longest:.2f} s"])
    budgets = " or ".join(f"{seconds:g} s" for seconds in sorted({float(run.job.seconds or 0.0) for run in timed}))
    tolerances = " or ".join(f"{tolerance:g}" for tolerance in sorted({run.job.tolerance for run in timed}))
    return (
        "## Whether the runs kept to their budget\n\n"
        f"Every run has {budgets} and is judged by the last state it had reached by then, whatever the method.\n"
        f"A step that goes on for longer is lost: here is how many runs ended more than {LATE:.0%} late, and how many\n"
        f"ended before their time because Crit was at most {tolerances}.\n\n"
        + pipe_table(["method", "ended late", "converged", "the longest took"], lines)
    )


def rival_by_rival(runs: Sequence[RunRecord]) -> str:
    """Every pair of methods, so that no verdict hides which rival it rests on."""
    panels = claims.joined(runs)
    labels = list(dict.fromkeys(run.label for run in runs))
    pairs = [(method, rival) for method in (EP, RR, OURS) for rival in labels if rival != method]
    lines = [[*pair, str(claims.score(*pair, panels.values())), *_cells(*pair, [panels])] for pair in pairs]
    head = ["method", "rival", "all panels", *(f"k = {in_words(kept)}" for kept in _all_kept(panels))]
    return (
        "## Rival by rival\n\n"
        + "".join(_in_words(method, labels, panels) for method in (EP, RR))
        + "\nIn how many panels the method ends lower, equal, higher than the rival; two objectives are equal if they\n"
        f"differ by at most {TIE:.1%}. In brackets the method's F over the rival's, the median over all panels with\n"
        "that k, whatever their weight; a table below has the weights apart.\n\n" + pipe_table(head, lines)
    )


def what_smoothing_decides(runs: Sequence[RunRecord]) -> str:
    """The same pairs with the smoothing of the figures and with another one, at several times."""
    labels = {run.label for run in runs}
    if not any(rival in labels for _, rival in PAIRS if "," in rival):
        return ""
    at = [claims.joined(runs, claims.objective_after(fraction)) for fraction in FRACTIONS]
    columns = [f"k = {in_words(kept)}, {f:.0%} of the time" for kept in _all_kept(at[-1]) for f in FRACTIONS]
    lines = [[*pair, *_cells(*pair, at)] for pair in PAIRS]
    return (
        "## What the smoothing decides\n\n"
        "OADMM's theory asks for mu = tau/beta with tau of at least 4/(2 - sigma) = 40/9. SPGM in the figures has\n"
        "mu = 1/beta with the same beta: the function it minimises is nearer to F by that factor. The rows\n"
        "*mu = tau/beta* give SPGM the smoothing of OADMM at every iteration. The rows *theory* give RADMM the\n"
        "smoothing that its own theory asks for, mu = 4/beta, and half the step size; in the figures mu beta = 1e-8,\n"
        "as in its authors' experiments. Lower, equal, higher, and in brackets the method's F over the rival's, as\n"
        "above:\n\n" + pipe_table(["method", "rival", *columns], lines) + _explained(at, columns)
    )


def _explained(at: Sequence[Panels], columns: Sequence[str]) -> str:
    """How much of the gap to SPGM goes when its smoothing is that of OADMM."""
    lines, left = [], []
    last: list[float] = []
    earlier: list[float] = []
    for method, rival in ((EP, SPGM_EP), (RR, SPGM_RR)):
        before, after = _by_kept(method, rival, at), _by_kept(method, rival + EQUAL, at)
        shares = [_share(a, b) for a, b in zip(before, after, strict=True)]
        for i, share in enumerate(shares):
            (last if (i + 1) % len(at) == 0 else earlier).extend([] if share is None else [share])
        lines.append([method, rival, *("-" if share is None else f"{share:.0%}" for share in shares)])
        ends = zip(_all_kept(at[-1]), after[len(at) - 1 :: len(at)], strict=True)
        left += [f"{method} {one.ratio:.4g} times (k = {in_words(kept)})" for kept, one in ends if one.panels]
    if not last:
        return ""
    return (
        f"\nAt the end the smoothing decides {_range(last)} of the gap to SPGM, earlier {_range(earlier)}.\n"
        f"With equal smoothing F ends this many times as high as that of SPGM: {', '.join(left)}.\n\n"
        "The share is 1 - log(b)/log(a), where a is the ratio in brackets with the smoothing of the figures and b the\n"
        "one with equal smoothing. Above 100% the method is the lower one, below 0% the gap widens; where a is at\n"
        f"most {1 + TIE:g} there is no gap.\n\n" + pipe_table(["method", "rival", *columns], lines)
    )


def _range(shares: Sequence[float]) -> str:
    if not shares:
        return "none"
    low, high = (f"{end(shares):.0%}" for end in (min, max))
    return low if low == high else f"{low} to {high}"


def _share(before: Score, after: Score) -> float | None:
    if not (before.ratio > 1 + TIE and after.ratio > 0):  # NaN where no panel has both
        return None
    return 1 - math.log(after.ratio) / math.log(before.ratio)


def _in_words(method: str, labels: Sequence[str], panels: Panels) -> str:
    """The counts of the paper's method against each of the paper's others."""
    rivals = [label for label in labels if label not in (EP, RR, OURS) and "," not in label]
    scores = {rival: claims.score(method, rival, panels.values()) for rival in rivals}
    counts = [f"{rival} in {one.lower} of {one.panels}" for rival, one in scores.items() if one.panels]
    return f"{method} ends lower than {', '.join(counts)} panels.\n" if counts else ""


def _cells(method: str, rival: str, at: Sequence[Panels]) -> list[str]:
    """Counts and ratios, k by k: objectives with another k differ by orders of magnitude."""
    return [one.with_ratio for one in _by_kept(method, rival, at)]


def _by_kept(method: str, rival: str, at: Sequence[Panels]) -> list[Score]:
    """For each k, at each time."""
    return [
        claims.score(method, rival, [panel for key, panel in panels.items() if key[2] == kept])
        for kept in _all_kept(at[-1])
        for panels in at
    ]


def _all_kept(panels: Panels) -> list[float | None]:
    return list(dict.fromkeys(kept for _, _, kept in panels))

"""The parameters of the estimators as options: ``PARAMETERS`` has a line for every one."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import Any

import click

from orthoprox.cli.complete import solvers
from orthoprox.cli.options import COUNT, NOT_NEGATIVE

SEED = 0
"""The default of ``--seed``: the command gives the same result every time."""


class CountOrShare(click.ParamType):  # type: ignore[type-arg]  # click before 8.3 has no argument there
    """A whole number, or a share between 0 and 1."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        if re.fullmatch(r"\d{1,18}", value) and int(value) > 0:
            return int(value)
        try:
            share = float(value)
        except ValueError:
            share = float("nan")
        if not 0 < share <= 1:
            self.fail(f"{value!r} is neither a whole number of at least 1 nor a share such as 0.2.", param, ctx)
        return share


class Each(CountOrShare):
    """One such number for all components, or one for each with commas between them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and "," in value:
            return [super(Each, self).convert(part.strip(), param, ctx) for part in value.split(",")]
        return super().convert(value, param, ctx)


class AutoOrShare(click.ParamType):  # type: ignore[type-arg]  # as above
    """The word auto, or a share."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "auto":
            return value
        try:
            share = float(value)
        except (TypeError, ValueError):
            share = float("nan")
        if not 0 <= share < 1:
            self.fail(f"{value!r} is neither auto nor a share such as 0.1.", param, ctx)
        return share


@dataclass(frozen=True)
class Parameter:
    """An option for a parameter of an estimator."""

    flags: tuple[str, ...]
    kind: Any
    help: str
    default: bool = True
    """Whether the help shows the default of the estimator."""


_CENTRE = Parameter(
    ("--center",),
    click.Choice(("affine", "median", "mean", "none")),
    "The point that the subspace passes through; none: the origin.",
)
_NORMALISE = Parameter(("--normalize/--no-normalize",), bool, "Count samples by their direction only.")
PARAMETERS: dict[str, Parameter] = {
    "n_components": Parameter(("--components", "-r"), CountOrShare(), "How many components."),
    "n_nonzero": Parameter(
        ("--nonzeros", "-k"),
        CountOrShare(),
        "How many loadings of all components may differ from zero, or their share of all.  [default: 0.2]",
        False,
    ),
    "transform_n_nonzero_coefs": Parameter(
        ("--nonzeros", "-k"), COUNT, "With --codes largest: how many codes of each sample are kept.", False
    ),
    "n_nonzero_per_component": Parameter(
        ("--nonzeros-each",), Each(), "The same for each component: 4, or 4,3,3.", False
    ),
    "weight": Parameter(("--weight", "-w"), NOT_NEGATIVE, "The weight of the penalty.", False),
    "penalty": Parameter(("--penalty",), click.Choice(("l1", "mcp", "scad", "group")), "With --weight: its kind."),
    "effort": Parameter(("--effort",), click.Choice(("fast", "balanced", "thorough")), "How far the search goes."),
    "centre": _CENTRE,
    "center": _CENTRE,
    "normalise": _NORMALISE,
    "normalize": _NORMALISE,
    "contamination": Parameter(("--contamination",), AutoOrShare(), "The share of outliers, or auto."),
    "order": Parameter(
        ("--order",), CountOrShare(), "How many of the largest and smallest values make the range.", False
    ),
    "oblique": Parameter(("--oblique/--no-oblique",), bool, "Sources may be correlated a little in the sample."),
    "objective": Parameter(("--objective",), click.Choice(("codes", "l1", "l4")), "What is minimised."),
    "codes": Parameter(("--codes",), click.Choice(("all", "soft", "hard", "largest")), "What the scores are."),
    "precondition": Parameter(("--precondition",), bool, "Look for atoms that need not be orthogonal."),
    "solver": Parameter(("--solver", "-s"), str, "See orthoprox list solvers."),
    "max_iter": Parameter(("--max-iter",), COUNT, "The most steps."),
    "tol": Parameter(("--tol",), NOT_NEGATIVE, "Stop when the relative criticality is at most this."),
    "n_init": Parameter(("--starts",), COUNT, "How many starts; the best result is kept."),
    "n_jobs": Parameter(("--jobs",), click.IntRange(min=-1), "How many starts side by side; -1: one a core.", False),
    "random_state": Parameter(
        ("--seed",), click.IntRange(min=0, max=2**32 - 1), f"For random starts.  [default: {SEED}]", False
    ),
}
NOT_OFFERED = frozenset(("scale", "warm_start", "sketch_size", "half_life", "verbose"))
"""Parameters without an option: ``--scale`` is that of every estimator, ``--quiet`` is for ``verbose``."""


def options_of(estimator: Any) -> list[click.Option]:
    """An option for every parameter of an estimator, in its order."""
    found = []
    for name, about in inspect.signature(estimator).parameters.items():
        if name not in PARAMETERS:
            continue
        one = PARAMETERS[name]
        shown = "" if not one.default or about.default is None else f"  [default: {_word(about.default)}]"
        flag = {"is_flag": True} if one.kind is bool else {"type": one.kind}
        declared = [name, *one.flags]
        offers = solvers if name == "solver" else None
        found.append(click.Option(declared, default=None, help=one.help + shown, shell_complete=offers, **flag))
    return found


def _word(default: Any) -> str:
    return {True: "yes", False: "no"}[default] if isinstance(default, bool) else f"{default}"


def settings_of(values: dict[str, Any]) -> dict[str, Any]:
    """The parameters that were given, and the seed."""
    given = {name: value for name, value in values.items() if name in PARAMETERS and value is not None}
    for name in {"centre", "center"} & set(given):
        given[name] = None if given[name] == "none" else given[name]
    return {**given, "random_state": given.get("random_state", SEED)}


def in_words_of_options(sentence: str) -> str:
    """A sentence of an estimator with its parameters named as options are.

    Examples
    --------
    >>> in_words_of_options("n_components must be at least 1, and X has 0 features")
    '--components must be at least 1, and the table has 0 features'
    >>> in_words_of_options("a weight is needed; given weight = -1.0")
    'a weight is needed; given --weight = -1.0'
    """
    for name, one in PARAMETERS.items():
        end = r"(?!\w)" if "_" in name else "(?= = )"  # a word of its own too, unless it has a value
        sentence = re.sub(rf"(?<![\w.-]){name}{end}", one.flags[0].partition("/")[0], sentence)
    sentence = re.sub(r"\bX has\b", "the table has", sentence)
    return sentence.replace('scale="standard"', "--scale standard")

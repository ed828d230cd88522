"""``orthoprox fit``: the command for people with a table, one subcommand for each estimator."""

from __future__ import annotations

import difflib
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from orthoprox.backends.devices import mover
from orthoprox.cli.errors import EXIT_CODES
from orthoprox.cli.fit.blocks import is_in_blocks, open_blocks, scale_of_blocks
from orthoprox.cli.fit.folder import check_folder
from orthoprox.cli.fit.kinds import KINDS, Kind
from orthoprox.cli.fit.options import (
    block_options,
    choice_of,
    covariance_options,
    device_options,
    path_options,
    reading_of,
    result_options,
    table_options,
)
from orthoprox.cli.fit.parameters import options_of, settings_of
from orthoprox.cli.outcome import to_json
from orthoprox.cli.solve import CODES, start_cluster
from orthoprox.cli.source import Where
from orthoprox.cli.tables import read_table


class FitCommand(click.Command):
    """A command whose help has its options in groups, and which keeps the words it was called with."""

    groups: Mapping[str, Sequence[click.Option]]
    allow_extra_args = True  # to say what is wrong with them

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = ctx.meta["orthoprox.arguments"] = list(args)
        left = super().parse_args(ctx, args)
        if left and not ctx.resilient_parsing:
            before = given[given.index(left[0]) - 1]
            flags = [name for option in self.params if getattr(option, "is_flag", False) for name in option.opts]
            ctx.fail(
                f"{before} takes no value: leave {left[0]!r} out."
                if before in flags
                else f"One table at a time: {left[0]!r} is left over. Put names with blanks into quotes."
            )
        return left

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        shown = self.get_help_option(ctx)
        for title, options in {**self.groups, "Help": [] if shown is None else [shown]}.items():
            rows = [row for row in (option.get_help_record(ctx) for option in options) if row is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class Fits(click.Group):
    """The estimators; each one's options are made when it is asked for, since they need scikit-learn."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(KINDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return make_command(cmd_name, KINDS[cmd_name]) if cmd_name in KINDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Take the name of a class for that of its command, and say what is missing before a table."""
        word = args[0]
        names = {_letters(own): name for name, kind in KINDS.items() for own in (name, kind.name)}
        if _letters(word) in names:
            return super().resolve_command(ctx, [names[_letters(word)], *args[1:]])
        if word not in KINDS and (Path(word).suffix or Path(word).exists()):
            ctx.fail(f"Name an estimator before the table, as in: orthoprox fit sparse-pca {word}")
        near = difflib.get_close_matches(word.lower(), KINDS, n=1, cutoff=0.5)
        if word not in KINDS and not word.startswith("-"):
            ctx.fail(
                f"There is no estimator {word!r}. "
                + (f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(KINDS)}.")
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Estimators (orthoprox fit ESTIMATOR --help has the options of each)"):
            formatter.write_dl([(name, kind.summary) for name, kind in KINDS.items()])


@click.command(
    name="fit",
    cls=Fits,
    options_metavar="",
    subcommand_metavar="ESTIMATOR TABLE [OPTIONS]",
    short_help="Fit an estimator to your table: loadings, scores, a report.",
    epilog="\b\nExamples:\n"
    "  orthoprox fit sparse-pca patients.csv --components 3 --nonzeros 9 --out results\n"
    "  orthoprox fit nonnegative-pca survey.xlsx --missing median --drop comments\n"
    "  orthoprox fit sparse-pca genes.tsv --transpose --components 5 --scale none\n"
    "  orthoprox fit orthogonal-nmf counts.mtx --components 8\n\n" + EXIT_CODES,
)
def fit_command() -> None:
    """Fit an estimator to a table, as Python does it, and write loadings, scores and a report to open in a browser.

    The table is a file of CSV or the like (.csv, .tsv, .txt, also .gz), a workbook (.xlsx), Parquet, Feather or Arrow,
    AnnData (.h5ad), or a matrix (.npy, .npz, .mtx, .svmlight). Samples are rows, unless --transpose. Columns of texts,
    dates and ids are left out, with a word; empty cells are refused, unless --missing says what to do with them.
    """


def make_command(name: str, kind: Kind) -> click.Command:
    """The command of one estimator."""
    groups: dict[str, list[click.Option]] = {
        "The fit": options_of(kind.estimator),
        "The table": [*table_options(), *(covariance_options() if kind.name == "SparsePCA" else [])],
        "The path": path_options() if kind.name == "SparsePCA" else [],
        "Where it runs": [*device_options(), *(block_options() if kind.blocks else [])],
        "The results": result_options(),
    }
    table = click.Argument(["table"], type=click.Path(path_type=Path))
    command = FitCommand(
        name,
        params=[table, *(option for group in groups.values() for option in group)],
        callback=lambda **values: fit_to_table(name, kind, values),
        short_help=kind.summary,
        help=f"Fit {kind.name} to TABLE: {kind.summary}.\n\nLoadings, scores, a summary, pictures and a report to open "
        f"in a browser are written into a folder. In Python: from orthoprox import {kind.name}.",
        epilog=f"Example: orthoprox fit {name} table.csv --components 2 --out results",
    )
    command.groups = groups
    return command


def _letters(name: str) -> str:
    """A name without what differs between sparse-pca, sparse_pca and SparsePCA."""
    return name.lower().replace("-", "").replace("_", "")


def fit_to_table(name: str, kind: Kind, values: dict[str, Any]) -> None:
    """Read, fit, write, and say what happened."""
    from orthoprox.cli.fit.outcome import write_outcome
    from orthoprox.cli.fit.path import with_path
    from orthoprox.cli.fit.words import describe, opening

    source: Path = values["table"]
    out: Path = values["out"] or Path(f"{source.name.partition('.')[0]}-{name}")
    check_folder(out, overwrite=values["overwrite"])
    fit, scale = _fit(kind, source, values)
    fit = with_path(fit, values.get("path"), values.get("cv"), scale, tell=_shows(values))
    arguments = click.get_current_context().meta["orthoprox.arguments"]
    command = shlex.join(["orthoprox", "fit", name, *arguments])
    summary, files = write_outcome(fit, out, source, command)
    if values["as_json"]:
        click.echo(json.dumps(to_json(summary), indent=2))
    else:
        path = [] if fit.path is None or values.get("cv") is None else ["", str(fit.path)]
        notes = [f"Note: {note}" for note in summary["notes"]]
        lines = [*opening(fit, source), "", describe(fit), *path, *([""] if notes else []), *notes]
        click.echo("\n".join([*lines, "", *(f"wrote {file}" for file in files)]))
    if fit.model.result_.status in CODES:
        raise SystemExit(CODES[fit.model.result_.status])


def _fit(kind: Kind, source: Path, values: dict[str, Any]) -> tuple[Any, str]:
    """The fit, and how features were scaled."""
    from orthoprox.cli.fit.path import check_path
    from orthoprox.cli.fit.run import fit_rows, fit_table

    settings, verbose = settings_of(values), _shows(values)
    device, library = values["device"], values["library"]
    move = None if device is None and library is None else mover(device, library)
    where = Where(values.get("memory"), start_cluster(values.get("cluster"), values.get("local_workers")))
    if kind.blocks and is_in_blocks(source, where) and not values.get("covariance"):
        rows, table = open_blocks(source, where, values, move)
        scale = scale_of_blocks(kind, values["scale"])
        return fit_rows(kind, rows, table, settings, scale, verbose=verbose), scale
    table = read_table(source, reading_of(values), choice_of(values))
    check_path(table, settings, values.get("path"), values.get("cv"))
    scale = values["scale"] or "standard"
    move = None if move is not None and isinstance(move(np.zeros(1)), np.ndarray) else move
    return fit_table(kind, table, settings, scale, move=move, verbose=verbose), scale


def _shows(values: dict[str, Any]) -> bool:
    """Whether someone watches."""
    return not values["quiet"] and sys.stderr.isatty()

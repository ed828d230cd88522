"""Experiments as data: the content of a TOML file, checked, and the runs it asks for."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.resources
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from orthoprox._fields import cached_property, replace, require
from orthoprox.experiments.methods import fingerprint

FORMAT = 3
"""Part of the name of every result file, so that results of another format are run again."""
MODELS = ("sparse-pca",)
WATCHES = ("", "lyapunov")
_SCALED = re.compile(r"\s*(?:([0-9.eE+-]+)\s*\*\s*)?weight\s*")


@dataclass(frozen=True)
class Method:
    """A solver with its settings, under the name it has in figures and tables.

    A setting may be a text such as ``"10 * weight"``: it is evaluated for the weight of the problem.
    """

    label: str
    solver: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def settings_for(self, weight: float) -> dict[str, Any]:
        """The settings for this weight."""
        return {name: _evaluate(value, weight) for name, value in self.settings.items()}


def _evaluate(value: Any, weight: float) -> Any:
    match = _SCALED.fullmatch(value) if isinstance(value, str) else None
    return value if match is None else float(match[1] or 1) * weight


Kept: TypeAlias = int | float | None
"""k: a number of entries, a fraction of them all, or none at all."""


def entries_kept(kept: int | float, entries: int) -> int:
    """The number k that is meant, at least 1."""
    return kept if isinstance(kept, int) else max(1, round(kept * entries))


def in_words(kept: Kept) -> str:
    """The number k as it was given."""
    if kept is None:
        return "none"
    return str(kept) if isinstance(kept, int) else f"{kept:.4g} nr"


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run: everything that decides its result."""

    dataset: str
    model: str
    components: int
    weight: float
    kept: Kept
    solver: str
    settings: Mapping[str, Any]
    seed: int
    seconds: float | None
    iterations: int | None
    tolerance: float
    watch: str

    @cached_property
    def key(self) -> str:
        """A digest of everything here, and of the user's files behind it as they are when it is first asked for."""
        files = [fingerprint(self.solver), fingerprint(self.dataset)]
        content = {**dataclasses.asdict(self), "format": FORMAT, "files": files}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]

    def file(self, folder: Path) -> Path:
        """The path of its result below a folder of results."""
        method = re.sub(r"[^\w.-]+", "-", Path(self.solver).name)
        kept = "l1" if self.kept is None else f"k{self.kept:g}"
        dataset = re.sub(r"[^\w.-]+", "-", Path(self.dataset).name)
        return folder / "runs" / dataset / f"{method}-w{self.weight:g}-{kept}-s{self.seed}-{self.key}.npz"


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Data sets x weights x penalties x methods x seeds, and how long each run may take.

    Attributes
    ----------
    name, title : str
    about : str
        What it is for, in a few words.
    datasets : tuple of str
        Names for ``orthoprox.datasets.load``.
    weights : tuple of float
    kept : tuple of int, float or None
        k, how many of the n r entries go unpenalised: a whole number of them, or a fraction of them all as a float.
        None is the plain l1 norm.
    components : int
    methods : tuple of Method
    seeds : tuple of int
        Each draws the sample of the data and the common start of all methods.
    seconds, iterations : float, int or None
        The budget of a run: at least one of them.
    tolerance : float
        A run also ends when Crit is at most this.
    watch : str
        "lyapunov" measures the quantities of the paper's analysis at every iteration.
    model : str
    curves : bool
        Whether figures and the report show its curves; tables always have its runs.
    substitutes : mapping of str to str
        What to take where a data set is missing.

    Examples
    --------
    >>> from orthoprox.experiments import builtin
    >>> figure = builtin("figure1")
    >>> figure.weights, len(figure.datasets), len(figure.methods)
    ((50.0,), 8, 8)
    >>> len(list(figure.jobs())) == 8 * 8 * 2 * 5
    True
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    weights: tuple[float, ...]
    methods: tuple[Method, ...]
    kept: tuple[Kept, ...] = (None,)
    components: int = 20
    seeds: tuple[int, ...] = (0,)
    seconds: float | None = None
    iterations: int | None = None
    tolerance: float = 1e-8
    watch: str = ""
    model: str = "sparse-pca"
    curves: bool = True
    substitutes: Mapping[str, str] = field(default_factory=dict)
    about: str = ""

    def __post_init__(self) -> None:
        for name in ("datasets", "weights", "methods", "kept", "seeds"):
            values = list(getattr(self, name))
            require(bool(values), f"Experiment {self.name!r} needs at least one entry in {name}; given none.")
        labels = [method.label for method in self.methods]
        twice = sorted({label for label in labels if labels.count(label) > 1})
        require(
            not twice, f"Experiment {self.name!r} has two methods labelled {', '.join(twice)}. Give each its own label."
        )
        require(
            self.model in MODELS,
            f"Experiment {self.name!r} needs a model out of {', '.join(MODELS)}; given {self.model!r}.",
        )
        require(
            self.seconds is not None or self.iterations is not None,
            f"Experiment {self.name!r} needs a budget: give seconds, iterations or both.",
        )
        require(
            self.seconds is None or self.seconds > 0,
            f"Experiment {self.name!r} needs a positive number of seconds; given {self.seconds}.",
        )
        require(
            self.iterations is None or self.iterations >= 1,
            f"Experiment {self.name!r} needs at least one iteration; given {self.iterations}.",
        )
        require(
            all(value is None or (value > 0 and (value <= 1 or isinstance(value, int))) for value in self.kept),
            f"Experiment {self.name!r}: kept is a number of entries, at least 1, or a fraction of them, above 0 and at "
            f"most 1; given {self.kept}.",
        )
        require(self.components >= 1, f"Experiment {self.name!r} needs components >= 1; given {self.components}.")
        require(
            all(weight > 0 for weight in self.weights),
            f"Experiment {self.name!r} needs positive weights; given {self.weights}.",
        )
        require(
            all(seed >= 0 for seed in self.seeds),
            f"Experiment {self.name!r} needs seeds that are not negative; given {self.seeds}.",
        )
        require(
            self.watch in WATCHES, f"Experiment {self.name!r} can watch 'lyapunov' or nothing; given {self.watch!r}."
        )

    def jobs(self) -> Iterator[tuple[str, Job]]:
        """Every run with the label of its method, data set by data set so that data are read once."""
        for dataset in self.datasets:
            for seed in self.seeds:
                for weight in self.weights:
                    for kept in self.kept:
                        for method in self.methods:
                            yield (
                                method.label,
                                Job(
                                    dataset=dataset,
                                    model=self.model,
                                    components=self.components,
                                    weight=weight,
                                    kept=kept,
                                    solver=method.solver,
                                    settings=method.settings_for(weight),
                                    seed=seed,
                                    seconds=self.seconds,
                                    iterations=self.iterations,
                                    tolerance=self.tolerance,
                                    watch=self.watch,
                                ),
                            )

    def to_mapping(self) -> dict[str, Any]:
        """The experiment as plain lists and mappings for JSON; ``from_mapping`` reads them."""
        entries = dataclasses.asdict(self)
        entries["methods"] = {m.label: {"solver": m.solver, **m.settings} for m in self.methods}
        entries["kept"] = ["l1" if value is None else value for value in self.kept]
        return {name: value for name, value in entries.items() if value is not None}


def from_mapping(entries: Mapping[str, Any], where: str) -> Experiment:
    """Make an experiment from the content of a TOML or JSON file; errors name the file."""
    known = {f.name for f in dataclasses.fields(Experiment)}
    unknown = sorted(set(entries) - known)
    require(not unknown, f"{where} has the unknown entries {', '.join(unknown)}; use {', '.join(sorted(known))}.")
    missing = sorted({"name", "title", "datasets", "weights", "methods"} - set(entries))
    require(not missing, f"{where} lacks {', '.join(missing)}. Add an entry for each.")
    try:
        return Experiment(**{name: _READERS.get(name, _unchanged)(value) for name, value in entries.items()})
    except (TypeError, AttributeError, KeyError) as error:
        raise ValueError(f"{where} has an entry of the wrong kind: {error}.") from None
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _unchanged(value: Any) -> Any:
    return value


def _methods(table: Any) -> tuple[Method, ...]:
    if not isinstance(table, Mapping):
        raise TypeError(f"methods must be a table with one line per method; given {table!r}")
    lines = {label: {"solver": line} if isinstance(line, str) else dict(line) for label, line in table.items()}
    for label, line in lines.items():
        require("solver" in line, f'the method {label!r} lacks its solver; write solver = "oadmm-ep" or the like.')
    return tuple(Method(label, line.pop("solver"), line) for label, line in lines.items())


def _kept(value: Any) -> Kept:
    if value == "l1":
        return None
    return _integer(value) if isinstance(value, int) else _number(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"expected a number; given {value!r}")
    return float(value)


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"expected a whole number; given {value!r}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text; given {value!r}")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"expected true or false; given {value!r}")
    return value


def _list(of: Any) -> Any:
    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"expected a list; given {value!r}")
        return tuple(of(item) for item in value)

    return read


_READERS: dict[str, Any] = {
    "name": _text,
    "title": _text,
    "about": _text,
    "datasets": _list(_text),
    "weights": _list(_number),
    "kept": _list(_kept),
    "methods": _methods,
    "components": _integer,
    "seeds": _list(_integer),
    "seconds": _number,
    "iterations": _integer,
    "tolerance": _number,
    "watch": _text,
    "model": _text,
    "curves": _truth,
    "substitutes": dict,
}


def read(path: Path) -> Experiment:
    """The experiment a TOML file describes."""
    try:
        return from_mapping(tomllib.loads(path.read_text("utf-8")), str(path))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a TOML file: {error}.") from None


BUILTIN = ("figure1", "figure2", "figure3", "figure4", "figure5", "smoothing", "theory", "settings")
"""The experiments that come with the package, in the paper's order."""


def builtin(name: str, *, quick: bool = False) -> Experiment:
    """An experiment that comes with the package; with ``quick`` on small bundled data.

    Examples
    --------
    >>> builtin("figure2", quick=True).datasets[0].split("-")[0]
    'digits'
    """
    require(name in BUILTIN, f"There is no experiment {name!r}; choose from {', '.join(BUILTIN)}.")
    specs = importlib.resources.files("orthoprox.experiments") / "specs"
    entries = tomllib.loads((specs / f"{name}.toml").read_text("utf-8"))
    whole = from_mapping(entries, f"{name}.toml")
    if not quick:
        return whole
    small = tomllib.loads((specs / "quick.toml").read_text("utf-8"))
    changes = {key: _READERS[key](value) for key, value in {**small["every"], **small.get(name, {})}.items()}
    title = f"{whole.title} (quick: small data)"
    return replace(whole, name=f"{name}-quick", title=title, substitutes={}, **changes)

"""How many nonzeros are allowed, in all and in each component."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoprox._fields import require
from orthoprox._types import Array


@dataclass(frozen=True)
class Allowance:
    """At most ``total`` nonzeros in r columns of length n, at most ``caps[j]`` of them in column j.

    The value tr(X'CX) does not depend on the order of the columns, so the caps are kept in falling order.
    """

    n: int
    r: int
    total: int
    caps: tuple[int, ...]

    @classmethod
    def of(cls, n: int, n_components: Any, n_nonzero: Any, n_nonzero_per_component: Any) -> Allowance:
        """Check what the user asked for."""
        r = _whole("n_components", n_components, 1)
        require(r <= n, f"There are at most {n} orthonormal components of {n} features; given n_components = {r}.")
        require(
            n_nonzero is not None or n_nonzero_per_component is not None,
            "A bound needs the number of nonzeros: give n_nonzero (in all), n_nonzero_per_component, or both.",
        )
        caps = [n] * r
        if n_nonzero_per_component is not None:
            given = n_nonzero_per_component
            many = (isinstance(given, Sequence) and not isinstance(given, str)) or getattr(given, "ndim", 0) == 1
            counts = list(given) if many else [given] * r
            require(
                len(counts) == r,
                f"n_nonzero_per_component must be one number, or one for each of the {r} components; "
                f"given {len(counts)}.",
            )
            caps = [min(n, _whole("n_nonzero_per_component", count, 1)) for count in counts]
        total = sum(caps) if n_nonzero is None else _whole("n_nonzero", n_nonzero, 1)
        require(
            total >= r,
            f"n_nonzero = {total} is too few: each of the {r} components needs a nonzero. It counts the entries of "
            "all components together; n_nonzero_per_component those of each.",
        )
        caps = sorted((min(cap, total - r + 1) for cap in caps), reverse=True)
        return cls(n, r, min(total, sum(caps)), tuple(caps))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of nonzeros a column may have and has to be bounded for, in rising order."""
        return tuple(sorted(set(self.caps))) if self.total == sum(self.caps) else tuple(range(1, self.caps[0] + 1))

    def allocations(self) -> Iterator[tuple[int, ...]]:
        """All ways to give each column as many nonzeros as the allowance has, in falling order of size.

        Fewer nonzeros than allowed are covered: a bound for a number of nonzeros holds for every smaller one.
        """

        def extend(sizes: tuple[int, ...], left: int) -> Iterator[tuple[int, ...]]:
            j = len(sizes)
            if j == self.r:
                if left == 0:
                    yield sizes
                return
            most = min(self.caps[j], left - (self.r - j - 1), sizes[-1] if sizes else self.n)
            for size in range(most, 0, -1):
                if size + sum(min(cap, size) for cap in self.caps[j + 1 :]) >= left:
                    yield from extend((*sizes, size), left - size)

        yield from extend((), self.total)

    def most(self, g: dict[int, float]) -> tuple[float, tuple[int, ...]]:
        """The largest sum of ``g`` over the columns that an allocation has, and one that has it."""
        if self.total == sum(self.caps):
            return sum(g[cap] for cap in self.caps), self.caps
        reached = np.full(self.total + 1, -np.inf)
        reached[0] = 0.0
        choices: list[Array] = []
        for cap in self.caps:
            options = np.full((cap, self.total + 1), -np.inf)
            for size in range(1, cap + 1):
                options[size - 1, size:] = reached[: self.total + 1 - size] + g[size]
            choices.append(np.argmax(options, axis=0) + 1)
            reached = np.max(options, axis=0)
        used = int(np.argmax(reached))
        value, sizes = float(reached[used]), []
        for choice in reversed(choices):
            sizes.append(int(choice[used]))
            used -= sizes[-1]
        return value, tuple(sorted(sizes, reverse=True))


def _whole(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number; given {value!r}.") from None
    require(number >= least and not isinstance(value, bool), f"{name} must be at least {least}; given {value!r}.")
    return number

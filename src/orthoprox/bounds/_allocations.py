"""How an allowance can be shared out among the components."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from orthoprox._fields import require
from orthoprox._types import Array
from orthoprox.allowance import Allowance, resolve_allowance


def read_allowance(n: int, n_components: Any, n_nonzero: Any, n_nonzero_per_component: Any) -> Allowance:
    """What the user asked for, with the caps in falling order and none that the total rules out.

    The value tr(X'CX) does not depend on the order of the columns.
    """
    r = _whole("n_components", n_components)
    require(r <= n, f"There are at most {n} orthonormal components of {n} features; given n_components = {r}.")
    require(
        n_nonzero is not None or n_nonzero_per_component is not None,
        "A bound needs the number of nonzeros: give n_nonzero (in all), n_nonzero_per_component, or both.",
    )
    return in_order(resolve_allowance(n_nonzero, n_nonzero_per_component, n, r))


def in_order(allowance: Allowance) -> Allowance:
    """The same with the caps in falling order, at most what the total leaves to one column."""
    most = allowance.total - allowance.r + 1
    return Allowance(allowance.total, tuple(sorted((min(cap, most) for cap in allowance.caps), reverse=True)))


def sizes_of(allowance: Allowance) -> tuple[int, ...]:
    """The numbers of nonzeros a column may have and has to be bounded for, in rising order."""
    return tuple(range(1, max(allowance.caps) + 1)) if allowance.slack else tuple(sorted(set(allowance.caps)))


def allocations(allowance: Allowance) -> Iterator[tuple[int, ...]]:
    """All ways to give each column as many nonzeros as the allowance has, in falling order of size.

    Fewer nonzeros than allowed are covered: a bound for a number of nonzeros holds for every smaller one.
    """
    caps, r = allowance.caps, allowance.r

    def extend(sizes: tuple[int, ...], left: int) -> Iterator[tuple[int, ...]]:
        j = len(sizes)
        if j == r:
            if left == 0:
                yield sizes
            return
        most = min(caps[j], left - (r - j - 1), *sizes[-1:])
        for size in range(most, 0, -1):
            if size + sum(min(cap, size) for cap in caps[j + 1 :]) >= left:
                yield from extend((*sizes, size), left - size)

    yield from extend((), allowance.total)


def largest_sum(allowance: Allowance, g: dict[int, float]) -> tuple[float, tuple[int, ...]]:
    """The largest sum of ``g`` over the columns that an allocation has, and one that has it."""
    total, caps = allowance.total, allowance.caps
    if not allowance.slack:
        return sum(g[cap] for cap in caps), caps
    reached = np.full(total + 1, -np.inf)
    reached[0] = 0.0
    choices: list[Array] = []
    for cap in caps:
        options = np.full((cap, total + 1), -np.inf)
        for size in range(1, cap + 1):
            options[size - 1, size:] = reached[: total + 1 - size] + g[size]
        choices.append(np.argmax(options, axis=0) + 1)
        reached = np.max(options, axis=0)
    used = int(np.argmax(reached))
    value, sizes = float(reached[used]), []
    for choice in reversed(choices):
        sizes.append(int(choice[used]))
        used -= sizes[-1]
    return value, tuple(sorted(sizes, reverse=True))


def _whole(name: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number; given {value!r}.") from None
    require(number >= 1 and not isinstance(value, bool), f"{name} must be at least 1; given {value!r}.")
    return number

"""Objects of one shape, read by the pattern of the first: the leaves that taking each apart would give, or None."""

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from orthoprox import Problem
from orthoprox.backends._tree import Pattern, flatten
from orthoprox.models import dual_pcp, sparse_pca
from orthoprox.terms import L1, MCP, ExplainedVariance


@dataclass(frozen=True, eq=False)
class Part:
    a: Any
    b: Any
    name: Any = "x"


class Five(enum.IntEnum):
    FIVE = 5


def data(seed, shape=(6, 4), dtype=float):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: sparse_pca(data(seed, (20, 6)), n_components=2, weight=0.1 + seed),
        lambda seed: sparse_pca(data(seed, (20, 6)), n_components=2, weight=0.1, k=5),
        lambda seed: dual_pcp(data(seed, (20, 6)), codimension=2),
        lambda seed: Problem.of(ExplainedVariance(data(seed)) + (1.0 + seed) * MCP(), over=(4, 2)),
        lambda seed: Part(Part(data(seed), ()), (data(seed + 9), seed, 2.0)),
    ],
)
def test_leaves_are_those_of_taking_apart(make):
    objects = [make(seed) for seed in range(3)]
    wanted, found = [flatten(obj) for obj in objects], Pattern(objects[0]).columns(objects)
    assert len({tree.shape for tree in wanted}) == 1
    assert found is not None
    columns = zip(*(tree.leaves for tree in wanted), strict=True)
    assert all(one is two for a, b in zip(found, columns, strict=True) for one, two in zip(a, b, strict=True))


def shared():
    A = data(3)
    return Part(A, A)


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (Part(data(0), 1.0), Part(data(1, (4, 6)), 1.0)),
        (Part(data(0), 1.0), Part(data(1, dtype=np.float32), 1.0)),
        (Part(data(0), 1.0), Part(data(1), data(2))),
        (Part(data(0), data(1)), Part(data(1), 1.0)),
        (Part(1.0, 2.0, "x"), Part(1.0, 2.0, "y")),
        (Part(1.0, (1.0, 2.0)), Part(1.0, (1.0,))),
        (Part(1.0, (1.0, 2.0)), Part(1.0, [1.0, 2.0])),
        (Part(1.0, L1()), Part(1.0, MCP())),
        (shared(), Part(data(0), data(1))),
        (Part(data(0), data(1)), shared()),
        (Part(1.0, None), Part(1.0, 2.0)),
        (Part(1.0, len), Part(1.0, max)),
        (Part(1.0, Five.FIVE), Part(1.0, 5)),
    ],
)
def test_another_shape_is_seen(first, other):
    assert flatten(first).shape != flatten(other).shape
    assert Pattern(first).columns([first, first, other]) is None


def test_what_both_share_need_not_be_looked_at_again():
    A = data(0)
    inside = Part(A, 1.0)
    one, other = Part(inside, A), Part(inside, data(1))
    assert Pattern(one).columns([one, other]) is None  # the same matrix twice, and two
    again = Pattern(one).columns([one, Part(one.a, one.b)])
    assert again is not None
    assert all(leaf is A for leaf in again[0])
    assert again[1:] == [[1.0, 1.0]]

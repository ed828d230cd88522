"""Which worker holds which groups of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_low
from typing import Any

from orthoprox.blocks._shard import Group, Node

SLOW = 2.0
"""How many times as long as the others a worker may take for the rows that it holds before some are given to others."""
NOISE = 5e-3
"""Seconds of a product below which no worker counts as slow: messages take as long."""
STEADY = 5
"""For so many products in a row; for twice as many after each move, so that rows do not go back and forth."""
GAIN = 0.8
"""The part of its time that a product must take after a move, at most, for rows to be read again."""


class Placing:
    """Groups and the shards that hold them.

    Parameters
    ----------
    groups : sequence of groups
        All there are.
    """

    def __init__(self, groups: Sequence[Group]) -> None:
        self._all = {k: (k, blocks) for k, blocks in groups}
        self._held: dict[Node, set[int]] = {}
        self._pace: dict[str, float] = {}  # for a group, of each worker that was slow or compared with one
        self._load_then: dict[str, int] = {}
        self._spent: dict[str, float] = {}  # seconds of each worker in products in which some took too long
        self._uneven = 0  # so many of them in a row
        self._patience = STEADY
        self.seen: set[str] = set()

    @property
    def nodes(self) -> list[Node]:
        """The shards, in the order of their rows."""
        return sorted(self._held, key=lambda node: min(self._held[node], default=0))

    @property
    def homeless(self) -> list[Group]:
        """The groups that no shard holds."""
        there = set().union(*self._held.values()) if self._held else set()
        return [group for k, group in self._all.items() if k not in there]

    def tree(self, with_blocks: bool = False) -> Node:
        """A tree of all shards that hold something."""
        nodes = [node for node in self.nodes if self._held[node]]
        if with_blocks:
            nodes = [Node(node.address, node.key, (), self._blocks(node)) for node in nodes]
        return tree_of(nodes)

    def _blocks(self, node: Node) -> tuple[int, ...]:
        return tuple(i for k in sorted(self._held[node]) for i in self._all[k][1])

    def holds(self, node: Node) -> bool:
        """Whether a shard has any group left."""
        return bool(self._held.get(node))

    def place(self, node: Node, groups: Sequence[Group]) -> None:
        """A shard holds groups now."""
        self._held[node] = {k for k, _ in groups}
        self.seen.add(node.address)

    def empty(self, node: Node) -> None:
        """A shard has handed over all it had; how slow its worker was stays known."""
        self._held.pop(node, None)

    def lose(self, node: Node) -> None:
        """A shard has gone."""
        self._held.pop(node, None)
        self._pace.pop(node.address, None)

    def leave(self, groups: Sequence[Group], address: str) -> list[tuple[Node, list[int]]]:
        """Take groups from those that held them elsewhere; whom to tell."""
        moved, told = {k for k, _ in groups}, []
        for node in [node for node in self._held if node.address != address]:
            gone = self._held[node] & moved
            if gone:
                self._held[node] -= gone
                told.append((node, sorted(gone)))
        return told

    def homes(self, alive: dict[str, Any]) -> list[tuple[list[Group], str]]:
        """Where homeless groups should go: neighbours together, and to workers that hold few."""
        load = self._load(alive)
        homeless, shares = self.homeless, []
        wanted = self._even({address: load[address] for address in sorted(load)}, len(homeless))
        for address, number in wanted.items():
            if number:
                shares.append((homeless[:number], address))
                homeless = homeless[number:]
        return shares

    def _load(self, alive: dict[str, Any]) -> dict[str, int]:
        load = dict.fromkeys(alive, 0)
        for node, held in self._held.items():
            if node.address in load:
                load[node.address] += len(held)
        return load

    def _even(self, load: dict[str, int], number: int) -> dict[str, int]:
        """How many of so many groups each worker takes, one after the other to the one with the least to do."""
        given = dict.fromkeys(load, 0)
        for _ in range(number):
            least = min(load, key=lambda address: (load[address] + given[address] + 1) * self._pace.get(address, 1.0))
            given[least] += 1
        return given

    def learn(self, seconds: dict[str, float]) -> None:
        """How long each worker took for a product; of interest if some took longer than the others, again and again."""
        load = self._load(dict.fromkeys(seconds))
        uneven = max(seconds.values()) > max(SLOW * median_low(seconds.values()), NOISE)
        if not uneven or load != self._load_then:
            self._uneven, self._spent, self._load_then = 0, dict.fromkeys(seconds, 0.0), load
        if uneven:
            self._uneven += 1
            self._spent = {address: self._spent[address] + s for address, s in seconds.items()}

    def _judge(self) -> bool:
        """Whether some worker has been slow for long enough; then paces are known."""
        if self._uneven < self._patience:
            return False
        paces = {address: s / max(self._load_then[address], 1) for address, s in self._spent.items()}
        usual = median_low(paces.values())
        self._pace |= {address: pace / usual for address, pace in paces.items()}
        self._uneven = 0
        return True

    def moves(self, alive: dict[str, Any]) -> list[tuple[list[Group], str]]:
        """Groups to move: to workers that have joined, from one that leaves or has been slow for long; often none."""
        load = self._load(dict.fromkeys([*alive, *(node.address for node in self._held)]))
        new = any(load[address] == 0 and address not in self._pace for address in alive)  # and not too slow for any
        due = new or len(load) > len(alive)
        slow = self._judge() and len(alive) > 1
        if not alive or not (due or slow):
            return []
        # of equals the one that holds the most takes one more: nothing moves without need
        goal = self._even(dict.fromkeys(sorted(alive, key=lambda address: -load[address]), 0), len(self._all))
        if slow and not due:
            if self._longest(goal) > GAIN * self._longest(load):
                return []
            self._patience *= 2
        spare: list[Group] = []
        for node in reversed(self.nodes):
            over = load[node.address] - goal.get(node.address, 0)  # all that one holds who leaves
            take = sorted(self._held[node])[len(self._held[node]) - max(0, min(over, len(self._held[node]))) :]
            load[node.address] -= len(take)
            spare += [self._all[k] for k in take]
        spare.sort()
        shares = []
        for address in sorted(alive):
            number = goal[address] - load[address]
            if number > 0 and spare:
                shares.append((spare[:number], address))
                spare = spare[number:]
        return shares

    def _longest(self, load: dict[str, int]) -> float:
        """How long a product takes by what is known of the workers."""
        return max(number * self._pace.get(address, 1.0) for address, number in load.items())


def tree_of(nodes: Sequence[Node]) -> Node:
    """A binary tree of shards: each asks the two halves of those after it, so that all are reached in few hops."""
    first, rest = nodes[0], nodes[1:]
    half = (len(rest) + 1) // 2
    below = tuple(tree_of(part) for part in (rest[:half], rest[half:]) if part)
    return Node(first.address, first.key, below, first.blocks)

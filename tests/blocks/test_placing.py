"""Which worker holds which rows: even shares, few moves, less for slow ones."""

import pickle
from collections import Counter

import numpy as np
import pytest

from orthoprox.blocks._placing import STEADY, Placing, tree_of
from orthoprox.blocks._shard import Node, Reply, _merged
from orthoprox.blocks._tasks import Adjoint

GROUPS = [(k, (k,)) for k in range(64)]


def placed(*workers):
    placing = Placing(GROUPS)
    for groups, address in placing.homes(dict.fromkeys(workers)):
        placing.place(Node(address, f"shard on {address}"), groups)
    return placing


def shares(placing):
    found = Counter()
    for node, held in placing._held.items():
        found[node.address] += len(held)
    return found


def move(placing, workers):
    for turn, (groups, address) in enumerate(placing.moves(dict.fromkeys(workers))):
        placing.place(Node(address, f"move {turn} to {address}"), groups)
        placing.leave(groups, address)


def test_rows_are_shared_evenly_and_neighbours_stay_together():
    placing = placed("a", "b", "c")
    assert sorted(shares(placing).values()) == [21, 21, 22]
    assert placing.homeless == []
    for held in placing._held.values():
        assert sorted(held) == list(range(min(held), max(held) + 1))


def test_what_a_lost_worker_held_goes_to_the_others():
    placing = placed("a", "b", "c")
    lost = placing.nodes[1]
    gone = placing._held[lost]
    placing.lose(lost)
    assert {k for k, _ in placing.homeless} == gone
    found = placing.homes(dict.fromkeys(["a", "c", "d"]))
    assert {k for groups, _ in found for k, _ in groups} == gone
    assert max(len(groups) for groups, address in found if address == "d") == len(gone)  # it held nothing


def test_a_worker_that_joins_takes_its_share_and_nothing_else_moves():
    placing = placed("a", "b", "c")
    assert placing.moves(dict.fromkeys("abc")) == []
    move(placing, "abcd")
    assert set(shares(placing).values()) == {16}
    assert placing.moves(dict.fromkeys("abcd")) == []


def test_a_worker_that_leaves_hands_over_all_it_has_also_while_another_joins():
    placing = placed("a", "b", "c")
    move(placing, "bcd")
    assert shares(placing)["a"] == 0
    assert sum(shares(placing).values()) == 64
    assert max(shares(placing).values()) == 22
    assert placing.moves({}) == []


@pytest.mark.parametrize(("workers", "slow"), [("abc", "a"), ("abc", "c"), ("ab", "a"), ("ab", "b")])
def test_a_worker_that_stays_slow_gives_rows_away(workers, slow):
    placing = placed(*workers)
    for _ in range(STEADY):
        assert placing.moves(dict.fromkeys(workers)) == []
        placing.learn({one: (4.0 if one == slow else 1.0) * shares(placing)[one] for one in workers})
    move(placing, workers)
    assert shares(placing)[slow] < 64 / 2 / len(workers)
    assert sum(shares(placing).values()) == 64
    assert placing.homeless == []


def seconds_of(placing, paces, noise=lambda: 1.0):
    return {one: paces[one] * held * noise() for one, held in shares(placing).items() if held}


@pytest.mark.parametrize(
    "paces", [{"a": 4.0, "b": 1.0}, {"a": 1.0, "b": 1.0, "c": 300.0}, {"a": 1.0, "b": 2.5, "c": 1}]
)
def test_rows_do_not_go_back_and_forth_however_times_vary(paces):
    placing, rng, moves = placed(*paces), np.random.default_rng(3), 0
    for turn in range(1000):
        placing.learn(seconds_of(placing, paces, lambda: rng.lognormal(0.0, 0.6)))
        before = shares(placing)
        move(placing, paces)
        moves += shares(placing) != before
        if turn == 30:
            early = shares(placing)
    assert 1 <= moves <= np.log2(1000 / STEADY)
    ideal = 64 / sum(1 / pace for pace in paces.values())
    for found in (early, shares(placing)):
        assert max(found[one] * pace for one, pace in paces.items()) < 2 * ideal


def test_a_worker_that_has_recovered_gets_rows_again():
    placing = placed("a", "b")
    for paces in ({"a": 5.0, "b": 1.0}, {"a": 1.0, "b": 1.0}):
        for _ in range(3 * STEADY):
            placing.learn(seconds_of(placing, paces))
            move(placing, "ab")
    assert shares(placing) == {"a": 32, "b": 32}


def test_what_a_move_would_not_shorten_stays_where_it_is():
    placing = Placing(GROUPS[:3])
    for groups, address in placing.homes(dict.fromkeys("ab")):
        placing.place(Node(address, address), groups)
    for _ in range(100):
        placing.learn({"a": 2.1, "b": 1.0})
        assert placing.moves(dict.fromkeys("ba")) == []
        placing.learn({"a": 1e-3, "b": 1e-6})  # nothing that anybody waits for


def test_the_time_of_a_worker_is_that_of_all_its_shards():
    replies = [
        Reply({(0, k): np.ones(1)}, {address: s}) for k, (address, s) in enumerate([("a", 1.0), ("a", 2.0), ("b", 4.0)])
    ]
    assert _merged(Adjoint(np.ones((3, 1))), 3, replies).seconds == {"a": 3.0, "b": 4.0}


def test_a_worker_is_sent_the_rows_that_it_and_those_below_it_hold():
    bounds = [10 * k for k in range(65)]
    Z = np.random.default_rng(0).standard_normal((640, 3))
    root = placed("a", "b", "c", "d").tree(with_blocks=True)
    held = [i for node in root.every for i in node.blocks]
    assert sorted(held) == list(range(64))
    whole = Adjoint(Z)
    for node in root.below:
        own = [(bounds[i], bounds[i + 1]) for one in node.every for i in one.blocks]
        task = whole.of([(first, first + 10) for first in bounds[:-1]]).of(own)
        assert len(pickle.dumps(task)) < 1.2 * len(pickle.dumps(Z)) * len(own) / 64 + 1000
        block = np.ones((10, 5))
        for first, _ in own:
            assert np.array_equal(task(block, first), whole(block, first))


def test_a_tree_reaches_every_shard_once_in_few_hops():
    nodes = [Node(f"w{k}", str(k)) for k in range(100)]
    root = tree_of(nodes)

    def depth(node):
        return 1 + max(map(depth, node.below), default=0)

    assert sorted(node.key for node in root.every) == sorted(node.key for node in nodes)
    assert depth(root) <= 7

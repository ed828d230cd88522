"""Checkpoints that were changed in every way we can think of: refused in a sentence, or the run goes on bit for bit."""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import re
import tempfile
import warnings
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from driver.helpers import assert_same_run, read, seal
from fuzz.campaign import campaign
from orthoprox import Checkpoint, Iterations, RunFailed, solve
from steps.cases import PROBLEMS

RUNS = [
    ("oadmm", "l1 minus largest-k"),
    ("oadmm", "groups of a matrix"),
    ("oadmm-rr", "mcp of differences"),
    ("oadmm-ep", "stacked"),
    ("manial-1", "entries"),
    ("madmm", "own function"),
    ("subgradient", "scad minus largest-k"),
]
ODD = [-5, 0, 1, 3, 10**9, 1.5, float("nan"), float("inf"), -1e300, True, None, "", "t", "OADMM()", [], [1], {}]
ODD += [{"array": 0}, {"array": -1}, {"array": 99}, {"array": "0"}, {"class": "Point", "fields": {}}]


@functools.cache
def written(run):
    """The bytes of a checkpoint, and the run it belongs to as if it had never stopped."""
    solver, name = run
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.npz"
        solve(PROBLEMS[name], solver, stop=Iterations(3), observers=[Checkpoint(file)])
        return file.read_bytes(), solve(PROBLEMS[name], solver, stop=Iterations(5))


def bent(draw, content):
    """Other bytes: some changed, cut off, left out, twice, or exchanged."""
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 3))):
        at, length = draw(st.integers(0, max(len(data) - 1, 0))), draw(st.sampled_from([1, 1, 2, 8, 64, 1000]))
        way = draw(st.sampled_from(["flip", "cut", "drop", "double", "fill", "insert"]))
        piece = bytes(data[at : at + length])
        if way == "flip" and data:
            data[at] ^= draw(st.integers(1, 255))
        elif way == "cut":
            del data[at:]
        elif way == "insert":
            data[at:at] = draw(st.binary(min_size=1, max_size=20))
        else:
            data[at : at + length] = {"drop": b"", "double": piece * 2, "fill": bytes(len(piece))}.get(way, piece)
    return bytes(data)


def places(value, way=()):
    """Every place in a JSON text."""
    yield way
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from places(part, (*way, key))


def edited(draw, meta):
    """The JSON text with one place changed, removed or renamed, or with one more."""
    meta = copy.deepcopy(meta)
    *way, last = draw(st.sampled_from([place for place in places(meta) if place]))
    holder = functools.reduce(lambda value, key: value[key], way, meta)
    action = draw(st.sampled_from(["put", "put", "nudge", "drop", "add", "rename"]))
    if action == "drop":
        del holder[last]
    elif action == "nudge" and type(holder[last]) in (int, float):
        holder[last] = holder[last] + 1 if type(holder[last]) is int else np.nextafter(holder[last], 9e99)
    elif action == "rename" and isinstance(holder, dict):
        holder[f"{last}_"] = holder.pop(last)
    elif action == "add" and isinstance(holder, dict):
        holder["more"] = draw(st.sampled_from(ODD))
    else:
        holder[last] = draw(st.sampled_from(ODD))
    return meta


def moulded(draw, entries):
    """The arrays with one changed in value, kind or shape, or left out, or one more."""
    entries = dict(entries)
    name = draw(st.sampled_from(sorted(entries)))
    a = entries[name]
    changes = {
        "ulp": lambda: np.nextafter(a, np.inf) if a.dtype.kind == "f" else a + 1,
        "nan": lambda: np.full(a.shape, np.nan),
        "zero": lambda: np.zeros_like(a),
        "negative": lambda: -a.astype(float),
        "huge": lambda: a * 1e200,
        "single": lambda: a.astype(np.float32),
        "whole": lambda: np.nan_to_num(a).astype(int),
        "complex": lambda: a.astype(complex),
        "text": lambda: a.astype(str),
        "flat": lambda: a.reshape(-1),
        "deeper": lambda: a[None],
        "short": lambda: a[:-1],
        "empty": lambda: a[:0],
    }
    action = draw(st.sampled_from([*changes, "drop", "rename", "add"]))
    if action in changes:
        entries[name] = changes[action]()
    elif action == "add":
        entries[draw(st.sampled_from(["array77", "history.more", "meta2", "x/y"]))] = a
    else:
        kept = entries.pop(name)
        if action == "rename":
            entries[draw(st.sampled_from([f"{name}0", "array0", "history.iteration"]))] = kept
    return entries


def resume(run, file):
    """Resume, and say what came of it: the result, or the sentence of the refusal."""
    sentence = ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return solve(PROBLEMS[run[1]], run[0], stop=Iterations(5), resume=file)
        except ValueError as error:
            sentence = str(error)
    # ours say what to do, those of other libraries do not
    assert re.search(r"or is damaged \(.*\)\.$|tart the run anew|same recorder\.$", sentence, re.DOTALL)
    return sentence


@contextlib.contextmanager
def a_checkpoint(draw):
    """A run of several, its checkpoint in a folder of its own, and the undisturbed result."""
    run = draw(st.sampled_from(RUNS))
    content, whole = written(run)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.npz"
        file.write_bytes(content)
        yield run, file, whole


@campaign(60)
@given(st.data())
def test_a_file_that_was_changed_is_refused_or_goes_on_bit_for_bit(data):
    draw = data.draw
    with a_checkpoint(draw) as (run, file, whole):
        way = draw(st.sampled_from(["bytes", "text", "arrays", "digest", "order", "packed"]))
        if way == "bytes":
            file.write_bytes(bent(draw, file.read_bytes()))
        else:
            with np.load(file) as archive:
                entries = dict(archive)
            if way == "text":
                entries["meta"] = np.array(json.dumps(edited(draw, json.loads(str(entries["meta"])))))
            elif way == "arrays":
                rest = {name: entries.pop(name) for name in ("meta", "digest")}
                entries = {**moulded(draw, entries), **rest}
            elif way == "digest":
                entries["digest"] = draw(st.sampled_from([np.array("0" * 64), np.zeros(3), np.array("")]))
            elif way == "order":
                entries = {name: entries[name] for name in draw(st.permutations(sorted(entries)))}
            (np.savez_compressed if way == "packed" else np.savez)(file, **entries)
        after = resume(run, file)
        assert way not in ("order", "packed") or not isinstance(after, str), after
        if not isinstance(after, str):
            assert_same_run(after, whole)


@campaign(60)
@given(st.data())
def test_a_file_of_another_version_never_ends_in_a_foreign_error(data):
    draw = data.draw
    with a_checkpoint(draw) as (run, file, _):
        entries, meta = read(file)
        if draw(st.booleans()):
            meta = edited(draw, meta)
        else:
            entries = moulded(draw, entries)
        seal(file, entries, meta)
        try:
            after = resume(run, file)
        except RunFailed as error:  # arrays that do not fit each other
            after = str(error)
        if not isinstance(after, str):
            X = after.X
            assert np.isfinite(X).all() and np.linalg.norm(X.T @ X - np.eye(X.shape[1])) < 1e-9

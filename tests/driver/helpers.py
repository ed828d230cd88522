"""What the tests of the driver share."""

import json
from types import SimpleNamespace

import numpy as np

from orthoprox import Problem
from orthoprox.driver._fingerprint import digest
from orthoprox.problem import Criticality
from orthoprox.terms import L1, Quadratic, Smooth
from orthoprox.terms import ProximableTerm as Proximable
from steps.cases import M, S


def assert_same_run(a, b):
    """Two results agree bit for bit in everything but the time they took."""
    assert a.iterations == b.iterations
    assert a.status is b.status
    for name in ("X", "y", "z"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert a.objective == b.objective
    assert a.criticality_parts == b.criticality_parts
    assert list(a.history) == list(b.history)
    for name in set(a.history) - {"seconds"}:
        np.testing.assert_array_equal(a.history[name], b.history[name], err_msg=name)


def read(file):
    """The entries of a checkpoint, and its JSON text apart."""
    with np.load(file) as content:
        entries = dict(content)
    del entries["digest"]
    return entries, json.loads(str(entries.pop("meta")))


def seal(file, entries, meta):
    """Write entries and JSON text as a checkpoint whose digest is right, as another version might."""
    entries = {**entries, "meta": np.array(json.dumps(meta))}
    np.savez(file, **entries, digest=np.array(digest(entries)))


def dummy(t=0, seconds=0.0, total=1.0, objective=0.0, objectives=(), relative=None, finished=False):
    """A snapshot as far as the rules look at it."""
    return SimpleNamespace(
        t=t,
        X=np.eye(2),
        finished=finished,
        seconds=seconds,
        objective=objective,
        criticality_parts=Criticality(0.0, 0.0, total),
        due=True,
        relative_criticality_parts=Criticality(0.0, 0.0, total if relative is None else relative),
        recent=lambda column, count: list(objectives)[-count:],
    )


class OwnL1(Proximable):
    """The l1 norm as a user would write it: a plain class, with something that happens at a call of the prox."""

    weight = 1.0

    def __init__(self, happens=lambda call, y: None):
        self.happens, self.calls = happens, 0

    def value(self, y):
        return np.sum(np.abs(y))

    def lipschitz_constant(self, shape):
        return float(np.sqrt(np.prod(shape)))

    def subgradient(self, y):
        return np.sign(y)

    def prox(self, y, mu):
        self.calls += 1
        instead = self.happens(self.calls, y)
        return L1().prox(y, mu) if instead is None else instead


class Watching:
    """An observer that keeps the iterations at which it was called and closed."""

    def __init__(self):
        self.seen, self.closed = [], []

    def __call__(self, now):
        self.seen.append(now.t)

    def close(self, now):
        self.closed.append(now.t)


def with_prox(happens, f=None):
    """A problem whose prox does something at its calls."""
    return Problem(M=M, f=Quadratic(S) if f is None else f, h=OwnL1(happens))


def with_gradient(gradient, value=None, lipschitz=20.0):
    """A problem with a smooth function of the user's."""
    own = Smooth((lambda X: np.sum(X * (S @ X)) / 2) if value is None else value, gradient, lipschitz=lipschitz)
    return Problem(M=M, f=own, h=L1(0.3))

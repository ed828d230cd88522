"""A small experiment, solvers that misbehave, and results made up for tests of what is done with them."""

import numpy as np

from orthoprox.experiments import Experiment, Method
from orthoprox.experiments.gather import RunRecord
from orthoprox.experiments.store import Archive

METHODS = (
    Method("OADMM-EP", "oadmm-ep", {"beta0": "10 * weight", "xi": 0.5}),
    Method("RADMM-I", "radmm", {"beta": 100.0}),
    Method("Sub-Grad", "subgradient"),
)

MISCHIEF = """
import os, sys, time
from orthoprox.solvers import Subgradient

class Talks(Subgradient):
    def step(self, problem, state):
        print("words on standard output", flush=True)
        return super().step(problem, state)

class Raises(Subgradient):
    def step(self, problem, state):
        raise ArithmeticError("no step today")

class Stops(Subgradient):
    def step(self, problem, state):
        raise KeyboardInterrupt

class Dies(Subgradient):
    def step(self, problem, state):
        os._exit(7)

class Blocks(Subgradient):
    def work(self, state):
        return 10 * state.t

class Slow(Subgradient):
    def step(self, problem, state):
        time.sleep(0.02)
        return super().step(problem, state)

class LastsLong(Subgradient):
    def step(self, problem, state):
        time.sleep(1.5 if state.t == 2 else 0.0)
        return super().step(problem, state)

class BeginsLate(Subgradient):
    def init(self, problem, X0):
        time.sleep(0.3)
        return super().init(problem, X0)
"""


def tiny(**changes):
    entries = {
        **{"name": "tiny", "title": "Tiny", "datasets": ("randn-40-12", "randn-60-12"), "seeds": (0, 1)},
        **{"weights": (2.0,), "kept": (0.25,), "components": 2, "methods": METHODS, "iterations": 30},
    }
    return Experiment(**{**entries, **changes})


def mischief(folder, *names):
    """Methods that stand in a file of the user's."""
    path = folder / "mischief.py"
    path.write_text(MISCHIEF)
    return tuple(Method(name, f"{path}:{name}") for name in names)


def slow(folder):
    """Six runs of a quarter of a second each."""
    return tiny(methods=mischief(folder, "Slow"), seeds=(0, 1, 2), iterations=12)


def made_up(
    label, objective, *, experiment="figure1", dataset="randn-40-12", kept=0.1, seed=0, curve=None, theory=None, **facts
):
    """A result that no run gave."""
    methods = (Method(label, "subgradient"),)
    one = tiny(datasets=(dataset,), weights=(5.0,), kept=(kept,), seeds=(seed,), methods=methods, seconds=10.0)
    ((_, job),) = one.jobs()
    values = np.asarray([objective] if curve is None else curve, dtype=float)
    history = {
        "seconds": np.linspace(0, 10, len(values)) if len(values) > 1 else np.array([0.0]),
        "work": np.arange(len(values), dtype=float),
        "objective": values,
        "criticality": values,
        "infeasibility": np.full(len(values), 1e-15),
    }
    base = {
        **{"objective": objective, "criticality": 0.1, "infeasibility": 1e-15, "variance_kept": 0.5},
        **{"nonzeros": 5, "nonzeros_y": 4, "k": 4, "work": 7, "seconds_used": 1.5, "status": "seconds"},
        **{"code": "c", "machine": {"processor": "p"}, "versions": {}},
    }
    return RunRecord(experiment, label, job, Archive({**base, **facts}, history, theory or {}))

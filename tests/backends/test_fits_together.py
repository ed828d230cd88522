"""Starts of a fit that are led on together: the same fits as from one start after the other."""

import signal
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import ConvergenceWarning

from orthoprox import Status
from orthoprox._fields import replace
from orthoprox.driver import _batch
from orthoprox.estimators import DualPCP, OrthogonalDictionaryLearning, OrthogonalNMF, SparsePCA

pytestmark = [
    pytest.mark.backends,
    pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning"),
]
PAYS = "orthoprox.backends.torch.TorchBackend.stacks_pay"
FITS = {
    "weights": SparsePCA(n_components=2, weight=0.3, solver="oadmm-ep", n_init=4, max_iter=400, random_state=1),
    "nonzeros": SparsePCA(n_components=2, n_nonzero=9, solver="oadmm-rr", n_init=3, max_iter=60, random_state=1),
    "distances": DualPCP(n_components=2, solver="oadmm-ep", n_init=2, max_iter=20, random_state=1),
    "atoms": OrthogonalDictionaryLearning(solver="oadmm-ep", n_init=2, max_iter=20, random_state=1),
}
APART = {
    "default solver": SparsePCA(n_components=2, weight=0.3, n_init=2, random_state=1),
    "one start": SparsePCA(n_components=2, weight=0.3, solver="oadmm-ep", max_iter=20),
    "bar": SparsePCA(n_components=2, weight=0.3, solver="oadmm-ep", n_init=2, max_iter=20, verbose=1, random_state=1),
    "two stages": OrthogonalDictionaryLearning(
        objective="l1", solver="oadmm-ep", n_init=2, max_iter=20, random_state=1
    ),
    "alternation": OrthogonalNMF(n_components=2, solver="oadmm-ep", n_init=2, max_iter=20, random_state=1),
}


@pytest.fixture
def stacked(torch, together, monkeypatch) -> Any:
    """How many runs went together, batch by batch; stacks are taken to pay on the host too."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # scikit-learn asks for it
    monkeypatch.setattr(PAYS, lambda self, a: True)
    with sklearn.config_context(array_api_dispatch=True):
        yield together


@pytest.fixture
def samples(torch) -> Any:
    rng = np.random.default_rng(0)
    D = np.abs(rng.standard_normal((60, 8))) + np.kron(rng.standard_normal((60, 2)) ** 2, np.ones((1, 4)))
    return torch.tensor(D)


@pytest.mark.parametrize("name", FITS)
def test_the_same_fit(stacked, samples, monkeypatch, name):
    count = FITS[name].n_init
    found = sklearn.base.clone(FITS[name]).fit(samples)
    assert stacked == [count]
    monkeypatch.setattr(PAYS, lambda self, a: False)
    wanted = sklearn.base.clone(FITS[name]).fit(samples)
    assert stacked == [count]
    assert (found.n_iter_, found.result_.status) == (wanted.n_iter_, wanted.result_.status)
    assert found.objective_ == pytest.approx(wanted.objective_, rel=1e-9)
    assert np.allclose(found.components_, wanted.components_, atol=1e-6)
    assert found.result_.notes == wanted.result_.notes and type(found.result_.X) is type(wanted.result_.X)


@pytest.mark.parametrize("name", APART)
def test_what_goes_one_after_the_other(stacked, samples, name):
    assert sklearn.base.clone(APART[name]).fit(samples).components_.shape[1] == 8 and stacked == []


def test_ctrl_c_keeps_the_best_point(stacked, samples, monkeypatch):
    """The best of all runs, whichever of them it is."""
    advance, run, calls, ends = _batch.Together.advance, _batch.Batch.run, [], []

    def counted(self: Any, *args: Any) -> Any:
        calls.append(1)
        if len(calls) == 12:
            signal.raise_signal(signal.SIGINT)
        return advance(self, *args)

    def seen(self: Any) -> Any:
        found = run(self)
        ends.extend(result.objective for result in found)
        return found

    monkeypatch.setattr(_batch.Batch, "run", seen)
    monkeypatch.setattr(SparsePCA, "_first_start", lambda self, data, problem: None)  # it would be the best one
    monkeypatch.setattr(SparsePCA, "_finish", lambda self, data, problem, at: replace(at, status=Status.STALLED))
    monkeypatch.setattr(_batch.Together, "advance", counted)
    with pytest.warns(ConvergenceWarning, match="interrupted in run"):
        found = sklearn.base.clone(FITS["weights"]).set_params(tol=0.0).fit(samples)
    assert stacked == [4] and found.result_.status is Status.INTERRUPTED
    assert found.result_.objective == min(ends) < ends[0]


def test_a_failure_is_told_as_from_runs_one_by_one(stacked, samples, monkeypatch):
    """Nothing is lost: what cannot go together goes alone."""
    monkeypatch.setattr(_batch.Batch, "_lead", lambda self, interrupts: 1 / 0)
    found = sklearn.base.clone(FITS["weights"]).fit(samples)
    assert stacked == [] and found.result_.status is not Status.FAILED

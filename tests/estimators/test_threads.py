"""Threads that share an estimator: each part is computed once, and nobody sees half of a fit."""

import copy
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

from estimators.test_streaming import both, planted
from orthoprox import SparsePCA
from orthoprox.estimators import _bound, _device


@pytest.mark.parametrize(
    ("name", "how"), [("upper_bound_", "fit"), ("upper_bound_", "stream"), ("components_", "stream")]
)
def test_threads_that_ask_at_once_get_one_answer(name, how, monkeypatch):
    """Each part is computed once, whoever asks first, and what was asked for can be copied."""
    computed = []

    def slow(original):
        def compute(self, *args):
            computed.append(original.__name__)
            time.sleep(0.05)  # others ask in the meantime
            return original(self, *args)

        return compute

    X = planted(0)
    model = SparsePCA(n_components=2, n_nonzero=6, effort="fast", warm_start=True).fit(X)
    if how == "stream":
        model.partial_fit(-X)  # a warm start: the last components are no answer
    last = getattr(clone(model).fit(-X), name)
    monkeypatch.setattr(_bound.BoundTask, "compute", slow(_bound.BoundTask.compute))
    monkeypatch.setattr(SparsePCA, "_fit", slow(SparsePCA._fit))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: getattr(model, name), range(4)))
    assert all(np.allclose(answer, last, rtol=1e-9) and answer is answers[0] for answer in answers)
    assert computed == ["_fit"] * (how == "stream") + ["compute"] * (name == "upper_bound_")
    for twin in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(getattr(twin, name), answers[0]) and twin._lock is not model._lock
    assert clone(model).get_params() == model.get_params()


def test_blocks_from_several_threads_are_all_counted():
    model, X = SparsePCA(n_components=2, n_nonzero=6, effort="fast"), planted(0)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda rows: model.partial_fit(rows).components_.shape, np.split(X, 16)))
    assert model.n_samples_seen_ == len(X)
    assert model.explained_variance_ == pytest.approx(clone(model).fit(X).explained_variance_)


@both
def test_a_thread_may_transform_or_copy_while_another_stores_a_fit(estimator, monkeypatch):
    """Attributes may come between two looks at them, and no copy has a half of them."""
    model, X = clone(estimator).partial_fit(planted(0)), planted(0)
    expected = model.transform(X)

    class Name(str):
        def endswith(self, *args):  # another thread stores something, as each time when an array is looked at
            return vars(model).pop("other_", None) or super().endswith(*args)

    monkeypatch.setattr(_device, "is_elsewhere", lambda a: bool(vars(model).setdefault("other_", 0)))
    vars(model)[Name("name_")] = 0
    assert np.array_equal(model.transform(X), expected)
    with ThreadPoolExecutor(1) as pool, pytest.raises(TimeoutError), model._lock:
        pool.submit(copy.copy, model).result(timeout=0.02)

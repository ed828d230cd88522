"""Each operation of each backend, against the one built from the standard alone."""

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from backends.conftest import NAMES, Library, load
from orthoprox.backends import Backend, backend_of

STANDARD = Backend()
DTYPES = ["float32", "float64"]


@pytest.fixture(params=["numpy", *NAMES])
def library(request: pytest.FixtureRequest) -> Library:
    if request.param == "numpy":
        return Library("numpy", np, np.asarray)
    return load(request.param, request.config)


def test_every_library_has_its_backend(library):
    expected = "standard" if library.name in ("strict", "cupy") else library.name
    assert backend_of(library.asarray(np.zeros(1))).name == expected


@pytest.mark.parametrize("k", [-1, 0, 1, 2, 5, 11, 12, 13, 29, 30, 31, 1000])
def test_the_k_largest(library, k):
    rng = np.random.default_rng(k + 1)
    ask = backend_of(library.asarray(np.zeros(1))).top_k_mask
    ways = [lambda a: ask(a, k)]
    ways += [library.module.jit(ways[0])] if library.name == "jax" else []
    kinds = {
        "ties": rng.integers(0, 4, (6, 5)).astype(float),
        "all equal": np.zeros((6, 5)),
        "different": rng.standard_normal((6, 5)),
        "in a row": np.round(rng.standard_normal((1, 30)), 1),
        "transposed": rng.integers(0, 5, (5, 6)).astype(float).T,
    }
    for kind, values in kinds.items():
        a = library.asarray(values.T.copy()).T if kind == "transposed" else library.asarray(values)
        # the definition: by size, and among equals by place
        order = sorted(range(30), key=lambda i: (-values.reshape(-1)[i], i))
        expected = np.isin(np.arange(30), order[: max(k, 0)]).reshape(values.shape)
        for way in ways:
            assert library.owns(way(a)), kind
            assert np.array_equal(library.numpy(way(a)), expected), kind
        assert np.array_equal(STANDARD.top_k_mask(values, k), expected), kind


KINDS = {
    "normal": lambda rng, n: np.abs(rng.standard_normal(n)),
    "ties": lambda rng, n: rng.integers(0, 4, n).astype(float),
    "mostly zero": lambda rng, n: np.abs(rng.standard_normal(n)) * (rng.random(n) < 0.05),
    "zero": lambda rng, n: np.zeros(n),
    "sorted": lambda rng, n: np.sort(rng.random(n)),
    "one column large": lambda rng, n: np.where(np.arange(n) % 20 == 3, 1e3, 1.0) * rng.random(n),
    "not a number": lambda rng, n: np.where(rng.random(n) < 0.5, np.nan, 1.0),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [100, 4096, 10_000, 61_003])
def test_of_large_numpy_arrays_a_sample_finds_the_same(rng, kind, size):
    values = KINDS[kind](rng, size)
    for k in (1, 2, size // 20, size // 10, size // 2, size - 1):
        mask = backend_of(values).top_k_mask(values, k)
        if kind != "not a number":  # there only the absence of an error is asked for
            assert np.count_nonzero(mask) == k
            assert (mask == Backend().top_k_mask(values, k)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_there_and_back(library, dtype):
    here = np.random.default_rng(0).standard_normal((4, 3))
    like = library.asarray(np.zeros((1, 1), dtype=dtype))
    backend, kept = backend_of(like), here.astype(dtype)
    there = backend.from_numpy(here, like)  # a copy, in the float type of ``like``
    back = backend.to_numpy(there)
    here[:] = -1.0
    assert library.owns(there)
    assert there.dtype == like.dtype
    assert isinstance(back, np.ndarray)
    assert np.array_equal(back, kept)
    assert back.dtype == kept.dtype
    back[:] = -2.0  # writable, and nobody else's
    assert np.array_equal(backend.to_numpy(there), kept)
    assert np.array_equal(library.numpy(backend.constant(there)), kept)
    assert backend.constant(2.5) == 2.5
    number = backend.from_numpy(np.array(2.5), like)
    assert tuple(number.shape) == () and float(number) == 2.5
    eps = backend.eps(like)
    assert type(eps) is float and eps == float(np.finfo(dtype).eps)


def test_what_was_moved_does_not_change_with_the_array_it_came_from(library):
    like = library.asarray(np.zeros((1, 1)))
    for offset in range(8):  # JAX shares the memory at some addresses
        here = np.ones(20)[offset : offset + 12].reshape(4, 3)
        there = backend_of(like).from_numpy(here, like)
        here[:] = -1.0
        assert np.array_equal(library.numpy(there), np.ones((4, 3)))


@pytest.mark.parametrize("view", [lambda a: a[::-1], lambda a: a.T, lambda a: a[::2, ::2], np.asfortranarray])
def test_views_are_moved_as_they_are_seen(library, view):
    here = view(np.arange(12.0).reshape(4, 3))
    there = backend_of(library.asarray(here.copy())).from_numpy(here, library.asarray(np.zeros((1, 1))))
    assert np.array_equal(library.numpy(there), here)


def test_a_loop(library):
    one = library.asarray(np.ones((2, 2)))
    total, turns = backend_of(one).while_loop(
        lambda run: run[0].sum() < 30.0 if library.name != "strict" else library.module.sum(run[0]) < 30.0,
        lambda run: (2.0 * run[0], run[1] + 1),
        (one, 0),
    )
    assert np.array_equal(library.numpy(total), np.full((2, 2), 8.0))
    assert int(turns) == 3
    assert backend_of(one).while_loop(lambda run: False, lambda run: 1 / 0, one) is one


@pytest.mark.parametrize("yes", [True, False])
def test_a_choice(library, yes):
    one = library.asarray(np.ones((2, 2)))
    for test in (yes, library.asarray(np.asarray(yes))):
        chosen = backend_of(one).cond(test, lambda a, b: a + b, lambda a, b: a - b, one, 2.0 * one)
        assert np.array_equal(library.numpy(chosen), np.full((2, 2), 3.0 if yes else -1.0))

    def wrong(a: Any) -> Any:
        raise AssertionError("the other branch ran")

    assert backend_of(one).cond(library.asarray(np.asarray(True)), lambda a: a, wrong, one) is one


def test_a_linear_system_and_one_that_is_singular(library):
    rng = np.random.default_rng(0)
    K, b = rng.standard_normal((5, 5)), rng.standard_normal(5)
    ask = backend_of(library.asarray(b)).solve
    found = ask(library.asarray(K), library.asarray(b))
    assert library.owns(found) and np.allclose(library.numpy(found), np.linalg.solve(K, b))
    K[:, 2] = 0.0
    assert not np.isfinite(library.numpy(ask(library.asarray(K), library.asarray(b)))).all()


def test_waiting_and_quiet(library):
    one = library.asarray(np.ones((2, 2)))
    backend = backend_of(one)
    backend.finish(one)
    with warnings.catch_warnings(), backend.quiet():
        warnings.simplefilter("error")
        nothing = one / (0.0 * one)
    assert np.all(np.isinf(library.numpy(nothing)))


def test_a_device_that_numpy_cannot_read():
    """array-api-strict plays an accelerator: what is on its second device does not convert by itself."""
    xp = load("strict", SimpleNamespace()).module
    far = xp.asarray(np.arange(3.0), device=xp.Device("device1"))
    with pytest.raises(RuntimeError):
        np.array(far)
    backend = backend_of(far)
    assert np.array_equal(backend.to_numpy(far), np.arange(3.0))
    assert backend.from_numpy(np.ones(2), far).device == far.device

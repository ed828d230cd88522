"""Sketches of a covariance: what is exact is exact, the error bound holds, blocks and units play no part."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from orthoprox.driver._fingerprint import digest
from orthoprox.sketches import ExactCovariance, FrequentDirections, exact, load_sketch, new_sketch


@pytest.fixture(autouse=True)
def sparse_blocks_stay_sparse(monkeypatch):
    """However full they are: small ones are, and would be filled in."""
    monkeypatch.setattr(exact, "_FULL", 1.0)


def absorb(sketch, X, cuts):
    for block in np.split(np.arange(X.shape[0]), cuts):
        sketch = sketch.update(X[block])
    return sketch


def moments(X, weights):
    """Mean and covariance from their definitions, in extended precision."""
    X, w = np.asarray(X, dtype=np.longdouble), np.asarray(weights, dtype=np.longdouble)
    mean = w @ X / w.sum()
    D = X - mean
    return mean, (D * w[:, None]).T @ D / (w.sum() - (w @ w) / w.sum())


def samples(kind, rng, m=90, n=7):
    X = rng.standard_normal((m, n)) @ rng.standard_normal((n, n))
    if kind == "sparse":
        X = np.where(rng.random((m, n)) < 0.7, 0.0, X)
        X[:, 2] = 50 + X[:, 2]  # a column without a zero, far from it
        return csr_array(X), X
    if kind == "offset":
        X = X + 1e7 * rng.standard_normal(n)
    return X, X


@pytest.mark.parametrize("half_life", [None, 25.0])
@pytest.mark.parametrize("kind", ["dense", "offset", "sparse"])
@pytest.mark.parametrize("cuts", [[], [1, 2, 40, 41], list(range(1, 90))])
def test_the_covariance_is_exact_whatever_the_blocks(kind, half_life, cuts, rng):
    X, dense = samples(kind, rng)
    sketch = absorb(ExactCovariance.empty(7, half_life), X, cuts)
    weights = np.ones(90) if half_life is None else 0.5 ** (np.arange(89, -1, -1) / half_life)
    mean, C = moments(dense, weights)
    assert np.all(np.abs(sketch.mean - mean) <= 1e-14 * np.max(np.abs(dense), axis=0))
    assert np.allclose(sketch.covariance().dense(), C.astype(float), rtol=1e-12, atol=1e-12)
    assert np.allclose(sketch.variances, np.diag(C).astype(float), rtol=1e-12)
    assert sketch.effective_samples == pytest.approx(weights.sum() ** 2 / (weights @ weights))
    assert (sketch.n_samples, sketch.error) == (90, 0.0)


@pytest.mark.parametrize("half_life", [None, 40.0])
@pytest.mark.parametrize("kind", ["dense", "offset", "sparse"])
def test_the_error_of_frequent_directions_is_bounded_and_single_variances_are_exact(kind, half_life, rng):
    X, dense = samples(kind, rng, m=150, n=30)
    sketch = absorb(FrequentDirections.empty(30, 8, half_life), X, [3, 4, 60, 61, 62])
    weights = np.ones(150) if half_life is None else 0.5 ** (np.arange(149, -1, -1) / half_life)
    mean, C = (part.astype(float) for part in moments(dense, weights))
    size = np.trace(C)
    missing = np.linalg.eigvalsh(C - sketch.covariance().dense())
    assert np.allclose(sketch.mean, mean, rtol=1e-13)
    assert -1e-9 * size < missing[0] and missing[-1] <= sketch.error + 1e-9 * size
    assert missing[-1] > 0.3 * sketch.error  # a bound that says something
    assert np.allclose(sketch.variances, np.diag(C), rtol=1e-7)
    values = np.linalg.eigvalsh(C)[::-1]
    if half_life is None:  # what the docstring promises
        assert all(sketch.error <= values[k:].sum() / (9 - k) * (1 + 1e-9) for k in range(9))
    scale = np.ldexp(1.0, 2 * sketch._top) / sketch.divisor
    assert np.allclose(
        sketch.remainder(sketch.rows) * scale, np.diag(C - sketch.covariance().dense()), atol=1e-8 * size
    )


def test_compensation_gives_back_what_the_kept_directions_have_lost(rng):
    X = rng.standard_normal((900, 2)) * [9, 7] @ np.linalg.qr(rng.standard_normal((40, 2)))[0].T
    X += rng.standard_normal(X.shape)
    sketch = absorb(FrequentDirections.empty(40, 10), X, list(range(50, 900, 50)))
    rows = np.ldexp(sketch.compensated(), sketch._top)
    plain, better = sketch.covariance().dense(), rows.T @ rows / sketch.divisor
    V = np.linalg.eigh(np.cov(X.T))[1][:, -2:]
    true, low, near = (np.diag(V.T @ C @ V) for C in (np.cov(X.T), plain, better))
    assert np.all(np.abs(near - true) < 0.2 * (true - low)) and np.all(true - low < sketch.error)
    added = np.linalg.eigvalsh(better - plain)
    assert added[-1] == pytest.approx(sketch.error) and np.count_nonzero(added > 1e-9 * true[1]) == 10


@pytest.mark.parametrize("half_life", [None, 50.0])
def test_few_directions_lose_nothing(half_life, rng):
    X = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 40)) + 7.0
    sketch = absorb(FrequentDirections.empty(40, 6, half_life), X, list(range(5, 200, 9)))
    C = np.cov(X.T, aweights=None if half_life is None else 0.5 ** (np.arange(199, -1, -1) / half_life))
    assert np.allclose(sketch.covariance().dense(), C, atol=1e-11 * np.trace(C))
    assert sketch.error < 1e-10 * np.trace(C)


@pytest.mark.parametrize("make", [lambda n: ExactCovariance.empty(n), lambda n: FrequentDirections.empty(n, 5)])
def test_units_change_no_digit(make, rng):
    X = rng.standard_normal((60, 12))
    plain = absorb(make(12), X, [7, 30])
    for power in (1000, -1060):  # the largest numbers, and such that lose digits as they are stored
        with np.errstate(under="ignore"):
            Y = np.ldexp(np.ldexp(X, power), -power)
        other = absorb(make(12), np.ldexp(X, power), [7, 30])
        twin = plain if power > 0 else absorb(make(12), Y, [7, 30])
        assert np.array_equal(other.moments.high, twin.moments.high)
        assert np.array_equal(other.moments.powers, twin.moments.powers + power)
        for name in ("scatter", "rows", "spread"):
            assert np.array_equal(getattr(other, name, 0), getattr(twin, name, 0))


def test_features_of_any_unit_keep_their_digits_as_units_rise(rng):
    X = rng.standard_normal((50, 4))
    X[25:, 0] *= 1e5
    units = np.array([1e300, 1e-300, 1.0, 3e-308])
    sketch = absorb(ExactCovariance.empty(4), X * units, [10, 25])
    deviations = np.sqrt(sketch._spread / 49)
    assert np.allclose(np.ldexp(deviations, sketch.moments.powers) / units, np.std(X, axis=0, ddof=1), rtol=1e-12)
    R = sketch.scatter / 49 / deviations / deviations[:, None]
    assert np.allclose(R, np.corrcoef(X.T), atol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_constant_features_have_no_variance_at_all(sparse, rng):
    X = rng.standard_normal((64, 3))
    X[:, 1] = 0.1
    sketch = absorb(ExactCovariance.empty(3, 10.0), csr_array(X) if sparse else X, [5, 6, 33])
    assert sketch.variances[1] == 0 and np.all(sketch.scatter[1] == 0) and sketch.mean[1] == 0.1


@pytest.mark.parametrize("make", [ExactCovariance.empty, FrequentDirections.empty])
def test_workers_can_be_merged(make, rng):
    X = rng.standard_normal((120, 25)) @ rng.standard_normal((25, 25)) + 3.0
    settings = (25,) if make == ExactCovariance.empty else (25, 6)
    parts = [absorb(make(*settings), X[i::3], [11]) for i in range(3)]
    whole = parts[0].merge(parts[1]).merge(parts[2])
    C = np.cov(X.T)
    missing = np.linalg.eigvalsh(C - whole.covariance().dense())
    assert np.allclose(whole.mean, X.mean(axis=0)) and np.allclose(whole.variances, np.diag(C))
    assert -1e-11 * np.trace(C) < missing[0] and missing[-1] <= whole.error + 1e-11 * np.trace(C)
    assert whole.merge(make(*settings)).n_samples == 120
    empty = make(*settings).merge(parts[0])
    assert np.allclose(empty.variances, parts[0].variances) and empty.effective_samples == 40
    with pytest.raises(ValueError, match="Only sketches of one kind, with the same settings"):
        whole.merge(new_sketch(25, half_life=3.0))


def test_memory_is_bounded(rng):
    sketch, sizes = FrequentDirections.empty(30, 4), set()
    for m in rng.integers(1, 40, size=60):
        sketch = sketch.update(rng.standard_normal((m, 30)))
        sizes.add(len(sketch.rows))
    assert max(sizes) < 8 and len(sketch.merge(sketch).rows) < 8


def test_a_sparse_stream_is_that_of_its_dense_blocks(rng):
    X = csr_array(np.where(rng.random((300, 20)) < 0.05, rng.random((300, 20)), 0.0))
    plain, filled = (absorb(ExactCovariance.empty(20, 50.0), Y, [100, 101, 250]) for Y in (X, X.toarray()))
    assert np.allclose(plain.covariance().dense(), filled.covariance().dense(), rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("make", [lambda: ExactCovariance.empty(9, 30.0), lambda: FrequentDirections.empty(9, 3, 30.0)])
def test_a_saved_sketch_goes_on_to_the_same_bits(make, tmp_path, rng):
    X = rng.standard_normal((80, 9)).astype(np.float32)
    path = tmp_path / "sketch.npz"
    half = absorb(make(), X[:33], [10])
    half.save(path)
    one, other = (absorb(start, X[33:], [20]) for start in (half, load_sketch(path)))
    other.save(path)
    one.save(tmp_path / "one.npz")
    assert type(other) is type(one) and other.moments.single
    with np.load(path) as a, np.load(tmp_path / "one.npz") as b:
        assert sorted(a.files) == sorted(b.files)
        assert all(a[name].tobytes() == b[name].tobytes() for name in a.files)


def test_files_that_are_no_sketches_are_refused(tmp_path):
    path = tmp_path / "sketch.npz"
    with pytest.raises(FileNotFoundError, match="There is no sketch at"):
        load_sketch(path)
    new_sketch(3).update(np.eye(3)).save(path)
    with np.load(path) as file:
        content = dict(file)
    content["high"][0] += 1
    np.savez(path, **content)
    with pytest.raises(ValueError, match="changed after it was written"):
        load_sketch(path)
    for name, value, words in (
        ("high", np.zeros(4), "its high has the wrong shape"),
        ("low", np.zeros(3, dtype=np.float32), "its low has the wrong shape or kind"),
        ("meta", np.array('{"format": 99}'), "another format"),
    ):
        new_sketch(3).update(np.eye(3)).save(path)
        with np.load(path) as file:
            content = {**file, name: value}
        del content["digest"]
        np.savez(path, **content, digest=np.array(digest(content)))  # as somebody might who knows how
        with pytest.raises(ValueError, match=words):
            load_sketch(path)
    path.write_bytes(b"PK")
    with pytest.raises(ValueError, match="is not a sketch, or is damaged"):
        load_sketch(path)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.array([[1.0, np.nan]]), "1 entries that are NaN or infinite"),
        (np.array([[1.0, 2.0, 3.0]]), r"shape \(m, 2\)"),
        (np.zeros((0, 2)), r"shape \(m, 2\)"),
        (np.array([["a", "b"]]), "must hold real numbers"),
        (csr_array([[np.inf, 0.0]]), "1 entries that are NaN"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(X, words):
    with pytest.raises((ValueError, TypeError), match=words):
        new_sketch(2).update(X)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: new_sketch(3, half_life=-1.0), "half_life must be a finite number of samples, at least 1"),
        (lambda: new_sketch(3, half_life=1e-3), "half_life must be a finite number of samples, at least 1"),
        (lambda: new_sketch("3"), "n_features must be a whole number"),
        (lambda: new_sketch(3, half_life="a"), "half_life must be a number"),
        (lambda: FrequentDirections.empty(3, 0), "size of at least 1"),
        (lambda: FrequentDirections.empty(3, 2.5), "size must be a whole number"),
        (lambda: ExactCovariance.empty(0), "n_features must be at least 1"),
        (lambda: ExactCovariance.empty(2.5), "n_features must be a whole number"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()

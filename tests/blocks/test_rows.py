"""Rows in blocks: the same numbers as in memory, whatever the blocks, in bounded memory."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array, save_npz

from orthoprox import SparsePCA
from orthoprox.blocks import ArrayBlocks, BlockUnreadable, _moments, as_source, is_chunked, open_rows, parse_bytes
from orthoprox.blocks._tasks import Adjoint, Apply, Cross, GramProduct
from orthoprox.blocks._tree import Tree, grouped
from orthoprox.maps import Blocked


def dense(m=501, n=7, offset=3.0):
    return np.random.default_rng(1).standard_normal((m, n)) * np.geomspace(1, 30, n) + offset


def sparse(m=501, n=7):
    S = csr_array(random_array((m, n), density=0.3, rng=np.random.default_rng(2), dtype=np.float64))
    S.data += 1
    S = S.tolil()
    for column, offset in ((2, 1e6), (4, 5e3)):  # full, and far from zero beside their spread
        S[:, column] = offset + np.random.default_rng(column).standard_normal((m, 1))
    return csr_array(S)


@given(leaves=st.integers(1, 40), order=st.randoms(use_true_random=False))
def test_a_tree_has_one_value_in_whatever_order_leaves_come(leaves, order):
    def value(numbers):
        tree = Tree(leaves, lambda a, b: f"({a} {b})")
        for k in numbers:
            tree.add((0, k), str(k))
        return tree.root

    mixed = list(range(leaves))
    order.shuffle(mixed)
    assert value(mixed) == value(range(leaves))
    halves = [Tree(leaves, lambda a, b: f"({a} {b})") for _ in range(2)]
    for k in mixed:
        halves[k % 2].add((0, k), str(k))
    halves[0].extend(halves[1].parts)
    assert halves[0].root == value(mixed)


@pytest.mark.parametrize(("count", "workers"), [(1, 1), (64, 1), (65, 3), (5000, 40)])
def test_groups_are_neighbours_and_enough_for_all_workers(count, workers):
    groups = grouped(count, workers)
    assert list(itertools.chain(*groups)) == list(range(count))
    assert min(count, 4 * workers) <= len(groups) <= max(64, 8 * workers)
    assert max(map(len, groups)) - min(map(len, groups)) <= 1


@pytest.mark.parametrize("block", [100, 1000, 10**6])
@pytest.mark.parametrize("kind", ["dense", "far away", "sparse", "sparse, not filled in"])
def test_moments_and_products_are_those_of_the_whole_matrix(kind, block, monkeypatch):
    monkeypatch.setattr(_moments, "DENSE", 1.0 if kind == "sparse, not filled in" else 0.1)
    B = dense(offset=1e7 if kind == "far away" else 3.0) if kind in ("dense", "far away") else sparse()
    D = B.toarray() if hasattr(B, "toarray") else B
    m, n = D.shape
    C = D - D.mean(axis=0)
    C -= C.mean(axis=0)
    H = C.T @ C
    size = np.sqrt(np.outer(np.diag(H), np.diag(H)))
    rows, again = open_rows(B, block=block), open_rows(B, block=block)
    assert np.abs(rows.second.squares - H).max() <= 1e-12 * size.max()
    assert np.all(np.abs(rows.second.squares - H) <= 1e-11 * size)
    assert np.allclose(again.moments.diagonal, np.diag(H), rtol=1e-9)
    assert np.allclose(rows.moments.mean, D.mean(axis=0), rtol=1e-13)
    X, Z = np.random.default_rng(4).standard_normal((n, 2)), np.random.default_rng(5).standard_normal((m, 2))
    centring, unit = rows.centring, np.sqrt(np.diag(H))
    assert np.allclose(rows.stack(Apply(X / unit[:, None], centring)), C @ (X / unit[:, None]), atol=1e-9)
    assert np.allclose(rows.total(Adjoint(Z, centring)).T / unit, (C.T @ Z).T / unit, atol=1e-8)
    G = rows.total(GramProduct(X / unit[:, None], centring)) / unit[:, None]
    assert np.abs(G - (H / size) @ X).max() < 1e-12
    some, others = np.array([4, 1]), np.array([2, 3, 6])
    assert np.all(np.abs(rows.total(Cross(some, others, centring)) - H[np.ix_(some, others)]) <= 1e-9 * size.max())
    assert np.array_equal(rows.total(GramProduct(X, centring)), again.total(GramProduct(X, again.centring)))


def test_digits_depend_on_the_blocks_and_not_on_threads_or_budget(tmp_path):
    np.save(tmp_path / "a.npy", dense(2000, 9))
    X = np.random.default_rng(0).standard_normal((9, 3))
    one, other = (open_rows(tmp_path / "a.npy", block=3000, memory=memory) for memory in ("10kB", "1GB"))
    assert one._runner._width(GramProduct(X)) != other._runner._width(GramProduct(X))
    assert np.array_equal(one.total(GramProduct(X)), other.total(GramProduct(X)))
    assert np.array_equal(one.second.squares, other.second.squares)


def test_numbers_beyond_the_range_of_their_squares():
    D = dense()
    for factor in (1e200, 1e-200):
        rows = open_rows(D * factor, block=2000)
        found = rows.second
        assert np.allclose(np.ldexp(found.mean, found.exponent), (D * factor).mean(axis=0), rtol=1e-12)
        unit = np.ldexp(1 / factor, found.exponent)
        assert np.allclose(found.squares * unit * unit, np.cov(D.T) * (len(D) - 1), rtol=1e-9, atol=1e-9)


def test_memory_stays_below_the_budget(tmp_path):
    m, n, budget = 60_000, 100, 6_000_000
    np.save(tmp_path / "a.npy", np.random.default_rng(0).standard_normal((m, n)))
    rows = open_rows(tmp_path / "a.npy", memory=budget)
    A, X = Blocked(rows, center=True, norm=1.0), np.ones((n, 5))
    tracemalloc.start()
    A.gram(X)
    rows.second  # noqa: B018 -- for what it takes
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows.source.bytes > 7 * budget
    assert peak < budget
    assert rows.traffic.bytes == 3 * 8 * m * n
    assert rows.traffic.passes == 3


def test_memory_stays_below_the_budget_where_files_are_the_blocks(tmp_path):
    S = csr_array(random_array((60_000, 60), density=0.2, rng=np.random.default_rng(4)))
    for k in range(3):
        save_npz(tmp_path / f"{k}.npz", S[20_000 * k : 20_000 * (k + 1)], compressed=False)
    budget = 7 * as_source(tmp_path).largest
    rows = open_rows(tmp_path, memory=budget)
    tracemalloc.start()
    rows.second  # noqa: B018 -- for what it takes
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < budget
    with pytest.raises(ValueError, match="with what is computed of it 6 times that"):
        open_rows(tmp_path, memory=5 * rows.source.largest)


@pytest.mark.parametrize(("m", "budget"), [(500, 16_000_000), (3000, 20_000_000)])
def test_memory_stays_below_the_budget_where_results_are_as_large_as_blocks(tmp_path, m, budget):
    """The matrix of squares takes 2 MB, and the tree holds up to five of them; blocks take 0.3 and 1.8 MB."""
    S = csr_array(random_array((16 * m, 500), density=0.1, rng=np.random.default_rng(4)))
    for k in range(16):
        save_npz(tmp_path / f"{k}.npz", S[m * k : m * (k + 1)], compressed=False)
    rows = open_rows(tmp_path, memory=budget, form=True)
    tracemalloc.start()
    squares = rows.second.squares
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < budget
    D = S.toarray() - S.toarray().mean(axis=0)
    assert np.allclose(squares, D.T @ D, rtol=1e-12, atol=1e-12)


def test_files_of_numpy_and_scipy_give_what_they_hold(tmp_path):
    D, S = dense(), sparse()
    np.save(tmp_path / "c.npy", D)
    np.save(tmp_path / "f.npy", np.asfortranarray(D))
    np.save(tmp_path / "i.npy", np.arange(60).reshape(20, 3))
    np.save(tmp_path / "s.npy", D.astype(np.float32))
    parts = [tmp_path / f"part{k}.npz" for k in range(3)]
    for k, part in enumerate(parts):
        np.savez(part, X=D[k * 167 : (k + 1) * 167])
    pieces = [tmp_path / f"piece{k}.npz" for k in range(3)]
    for k, piece in enumerate(pieces):
        save_npz(piece, S[k * 167 : (k + 1) * 167])

    def whole(source):
        blocks = [source.read(i) for i in range(source.count)]
        assert all(block.dtype == source.dtype for block in blocks)
        return np.concatenate([b.toarray() if source.sparse else b for b in blocks])

    for name in ("c.npy", "f.npy"):
        assert np.array_equal(whole(as_source(tmp_path / name, 5000)), D)
    assert np.array_equal(whole(as_source(str(tmp_path / "i.npy"), 100)), np.arange(60.0).reshape(20, 3))
    assert whole(as_source(tmp_path / "s.npy")).dtype == np.float32
    assert np.array_equal(whole(as_source(parts)), D)
    assert np.array_equal(whole(as_source(pieces)), S.toarray())
    assert as_source(pieces).entries == S.nnz


@pytest.mark.parametrize(
    ("data", "error", "sentence"),
    [
        ("nowhere.npy", FileNotFoundError, "no file or folder"),
        ("notes.txt", ValueError, "its name must end in .npy"),
        ("short.npy", ValueError, "ends too early: its header promises a matrix of 100 by 4"),
        ("words.npy", TypeError, "must hold real numbers; it holds dtype"),
        ("cube.npy", ValueError, "must have two dimensions"),
        (42, TypeError, "given int"),
        (["a.npz", "b.npz"], BlockUnreadable, "a.npz cannot be read"),
        (["short.npy", "cube.npy"], ValueError, "A list must be of .npz files; given short.npy."),
        (
            "text.npz",
            ValueError,
            r"text.npz cannot be read as .npz \(it is no archive, or was cut off\). Save it again.",
        ),
        ("cut.npz", ValueError, r"cut.npz cannot be read as .npz \(it is no archive, or was cut off\). Save it again."),
        (
            "two.npz",
            ValueError,
            r"two.npz cannot be read as .npz \(it has a, b; expected a single array, or one named X",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(data, error, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("nothing")
    np.save("short.npy", np.ones((100, 4)))
    with open("short.npy", "r+b") as file:
        file.truncate(1000)
    np.save("words.npy", np.array([["a"]]))
    np.save("cube.npy", np.ones((2, 2, 2)))
    (tmp_path / "text.npz").write_text("a,b")
    np.savez("two.npz", a=np.ones((2, 2)), b=np.ones((2, 2)))
    (tmp_path / "cut.npz").write_bytes((tmp_path / "two.npz").read_bytes()[:200])
    with pytest.raises(error, match=sentence):
        as_source(data)


def test_a_block_that_cannot_be_read_is_named_and_so_are_rows_that_are_not_finite(tmp_path):
    D = dense()
    np.save(tmp_path / "a.npy", D)
    rows = open_rows(tmp_path / "a.npy", block=5600)
    with (tmp_path / "a.npy").open("r+b") as file:
        file.truncate(128 + 8 * 7 * 350)
    with pytest.raises(BlockUnreadable, match=r"Block 3 of a.npy \(rows 300 to 399\) cannot be read \(the file ends"):
        rows.total(GramProduct(np.ones((7, 1))))
    D[333, 5] = np.nan
    with pytest.raises(
        ValueError, match="; the entry in row 333, column 5, both counted from 0, is NaN or infinite. Fill"
    ):
        open_rows(D, block=5600).moments  # noqa: B018 -- it is computed
    S = sparse()
    S.data[S.indptr[400] : S.indptr[400] + 2] = np.inf
    place = f"row 400, column {S.indices[S.indptr[400]]}, both counted from 0, is NaN or infinite, and 1 more"
    with pytest.raises(ValueError, match=place):
        open_rows(S, block=2000).moments  # noqa: B018
    with pytest.raises(
        ValueError, match="takes about 0.0281 MB, and with what is computed of it 3 times that; the budget is 0.01 MB"
    ):
        open_rows(ArrayBlocks(D), memory=10_000)
    with pytest.raises(ValueError, match=r"0.001 MB is too small for rows of 7 entries: .* at least 0.00448 MB. Raise"):
        open_rows(D[:5], memory=1000)


def test_a_list_of_files_is_told_from_a_list_of_samples():
    assert is_chunked(["a.npz", "b.npz"])
    assert not any(is_chunked(data) for data in (["a", "b"], [["a.npz"], ["b.npz"]], [1.0, 2.0], []))


def test_sizes_are_read_in_words():
    assert [parse_bytes(text) for text in ("4GB", "1.5kB", "2 MiB", "7", 7.0, "3g")] == [
        4 * 10**9, 1500, 2 * 2**20, 7, 7, 3 * 10**9,
    ]  # fmt: skip
    for wrong in ("much", "4XB", "", -1, "0", float("inf")):
        with pytest.raises(ValueError, match="memory must be"):
            parse_bytes(wrong)


def test_data_are_cut_for_several_to_share_and_products_not_by_chance():
    assert 32 <= open_rows(np.ones((10**5, 100))).source.count <= 128
    assert open_rows(np.ones((100, 10))).source.count == 1
    wide = open_rows(csr_array((10**4, 10**5), dtype=np.float64))
    assert not wide.forms
    assert open_rows(dense()).forms
    assert not open_rows(np.ones((3000, 2000)), memory="100MB").forms  # eight matrices of 32 MB


@pytest.mark.parametrize("form", [True, False])
def test_a_fit_shows_its_passes_and_leaves_a_watch_as_it_was(form, capsys):
    seen = []
    rows = open_rows(dense(), block=4000, form=form)
    rows.watch(seen.append)
    SparsePCA(n_components=2, n_nonzero=4, effort="fast", verbose=1).fit(rows)
    passes, told = rows.traffic.passes, capsys.readouterr().err
    assert (passes > 10) != form
    assert f"pass {passes}, 1 worker, " in told and "MB/s" in told
    assert len(seen) == rows.traffic.blocks == passes * rows.source.count
    rows.total(GramProduct(np.eye(7)))
    assert len(seen) == rows.traffic.blocks and capsys.readouterr().err == ""


def test_the_files_of_a_folder_come_in_the_order_of_their_numbers(tmp_path):
    D = dense(36)
    for k in range(12):
        save_npz(tmp_path / f"part-{k}.npz", csr_array(D[3 * k : 3 * k + 3]))
    rows = open_rows(tmp_path)
    assert rows.source.count == 12 and is_chunked(tmp_path)
    assert np.array_equal(rows.stack(Apply(np.eye(7))), D)

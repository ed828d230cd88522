"""Ways to choose a support: the largest entries, more where f falls, fewer where columns meet weakly, none shared."""

from __future__ import annotations

from collections.abc import Sequence

from array_api_compat import device

from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.manifolds import SparseStiefel


def largest(sizes: Array, count: int | Sequence[int]) -> Array:
    """A mask of the largest positive entries; of equal ones the first.

    Parameters
    ----------
    sizes : array, shape (n, r)
    count : int or sequence of int
        How many in all, or how many in each column.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.active import largest
    >>> largest(np.array([[3.0, 1.0], [2.0, 0.5]]), 2)
    array([[ True, False],
           [ True, False]])
    >>> largest(np.array([[3.0, 1.0], [2.0, 0.5]]), [1, 1])
    array([[ True,  True],
           [False, False]])
    """
    xp = array_namespace(sizes)
    if isinstance(count, int):
        return backend_of(sizes).top_k_mask(sizes, count) & (sizes > 0)
    order = xp.argsort(sizes, axis=0, descending=True, stable=True)
    rank = xp.argsort(order, axis=0, stable=True)
    return (rank < xp.asarray([int(k) for k in count], device=device(sizes))) & (sizes > 0)


def best_of_rows(sizes: Array) -> Array:
    """The same sizes with zeros for all but the largest entry of each row, the first of equal ones."""
    xp, r = array_namespace(sizes), sizes.shape[1]
    first = xp.argmax(sizes, axis=1, keepdims=True) == xp.arange(r, device=device(sizes))
    return xp.where(first, sizes, 0.0)


def fill(support: Array, gains: Array, count: int | Sequence[int]) -> Array:
    """A support with more entries, those of largest gain, until there are ``count`` of them in all or in each column.

    No row gets two new ones: where two zeros of a row may move at once, their product is of second order and no
    linearisation of X'X = I sees it. Entries without a gain stay out.

    Parameters
    ----------
    support : array of bool, shape (n, r)
    gains : array, shape (n, r)
        What an entry promises, say how steeply f falls along it.
    count : int or sequence of int
    """
    xp = array_namespace(gains)
    if isinstance(count, int):
        room: int | list[int] = max(count - int(xp.count_nonzero(support)), 0)
    else:
        there = xp.sum(xp.astype(support, xp.int64), axis=0)
        room = [max(int(k) - int(there[j]), 0) for j, k in enumerate(count)]
        open_ = xp.asarray([k > 0 for k in room], device=device(gains))
        gains = xp.where(open_, gains, 0.0)
    return support | largest(best_of_rows(xp.where(support, 0.0, gains)), room)


def separate(Y: Array, support: Array, least: float) -> Array:
    """A support without the entries in which two columns meet weakly.

    Two columns that have one row in common cannot be orthogonal unless one of the two entries is zero, and where
    they meet in small entries only, a small step along them asks for a large one to keep them orthogonal. What
    they meet in counts by the square of either column there; of two such entries the smaller one goes.

    Parameters
    ----------
    Y : array, shape (n, r)
    support : array, shape (n, r)
        Ones and zeros, as floats.
    least : float
        How strongly columns have to meet, as a sum of squares of entries.
    """
    xp, r = array_namespace(Y), Y.shape[1]
    strength = ((Y * support) ** 2).T @ support
    strength = strength + strength.T
    meets = support.T @ support
    for i in range(r):
        for j in range(i):
            if float(meets[i, j]) > 0 and float(strength[i, j]) < least:
                both = support[:, i] * support[:, j]
                first = xp.where(xp.abs(Y[:, i]) < xp.abs(Y[:, j]), both, 0.0)
                columns = [support[:, c] for c in range(r)]
                columns[i], columns[j] = support[:, i] - first, support[:, j] - (both - first)
                support = xp.stack(columns, axis=1)
    return support


def restore(Y: Array, support: Array, strengths: Sequence[float]) -> tuple[Array, Array] | None:
    """An orthonormal matrix near Y on a support, or else on one that is separated ever more, and that support.

    Parameters
    ----------
    strengths : sequence of float
        How strongly columns have to meet, one value after the other until a matrix is found; 0 for the support as
        it is.
    """
    for least in strengths:
        kept = separate(Y, support, least) if least > 0 else support
        X = SparseStiefel(kept).restore(Y)
        if X is not None:
            return X, kept
    return None


def disjoint(X: Array, support: Array | None = None, count: int | None = None) -> Array:
    """An orthonormal matrix near X whose columns share no row.

    First every column gets an entry, the largest that is left in a row that is left; then every other row keeps its
    largest entry.

    Parameters
    ----------
    X : array, shape (n, r)
    support : array of bool, optional
        Where entries are wanted; others are taken only for a column that would be left without one.
    count : int, optional
        Nonzeros at most; at least r.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.active import disjoint
    >>> disjoint(np.array([[0.8, 0.6], [0.6, -0.8], [0.1, 0.2]]), count=2)
    array([[ 1.,  0.],
           [ 0., -1.],
           [ 0.,  0.]])
    """
    xp, (n, r) = array_namespace(X), X.shape
    size = xp.abs(X) if support is None else xp.where(support, xp.abs(X), 0.0)
    count = n if count is None else min(count, n)
    owned = xp.zeros_like(X)
    for _ in range(r):
        free = (xp.sum(owned, axis=1, keepdims=True) == 0) & (xp.sum(owned, axis=0, keepdims=True) == 0)
        owned = owned + xp.astype(backend_of(X).top_k_mask(xp.where(free, size, -1.0), 1), X.dtype)
    others = xp.where(xp.sum(owned, axis=1, keepdims=True) == 0, best_of_rows(size), 0.0)
    owned = owned + xp.astype(largest(others, count - r), X.dtype)
    Y = xp.where((owned > 0) & (X == 0), 1.0, X) * owned
    return Y / xp.sqrt(xp.sum(Y * Y, axis=0, keepdims=True))


def greedy(C: Array, r: int, count: int, caps: Sequence[int] | None = None) -> Array:
    """A mask of entries chosen one after the other, where the variance of a column grows most; no two in a row.

    With disjoint supports the columns are orthogonal by themselves, and the variance of a column is the largest
    eigenvalue of C on its rows. The first r are the features of largest variance, the best choice for count = r.

    Parameters
    ----------
    C : array, shape (n, n)
        The covariances.
    r : int
        The number of columns.
    count : int
        Nonzeros in all.
    caps : sequence of int, optional
        The most in each column.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.active import greedy
    >>> greedy(np.diag([3.0, 2.0, 2.5]) + 1.0, 1, 2).T
    array([[ True, False,  True]])
    """
    xp, n = array_namespace(C), C.shape[0]
    diagonal = xp.linalg.diagonal(C)
    order = xp.argsort(diagonal, descending=True, stable=True)
    rows = [[int(order[j])] for j in range(r)]
    variance = [float(diagonal[row[0]]) for row in rows]
    gains = [_gains(C, rows[j], variance[j]) for j in range(r)]
    taken = xp.any(order[:r][:, None] == xp.arange(n, device=device(C)), axis=0)
    for _ in range(min(count, n) - r):
        open_ = [j for j in range(r) if caps is None or len(rows[j]) < caps[j]]
        if not open_ or bool(xp.all(taken)):
            break
        best = [(float(xp.max(free)), int(xp.argmax(free)), j) for j, free in _free(gains, taken, open_)]
        gain, row, j = max(best, key=lambda one: one[0])
        variance[j] += gain
        rows[j].append(row)
        taken = taken | (xp.arange(n, device=device(C)) == row)
        gains[j] = _gains(C, rows[j], variance[j])
    mask = [[row in rows[j] for j in range(r)] for row in range(n)]
    return xp.asarray(mask, device=device(C))


def _free(gains: list[Array], taken: Array, columns: list[int]) -> list[tuple[int, Array]]:
    xp = array_namespace(taken)
    return [(j, xp.where(taken, -xp.inf, gains[j])) for j in columns]


def _gains(C: Array, rows: list[int], variance: float) -> Array:
    """How much the variance of a column grows with each further row."""
    xp, n, s = array_namespace(C), C.shape[0], len(rows)
    index = xp.asarray(rows, device=device(C))
    beside = xp.take(C, index, axis=1)
    block = xp.broadcast_to(xp.take(beside, index, axis=0), (n, s, s))
    top = xp.concat([block, beside[:, :, None]], axis=2)
    bottom = xp.concat([beside[:, None, :], xp.linalg.diagonal(C)[:, None, None]], axis=2)
    return xp.linalg.eigvalsh(xp.concat([top, bottom], axis=1))[:, -1] - variance

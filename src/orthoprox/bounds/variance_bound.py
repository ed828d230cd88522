"""Upper bounds for the variance of sparse components, with all that is needed to check them."""

from __future__ import annotations

import itertools
import math
import numbers
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse

from orthoprox._fields import replace, require
from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.bounds._allocations import allocations, largest_sum, read_allowance, sizes_of
from orthoprox.bounds._branch import Search
from orthoprox.bounds._eigen import upper_sum
from orthoprox.bounds._fantope import improve_split
from orthoprox.bounds._incumbent import Incumbent
from orthoprox.bounds._levels import best_levels, levels_value
from orthoprox.bounds._source import Scaled
from orthoprox.bounds._supports import all_supports, count_supports, descend, peaks_of, upper_values_on
from orthoprox.bounds._threshold import Clip, Limits, best_clip, best_clip_wide, entries_above, penalty, shrink_stored
from orthoprox.bounds._tree import Case, Tree, tree_value
from orthoprox.covariance import DeviceCovariance, SampleCovariance

Effort = Literal["fast", "balanced", "thorough"]
sparse: Any = scipy.sparse
_EFFORTS = ("fast", "balanced", "thorough")
STORED = 1000
"""Up to this many features all of C is formed to compute the value of a level."""
_FANTOPE = 300  # features up to which the convex relaxation is solved
_SUPPORTS = 2_000  # supports up to which "balanced" goes through them,
_MANY_SUPPORTS = 200_000  # and "thorough"
_ITERATIONS = 400
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class VarianceBound:
    """An upper bound for tr(X'CX) over all sparse orthonormal X, and its proof.

    Attributes
    ----------
    value : float
        No orthonormal X with the nonzeros allowed has a larger tr(X'CX). Rounded up, so that this holds in spite of
        rounding.
    kind : {"clipped", "levels", "split", "supports", "cases"}
        What the proof is made of: ``clipped``, U is C clipped at ``lam``; ``levels``, and that
        again, for each component, at one of ``levels``; ``split``, ``U`` is stored and at most
        ``lam``; ``supports``, all supports of U were gone through; ``cases``, the same in each case of a branch and
        bound.
    n_components : int
    n_nonzero : int
        In all; the sum of the caps where none was given.
    n_nonzero_per_component : tuple of int
        In each component, in falling order.
    lam : float or None
    levels : tuple of float or None
        In the order of ``n_nonzero_per_component``.
    U : array or None
        The part of C whose share in the variance is bounded by sparsity; the rest by its eigenvalues.
    rows : array of int or None
        With many features, the rows and columns of C to which ``U`` belongs; elsewhere C is clipped at ``lam``.
    tree : Tree or None
        The cases.
    components : array of shape (n_components, n) or None
        The best components that the search for the proof has met, where it met any that beat ``incumbent``.
    """

    value: float
    kind: str
    n_components: int
    n_nonzero: int
    n_nonzero_per_component: tuple[int, ...]
    lam: float | None = None
    levels: tuple[float, ...] | None = None
    U: Array | None = None
    rows: Array | None = None
    tree: Tree | None = None
    components: Array | None = None

    def check(self, C: Any) -> float:
        """Compute the bound again, from C and the proof alone.

        Parameters
        ----------
        C : array of shape (n, n)
            The covariance matrix, or what ``variance_bound`` was given.

        Returns
        -------
        float
            The value that the proof has for this C: ``value`` where C is the same, to the rounding of its entries where
            they are sums over samples.

        Examples
        --------
        >>> import numpy as np
        >>> from orthoprox.bounds import variance_bound
        >>> C = np.diag([3.0, 2.0, 1.0]) + 0.5
        >>> bound = variance_bound(C, 2, n_nonzero=2)
        >>> bound.check(C) == bound.value
        True
        """
        source = Scaled.of(C)
        allowance = read_allowance(source.n, self.n_components, self.n_nonzero, self.n_nonzero_per_component)
        return _value(source, self, allowance)

    def __repr__(self) -> str:
        return f"VarianceBound(value={self.value:.6g}, kind={self.kind!r}, n_nonzero={self.n_nonzero})"


def variance_bound(
    C: Any,
    n_components: int,
    *,
    n_nonzero: int | None = None,
    n_nonzero_per_component: Any = None,
    effort: Effort = "balanced",
    incumbent: Any = None,
    time_limit: float = 10.0,
    work_limit: float = math.inf,
) -> VarianceBound:
    """Bound the variance that orthonormal components with few nonzeros can have.

    Parameters
    ----------
    C : array of shape (n, n) or Covariance
        A symmetric matrix, usually a covariance; or an ``orthoprox.covariance.Covariance``, of which only the large
        entries are asked for.
    n_components : int
        The number r of components.
    n_nonzero : int or float, optional
        How many entries of all components together may be nonzero, or as a float their share of all entries.
    n_nonzero_per_component : int, float or sequence of them, optional
        How many in each component, or their share of the features. Give one of the two, or both.
    effort : {"fast", "balanced", "thorough"}
        ``fast``: C clipped at the best level. ``balanced``: also the dual of the convex relaxation, and for few
        features a split over all supports. ``thorough``: also branch and bound, where there are at most 200,000
        supports, counted for each way to share out the nonzeros.
    incumbent : array of shape (n_components, n) or float, optional
        Good components, or their variance. Branch and bound is quicker with it; the bound is valid whatever it is.
    time_limit : float
        Seconds for branch and bound.
    work_limit : float
        About how many multiplications the search for the best level may take, a thousand million a second, where there
        are more than 1,500 features. The bound is valid, but larger, where the search ends early.

    Returns
    -------
    VarianceBound
        The smallest bound found, with its proof.

    Notes
    -----
    For every symmetric U, tr(X'CX) = tr(X'(C - U)X) + sum_j x_j'U x_j. The first part is at most the sum of the r
    largest eigenvalues of C - U. A column with k nonzeros has x'Ux <= max abs(U_ij) k, and x'Ux is at most the largest
    eigenvalue that a k-by-k principal submatrix of U has.

    Examples
    --------
    >>> from orthoprox import variance_bound
    >>> from orthoprox.datasets import pitprops
    >>> C, names = pitprops()
    >>> for effort in ("fast", "balanced", "thorough"):
    ...     bound = variance_bound(C, 2, n_nonzero_per_component=4, effort=effort)
    ...     print(f"{bound.value:.2f} {bound.kind}")
    5.73 clipped
    5.37 supports
    5.26 cases
    """
    require(effort in _EFFORTS, f"effort must be one of {', '.join(_EFFORTS)}; given {effort!r}.")
    _check_limit("time_limit", time_limit)
    _check_limit("work_limit", work_limit)
    source = Scaled.of(C)
    allowance = read_allowance(source.n, n_components, n_nonzero, n_nonzero_per_component)
    low = _low(incumbent, source, allowance)
    best = _clipped(source, allowance, Limits.of(work_limit))
    if effort == "fast":
        return best
    if source.n > _FANTOPE:
        return _smaller(best, _split_on_rows(source, allowance, best))
    matrix = source.dense()
    lam = float(source.scaled(best.lam))
    met = Incumbent(matrix, low)
    if len(set(allowance.caps)) > 1 and not allowance.slack:
        outer, levels = best_levels(matrix, allowance)
        both: dict[str, Any] = {
            "lam": float(source.to_data(outer)),
            "levels": tuple(float(source.to_data(level)) for level in levels),
        }
        best = _smaller(best, _proof(source, allowance, "levels", **both))
    U = improve_split(matrix, np.clip(matrix, -lam, lam), allowance)
    best = _smaller(best, _proof(source, allowance, "split", U=source.to_data(U)))
    count = count_supports(source.n, sizes_of(allowance))
    if count <= _MANY_SUPPORTS:
        met.try_greedy(next(allocations(allowance)))
    if effort == "thorough" and _few_cases(allowance, count):
        best = _smaller(best, _cases(source, allowance, matrix, U, met, time_limit))
        return _with_components(best, met.X)
    if count <= _SUPPORTS:
        descent = descend(matrix, U, peaks_of(source.n, allowance), met, _ITERATIONS, math.inf)
        best = _smaller(best, _proof(source, allowance, "supports", U=source.to_data(descent.U)))
    return _with_components(best, met.X)


def _check_limit(name: str, value: Any) -> None:
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number; given {value!r}.")
    require(float(value) >= 0, f"{name} must be a number of at least 0; given {value}.")


def _low(incumbent: Any, source: Scaled, allowance: Allowance) -> float:
    """The variance of an incumbent in scaled units; without one, that of single features."""
    low = float(np.sum(np.sort(source.diagonal)[-allowance.r :]))
    if incumbent is None:
        return low
    given = np.asarray(incumbent)
    if given.dtype.kind not in "fiu":
        raise TypeError(f"incumbent must be a number or components; given {incumbent!r}.")
    given = given.astype(np.float64)
    if given.ndim == 0:
        return max(low, float(source.scaled(given)))
    require(
        given.shape == (allowance.r, source.n),
        f"incumbent must be a number or have shape {(allowance.r, source.n)}; given shape {given.shape}.",
    )
    return max(low, float(source.scaled(np.sum(given.T * source.source.product(given.T)))))


def _proof(
    source: Scaled, allowance: Allowance, kind: str, clip: Clip | None = None, **certificate: Any
) -> VarianceBound:
    """A bound with its value; a clip saves computing entries again."""
    bound = VarianceBound(math.inf, kind, allowance.r, allowance.total, allowance.caps, **certificate)
    return replace(bound, value=_value(source, bound, allowance, clip))


def _value(source: Scaled, bound: VarianceBound, allowance: Allowance, clip: Clip | None = None) -> float:
    """The number that a proof proves, in the units of the data, rounded up."""
    value = _split_value(source, bound, allowance, clip) if bound.kind in ("clipped", "split") else math.inf
    if bound.kind == "levels" and bound.levels is not None:
        levels = tuple(float(source.scaled(level)) for level in bound.levels)
        value = levels_value(source.dense(), float(source.scaled(bound.lam)), levels, allowance)
    if bound.kind == "supports":
        value = _supports_value(source.dense(), source.scaled(bound.U), allowance)
    if bound.kind == "cases" and bound.tree is not None:
        value = tree_value(source.dense(), _in_units(bound.tree, source.scaled), allowance)
    value += source.error * allowance.total  # entries that are off by this much, against sum of abs(XX')_ij <= K
    value += 4 * _EPS * abs(value)
    with np.errstate(over="ignore"):
        return float(np.nextafter(source.to_data(value), np.inf))


def _split_value(source: Scaled, bound: VarianceBound, allowance: Allowance, clip: Clip | None) -> float:
    lam = 0.0 if bound.lam is None else float(source.scaled(bound.lam))
    U = None if bound.U is None else source.scaled(bound.U)
    largest = lam if U is None else max(lam, float(np.max(np.abs(U))))
    if U is None and lam == 0 and (gram := source.gram()) is not None:
        G, error = gram
        return upper_sum(G, allowance.r) + allowance.r * len(G) * error  # a norm is at most the order times an entry
    if U is not None and bound.rows is None:
        A: Any = source.dense() - U
    elif source.n <= STORED and U is None:
        A = shrink_stored(source.dense(), lam)
    else:
        A = _thresholded(source, lam, bound.rows, U) if clip is None else clip.kept
    return upper_sum(A, allowance.r, zeros=source.n - A.shape[0]) + penalty(largest, allowance)


def _thresholded(source: Scaled, lam: float, rows: Array | None, U: Array | None) -> Any:
    """C - U on the rows where it is not zero, for U that is C clipped at lam except on some rows and columns."""
    A, kept = entries_above(source, lam, source.n**2)
    if rows is None or U is None:
        return A
    union = np.union1d(kept, rows)
    at: Array = np.searchsorted(union, kept)
    inside: Array = np.searchsorted(union, rows)
    A = sparse.coo_array(A)
    i, j = at[A.row], at[A.col]
    outside = ~(np.isin(i, inside) & np.isin(j, inside))
    shape = (len(union), len(union))
    A = sparse.coo_array((A.data[outside], (i[outside], j[outside])), shape=shape)
    there = (np.repeat(inside, len(rows)), np.tile(inside, len(rows)))
    return sparse.csr_array(A) + sparse.csr_array(((source.block(rows) - U).ravel(), there), shape=shape)


def _supports_value(C: Array, U: Array, allowance: Allowance) -> float:
    g = {k: float(np.max(upper_values_on(U, all_supports(len(C), k)))) for k in sizes_of(allowance)}
    most = largest_sum(allowance, g)[0]
    return upper_sum(C - U, allowance.r) + most + 2 * allowance.r * _EPS * abs(most)


def _clipped(source: Scaled, allowance: Allowance, limits: Limits) -> VarianceBound:
    if source.n <= limits.block:
        return _proof(source, allowance, "clipped", lam=float(source.to_data(best_clip(source.dense(), allowance))))
    best: VarianceBound | None = None
    samples = source.source.m if isinstance(source.source, (SampleCovariance, DeviceCovariance)) else math.inf
    if samples <= min(limits.block, source.n - 1):
        best = _proof(source, allowance, "clipped", lam=0.0)
    known = math.inf if best is None else float(source.scaled(best.value))
    clip = best_clip_wide(source, allowance, limits, known)
    if clip is not None:
        found = _proof(
            source, allowance, "clipped", clip if source.n > STORED else None, lam=float(source.to_data(clip.lam))
        )
        best = found if best is None else _smaller(best, found)
    assert best is not None  # without one known, some level has one
    return best


def _split_on_rows(source: Scaled, allowance: Allowance, clipped: VarianceBound) -> VarianceBound:
    """The convex relaxation on the rows where C is large; elsewhere C stays clipped, where it is small anyway."""
    lam = float(source.scaled(clipped.lam))
    for floor in (0.7 * lam, 0.85 * lam, lam):
        _, rows = entries_above(source, floor, source.n**2)
        if allowance.r <= len(rows) <= _FANTOPE:
            block = source.block(rows)
            U = improve_split(block, np.clip(block, -lam, lam), allowance)
            level = max(floor, float(np.max(np.abs(U))))
            parts = {"lam": float(source.to_data(level)), "U": source.to_data(U), "rows": rows}
            return _proof(source, allowance, "split", **parts)
    return clipped


def _cases(
    source: Scaled, allowance: Allowance, C: Array, U: Array, incumbent: Incumbent, time_limit: float
) -> VarianceBound:
    tree = _in_units(Search(C, allowance, U, incumbent, time_limit).run(), source.to_data)
    return _proof(source, allowance, "cases", tree=tree)


def _few_cases(allowance: Allowance, count: int) -> bool:
    """Whether branch and bound can begin: it goes through the supports of every allocation."""
    most = _MANY_SUPPORTS // max(count, 1)
    return sum(1 for _ in itertools.islice(allocations(allowance), most + 1)) <= most


def _with_components(bound: VarianceBound, X: Array | None) -> VarianceBound:
    return bound if X is None else replace(bound, components=X.T)


def _smaller(one: VarianceBound, other: VarianceBound) -> VarianceBound:
    return other if other.value < one.value else one


def _in_units(tree: Tree, convert: Any) -> Tree:
    """A tree in other units."""

    def converted(case: Case) -> Case:
        return Case(convert(case.U), case.feature, case.column, tuple(converted(part) for part in case.below))

    roots = tuple((sizes, converted(case)) for sizes, case in tree.roots)
    return Tree(float(convert(tree.level)), roots)

"""The polar factor of a matrix that is nearly orthonormal, for stacks of matrices and by products alone.

With the short side's Gram matrix C = I + E the factor is (I + E)^(-1/2) Y. A polynomial in E replaces the inverse
root. Two products have the size of Y, the others that of E; a Newton-Schulz step has two of the size of Y each time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from orthoprox.manifolds.inverse_root import Root, inverse_root, orthonormal_within


class Factor(NamedTuple):
    """What :func:`polar_near` found."""

    X: Any
    """The polar factors; meaningless where ``excess`` is not at most the reach."""
    excess: Any
    """An upper bound of the spectral norm of E, one for each matrix; NaN where the input is not finite."""


def polar_near(Y: Any) -> Factor:
    """The polar factors of a stack of matrices, all nearly orthonormal along their short side.

    Parameters
    ----------
    Y : tensor, shape (b, m, n)

    Examples
    --------
    >>> import torch
    >>> from orthoprox.nn._polar import polar_near
    >>> found = polar_near(torch.tensor([[[1.1, 0.0, 0.0], [0.0, 0.0, 0.9]]]))
    >>> found.X.round(decimals=5)
    tensor([[[1., 0., 0.],
             [0., 0., 1.]]])
    """
    root = inverse_root()
    wide = Y.shape[1] <= Y.shape[2]
    E = torch.bmm(Y, Y.mT) if wide else torch.bmm(Y.mT, Y)
    E.diagonal(dim1=1, dim2=2).sub_(1.0)
    square = torch.bmm(E, E)
    # The spectral norm of E^2, which is the square of that of E, is at most its Frobenius norm.
    excess = torch.linalg.vector_norm(square, dim=(1, 2)).sqrt_()
    Q = without_constant(root, E, square)
    if Y.dtype == torch.float64:
        Q = correct(Q, E, root.h)
    X = torch.baddbmm(Y, Q, Y, beta=root.h) if wide else torch.baddbmm(Y, Y, Q, beta=root.h)
    return Factor(X, excess)


def without_constant(root: Root, E: Any, square: Any) -> Any:
    """The polynomial in E, less h I."""
    q = torch.bmm(square, torch.add(root.y * E, square, alpha=root.x))
    left = torch.add(q, square, alpha=root.a).add_(E, alpha=root.b)
    right = torch.add(q, square, alpha=root.c)
    rest = q.mul_(root.d).add_(square, alpha=root.f).add_(E, alpha=root.g)
    return torch.baddbmm(rest, left, right)


def correct(Q: Any, E: Any, h: float) -> Any:
    """One Newton step for the inverse root of I + E from P = Q + h I: P - P (P (I + E) P - I)/2, less h I."""
    P = Q.clone()
    P.diagonal(dim1=1, dim2=2).add_(h)
    error = torch.bmm(torch.baddbmm(P, P, E), P)
    error.diagonal(dim1=1, dim2=2).sub_(1.0)
    return torch.baddbmm(Q, P, error, alpha=-0.5)


def infeasibility(X: Any) -> Any:
    """The largest entry of |X X' - I| on the short side, one for each matrix of a stack."""
    E = torch.bmm(X, X.mT) if X.shape[1] <= X.shape[2] else torch.bmm(X.mT, X)
    E.diagonal(dim1=1, dim2=2).sub_(1.0)
    return E.abs().amax(dim=(1, 2))


def orthonormal(X: Any) -> bool:
    """Whether all matrices of a stack are orthonormal up to rounding."""
    return bool(are_orthonormal(X).all())


def are_orthonormal(X: Any) -> Any:
    """The same for each matrix of a stack; NaN is not."""
    return infeasibility(X) <= orthonormal_within(X.shape[1], torch.finfo(X.dtype).eps)


def nearest(Y: Any, name: str) -> Any:
    """The polar factors of any stack of full rank, by singular values in float64; a sentence for others."""
    wide = Y.double()
    if not bool(torch.isfinite(wide).all()):
        raise ValueError(f"{name} has NaN or infinite entries; an orthogonal weight starts from finite ones.")
    U, sizes, Vt = torch.linalg.svd(wide, full_matrices=False)
    least, most = sizes[:, -1], sizes[:, 0]
    deficient = least <= max(Y.shape[1:]) * torch.finfo(Y.dtype).eps * most
    if bool(deficient.any()):
        which = int(deficient.nonzero()[0, 0])
        where = f" (its matrix {which})" if Y.shape[0] > 1 else ""
        raise ValueError(
            f"{name} has not full rank{where}, so no orthonormal matrix is nearest to it; initialise it otherwise, "
            "or pass init='random'."
        )
    return torch.bmm(U, Vt).to(Y.dtype)

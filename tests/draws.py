"""Random data for several tests."""

import numpy as np
from scipy.sparse import csr_array


def sparse(shape: tuple[int, int], density: float, rng: np.random.Generator) -> csr_array:
    """Uniform numbers at random places; versions of scipy.sparse.random_array disagree on the name of ``rng``."""
    count = round(density * shape[0] * shape[1])
    places = rng.choice(shape[0] * shape[1], size=count, replace=False, shuffle=False)
    return csr_array((rng.random(count), np.unravel_index(places, shape)), shape=shape)


def contaminated(
    seed: int, *, n=20, d=3, inliers=60, outliers=40, noise=0.0, offset=0.0, even=False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inliers on an affine subspace with standard deviations d, ..., 2, 1 (or 1) along it, and outliers around them."""
    rng = np.random.default_rng(2000 + seed)
    U = np.linalg.qr(rng.standard_normal((n, d)))[0].T
    p = offset * rng.standard_normal(n)
    spread = np.ones(d) if even else np.arange(d, 0, -1)
    good = rng.standard_normal((inliers, d)) * spread @ U + noise * rng.standard_normal((inliers, n))
    return np.vstack([good, 2 * rng.standard_normal((outliers, n))]) + p, U, p


def sine(U: np.ndarray, V: np.ndarray) -> float:
    """The sine of the largest angle between the spans of two sets of orthonormal rows."""
    return float(np.linalg.norm(V - V @ U.T @ U, 2))

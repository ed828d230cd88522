"""Section 2 and appendix A of the paper as docs/theory.md judges them: inequalities at random, counterexamples."""

import numpy as np
import pytest

from orthoprox import Stiefel
from orthoprox.solvers._schedules import growing_penalty

T = np.arange(1.0, 5001.0)
norm = np.linalg.norm


def penalties(p, xi, beta0=1.0):
    return (growing_penalty(beta0, xi, p, T + shift) for shift in (-1, 0, 1))


@pytest.mark.parametrize("xi", [0.01, 0.5, 1.0])
@pytest.mark.parametrize("p", [0.02, 0.25, 1 / 3, 0.5, 0.97])
def test_growing_penalties(p, xi):
    before, now, after = penalties(p, xi)
    grown, fall, last_fall = now / before - 1, 1 / now - 1 / after, 1 / before - 1 / now
    B = np.sqrt(last_fall / before)
    tight = 1 + 1e-9
    assert (last_fall <= 3 / p * fall * tight).all()  # Lemma A.8
    assert (grown**2 <= 6 / p * fall * tight).all()  # Lemma A.9
    assert (grown**2 / now <= 3 * xi / p * fall * tight).all()  # what the proof of Lemma 4.5 has instead
    assert (grown <= xi * tight).all()  # Lemma 4.3
    if p >= 1 / 4:
        assert (now**-3.0 <= 2 / xi**2 * B).all()  # Lemma A.10
    assert (np.sqrt(xi * p / (1 + xi) ** 3) * T ** (-p - 1 / 2) <= B * tight).all()  # against Theorem 5.6


def test_tangent_parts_at_two_points():
    rng = np.random.default_rng(0)
    for _ in range(300):
        M = Stiefel(4, int(rng.integers(1, 5)))
        X, P = M.random(rng), rng.standard_normal((4, M.r))
        X2, P2 = M.project(X + 0.3 * rng.standard_normal(X.shape)), P + 0.1 * rng.standard_normal(P.shape)
        moved = norm(M.tangent(X, P) - M.tangent(X2, P2))  # Lemma A.12, without its sqrt(r)
        assert moved <= 2 * norm(P - P2) + 2 * norm(P, 2) * norm(X - X2) + 1e-12


@pytest.mark.parametrize(("by", "first", "second"), [("polar", 1, 1), ("qr", np.sqrt(2), 2 * np.sqrt(2))])
def test_constants_of_the_retractions(by, first, second):  # Lemma 2.10
    rng = np.random.default_rng(1)
    for _ in range(500):
        n = int(rng.integers(2, 7))
        M = Stiefel(n, int(rng.integers(1, n)))
        X = M.random(rng)
        V = M.tangent(X, rng.standard_normal(X.shape)) * 10 ** rng.uniform(-2, 2)
        R, size = M.retract(X, V, by), norm(V)
        assert norm(R - X) <= first * size * (1 + 1e-9)
        assert norm(R - X - V) <= second / 2 * size**2 + 1e-12


def test_the_printed_normal_cone_is_not_the_normal_space():
    X = Stiefel(4, 2).random(0)
    Z = X @ (-np.eye(2))  # normal, since it is X times a symmetric matrix
    assert norm(Stiefel(4, 2).tangent(X, Z)) < 1e-14
    assert np.sum(Z * X) < np.sum(Z * -X)  # but <Z, Y> is not greatest at Y = X


def test_the_printed_f_of_sparse_pca_has_no_lipschitz_gradient():
    D = np.random.default_rng(3).standard_normal((4, 6))
    S, X = D @ D.T, Stiefel(4, 2).random(1)
    # the gradient of |XX'D - D|^2 / 2
    gradient = lambda X: S @ X @ X.T @ X + X @ X.T @ S @ X - 2 * S @ X
    quotients = [norm(gradient(2 * s * X) - gradient(s * X)) / norm(s * X) for s in (10.0, 100.0, 1000.0)]
    assert quotients[2] > 90 * quotients[1] > 90**2 * quotients[0]


def test_the_printed_barzilai_borwein_quotient_is_negative():
    M, f = Stiefel(2, 1), np.array([[-1.0], [0.0]])  # <f, X> is convex along the circle near its minimiser (1, 0)
    before, now = (np.array([[np.cos(angle)], [np.sin(angle)]]) for angle in (0.5, 0.3))
    assert np.sum((now - before) * (M.direction(before, f, 1.0) - M.direction(now, f, 1.0))) < 0


def test_the_constant_in_the_exponent_is_needed():  # Lemma A.17
    c, q = 20.0, 0.5
    log_d = np.cumsum(np.log(c * T**q / (c * T**q + 1)))
    assert (log_d <= -(1 - q) / (1 + c) * T ** (1 - q)).all()  # repaired
    assert (log_d + T ** (1 - q))[-1] > 60  # as printed, log(d exp(t^(1-q))) would be bounded

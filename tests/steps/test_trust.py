"""The truncated conjugate gradients: the model they minimise, and the ball they stay in."""

from __future__ import annotations

import numpy as np
import pytest
from orthoprox.solvers._trust import truncated


def model(seed: int, spectrum: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((len(spectrum), len(spectrum))))
    return (Q * spectrum) @ Q.T, rng.standard_normal((len(spectrum), 1))


def value(H: np.ndarray, g: np.ndarray, D: np.ndarray) -> float:
    return float(np.sum(g * D) + np.sum(D * (H @ D)) / 2)


@pytest.mark.parametrize("seed", range(3))
def test_in_a_large_ball_it_solves_the_system(seed: int) -> None:
    H, g = model(seed, np.linspace(1.0, 20.0, 12))
    step = truncated(lambda Q: H @ Q, g, 1e6, 1e-12, 50)
    np.testing.assert_allclose(step.D, -np.linalg.solve(H, g), rtol=1e-8, atol=1e-10)
    assert not step.edge
    assert step.used <= 14  # as many as there are eigenvalues, and some for rounding
    assert step.promised == pytest.approx(value(H, g, step.D), rel=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_a_small_ball_is_left_nowhere_and_used_at_least_as_well_as_by_the_gradient(seed: int) -> None:
    H, g = model(seed, np.linspace(1.0, 20.0, 12))
    radius = 0.3 * float(np.linalg.norm(np.linalg.solve(H, g)))
    step = truncated(lambda Q: H @ Q, g, radius, 1e-12, 50)
    assert step.edge
    assert np.linalg.norm(step.D) == pytest.approx(radius, rel=1e-10)
    assert step.promised == pytest.approx(value(H, g, step.D), rel=1e-10)
    size = float(np.linalg.norm(g))
    a = min(size**2 / float(np.sum(g * (H @ g))), radius / size)
    assert step.promised <= value(H, g, -a * g) + 1e-12


@pytest.mark.parametrize("share", np.linspace(0.05, 0.999, 12))
def test_no_step_leaves_the_ball(share: float) -> None:
    """Also where the last steps before the edge are short and go along with those before them."""
    H, g = model(4, np.geomspace(1.0, 1e3, 30))
    radius = share * float(np.linalg.norm(np.linalg.solve(H, g)))
    step = truncated(lambda Q: H @ Q, g, radius, 1e-12, 200)
    assert step.edge
    assert np.linalg.norm(step.D) == pytest.approx(radius, rel=1e-9)


@pytest.mark.parametrize("spectrum", [np.linspace(-5.0, 20.0, 12), np.linspace(-20.0, -1.0, 12), np.zeros(12)])
def test_where_the_curvature_is_not_positive_it_goes_to_the_edge(spectrum: np.ndarray) -> None:
    H, g = model(0, spectrum)
    step = truncated(lambda Q: H @ Q, g, 0.7, 1e-12, 50)
    assert step.edge
    assert np.linalg.norm(step.D) == pytest.approx(0.7, rel=1e-10)
    assert step.promised == pytest.approx(value(H, g, step.D), rel=1e-10)
    assert step.promised < 0


def test_the_accuracy_is_a_share_of_the_gradient() -> None:
    H, g = model(1, np.geomspace(1.0, 1e4, 40))
    for share in (0.5, 0.1, 1e-3):
        step = truncated(lambda Q: H @ Q, g, 1e6, share, 400)
        rest = np.linalg.norm(H @ step.D + g) / np.linalg.norm(g)
        assert rest <= share
    loose = truncated(lambda Q: H @ Q, g, 1e6, 0.5, 400).used
    assert loose < truncated(lambda Q: H @ Q, g, 1e6, 1e-3, 400).used


def test_it_ends_after_the_steps_it_may_take() -> None:
    H, g = model(2, np.geomspace(1.0, 1e6, 40))
    assert truncated(lambda Q: H @ Q, g, 1e9, 1e-14, 7).used == 7

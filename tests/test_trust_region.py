"""Newton's method in a trust region: the model is minimised in its ball, and the loop keeps its promises."""

from itertools import pairwise

import numpy as np
import pytest

from orthoprox import _trust_region_program as program
from orthoprox._trust_region import Model, minimise, truncated_cg


def a_model(seed, spectrum):
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((len(spectrum), len(spectrum))))
    return (Q * spectrum) @ Q.T, rng.standard_normal((len(spectrum), 1))


def step_of(H, g, radius, accuracy=1e-12, most=50):
    step = truncated_cg(lambda Q: H @ Q, g, radius, accuracy, most)
    assert step.promised == pytest.approx(float(np.sum(g * step.D) + np.sum(step.D * (H @ step.D)) / 2), rel=1e-9)
    if step.edge:
        assert np.linalg.norm(step.D) == pytest.approx(radius, rel=1e-9)
    return step


@pytest.mark.parametrize("seed", range(3))
def test_in_a_large_ball_it_solves_the_system(seed):
    H, g = a_model(seed, np.linspace(1.0, 20.0, 12))
    step = step_of(H, g, 1e6)
    np.testing.assert_allclose(step.D, -np.linalg.solve(H, g), rtol=1e-8, atol=1e-10)
    assert not step.edge
    assert step.products <= 14  # as many as there are eigenvalues, and some for rounding


@pytest.mark.parametrize("share", np.linspace(0.05, 0.999, 12))
def test_a_small_ball_is_left_nowhere_and_used_at_least_as_well_as_by_the_gradient(share):
    """Also where the last steps before the edge are short and go along with those before them."""
    H, g = a_model(4, np.geomspace(1.0, 1e3, 30))
    newton, size = float(np.linalg.norm(np.linalg.solve(H, g))), float(np.linalg.norm(g))
    step = step_of(H, g, share * newton, most=200)
    a = min(size**2 / float(np.sum(g * (H @ g))), share * newton / size)
    assert step.edge and step.promised <= -a * size**2 + a * a * float(np.sum(g * (H @ g))) / 2 + 1e-12
    assert not step_of(H, g, 1.001 * newton, most=200).edge


@pytest.mark.parametrize("spectrum", [np.linspace(-5.0, 20.0, 12), np.linspace(-20.0, -1.0, 12), np.zeros(12)])
def test_where_the_curvature_is_not_positive_it_goes_to_the_edge(spectrum):
    H, g = a_model(0, spectrum)
    step = step_of(H, g, 0.7)
    assert step.edge and step.promised < 0


@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
def test_where_the_curvature_is_no_number_it_follows_the_gradient_to_the_edge(entry):
    g = np.array([[3.0], [4.0]])
    with np.errstate(invalid="ignore"):  # programs are for libraries that do not warn
        other = program.truncated_cg(None, lambda _, Q: entry * Q, g, 0.5, 0.1, 9)
    for step in (truncated_cg(lambda Q: entry * Q, g, 0.5, 0.1, 9), other):
        np.testing.assert_allclose(step.D, -0.1 * g)
        assert step.edge and step.products == 1 and step.promised == pytest.approx(-2.5)


def test_it_is_as_accurate_as_asked_and_ends_after_the_products_it_may_take():
    H, g = a_model(1, np.geomspace(1.0, 1e4, 40))
    steps = [step_of(H, g, 1e6, share, 400) for share in (0.5, 0.1, 1e-3)]
    rest = [np.linalg.norm(H @ step.D + g) / np.linalg.norm(g) for step in steps]
    assert all(r <= share for r, share in zip(rest, (0.5, 0.1, 1e-3), strict=True)) and rest[0] > 1e-3
    assert step_of(H, g, 1e9, 1e-14, 7).products == 7
    assert not truncated_cg(lambda Q: H @ Q, 0 * g, 1.0, 0.1, 7).D.any()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "spectrum", [np.geomspace(1.0, 1e3, 30), np.linspace(-2.0, 9.0, 30), np.linspace(-9.0, -1.0, 30), np.zeros(30)]
)
def test_without_branches_it_takes_the_same_step(seed, spectrum):
    """To the edge from inside and at once, to the accuracy, to the last product; and it says how it ended."""
    H, g = a_model(seed, spectrum)
    newton = float(np.linalg.norm(np.linalg.lstsq(H, g, rcond=None)[0]))
    for radius, accuracy, most in (
        (0.3 * newton, 1e-9, 99),
        (2 * newton, 0.1, 99),
        (2 * newton, 1e-9, 5),
        (1e-3, 0.1, 9),
    ):
        one = truncated_cg(lambda Q: H @ Q, g, radius, accuracy, most)
        other = program.truncated_cg(None, lambda _, Q: H @ Q, g, radius, accuracy, most)
        assert (one.edge, one.products) == (other.edge, other.products)
        np.testing.assert_allclose(other.D, one.D, rtol=1e-9, atol=1e-12 * max(radius, 1e-3))
        assert other.promised == pytest.approx(one.promised, rel=1e-9, abs=1e-12)


def test_without_branches_nothing_to_do_is_nothing_done():
    H, g = a_model(0, np.ones(6))
    step = program.truncated_cg(None, lambda _, Q: H @ Q, 0 * g, 1.0, 0.1, 20)
    assert not step.D.any() and step.promised == 0


class Scripted:
    """The model |D|^2/2 + D about any point, of which every step brings the share it is told to bring."""

    def __init__(self, share, *, after=None, gone=False, rounding=0.0, floor=0.0, again=None, models=99):
        self.share, self.after, self.gone, self.again, self.left = share, after, gone, again, models
        self.about = Model(np.ones(1), lambda D: D, 0.1, rounding, floor)
        self.steps, self.refused = [], []

    def model(self, at):
        self.left -= 1
        return self.about if self.left >= 0 else None

    def trial(self, at, D):
        self.steps.append(float(D[0]))
        change = self.after if self.after is not None else self.share * float(D[0] + D[0] ** 2 / 2)
        return (None if self.gone else at + float(D[0])), change

    def refuse(self, at, step):
        self.refused.append((at, step))
        again, self.again = self.again, None
        return again


@pytest.mark.parametrize(
    ("share", "first", "radius", "moves"),
    [
        (0.8, 0.5, 1.0, True),  # as good as promised, and held back: it grows
        (0.8, 4.0, 4.0, True),  # not held back
        (0.7, 0.5, 0.5, True),
        (0.3, 0.5, 0.5, True),
        (0.2, 0.5, 0.125, True),  # poor: a quarter of the step
        (0.2, 4.0, 0.25, True),
        (2e-3, 0.5, 0.125, True),
        (5e-4, 0.5, 0.125, False),
        (-1.0, 4.0, 0.25, False),
        (float("nan"), 0.5, 0.125, False),
    ],
)
def test_the_radius_goes_by_the_share_of_the_promise_that_a_step_brings(share, first, radius, moves):
    land = Scripted(share)
    end = minimise(land, 0.0, radius=first, most=1)
    assert land.steps == [-min(first, 1.0)]
    assert end.at == (land.steps[0] if moves else 0.0) and end.radius == radius
    assert (end.steps, end.products, end.finished) == (1, 1, False)
    assert [at for at, _ in land.refused] == ([] if moves else [0.0])


def test_the_radius_has_a_largest_and_a_point_that_is_none_is_refused():
    assert minimise(Scripted(0.8), 0.0, radius=0.5, most=5, largest=0.7).radius == 0.7
    gone = Scripted(1.0, gone=True)
    end = minimise(gone, 0.0, radius=0.5, most=3)
    assert end.at == 0.0 and end.radius == 0.5 / 4**3 and len(gone.refused) == 3


def test_a_change_that_values_cannot_tell_is_believed_but_not_to_the_edge():
    for change, first, moves in ((0.9, 4.0, True), (1.1, 4.0, False), (0.9, 0.5, False), (-0.1, 0.5, False)):
        end = minimise(Scripted(0.0, after=change, rounding=1.0), 0.0, radius=first, most=1)
        assert (end.at != 0.0) == moves
    assert minimise(Scripted(1.0, rounding=0.4), 0.0, radius=0.5, most=1).at == 0.0  # promised: 0.375
    assert minimise(Scripted(1.0, rounding=0.3), 0.0, radius=0.5, most=1).at == -0.5


def test_another_model_after_a_refusal_is_tried_with_the_same_radius():
    land = Scripted(-1.0, again=Model(np.full(1, -1.0), lambda D: D, 0.1, 0.0))
    end = minimise(land, 0.0, radius=0.5, most=2)
    assert land.steps == [-0.5, 0.5] and end.products == 2
    assert end.at == 0.5 and len(land.refused) == 1


def test_it_ends_by_itself_at_the_floor_without_a_model_and_where_the_radius_is_tiny():
    for most in (1, 9):
        floor = Scripted(-1.0, floor=1.0)
        end = minimise(floor, 0.0, radius=0.5, most=most)
        assert (end.steps, end.radius, end.finished, floor.refused) == (1, 0.5, True, [])
        assert minimise(Scripted(1.0, models=1), 0.0, radius=0.5, most=most).finished
        assert minimise(Scripted(1.0, models=0), 0.0, radius=0.5, most=most).steps == 0
    assert not minimise(Scripted(1.0), 0.0, radius=0.5, most=0).finished
    assert not minimise(Scripted(-1.0, floor=0.99), 0.0, radius=0.5, most=1).finished
    for most, ends in ((14, False), (15, True), (99, True)):  # 0.5/4^15 is below 1e-9
        end = minimise(Scripted(-1.0), 0.0, radius=0.5, most=most)
        assert (end.steps, end.finished) == (min(most, 15), ends)


class Valley:
    """F(x) = sum of x^4/4 - x^2/2 + c x over vectors: not convex, with gradients and Hessians by hand."""

    def __init__(self):
        self.c, self.values, self.slopes = np.linspace(-0.3, 0.9, 6), [], []

    def value(self, x):
        return float(np.sum(x**4 / 4 - x**2 / 2 + self.c * x))

    def model(self, at):
        slope = at**3 - at + self.c
        self.values.append(self.value(at))
        self.slopes.append(float(np.linalg.norm(slope)))
        if self.slopes[-1] < 1e-13:
            return None
        return Model(slope, lambda D: (3 * at**2 - 1) * D, min(0.1, self.slopes[-1]), 1e-14)

    def trial(self, at, D):
        return at + D, self.value(at + D) - self.value(at)

    def refuse(self, at, step):
        return None


@pytest.mark.parametrize("radius", [1e-3, 0.1, 100.0])
def test_it_never_rises_and_converges_quadratically_to_a_minimum(radius):
    land = Valley()
    end = minimise(land, np.linspace(-0.2, 0.3, 6), radius=radius, most=60)
    assert end.finished and np.all(3 * end.at**2 > 1)
    assert np.all(np.diff(land.values) <= 1e-14)
    near = [s for s in land.slopes if s < 0.1]
    assert len(near) >= 3 and all(b <= 20 * a * a + 1e-14 for a, b in pairwise(near))

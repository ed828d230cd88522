"""The check of a proximal map: every term of ours passes it, and mistakes are told."""

import numpy as np
import pytest

from catalogue_terms import PROXIMABLE, SHAPE
from orthoprox import Problem, check_prox, solve
from orthoprox.terms import L0, L1, ExplainedVariance, GroupL2, ProximableTerm


@pytest.mark.parametrize("h", PROXIMABLE, ids=lambda h: type(h).__name__)
@pytest.mark.parametrize("mu", [1e-3, 0.1, 2.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_our_terms_pass(h, mu, dtype, rng):
    mu = min(mu, 0.9 / h.weak_convexity) if h.weak_convexity > 0 else mu
    for size in (1e-3, 1.0, 100.0):
        assert check_prox(h, (size * rng.standard_normal(SHAPE)).astype(dtype), mu).ok


class Rows(ProximableTerm):
    """The sum of the norms of rows, shrunk by so many times too much, or with another mistake."""

    weight = 1.0

    def __init__(self, factor=1.0, mistake=None):
        self.factor, self.mistake = factor, mistake

    def value(self, y):
        return self.weight * np.linalg.norm(y, axis=1).sum()

    def prox(self, y, mu):
        if self.mistake is not None:
            return self.mistake(y, mu)
        return GroupL2(weight=self.weight).prox(y, self.factor * mu)

    def subgradient(self, y):
        return GroupL2(weight=self.weight).subgradient(y)

    def lipschitz_constant(self, shape):
        return self.weight * np.sqrt(shape[0])


MISTAKES = {
    "twice": Rows(2.0),
    "half": Rows(0.5),
    "one per cent": Rows(1.01),
    "nothing": Rows(mistake=lambda y, mu: y),
    "all": Rows(mistake=lambda y, mu: 0 * y),
    "columns": Rows(mistake=lambda y, mu: GroupL2("columns").prox(y, mu)),
    "entries": Rows(mistake=lambda y, mu: L1().prox(y, mu)),
    "one row": Rows(mistake=lambda y, mu: np.vstack([GroupL2().prox(y[:-1], mu), y[-1:]])),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_told_before_a_run(name, rng):
    D = rng.standard_normal((50, 8))
    f = ExplainedVariance(D, weight=1 / 50)
    assert solve(Problem.of(f + Rows(), over=(8, 2))).converged
    with pytest.raises(ValueError, match=r"The prox does not minimise .* Run orthoprox.check_prox.* h = Rows"):
        solve(Problem.of(f + MISTAKES[name], over=(8, 2)))


def test_what_cannot_be_checked_gets_a_sentence(rng):
    y = rng.standard_normal(SHAPE)
    with pytest.raises(ValueError, match=r"The prox must have the shape \(4, 2\) of y; given \(3, 2\)"):
        check_prox(Rows(mistake=lambda y, mu: y[:-1]), y, 1.0)
    with pytest.raises(ValueError, match="mu must be positive .* given 0"):
        check_prox(L0(), y, 0.0)

"""The step of orthoprox.nn on a processor, beside the plain one that decides on the device."""

from collections import defaultdict

import numpy as np
import pytest

from backends.nn_formulas import orthonormal
from orthoprox.manifolds.inverse_root import inverse_root, short_root
from orthoprox.terms import L1, GroupL2, LargestK

pytestmark = pytest.mark.backends

PENALTIES = [None, 0.01 * L1(), 0.01 * (L1() - LargestK(9)), 0.02 * GroupL2("columns")]
BANDS = [(0.0, short_root(2).reach), (short_root(2).reach, short_root(4).reach), (short_root(4).reach, 0.36)]
"""How far Y is from orthonormal, so that the polynomial has degree 2, 4 and 8."""


def states(torch, shape, penalty, dtype, size, trust, rng, **rule):
    """Two stacks in the same random state, one for each way."""
    from orthoprox.nn import orthogonal_
    from orthoprox.nn._host import Host
    from orthoprox.nn._marks import mark_of
    from orthoprox.nn._penalty import Penalty
    from orthoprox.nn._stack import Rule, Stack

    W, M, y, z = orthonormal(rng, *shape), *(rng.standard_normal(shape) for _ in range(3))
    square, both = rng.uniform(0.5, 1.5, shape[0]), []
    for _ in range(2):
        module = torch.nn.Module()
        module.weight = torch.nn.Parameter(torch.tensor(W, dtype=dtype))
        mark = mark_of(orthogonal_(module).weight)
        term = None if penalty is None else Penalty.of(penalty, shape)
        stack = Stack([module.weight], [mark], term, Rule(beta=0.7, theta=1.1, **rule), defaultdict(dict))
        stack.momentum.copy_(torch.tensor(size * M))
        stack.square.copy_(torch.tensor(square))
        stack.trust.copy_(torch.tensor(trust))
        if term is not None:
            stack.y.add_(torch.tensor(0.02 * size * y))
            stack.z.copy_(torch.tensor(0.3 * size * z))
        stack.set_knobs(5.0, 0.8, 1.3, 1.2, 1.1)
        both.append(stack)
    assert isinstance(both[0].fused, Host)
    both[1].fused = None
    return both


def compare(torch, one, other, scaled, tolerance):
    with torch.no_grad():
        one.move(scaled)
        other.move(scaled)
    for name in ("X", "trust", "excess", "worst", "momentum", *(("y", "z") if one.penalty is not None else ())):
        a, b = getattr(one, name), getattr(other, name)
        assert torch.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True), name


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@pytest.mark.parametrize(("scaled", "trust"), [(False, 1.0), (True, 1.0), (False, (0.9, 1.0, 0.4))])
def test_a_step_on_a_processor_is_the_plain_one_at_every_degree(torch, rng, penalty, scaled, trust):
    met = set()
    for shape in ((3, 4, 9), (3, 9, 4), (3, 6, 6)):
        for dtype, tolerance in ((torch.float64, 1e-11), (torch.float32, 3e-6)):
            for size in (0.003, 0.06, 0.2):
                one, other = states(torch, shape, penalty, dtype, size, trust, rng)
                compare(torch, one, other, scaled, tolerance)
                met |= {k for k, (low, high) in enumerate(BANDS) if low < float(one.worst) <= high}
    assert met == {0, 1, 2}


@pytest.mark.parametrize("rule", [{}, {"sigma": 1.3}, {"tau": 0.5}])
@pytest.mark.parametrize("scaled", [False, True])
def test_refused_steps_and_other_constants_are_treated_alike(torch, rng, rule, scaled):
    for bad in (4.0, np.nan, np.inf, None):
        one, other = states(torch, (3, 4, 9), 0.01 * L1(), torch.float64, 0.03, (0.5, 1.0, 1.0), rng, **rule)
        for stack in (one, other) if bad is not None else ():
            stack.momentum[1] = bad
            stack.square[1] = bad
        before = one.X.clone()
        compare(torch, one, other, scaled, 1e-11)
        assert torch.equal(before[1], one.X[1]) == (bad is not None)
        assert not torch.equal(before[0], one.X[0]) and bool(one.y.isfinite().all()) and bool(one.z.isfinite().all())


def test_zeros_of_the_split_variable_are_exact_and_those_of_the_prox(torch, rng):
    one, other = states(torch, (2, 6, 30), 0.3 * L1(), torch.float32, 0.05, 1.0, rng)
    compare(torch, one, other, False, 3e-6)
    assert 10 < int((one.y == 0).sum()) < 350
    assert torch.equal(one.y == 0, other.y == 0)


def test_short_polynomials_keep_the_tolerance_of_the_long_one_on_their_reach():
    reaches = [short_root(1).reach, short_root(2).reach, short_root(4).reach, inverse_root().reach]
    assert reaches == sorted(reaches)
    for degree in (1, 2, 4):
        root = short_root(degree)
        x = np.linspace(-root.reach, root.reach, 1001)
        error = np.polynomial.polynomial.polyval(x, root.coefficients) * np.sqrt(1 + x) - 1
        assert 1e-7 < np.abs(error).max() < 1.3e-7


def test_stacks_share_memory_and_one_that_grows_does_not_disturb_the_others(torch):
    from orthoprox.nn import OrthoProx, orthogonal_, report

    torch.manual_seed(0)
    small, large = orthogonal_(torch.nn.Linear(5, 3, bias=False)), orthogonal_(torch.nn.Linear(40, 30, bias=False))
    both = torch.nn.ModuleList([small, large])
    alone = orthogonal_(torch.nn.Linear(5, 3, bias=False))
    alone.load_state_dict(small.state_dict())
    two, one = OrthoProx(both, lr=0.05, penalty=0.01 * L1()), OrthoProx(alone, lr=0.05, penalty=0.01 * L1())
    for t in range(6):
        small.weight.grad = alone.weight.grad = torch.randn(3, 5)
        large.weight.grad = torch.randn(30, 40) if t > 1 else None
        two.step()
        one.step()
        assert torch.equal(small.weight, alone.weight) and report(both).infeasibility < 1e-6

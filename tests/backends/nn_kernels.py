"""Steps by the kernels of orthoprox.nn beside plain ones; run by test_nn_finish.py in Triton's interpreter."""

from collections import defaultdict

import torch

from orthoprox.nn import orthogonal_
from orthoprox.nn._fused import Fused, kernels_for
from orthoprox.nn._marks import mark_of
from orthoprox.nn._penalty import Penalty
from orthoprox.nn._stack import Rule, Stack
from orthoprox.terms import L1, LargestK

CASES = [
    ((3, 16, 40), None, False),
    ((2, 9, 5), 0.01 * L1(), True),
    ((2, 20, 20), 0.01 * (L1() - LargestK(50)), False),
    ((2, 70, 90), None, True),
    ((2, 70, 90), 0.01 * L1(), False),
    ((1, 100, 30), 0.01 * L1(), False),
    ((2, 64, 64), 0.01 * (L1() - LargestK(50)), True),
    ((2, 66, 12), 0.01 * (L1() - LargestK(50)), True),
]


def stepped(shape, penalty, scaled, fused, bad=None):
    module, draw = torch.nn.Module(), torch.Generator().manual_seed(0)
    module.weight = torch.nn.Parameter(torch.randn(shape, generator=draw))
    orthogonal_(module)
    term = None if penalty is None else Penalty.of(penalty, shape)
    rule = Rule(beta=0.7, theta=1.1)
    stack = Stack([module.weight], [mark_of(module.weight)], term, rule, defaultdict(dict))
    stack.fused = Fused(stack, *kernels_for(torch.device("cpu"))) if fused else None
    stack.momentum.copy_(0.1 * torch.randn(shape, generator=draw))
    stack.momentum[0] *= 30 if shape[0] > 1 else 1  # the first of several is refused
    stack.square.copy_(torch.rand(shape[0], generator=draw) + 0.5)
    if bad is not None:  # what such a gradient leaves behind
        stack.momentum[0], stack.square[0] = bad, bad
    stack.trust.copy_(torch.rand(shape[0], generator=draw) * 0.4 + 0.1)
    if penalty is not None:
        stack.z.copy_(0.005 * torch.randn(shape, generator=draw))
        stack.y.add_(0.003 * torch.randn(shape, generator=draw))
    stack.set_knobs(5.0, 0.8, 1.3, 1.2, 1.1)
    start = stack.X.clone()
    with torch.no_grad():
        stack.move(scaled)
    moved = [not torch.equal(one, other) for one, other in zip(start, stack.X, strict=True)]
    assert moved == [shape[0] == 1] + [True] * (shape[0] - 1), (shape, moved, stack.excess)
    return stack


runs = [(*case, None) for case in CASES] + [(*CASES[i], bad) for i in (1, 6, 7) for bad in (torch.nan, torch.inf)]
for shape, penalty, scaled, bad in runs:
    one, other = (stepped(shape, penalty, scaled, fused, bad) for fused in (False, True))
    assert bad is None or (bool(one.y.isfinite().all()) and bool(one.z.isfinite().all()))
    for name in ("X", "trust", "worst", "excess", *(("y", "z") if penalty is not None else ())):
        assert torch.allclose(getattr(one, name), getattr(other, name), rtol=1e-5, atol=1e-6, equal_nan=True), (
            shape,
            name,
        )
print(len(runs), "steps agree")

"""The kernel for inverse roots beside plain products; run by test_programs.py in Triton's interpreter."""

import torch

from orthoprox.backends import _roots
from orthoprox.backends.torch import TORCH
from orthoprox.manifolds._polar import _inverse_root

TORCH.inverse_root = lambda gram, steps: None  # plain products, whatever there is
draw = torch.Generator().manual_seed(0)
for dtype, close in ((torch.float64, 1e-12), (torch.float32, 1e-4)):
    assert all(_roots._works(torch.device("cpu"), dtype, size) for size in (8, 16))
    for r in (1, 5, 9):
        Y = torch.randn(4, r + 20, r, generator=draw, dtype=dtype)
        grams = 10.0 ** torch.arange(-3, 1, dtype=dtype)[:, None, None] * (Y.mT @ Y)
        for steps in (1, 9):
            plain = [torch.stack(parts) for parts in zip(*(_inverse_root(gram, steps) for gram in grams), strict=True)]
            mapped = torch.func.vmap(lambda gram, steps=steps: _roots.roots(gram, steps))(grams)
            last = torch.func.vmap(lambda gram, steps=steps: _roots.roots(gram, steps), in_dims=2)(
                grams.permute(1, 2, 0)
            )
            alone = _roots.roots(grams[2], steps)
            for found in (mapped, last):
                for one, other in zip(found, plain, strict=True):
                    assert torch.allclose(one, other, rtol=close, atol=close * max(1.0, float(other.abs().max()))), (
                        r,
                        steps,
                    )
            assert torch.equal(alone[0], mapped[0][2])
            assert torch.equal(alone[1], mapped[1][2])
bad = torch.stack([torch.full((3, 3), torch.nan), torch.eye(3) * torch.inf, torch.zeros(3, 3)]).double()
assert not (_roots.roots(bad, 9)[1] <= 1.0).any(), _roots.roots(bad, 9)
print("the roots agree")

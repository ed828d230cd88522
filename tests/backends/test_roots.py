"""The kernel for roots of tiny matrices: what it computes, what it is for a stack, and when there is none."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orthoprox.manifolds._polar import _inverse_root

pytestmark = pytest.mark.backends


@pytest.fixture
def roots(torch, monkeypatch) -> Any:
    """The module, with plain products in place of the kernel."""
    from orthoprox.backends import _roots

    def launch(gram: Any, root: Any, residual: Any, steps: int) -> None:
        assert gram.is_contiguous() and root.is_contiguous()
        flat = zip(gram.reshape(-1, *gram.shape[-2:]), root.view(-1, *gram.shape[-2:]), residual.view(-1), strict=True)
        for one, into, left in flat:
            found = _inverse_root(one, steps)
            into.copy_(found[0])
            left.copy_(found[1])

    monkeypatch.setattr(_roots, "_launch", launch)
    return _roots


def test_the_kernel_computes_what_products_compute():
    """In Triton's interpreter, which runs it on tensors of the host; it is chosen before Triton is imported."""
    pytest.importorskip("triton")
    file = Path(__file__).with_name("roots_kernel.py")
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    said = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, env=environment)
    assert "the roots agree" in said.stdout, said.stderr[-2000:]


def test_a_stack_has_the_roots_of_its_matrices(torch, roots):
    """Along any axis, in two stacks at once, and beside a stack of something else."""
    Y = torch.randn(2, 3, 9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    grams = Y.mT @ Y
    flat = [_inverse_root(gram, 9) for gram in grams.reshape(-1, 4, 4)]
    wanted = [torch.stack(parts).reshape(2, 3, *parts[0].shape) for parts in zip(*flat, strict=True)]
    vmap = torch.func.vmap

    def one(gram: Any) -> Any:
        return roots.roots(gram, 9)

    rows = [vmap(one, in_dims=2)(part.permute(1, 2, 0)) for part in grams]
    for found in (
        one(grams.mT),
        vmap(one)(grams),
        vmap(vmap(one))(grams),
        vmap(vmap(one, 1), 3)(grams.permute(2, 1, 3, 0)),
    ):
        assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))
    assert all(torch.equal(a, b[k]) for k, row in enumerate(rows) for a, b in zip(row, wanted, strict=True))
    shared = vmap(lambda factor: factor * one(grams[0, 0])[0])(torch.arange(3.0, dtype=torch.float64))
    assert torch.equal(shared, torch.stack([k * wanted[0][0, 0] for k in range(3)]))


def test_the_kernel_is_used_only_where_it_works(torch, roots, monkeypatch):
    kind = (torch.device("cpu"), torch.float64, 8)
    roots._works.cache_clear()
    assert roots._works(*kind)
    monkeypatch.setattr(roots, "_launch", lambda gram, root, residual, steps: root.copy_(gram) and residual.zero_())
    roots._works.cache_clear()
    assert not roots._works(*kind)
    monkeypatch.delattr(torch._C._functorch, "is_batchedtensor")  # as a later PyTorch may
    roots._works.cache_clear()
    assert not roots._works(*kind)
    roots._works.cache_clear()


def test_where_there_is_no_kernel_nothing_is_said(torch, roots, monkeypatch):
    """On the host, for large matrices, and where somebody wants derivatives, which the kernel has none of."""
    monkeypatch.setattr(roots, "_works", lambda *kind: True)
    monkeypatch.setattr(roots, "roots", lambda gram, steps: "found")
    assert roots.inverse_roots(torch.eye(3), 5) is None

    def gram(size: int, graph: bool) -> Any:
        return SimpleNamespace(is_cuda=True, requires_grad=graph, shape=(size, size), device=None, dtype=None)

    asked = [(3, False), (3, True), (17, False)]
    assert [roots.inverse_roots(gram(*each), 5) for each in asked] == ["found", None, None]

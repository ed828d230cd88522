"""The end of training in orthoprox.nn: exact zeros, tuning on them, sparse tensors, reports; what the pages show."""

import doctest
import importlib
import itertools
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

from orthoprox import Problem, Stiefel
from orthoprox.problem import Certificate, criticality
from orthoprox.terms import L1, ExplainedVariance, GroupL2, LargestK

pytestmark = pytest.mark.backends
ROOT = Path(__file__).resolve().parent.parent.parent


def trained(torch, penalty, shape=(5, 24), steps=300, **how):
    """A layer that looks for directions of large variance."""
    from orthoprox.nn import OrthoProx, orthogonal_

    torch.manual_seed(0)
    layer = orthogonal_(torch.nn.Linear(shape[1], shape[0], bias=False).double(), penalty=penalty)
    optimizer = OrthoProx(layer, lr=0.02, **how)
    B = torch.tensor(np.random.default_rng(0).standard_normal((60, shape[1])) / 8)

    def loss():
        optimizer.zero_grad()
        value = -(B @ layer.weight.T).square().sum() / 2
        value.backward()
        return value.item()

    for _ in range(steps):
        loss()
        optimizer.step()
    return layer, optimizer, loss


@pytest.mark.parametrize("penalty", [0.15 * L1(), 0.3 * (L1() - LargestK(40)), 0.3 * GroupL2("columns")])
def test_the_zeros_of_y_become_zeros_of_the_weight_which_stays_orthonormal(torch, penalty):
    from orthoprox.nn import finish_

    layer, optimizer, _ = trained(torch, penalty)
    W, y = layer.weight.detach().clone(), optimizer.split(layer.weight)
    assert 0.1 < float((y == 0).double().mean()) < 0.9
    assert float((W - y).norm() / W.norm()) < 0.05
    measured = iter((0.25, 0.75))
    found = finish_(layer, evaluate=lambda: next(measured))
    assert torch.equal(layer.weight == 0, y == 0)
    assert found.infeasibility < 1e-12 and (found.before, found.after) == (0.25, 0.75)
    assert float((layer.weight.detach() - W).norm() / W.norm()) < 0.1
    assert "before 0.25, after 0.75" in str(found) and f"{found.rows[0].nonzeros}" in str(found)
    if isinstance(penalty, GroupL2):  # whole inputs are dropped
        assert all(column.all() or not column.any() for column in (layer.weight != 0).T)


def test_finishing_twice_and_from_a_saved_run_changes_nothing(torch):
    from orthoprox.nn import OrthoProx, criticality, finish_, orthogonal_

    layer, optimizer, loss = trained(torch, 0.15 * L1())
    finish_(layer)
    for _ in range(3):
        loss()
        optimizer.step()
    W = layer.weight.detach().clone()
    assert torch.equal(optimizer.split(layer.weight), W) and not optimizer.multiplier(layer.weight).any()
    other = orthogonal_(torch.nn.Linear(24, 5, bias=False).double())
    other.load_state_dict(layer.state_dict())
    again = OrthoProx(other, lr=0.02)
    again.load_state_dict(optimizer.state_dict())
    for model in (layer, other):
        finish_(model)
        assert torch.equal(model.weight, W)
    loss()
    other.weight.grad = layer.weight.grad.clone()
    optimizer.step()
    again.step()
    assert torch.equal(layer.weight, other.weight) and not torch.equal(layer.weight, W)
    for _ in range(2000):
        loss()
        optimizer.step()
    found = criticality(optimizer)  # on the zeros, where the weight came to rest
    assert found.primal == found.dual == 0 and found.stationarity < 1e-6


@pytest.mark.parametrize(("nonzeros", "most"), [(1, 6), (6, 6), (13, 13), (0.3, 21), (1.0, 72)])
def test_a_matrix_keeps_at_most_so_many_entries_and_one_for_each_row(torch, nonzeros, most):
    from orthoprox.nn import finish_, orthogonal_

    for seed in range(5):
        torch.manual_seed(seed)
        found = finish_(orthogonal_(torch.nn.Linear(12, 6)), nonzeros=nonzeros)
        assert 6 <= found.rows[0].nonzeros <= most and found.infeasibility < 1e-6


@pytest.mark.parametrize("how", [{}, {"betas": (0.9, 0.99)}])
def test_steps_after_that_keep_the_zeros_and_lower_the_loss(torch, how):
    from orthoprox.nn import finish_, report, to_sparse

    layer, optimizer, loss = trained(torch, 0.3 * (L1() - LargestK(40)), **how)
    finish_(layer)
    support, before = layer.weight != 0, loss()
    for _ in range(20):
        loss()
        optimizer.step()
        assert report(layer).infeasibility < 1e-12
    assert torch.equal(layer.weight != 0, support)
    assert loss() < before
    layer.weight.grad[0, 0] = torch.nan
    still = layer.weight.detach().clone()
    with pytest.warns(RuntimeWarning, match="NaN or infinite"):
        optimizer.step()
    assert torch.equal(still, layer.weight)
    sparse = to_sparse(layer)["weight"]
    assert sparse.layout is torch.sparse_csr and torch.equal(sparse.to_dense(), layer.weight)


@pytest.mark.parametrize("nesterov", [True, False])
def test_a_step_after_that_goes_along_the_averaged_gradient_among_matrices_with_these_zeros(torch, rng, nesterov):
    from orthoprox.nn import OrthoProx, finish_, orthogonal_

    lr, momentum = 1e-7, 0.6
    layer = orthogonal_(torch.nn.Linear(7, 3, bias=False, dtype=torch.float64))
    finish_(layer, nonzeros=12)
    X = layer.weight.detach().numpy().T.copy()
    optimizer = OrthoProx(layer.parameters(), lr, momentum, nesterov=nesterov)
    M = np.zeros_like(X)
    for _ in range(3):
        before, G = layer.weight.detach().numpy().T.copy(), rng.standard_normal(X.shape)
        layer.weight.grad = torch.tensor(G.T.copy())
        optimizer.step()
        M = momentum * M + (1 - momentum) * G
        D = (momentum * M + (1 - momentum) * G if nesterov else M)[X != 0]
        # of the entries that may move, those normal to X'X = I are combinations of the derivatives of its entries
        normals = [(X @ (np.outer(e, f) + np.outer(f, e)))[X != 0] for e, f in itertools.product(np.eye(3), repeat=2)]
        tangent = D - np.array(normals).T @ np.linalg.lstsq(np.array(normals).T, D, rcond=None)[0]
        moved = (layer.weight.detach().numpy().T - before)[X != 0] * (1 - momentum) / lr
        assert np.abs(moved + tangent).max() < 1e-5


def test_a_number_of_nonzeros_is_kept_to_and_square_matrices_of_few_are_permutations(torch, rng):
    from orthoprox.nn import finish_, orthogonal_, release_, report, to_sparse

    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(4, 6, 3), torch.nn.Linear(20, 20), torch.nn.Linear(8, 30)]
    model = torch.nn.Sequential(*(orthogonal_(layer) for layer in layers))
    found = finish_(model, nonzeros=0.2)
    for row in found.rows:
        assert row.nonzeros <= 0.2 * np.prod(row.shape) and row.zeros >= 0.8 and row.infeasibility < 1e-6
    assert found.zeros >= 0.8
    assert to_sparse(model)["0.weight"].is_sparse
    assert report(release_(model)).rows == ()


def test_blocks_start_sparse_and_orthonormal(torch):
    from orthoprox.nn import orthogonal_, report

    torch.manual_seed(0)
    for shape in ((20, 20), (9, 30), (30, 9)):
        layer = orthogonal_(torch.nn.Linear(shape[1], shape[0]).double(), init=("blocks", 3))
        row = report(layer).rows[0]
        assert row.infeasibility < 1e-13
        assert abs((1 - row.zeros) - 3 / min(shape)) < 0.05


def test_criticality_is_that_of_the_problem_where_the_gradient_is_whole(torch, rng):
    from orthoprox.nn import OrthoProx, orthogonal_
    from orthoprox.nn import criticality as estimate

    n, r, weight = 9, 3, 0.7
    B = rng.standard_normal((30, n))
    problem = Problem.of(ExplainedVariance(B) + weight * 0.2 * L1() - weight * 0.2 * LargestK(10), over=Stiefel(n, r))
    layer = torch.nn.Module()
    layer.weight = torch.nn.Parameter(torch.tensor(problem.M.random(1)))
    orthogonal_(layer, penalty=0.2 * (L1() - LargestK(10)), init="keep")
    optimizer = OrthoProx([layer.weight], 0.002, weight_schedule=lambda t: weight)
    for _ in range(30):
        layer.weight.grad = torch.tensor(problem.f.gradient(layer.weight.detach().numpy()))
        optimizer.step()
    X = layer.weight.detach().numpy()
    layer.weight.grad = torch.tensor(problem.f.gradient(X))
    y, z = optimizer.split(layer.weight).numpy(), optimizer.multiplier(layer.weight).numpy()
    for shift in (0.0, 0.3):  # z off the subdifferential
        optimizer.state[layer.weight]["z"] += shift
        wanted = criticality(problem, Certificate(problem.at(X), y, z + shift))
        assert np.allclose(estimate(optimizer), wanted, rtol=1e-10, atol=1e-12)
    assert wanted.dual > 0.1 and wanted.stationarity > 0.1


def test_kernels_compute_what_the_plain_step_computes(torch):
    """In Triton's interpreter, which runs them on tensors of the host; it is chosen before Triton is imported."""
    pytest.importorskip("triton")
    import os
    import subprocess
    import sys

    file = Path(__file__).with_name("nn_kernels.py")
    said = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, env={**os.environ, "TRITON_INTERPRET": "1"}
    )
    assert said.returncode == 0, said.stderr[-2000:]
    assert "14 steps agree" in said.stdout


def test_the_examples_of_the_docstrings_and_of_the_page_run(torch, capsys, tmp_path, monkeypatch):
    import orthoprox.nn

    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    tried = 0
    for found in pkgutil.iter_modules(orthoprox.nn.__path__):
        if found.name != "_triton":
            result = doctest.testmod(importlib.import_module(f"orthoprox.nn.{found.name}"))
            assert result.failed == 0
            tried += result.attempted
    assert tried > 30 and doctest.testmod(orthoprox.nn).failed == 0
    names = {}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "layers.md").read_text("utf-8"), flags=re.DOTALL)
    for block in blocks:
        exec(block, names)
    assert len(blocks) >= 2 and "max |WW-I|" in capsys.readouterr().out


@pytest.mark.parametrize(("page", "words"), [("gpu", "cpu True"), ("layers", "max |WW-I|")])
def test_the_how_to_pages_that_need_pytorch_run(torch, page, words, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    names = {}
    for block in re.findall(
        r"```python\n(.*?)```", (ROOT / f"docs/howto/{page}.md").read_text("utf-8"), flags=re.DOTALL
    ):
        exec(block, names)
    assert words in capsys.readouterr().out


def test_the_example_ends_with_a_picture(torch, tmp_path, monkeypatch):
    monkeypatch.setattr(torch, "set_num_threads", lambda count: None)
    importlib.import_module("test_examples").check_example("orthogonal_layers", tmp_path, monkeypatch)

"""orthoprox.nn beside what users of PyTorch do: saving, schedules, mixed precision, compiling, several processes."""

import copy
import pickle
import socket

import numpy as np
import pytest

from orthoprox.terms import L1, LargestK

pytestmark = pytest.mark.backends


def network(torch, penalty=None, seed=0):
    from orthoprox.nn import orthogonal_

    torch.manual_seed(seed)
    first, second, last = torch.nn.Linear(12, 6), torch.nn.Linear(6, 9), torch.nn.Linear(9, 3)
    return torch.nn.Sequential(orthogonal_(first, penalty=penalty), torch.nn.Tanh(), orthogonal_(second), last)


def data(torch):
    draw = torch.Generator().manual_seed(1)
    return torch.randn(40, 12, generator=draw), torch.randint(3, (40,), generator=draw)


def loss_of(torch, model, samples=slice(None)):
    x, t = data(torch)
    return torch.nn.functional.cross_entropy(model(x[samples]), t[samples])


def train(torch, model, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(torch, model)
        loss.backward()
        optimizer.step()
    return loss.item()


def worst(model):
    from orthoprox.nn import report

    return report(model).infeasibility


@pytest.mark.parametrize("how", [{}, {"betas": (0.9, 0.99)}])
def test_a_saved_run_goes_on_exactly(torch, tmp_path, how):
    from orthoprox.nn import OrthoProx

    settings = {
        "lr": 0.02,
        "penalty": 0.01 * (L1() - LargestK(20)),
        "weight_schedule": lambda t: min(1.0, t / 9),
        **how,
    }
    model = network(torch)
    optimizer = OrthoProx(model.parameters(), **settings)
    train(torch, model, optimizer, 7)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "saved.pt")
    train(torch, model, optimizer, 6)
    other = network(torch, seed=5)
    again = OrthoProx(other.parameters(), **settings)
    train(torch, other, again, 2)
    saved = torch.load(tmp_path / "saved.pt", weights_only=True)
    other.load_state_dict(saved["model"])
    again.load_state_dict(saved["optimizer"])
    train(torch, other, again, 6)
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, two)
    assert torch.equal(optimizer.split(model[0].weight), again.split(other[0].weight))


def test_the_loss_falls_the_rest_is_trained_and_the_weights_stay_ordinary_parameters(torch):
    from orthoprox.nn import OrthoProx

    model = network(torch)
    assert all(type(p) is torch.nn.Parameter for p in model.parameters())
    assert set(model.state_dict()) == {f"{i}.{name}" for i in (0, 2, 3) for name in ("weight", "bias")}
    bias, before = model[3].bias.detach().clone(), loss_of(torch, model).item()
    after = train(torch, model, OrthoProx(model.parameters(), lr=0.05), 60)
    assert after < 0.6 * before and worst(model) < 1e-5
    assert not torch.equal(bias, model[3].bias)


def test_without_marks_it_would_be_sgd_and_another_base_takes_part(torch):
    from orthoprox.nn import OrthoProx

    models = [network(torch) for _ in range(3)]
    optimizers = [
        OrthoProx(models[0].parameters(), lr=0.05),
        OrthoProx(models[1], lr=0.05, base=lambda groups: torch.optim.Adam(groups, lr=0.01)),
    ]
    plain = torch.optim.SGD([p for name, p in models[2].named_parameters() if "0.w" not in name], lr=0.05, momentum=0.9)
    optimizers.append(plain)
    grads = [torch.randn_like(p) for p in models[0].parameters()]
    for _ in range(3):
        for model, optimizer in zip(models, optimizers, strict=True):
            for p, g in zip(model.parameters(), grads, strict=True):
                p.grad = 0.1 * g
            optimizer.step()
    assert torch.equal(models[0][3].weight, models[2][3].weight)
    assert not torch.equal(models[1][3].weight, models[2][3].weight)
    assert torch.equal(models[0][0].weight, models[1][0].weight)


def test_schedules_reach_both_parts_and_may_begin_at_zero(torch):
    from orthoprox.nn import OrthoProx

    model = network(torch)
    optimizer = OrthoProx(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: 0.0 if t == 0 else 0.5**t)
    before = [p.detach().clone() for p in model.parameters()]
    train(torch, model, optimizer, 1)
    assert all(torch.equal(p, q) for p, q in zip(before, model.parameters(), strict=True))
    schedule.step()
    assert {group["lr"] for group in optimizer.param_groups} == {0.05}
    assert optimizer.base.param_groups[0] is optimizer.param_groups[-1]
    train(torch, model, optimizer, 1)
    assert not any(torch.equal(p, q) for p, q in zip(before, model.parameters(), strict=True))


def test_groups_are_divided_and_added(torch):
    from orthoprox.nn import OrthoProx, orthogonal_

    model = network(torch)
    groups = [{"params": model[0].parameters(), "lr": 0.01}, {"params": model[2:].parameters()}]
    optimizer = OrthoProx(groups, lr=0.2)
    own = [group for group in optimizer.param_groups if group["orthogonal"]]
    assert [(len(group["params"]), group["lr"]) for group in own] == [(1, 0.01), (1, 0.2)]
    assert sorted(group["lr"] for group in optimizer.base.param_groups) == [0.01, 0.2]
    more = orthogonal_(torch.nn.Linear(4, 4, bias=False))
    optimizer.add_param_group({"params": [more.weight], "lr": 0.3})
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(3))]})
    assert len(optimizer.base.param_groups) == 3 and len(optimizer.param_groups) == 6
    train(torch, model, optimizer, 2)  # what has no gradient stays where it is
    assert worst(more) < 1e-6


def test_what_is_added_later_or_moved_by_one_of_two_optimisers_is_finished_by_its_own_split(torch):
    from orthoprox.nn import OrthoProx, finish_, orthogonal_

    more = orthogonal_(torch.nn.Linear(12, 3, bias=False))
    optimizer = OrthoProx(network(torch), lr=0.1, penalty=0.2 * L1())
    optimizer.add_param_group({"params": more.parameters()})
    idle = OrthoProx(more, lr=0.1)
    for _ in range(100):
        more.weight.grad = torch.zeros_like(more.weight)
        optimizer.step()
    y = optimizer.split(more.weight)
    assert torch.equal(idle.split(more.weight), more.weight) and bool((y == 0).any())
    finish_(more)
    assert bool((more.weight[y == 0] == 0).any())


@pytest.mark.parametrize("how", [{}, {"betas": (0.9, 0.99)}])
@pytest.mark.parametrize("name", ["OneCycleLR", "CyclicLR"])
def test_schedules_that_vary_the_momentum(torch, how, name):
    from orthoprox.nn import OrthoProx

    optimizer = OrthoProx(model := network(torch), lr=0.1, **how)
    settings = {"max_lr": 0.2, "total_steps": 8} if name == "OneCycleLR" else {"base_lr": 0.1, "max_lr": 0.2}
    schedule = getattr(torch.optim.lr_scheduler, name)(optimizer, **settings)
    seen = set()
    for _ in range(4):
        train(torch, model, optimizer, 1)
        schedule.step()
        seen.add(tuple(g["betas"][0] if how else g["momentum"] for g in optimizer.param_groups))
    assert len(seen) > 1 and all(own == other for own, other in seen) and worst(model) < 1e-6


def test_of_two_marks_on_a_shared_parameter_the_later_one_holds(torch):
    from orthoprox.nn import OrthoProx, orthogonal_, report

    first, second = orthogonal_(torch.nn.Linear(6, 6)), torch.nn.Linear(6, 6)
    second.weight = first.weight
    both = torch.nn.Sequential(first, orthogonal_(second, reshape=("rows", 2)))
    OrthoProx(both, lr=0.1)
    assert {row.shape for row in report(both).rows} == {(2, 3, 6)}


def test_a_parameter_without_a_gradient_stays_and_its_state_survives(torch):
    from orthoprox.nn import OrthoProx, orthogonal_

    layers = [orthogonal_(torch.nn.Linear(5, 3, bias=False), penalty=0.1 * L1()) for _ in range(3)]
    optimizer = OrthoProx([layer.weight for layer in layers], lr=0.05)
    draw = torch.Generator().manual_seed(0)
    for missing in (None, 1, None):
        before = layers[1].weight.detach().clone()
        held = optimizer.state[layers[1].weight].get("z", torch.zeros(1, 3, 5)).clone()
        for i, layer in enumerate(layers):
            layer.weight.grad = None if i == missing else 0.1 * torch.randn(3, 5, generator=draw)
        optimizer.step()
        assert torch.equal(before, layers[1].weight) == (missing == 1)
        assert torch.equal(held, optimizer.state[layers[1].weight]["z"]) == (missing == 1)


@pytest.mark.filterwarnings("ignore:.*was not orthonormal:RuntimeWarning")  # to the digits of float64
@pytest.mark.parametrize("steps", [1, 2])
def test_a_part_of_a_stack_that_is_cast_goes_on_with_its_state(torch, steps):
    from orthoprox.nn import OrthoProx, orthogonal_

    torch.manual_seed(0)
    layers = [orthogonal_(torch.nn.Linear(5, 3, bias=False), penalty=0.1 * L1()) for _ in range(2)]
    twins = copy.deepcopy(layers)
    optimizers = [OrthoProx(torch.nn.ModuleList(some), lr=0.05) for some in (layers, twins[:1], twins[1:])]
    draw = torch.Generator().manual_seed(0)

    def step():
        for layer, twin in zip(layers, twins, strict=True):
            layer.weight.grad = torch.randn(3, 5, generator=draw).to(layer.weight)
            twin.weight.grad = layer.weight.grad.to(twin.weight)
        for optimizer in optimizers:
            optimizer.step()

    for _ in range(steps):
        step()
    layers[0].double()
    for _ in range(steps):
        step()
    assert layers[0].weight.dtype == torch.float64 and torch.equal(layers[1].weight, twins[1].weight)
    assert torch.allclose(layers[0].weight.float(), twins[0].weight, atol=1e-6)
    assert torch.allclose(
        optimizers[0].split(layers[0].weight).float(), optimizers[1].split(twins[0].weight), atol=1e-6
    )
    layers[0].float()
    layers[1].double()  # each takes the place of the other
    step()
    for layer, twin, other in zip(layers, twins, optimizers[1:], strict=True):
        assert torch.allclose(layer.weight.float(), twin.weight, atol=1e-6)
        assert torch.allclose(optimizers[0].split(layer.weight).float(), other.split(twin.weight), atol=1e-6)
        assert not torch.equal(optimizers[0].split(layer.weight), layer.weight)


def test_the_split_variable_after_a_new_mark_is_the_present_one(torch):
    from orthoprox.nn import OrthoProx, orthogonal_

    layer = orthogonal_(torch.nn.Linear(6, 3, bias=False), penalty=0.5 * L1())
    optimizer = OrthoProx(layer, lr=0.1)
    for weight in (0.5, 0.01):
        orthogonal_(layer, penalty=weight * L1(), init="keep")
        for _ in range(30):
            layer.weight.grad = torch.zeros_like(layer.weight)
            optimizer.step()
    assert (optimizer.split(layer.weight) - layer.weight).detach().abs().max().item() < 0.05


def test_the_other_optimiser_takes_up_a_loaded_state_too(torch):
    from orthoprox.nn import OrthoProx

    saved = OrthoProx(network(torch), lr=0.1).state_dict()
    del saved["param_groups"][-1]["nesterov"]  # as an older PyTorch would have saved it
    optimizer = OrthoProx(model := network(torch), lr=0.1)
    optimizer.load_state_dict(saved)
    train(torch, model, optimizer, 2)


def test_copies_keep_their_marks_in_the_module(torch):
    from orthoprox.nn import OrthoProx, report

    model = network(torch)
    twin, loaded = copy.deepcopy(model), pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match="pass the model itself"):
        OrthoProx(twin.parameters(), lr=0.05)
    for other in (twin, loaded):
        train(torch, other, OrthoProx(other, lr=0.05), 5)
        assert len(report(other).rows) == 2 and worst(other) < 1e-5


def test_weights_that_something_else_changed_are_brought_back(torch):
    from orthoprox.nn import OrthoProx

    model = network(torch)
    optimizer = OrthoProx(model, lr=0.02)
    train(torch, model, optimizer, 2)
    with torch.no_grad():
        model[0].weight.mul_(2.0)
    with pytest.warns(RuntimeWarning, match=r"0\.weight was not orthonormal"):
        train(torch, model, optimizer, 1)
    assert worst(model) < 1e-5


def test_gradients_add_up_to_those_of_a_larger_batch(torch):
    from orthoprox.nn import OrthoProx

    whole, parts = network(torch), network(torch)
    one, other = OrthoProx(whole, lr=0.05), OrthoProx(parts, lr=0.05)
    for _ in range(3):
        one.zero_grad()
        loss_of(torch, whole).backward()
        one.step()
        other.zero_grad()
        for start in range(0, 40, 10):
            (loss_of(torch, parts, slice(start, start + 10)) / 4).backward()
        other.step()
    for p, q in zip(whole.parameters(), parts.parameters(), strict=True):
        assert torch.allclose(p, q, atol=1e-6)


def test_mixed_precision_keeps_the_weights_orthonormal_and_skips_steps_that_overflow(torch):
    from orthoprox.nn import OrthoProx

    model = network(torch, 0.01 * L1())
    optimizer, scaler = OrthoProx(model, lr=0.02), torch.amp.GradScaler("cpu", init_scale=2.0**10)
    for overflow in (False, False, True, False):
        before = model[0].weight.detach().clone()
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = loss_of(torch, model)
        scaler.scale(loss).backward()
        if overflow:
            model[0].weight.grad[0, 0] = torch.inf
        with torch.autocast("cpu", dtype=torch.bfloat16):  # a step inside must not compute in bfloat16
            scaler.step(optimizer)
        scaler.update()
        assert torch.equal(before, model[0].weight) == overflow
        assert worst(model) < 1e-6 and model[0].weight.dtype == torch.float32


def test_products_are_exact_whatever_precision_the_caller_allows(torch):
    from orthoprox.nn._precision import full_precision

    like, matmul = torch.zeros(1), torch.backends.mkldnn.matmul
    before = matmul.fp32_precision
    try:
        matmul.fp32_precision = "bf16"
        with full_precision(like):
            assert matmul.fp32_precision == "ieee"
            assert not torch.is_grad_enabled()
        assert matmul.fp32_precision == "bf16"
        with pytest.raises(RuntimeError, match="inside"), full_precision(like):
            raise RuntimeError("inside")
        assert matmul.fp32_precision == "bf16"
    finally:
        matmul.fp32_precision = before


def test_a_compiled_model_trains_as_it_would_otherwise(torch):
    from orthoprox.nn import OrthoProx

    plain, inner = network(torch), network(torch)
    compiled = torch.compile(inner, backend="eager")
    train(torch, plain, OrthoProx(plain.parameters(), lr=0.05), 5)
    train(torch, compiled, OrthoProx(compiled.parameters(), lr=0.05), 5)
    for p, q in zip(plain.parameters(), inner.parameters(), strict=True):
        assert torch.allclose(p, q, atol=1e-6)


def test_a_step_inside_a_compiled_function_runs_as_it_is(torch):
    from orthoprox.nn import OrthoProx

    plain, other = network(torch), network(torch)
    optimizers = [OrthoProx(model, lr=0.05, penalty=0.01 * L1()) for model in (plain, other)]
    compiled = torch.compile(lambda: train(torch, other, optimizers[1], 1), backend="eager")
    for _ in range(3):
        train(torch, plain, optimizers[0], 1)
        compiled()
    for p, q in zip(plain.parameters(), other.parameters(), strict=True):
        assert torch.allclose(p, q, atol=1e-6)


def one_of_two(rank, port, where):
    import torch
    import torch.distributed as dist

    from orthoprox.nn import OrthoProx

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    model = network(torch, 0.01 * L1())
    both = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = OrthoProx(both.parameters(), lr=0.05)
    for _ in range(4):
        optimizer.zero_grad()
        loss_of(torch, both, slice(20 * rank, 20 * rank + 20)).backward()
        optimizer.step()
    torch.save(model.state_dict(), f"{where}/{rank}.pt")
    dist.destroy_process_group()


def test_two_processes_take_the_steps_of_one(torch, tmp_path):
    from orthoprox.nn import OrthoProx

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(one_of_two, args=(port, str(tmp_path)), nprocs=2)
    first, second = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in (0, 1))
    model = network(torch, 0.01 * L1())
    train(torch, model, OrthoProx(model.parameters(), lr=0.05), 4)
    for name, p in model.state_dict().items():
        assert torch.equal(first[name], second[name])
        assert np.abs((first[name] - p).numpy()).max() < 1e-5

"""Bad use of orthoprox.nn gets a sentence."""

import subprocess
import sys

import numpy as np
import pytest

from orthoprox.maps import Matrix
from orthoprox.terms import L1, Quadratic, WeightedL1

pytestmark = pytest.mark.backends


def layer(torch, *shape, **how):
    module = torch.nn.Module()
    module.weight = torch.nn.Parameter(torch.randn(*shape, generator=torch.Generator().manual_seed(0), **how))
    return module


def wide(torch):
    from orthoprox.nn import orthogonal_

    return orthogonal_(layer(torch, 3, 5))


def test_what_cannot_be_marked(torch):
    from orthoprox.nn import orthogonal_

    base = torch.randn(4, 6, 5)
    view, tied, computed = torch.nn.Module(), torch.nn.Module(), torch.nn.Linear(3, 3)
    view.register_parameter("weight", torch.nn.Parameter(torch.zeros(1).expand(3, 4)))
    torch.nn.utils.parametrizations.weight_norm(computed)
    tied.weight = torch.nn.Parameter(base[0])
    cases = [
        (lambda: orthogonal_(torch.zeros(3, 3)), TypeError, "needs a module and the name of a parameter"),
        (lambda: orthogonal_(torch.nn.Linear(3, 2), "kernel"), ValueError, "is not a parameter; parameters .*: weight"),
        (lambda: orthogonal_(computed), ValueError, "is computed from others"),
        (lambda: orthogonal_(torch.nn.Linear(3, 2), "bias"), ValueError, "two or more axes"),
        (lambda: orthogonal_(layer(torch, 0, 3)), ValueError, "none of length zero"),
        (lambda: orthogonal_(layer(torch, 3, 3, dtype=torch.bfloat16)), TypeError, "float32 or float64; .*autocast"),
        (
            lambda: orthogonal_(layer(torch, 3, 3, dtype=torch.complex64)),
            TypeError,
            "real; given torch.complex64. Hold",
        ),
        (lambda: orthogonal_(view), ValueError, "is a view of other memory"),
        (lambda: orthogonal_(layer(torch, 6, 4), reshape=("rows", 4)), ValueError, "a multiple of 4; given shape"),
        (lambda: orthogonal_(layer(torch, 6, 4), reshape="heads"), ValueError, "reshape must be None, 'out', 'in'"),
        (lambda: orthogonal_(layer(torch, 6, 4), init="svd"), ValueError, "init must be 'nearest'"),
        (lambda: orthogonal_(layer(torch, 6, 4), init=("blocks", 9)), ValueError, "init must be 'nearest'"),
        (lambda: orthogonal_(layer(torch, 6, 4), init=("blocks", 1.5)), ValueError, "init must be 'nearest'"),
        (lambda: orthogonal_(torch.nn.LazyLinear(3)), ValueError, "weight has no values yet"),
        (lambda: orthogonal_(torch.nn.Linear(3, 3, device="meta")), ValueError, "weight has no values yet"),
        (lambda: orthogonal_(layer(torch, 6, 4), init="keep"), ValueError, "is not orthonormal: .* has an entry of"),
        (lambda: orthogonal_(layer(torch, 6, 4), penalty=3), TypeError, "A penalty is a term of orthoprox.terms"),
        (lambda: orthogonal_(layer(torch, 6, 4), penalty=Quadratic(torch.eye(6))), ValueError, "is smooth: add it to"),
        (lambda: orthogonal_(layer(torch, 6, 4), penalty=L1() @ Matrix(torch.eye(6))), ValueError, "bound to a map"),
    ]
    for make, kind, words in cases:
        with pytest.raises(kind, match=words):
            make()


def test_a_start_of_low_rank_or_that_is_not_finite(torch):
    from orthoprox.nn import orthogonal_

    module = layer(torch, 2, 4, 6)
    with torch.no_grad():
        module.weight[1, 3] = module.weight[1, 0]
    with pytest.raises(ValueError, match=r"weight has not full rank \(its matrix 1\).*init='random'"):
        orthogonal_(module)
    orthogonal_(module, init="random")
    with torch.no_grad():
        module.weight[0, 0, 0] = torch.nan
    with pytest.raises(ValueError, match="NaN or infinite entries"):
        orthogonal_(module)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"lr": 0.0}, "lr must be a positive number; given 0.0"),
        ({"lr": -1.0}, "lr must be a positive number"),
        ({"lr": float("nan")}, "lr must be a positive number"),
        ({"lr": "fast"}, "lr must be a positive number; given 'fast'"),
        ({"lr": 0.1, "momentum": 1.0}, r"momentum must be in \[0, 1\)"),
        ({"lr": 0.1, "betas": (0.9, 1.0)}, "betas must be two numbers"),
        ({"lr": 0.1, "betas": 0.9}, "betas must be two numbers"),
        ({"lr": 0.1, "penalty": L1}, "given the class L1"),
        ({"lr": 0.1, "sigma": 2.0}, r"sigma must be in \(0, 2\)"),
        ({"lr": 0.1, "beta": 0.0}, "beta must be positive"),
        ({"lr": 0.1, "weight_schedule": 0.5}, "weight_schedule must be a function of the step, .*; given 0.5"),
        ({"lr": 0.1, "base": 3}, "base must make an optimiser from a list of groups, .*; given int"),
        ({"lr": 0.1, "norm": "nuclear"}, "norm must be .frobenius. or .spectral.; given .nuclear."),
        ({"lr": 0.1, "penalty": "l1"}, "A penalty is a term"),
        ({"lr": 0.1, "penalty": WeightedL1(np.ones((1, 2)))}, "cannot be applied to"),
    ],
)
def test_settings_that_make_no_sense(torch, settings, words):
    from orthoprox.nn import OrthoProx

    with pytest.raises((ValueError, TypeError), match=words):
        OrthoProx([wide(torch).weight], **settings)


def test_parameters_that_cannot_be_trained(torch):
    from orthoprox.nn import OrthoProx, orthogonal_

    with pytest.raises(ValueError, match="no parameters"):
        OrthoProx([], lr=0.1)
    with pytest.raises(ValueError, match="None of these parameters is marked: call orthogonal_"):
        OrthoProx(torch.nn.Linear(3, 3).parameters(), lr=0.1)
    base, one, two = torch.randn(5, 6), torch.nn.Module(), torch.nn.Module()
    one.weight, two.weight = torch.nn.Parameter(base[:4]), torch.nn.Parameter(base[2:])
    with pytest.warns(RuntimeWarning, match=r"weight is a part of larger memory \(96 of 120 bytes\)"):
        orthogonal_(one)
    for second in (two.weight, torch.nn.Parameter(base), torch.nn.Parameter(base[1])):  # marked or not
        with pytest.raises(ValueError, match="A marked parameter shares memory with another"):
            OrthoProx([one.weight, torch.nn.Parameter(torch.zeros(2)), second], lr=0.1)
    with pytest.warns(RuntimeWarning), pytest.raises(ValueError, match="shares memory with another"):
        OrthoProx([one.weight, orthogonal_(two).weight], lr=0.1)
    embedding = orthogonal_(torch.nn.Embedding(9, 4, sparse=True))
    optimizer = OrthoProx(embedding.parameters(), lr=0.1)
    embedding(torch.tensor([1, 2])).sum().backward()
    with pytest.raises(ValueError, match="has a sparse gradient; .* sparse=False"):
        optimizer.step()
    mixed = {"params": [wide(torch).weight, torch.nn.Parameter(torch.zeros(2))]}
    with pytest.raises(ValueError, match="add them as two groups"):
        optimizer.add_param_group(mixed)


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ({"penalty": L1()}, "A group has no penalty; give one to a parameter"),
        ({"theta": 2.0}, "theta is set for all groups"),
        ({"maximize": True}, "maximize has no meaning"),
        ({"momentum": 1.0}, r"momentum must be in \[0, 1\)"),
        ({"lr": float("nan")}, "lr must be a positive number"),
    ],
)
def test_groups_that_ask_for_what_they_cannot_have(torch, group, words):
    from orthoprox.nn import OrthoProx

    module = wide(torch)
    with pytest.raises(ValueError, match=words):
        OrthoProx([{"params": module.parameters(), **group}], lr=0.1)
    optimizer = OrthoProx(wide(torch), lr=0.1)
    with pytest.raises(ValueError, match=words):
        optimizer.add_param_group({"params": module.parameters(), **group})
    assert len(optimizer.param_groups) == 1


def test_what_is_no_model_no_longer_marked_or_too_short(torch):
    from orthoprox.nn import OrthoProx, finish_, release_

    module = wide(torch)
    for given in (module.weight, [module]):
        with pytest.raises(TypeError, match="OrthoProx needs a model, or a list of parameters or groups"):
            OrthoProx(given, lr=0.1)
    with pytest.raises(ValueError, match="A group needs 'params'; given lr"):
        OrthoProx([{"lr": 0.1}], lr=0.1)
    with pytest.raises(TypeError, match="A module is needed; given int"):
        finish_(3)
    optimizer = OrthoProx(module, lr=0.1)
    module.weight.grad = torch.ones_like(module.weight)
    release_(module)
    with pytest.raises(RuntimeError, match="is no longer marked, say after release_"):
        optimizer.step()
    with pytest.raises(TypeError, match="must be float32 or float64; given torch.float16"):
        OrthoProx(wide(torch).half(), lr=0.1)
    module = wide(torch)
    with torch.no_grad():
        module.weight[0, 0] = torch.nan
    with pytest.raises(ValueError, match="weight has NaN or infinite entries"):
        finish_(module, nonzeros=4)


def test_marks_that_change_behind_the_optimiser_and_gradients_that_are_not_there(torch):
    from orthoprox.nn import OrthoProx, criticality, orthogonal_

    model = torch.nn.Sequential(orthogonal_(torch.nn.Linear(5, 4)), torch.nn.Linear(4, 2))
    optimizer = OrthoProx(model, lr=0.1)
    with pytest.raises(ValueError, match="No marked parameter has a gradient: call backward first"):
        criticality(optimizer)
    with pytest.raises(TypeError, match="criticality needs an OrthoProx; given SGD"):
        criticality(optimizer.base)
    model(torch.ones(3, 5)).sum().backward()
    optimizer.step()
    orthogonal_(model[1])
    with pytest.raises(RuntimeError, match="1.weight was marked after this optimiser was made"):
        optimizer.step()
    optimizer = OrthoProx(model, lr=0.1)
    optimizer.step()
    orthogonal_(model[0], reshape=("rows", 2))
    with pytest.raises(ValueError, match="has an optimiser state for .*orthogonal_ was called again"):
        optimizer.step()


def test_a_model_that_moved_away_from_its_optimiser(torch):
    from orthoprox.nn import OrthoProx

    module = wide(torch)
    optimizer = OrthoProx(module.parameters(), lr=0.1, penalty=0.1 * L1())
    module.weight.grad = torch.zeros_like(module.weight)
    optimizer.step()
    for key, value in optimizer.state[module.weight].items():
        optimizer.state[module.weight][key] = value.to("meta")
    optimizer._built.clear()
    with pytest.raises(ValueError, match="is on cpu and its optimiser state on meta: move the model before"):
        optimizer.step()


def test_schedules_that_give_no_weight_and_counts_that_are_none(torch):
    from orthoprox.nn import OrthoProx, finish_

    module = wide(torch)
    module.weight.grad = torch.zeros_like(module.weight)
    optimizer = OrthoProx(module.parameters(), lr=0.1, penalty=0.1 * L1(), weight_schedule=lambda t: -1.0)
    with pytest.raises(ValueError, match="weight_schedule must give a number that is not negative"):
        optimizer.step()
    optimizer.weight_schedule = lambda t: None
    with pytest.raises(TypeError, match="weight_schedule must give a number for each step; given None"):
        optimizer.step()
    for wrong in (0, float("inf"), "few", True):
        with pytest.raises(ValueError, match="nonzeros must be a positive number"):
            finish_(module, nonzeros=wrong)
    with pytest.raises(ValueError, match="is not marked"):
        optimizer.split(torch.nn.Parameter(torch.zeros(2, 2)))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("lr", float("nan"), "lr must be a positive number; given nan"),
        ("lr", -0.1, "lr must be a positive number; given -0.1"),
        ("lr", 1e-42, "a curvature of .*e.41, which torch.float32 cannot hold"),
        ("lr", 1e39, "a curvature of .*e-40, which torch.float32 cannot hold"),
        ("momentum", float("nan"), "momentum must be in .* given nan"),
        ("momentum", 1.0, "momentum must be in .* given 1.0"),
    ],
)
def test_schedules_that_give_no_step(torch, name, value, words):
    from orthoprox.nn import OrthoProx

    module = wide(torch)
    module.weight.grad = torch.ones_like(module.weight)
    optimizer = OrthoProx(module, lr=0.1)
    optimizer.step()
    before = module.weight.detach().clone()
    optimizer.param_groups[0][name] = value
    with pytest.raises(ValueError, match=words):
        optimizer.step()
    assert torch.equal(module.weight, before)
    optimizer.param_groups[0].update(lr=np.float32(0.1), momentum=0.5)
    optimizer.step()
    assert not torch.equal(module.weight, before)


def test_bases_that_cannot_take_part(torch):
    from orthoprox.nn import OrthoProx

    model = torch.nn.Sequential(wide(torch), torch.nn.Linear(2, 2))
    with pytest.raises(TypeError, match="base must return an optimiser of torch.optim; given int"):
        OrthoProx(model, lr=0.1, base=len)
    with pytest.raises(ValueError, match="LBFGS computes the loss several times .* a base whose step needs no closure"):
        OrthoProx(model, lr=0.1, base=torch.optim.LBFGS)


def without(state, name):
    first, *others = state["param_groups"]
    return {**state, "param_groups": [{key: first[key] for key in first if key != name}, *others]}


def test_states_of_other_optimisers_are_not_loaded(torch):
    from orthoprox.nn import OrthoProx

    model = torch.nn.Sequential(wide(torch), torch.nn.Linear(2, 2))
    optimizer = OrthoProx(model, lr=0.1)
    cases = [
        (torch.optim.SGD(model.parameters(), lr=0.1).state_dict(), ValueError, "the state of another optimiser"),
        (OrthoProx(wide(torch), lr=0.1).state_dict(), ValueError, "groups of 1 marked .* of 1 marked, 2 other"),
        (model.state_dict(), TypeError, "This is not the state of an optimiser"),
        (without(optimizer.state_dict(), "step"), ValueError, "This state lacks step in a group: give what"),
        (without(optimizer.state_dict(), "params"), ValueError, "This state lacks params in a group: give what"),
        ([], TypeError, "This is not the state of an optimiser"),
    ]
    for state, kind, words in cases:
        with pytest.raises(kind, match=words):
            optimizer.load_state_dict(state)
    optimizer.load_state_dict(optimizer.state_dict())


def test_without_pytorch_the_extra_is_named():
    code = "import sys; sys.modules['torch'] = None\nimport orthoprox\nassert 'orthoprox.nn' not in sys.modules\n"
    code += "try:\n    import orthoprox.nn\nexcept ModuleNotFoundError as error:\n    print(error)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "orthoprox.nn needs torch, which is not installed: pip install 'orthoprox[torch]', or" in said


def test_an_optimiser_is_not_copied(torch):
    import copy
    import pickle

    from orthoprox.nn import OrthoProx

    with pytest.raises(TypeError, match="save its state_dict"):
        copy.deepcopy(OrthoProx(wide(torch).parameters(), lr=0.1))
    with pytest.raises(TypeError, match="save its state_dict"):  # when it is saved, not when it is loaded
        pickle.dumps(OrthoProx(wide(torch).parameters(), lr=0.1))


def test_weights_whose_split_variable_is_lost_are_not_finished(torch):
    from orthoprox.nn import OrthoProx, finish_

    layer = wide(torch)
    optimizer = OrthoProx(layer, lr=0.1, penalty=0.1 * L1())
    layer.weight.grad = torch.zeros_like(layer.weight)
    optimizer.step()
    optimizer.state[layer.weight]["y"][0, 0, 0] = torch.nan
    with pytest.raises(ValueError, match="The split variable of weight has NaN"):
        finish_(layer)

"""One step of orthoprox.nn from random states, beside the same formulas written in NumPy."""

import warnings

import numpy as np
import pytest

from backends.nn_formulas import next_share, one_step, orthonormal, polar, tangent_part
from orthoprox import Problem, Stiefel
from orthoprox.manifolds.inverse_root import inverse_root
from orthoprox.solvers import OADMMEP
from orthoprox.terms import L1, MCP, ExplainedVariance, GroupL2, LargestK, Nuclear

pytestmark = pytest.mark.backends

SETTINGS = {"beta": 0.7, "theta": 1.3, "sigma": 1.2, "tau": 0.4, "xi": 0.5, "p": 0.4}
PENALTIES = {
    "none": None,
    "l1": 0.3 * L1(),
    "columns": 0.4 * GroupL2("columns"),
    "rows": 0.4 * GroupL2("rows"),
    "mcp": 0.2 * MCP(0.5, 9.0),
    "l1 minus largest": 0.3 * (L1() - LargestK(7)),
    "nuclear": 0.2 * Nuclear(),
}


def marked(torch, W, penalty=None, **how):
    from orthoprox.nn import orthogonal_

    layer = torch.nn.Module()
    layer.weight = torch.nn.Parameter(torch.tensor(W))
    return orthogonal_(layer, penalty=penalty, **how)


@pytest.mark.parametrize("shape", [(5, 3, 7), (4, 7, 3), (2, 6, 6), (3, 1, 4)])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 3e-14), ("float32", 2e-6)])
def test_the_polar_factor_by_products_is_that_of_singular_values_up_to_its_reach(torch, rng, shape, dtype, tolerance):
    from orthoprox.nn._polar import polar_near

    reach = inverse_root().reach
    assert reach > 0.35
    U, V = orthonormal(rng, shape[0], shape[1], min(shape[1:])), orthonormal(rng, shape[0], min(shape[1:]), shape[2])
    for share in (1e-3, 0.4, 0.6):
        sizes = np.sqrt(1 + share * reach * rng.uniform(-1, 1, (shape[0], 1, min(shape[1:]))))
        Y = (U * sizes) @ V
        found = polar_near(torch.tensor(Y.astype(dtype)))
        norms = np.abs(sizes**2 - 1).max(axis=(1, 2))
        assert np.all(found.excess.numpy() >= norms * (1 - 1e-3) - 1e-6)
        assert np.all(found.excess.numpy() <= norms * min(shape[1:]) ** 0.25 * (1 + 1e-3) + 1e-6)
        assert np.abs(found.X.numpy() - U @ V).max() < tolerance
    edge = np.sqrt(1 + reach * np.where(np.arange(min(shape[1:])) % 2, 1.0, -1.0))
    X = polar_near(torch.tensor(((U * edge) @ V).astype(dtype))).X.double().numpy()
    short = X @ X.transpose(0, 2, 1) if shape[1] <= shape[2] else X.transpose(0, 2, 1) @ X
    assert np.abs(short - np.eye(min(shape[1:]))).max() < {"float64": 1e-12, "float32": 1e-5}[dtype]


@pytest.mark.parametrize("rule", [SETTINGS, {**SETTINGS, "sigma": 1.0, "tau": 0.0, "theta": 1.0}], ids=["all", "plain"])
@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("tangent", [False, True])
@pytest.mark.parametrize(("shape", "nesterov"), [((3, 7), True), ((7, 3), False), ((7, 3), True), ((4, 4), False)])
def test_a_step_is_that_of_the_paper_with_an_averaged_gradient(torch, rng, shape, nesterov, tangent, name, rule):
    from orthoprox.nn import OrthoProx

    penalty, lr, momentum, weight, t = PENALTIES[name], 0.04, 0.6, 0.8, 5
    W = orthonormal(rng, 3, *shape)
    layer = marked(torch, W, penalty, init="keep")
    settings = {"weight_schedule": lambda k: 0.16 * k, "nesterov": nesterov, "tangent": tangent, **rule}
    optimizer = OrthoProx([layer.weight], lr, momentum, **settings)
    layer.weight.grad = torch.zeros_like(layer.weight)
    optimizer.step()  # makes the state
    optimizer.param_groups[0]["step"] = t
    y, z, M, G = (0.1 * rng.standard_normal((3, *shape)) for _ in range(4))
    y = W + 0.3 * y  # further away the step would be refused
    held = optimizer.state[layer.weight]
    for key, value in {"y": y, "z": z, "momentum": M}.items():
        if key in held:
            held[key].copy_(torch.tensor(value))
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(W))
    layer.weight.grad = torch.tensor(G)
    optimizer.step()
    for i in range(3):
        given = W[i], y[i], z[i], M[i], G[i], penalty, lr, momentum, weight, t, rule, nesterov, tangent
        X, y_new, z_new, M_new = one_step(*given)
        assert np.abs(layer.weight.detach().numpy()[i] - X).max() < 1e-12
        assert np.abs(held["momentum"].numpy()[i] - M_new).max() < 1e-14
        if penalty is not None:
            assert np.abs(held["y"].numpy()[i] - y_new).max() < 1e-12
            assert np.abs(held["z"].numpy()[i] - z_new).max() < 1e-11
    assert optimizer.param_groups[0]["step"] == t + 1


def test_the_k_largest_of_each_matrix_are_those_of_the_term_with_ties_too(torch, rng):
    from orthoprox.nn._penalty import Penalty

    X = rng.integers(-3, 4, (5, 4, 6)).astype(float)  # many entries are equal, some zero
    for k in (1, 7, 23, 24, 99):
        penalty = Penalty.of(0.3 * (L1() - LargestK(k)), X.shape)
        wanted = [0.3 * LargestK(k).subgradient(one) for one in X]
        assert np.allclose(penalty.pull(torch.tensor(X)).numpy(), wanted, atol=1e-15)


@pytest.mark.parametrize("tangent", [False, True])
def test_with_betas_a_step_has_the_length_that_lr_says_whatever_the_scale_of_the_gradient(torch, rng, tangent):
    from orthoprox.nn import OrthoProx

    W, lr, betas = orthonormal(rng, 2, 3, 8), 0.02, (0.8, 0.9)
    layer = marked(torch, W, init="keep")
    optimizer = OrthoProx([layer.weight], lr, betas=betas, tangent=tangent)
    M, v, X = np.zeros_like(W), np.zeros((2, 1, 1)), W
    for t in range(1, 4):
        G = rng.standard_normal(W.shape) * np.array([1e-3, 1e3])[:, None, None]
        layer.weight.grad = torch.tensor(G)
        if tangent:
            G = np.stack([tangent_part(x, one) for x, one in zip(X, G, strict=True)])
        M = betas[0] * M + (1 - betas[0]) * G
        v = betas[1] * v + (1 - betas[1]) * (G**2).sum(axis=(1, 2), keepdims=True) / 3
        X = polar(X - lr * (M / (1 - betas[0] ** t)) / np.sqrt(v / (1 - betas[1] ** t)))
        optimizer.step()
        assert np.abs(layer.weight.detach().numpy() - X).max() < 1e-12
    assert optimizer.shortened() == 0


def test_with_the_papers_settings_and_full_gradients_it_is_oadmm_ep(torch, rng):
    from orthoprox.nn import OrthoProx

    n, r = 9, 3
    B, X0 = rng.standard_normal((20, n)) / 5, orthonormal(rng, n, r)
    problem = Problem.of(ExplainedVariance(B) + 0.2 * L1() - 0.2 * LargestK(10), over=Stiefel(n, r))
    solver = OADMMEP(beta0=20.0, alpha=0.0)  # steps short enough to be taken
    state = solver.init(problem, X0)
    L = problem.f.lipschitz
    layer = marked(torch, X0, 0.2 * L1() - 0.2 * LargestK(10), init="keep")
    settings = {name: getattr(solver, name) for name in ("theta", "sigma", "tau", "xi", "p")}
    optimizer = OrthoProx([layer.weight], 1 / L, momentum=0.0, beta=solver.beta0 / L, **settings)
    for _ in range(20):
        state = solver.step(problem, state)
        layer.weight.grad = torch.tensor(problem.f.gradient(layer.weight.detach().numpy()))
        optimizer.step()
        assert np.abs(layer.weight.detach().numpy() - state.now.X).max() < 1e-11
    assert np.abs(optimizer.multiplier(layer.weight).numpy() - state.z).max() < 1e-10
    certificate = solver.certificate(problem, state)
    assert np.abs(optimizer.split(layer.weight).numpy() - certificate.y).max() < 1e-10


WAYS = {
    "matrix": ((4, 6), None, lambda W: W[None]),
    "batch": ((2, 3, 5), None, lambda W: W),
    "more axes": ((2, 3, 4, 2), "batch", lambda W: W.reshape(6, 4, 2)),
    "out": ((4, 2, 3, 3), "out", lambda W: W.reshape(1, 4, 18)),
    "in": ((4, 2, 3, 3), "in", lambda W: W.transpose(1, 0, 2, 3).reshape(1, 2, 36)),
    "heads of rows": ((6, 5), ("rows", 3), lambda W: W.reshape(3, 2, 5)),
    "heads of columns": ((5, 6), ("columns", 3), lambda W: W.reshape(5, 3, 2).transpose(1, 0, 2)),
}


@pytest.mark.parametrize("tangent", [False, True])
@pytest.mark.parametrize("name", WAYS)
def test_every_way_to_hold_matrices_takes_the_same_step(torch, rng, name, tangent):
    from orthoprox.nn import OrthoProx

    shape, reshape, matrices = WAYS[name]
    W, G = rng.standard_normal(shape), rng.standard_normal(shape)
    layer = marked(torch, W, reshape=reshape)
    before = matrices(layer.weight.detach().numpy().copy())
    assert np.abs(before - polar(matrices(W))).max() < 1e-14
    layer.weight.grad = torch.tensor(G)
    OrthoProx([layer.weight], 0.03, momentum=0.0, tangent=tangent).step()
    F = np.stack([tangent_part(x, g) if tangent else g for x, g in zip(before, matrices(G), strict=True)])
    assert np.abs(matrices(layer.weight.detach().numpy()) - polar(before - 0.03 * F)).max() < 1e-13


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("tangent", [False, True])
def test_parameters_of_one_shape_share_a_stack_and_step_as_they_would_alone(torch, rng, tangent, nesterov):
    from orthoprox.nn import OrthoProx

    terms, how = [0.2 * L1(), 0.2 * L1(), 0.1 * L1(), None], {"tangent": tangent, "nesterov": nesterov}
    weights = [orthonormal(rng, 3, 5) for _ in terms]
    grads = [[rng.standard_normal((3, 5)) for _ in terms] for _ in range(3)]

    def run(groups):
        layers = [marked(torch, W, term, init="keep") for W, term in zip(weights, terms, strict=True)]
        optimizers = [OrthoProx([layers[i].weight for i in some], 0.05, **how) for some in groups]
        for G in grads:
            for layer, g in zip(layers, G, strict=True):
                layer.weight.grad = torch.tensor(g)
            for optimizer in optimizers:
                optimizer.step()
        return [layer.weight.detach().numpy() for layer in layers], optimizers

    alone, _ = run([[0], [1], [2], [3]])
    together, optimizers = run([[0, 1, 2, 3]])
    assert len(optimizers[0]._built) == 3
    for one, other in zip(alone, together, strict=True):
        assert np.abs(one - other).max() < (1e-13 if tangent else 1e-15)  # products of stacks round in another order


def test_the_tangent_part_is_that_at_the_weights_as_they_are(torch, rng):
    from orthoprox.nn import OrthoProx

    W, new, G = (orthonormal(rng, 2, 3, 5) for _ in range(3))
    layers = [marked(torch, one, init="keep") for one in W]
    optimizer = OrthoProx([layer.weight for layer in layers], 0.05, momentum=0.0, tangent=True)
    for given in (W, new):  # the second time after someone has changed them
        for layer, one, g in zip(layers, given, G, strict=True):
            with torch.no_grad():
                layer.weight.copy_(torch.tensor(one))
            layer.weight.grad = torch.tensor(g)
        optimizer.step()
    for layer, one, g in zip(layers, new, G, strict=True):
        assert np.abs(layer.weight.detach().numpy() - polar(one - 0.05 * tangent_part(one, g))).max() < 1e-13


@pytest.mark.parametrize("shape", [(4, 9), (9, 4), (5, 5)])
def test_steps_along_the_tangent_part_descend_as_is_proved(torch, rng, shape):
    from orthoprox.nn import OrthoProx

    theta, wide, B = 1.2, shape[0] <= shape[1], rng.standard_normal((shape[0], shape[0]))
    B, T = B + B.T, 0.5 * rng.standard_normal(shape)
    layer = marked(torch, orthonormal(rng, *shape), init="keep")
    for _ in range(20):
        X = layer.weight.detach().numpy().copy()
        G = B @ X + T  # of <X, BX>/2 + <T, X>
        S = G @ X.T if wide else X.T @ G
        L = np.linalg.norm(B, 2) + np.linalg.norm(S + S.T, 2) / 2
        layer.weight.grad = torch.tensor(G)
        OrthoProx([layer.weight], 1 / L, momentum=0.0, theta=theta, tangent=True).step()
        d = layer.weight.detach().numpy() - X
        gain = -np.sum(G * d) - np.sum(d * (B @ d)) / 2
        assert gain >= (theta - 1) * L / 2 * np.sum(d * d) - 1e-12 and np.sum(d * d) > 1e-9


def test_a_step_too_long_is_refused_and_the_next_ones_are_shorter_until_they_fit(torch, rng):
    from orthoprox.nn import OrthoProx

    W = orthonormal(rng, 2, 4, 6)
    layer = marked(torch, W, init="keep")
    optimizer = OrthoProx([layer.weight], 1.0, momentum=0.0)
    G = rng.standard_normal(W.shape) * np.array([1.0, 1e-3])[:, None, None]
    layer.weight.grad = torch.tensor(G)
    optimizer.step()
    assert np.array_equal(layer.weight.detach().numpy()[0], W[0])
    assert np.abs(layer.weight.detach().numpy()[1] - polar(W[1] - G[1])).max() < 1e-13
    assert optimizer.shortened() == 1
    for _ in range(30):  # the share follows, so that none of them is refused again
        before = layer.weight.detach().numpy()[0].copy()
        optimizer.step()
        X = layer.weight.detach().numpy()[0]
        assert np.abs(X - before).max() > 1e-4 and np.abs(X @ X.T - np.eye(4)).max() < 1e-13
    layer.weight.grad = 1e-3 * torch.tensor(G)
    for _ in range(20):
        optimizer.step()
    assert optimizer.shortened() == 0


@pytest.mark.parametrize("host", [True, False])
@pytest.mark.parametrize("shape", [(3, 7), (7, 3), (4, 4)])
def test_the_share_of_the_next_step_follows_from_how_far_this_one_went(torch, rng, shape, host):
    from orthoprox.nn import OrthoProx

    W, met = orthonormal(rng, 6, *shape), []
    G = rng.standard_normal(W.shape) * np.array([1e-3, 0.05, 0.1, 0.15, 1.0, 100.0])[:, None, None]
    for trust in (np.ones(6), rng.uniform(0.3, 1.0, 6)):
        layer = marked(torch, W, init="keep")
        optimizer = OrthoProx([layer.weight], 0.5, momentum=0.0)
        layer.weight.grad = torch.zeros_like(layer.weight)
        optimizer.step()  # makes the state
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(W))
        ((stack, _, _),) = optimizer._built.values()
        stack.trust.copy_(torch.tensor(trust))
        stack.fused = stack.fused if host else None
        layer.weight.grad = torch.tensor(G)
        optimizer.step()
        wanted = [next_share(a, w - 0.5 * a * g) for a, w, g in zip(trust, W, G, strict=True)]
        assert np.allclose(stack.trust.numpy(), wanted, rtol=1e-9)
        met += list(np.array(wanted) / trust)
    assert min(met) == pytest.approx(0.01) and max(met) > 1 and any(0.02 < share < 1 for share in met)


def test_without_a_term_that_has_a_prox_the_split_variable_is_the_weight(torch, rng):
    from orthoprox.nn import OrthoProx

    layer = marked(torch, orthonormal(rng, 2, 3, 5), -0.1 * LargestK(4), init="keep")
    optimizer = OrthoProx(layer, 0.05)
    for _ in range(3):
        layer.weight.grad = torch.zeros_like(layer.weight)
        optimizer.step()
    assert torch.equal(optimizer.split(layer.weight), layer.weight) and not optimizer.multiplier(layer.weight).any()


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
@pytest.mark.parametrize("penalty", [None, 0.1 * L1()])
@pytest.mark.parametrize("how", [{}, {"betas": (0.9, 0.99)}])
def test_a_gradient_that_is_not_finite_leaves_its_weight_as_it_was_and_is_told(torch, rng, value, penalty, how):
    from orthoprox.nn import OrthoProx

    layer = marked(torch, orthonormal(rng, 2, 3, 5), penalty, init="keep")
    other = torch.nn.Linear(2, 2).double()
    optimizer = OrthoProx([layer.weight, *other.parameters()], 0.05, **how)
    good = 0.1 * torch.tensor(rng.standard_normal((2, 3, 5)))
    layer.weight.grad = good.clone()
    optimizer.step()
    before = layer.weight.detach().clone()
    layer.weight.grad = good.clone()
    layer.weight.grad[1, 2, 3] = value
    with pytest.warns(
        RuntimeWarning, match="was NaN or infinite, or so large that the step overflows: the weight stays"
    ):
        optimizer.step()
    assert torch.equal(layer.weight[1], before[1]) and not torch.equal(layer.weight[0], before[0])
    layer.weight.grad = good.clone()
    optimizer.step()
    assert bool(torch.isfinite(layer.weight).all()) and not torch.equal(layer.weight[1], before[1])
    for other in (optimizer.split(layer.weight), optimizer.multiplier(layer.weight)):
        assert bool(torch.isfinite(other).all())


@pytest.mark.parametrize(("dtype", "scale"), [("float32", 1e6), ("float32", 1e25), ("float64", 1e60)])
@pytest.mark.parametrize("host", [True, False])
def test_gradients_whose_steps_overflow_move_the_weight_once_steps_are_short_enough(torch, rng, dtype, scale, host):
    from orthoprox.nn import OrthoProx, report

    layer = marked(torch, orthonormal(rng, 2, 3, 5).astype(dtype), init="keep")
    G = torch.tensor((rng.standard_normal((2, 3, 5)) * np.array([1e-3, scale])[:, None, None]).astype(dtype))
    optimizer = OrthoProx([layer.weight], 0.1)
    layer.weight.grad = torch.zeros_like(G)
    optimizer.step()
    ((stack, _, _),) = optimizer._built.values()
    stack.fused = stack.fused if host else None
    layer.weight.grad = G.clone()
    with pytest.warns(RuntimeWarning, match="so large that the step overflows"):
        optimizer.step()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(200):
            optimizer.step()
    unit = G.double() / G.double().norm(dim=(1, 2), keepdim=True)
    above = (unit * layer.weight.detach()).sum((1, 2)) + torch.linalg.matrix_norm(unit, "nuc")  # the least <G, W>
    assert above[1].item() < 0.05 and report(layer).infeasibility < 1e-5
    for _ in range(200 + 25 * round(np.log10(scale))):  # until the momentum has forgotten that gradient
        layer.weight.grad = 0.1 * unit.to(G)
        optimizer.step()
    assert optimizer.shortened() == 0


def test_weights_that_steps_near_the_reach_have_left_are_orthonormal(torch, rng):
    from orthoprox.nn import OrthoProx, orthogonal_
    from orthoprox.nn._polar import infeasibility, orthonormal, polar_near

    size, Y = (1 + inverse_root().reach * np.linspace(-1, 1, 2001)) ** 0.5, torch.zeros(2001, 1, 3).double()
    Y[:, 0, 0] = torch.tensor(size)
    left = polar_near(Y).X
    W = left[infeasibility(left).argmax()]
    assert float((W @ W.T - 1).abs()) > 3e-14 and orthonormal(W[None])  # more than rounding
    layer = marked(torch, W.numpy()[None].copy(), init="keep")
    optimizer = OrthoProx([layer.weight], 0.1)
    layer.weight.grad = torch.zeros_like(layer.weight)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.step()
    assert not orthonormal((W * (1 + 1e-13))[None])
    layer.weight.data.mul_(1 + 1e-13)
    with pytest.raises(ValueError, match="is not orthonormal"):
        orthogonal_(layer, init="keep")


@pytest.mark.parametrize(("dtype", "bound"), [("float32", 1e-5), ("float64", 1e-12)])
def test_orthonormality_does_not_drift(torch, rng, dtype, bound):
    from orthoprox.nn import OrthoProx, report

    layer = marked(torch, orthonormal(rng, 64, 4, 6).astype(dtype), 0.05 * L1())
    optimizer = OrthoProx([layer.weight], 0.02)
    draw, worst = torch.Generator().manual_seed(0), 0.0
    for t in range(1500):
        layer.weight.grad = torch.randn(layer.weight.shape, generator=draw, dtype=layer.weight.dtype)
        optimizer.step()
        if t % 50 == 0:
            worst = max(worst, report(layer).infeasibility)
    assert worst < bound / 5

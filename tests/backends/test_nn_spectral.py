"""Steepest descent in the spectral norm: one step from random states, beside the same in singular values."""

import warnings

import numpy as np
import pytest

from backends.nn_formulas import orthonormal, parts, polar, tangent_part
from orthoprox.manifolds.inverse_root import inverse_root
from orthoprox.terms import L1, LargestK

pytestmark = pytest.mark.backends

SHAPES = [(3, 7), (7, 3), (4, 4), (5, 5), (4, 5), (1, 6), (6, 1)]


def marked(torch, W, penalty=None):
    from orthoprox.nn import orthogonal_

    layer = torch.nn.Module()
    layer.weight = torch.nn.Parameter(torch.tensor(W))
    return orthogonal_(layer, penalty=penalty, init="keep")


def grown(s):
    """What the polynomials make of singular values."""
    from orthoprox.nn._spectral import odd_polynomials

    for a, b, c in odd_polynomials():
        s = a * s + b * s**3 + c * s**5
    return s


def both_parts(W, F):
    """The skew A and the N orthogonal to W in the tangent part A W + N of F, for wide W."""
    T = tangent_part(W, F)
    A = T @ W.T
    return A, T - A @ W


def dual(W, F):
    """The norm that is dual to the larger of the spectral norms of A and N."""
    return sum(np.linalg.svd(part, compute_uv=False).sum() for part in both_parts(W, F))


def rank(p, n):
    return 2 * (p // 2) + min(p, n - p)


def steepest(W, F, step):
    """The step as it is documented, by singular values."""
    if W.shape[0] > W.shape[1]:
        return steepest(W.T, F.T, step).T
    A, N = both_parts(W, F)
    size, found = np.hypot(np.linalg.norm(A), np.linalg.norm(N)), []
    for part in (A, N):
        U, s, Vt = np.linalg.svd(part, full_matrices=False)
        found.append((U * grown(s / size)) @ Vt)
    gain = sum(np.sum(a * b) for a, b in zip((A, N), found, strict=True))
    return step * gain / rank(*W.shape) * (found[0] @ W + found[1])


def test_the_polynomials_bring_singular_values_near_one_and_none_above():
    from orthoprox.nn._spectral import _EXACT, _LEAST

    s = np.concatenate([np.geomspace(1e-9, _LEAST, 300), np.linspace(_LEAST, 1, 3000)])
    found = grown(s)
    assert np.all(found > 0) and found.max() <= 1 + 1e-12
    assert found[s >= _LEAST].min() >= 1 - _EXACT
    assert np.all(found[s < _LEAST] / s[s < _LEAST] > 0.9 / _LEAST)


@pytest.mark.parametrize("penalty", [None, 0.3 * L1(), 0.3 * (L1() - LargestK(5))], ids=["none", "l1", "difference"])
@pytest.mark.parametrize(("shape", "nesterov"), [(shape, i % 2 == 0) for i, shape in enumerate(SHAPES)])
def test_a_step_is_the_steepest_from_a_random_state(torch, rng, shape, nesterov, penalty):
    from orthoprox.nn import OrthoProx

    lr, momentum, theta, weight = 0.03, 0.6, 1.3, 0.8
    W = orthonormal(rng, 3, *shape)
    layer = marked(torch, W, penalty)
    how = {"theta": theta, "beta": 0.7, "weight_schedule": lambda t: weight, "nesterov": nesterov}
    optimizer = OrthoProx([layer.weight], lr, momentum, norm="spectral", **how)
    layer.weight.grad = torch.zeros_like(layer.weight)
    optimizer.step()  # makes the state
    y, z, M, G = (0.1 * rng.standard_normal((3, *shape)) for _ in range(4))
    y, held = W + 0.3 * y, optimizer.state[layer.weight]
    for key, value in {"y": y, "z": z, "momentum": M}.items():
        if key in held:
            held[key].copy_(torch.tensor(value))
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(W))
    layer.weight.grad = torch.tensor(G)
    optimizer.step()
    M = momentum * M + (1 - momentum) * G
    F, L, (h, g) = momentum * M + (1 - momentum) * G if nesterov else M, (1 - momentum) / lr, parts(penalty)
    beta = 0.0 if penalty is None else 0.7 * L
    if penalty is not None:
        F = F + z + beta * (W - y) - weight * np.stack([g.subgradient(one) for one in W])
    for i in range(3):
        X = polar(W[i] - steepest(W[i], F[i], 1 / (theta * (L + beta))))
        assert np.abs(layer.weight.detach().numpy()[i] - X).max() < 1e-12
        assert np.abs(X - W[i]).max() > 1e-4
        assert np.abs(held["momentum"].numpy()[i] - M[i]).max() < 1e-14
        if penalty is not None:
            new = h.prox(X + z[i] / beta, weight / beta)
            assert np.abs(held["y"].numpy()[i] - new).max() < 1e-12
            assert np.abs(held["z"].numpy()[i] - (z[i] + beta * (X - new))).max() < 1e-11


@pytest.mark.parametrize("shape", SHAPES)
def test_it_minimises_the_model_among_tangent_matrices(torch, rng, shape):
    from orthoprox.nn._spectral import _EXACT, steepest_step

    W, F, step = orthonormal(rng, *shape), rng.standard_normal(shape), 0.02
    E = steepest_step(*(torch.tensor(v)[None] for v in (W, F)), torch.tensor(step), 0.25)[0].numpy()
    if shape[0] > shape[1]:
        W, F, E = W.T, F.T, E.T
    r = rank(*W.shape)

    def model(V):
        return -np.sum(F * V) + r / (2 * step) * max(np.linalg.norm(part, 2) for part in both_parts(W, V)) ** 2

    assert np.abs(E - tangent_part(W, E)).max() < 1e-15
    least = -step / (2 * r) * dual(W, F) ** 2  # a norm's conjugate
    assert least - 1e-12 <= model(E) <= (1 - _EXACT) ** 2 * least
    assert np.sum(E * E) <= step * np.sum(F * E) + 1e-15  # which is r times its squared norm


@pytest.mark.parametrize("shape", [(4, 9), (9, 4), (5, 5)])
def test_steps_descend_as_is_proved(torch, rng, shape):
    from orthoprox.nn import OrthoProx

    wide, B = shape[0] <= shape[1], rng.standard_normal((shape[0], shape[0]))
    B, T = B + B.T, 0.5 * rng.standard_normal(shape)
    layer = marked(torch, orthonormal(rng, *shape))
    for _ in range(20):
        X = layer.weight.detach().numpy().copy()
        G = B @ X + T  # of <X, BX>/2 + <T, X>
        S = G @ X.T if wide else X.T @ G
        L = np.linalg.norm(B, 2) + np.linalg.norm(S + S.T, 2) / 2
        layer.weight.grad = torch.tensor(G)
        OrthoProx([layer.weight], 1 / L, momentum=0.0, norm="spectral").step()
        d = layer.weight.detach().numpy() - X
        E = steepest(X, G, 1 / L)
        promised = np.sum(G * E) * ((1 + 2 * np.linalg.norm(E, 2) ** 2) ** -0.5 - 0.5)
        gain = -np.sum(G * d) - np.sum(d * (B @ d)) / 2
        assert gain >= promised - 1e-12 and promised > 1e-9


@pytest.mark.parametrize("shape", [(2, 2), (1, 1), *SHAPES])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_steps_of_every_scale_are_taken_and_bounded(torch, rng, shape, dtype):
    from orthoprox.nn import OrthoProx
    from orthoprox.nn._polar import orthonormal as are

    W = orthonormal(rng, 3, *shape).astype(dtype)
    layer = marked(torch, W)
    optimizer = OrthoProx([layer.weight], 300.0, norm="spectral", momentum=0.0)
    kind, before = np.finfo(dtype), torch.tensor(W)
    G = rng.standard_normal(W.shape) * np.array([kind.max / 100, 1.0, kind.tiny])[:, None, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            layer.weight.grad = torch.tensor(G.astype(dtype))
            optimizer.step()
            assert are(layer.weight.detach()) and optimizer.shortened() == 0
            moved = (layer.weight.detach() - before).flatten(1).norm(dim=1)
            before = layer.weight.detach().clone()
            if shape != (1, 1):
                assert 0.1 < moved[0] < 2 * min(shape) ** 0.5 * (inverse_root().reach / 2) ** 0.5 and moved[2] < 1e-5


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("penalty", [None, 0.1 * L1()], ids=["none", "l1"])
def test_a_gradient_that_is_not_finite_leaves_its_weight_as_it_was(torch, rng, value, penalty):
    from orthoprox.nn import OrthoProx

    W = orthonormal(rng, 2, 3, 5)
    layer = marked(torch, W, penalty)
    optimizer = OrthoProx([layer.weight], 0.1, norm="spectral")
    G = rng.standard_normal(W.shape)
    G[0, 1, 2] = value
    layer.weight.grad = torch.tensor(G)
    with pytest.warns(RuntimeWarning, match="was NaN or infinite"):
        optimizer.step()
    found = layer.weight.detach().numpy()
    assert np.array_equal(found[0], W[0]) and np.abs(found[1] - W[1]).max() > 1e-3
    layer.weight.grad = torch.ones_like(layer.weight)
    optimizer.step()
    assert np.abs(layer.weight.detach().numpy()[0] - W[0]).max() > 1e-3


def test_a_gradient_in_the_span_of_the_rows_leaves_that_span_alone(torch, rng):
    """Its N is rounding, which must not become a direction as long as the others."""
    from orthoprox.nn._spectral import steepest_step

    X = torch.tensor(orthonormal(rng, 1, 6, 40), dtype=torch.float32)
    F = torch.bmm(torch.tensor(rng.standard_normal((1, 6, 6)), dtype=torch.float32), X)
    E = steepest_step(X, F, torch.tensor(0.1), 0.25)
    outside = E - E @ X.mT @ X
    assert float(outside.norm()) < 1e-3 * float(E.norm())


def test_the_bound_on_the_length_is_sharp_for_rotations_of_a_plane(torch, rng):
    from orthoprox.nn._polar import polar_near
    from orthoprox.nn._spectral import steepest_step

    X, F = (torch.tensor(orthonormal(rng, 1, 2, 2)) for _ in range(2))
    F = F - X @ F.mT @ X + 0.1 * rng.standard_normal()
    excess = float(polar_near(X - steepest_step(X, F, torch.tensor(1e9), 0.2)).excess)
    assert 0.199 < excess <= 0.2 * (1 + 1e-12)  # singular values are a little below one


def test_steps_are_whole_whatever_was_shortened_before(torch, rng):
    from orthoprox.nn import OrthoProx

    W, G = (torch.tensor(orthonormal(rng, 3, 5)) for _ in range(2))
    layers = [marked(torch, W.numpy()) for _ in range(2)]
    before = OrthoProx(layers[0], 1.0, momentum=0.0)
    layers[0].weight.grad = 9 * G
    before.step()
    assert before.shortened() == 1
    both = [OrthoProx(layer, 0.1, momentum=0.0, norm="spectral") for layer in layers]
    held = before.state_dict()
    held["param_groups"][0].update(lr=0.1)
    both[0].load_state_dict(held)
    for layer, optimizer in zip(layers, both, strict=True):
        with torch.no_grad():
            layer.weight.copy_(W)
        layer.weight.grad = G.clone()
        optimizer.step()
        assert optimizer.shortened() == 0
    assert torch.equal(layers[0].weight, layers[1].weight)
    with torch.no_grad():
        layers[0].weight.mul_(1.5)
    with pytest.warns(RuntimeWarning, match="was not orthonormal"):
        both[0].step()
    assert both[0].shortened() == 0


@pytest.mark.parametrize("shape", [(2, 3, 7), (2, 7, 3), (2, 4, 4)])
def test_nothing_is_decided_on_the_host(torch, shape):
    """A graph of CUDA records the step, and tensors without values have nothing to decide by."""
    from orthoprox.nn._spectral import steepest_step

    X, step = torch.empty(shape, device="meta"), torch.empty(2, 1, 1, device="meta")
    assert steepest_step(X, X, step, 0.2).shape == shape

"""orthoprox.optax: the step of orthoprox.nn in JAX."""

import numpy as np
import pytest

from backends.nn_formulas import next_share, one_step, orthonormal
from orthoprox.maps import Matrix
from orthoprox.terms import L1, GroupL2, LargestK, Quadratic

pytestmark = pytest.mark.backends

RULE = {"beta": 0.7, "theta": 1.0, "sigma": 1.0, "tau": 0.0, "xi": 0.0, "p": 0.0}


@pytest.mark.parametrize("penalty", [None, 0.3 * L1(), 0.3 * GroupL2("columns"), 0.3 * (L1() - LargestK(7))])
@pytest.mark.parametrize("tangent", [False, True])
@pytest.mark.parametrize(("shape", "nesterov"), [((3, 7), True), ((7, 3), True), ((7, 3), False)])
def test_a_step_is_that_of_the_paper_with_an_averaged_gradient(jax, rng, penalty, shape, nesterov, tangent):
    from orthoprox.optax import Leaf, orthoprox

    W = orthonormal(rng, 2, *shape)
    y, z, M, G = (0.1 * rng.standard_normal((2, *shape)) for _ in range(4))
    y = W + 0.3 * y
    transformation = orthoprox(0.04, 0.6, penalty, beta=RULE["beta"], nesterov=nesterov, tangent=tangent)
    state = {"w": Leaf(*(jax.numpy.asarray(a) for a in (M, y, z, np.ones(2))))}
    updates, state = jax.jit(transformation.update)({"w": G}, state, {"w": W})
    for i in range(2):
        given = W[i], y[i], z[i], M[i], G[i], penalty, 0.04, 0.6, 1.0, 0, RULE, nesterov, tangent
        X, y_new, z_new, M_new = one_step(*given)
        assert np.abs(W[i] + updates["w"][i] - X).max() < 1e-12
        assert np.abs(state["w"].momentum[i] - M_new).max() < 1e-14
        if penalty is not None:
            assert np.abs(state["w"].y[i] - y_new).max() < 1e-12
            assert np.abs(state["w"].z[i] - z_new).max() < 1e-11


def test_the_share_of_the_next_step_is_that_of_orthoprox_nn(jax, rng):
    from orthoprox.optax import Leaf, orthoprox

    W, trust = orthonormal(rng, 5, 3, 7), rng.uniform(0.3, 1.0, 5)
    G = rng.standard_normal(W.shape) * np.array([1e-3, 0.05, 0.15, 1.0, 100.0])[:, None, None]
    state = Leaf(*(jax.numpy.asarray(a) for a in (np.zeros_like(W), W, np.zeros_like(W), trust)))
    _, state = orthoprox(0.5, momentum=0.0).update(G, state, W)
    wanted = [next_share(a, w - 0.5 * a * g) for a, w, g in zip(trust, W, G, strict=True)]
    assert np.allclose(state.trust, wanted, rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_it_trains_stays_orthonormal_and_leaves_weights_alone_where_a_gradient_is_not_finite(jax, rng, dtype):
    from orthoprox.optax import nearest, orthoprox

    W = nearest(jax.numpy.asarray(rng.standard_normal((4, 9)).astype(dtype)))
    C = jax.numpy.asarray(rng.standard_normal((4, 9)).astype(dtype))
    transformation = orthoprox(0.01)
    state, step = transformation.init(W), jax.jit(transformation.update)
    for _ in range(400):
        updates, state = step(C, state, W)
        W = W + updates
        assert np.abs(W @ W.T - np.eye(4)).max() < {"float32": 1e-5, "float64": 1e-12}[dtype]
    U, _, Vt = np.linalg.svd(-np.asarray(C), full_matrices=False)
    assert np.abs(W - U @ Vt).max() < 1e-2  # the minimum of <C, W>
    for bad in (np.nan, 1e30):
        updates, after = step(C.at[1, 2].set(bad), state, W)
        assert not np.any(updates) and np.all(np.isfinite(after.momentum))
    with pytest.raises(ValueError, match="needs the parameters"):
        transformation.update(C, state)
    with pytest.raises(ValueError, match="two or more axes"):
        transformation.init(jax.numpy.zeros(3))


@pytest.mark.parametrize(("dtype", "scale"), [("float32", 1e6), ("float64", 1e60)])
def test_gradients_whose_steps_overflow_move_the_weight_once_steps_are_short_enough(jax, rng, dtype, scale):
    from orthoprox.optax import nearest, orthoprox

    W = nearest(jax.numpy.asarray(rng.standard_normal((3, 5)).astype(dtype)))
    G = jax.numpy.asarray((scale * rng.standard_normal((3, 5))).astype(dtype))
    transformation = orthoprox(0.1)
    state, step = transformation.init(W), jax.jit(transformation.update)
    for _ in range(200):
        updates, state = step(G, state, W)
        W = W + updates
    least = -np.linalg.norm(np.asarray(G, float), "nuc")  # of <G, W>
    assert float(np.sum(np.asarray(G, float) * np.asarray(W, float))) < 0.97 * least
    assert np.abs(W @ W.T - np.eye(3)).max() < 1e-5


def test_what_makes_no_sense_is_refused(jax, rng):
    from orthoprox.optax import nearest, orthoprox

    W = nearest(jax.numpy.asarray(rng.standard_normal((3, 5))))
    cases = [
        (lambda: orthoprox(lambda t: 0.1), "lr must be a positive number, the same at every step"),
        (lambda: orthoprox(0.1, momentum=1.0), "momentum must be a number in"),
        (lambda: orthoprox(0.1, penalty=L1() @ Matrix(np.eye(5))).init(W), "bound to a map"),
        (lambda: orthoprox(0.1, penalty=Quadratic(np.eye(5))).init(W), "is smooth: add it to the loss"),
        (lambda: orthoprox(0.1, penalty=L1).init(W), "given the class L1"),
        (lambda: orthoprox(0.1).init(2 * W), r"is not orthonormal: .* an entry of 3. Begin at nearest\(W\)"),
        (lambda: orthoprox(0.1).init(W.astype("float16")), "must be float32 or float64; given float16"),
    ]
    for make, words in cases:
        with pytest.raises((ValueError, TypeError), match=words):
            make()
    jax.jit(orthoprox(0.1, penalty=0 * L1()).init)(W)


def test_it_is_part_of_a_chain_of_optax(jax, rng):
    optax = pytest.importorskip("optax")
    from orthoprox.optax import nearest, orthoprox

    params = {"w": nearest(jax.numpy.asarray(rng.standard_normal((3, 5)))), "b": jax.numpy.zeros(3)}
    chain = optax.multi_transform(
        {"own": optax.chain(optax.clip(0.5), orthoprox(0.05)), "other": optax.sgd(0.1)}, {"w": "own", "b": "other"}
    )
    state = chain.init(params)
    grads = {"w": jax.numpy.ones((3, 5)), "b": jax.numpy.ones(3)}
    updates, state = chain.update(grads, state, params)
    params = optax.apply_updates(params, updates)
    assert np.abs(params["w"] @ params["w"].T - np.eye(3)).max() < 1e-12
    assert np.allclose(params["b"], -0.1)

"""Derivatives by PyTorch and JAX: equal to those by hand, once and twice, in runs and under transformations."""

from collections.abc import Callable
from typing import Any

import array_api_strict
import numpy as np
import pytest
from array_api_compat import array_namespace, is_array_api_obj

from backends.conftest import Library, load
from backends.problems import B, N, R
from catalogue_terms import SHAPE, SMOOTH, label, moved, softplus
from orthoprox import Critical, Iterations, Problem, RunFailed, Stiefel, solve
from orthoprox._fields import parts
from orthoprox.backends.autodiff import NotDifferentiable
from orthoprox.maps import Difference, Matrix, Sparse
from orthoprox.maps.operator import is_operator
from orthoprox.maps.sparse import is_sparse
from orthoprox.solvers.oadmm import OADMM
from orthoprox.terms import L1, QuadraticTerm, Smooth, SmoothConvex, check_gradient

pytestmark = pytest.mark.backends
M = Stiefel(N, R)
DEVICES = ["torch", "jax", "torch on cuda"]


@pytest.fixture(params=DEVICES)
def on(request: pytest.FixtureRequest) -> Library:
    """A library that differentiates, on each kind of device that is here."""
    name, _, device = request.param.partition(" on ")
    library = load(name, request.config)
    if not device:
        return library
    if not library.module.cuda.is_available():
        pytest.skip("there is no GPU that PyTorch can use.")
    return Library(request.param, library.module, lambda a: library.module.tensor(a, device=device))


def is_ours(f: Any) -> bool:
    """Whether all data of a term can belong to another library, and its values keep their way back to X."""
    inside = list(parts(f))
    host = any(is_sparse(part) or is_operator(part) or isinstance(part, Sparse) for part in inside)
    return isinstance(f, QuadraticTerm) and not host


def log_cosh(D: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """A function of data and X as a user writes it once for all libraries, and its gradient."""
    xp, m = array_namespace(D), D.shape[0]

    def value(X: Any) -> Any:
        DX = D @ X
        return xp.sum(xp.abs(DX) + xp.log1p(xp.exp(-2 * xp.abs(DX)))) / m

    return value, lambda X: D.T @ xp.tanh(D @ X) / m


@pytest.mark.parametrize("f", [f for f in SMOOTH if is_ours(f)], ids=label)
def test_derivatives_equal_those_of_every_quadratic_term(on, rng, f):
    there = moved(f, on.asarray)
    own = Smooth(there.value, weight=0.7)
    X, V = rng.standard_normal(SHAPE), rng.standard_normal(SHAPE)
    scale = 1e-14 * (1 + np.linalg.norm(f.gradient(X)))
    assert np.allclose(on.numpy(own.gradient(on.asarray(X))), 0.7 * f.gradient(X), rtol=1e-13, atol=scale)
    product = own.hessian(on.asarray(X))
    for D in (V, X):  # the record of the gradient serves more than once
        assert np.allclose(on.numpy(product(on.asarray(D))), 0.7 * f.product(D), rtol=1e-13, atol=10 * scale)
    value, G = own.value_and_gradient(on.asarray(X))
    assert np.isclose(float(value), 0.7 * f.value(X), rtol=1e-13, atol=scale)
    assert on.owns(G)


NONLINEAR: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
    "quartic": (lambda X: (X**4).sum() / 4, lambda X: X**3, lambda X, V: 3 * X**2 * V),
    "log cosh": (softplus, np.tanh, lambda X, V: (1 - np.tanh(X) ** 2) * V),
    "product of traces": (
        lambda X: (X * X).sum() ** 2 / 4,
        lambda X: X * (X * X).sum(),
        lambda X, V: V * (X * X).sum() + 2 * X * (X * V).sum(),
    ),
}


@pytest.mark.parametrize("name", NONLINEAR)
def test_derivatives_equal_those_by_hand(on, rng, name):
    function, gradient, second = NONLINEAR[name]
    X, V = rng.standard_normal((N, R)), rng.standard_normal((N, R))
    f = Smooth(function)
    assert np.allclose(on.numpy(f.gradient(on.asarray(X))), gradient(X), rtol=1e-13, atol=1e-13)
    assert np.allclose(on.numpy(f.hessian(on.asarray(X))(on.asarray(V))), second(X, V), rtol=1e-12, atol=1e-12)
    assert f.has_hessian
    inside = (2.0 * f + Smooth(function, weight=-0.5)) @ Difference()
    A, composed = Difference(), Problem.of(inside, over=M).f
    product = composed.hessian(on.asarray(X))(on.asarray(V))
    assert np.allclose(on.numpy(product), 1.5 * A.adjoint(second(A(X), A(V))), rtol=1e-12, atol=1e-12)
    assert check_gradient(f, on.asarray(X)).ok


def test_a_run_is_the_one_with_the_gradient_by_hand(on):
    value, gradient = log_cosh(on.asarray(B))
    X0 = on.asarray(M.random(0))
    by_two = [
        solve(Problem.of(f - 0.1 * g + 0.05 * L1(), over=M), "oadmm-ep", X0=X0, stop=Iterations(12)).X
        for f, g in ((Smooth(value), SmoothConvex(value)), (Smooth(value, gradient), SmoothConvex(value, gradient)))
    ]
    assert np.allclose(*(on.numpy(X) for X in by_two), atol=1e-10)
    assert on.owns(by_two[0])


@pytest.mark.filterwarnings("ignore:JAX cannot compile")
def test_newton_steps_serve_user_functions(on):
    h = 0.05 * L1()
    value, gradient = log_cosh(on.asarray(B))
    problem = Problem.of(Smooth(value, weight=-1.0) + h, over=M)
    assert OADMM().for_problem(problem).fast == "multipliers"
    result = solve(problem, X0=on.asarray(M.random(1)), stop=Critical(1e-9) | Iterations(100))
    assert result.converged
    D = on.numpy(on.asarray(B))
    in_numpy = Smooth(  # whose steps JAX can neither compile nor differentiate
        lambda X: softplus(D @ on.numpy(X)) / len(D), lambda X: D.T @ np.tanh(D @ on.numpy(X)) / len(D), weight=-1.0
    )
    by_hand = Smooth(value, gradient, weight=-1.0)
    X, V = on.asarray(M.random(0)), on.asarray(M.random(1))
    for own in (by_hand, in_numpy):
        assert np.allclose(on.numpy(own.hessian(X)(V)), on.numpy(problem.f.hessian(X)(V)), atol=1e-5)
        assert OADMM().for_problem(Problem.of(own + h, over=M)).fast == "multipliers"
    by_differences = solve(Problem.of(in_numpy + h, over=M), X0=result.X, stop=Critical(1e-9) | Iterations(9))
    assert by_differences.converged


def test_x_lives_where_the_arrays_of_the_function_live(on):
    D = on.asarray(B)
    result = solve(Problem.of(Smooth(lambda X: ((D @ X) ** 4).sum()) + L1(), over=M), stop=Iterations(3))
    assert on.owns(result.X)
    assert result.X.device == D.device


def test_derivatives_that_the_user_computes_in_numpy_go_where_x_is(on):
    S, X, V = B.T @ B, on.asarray(M.random(0)), on.asarray(M.random(1))
    there = Smooth(
        lambda X: (X * (on.asarray(S) @ X)).sum() / 2,
        lambda X: S @ on.numpy(X),
        None,
        2.0,
        hessian=lambda X, V: S @ on.numpy(V),
    )
    pair = Smooth(lambda X: (float((X**2).sum()), 2 * on.numpy(X)))
    for found, wanted in (
        (there.gradient(X), 2 * S @ on.numpy(X)),
        (there.hessian(X)(V), 2 * S @ on.numpy(V)),
        (pair.value_and_gradient(X)[1], 2 * on.numpy(X)),
    ):
        assert on.owns(found) and np.allclose(on.numpy(found), wanted, rtol=1e-13)


def test_a_gradient_of_another_float_type_takes_that_of_x(torch):
    S = torch.tensor(B.T @ B)
    f = Smooth(
        lambda X: ((S.float() @ X) * X).sum() / 2, lambda X: S @ X.double(), float(torch.linalg.matrix_norm(S, 2))
    )
    X0 = torch.tensor(M.random(0)).float()
    result = solve(Problem.of(f, over=tuple(X0.shape)), X0=X0, stop=Iterations(5))
    assert result.X.dtype == f.gradient(X0).dtype == torch.float32


def test_functions_under_vmap(on, rng):
    stack = rng.standard_normal((4, N, R))
    value, _ = log_cosh(on.asarray(B))
    by_hand, gradient = log_cosh(B)
    f = Smooth(value)
    vmap = on.module.func.vmap if "torch" in on.name else on.module.vmap
    found = vmap(f.gradient)(on.asarray(stack))
    assert np.allclose(on.numpy(found), np.stack([gradient(X) for X in stack]), atol=1e-13)
    assert np.allclose(on.numpy(vmap(f.value)(on.asarray(stack))), [by_hand(X) for X in stack])


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "columns": (lambda X: (X * X).sum(0), "one number; given shape"),
    "an integer": (
        lambda X: (X > 0).sum(),
        "cannot differentiate the function of Smooth: it returned a number of type",
    ),
    "a Python number": (lambda X: 1.0, "it returned"),
    "in NumPy": (lambda X: np.sum(np.asarray(X) ** 2), "cannot differentiate the function of Smooth"),
    "a tuple of three": (lambda X: (X.sum(), X, X), "the pair"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_use_is_refused_in_a_sentence(on, name):
    function, words = REFUSED[name]
    for ask in (Smooth(function).gradient, SmoothConvex(function).subgradient):
        with pytest.raises((ValueError, TypeError), match=words.replace("Smooth:", "Smooth(Convex)?:")) as refusal:
            ask(on.asarray(M.random(0)))
        assert str(refusal.value).endswith(".")
    with pytest.raises((ValueError, TypeError, RunFailed), match=words):
        solve(Problem.of(Smooth(function) + L1(), over=M), X0=on.asarray(M.random(0)))


def test_a_function_of_another_library_is_told_apart(torch):
    with pytest.raises(TypeError, match="does not take the NumPy array that it was given.*Give X0 as an array"):
        Smooth(lambda X: torch.logsumexp(X, dim=(0, 1))).gradient(M.random(0))


@pytest.mark.parametrize("X", [np.ones((3, 2)), array_api_strict.ones((3, 2))], ids=["numpy", "strict"])
def test_a_library_that_does_not_differentiate_is_named(X):
    with pytest.raises(
        TypeError, match=r"belongs to (NumPy|array_api_strict), which does not differentiate; given .* PyTorch"
    ):
        Smooth(lambda X: array_namespace(X).sum(X * X)).gradient(X)


# ------------------------------------------------------------------ one library


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda X: X.detach().sum(), r"does not depend on X by operations that can be differentiated; detach\(\)"),
        (lambda X: X.new_tensor((X**2).sum().item()), "does not depend on X"),
        (lambda X: X.mul_(2.0).sum(), "in-place|in place"),
    ],
    ids=["detached", "by item", "in place"],
)
@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad=True to a scalar")
def test_what_pytorch_would_pass_over_in_silence(torch, function, words):
    with pytest.raises(ValueError, match=words):
        Smooth(function).gradient(torch.tensor(M.random(0)))


def test_a_change_of_x_in_place_is_seen_in_the_value_too(torch):
    with pytest.raises(ValueError, match=r"changed its argument X in place.*Work on a new tensor"):
        Smooth(lambda X: X.mul_(2.0).sum()).value(torch.tensor(M.random(0)))


def test_parameters_of_the_function_stay_as_they_are(torch):
    """A user's function may be a network in training: no .grad, and no graph that grows with every iteration."""
    net = torch.nn.Linear(N, 4, dtype=torch.float64)

    def loss(X: Any) -> Any:
        return torch.nn.functional.softplus(net(X.T)).sum()

    problem = Problem.of(Smooth(loss) - 0.1 * SmoothConvex(loss) + 0.05 * L1(), over=M)
    for solver in ("oadmm", "oadmm-ep"):
        result = solve(problem, solver, X0=torch.tensor(M.random(0)), stop=Iterations(8))
        for leaf in parts((result.state, result.X, result.y, result.z)):
            assert not (is_array_api_obj(leaf) and leaf.requires_grad)
    assert all(weight.grad is None for weight in net.parameters())
    with torch.no_grad():  # values are not kept: after a change of the network they are new
        before = float(problem.f.value(result.X))
        net.bias.add_(1.0)
    assert float(problem.f.value(result.X)) > before + 0.1


def test_a_function_that_can_be_differentiated_once_only(torch):
    class Once(torch.autograd.Function):
        @staticmethod
        def forward(X):
            return (X**4).sum() / 4

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, G):
            return G * ctx.saved_tensors[0] ** 3

    problem = Problem.of(Smooth(Once.apply) + 0.1 * L1(), over=M)
    X0 = torch.tensor(M.random(0))
    assert np.allclose(problem.f.gradient(X0).numpy(), M.random(0) ** 3)
    V = torch.tensor(M.random(1))  # its gradient is as right as any, and so are the differences
    assert np.allclose(problem.f.hessian(X0)(V).numpy(), (3 * X0**2 * V).numpy(), atol=1e-5)
    assert solve(problem, X0=X0, stop=Critical(1e-9) | Iterations(100)).converged


def test_derivatives_are_part_of_the_step_that_jax_compiles(jax):
    asked = []

    def function(X: Any) -> Any:
        asked.append(isinstance(X, jax.core.Tracer))
        return (X**4).sum() / 4

    problem = Problem.of(Smooth(function) + 0.1 * L1(), over=M)
    solve(problem, "oadmm-ep", X0=jax.numpy.asarray(M.random(0)), stop=Iterations(3))
    first = len(asked)
    assert sum(not traced for traced in asked) == 1  # the first call, which shows what it returns
    solve(problem, "oadmm-ep", X0=jax.numpy.asarray(M.random(1)), stop=Iterations(30))
    assert len(asked) - first < 30  # compiled, not traced anew at every step


def test_wrong_kinds_of_errors_pass_through(torch):
    D = torch.tensor(B)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied") as error:
        Smooth(lambda X: (X @ D).sum()).gradient(torch.tensor(M.random(0)))
    assert not isinstance(error.value, NotDifferentiable)


def test_data_in_a_term_beside_the_function(on):
    """A sum of a quadratic term and a function has the Hessian of both."""
    S = B.T @ B
    problem = Problem.of(
        Smooth(log_cosh(on.asarray(B))[0]) + 0.3 * Smooth(lambda X: (X**4).sum()) @ Matrix(on.asarray(S)), over=M
    )
    X, V = on.asarray(M.random(0)), on.asarray(M.random(1))
    product = on.numpy(problem.f.hessian(X)(V))
    t, f = 1e-5, problem.f
    numeric = (on.numpy(f.gradient(X + t * V)) - on.numpy(f.gradient(X - t * V))) / (2 * t)
    assert np.allclose(product, numeric, rtol=1e-7, atol=1e-7 * np.linalg.norm(numeric))


def test_an_error_of_the_function_itself_is_no_matter_of_derivatives(torch):
    def broken(X):
        raise RuntimeError("the file is gone")

    from orthoprox.backends._autodiff_torch import TorchDerivatives

    with pytest.raises(RuntimeError, match="^the file is gone$"):
        TorchDerivatives(broken, "Smooth").both(torch.ones((3, 2)))

"""Problems whose answer is known: principal components, Procrustes, tiny ones by enumeration."""

import numpy as np
import pytest

from orthoprox import Critical, Iterations, Problem, Recorder, Stiefel, named, solve
from orthoprox.models import sparse_pca
from orthoprox.terms import L1, MCP, ExplainedVariance, LargestK, Linear, Quadratic

ADMM = ("oadmm-ep", "oadmm-rr")


def data(rng):
    """60 samples of 15 features in random directions, each with half the variance of the one before."""
    return rng.standard_normal((60, 15)) * 0.7 ** np.arange(15) @ np.linalg.qr(rng.standard_normal((15, 15)))[0]


# Method, settings, and the most iterations.
COMPONENTS = {
    **{name: (name, {}, 4000) for name in (*ADMM, "spgm-ep", "spgm-rr", "radmm", "manpg", "manpg-ada")},
    **{name: (name, {}, 20) for name in ("manial-1", "manial-2")},
    "madmm": ("madmm", {}, 60),
    "rsg": ("rsg", {"rule": "constant", "eta0": 1.0}, 2000),
    "subgradient": ("subgradient", {"eta0": 1.0, "q": 0.0}, 2000),
    "socm": ("socm", {}, 1000),
    "socm, two blocks": ("socm", {"form": "two-block"}, 500),
    "obcd": ("obcd", {}, 150),
    "obcd, cyclic": ("obcd", {"working_set": "cyclic"}, 150),
    "obcd, jacobi": ("obcd", {"sweep": "jacobi"}, 300),
}


@pytest.mark.parametrize("case", COMPONENTS)
def test_principal_components(case, rng):
    (name, settings, most), D = COMPONENTS[case], data(rng)
    problem = Problem.of(ExplainedVariance(D, 1 / 60), over=Stiefel(15, 3))
    result = solve(problem, named(name, **settings), stop=Iterations(most) | Critical(1e-7), record=Recorder(every=50))
    assert -2 * result.objective == pytest.approx(np.linalg.eigvalsh(D.T @ D / 60)[-3:].sum(), rel=1e-7)
    assert result.converged or name not in ADMM
    assert result.criticality < 1e-3 or name == "socm"  # whose X oscillates about P for long
    assert result.infeasibility < 1e-12


CONVERGENT = {
    "madmm": ("madmm", {}, 300),
    "manial-1": ("manial-1", {}, 60),
    "manial-2": ("manial-2", {}, 60),
    "socm": ("socm", {}, 3000),
    "socm, two blocks": ("socm", {"form": "two-block"}, 3000),
    "socm, linearised": ("socm", {"solve": "linearised"}, 3000),
}


@pytest.mark.parametrize("case", CONVERGENT)
def test_it_converges_with_every_part_present(case):
    name, settings, most = CONVERGENT[case]
    problem = sparse_pca(np.random.default_rng(42).standard_normal((14, 9)), n_components=3, weight=0.1, k=10)
    result = solve(problem, named(name, **settings), stop=Iterations(most) | Critical(1e-6), record=Recorder(every=20))
    assert result.criticality < 1e-5
    assert result.infeasibility < 1e-12


@pytest.mark.parametrize("name", [*ADMM, "subgradient"])
@pytest.mark.parametrize("r", [3, 5])
def test_procrustes(name, r):
    # The nearest orthonormal matrix to -C minimises <C, X>; the value is minus the sum of C's singular values.
    C = np.random.default_rng(99).standard_normal((6, r))  # not the draw the start is made of, which is the maximum
    problem = Problem.of(Linear(C), over=Stiefel(6, r))
    settings = {"eta0": 1.0, "q": 0.0} if name == "subgradient" else {"beta0": 0.5}
    result = solve(problem, named(name, **settings), stop=Iterations(1500) | Critical(1e-10))
    U, s, Vt = np.linalg.svd(C, full_matrices=False)
    assert result.objective == pytest.approx(-s.sum(), rel=1e-8)
    assert np.allclose(result.X, -U @ Vt, atol=1e-6)


def bias(problem, result):
    """How far the smoothing may lift the objective: mu C_h^2 (Lemma 2.3), with the mu of the last iteration."""
    solver = result.solver
    beta = solver.beta0 * (1 + solver.xi * (result.iterations - 1) ** solver.p)
    return solver.tau / beta * problem.h.lipschitz_constant(problem.shape) ** 2


@pytest.mark.parametrize("seed", range(2))
def test_one_column_in_the_plane_by_enumeration(seed):
    S = np.random.default_rng(seed).standard_normal((2, 2))
    weak = (0.4 * L1(), 0.4 * MCP(0.5, 4.0))[seed]
    problem = Problem.of(Quadratic(S + S.T) - 0.1 * LargestK(1) + weak, over=Stiefel(2, 1))
    circle = [np.array([[np.cos(a)], [np.sin(a)]]) for a in np.linspace(0, np.pi, 1501)]
    best = min(float(problem.objective(X)) for X in circle)
    for name in ADMM:
        solver, stop, record = named(name, beta0=200.0), Iterations(400), Recorder(every=400)
        runs = [solve(problem, solver, seed=s, stop=stop, record=record) for s in range(4)]
        found = min(runs, key=lambda result: result.objective)
        assert best - 1e-5 <= found.objective <= best + bias(problem, found)


@pytest.mark.parametrize("name", ADMM)
def test_a_heavy_weight_leads_to_coordinate_vectors(name, rng):
    # |x|_1 >= 1 on the sphere with equality at coordinate vectors only (methods.md, section 12.4).
    D = rng.standard_normal((50, 8))
    D = D - D.mean(axis=0)
    D = D / np.linalg.norm(D, axis=0)
    problem = sparse_pca(np.sqrt(50) * D, n_components=3, weight=3.0)
    result = solve(problem, name, stop=Iterations(3000), record=Recorder(every=500))
    assert (np.sum(np.abs(result.y) > 1e-3, axis=0) == 1).all()
    least = 3 * (3.0 - 0.5)
    assert least - 1e-9 <= result.objective - problem.offset <= least + bias(problem, result)

"""Problems for the parts of OADMM, and states that no run would reach."""

from orthoprox import Problem
from orthoprox.models import sparse_pca
from orthoprox.solvers.oadmm.iterate import measure
from orthoprox.terms import L1, MCP, ExplainedVariance, GroupL2, Huber, LargestK, Linear
from steps.cases import PROBLEMS as ALL
from steps.cases import B, M, T, random_triple

f = ExplainedVariance(B, 0.3)
CONCAVE = {  # f below its linearisations and A = I: blocks of projections
    "l1": Problem.of(f + 0.7 * L1(), over=M),
    "l1 minus largest-k": Problem.of(f - 0.5 * LargestK(8) + 0.5 * L1(), over=M),
    "mcp": Problem.of(f + 0.4 * MCP(0.6, 3.0), over=M),
    "rows": Problem.of(f + 0.6 * GroupL2(), over=M),
    "rows minus largest-k": Problem.of(f - 0.2 * LargestK(5) + 0.6 * GroupL2(), over=M),
    "linear": Problem.of(Linear(T) + 0.4 * Huber(0.3), over=M),
    "steep": Problem.of(f + 0.005 * L1(), over=M),
    "steep, with g": Problem.of(f - 0.004 * LargestK(8) + 0.005 * L1(), over=M),
    "very steep": Problem.of(f + 1e-5 * L1(), over=M),
    "steep in other ways": Problem.of(f + Linear(T) + 1e-5 * L1(), over=M),
}
STEEP = ("steep", "steep, with g", "very steep")
OTHERS = {name: problem for name, problem in ALL.items() if name not in ("l1 minus largest-k", "plain l1, centred")}
K_SPARSE = sparse_pca(B, n_components=3, weight=6.0, k=9)


def random_iterate(problem, seed):
    """X on the manifold, y and z anywhere."""
    _, X, _, y, z = random_triple(problem, seed)
    return measure(problem, problem.at(X), y, z)

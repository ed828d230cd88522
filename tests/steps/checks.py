"""What step tests share: factors and products from their definitions, and counters of products."""

from itertools import islice

import numpy as np

from orthoprox import iterate, terms
from orthoprox.maps import Gram
from orthoprox.solvers import UnsupportedProblem
from orthoprox.terms.envelope import envelope_gradient


def factor(Y, by="polar"):
    """The polar factor, or the orthogonal one with a positive diagonal."""
    if by == "polar":
        U, _, Vt = np.linalg.svd(Y, full_matrices=False)
        return U @ Vt
    Q, upper = np.linalg.qr(Y)
    return Q * np.sign(np.diag(upper))


def sym(W):
    return (W + W.T) / 2


def tangent(X, G):
    """The tangent part of G at X."""
    return G - X @ sym(X.T @ G)


def smooth_gradient(problem, X):
    """That of f - g, the latter linearised."""
    return problem.f.gradient(X) - problem.g.subgradient(X)


def check_products(problem, point, atol=1e-10):
    """The products that a point carries are those of its X."""
    fresh = problem.at(point.X)
    assert np.allclose(fresh.AX, point.AX, atol=1e-12)
    assert (fresh.HX is None) == (point.HX is None)
    assert fresh.HX is None or np.allclose(fresh.HX, point.HX, atol=atol)


def check_y_and_z(problem, solver, old, new, *, beta, mu, sigma=1.0):
    """y minimises the smoothed h, z follows the residual, and the certificate is the triple of the theorem."""
    AX = problem.A(new.now.X)
    b, slope = AX + old.z / beta, envelope_gradient(problem.h, new.y, mu)
    # y minimises h_mu(y) + beta/2 |y - b|^2, which is strongly convex: there the gradient vanishes
    assert np.allclose(beta * (b - new.y), slope, atol=1e-10)
    assert np.allclose(new.z, old.z + sigma * beta * (AX - new.y), atol=1e-10)
    multiplier = old.z - (old.z - new.z) / sigma
    assert np.allclose(multiplier, slope, atol=1e-10)  # Lemma 4.1(a)
    certificate = solver.certificate(problem, new)
    assert np.allclose(certificate.y, problem.h.prox(b, mu + 1 / beta), atol=1e-12)
    assert problem.h.subgradient_distance(certificate.y, multiplier) < 1e-9
    assert (certificate.z is new.z, certificate.point is new.now, solver.point(new) is new.now.X) == (True,) * 3
    assert new.t == old.t + 1
    check_products(problem, new.now)


def count_calls(monkeypatch, kind=Gram, name="__call__"):
    """A list that grows with every product with a map of a kind: the objects that were multiplied by."""
    calls, original = [], getattr(kind, name)
    monkeypatch.setattr(kind, name, lambda self, X: calls.append(self) or original(self, X))
    return calls


def takes(solver, problem):
    """Whether a method takes a problem."""
    try:
        solver.scope.admit(problem, solver.name)
        solver.for_problem(problem)
    except UnsupportedProblem:
        return False
    return True


def walk(problem, solver, X0, steps):
    """The states of a run, the first included."""
    return list(islice(iterate(problem, solver, solver.init(problem, X0)), steps + 1))


def smoothed(problem, X, mu):
    """f(X) + h_mu(A(X)), from the definition alone."""
    AX = problem.A(X)
    v = problem.h.prox(AX, mu)
    return problem.f.value(X) + problem.h.value(v) + np.sum((v - AX) ** 2) / (2 * mu)


def check_smoothed_certificate(problem, solver, state, mu):
    """The certificate is the prox of h at A(X) and the gradient of the envelope there."""
    certificate, AX = solver.certificate(problem, state), state.now.AX
    assert certificate.point is state.now
    assert np.allclose(certificate.y, problem.h.prox(AX, mu), atol=1e-13)
    assert np.allclose(certificate.z, envelope_gradient(problem.h, AX, mu), atol=1e-12)
    assert problem.h.subgradient_distance(certificate.y, certificate.z) < 1e-9


def prox_terms(n, r):
    """One h of each kind for n-by-r arrays: convex and weakly convex, with and without a derivative of the prox."""
    rng = np.random.default_rng(n)
    return {
        "l1": 0.6 * terms.L1(),
        "weighted": terms.WeightedL1(rng.uniform(0.1, 1.0, (n, r))),
        "huber": 0.7 * terms.Huber(0.2),
        "negative part": 0.8 * terms.NegativePart(),
        "mcp": 0.5 * terms.MCP(0.5, 3.0),
        "scad": 0.5 * terms.SCAD(0.5, 3.7),
        "rows": 0.7 * terms.GroupL2("rows"),
        "columns": 0.9 * terms.GroupL2("columns"),
        "largest": 1.5 * terms.LInf(),
        "nuclear": 0.5 * terms.Nuclear(),
        "shifted": terms.Shifted(0.5 * terms.GroupL2(), rng.standard_normal((n, r)), 1.4),
        "two terms": terms.SeparableSum((0.5 * terms.L1(), terms.GroupL2()), (2, n - 2), 1.2),
        "nothing": terms.Zero(),
    }

"""One step of orthoprox.nn in NumPy, written from the paper."""

import numpy as np

from orthoprox import Problem, Stiefel


def polar(Y):
    U, _, Vt = np.linalg.svd(Y, full_matrices=False)
    return U @ Vt


def orthonormal(rng, *shape):
    return polar(rng.standard_normal(shape))


def parts(penalty):
    if penalty is None:
        return None, None
    problem = Problem.of(penalty, over=Stiefel(7, 3))
    return problem.h, problem.g


def one_step(W, y, z, M, G, penalty, lr, momentum, weight, t, rule):
    """Algorithm 1 for one matrix, with the averaged gradient in place of the gradient."""
    h, g = parts(penalty)
    M = momentum * M + (1 - momentum) * G
    L = (1 - momentum) / lr
    if penalty is None:
        return polar(W - M / (rule["theta"] * L)), None, None, M
    beta = rule["beta"] * L * (1 + rule["xi"] * t ** rule["p"])
    pull = M + z + beta * (W - y) - weight * g.subgradient(W)
    X = polar(W - pull / (rule["theta"] * (L + beta)))
    b, mu = X + z / beta, rule["tau"] / beta
    breve = h.prox(b, weight * (mu + 1 / beta))
    y = (breve + mu * beta * b) / (1 + mu * beta)
    return X, y, z + rule["sigma"] * beta * (X - y), M

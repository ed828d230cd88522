"""One step of orthoprox.nn in NumPy, written from the paper."""

import numpy as np

from orthoprox import Problem, Stiefel
from orthoprox.manifolds.inverse_root import inverse_root


def polar(Y):
    U, _, Vt = np.linalg.svd(Y, full_matrices=False)
    return U @ Vt


def orthonormal(rng, *shape):
    return polar(rng.standard_normal(shape))


def tangent_part(W, G):
    """G less its component in the normal space, which is S W for wide W and W S for tall ones, with symmetric S."""
    if W.shape[0] > W.shape[1]:
        return tangent_part(W.T, G.T).T
    i, j = np.triu_indices(len(W))
    normal = np.zeros((len(i), *W.shape))
    normal[np.arange(len(i)), i] = W[j]
    normal[np.arange(len(i)), j] += np.where(i == j, 0, 1)[:, None] * W[i]
    basis = np.linalg.qr(normal.reshape(len(i), -1).T)[0]
    return G - (basis @ (basis.T @ G.ravel())).reshape(G.shape)


def parts(penalty):
    if penalty is None:
        return None, None
    problem = Problem.of(penalty, over=Stiefel(7, 3))
    return problem.h, problem.g


def one_step(W, y, z, M, G, penalty, lr, momentum, weight, t, rule, nesterov=True, tangent=False):
    """Algorithm 1 for one matrix, with the averaged gradient in place of the gradient.

    Nesterov's average is the one that the next step would have if its gradient were the same.
    """
    h, g = parts(penalty)
    if tangent:
        G = tangent_part(W, G)
    M = momentum * M + (1 - momentum) * G
    ahead = momentum * M + (1 - momentum) * G if nesterov else M
    L = (1 - momentum) / lr
    if penalty is None:
        return polar(W - ahead / (rule["theta"] * L)), None, None, M
    beta = rule["beta"] * L * (1 + rule["xi"] * t ** rule["p"])
    pull = ahead + z + beta * (W - y) - weight * g.subgradient(W)
    X = polar(W - pull / (rule["theta"] * (L + beta)))
    b, mu = X + z / beta, rule["tau"] / beta
    breve = h.prox(b, weight * (mu + 1 / beta))
    y = (breve + mu * beta * b) / (1 + mu * beta)
    return X, y, z + rule["sigma"] * beta * (X - y), M


def next_share(share, Y):
    """The share of the next step, after one that leads to Y: with seven tenths of the reach as its aim."""
    C = Y @ Y.T if Y.shape[0] <= Y.shape[1] else Y.T @ Y
    E = C - np.eye(len(C))
    excess = np.sqrt(np.linalg.norm(E @ E))
    return np.clip(share * np.clip(0.7 * inverse_root().reach / excess, 1e-2, 2.0), np.finfo(float).tiny, 1.0)

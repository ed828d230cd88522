"""The inner descent of MADMM and ManIAL from its definition."""

import numpy as np

from steps.cases import numerical_gradient


def psi(problem, X, xi, nu, c, fixed):
    """From the definition alone."""
    W = problem.A(X) - c
    y = problem.h.prox(W, 1 / nu) if fixed is None else fixed
    outer = problem.h.value(y) if fixed is None else 0.0
    return problem.f.value(X) - np.sum(xi * X) + outer + nu / 2 * np.sum((W - y) ** 2)


def descent(problem, value, X, *, a, ell, most, tolerance=0.0):
    """Riemannian gradient with Barzilai-Borwein lengths and the nonmonotone search of Zhang and Hager, in plain values.

    Returns the point, the next length, the numbers of trials, and the running mean.
    """
    tangent, retract = problem.M.tangent, problem.M.retract

    def gradient(X):
        return tangent(X, numerical_gradient(value, X))

    g, C, Q = gradient(X), value(X), 1.0
    a = np.clip(a, 1e-3 / ell, 1e3 / ell)
    all_trials = []
    while len(all_trials) < most and np.linalg.norm(g) > tolerance:
        trials, X_new = 1, retract(X, -a * g)
        while value(X_new) > C - 1e-6 * a * np.sum(g * g) and trials < 3:
            a, trials = a * 0.2, trials + 1
            X_new = retract(X, -a * g)
        while value(X_new) > C + 0.1 * abs(C) and trials < 23:
            a, trials = a / 2, trials + 1
            X_new = retract(X, -a * g)
        all_trials.append(trials)
        g_new = gradient(X_new)
        s, y = X_new - X, g_new - g
        inner, odd = abs(np.sum(s * y)), len(all_trials) % 2
        a = np.clip(inner / np.sum(y * y) if odd else np.sum(s * s) / inner, 1e-3 / ell, 1e3 / ell)
        Q_new = 0.85 * Q + 1
        C = (0.85 * Q * C + value(X_new)) / Q_new
        X, g, Q = X_new, g_new, Q_new
    return X, a, all_trials, C

"""The pair loop of OBCD for an h that jumps at zero, made to be compiled by numba; see ``_obcd_sequential``.

Two rows Z become N = (r1, k r2), with r1 = c z1 + s z2 and r2 = c z2 - s z1 and the angle all the way round. Quarter
turns lead (r1, r2) to (r2, -r1), (-r1, -r2) and (-r2, r1), so an angle where an entry vanishes is tried with its three
quarter turns at once. Elsewhere h is constant, on the cone of angles where no sign is forbidden.

Importing this module imports numba where it is installed.
"""

from __future__ import annotations

import math

import numpy as np

from orthoprox.backends._obcd_jumps import FORBIDDEN
from orthoprox.backends._obcd_sequential import (
    DEPTH,
    EPS,
    FloatArray,
    arc_minimum,
    callable_when_compiled,
    pair_of,
    smooth_part,
    turn_rows,
)


@callable_when_compiled
def gather(
    z1: FloatArray, z2: FloatArray, u1: FloatArray, d1: FloatArray, u2: FloatArray, d2: FloatArray, work: FloatArray
) -> int:
    """Both rows where they cost something, in the first rows of ``work``: x, y and the four costs. Returns how many."""
    count = 0
    for j in range(z1.shape[0]):
        x, y = z1[j], z2[j]
        if (x != 0.0 or y != 0.0) and u1[j] + d1[j] + u2[j] + d2[j] > 0.0:
            work[0, count], work[1, count] = x, y
            work[2, count], work[3, count], work[4, count], work[5, count] = u1[j], d1[j], u2[j], d2[j]
            count += 1
    return count


@callable_when_compiled
def price(c: float, s: float, work: FloatArray, count: int, small: float, costs: FloatArray) -> None:
    """What the entries of r1, r2, -r1 and -r2 cost as the first row of N (``costs[0]``) and as the second one."""
    for quarter in range(4):
        costs[0, quarter] = costs[1, quarter] = 0.0
    for j in range(count):
        x, y = work[0, j], work[1, j]
        for quarter in range(2):
            r = c * x + s * y if quarter == 0 else c * y - s * x
            if abs(r) <= small:
                continue
            plus, minus = (quarter, quarter + 2) if r > 0.0 else (quarter + 2, quarter)
            costs[0, plus] += work[2, j]
            costs[0, minus] += work[3, j]
            costs[1, plus] += work[4, j]
            costs[1, minus] += work[5, j]


@callable_when_compiled
def admissible_cone(k: float, work: FloatArray, count: int) -> tuple[int, float, float, float, float]:
    """The angles at which no entry of N = (r1, k r2) has a forbidden sign, if there is an arc of them.

    Returns 2 when all angles are admissible, 1 for a cone of at most half a turn and 0 for no arc, and the two ends.
    """
    kind, cl, sl, cr, sr = 2, 1.0, 0.0, 1.0, 0.0
    for j in range(count):
        for row in range(2):
            up, down = work[2 + 2 * row, j], work[3 + 2 * row, j]
            if up < FORBIDDEN and down < FORBIDDEN:
                continue
            # the half plane a c + b s >= 0
            a, b = (work[0, j], work[1, j]) if row == 0 else (k * work[1, j], -k * work[0, j])
            if up >= FORBIDDEN:
                a, b = -a, -b
            size = math.sqrt(a * a + b * b)
            a, b = a / size, b / size
            if kind == 2:
                kind, cl, sl, cr, sr = 1, b, -a, -b, a
                continue
            left, right = a * cl + b * sl, a * cr + b * sr
            if left < 0.0 and right < 0.0:
                return 0, cl, sl, cr, sr
            if left < 0.0:
                cl, sl = b, -a
            elif right < 0.0:
                cr, sr = -b, a
    return kind, cl, sl, cr, sr


@callable_when_compiled
def best_jump_turn(
    z1: FloatArray, z2: FloatArray, u1: FloatArray, d1: FloatArray, u2: FloatArray, d2: FloatArray,
    P: tuple[float, float, float, float], H: tuple[float, float, float], alpha: float, small: float,
    work: FloatArray, costs: FloatArray, stack: FloatArray,
) -> tuple[float, float, float, float, float]:  # fmt: skip
    """The best V of one pair: minimise <P, VZ> + <VZ, H VZ>/2 + alpha/2 |V - I|^2 + h(VZ) over the 2-by-2 V.

    ``P`` and ``H`` are those of ``smooth_part``. Returns the decrease (0 when V = I stays), c, s, e = 1 and k.
    """
    rotations, reflections = smooth_part(z1, z2, P, H, alpha)
    count = gather(z1, z2, u1, d1, u2, d2, work)
    here = full = 0.0  # h at V = I, and h where no entry vanishes
    for j in range(count):
        for row in range(2):
            z, up, down = work[row, j], work[2 + 2 * row, j], work[3 + 2 * row, j]
            if up < FORBIDDEN and down < FORBIDDEN:
                full += up
            if z != 0.0:
                here += up if z > 0.0 else down
    now = rotations[0] + rotations[2] + here
    best, c_best, s_best, k_best = now, 1.0, 0.0, 1.0
    half = 0.5 * small  # what counts as zero here will surely be made zero
    a_0, b_0, p_0, q_0 = rotations
    a_1, b_1, p_1, q_1 = reflections
    low_0 = math.sqrt(a_0 * a_0 + b_0 * b_0) + math.sqrt(p_0 * p_0 + q_0 * q_0)
    low_1 = math.sqrt(a_1 * a_1 + b_1 * b_1) + math.sqrt(p_1 * p_1 + q_1 * q_1)
    slack = 4.0 * EPS * (4.0 * max(low_0, low_1) + full)

    for j in range(-1, count):
        c, s = 1.0, 0.0
        if j >= 0:
            x, y = work[0, j], work[1, j]
            size = math.sqrt(x * x + y * y)
            c, s = x / size, y / size
        price(c, s, work, count, half, costs)
        cos2, sin2 = c * c - s * s, 2.0 * c * s
        for sign in range(2):
            a, b, p, q = rotations if sign == 0 else reflections
            along, across, twice = a * c + b * s, b * c - a * s, p * cos2 + q * sin2
            for quarter in range(4):
                value = costs[0, quarter] + costs[1, (quarter + 1 + 2 * sign) % 4]
                if quarter == 0:
                    value += along + twice
                elif quarter == 1:
                    value += across - twice
                elif quarter == 2:
                    value += twice - along
                else:
                    value -= across + twice
                if value < best - slack:
                    best, k_best = value, 1.0 - 2.0 * sign
                    if quarter == 0:
                        c_best, s_best = c, s
                    elif quarter == 1:
                        c_best, s_best = -s, c
                    elif quarter == 2:
                        c_best, s_best = -c, -s
                    else:
                        c_best, s_best = s, -c

    for sign in range(2):
        a, b, p, q = rotations if sign == 0 else reflections
        k = 1.0 - 2.0 * sign
        if full - (low_0 if sign == 0 else low_1) >= best - slack:
            continue
        kind, cl, sl, cr, sr = admissible_cone(k, work, count)
        arcs = 0
        if kind == 2:
            arcs = 4
        elif kind == 1:
            arcs = 1 if cl * cr + sl * sr > 0.0 else 2
        for arc in range(arcs):
            # arcs of at most a quarter turn; their ends have been tried
            cm, sm = (cr, sr) if arc == arcs - 1 else (-sl, cl)
            value, c, s = arc_minimum(a, b, p, q, cl, sl, cm, sm, best - full, slack, stack)
            cl, sl = cm, sm
            if value + full < best - slack:
                price(c, s, work, count, half, costs)
                value += costs[0, 0] + costs[1, 1 + 2 * sign]  # a cone that is but rounding errors wide shows here
                if value < best - slack:
                    best, c_best, s_best, k_best = value, c, s, k
    return now - best, c_best, s_best, 1.0, k_best


def jump_sweep(
    X: FloatArray, HX: FloatArray, L: FloatArray, up: FloatArray, down: FloatArray, small: float,
    H: FloatArray, pairs: FloatArray, alpha: float,
) -> tuple[float, int]:  # fmt: skip
    """Update the pairs of rows one after another, in place: ``sweep`` with the h of ``Jumps`` instead of sum W |X|."""
    r = X.shape[1]
    work, costs, stack, d = np.empty((6, r)), np.empty((2, 4)), np.empty((DEPTH, 4)), np.empty((2, r))
    largest, moved = 0.0, 0
    for t in range(pairs.shape[0]):
        i1, i2 = pairs[t, 0], pairs[t, 1]
        P, entries = pair_of(X, HX, L, H, i1, i2)
        gain, c, s, e, k = best_jump_turn(
            X[i1], X[i2], up[i1], down[i1], up[i2], down[i2], P, entries, alpha, small, work, costs, stack
        )
        if gain > 0.0:
            turn_rows(X, HX, H, i1, i2, (c, s, e, k), 0.0, small, d)
            largest, moved = max(largest, gain), moved + 1
    return largest, moved

"""The pair loop of OBCD in NumPy's arrays and plain loops, made to be compiled by numba.

Two rows Z become N = e (r1, k r2) with signs e and k, where r1 = c z1 + s z2 and r2 = c z2 - s z1: all rotations and
all reflections, with the angle in [0, pi). Along an angle the objective of the pair is

    e (a c + b s) + p cos(2 angle) + q sin(2 angle) + sum_j w1j |r1j| + w2j |r2j|,

where a, b, p, q depend on k alone. The sum of absolute values depends on neither sign, and its kinks repeat after a
quarter turn, where the two rows change places: one sorted list of at most r angles in [0, pi/2] serves all eight cases.

Importing this module imports numba where it is installed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from orthoprox._extras import extra

FloatArray = np.ndarray[Any, Any]

EPS = 2.220446049250313e-16
DEPTH = 64  # halvings of an arc that are kept at a time


def callable_when_compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that compiled code calls; without numba, return it unchanged."""
    try:
        numba_extending = extra("numba.extending", "fast", "A compiled sweep")
    except ModuleNotFoundError:
        return function
    registered: Callable[..., Any] = numba_extending.register_jitable(function)
    return registered


@functools.cache
def compiled_sweep(plain: Callable[..., tuple[float, int]]) -> Callable[..., tuple[float, int]]:
    """A sweep, compiled and kept; a sentence names the extra where numba is missing.

    What numba keeps on disk it renews when the file of the sweep changes, not when a file changes that it imports.
    """
    numba = extra("numba", "fast", "The sequential sweep of obcd")
    compiled: Callable[..., tuple[float, int]] = numba.njit(
        cache=True, nogil=True, error_model="numpy", fastmath={"contract"}
    )(plain)
    return compiled


@callable_when_compiled
def convex_minimum(a: float, b: float, p: float, q: float, c: float, s: float, width: float) -> tuple[float, float]:
    """Cosine and sine of the zero of the slope in an arc of this width from (c, s) on, where the slope increases."""
    low, high = 0.0, width
    step = 0.5 * width
    for _ in range(100):
        x, y = math.cos(step), math.sin(step)
        ct, st = c * x - s * y, s * x + c * y
        c2, s2 = ct * ct - st * st, 2.0 * ct * st
        slope = b * ct - a * st + 2.0 * (q * c2 - p * s2)
        bend = -(a * ct + b * st) - 4.0 * (p * c2 + q * s2)
        if slope > 0.0:
            high = step
        else:
            low = step
        new = step - slope / bend if bend > 0.0 else 0.5 * (low + high)
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - step) <= EPS * (1.0 + width):
            break
        step = new
    x, y = math.cos(step), math.sin(step)
    return c * x - s * y, s * x + c * y


@callable_when_compiled
def value_at(a: float, b: float, p: float, q: float, c: float, s: float) -> float:
    """The smooth function a c + b s + p cos 2t + q sin 2t."""
    return a * c + b * s + p * (c * c - s * s) + q * (2.0 * c * s)


@callable_when_compiled
def arc_minimum(
    a: float, b: float, p: float, q: float,
    cl: float, sl: float, cr: float, sr: float,
    best: float, slack: float, stack: FloatArray,
) -> tuple[float, float, float]:  # fmt: skip
    """The least of a c + b s + p cos 2t + q sin 2t inside an arc of at most a quarter turn, if it is below ``best``.

    An arc on which the second derivative keeps its sign has its minimum at an end or at the one zero of the slope;
    other arcs are halved until that is so, or until the second derivative shows that nothing below ``best - slack``
    is inside. The values at the ends count as known. Returns the value, the cosine and the sine.
    """
    bound_3 = math.sqrt(a * a + b * b) + 8.0 * math.sqrt(p * p + q * q)  # of the third derivative
    c_best, s_best = cl, sl
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = cl, sl, cr, sr
    count = 1
    while count > 0:
        count -= 1
        cl, sl, cr, sr = stack[count, 0], stack[count, 1], stack[count, 2], stack[count, 3]
        width = math.atan2(cl * sr - sl * cr, cl * cr + sl * sr)
        if width <= 4.0 * EPS:
            continue
        cm, sm = cl + cr, sl + sr
        size = math.sqrt(cm * cm + sm * sm)
        cm, sm = cm / size, sm / size
        bend = -(a * cm + b * sm) - 4.0 * (p * (cm * cm - sm * sm) + q * (2.0 * cm * sm))
        spread = 0.5 * width * bound_3
        if bend + spread <= 0.0:
            continue  # concave: the least is at an end
        ends = min(value_at(a, b, p, q, cl, sl), value_at(a, b, p, q, cr, sr))
        if ends - 0.125 * (bend + spread) * width * width >= best - slack:
            continue
        if bend - spread >= 0.0:  # convex
            left = b * cl - a * sl + 2.0 * (q * (cl * cl - sl * sl) - p * (2.0 * cl * sl))
            right = b * cr - a * sr + 2.0 * (q * (cr * cr - sr * sr) - p * (2.0 * cr * sr))
            if left >= 0.0 or right <= 0.0:
                continue
            cm, sm = convex_minimum(a, b, p, q, cl, sl, width)
        value = value_at(a, b, p, q, cm, sm)
        if value < best:
            best, c_best, s_best = value, cm, sm
        if bend - spread < 0.0 and count + 2 <= DEPTH:
            stack[count, 0], stack[count, 1], stack[count, 2], stack[count, 3] = cl, sl, cm, sm
            stack[count + 1, 0], stack[count + 1, 1], stack[count + 1, 2], stack[count + 1, 3] = cm, sm, cr, sr
            count += 2
    return best, c_best, s_best


@callable_when_compiled
def kinks(z1: FloatArray, z2: FloatArray, w1: FloatArray, w2: FloatArray, work: FloatArray) -> int:
    """The angles in [0, pi/2) where an entry of a row is zero, in order; returns how many there are.

    Rows of ``work``, one column for each entry that is not zero in both rows: 0, 1 the pair (u, v) with u > 0, v >= 0
    to which (z1j, z2j) is turned by quarters; 2 the weight of the entry that vanishes at the angle of (u, v) in the
    first quarter, 3 the weight of the one that does in the second; 4 what the angles are ordered by.
    """
    count = 0
    for j in range(z1.shape[0]):
        x, y = z1[j], z2[j]
        if x == 0.0 and y == 0.0:
            continue
        first, second = w2[j], w1[j]
        if x > 0.0 and y >= 0.0:
            u, v = x, y
        elif x < 0.0 and y <= 0.0:
            u, v = -x, -y
        elif y > 0.0:
            u, v = y, -x
            first, second = second, first
        else:
            u, v = -y, x
            first, second = second, first
        key = v / (u + v)
        k = count
        while k > 0 and work[4, k - 1] > key:
            for row in range(5):
                work[row, k] = work[row, k - 1]
            k -= 1
        work[0, k], work[1, k], work[2, k], work[3, k], work[4, k] = u, v, first, second, key
        count += 1
    return count


@callable_when_compiled
def smooth_part(
    z1: FloatArray, z2: FloatArray, P: tuple[float, float, float, float], H: tuple[float, float, float], alpha: float
) -> tuple[tuple[float, float, float, float], tuple[float, float, float, float]]:
    """The a, b, p and q of <P, VZ> + <VZ, H VZ>/2 + alpha/2 |V - I|^2: of rotations (k = 1) and of reflections.

    ``P`` holds the products of P's two rows with z1 and z2: <P1, z1>, <P1, z2>, <P2, z1>, <P2, z2>; ``H`` its entries
    11, 12, 22.
    """
    p11, p12, p21, p22 = P
    n1 = n2 = m = 0.0
    for j in range(z1.shape[0]):
        n1 += z1[j] * z1[j]
        n2 += z2[j] * z2[j]
        m += z1[j] * z2[j]
    mean, half = 0.5 * (H[0] - H[2]), 0.5 * (n1 - n2)
    return (
        (p11 + p22 - 2.0 * alpha, p12 - p21, mean * half + H[1] * m, mean * m - H[1] * half),
        (p11 - p22, p12 + p21, mean * half - H[1] * m, mean * m + H[1] * half),
    )


@callable_when_compiled
def best_turn(
    z1: FloatArray, z2: FloatArray, w1: FloatArray, w2: FloatArray,
    P: tuple[float, float, float, float], H: tuple[float, float, float], alpha: float,
    work: FloatArray, stack: FloatArray,
) -> tuple[float, float, float, float, float]:  # fmt: skip
    """The best V of one pair: minimise <P, VZ> + <VZ, H VZ>/2 + alpha/2 |V - I|^2 + h(VZ) over the 2-by-2 V.

    ``P`` and ``H`` are those of ``smooth_part``. Returns the decrease (0 when V = I stays), c, s and the signs e and k.
    """
    rotations, reflections = smooth_part(z1, z2, P, H, alpha)
    count = kinks(z1, z2, w1, w2, work)
    steep = 0.0  # h as a function of the angle: its amplitude
    here = 0.0  # h at the angle 0
    for j in range(count):
        steep += (work[2, j] + work[3, j]) * (work[0, j] + work[1, j])
        here += work[2, j] * work[1, j] + work[3, j] * work[0, j]
    now = rotations[0] + rotations[2] + here
    best, c_best, s_best, e_best, k_best = now, 1.0, 0.0, 1.0, 1.0
    for sign in range(2):
        a, b, p, q = rotations if sign == 0 else reflections
        k = 1.0 if sign == 0 else -1.0
        most = math.sqrt(a * a + b * b) + 4.0 * math.sqrt(p * p + q * q) + steep  # of the second derivative
        slack = 4.0 * EPS * most
        for quarter in range(2):
            # A quarter turn on: (c, s) stands for (-s, c), and the rows change places.
            if quarter == 1:
                a, b, p, q = b, -a, -p, -q
            A = B = 0.0
            for j in range(count):
                u, v, w, w_other = work[0, j], work[1, j], work[2 + quarter, j], work[3 - quarter, j]
                A += w * v + w_other * u
                B += w_other * v - w * u
            cl, sl = 1.0, 0.0
            left = A + p - abs(a)
            if left < best - slack:
                best, k_best, e_best = left, k, 1.0 if a <= 0.0 else -1.0
                c_best, s_best = (1.0, 0.0) if quarter == 0 else (0.0, 1.0)
            for j in range(count + 1):
                if j < count:
                    u, v, w = work[0, j], work[1, j], work[2 + quarter, j]
                    size = math.sqrt(u * u + v * v)
                    cr, sr = u / size, v / size
                else:
                    u, v, w = 0.0, 0.0, 0.0
                    cr, sr = 0.0, 1.0
                slope = a * cr + b * sr
                right = A * cr + B * sr + p * (cr * cr - sr * sr) + q * (2.0 * cr * sr) - abs(slope)
                if right < best - slack:
                    best, k_best, e_best = right, k, 1.0 if slope <= 0.0 else -1.0
                    c_best, s_best = (cr, sr) if quarter == 0 else (-sr, cr)
                chord = (cr - cl) * (cr - cl) + (sr - sl) * (sr - sl)
                # An arc of t <= pi/2 has t^2 <= (pi^2/8) chord^2.
                if min(left, right) - 0.1543 * most * chord < best - slack:
                    for turn in range(2):
                        e = 1.0 - 2.0 * turn
                        value, c, s = arc_minimum(e * a + A, e * b + B, p, q, cl, sl, cr, sr, best, slack, stack)
                        if value < best - slack:
                            best, k_best, e_best = value, k, e
                            c_best, s_best = (c, s) if quarter == 0 else (-s, c)
                A -= 2.0 * w * v
                B += 2.0 * w * u
                cl, sl, left = cr, sr, right
    return now - best, c_best, s_best, e_best, k_best


@callable_when_compiled
def pair_of(
    X: FloatArray, HX: FloatArray, L: FloatArray, H: FloatArray, i1: int, i2: int
) -> tuple[tuple[float, float, float, float], tuple[float, float, float]]:
    """The ``P`` and ``H`` of two rows, where P is the gradient of <X, HX>/2 + <L, X> without the pair's own part."""
    z1, z2 = X[i1], X[i2]
    h11, h12, h22 = H[i1, i1], H[i1, i2], H[i2, i2]
    p11 = p12 = p21 = p22 = 0.0
    for j in range(X.shape[1]):
        g1 = HX[i1, j] + L[i1, j] - h11 * z1[j] - h12 * z2[j]
        g2 = HX[i2, j] + L[i2, j] - h12 * z1[j] - h22 * z2[j]
        p11 += g1 * z1[j]
        p12 += g1 * z2[j]
        p21 += g2 * z1[j]
        p22 += g2 * z2[j]
    return (p11, p12, p21, p22), (h11, h12, h22)


@callable_when_compiled
def turn_rows(
    X: FloatArray, HX: FloatArray, H: FloatArray, i1: int, i2: int,
    V: tuple[float, float, float, float], relative: float, absolute: float, d: FloatArray,
) -> None:  # fmt: skip
    """Turn two rows by the c, s, e and k in ``V``, in place, HX with them. What is zero up to rounding becomes zero."""
    c, s, e, k = V
    z1, z2 = X[i1], X[i2]
    n, r = X.shape
    for j in range(r):
        x, y = z1[j], z2[j]
        small = relative * (abs(x) + abs(y)) + absolute  # X has entries up to 1
        new1, new2 = c * x + s * y, c * y - s * x
        new1 = 0.0 if abs(new1) <= small else e * new1
        new2 = 0.0 if abs(new2) <= small else e * k * new2
        d[0, j], d[1, j] = new1 - x, new2 - y
        z1[j], z2[j] = new1, new2
    for i in range(n):
        f1, f2 = H[i1, i], H[i2, i]
        for j in range(r):
            HX[i, j] += f1 * d[0, j] + f2 * d[1, j]


def sweep(
    X: FloatArray, HX: FloatArray, L: FloatArray, W: FloatArray, H: FloatArray, pairs: FloatArray, alpha: float
) -> tuple[float, int]:
    """Update the pairs of rows one after another, in place.

    Parameters
    ----------
    X, HX : array, shape (n, r)
        The point and its product with H; both are changed.
    L, W : array, shape (n, r)
        The objective is <X, HX>/2 + <L, X> + sum W |X|.
    H : array, shape (n, n)
        Symmetric.
    pairs : array of int, shape (count, 2)
        The rows, in the order in which they are updated.
    alpha : float
        The weight of |V - I|^2 / 2.

    Returns
    -------
    largest, moved
        The largest decrease that one pair brought, and how many pairs moved.
    """
    r = X.shape[1]
    work, stack, d = np.empty((5, r)), np.empty((DEPTH, 4)), np.empty((2, r))
    largest, moved = 0.0, 0
    for t in range(pairs.shape[0]):
        i1, i2 = pairs[t, 0], pairs[t, 1]
        P, entries = pair_of(X, HX, L, H, i1, i2)
        gain, c, s, e, k = best_turn(X[i1], X[i2], W[i1], W[i2], P, entries, alpha, work, stack)
        if gain > 0.0:
            turn_rows(X, HX, H, i1, i2, (c, s, e, k), 1e-14, EPS, d)
            largest, moved = max(largest, gain), moved + 1
    return largest, moved

"""Steihaug's conjugate gradients as steps without branches, for devices that would wait for the host at every choice.

The same iteration as ``_trust_region.truncated_cg``. What has ended stays as it is; the host looks every few products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from orthoprox._deadline import is_over
from orthoprox._linalg import inner
from orthoprox._namespace import array_namespace
from orthoprox._trust_region import Step
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of

CHUNK = 8
"""Products between two looks: as many as a recording holds."""


class Hessian(Protocol):
    """A Hessian as an object of arrays and numbers, so that a recorded step can be given another one."""

    def __call__(self, problem: Any, D: Array) -> Array:
        """The Hessian times D."""


@dataclass(frozen=True, eq=False)
class Iteration:
    """Where conjugate gradients are."""

    curvature: Hessian
    D: Array
    R: Array
    Q: Array
    square: Scalar
    """|R|^2"""
    promised: Scalar
    length: Scalar
    """|D|^2, and below |Q|^2 and <D, Q>, by recurrence."""
    q: Scalar
    dq: Scalar
    radius: Scalar
    enough: Scalar
    ended: Scalar
    """1 where it has come to its end, 2 where that is the edge, 0 before; numbers, which have a place in a program."""
    products: Scalar


def truncated_cg(problem: Any, curvature: Hessian, g: Array, radius: Scalar, accuracy: float, most: int) -> Step:
    """Minimise <g, D> + <D, curvature(problem, D)>/2 for |D| at most the radius; parameters as in ``_trust_region``."""
    backend, square = backend_of(g), inner(g, g)
    nothing = 0.0 * square
    # Arrays of their own: steps are recorded by which of their arrays are the same.
    at = Iteration(
        curvature=curvature,
        D=0.0 * g,
        R=-g,
        Q=-1.0 * g,
        square=square,
        promised=nothing,
        length=nothing,
        q=square,
        dq=nothing,
        radius=radius,
        enough=accuracy**2 * square,
        ended=nothing,
        products=nothing,
    )
    taken = 0
    while taken < most and not is_over():
        count = min(CHUNK, most - taken)
        at, taken = backend.repeat(iterate, problem, at, count), taken + count
        if float(at.ended) > 0:
            break
    return Step(at.D, float(at.promised), float(at.ended) == 2, round(float(at.products)))


def iterate(problem: Any, at: Iteration) -> Iteration:
    """One product and what follows from it; nothing where the iteration has ended."""
    xp, where = array_namespace(at.D), backend_of(at.D).where
    W = at.curvature(problem, at.Q)
    bend = inner(at.Q, W)
    bend = where(xp.isfinite(bend), bend, xp.zeros_like(bend))
    positive = bend > 0
    a = at.square / where(positive, bend, xp.ones_like(bend))
    edge = ~positive | (at.length + 2 * a * at.dq + a * a * at.q >= at.radius**2)
    out = _to_the_edge(at)
    a = where(edge, out, a)
    going = at.ended == 0
    a = where(going, a, 0.0 * a)
    D, R = at.D + a * at.Q, at.R - a * W
    promised = at.promised - where(edge, a * at.square - 0.5 * a * a * bend, 0.5 * a * at.square)
    square = inner(R, R)
    done = square <= at.enough
    b = square / where(at.square > 0, at.square, xp.ones_like(square))
    on = going & ~edge
    return Iteration(
        curvature=at.curvature,
        D=D,
        R=R,
        Q=where(on, R + b * at.Q, at.Q),
        square=where(on, square, at.square),
        promised=promised,
        length=at.length + 2 * a * at.dq + a * a * at.q,
        q=where(on, square + b * b * at.q, at.q),
        dq=where(on, b * (at.dq + a * at.q), at.dq),
        radius=at.radius,
        enough=at.enough,
        ended=where(going, where(edge, 2.0 + 0.0 * a, where(done, 1.0 + 0.0 * a, 0.0 * a)), at.ended),
        products=at.products + where(going, 1.0 + 0.0 * a, 0.0 * a),
    )


def _to_the_edge(at: Iteration) -> Scalar:
    """How far along Q the edge is; the recurrences have lost digits by then."""
    xp, where = array_namespace(at.D), backend_of(at.D).where
    length, q, dq = inner(at.D, at.D), inner(at.Q, at.Q), inner(at.D, at.Q)
    room = at.radius**2 - length
    room = where(room > 0, room, 0.0 * room)
    safe = where(q > 0, q, xp.ones_like(q))
    return where(q > 0, (-dq + xp.sqrt(dq * dq + q * room)) / safe, 0.0 * q)

"""The constants of the default solver: name, unit and what chose them.

The settings of OADMM have their defaults here, because its parts share them.
"""

from __future__ import annotations

from dataclasses import dataclass

EXPLORE = 45  # among 30, 38, 45, 60: each step is slower and finds lower minima
BLOCK = 20
ROAM = 0.45  # among 0.3 to 0.5: a higher one is faster and ends higher
SETTLE = 0.9
ROUNDS = 15
MEMORY = 10


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The constants of OADMM that are not settings.

    Most were chosen on the plain l1 problems of benchmarks/oadmm.py (item 2: 23 problems, three starts) and on 40
    small problems that no table reports; docs/oadmm.md shows what the parts bring, docs/decisions/ what was tried.

    Parameters
    ----------
    falls : float
        Factor on Crit. A block has brought Crit down where it is below this times what it was; the guard accepts a
        block below this times the largest of the last ones. Chosen for the penalty; the guard took it over from 0.999.
    wild : float
        Share of the gradient. Where Crit is larger after roaming, the iterates have not settled and the penalty rises.
    midway : float
        Share of the rises that a start near a solution leaves out: at the first penalty it would be lost, at the last
        one iterates creep. Among 0.5, 0.8 and 1, on the data of docs/decisions/016-starts.md.
    rise : float
        Factor on the penalty, at every rise past its last value.
    refusal : int
        Rises after a block that the guard refused.
    most : float
        Factor on the last penalty that no rise exceeds. This and the two above were set by reason, not by measurement.
    steep, turn_first, turn_last : float
        Penalties in units of h's kinks: f is steep where it asks for more than the first, and X is turned; then the
        penalty goes from the second to the third at most. Chosen on raw gene data at weights that no table reports.
    multiplier_steps : int
        Steps of the method of multipliers in a block.
    newton_steps, newton_radius : int, float
        Newton steps in X for each of them, and the first radius of their trust region in units of ``|X|``.
    sigma, sigma_range : float
        The first penalty of that method in units of h's kinks, and its largest one in units of the first. Where f has
        no curvature, and the penalty is all there is, twice the first and ten times the second.
    weak : float
        Kinks are no less than this times the weak convexity of h there: the prox has to be well conditioned.
    inexact, inexact_flat : float
        Newton's method ends where the gradient is this share of penalty times primal residual: with an f that has
        curvature, and with one that has none.
    exact : float
        It also ends where the gradient is this share of the least Crit so far, and gradient steps where it is this
        share of the last Crit, if that is below ManIAL's own limit. Chosen among 0.001, 0.01 and 0.05 on 69
        problems with four starts, those of benchmarks/baseline.py among them; so was ``weak``, among 2, 5 and 7.
    growth, caution : float
        Factors on that penalty: where Newton steps settled and the primal residual does not fall, and after a block
        that the guard refused.
    shrink : float
        Factor on the primal residual that counts as falling. These were chosen among fifteen variants on 11 dual
        PCP and dictionary problems, eight of them in no table.
    blocks : int
        Blocks at each weight of the homotopy.
    stages, narrow, tries : int, float, int
        The homotopy takes this many weights at most, narrows their interval to this ratio, tries the last this often.
    first_weight : float
        Of the homotopy: slope of h in units of the curvature of f.
    near, close : float
        Shares of the gradient: Newton's method on the active set is tried when Crit is below, while roaming and after;
        below the first, blocks count as settled.
    fivefold : float
        Factor on Crit since the last attempt that makes another one worthwhile.
    patience : int
        Blocks after which an attempt is made in any case, if they have cost as much as the last one.
    streak : int
        Attempts between two blocks, at most.
    far : float
        Factor on Crit. An attempt that would begin with a longer subgradient has the wrong zeros.
    radius, least_radius : float
        Of the trust region at first and at the beginning of an attempt, in units of ``|X|``.
    returns, most_returns : float, int
        Factor on the penalty of the guard's method at every return to the best point, and how many there are at most.
    even : float
        Relative to F: a larger difference makes one point better than another, whatever their Crit.
    """

    falls: float = 0.99
    wild: float = 0.03
    midway: float = 0.5
    rise: float = 1.05
    refusal: int = 4
    most: float = 4.0
    steep: float = 3.0
    turn_first: float = 2.0
    turn_last: float = 60.0
    multiplier_steps: int = 5
    newton_steps: int = 10
    newton_radius: float = 0.3
    sigma: float = 4.0
    sigma_range: float = 100.0
    inexact: float = 0.3
    inexact_flat: float = 0.2
    weak: float = 7.0
    exact: float = 0.05
    growth: float = 1.5
    caution: float = 1.1
    shrink: float = 0.6
    blocks: int = 3
    stages: int = 12
    narrow: float = 1.03
    tries: int = 4
    first_weight: float = 1e-3
    near: float = 1e-4
    close: float = 1e-3
    fivefold: float = 0.2
    patience: int = 30
    streak: int = 10
    far: float = 100.0
    radius: float = 0.1
    least_radius: float = 0.02
    returns: float = 4.0
    most_returns: int = 10
    even: float = 1e-6

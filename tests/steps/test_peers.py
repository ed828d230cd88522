"""What the methods share: settings and their ranges, products with the data, extensions, known answers."""

import re
from dataclasses import fields

import numpy as np
import pytest

from orthoprox import SOLVERS, Iterations, Problem, UnsupportedProblem, named, solve
from orthoprox._fields import replace
from orthoprox.maps import Matrix
from orthoprox.terms import L1, ExplainedVariance, LeastSquares, Nonnegative
from steps.cases import NOT_LEFT, NOT_LIPSCHITZ, PROBLEMS, B, M, N, R, Y
from steps.checks import check_products, count_calls, takes, walk

SHRINKING = {"p": 1 / 3, "xi": 0.5}
PENALTIES = {"beta0": None, **SHRINKING, "sigma": 1.1, "tau": 4 / (2 - 1.1), "strict_theory": True}
SMOOTHING = {"mu0": None, **SHRINKING, "schedule": "power", "beta0": None}
ManIAL = {"nu0": None, "tol": None, "least_gradient": 1e-6, "dual_step": "classical"}
ManPG = {"inner": "newton", "length": None, "delta": 0.5, "gamma": 0.5, "floor": 1e-4, "refresh": 50}
SEARCH = {"retraction": "polar", "refresh": 50}
DEFAULTS = {
    "oadmm-ep": {**PENALTIES, "theta": 1.01, "alpha": (1.01 - 1) / ((1.01 + 1) * (0.5 + 2)) - 1e-12},
    "oadmm-rr": {**PENALTIES, **SEARCH, "rho": 1, "gamma": 0.5, "delta": 1e-3}
    | {"length": "fixed", "b_range": (1e-3, 1e3)},
    "madmm": {"rho0": None, "most_inner": 10, "balance": 100, "inexact": 0.3, "allow_non_lipschitz": False},
    "manial-1": {**ManIAL, "inner": "tolerance", "rho": 1.8, "tau": 0.8, "most_inner": 100},
    "manial-2": {**ManIAL, "inner": "doubling", "rho": 1.5, "tau": 0.7, "most_inner": 1000},
    "manpg": {**ManPG, "growth": 1.0},
    "manpg-ada": {**ManPG, "growth": 1.01},
    "obcd": {"sweep": None, "working_set": "random", "alpha": 1e-5, "rounds": None, "refresh": 20, "seed": 0},
    "socm": {"beta": None, "lam": None, "form": "three-block", "solve": "auto", "most_inner": 1, "inner_tol": 1e-8}
    | {"allow_non_lipschitz": False},
    "radmm": {"beta": None, "mu": None, "eta": None, "retraction": "polar", "strict_theory": False},
    "rsg": {"eta0": None, "rule": "sqrt", "budget": None, "ratio": 0.8, "retraction": "polar"},
    "spgm-ep": {**SMOOTHING, "theta": 1.0},
    "spgm-rr": {**SMOOTHING, **SEARCH, "length": "backtracking", "eta0": 1.0, "grow_after": 5},
    "subgradient": {"eta0": None, "q": 0.5},
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults_are_those_of_the_papers(name):
    solver = SOLVERS[name]
    assert {field.name: getattr(solver, field.name) for field in fields(solver)} == DEFAULTS[name]
    assert solver.compilable == (name not in ("manial-1", "manial-2", "manpg", "manpg-ada", "obcd"))
    with pytest.raises(AttributeError):
        setattr(solver, next(iter(DEFAULTS[name])), 1.0)


REFUSED = {
    "oadmm": "explore=-1 | block=0 | rounds=0 | roam=0.0 | roam=2.0 | memory=0 | fast='projection'",
    "oadmm-ep": "beta0=0.0 | p=1.0 | xi=0.0 | sigma=2.0 | sigma=0.9 | tau=4.0 | theta=1.0 | alpha=0.5 | "
    "alpha=-0.1 | strict_theory=False, tau=-1.0 | strict_theory=False, sigma=2.5 | "
    "strict_theory=False, xi=-1.0 | strict_theory=False, theta=0.0 | "
    "strict_theory=False, alpha=1.0",
    "oadmm-rr": "rho=0.0 | gamma=1.0 | delta=0.5 | length='long' | b_range=(1.0, 0.5) | tau=1.0 | "
    "retraction='cayley' | refresh=0 | beta0=-1.0",
    "madmm": "rho0=0.0 | most_inner=0 | balance=-1 | inexact=-0.1",
    "manial-1": "inner='steps' | nu0=0.0 | rho=1.0 | tau=1.0 | tol=0.0 | most_inner=0 | "
    "least_gradient=-1.0 | dual_step='long'",
    "manpg": "inner='cg' | length=0.0 | growth=0.99 | delta=0.6 | delta=0.0 | gamma=1.0 | floor=1.0 | refresh=0",
    "obcd": "sweep='parallel' | working_set='greedy' | alpha=0.0 | rounds=0 | refresh=0 | seed=-1",
    "socm": "beta=0.0 | lam=-1.0 | form='one-block' | solve='inverse' | most_inner=0 | inner_tol=-1.0",
    "radmm": "beta=0.0 | mu=-1.0 | eta=0.0 | retraction='cayley'",
    "rsg": "eta0=0.0 | rule='linear' | rule='constant', budget=0 | ratio=1.0 | retraction='cayley'",
    "spgm-ep": "schedule='fast' | mu0=0.0 | p=0.0 | schedule='oadmm', beta0=-1.0 | xi=-1.0 | theta=0.0",
    "spgm-rr": "mu0=0.0 | length='exact' | eta0=0.0 | grow_after=0 | retraction='cayley' | refresh=0 | "
    "length='fixed', retraction='qr'",
    "subgradient": "eta0=0.0 | q=1.5",
}
"""Settings of which the last is out of its range."""


@pytest.mark.parametrize("name", REFUSED)
def test_settings_outside_their_range_are_refused(name):
    for text in REFUSED[name].split(" | "):
        settings = eval(f"dict({text})")
        setting, value = list(settings.items())[-1]
        sentence = rf"^[^;]*\b{setting}\b.*; given .*{re.escape(repr(value))}"
        with pytest.raises(ValueError, match=sentence):
            named(name, **settings)


def test_settings_that_do_not_go_together_are_refused():
    for name, settings, sentence in (
        ("rsg", {"budget": 10}, "budget belongs to the constant rule"),
        ("rsg", {"rule": "constant"}, "A constant length needs eta0, or the budget"),
        ("spgm-ep", {"beta0": 3.0}, "beta0 does not belong to schedule = 'power', where mu0 sets"),
        ("spgm-rr", {"schedule": "oadmm", "mu0": 3.0}, "mu0 does not belong to schedule = 'oadmm', where beta0 sets"),
    ):
        with pytest.raises(ValueError, match=sentence):
            named(name, **settings)


EXTENSIONS = {"oadmm": 0, "oadmm-ep": 0, "oadmm-rr": 0, "rsg": 1, "subgradient": 1, "spgm-ep": 1}
"""How many parts of "scad minus largest-k" a method has no theory for; both where nothing is said."""


@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "obcd"])
def test_extensions_carry_a_note(name):
    notes = solve(PROBLEMS["scad minus largest-k"], name, stop=Iterations(2)).notes
    assert sum(f"{name} has no theory" in note for note in notes) == EXTENSIONS.get(name, 2)


# Method, settings, and the products in 40 steps besides those that ``work`` counts.
WORK = {
    "oadmm-ep": ("oadmm-ep", {}, 0),
    "oadmm-rr": ("oadmm-rr", {"beta0": 5.0, "length": "bb-long", "refresh": 8}, 5),
    "radmm": ("radmm", {}, 0),
    "rsg": ("rsg", {}, 0),
    "subgradient": ("subgradient", {}, 0),
    "spgm-ep": ("spgm-ep", {}, 0),
    "spgm-rr": ("spgm-rr", {"mu0": 0.1, "refresh": 8}, 5),
    "manpg": ("manpg", {"length": 0.3, "refresh": 8}, 5),
    "manpg-ada": ("manpg-ada", {"refresh": 8}, 5),
    "manpg, dual": ("manpg", {"inner": "dual"}, 0),
    "madmm": ("madmm", {}, "inner"),
    "manial-1": ("manial-1", {"most_inner": 7}, "inner"),
    "manial-2": ("manial-2", {"most_inner": 20}, "inner"),
    "socm, linearised": ("socm", {"solve": "linearised", "most_inner": 3}, 0),
    "socm, two blocks": ("socm", {"form": "two-block"}, 0),
    "socm, factored": ("socm", {}, -40),  # products with the inverse instead
    "obcd, three rounds": ("obcd", {"sweep": "jacobi", "rounds": 3}, 2),
}


@pytest.mark.parametrize("case", WORK)
def test_work_counts_the_products_with_the_data(case, monkeypatch):
    name, settings, besides = WORK[case]
    problem = Problem.of(LeastSquares(B, Y) + 0.3 * L1(), over=M)
    solver = named(name, **settings).for_problem(problem)
    state = solver.init(problem, M.random(0))
    assert solver.work(state) == 0
    calls, trials = count_calls(monkeypatch), 0
    for _ in range(40):
        state = solver.step(problem, state)
        trials += getattr(state, "trials", 1) + (getattr(state, "alpha", 1.0) < 1)
    work = solver.work(state)
    assert len(calls) == work + (work // 50 if besides == "inner" else besides)
    if case in ("oadmm-rr", "spgm-rr", "manpg"):
        assert trials > 42  # refused step sizes cost no product
    if name in ("madmm", "manial-1", "manial-2") or case in ("socm, linearised", "socm, two blocks"):
        assert work > 50
    else:
        assert work == (120 if name == "obcd" else 40)
    check_products(problem, solver.certificate(problem, state).point)  # where they are refreshed, by the last step


@pytest.mark.parametrize(("name", "each"), [("oadmm-rr", 1), ("spgm-rr", 1), ("manpg", 3)])
def test_products_with_a_map_from_the_left_are_carried_along_a_search(name, each, monkeypatch):
    # ManPG needs two more for its subproblem.
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((N, N)))[0]
    problem = Problem.of(ExplainedVariance(B, 0.1) + 0.5 * L1() @ Matrix(Q), over=M)
    settings = {"manpg": {"length": 3.0}, "oadmm-rr": {"length": "bb-long", "beta0": 5.0}, "spgm-rr": {"mu0": 0.1}}
    solver = named(name, **settings[name], refresh=1).for_problem(problem)
    state = solver.init(problem, M.random(0))
    calls = count_calls(monkeypatch, Matrix)
    for _ in range(40):
        state = solver.step(problem, state)
    assert sum(A is problem.A for A in calls) == (each + 1) * 40  # one more where all is refreshed in every step


@pytest.mark.parametrize("kind", NOT_LEFT)
@pytest.mark.parametrize("name", SOLVERS)
def test_a_state_holds_the_products_of_its_point_where_no_search_can_carry_them(name, kind):
    problem = NOT_LEFT[kind]
    if not takes(named(name), problem):
        return
    solver = named(name).for_problem(problem)
    for state in walk(problem, solver, M.random(3), 3):
        check_products(problem, solver.certificate(problem, state).point)
    result = solve(problem, name, seed=3, stop=Iterations(10))
    assert result.objective == pytest.approx(float(problem.objective(result.X)), rel=1e-12)


# The setting, and where a state keeps it.
PENALTY = {"madmm": ("rho0", "rho"), "manial-1": ("nu0", "nu"), "manial-2": ("nu0", "nu"), "socm": ("lam", "lam")}
PENALTY |= {"radmm": ("beta", None)}


@pytest.mark.parametrize("name", PENALTY)
def test_a_run_begins_with_the_penalty_that_matches_f_and_without_a_multiplier(name):
    setting, kept = PENALTY[name]
    X, problem, unknown = M.random(0), PROBLEMS["groups of a matrix"], PROBLEMS["own function, unknown constant"]
    solver, L = named(name).for_problem(problem), problem.f.lipschitz
    assert getattr(solver, setting) == pytest.approx(L / problem.A.norm**2)
    assert getattr(named(name, **{setting: 2.0}).for_problem(problem), setting) == 2.0
    state = solver.init(problem, X)
    certificate = solver.certificate(problem, state)
    assert np.array_equal(certificate.y, problem.A(X)) and not certificate.z.any()
    assert np.array_equal(solver.point(state), X)
    assert (state.t, solver.work(state), state.L) == (0, 0, L)
    assert kept is None or getattr(state, kept) == getattr(solver, setting)
    solver = named(name).for_problem(unknown)
    state = solver.init(unknown, X)
    assert kept is None or (getattr(solver, setting) is None and getattr(state, kept) == state.L > 0)
    assert solver.step(unknown, state).t == 1


# Settings in units of W_h.
TOO_WEAK = [
    *((name, {"beta0": 1.9}, "beta0 must be at least 2 tau W_h") for name in ("oadmm-ep", "oadmm-rr")),
    ("madmm", {"rho0": 1.9}, "rho0 must be at least 2 W_h"),
    *((name, {"nu0": 1.9}, "nu0 must be at least 2 W_h") for name in ("manial-1", "manial-2")),
    ("socm", {"beta": 1e3, "lam": 1.9}, "lam must be at least 2 W_h"),
    ("radmm", {"beta": 0.9}, r"radmm needs mu \+ 1/beta < 1/W_h"),
]


@pytest.mark.parametrize(("name", "settings", "sentence"), TOO_WEAK)
def test_a_penalty_below_what_a_weakly_convex_h_needs_is_refused(name, settings, sentence):
    problem = PROBLEMS["mcp of differences"]
    settings = {setting: value * problem.h.weak_convexity for setting, value in settings.items()}
    with pytest.raises(ValueError, match=sentence):
        solve(problem, named(name, **settings))


UNKNOWN = {
    "oadmm-ep": {"beta0": 1e-3, "strict_theory": False},  # a tiny penalty makes L matter
    "radmm": {"beta": 1e-3, "mu": 0.3},
    "spgm-ep": {"mu0": 1e3},
    "socm": {"beta": 1e-3, "lam": 1e-3, "most_inner": 1},
    "socm, two blocks": {"beta": 1e-3, "form": "two-block", "most_inner": 1},
    "obcd": {"alpha": 1e-2},
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_an_unknown_constant_is_doubled_until_the_model_is_an_upper_bound(case):
    problem, X = PROBLEMS["own function, unknown constant"], M.random(1)
    solver = named(case.partition(",")[0], **UNKNOWN[case]).for_problem(problem)
    start = solver.init(problem, X)
    assert 0.1 < start.L < 30

    def after(L):
        state = solver.step(problem, replace(start, L=L))
        return state.L, state.X if "socm" in case else state.now.X

    L, X_new = after(1e-6)
    doublings, D = np.log2(L / 1e-6), X_new - X
    assert doublings >= 1 and abs(doublings - round(doublings)) < 1e-9
    f, slope = problem.f, np.sum(problem.f.gradient(X) * D)
    assert f.value(X_new) <= f.value(X) + slope + L / 2 * np.sum(D**2) + 1e-12
    assert after(L / 2)[0] == after(L)[0] == L  # no less would do, and what does is kept
    assert np.array_equal(after(L)[1], X_new)  # the step is that of the last constant


FORMS = {"madmm": ("madmm", {}), "socm": ("socm", {}), "two-block": ("socm", {"form": "two-block"})}


@pytest.fixture(params=FORMS)
def method(request):
    name, settings = FORMS[request.param]
    return named(name, allow_non_lipschitz=True, **settings)


@pytest.mark.parametrize("problem", NOT_LIPSCHITZ.values(), ids=NOT_LIPSCHITZ)
@pytest.mark.parametrize("name", ["madmm", "socm"])
def test_it_is_refused_unless_asked_for(name, problem):
    sentence = f"{name} needs a Lipschitz h; given {type(problem.h).__name__}.*Pass allow_non_lipschitz=True"
    with pytest.raises(UnsupportedProblem, match=sentence):
        solve(problem, name)
    result = solve(problem, named(name, allow_non_lipschitz=True), stop=Iterations(3))
    assert result.iterations == 3
    assert sum("no theory for an h that is not Lipschitz" in note for note in result.notes) == 1
    assert not any("weakly convex" in note for note in result.notes)


def test_the_scope_says_so():
    for name in ("madmm", "socm"):
        assert "h need not be Lipschitz*" in str(named(name).scope)
    assert str(named("obcd").scope).endswith("h need not be Lipschitz")  # covered by its theory


def test_penalties_are_finite(method):
    for problem in NOT_LIPSCHITZ.values():
        L = problem.f.lipschitz
        chosen = method.for_problem(problem)
        state = chosen.init(problem, M.random(0))
        if method.name == "madmm":
            assert (chosen.rho0, state.rho) == (L, L)
        else:
            assert (state.beta, state.lam) == (2 * L if method.form == "two-block" else L, L)
        if method.name == "madmm":  # and may fall
            E = np.ones((N, R))
            assert chosen._penalty_factor(problem, 0, 4 * L, 0 * E, E) == 0.5
    alone = Problem.of(Nonnegative(), over=M)  # neither f nor h has a scale
    state = method.for_problem(alone).init(alone, M.random(0))
    assert (state.rho if method.name == "madmm" else state.lam) == 1.0

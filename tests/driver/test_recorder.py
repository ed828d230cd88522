"""Which iterations are recorded, and how many steps may be asked for at once."""

import itertools

import numpy as np
import pytest

from orthoprox import Critical, Iterations, Recorder, Seconds, Stalled, named, solve
from orthoprox.models import sparse_pca


def test_records_become_rarer_and_the_next_one_is_known():
    record = Recorder()
    due = [t for t in range(5000) if record.due(t)]
    assert due[:65] == list(range(65))
    assert all(later - t <= max(t // 32, 1) for t, later in itertools.pairwise(due))
    assert len(due) < 64 + 33 * 7
    for t in range(3000):
        assert t + record.rest(t) == next(later for later in due if later > t)
    assert all(Recorder(every=7).due(t) == (t % 7 == 0) for t in range(50))


def test_the_first_rule_to_speak_limits_what_is_asked_for():
    assert (Iterations(100) | Critical(1e-3, every=7)).rest(10) == 4
    assert (Iterations(12) & Seconds(3)).rest(10) == 2
    assert (Seconds(1) | Critical(1) | Stalled()).rest(5) > 10**6
    assert (Iterations(9) | (lambda now: False)).rest(1) == 1


def test_a_rule_on_crit_looks_when_something_is_measured():
    D = np.random.default_rng(0).standard_normal((30, 8))
    problem = sparse_pca(D, n_components=2, weight=0.1)
    often = solve(problem, "oadmm-ep", stop=Iterations(5000) | Critical(0.2), record=Recorder(every=1))
    rarely = solve(problem, "oadmm-ep", stop=Iterations(5000) | Critical(0.2))
    assert often.converged and rarely.converged
    assert often.iterations <= rarely.iterations <= often.iterations + often.iterations // 16 + 1
    assert len(rarely.history.objective) < len(often.history.objective)
    exact = solve(problem, "oadmm-ep", stop=Iterations(5000) | Critical(0.2, every=1))
    assert exact.iterations == often.iterations
    default = solve(problem, named("oadmm"), stop=Iterations(300) | Critical(1e-8))  # which measures every block
    assert default.converged and default.compile_seconds == 0
    short = solve(problem, named("oadmm", explore=0, polish=False), stop=Iterations(200))
    assert len(short.history.objective) == short.iterations + 1


@pytest.mark.parametrize("every", [0, -3])
def test_a_recorder_needs_a_distance(every):
    with pytest.raises(ValueError, match="every >= 1"):
        Recorder(every=every)

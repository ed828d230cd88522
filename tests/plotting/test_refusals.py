"""What pictures refuse, in a sentence."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from orthoprox import History, plotting
from sentences import check_refusal


class Unfitted:
    def fit(self, X): ...


MEASURES = ("iteration", "seconds", "objective", "criticality")
PATH = {"n_nonzero": [5, 10, 40], "variance_ratio": [0.4, 0.6, 0.7], "error": None, "error_se": None}
images, bars = partial(partial, plotting.loadings_images, np.eye(4)), partial(partial, plotting.loadings_bars)
arrows = partial(partial, plotting.biplot, np.eye(3, 4))
curves = partial(partial, plotting.convergence, History({name: [1.0, 2.0] for name in MEASURES}))


def path(**more):
    return partial(plotting.sparsity_path, SimpleNamespace(**{**PATH, **more}))


VALUES = [
    (images((2, 3)), "4 features do not make images of 2 x 3 = 6 pixels"),
    (images((2, 3), pixels=[0, 1]), "pixels must be 4 whole numbers from 0 to 5"),
    (images((2, 3), pixels=[0, 1, 2, 6]), "pixels must be 4 whole numbers"),
    (images((2, 3), pixels=[0, 1, 2, -1]), "pixels must be 4 whole numbers"),
    (images((2, 3), pixels=[0.0, 1.0, 2.0, 3.0]), "dtype float64"),
    (images(4), "shape must be two whole numbers"),
    (images((2, 2), titles=["one"]), "one title for each of the 4 components"),
    (images((2, 2), columns=0), "columns must be a whole number, at least 1; given 0"),
    (bars(np.ones(3)), r"components must be a matrix with .* given shape \(3,\)"),
    (bars(np.ones((0, 3))), r"given shape \(0, 3\)"),
    (bars([[1.0, np.nan]]), "components must be finite; given 1 entries"),
    (bars(np.eye(3), ["a"]), "one name for each of the 3 features; given 1.*X.T"),
    (bars(np.eye(3), "abc"), "one name for each of the 3 features; given 'abc'"),
    (bars(np.eye(3), top=2.5), "top must be a whole number, at least 1; given 2.5"),
    (bars(np.eye(3), titles="abc"), "one title for each"),
    (lambda: plotting.top_terms(Unfitted()), "This Unfitted has no components yet: call fit first"),
    (lambda: plotting.top_terms(np.eye(2), n=0), "n must be a whole number"),
    (arrows(np.ones((5, 2))), r"a column for each of the 3 components; given shape \(5, 2\)"),
    (arrows(np.ones(3)), "scores must be a matrix"),
    (arrows(np.ones((20, 3)), pair=(0, 3)), r"two different components from 0 to 2; given \(0, 3\)"),
    (arrows(np.ones((20, 3)), pair=(1, 1)), "two different components"),
    (arrows(np.ones((20, 3)), pair=(-1, 1)), "two different components"),
    (arrows(np.ones((20, 3)), classes=["a"]), "one class for each of the 20 samples"),
    (arrows(np.ones((20, 3)), names=["a"]), "one name for each of the 4 features"),
    (arrows(np.ones((20, 3)), top=0), "top must be"),
    (curves(against="seconds"), "against must be a sequence of 'iteration' and 'seconds'"),
    (curves(against=["time"]), r"given \['time'\]"),
    (curves(against=[]), "against must be"),
    (partial(plotting.convergence, []), "at least one run"),
    (curves(labels=["a", "b"]), "a label for each; given 1 runs and 2 labels"),
    (path(variance_ratio=[0.5]), "a number for each n_nonzero; given 1 and 3"),
]
TYPES = [
    (lambda: plotting.topic_table(np.eye(2), ax=Figure()), "ax must be the axes of a matplotlib figure"),
    (bars(np.eye(2), figure=Figure().gca()), "figure must be a matplotlib Figure"),
    (bars([["a", "b"]]), "components must hold real numbers"),
    (bars(np.eye(2) * 1j), "components must hold real numbers"),
    (partial(plotting.convergence, 3.0), "A run is a Result, .* given float"),
    (partial(plotting.convergence, History({"iteration": [1]})), r"given History\(1 records of iteration\)"),
    (partial(plotting.convergence, History({name: [] for name in MEASURES})), r"History\(0"),
    (
        lambda: plotting.sparsity_path(3.0),
        "must be what sparse_pca_path gives, with n_nonzero as a row of numbers; given float",
    ),
    (path(variance_ratio=[]), "variance_ratio as a row of numbers"),
    (path(variance_ratio=["a"]), "variance_ratio as a row of numbers"),
    (path(error=[0.1, 0.2, 0.3]), "error_se as a row"),
]
CASES = [(ValueError, *case) for case in VALUES] + [(TypeError, *case) for case in TYPES]


@pytest.mark.parametrize(("kind", "make", "sentence"), CASES)
def test_a_mistake_gets_a_sentence(kind, make, sentence):
    check_refusal(make, sentence, kind)

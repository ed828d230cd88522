"""What notebooks show of problems, results and paths: small, escaped, on any paper, and for nothing."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

from orthoprox import Iterations, Problem, Stiefel, solve
from orthoprox._fields import replace
from orthoprox._html import brief, card
from orthoprox.estimators import sparse_pca_path
from orthoprox.models import sparse_pca
from orthoprox.terms import L1, ExplainedVariance, LargestK, Linear, Smooth

MISCHIEF = "<script>alert('a & b')</script>"


class Reader(HTMLParser):
    """The words of a page; every element must be closed in its order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.names, self.cells = [], set(), []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.names.add(tag)
        assert {name for name, _ in attrs} <= {"style"}
        if tag in ("td", "th", "div"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, words):
        self.cells[-1] += words


def read(thing):
    page = thing._repr_html_()
    assert len(page) < 8000 and "http" not in page
    assert not re.search(r"(?<![-\w])(color|background): (?!inherit|none)", page)  # the colours are those of the page
    reader = Reader(page)
    assert reader.names <= {"div", "table", "tr", "td", "th"}
    return [cell for cell in reader.cells if cell]


@pytest.fixture(scope="module")
def D():
    return np.random.default_rng(0).standard_normal((40, 8))


def test_a_problem_shows_the_parts_that_it_has(D):
    title, *cells = read(Problem.of(ExplainedVariance(D) - 0.5 * LargestK(6) + 0.5 * L1() + 2.0, over=(8, 2)))
    assert title == "Problem: minimise f(X) \u2212 g(X) + h(X) over X\u2032X = I, X is 8 by 2"
    assert cells[:4] == ["f", "ExplainedVariance(B=Matrix(40 by 8), weight=1)", "g", "LargestK(k=6, weight=0.5)"]
    assert cells[4:] == ["h", "L1(weight=0.5)", "offset", "2"]
    title, *cells = read(replace(Problem.of(L1() @ D, over=(8, 2)), notes=(MISCHIEF,)))
    assert title.startswith("Problem: minimise h(A(X)) over")
    assert cells == ["h", "L1(weight=1)", "A", "Matrix(40 by 8)", MISCHIEF]
    title, *cells = read(Problem.of(Linear(np.ones((2000, 2))) + Smooth(np.sum), over=(2000, 2)))
    assert "Linear(C=array of 2000 by 2" in cells[1] and "sum" in cells[1]
    assert read(Problem(M=Stiefel(3, 1)))[0].startswith("Problem: minimise 0 over")


def test_nothing_is_computed_to_show_a_problem(D):
    calls = []
    A = LinearOperator(D.shape, matvec=lambda x: calls.append(1) or D @ x, rmatvec=lambda y: calls.append(1) or D.T @ y)
    f = Smooth(lambda X: calls.append(1) or (X.sum(), np.ones_like(X)))
    problem = Problem.of(f + L1() @ A, over=(8, 2))
    calls.clear()
    assert any("Operator" in cell for cell in read(problem)) and calls == []


def test_a_result_shows_its_numbers(D):
    result = solve(sparse_pca(D, n_components=2, weight=0.1), "oadmm-ep", stop=Iterations(3))
    cells = read(replace(result, notes=(MISCHIEF,)))
    assert cells[0] == f"oadmm-ep on 8 by 2: {result.message}" and cells[-1] == MISCHIEF
    shown = dict(zip(cells[1:-1:2], cells[2:-1:2], strict=True))
    assert shown["objective"] == f"{result.objective:.10g}" and shown["iterations"].startswith("3 in ")
    assert shown["criticality"].startswith(f"{result.criticality:.3e} (primal")
    assert dict(zip(*2 * [iter(read(solve(sparse_pca(D, n_components=2, weight=0.1)))[1:])], strict=False))["steps"]


def test_a_path_shows_its_table_and_the_choice(D):
    path = sparse_pca_path(D, 2, n_nonzero=[4, 8, 16], cv=3, random_state=0)
    _, *cells = read(path)
    assert cells[:6] == ["nonzeros", "variance", "of PCA", "at most", "error", "\u00b1"] and cells[-1] == path.advice
    counts = cells[6:-1:6]
    assert [count.removeprefix("\u2192 ") for count in counts] == ["4", "8", "16"]
    assert [count for count in counts if count.startswith("\u2192")] == [f"\u2192 {path.best_one_se}"]
    plain = replace(path, error=None, error_se=None, upper_bound=None)
    first = [f"{column[0]:.2%}" for column in (path.variance_ratio, path.relative_variance_ratio)]
    assert read(plain)[1:7] == ["nonzeros", "variance", "of PCA", "4", *first]


def test_descriptions_are_short():
    assert len(brief(tuple("x" * 90 for _ in range(9)))) == 240
    assert brief(1 / 3) == "0.333333" and brief(None) == "None" and brief(object()) == "object"
    assert "&lt;b&gt;" in card("<b>", [("<b>", "<b>")], head=("<b>", "<b>"), notes=["<b>"])
    assert "<b>" not in card("<b>", [("<b>", "<b>")], head=("<b>", "<b>"), notes=["<b>"])

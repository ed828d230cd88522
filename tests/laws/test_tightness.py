"""Maps whose rows are orthogonal and of one length know it: A A' = c I."""

import array_api_strict
import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator

from catalogue_maps import CASES, Case
from orthoprox.maps import Difference, Identity, Matrix, Operator, Selection, Sparse


def tight_factor(B):
    """The c with B B' = c I, from the whole matrix."""
    gram = B @ B.T
    c = gram[0, 0]
    return c if c > 0 and np.allclose(gram, c * np.eye(len(B)), rtol=0, atol=1e-12 * c) else None


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_tightness_is_true_and_simple_maps_know_theirs(case: Case) -> None:
    wanted, found = tight_factor(case.matrix), case.map.tightness
    if found is not None or isinstance(case.map, (Identity, Matrix, Sparse, Operator, Selection)):
        assert found == (None if wanted is None else pytest.approx(wanted, rel=1e-13))


@pytest.mark.parametrize("m", [1, 4, 9])
def test_orthogonal_rows_of_one_length_are_recognised(m, monkeypatch) -> None:
    rng = np.random.default_rng(3)
    B = 1.5 * np.linalg.qr(rng.standard_normal((9, 9)))[0][:m]
    A = Matrix(B)
    some = Selection(range(m), columns=9)
    for tight in (A, Sparse(csr_array(B)), Operator(aslinearoperator(B))):
        assert tight.tightness == pytest.approx(2.25, rel=1e-13)
        assert (-2.0 * tight).tightness == pytest.approx(9.0, rel=1e-13)
        assert (0.0 * tight).tightness is None
    assert (3.0 * some).tightness == 9.0 and Identity().tightness == 1.0
    square = Matrix(2.0 * np.linalg.qr(rng.standard_normal((9, 9)))[0])
    assert (A @ square).tightness == pytest.approx(9.0, rel=1e-13)
    assert (Difference(periodic=True) @ square).tightness is None and (
        some @ Difference(periodic=True)
    ).tightness is None
    assert Matrix(B.astype(np.float32)).tightness == pytest.approx(2.25, rel=1e-5)
    assert Matrix(array_api_strict.asarray(B)).tightness == pytest.approx(2.25, rel=1e-13)
    assert Matrix(1e100 * B).tightness == pytest.approx(2.25e200, rel=1e-13)
    assert Matrix(1e200 * B, norm=1.5e200).tightness is None  # its squares are not finite
    calls, original, again = [], Matrix.adjoint, Matrix(B)
    monkeypatch.setattr(Matrix, "adjoint", lambda self, Z: calls.append(1) or original(self, Z))
    assert again.tightness == again.tightness and len(calls) == 1  # computed once


@pytest.mark.parametrize("seed", range(5))
def test_a_small_fault_in_one_row_is_not_overlooked(seed) -> None:
    rng = np.random.default_rng(seed)
    B = np.linalg.qr(rng.standard_normal((200, 120)))[0].T
    assert Matrix(B).tightness == pytest.approx(1.0, rel=1e-13)
    longer, leaning = B.copy(), B.copy()
    longer[7] *= 1 + 1e-9
    leaning[7] += 1e-9 * B[3]
    assert Matrix(longer).tightness is None and Matrix(leaning).tightness is None
    assert Matrix(B.T).tightness is None  # B'B = I is something else

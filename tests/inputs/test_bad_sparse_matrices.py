"""Sparse matrices with invalid index arrays raise an error before compiled code reads the arrays."""

import numpy as np
import pytest

import fastndcg as fn

sparse = pytest.importorskip("scipy.sparse")

CHANGES = {
    "a bound that decreases": lambda matrix: matrix.indptr.__setitem__(1, 10**6),
    "a bound below 0": lambda matrix: matrix.indptr.__setitem__(0, -5),
    "a last bound beyond the entries": lambda matrix: matrix.indptr.__setitem__(-1, 10**8),
    "an index beyond the items": lambda matrix: matrix.indices.__setitem__(0, 10**8),
    "an index below 0": lambda matrix: matrix.indices.__setitem__(0, -(10**8)),
    "fewer numbers than indices": lambda matrix: setattr(matrix, "data", matrix.data[:2]),
    "fewer indices than bounds say": lambda matrix: setattr(matrix, "indices", matrix.indices[:2]),
    "fewer bounds than users": lambda matrix: setattr(matrix, "indptr", matrix.indptr[:2]),
}


def matrix_of(format):
    """Return a matrix of four users and six items in a compressed format."""
    rows = np.array([[1, 0, 0, 2, 0, 1], [0, 3, 0, 0, 0, 1], [1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1]])
    return sparse.bsr_matrix(rows, blocksize=(2, 3)) if format == "bsr" else sparse.csr_matrix(rows).asformat(format)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("format", ["csr", "csc", "bsr"])
def test_index_arrays_that_do_not_fit(format, change):
    """An invalid index array raises an error that names the array and its rule. Valid matrices give values."""
    recommended = np.array([[0, 1, 2]] * 4)
    assert fn.evaluate(matrix_of(format), recommended, "rr").values[:, 0].tolist() == [1.0, 0.5, 1.0, 0.0]
    matrix = matrix_of(format)
    CHANGES[change](matrix)
    message = r"^a sparse matrix must be valid, but this is not: `(indptr|indices)` must .*. Build it from its entries"
    with pytest.raises(fn.InvalidInputError, match=message):
        fn.evaluate(matrix, recommended, "rr")
    with pytest.raises(fn.InvalidInputError, match=message):
        fn.beyond_accuracy([[0, 1]], "coverage", catalogue=6, categories=matrix)

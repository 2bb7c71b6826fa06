"""The best order of each query, however its labels are brought into it: counted in a word, in an array, or sorted."""

from math import log2

import numpy as np
import pytest

import fastndcg as fn


@pytest.mark.parametrize("highest", [2, 7, 8, 31, 32, 2.5, -1])
@pytest.mark.parametrize("n_documents", [1, 9, 255, 256, 300])
def test_idcg_is_a_sum_of_sorted_labels(n_documents, highest):
    """Bit for bit the sum in rank order, for all ranks and for ten, where labels are few, many, broken or negative."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, int(abs(highest)) + 1, (6, n_documents)).astype("f8")
    labels[0] = max(highest, 1)  # as many as a byte counts, and one more
    labels[1, :: max(n_documents // 3, 1)] = highest
    labels[2] = 0
    convention = fn.conventions["default"].replace(negative_labels="keep")

    found = fn.evaluate(labels, rng.random(labels.shape), "idcg,idcg@10", convention=convention).values

    for row, values in zip(labels.tolist(), found.tolist(), strict=True):
        for k, value in zip((n_documents, 10), values, strict=True):
            best = [label for label in sorted(row, reverse=True)[:k] if label > 0]
            worst = [(rank, label) for rank, label in enumerate(sorted(row, reverse=True)[:k], 1) if label < 0]
            total = 0.0
            for rank, label in [*enumerate(best, 1), *worst]:
                total += label * (1 / log2(rank + 1))
            assert value == pytest.approx(total, rel=1e-15)

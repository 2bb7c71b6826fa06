"""The best order of each query, whether its labels are counted or sorted."""

from math import log2

import numpy as np
import pytest

import fastndcg as fn


@pytest.mark.parametrize("highest", [2, 7, 8, 31, 32, 2.5, -1])
@pytest.mark.parametrize("n_documents", [1, 9, 255, 256, 300])
def test_idcg_is_a_sum_of_sorted_labels(n_documents, highest):
    rng = np.random.default_rng(7)
    labels = rng.integers(0, int(abs(highest)) + 1, (6, n_documents)).astype("f8")
    labels[0] = max(highest, 1)  # the most that a byte counts, and one more
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


GAINS = ("", "@2", "(gain=exp2)", "(gain=binary)", "(rel=2)", "(gain=[0,1,5])", "(gain=[0,2,2])")


@pytest.mark.parametrize("gain", GAINS)
def test_labels_of_1_alone_beside_others(gain):
    queries = [[1] * 9, [1, 2, 1], [], [1, 1], [0, 1, 0, 2], [2, 2], [1], [0, 0]]
    queries += [[1, 1.5]] if "[" not in gain else []
    scores = [np.arange(len(query), 0.0, -1) for query in queries]
    metric, companion = f"idcg{gain}", f"q{gain}"
    alone = [fn.evaluate(np.array(query), own, metric, offsets=[0, len(query)]).values[0, 0]
             for query, own in zip(queries, scores, strict=True)]  # fmt: skip
    given, offsets = (np.concatenate(queries), np.concatenate(scores)), np.cumsum([0, *map(len, queries)])
    for metrics, place in ((metric, 0), (f"{metric},{companion}", 0), (f"{companion},{metric}", 1)):
        values = fn.evaluate(*given, metrics, offsets=offsets).values
        np.testing.assert_array_equal(values[:, place], alone)
        expected = fn.reference.evaluate(*given, metrics, offsets=offsets).values
        np.testing.assert_allclose(values, expected, rtol=1e-14)
    if not gain:
        assert alone[3] == 1 / log2(2) + 1 / log2(3)

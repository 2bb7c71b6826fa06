"""A truth prepared once: what an Evaluator keeps of it changes no bit, whoever uses it and how often."""

from concurrent.futures import ThreadPoolExecutor

import cases
import numpy as np
import pytest

import fastndcg as fn
from fastndcg import engine

METRICS = [*cases.names(), "nDCG@10", "nDCG(gain=exp2)@5", "P@10", "R(rel=2)@20", "Rprec@5", "AP@10"]


def drawn(n_documents, highest_label, seed=0):
    """Labels, offsets, and the scores of several systems; queries of up to forty documents, with ties."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, highest_label + 1, n_documents) * (rng.random(n_documents) < 0.3)
    offsets = np.unique(np.append(np.arange(0, n_documents, 40), [7, n_documents]))
    return labels.astype("u1"), offsets, [rng.integers(0, 50, n_documents).astype("f4") for _ in range(6)]


@pytest.mark.parametrize("n_documents", [300, 3 * engine.SMALL])
@pytest.mark.parametrize("highest_label", [1, 3])
def test_every_use_gives_what_evaluate_gives(n_documents, highest_label):
    """Systems in turn, each of them twice: the first fills what is kept, all others read it."""
    labels, offsets, systems = drawn(n_documents, highest_label)
    evaluator = fn.Evaluator(labels, METRICS, offsets=offsets)
    for scores in [*systems, *systems]:
        result = evaluator.evaluate(scores)
        expected = fn.evaluate(labels, scores, METRICS, offsets=offsets)
        assert result.values.tobytes() == expected.values.tobytes()
        assert result.n_tied == expected.n_tied


@pytest.mark.parametrize("n_documents", [300, 3 * engine.SMALL])
def test_many_threads_share_one(n_documents):
    """Threads that use an evaluator for the first time at once get what each would get alone."""
    labels, offsets, systems = drawn(n_documents, 3)
    expected = [fn.evaluate(labels, scores, METRICS, offsets=offsets).values.tobytes() for scores in systems]
    with ThreadPoolExecutor(len(systems)) as pool:
        for _ in range(5):
            evaluator = fn.Evaluator(labels, METRICS, offsets=offsets)
            found = pool.map(lambda scores, one=evaluator: one.evaluate(scores).values.tobytes(), systems)
            assert list(found) == expected


def test_a_refused_system_leaves_it_usable():
    """An error in the scores of one system says nothing of the next."""
    labels, offsets, systems = drawn(300, 3)
    evaluator = fn.Evaluator(labels, METRICS, offsets=offsets)
    with pytest.raises(fn.InvalidInputError, match="`scores` must not be NaN"):
        evaluator.evaluate(np.full(300, np.nan))
    expected = fn.evaluate(labels, systems[0], METRICS, offsets=offsets)
    assert evaluator.evaluate(systems[0]).values.tobytes() == expected.values.tobytes()


@pytest.mark.parametrize("gain", ["linear", "exp2", [0, 1, 3], [0, 0, 1]])
@pytest.mark.parametrize("label", [1, 2])
@pytest.mark.parametrize("rel", [None, 1, 2])
def test_ideal_of_equal_labels(gain, label, rel):
    """Where all relevant documents have one label, the ideal comes from a table, or it does not: the same number."""
    rng = np.random.default_rng(1)
    labels = label * (rng.random(400) < 0.4)
    labels[0] = 0
    graded = labels.copy()
    graded[-1] = 2 if label == 1 else 1  # in a query of its own
    scores, offsets = rng.random(400), np.append(np.arange(0, 400, 57), [399, 400])
    metrics = [fn.Metric(name, k, gain=gain, rel=rel) for name in ("nDCG", "IDCG") for k in (None, 1, 10)]
    one, other = (fn.evaluate(each, scores, metrics, offsets=offsets).values for each in (labels, graded))
    assert one[:-1].tobytes() == other[:-1].tobytes()

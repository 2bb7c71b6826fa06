"""A truth prepared once: what an Evaluator keeps of it changes no bit, whoever uses it and how often."""

import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import strategies
from refusals import refused
from strategies import compilations

import fastndcg as fn
from fastndcg.engine import chunk
from fastndcg.engine import run as engine
from fastndcg.kernels.jit import IS_JIT_OFF

METRICS = [*strategies.names(), "nDCG@10", "nDCG(gain=exp2)@5", "P@10", "R(rel=2)@20", "Rprec@5", "AP@10"]


def drawn(n_documents, highest_label, seed=0):
    """Draw labels, offsets, and the scores of several systems, with ties, for queries of up to 40 documents."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, highest_label + 1, n_documents) * (rng.random(n_documents) < 0.3)
    offsets = np.unique(np.append(np.arange(0, n_documents, 40), [7, n_documents]))
    return labels.astype("u1"), offsets, [rng.integers(0, 50, n_documents).astype("f4") for _ in range(6)]


@pytest.mark.parametrize("n_documents", [30, 300, 3 * chunk.MIN_DOCUMENTS_FOR_THREADS])
@pytest.mark.parametrize("highest_label", [1, 3])
def test_evaluator_equals_evaluate_on_repeated_use(n_documents, highest_label):
    labels, offsets, systems = drawn(n_documents, highest_label)
    evaluator = fn.Evaluator(labels, METRICS, offsets=offsets)
    out = np.empty((len(METRICS), len(offsets) - 1))
    systems = systems if n_documents < chunk.MIN_DOCUMENTS_FOR_THREADS else systems[:2]
    for number, scores in enumerate([*systems, *systems]):
        result = evaluator.evaluate(scores) if number % 4 < 2 else evaluator.evaluate(scores, out=out)
        expected = fn.evaluate(labels, scores, METRICS, offsets=offsets)
        assert result.values.tobytes() == expected.values.tobytes()
        assert result.n_tied == expected.n_tied
        if number % 4 >= 2:
            assert out.tobytes() == expected.values.T.tobytes()
            assert np.shares_memory(result.values, out)


def test_a_call_of_an_evaluator_is_evaluate():
    labels, offsets, (scores, *_) = drawn(300, 3)
    evaluator, out = fn.Evaluator(labels, METRICS, offsets=offsets), np.empty((len(METRICS), len(offsets) - 1))
    assert evaluator(scores).values.tobytes() == evaluator.evaluate(scores).values.tobytes()
    assert np.shares_memory(evaluator(scores, out=out).values, out)
    assert fn.Evaluator(fn.Rankings([1, 0], [2, 1], offsets=[0, 2]), "rr")().mean() == {"RR": 1.0}


def test_later_calls_equal_evaluate():
    """Systems have from no to many ties and, under a cutoff, different numbers of hits."""
    labels, offsets, systems = drawn(300, 3)
    rng = np.random.default_rng(1)
    systems += [rng.permutation(300).astype("f8") for _ in range(3)]
    for metrics in [
        *([metric] for metric in METRICS),
        ["nDCG@10", "AP", "P@5", "R@5", "Rprec", "RR", "RBP", "ERR"],
        ["DCG", "nDCG@3", "nDCG", "IDCG@5", "AP@10", "AP"],
    ]:
        evaluator = fn.Evaluator(labels, metrics, offsets=offsets)
        for scores in [*systems, *systems]:
            expected = fn.evaluate(labels, scores, metrics, offsets=offsets)
            assert evaluator.evaluate(scores).values.tobytes() == expected.values.tobytes(), metrics


def test_evaluator_works_after_an_error():
    labels, offsets, systems = drawn(300, 3)
    evaluator = fn.Evaluator(labels, METRICS, offsets=offsets)
    refused("`scores` must not be NaN", evaluator.evaluate, np.full(300, np.nan))
    expected = fn.evaluate(labels, systems[0], METRICS, offsets=offsets)
    assert evaluator.evaluate(systems[0]).values.tobytes() == expected.values.tobytes()


UNSORTED = np.random.default_rng(5).permutation(np.arange(300) % 11)
TRUTHS = {
    "offsets": (np.arange(300) % 3, np.arange(300) * 7 % 50 / 8, {"offsets": [0, 100, 300]}),
    "rows": (np.arange(300).reshape(3, 100) % 3, np.arange(300.0).reshape(3, 100), {}),
    "unsorted": (np.arange(300) % 3, np.arange(300) * 7 % 50 / 8, {"query_ids": UNSORTED}),
    "Rankings": (fn.Rankings([1, 0, 2], [1, 2, 3], [0, 1, 3], pool=([1, 0, 2, 2], [0, 1, 4])), None, {}),
    "Qrels": ({"q": {"d": 1}, "r": {"e": 2, "f": 1}}, {"q": {"d": 1.0}, "r": {"f": 2.0, "g": 1.0}}, {}),
    "Interactions": (fn.Interactions([3, 1, 2], [1, 2, 1], [0, 1, 3]), [[3, 1], [1, 2]], {}),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_evaluator_pickles(name):
    truth, predictions, cuts = TRUTHS[name]
    evaluator = fn.Evaluator(truth, METRICS, convention="lightgbm(ap_denominator=n_relevant)", **cuts)
    expected = evaluator.evaluate(predictions).values.tobytes()
    with compilations() as compiled:
        again = pickle.loads(pickle.dumps(evaluator))
        assert again.evaluate(predictions).values.tobytes() == expected
    assert compiled == []
    assert (again.metrics, again.convention) == (evaluator.metrics, evaluator.convention)


def test_pickles_small():
    labels, offsets, systems = drawn(100_000, 3)
    evaluator = fn.Evaluator(labels, METRICS, offsets=offsets)
    evaluator.evaluate(systems[0])
    assert len(pickle.dumps(evaluator)) < labels.nbytes + offsets.nbytes + 4000


def test_out_of_other_truths():
    for name in ("Rankings", "Qrels"):
        truth, predictions, _ = TRUTHS[name]
        out = np.empty((2, 2))
        result = fn.Evaluator(truth, "ndcg,rr").evaluate(predictions, out=out)
        assert out.T.tolist() == result.values.tolist() == fn.evaluate(truth, predictions, "ndcg,rr").values.tolist()
    truth, predictions, _ = TRUTHS["Interactions"]
    with pytest.raises(fn.InvalidInputError, match="`out` must be left out for truth that is neither"):
        fn.Evaluator(truth, "ndcg,rr").evaluate(predictions, out=np.empty((2, 2)))


SHARED = np.zeros(6)
WRONG_BUFFERS = {
    "a list": ([[0.0] * 3] * 2, "`out` must be a NumPy array, not list"),
    "float32": (np.empty((2, 3), "f4"), "`out` must be of dtype float64, not float32"),
    "another byte order": (np.empty((2, 3), ">f8"), "`out` must be of dtype float64, not >f8"),
    "one dimension": (np.empty(6), r"`out` must have the shape \(n_metrics, n_queries\), \(2, 3\), not \(6,\)"),
    "transposed": (np.empty((3, 2)), r"`out` must have the shape \(n_metrics, n_queries\), \(2, 3\), not \(3, 2\)"),
    "by columns": (np.empty((3, 2)).T, "`out` .* is not contiguous, row after row"),
    "strided": (np.empty((2, 6))[:, ::2], "`out` .* is not contiguous"),
    "read-only": (np.broadcast_to(np.zeros(3), (2, 3)), "`out` .* is read-only"),
    "unaligned": (np.zeros(49, "u1")[1:].view("f8").reshape(2, 3), "`out` .* is not aligned"),
    "the scores": (SHARED.reshape(2, 3), "`out` must not share memory with `scores`"),
}


@pytest.mark.parametrize("name", WRONG_BUFFERS)
def test_evaluator_raises_on_wrong_out(name):
    out, message = WRONG_BUFFERS[name]
    evaluator = fn.Evaluator(np.ones(6, "u1"), "ndcg,rr", offsets=[0, 2, 4, 6])
    refused(message, evaluator.evaluate, SHARED, out=out, error=fn.FastndcgError)
    assert evaluator.evaluate(SHARED, out=np.empty((2, 3))).values.tolist() == [[1.0, 1.0]] * 3


def taken(call):
    """The most bytes that Python and NumPy hold at once above what they held before, and what NumPy keeps."""
    tracemalloc.start()
    try:
        before = numpy_bytes()
        tracemalloc.reset_peak()
        start = tracemalloc.get_traced_memory()[0]
        call()
        peak = tracemalloc.get_traced_memory()[1] - start
        return peak, numpy_bytes() - before
    finally:
        tracemalloc.stop()


def numpy_bytes():
    domain = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([domain]).traces)


@pytest.mark.skipif(not strategies.JIT, reason="without the JIT, kernels make Python objects")
@pytest.mark.parametrize("convention", ["default", "lightgbm", "sklearn", "xgboost_minus", "torchmetrics"])
@pytest.mark.parametrize("n_documents", [300, 20_000, 3 * chunk.MIN_DOCUMENTS_FOR_THREADS])
def test_evaluator_allocates_nothing_on_second_call(n_documents, convention):
    labels, offsets, systems = drawn(n_documents, 3)
    metrics = "ndcg@10,map,rr,p@5,recall@10,nDCG(gain=exp2)@7,P,f@3,success@1,rprec"
    evaluator = fn.Evaluator(labels, metrics, offsets=offsets, convention=convention, threads=2)
    out = np.empty((len(evaluator.metrics), len(offsets) - 1))
    for scores in systems:
        evaluator.evaluate(scores, out=out)
    peak, kept = taken(lambda: evaluator.evaluate(systems[0], out=out))
    assert kept == 0
    assert peak < 30_000


@pytest.mark.skipif(not strategies.JIT, reason="without the JIT, kernels make Python objects")
def test_evaluator_buffers_of_late_thread(monkeypatch):
    labels, offsets, systems = drawn(3 * chunk.MIN_DOCUMENTS_FOR_THREADS, 3)
    evaluator = fn.Evaluator(labels, "ndcg@10,map,nDCG(gain=exp2)@7", offsets=offsets, threads=2)
    out = np.empty((3, len(offsets) - 1))
    with monkeypatch.context() as patched:
        run_all = engine.run_all
        patched.setattr(engine, "run_all", lambda spans, make_worker, _: run_all(spans, make_worker, 1))
        evaluator.evaluate(systems[0], out=out)
    peak, kept = taken(lambda: evaluator.evaluate(systems[1], out=out))
    assert kept == 0
    assert peak < 30_000


def test_threads_borrow_memory():
    for n_documents, n_callers in ((300, 16), (2 * chunk.MIN_DOCUMENTS_FOR_THREADS, 4)):
        labels, offsets, systems = drawn(n_documents, 3)
        evaluator = fn.Evaluator(labels, METRICS, offsets=offsets, threads=2)
        expected = [fn.evaluate(labels, scores, METRICS, offsets=offsets).values.T.tobytes() for scores in systems[:3]]
        buffers = np.empty((n_callers, len(METRICS), len(offsets) - 1))
        each = [systems[place % 3] for place in range(n_callers)]
        with ThreadPoolExecutor(n_callers) as pool:
            for _ in range(2):
                list(pool.map(lambda scores, out, one=evaluator: one.evaluate(scores, out=out), each, buffers))
                assert [out.tobytes() for out in buffers] == [expected[place % 3] for place in range(n_callers)]


def test_small_calls_take_turns_with_their_memory():
    labels, offsets, systems = drawn(100, 3)
    cases_ = [(labels, scores, offsets) for scores in systems] + [(labels[:7], systems[0][:7], [0, 7])]
    expected = [fn.reference.evaluate(*one[:2], "ndcg@10,map", offsets=one[2]).values.tolist() for one in cases_]

    def call(place):
        refused("NaN", fn.ndcg, [1, 0], [np.nan, 1], [0, 2])
        return fn.evaluate(*cases_[place][:2], "ndcg@10,map", offsets=cases_[place][2])

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(call, [*range(7)] * 30))
    for place, result in enumerate(results):
        assert result.values.tolist() == [pytest.approx(row, nan_ok=True) for row in expected[place % 7]]


@pytest.mark.skipif(IS_JIT_OFF, reason="kernels are functions of Python then")
def test_discounts_of_metrics_and_conventions_in_turns_do_not_grow(monkeypatch):
    monkeypatch.setattr(chunk, "_kept", {})  # other tests may have requested more
    asked = ["dcg(discount=1/r)", "dcg(discount=log2)"]
    for discount in ("log2", "1/r") * 30:
        fn.evaluate([[1, 0]], [[2, 1]], asked, convention=fn.conventions["default"].replace(discount=discount))
    assert max(len(cached.values) for cached in chunk._kept.values()) < 1 << 20

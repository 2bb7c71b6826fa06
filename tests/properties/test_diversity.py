"""Metrics of judgments by subtopic: the reference, and what must not change them."""

import numpy as np
import pytest
import strategies
from diversity_strategies import METRICS, diverse_cases, random_matrices
from evaluators import STRATEGIES, assert_equals_reference
from hypothesis import given
from hypothesis import strategies as st

import fastndcg as fn
from fastndcg.engine import chunk
from fastndcg.engine import run as engine
from fastndcg.inputs.arrays import encode_matrix
from fastndcg.metrics.families import CATALOG
from fastndcg.rankings.rankings import Rankings

TIES = ("average", "input", "input_reversed", "id_descending", "id_ascending")


@pytest.mark.parametrize("name", strategies.BY_SUBTOPIC)
@strategies.examples(60)
@given(data=st.data())
def test_diversity_metrics_equal_reference(name, data):
    case = data.draw(diverse_cases())
    convention = data.draw(strategies.conventions(case, data.draw(st.sampled_from(TIES))))
    if name == "P_IA" and convention.precision_denominator == "min(k, n_relevant)":  # which is refused
        convention = convention.replace(precision_denominator="min(k, n_retrieved)")
    asked = data.draw(st.lists(strategies.metrics(name, case.kind, convention), min_size=1, max_size=2))
    if data.draw(st.booleans()):
        asked.append(data.draw(st.sampled_from([fn.nDCG @ 2, fn.AP @ 5, fn.num_rel])))
    assert_equals_reference(case.rankings, asked, convention)


@pytest.mark.parametrize("name", strategies.BY_SUBTOPIC)
@strategies.examples(12, plain=6)
@given(data=st.data())
def test_large_tie_groups_equal_the_reference(name, data):
    n = data.draw(st.integers(2, 40))
    few = 2 if n > 9 else 4
    labels = data.draw(st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), min_size=1, max_size=min(few, n)))
    above = data.draw(st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), max_size=2))
    matrix = np.array(above + labels + [[0, 0, 0]] * (n - len(labels)))
    scores = [2.0 + i for i in range(len(above))] + [1.0] * n
    convention = fn.conventions["default"]
    asked = data.draw(strategies.metrics(name, "binary", convention, 45))
    assert_equals_reference(matrix, asked, convention, scores, groups=[len(scores)])


@pytest.fixture(scope="module")
def rankings():
    labels, scores, offsets = random_matrices(200 if strategies.JIT else 20)
    codes, patterns = encode_matrix(labels)
    return Rankings(codes, scores, offsets, tie_keys=np.arange(len(scores)) * 7 % 11, patterns=patterns)


@pytest.fixture(params=TIES)
def convention(request):
    return fn.conventions["default"].replace(ties=request.param)


def test_threads_chunks_strategies_and_companions_change_no_bit(rankings, convention, monkeypatch):
    companions = (fn.nDCG @ 10, *METRICS, fn.AP)
    expected = engine.run(rankings, companions, convention, threads=1)
    for column, metric in enumerate(companions):
        alone = engine.run(rankings, (metric,), convention).values[:, 0]
        assert alone.tobytes() == expected.values[:, column].tobytes(), metric
    for module in (chunk, engine):
        monkeypatch.setattr(module, "MIN_DOCUMENTS_FOR_THREADS", 1)
    ways = [{"threads": threads, "chunk_documents": n} for n, threads in ((100, 1), (300, 3), (10**9, 3))]
    for way in [*ways, *({"strategy": strategy} for strategy in STRATEGIES.values())]:
        assert strategies.bits(engine.run(rankings, companions, convention, **way)) == strategies.bits(expected), way


def test_diversity_evaluator_equals_evaluate():
    labels, scores, offsets = random_matrices()
    evaluator = fn.Evaluator(labels, [*METRICS, "nDCG"], offsets=offsets)
    only = fn.Evaluator(labels, METRICS, offsets=offsets)
    for system in (scores, -scores, scores):
        expected = fn.evaluate(labels, system, [*METRICS, "nDCG"], offsets=offsets).values
        assert evaluator.evaluate(system).values.tobytes() == expected.tobytes()
        assert only.evaluate(system).values.tobytes() == expected[:, :-1].tobytes()


def test_diversity_plain_metrics_take_highest_label():
    labels, scores, offsets = random_matrices()
    metrics = "nDCG@5, AP(rel=2), num_rel, P@3"
    result = fn.evaluate(labels, scores, metrics, offsets=offsets)
    assert result.values.tobytes() == fn.evaluate(labels.max(axis=1), scores, metrics, offsets=offsets).values.tobytes()


def test_diversity_of_one_subtopic_equals_plain_metric():
    labels, scores, offsets = random_matrices(n_subtopics=1)
    by_subtopic = fn.evaluate(labels, scores, "P_IA@5, AP_IA, S_recall@5", offsets=offsets).values
    plain = fn.evaluate(labels[:, 0], scores, "P@5, AP, Success@5", offsets=offsets).values
    defined = ~np.isnan(by_subtopic)
    np.testing.assert_allclose(by_subtopic[defined], plain[defined], rtol=1e-13)
    assert (defined == ~np.isnan(plain[:, [1]])).all()


@pytest.mark.parametrize("alpha", [0, 0.3, 0.5, 1])
def test_diversity_greedy_order_scores_one(alpha):
    random = np.random.default_rng(3)
    for _ in range(30):
        labels = (random.random((random.integers(1, 12), random.integers(1, 6))) < 0.4).astype(int)
        if not labels.any():
            continue
        left, order, found = list(range(len(labels))), [], np.zeros(labels.shape[1])
        while left:
            gains = [round(float((labels[d] * (1 - alpha) ** found).sum()), 9) for d in left]
            order.append(left.pop(int(np.argmax(gains))))
            found += labels[order[-1]]
        scores = np.empty(len(labels))
        scores[order] = -np.arange(len(labels))
        names = [f"{name}(alpha={alpha}){k}" for name in ("alpha_nDCG", "nERR_IA") for k in ("", "@1", "@3")]
        values = fn.evaluate(labels, scores, [*names, f"nNRBP(alpha={alpha})"], groups=[len(labels)]).values
        assert (values == 1.0).all()


@pytest.mark.parametrize("name", strategies.BY_SUBTOPIC)
def test_values_lie_in_their_range(name):
    labels, scores, offsets = random_matrices(400)
    for k in (None, 1, 7):
        values = fn.evaluate(labels, scores, strategies.with_cutoff(name, k), offsets=offsets).values
        values = values[~np.isnan(values)]
        assert (values >= 0).all()
        assert (values <= (1 if CATALOG[name].range == "0 to 1" else 1.2)).all()


def test_ties_are_counted_down_to_the_rank_of_each_kind_of_metric():
    subtopics = np.array([[1, 0], [1, 0], [0, 1]])
    scores = np.array([3.0, 2.0, 2.0])
    for metrics, n_tied in (("S_recall@1,nDCG@2", 0), ("S_recall@2,nDCG@1", 1)):
        result = fn.evaluate(subtopics, scores, metrics, offsets=[0, 3])
        assert result.n_tied == n_tied
        assert fn.reference.evaluate(subtopics, scores, metrics, offsets=[0, 3]).n_tied == n_tied

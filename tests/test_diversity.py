"""Metrics of judgments by subtopic: the reference, and what must not change them."""

import cases
import numpy as np
import pytest
from diverse import METRICS, diverse_cases, random_matrices
from hypothesis import given
from hypothesis import strategies as st
from test_equals_reference import STRATEGIES, assert_equals_reference

import fastndcg as fn
from fastndcg import engine
from fastndcg.catalog import CATALOG
from fastndcg.inputs.diversity import encode_matrix
from fastndcg.rankings import Rankings

TIES = ("average", "input", "input_reversed", "id_descending", "id_ascending")


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", cases.BY_SUBTOPIC)
@cases.examples(25)
@given(data=st.data())
def test_every_metric_equals_the_reference(name, ties, data):
    """Each metric under each tie policy and any convention, alone and beside one that takes one label a document."""
    case = data.draw(diverse_cases())
    convention = data.draw(cases.conventions(case, ties))
    asked = data.draw(st.lists(cases.metrics(name, case.kind, convention), min_size=1, max_size=2))
    if data.draw(st.booleans()):
        asked.append(data.draw(st.sampled_from([fn.nDCG @ 2, fn.AP @ 5, fn.num_rel])))

    assert_equals_reference(case.rankings, asked, convention)


@pytest.mark.parametrize("name", cases.BY_SUBTOPIC)
@cases.examples(12)
@given(data=st.data())
def test_large_tie_groups_equal_the_reference(name, data):
    """One tie group of up to 40 documents, of which few are relevant to subtopics, with a cutoff at any place in it."""
    n = data.draw(st.integers(2, 40))
    few = 2 if n > 9 else 4
    labels = data.draw(st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), min_size=1, max_size=min(few, n)))
    above = data.draw(st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), max_size=2))
    matrix = np.array(above + labels + [[0, 0, 0]] * (n - len(labels)))
    scores = [2.0 + i for i in range(len(above))] + [1.0] * n
    convention = fn.conventions["default"]

    asked = data.draw(cases.metrics(name, "binary", convention, 45))
    assert_equals_reference(matrix, asked, convention, scores, groups=[len(scores)])


@pytest.fixture(scope="module")
def rankings():
    """Rankings that keep every strategy busy."""
    labels, scores, offsets = random_matrices(200 if cases.JIT else 20)
    codes, patterns = encode_matrix(labels)
    return Rankings(codes, scores, offsets, tie_keys=np.arange(len(scores)) * 7 % 11, patterns=patterns)


@pytest.fixture(params=TIES)
def convention(request):
    """Every tie policy that these metrics have a value under."""
    return fn.conventions["default"].replace(ties=request.param)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("chunk_documents", [1, 100, 10**9])
def test_threads_and_chunks_change_no_bit(rankings, convention, chunk_documents, threads, monkeypatch):
    """Cut in any way and handed to any number of threads, the bytes are the same, and one 1 query's are too."""
    expected = engine.run(rankings, METRICS, convention, threads=1)
    monkeypatch.setattr(engine, "SMALL", 1)

    result = engine.run(rankings, METRICS, convention, threads=threads, chunk_documents=chunk_documents)

    assert cases.bits(result) == cases.bits(expected)


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)
def test_strategy_changes_no_bit(rankings, convention, strategy):
    """Counting, selecting and sorting give the same bytes."""
    result = engine.run(rankings, METRICS, convention, strategy=strategy)

    expected = engine.run(rankings, METRICS, convention)
    assert cases.bits(result) == cases.bits(expected)


def test_companions_change_no_bit(rankings, convention):
    """A metric alone gives the bytes that it gives among others, some of which take one label a document."""
    companions = (fn.nDCG @ 10, *METRICS, fn.AP)
    expected, _ = engine.run(rankings, companions, convention)
    for column, metric in enumerate(companions):
        alone = engine.run(rankings, (metric,), convention)[0][:, 0]
        assert alone.tobytes() == expected[:, column].tobytes(), metric


def test_an_evaluator_gives_what_evaluate_gives():
    """What is kept of the labels, by systems one after the other, changes no bit."""
    labels, scores, offsets = random_matrices()
    evaluator = fn.Evaluator(labels, [*METRICS, "nDCG"], offsets=offsets)
    only = fn.Evaluator(labels, METRICS, offsets=offsets)
    for system in (scores, -scores, scores):
        expected = fn.evaluate(labels, system, [*METRICS, "nDCG"], offsets=offsets).values
        assert evaluator.evaluate(system).values.tobytes() == expected.tobytes()
        assert only.evaluate(system).values.tobytes() == expected[:, :-1].tobytes()


def test_one_label_a_document_is_the_highest_of_its_subtopics():
    """What takes one label takes the highest, in the pool too."""
    labels, scores, offsets = random_matrices()
    metrics = "nDCG@5, AP(rel=2), num_rel, P@3"

    result = fn.evaluate(labels, scores, metrics, offsets=offsets)

    assert result.values.tobytes() == fn.evaluate(labels.max(axis=1), scores, metrics, offsets=offsets).values.tobytes()


def test_one_subtopic_is_the_plain_metric():
    """With one subtopic P_IA is P, AP_IA is AP, and S_recall is Success, wherever something is relevant."""
    labels, scores, offsets = random_matrices(n_subtopics=1)
    by_subtopic = fn.evaluate(labels, scores, "P_IA@5, AP_IA, S_recall@5", offsets=offsets).values
    plain = fn.evaluate(labels[:, 0], scores, "P@5, AP, Success@5", offsets=offsets).values

    defined = ~np.isnan(by_subtopic)
    np.testing.assert_allclose(by_subtopic[defined], plain[defined], rtol=1e-13)
    assert (defined == ~np.isnan(plain[:, [1]])).all()


@pytest.mark.parametrize("alpha", [0, 0.3, 0.5, 1])
def test_the_greedy_order_scores_one(alpha):
    """A run in the order that the greedy ideal has scores exactly 1 in each normalised metric."""
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


@pytest.mark.parametrize("name", cases.BY_SUBTOPIC)
def test_values_lie_in_their_range(name):
    """From 0 to 1; above it only by as much as an order can pass the greedy one."""
    labels, scores, offsets = random_matrices(400)
    for k in (None, 1, 7):
        values = fn.evaluate(labels, scores, cases.with_cutoff(name, k), offsets=offsets).values
        values = values[~np.isnan(values)]
        assert (values >= 0).all()
        assert (values <= (1 if CATALOG[name].range == "0 to 1" else 1.2)).all()

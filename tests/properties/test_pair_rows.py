"""Each relevant document on its own: equal to the reference and to brute force, for every form of input."""

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import fastndcg as fn
from fastndcg.engine import relevant_ranks as engine
from fastndcg.metrics.families import CATALOG

NAMES = [name for name in strategies.PLAIN if CATALOG[name].view == "labels"]
PAIRS = [("pair", "all"), ("pair", "nonrelevant"), ("query", "nonrelevant"), ("query", "all")]
LINKS = "Rank, RR, RR@3, Success@1, Success@10, num_rel_ret@3"


@pytest.mark.parametrize("name", NAMES)
@strategies.examples(8)
@given(data=st.data())
def test_pairs_equal_reference(name, data):
    ties = data.draw(st.sampled_from([policy for policy in strategies.POLICIES if policy in CATALOG[name].ties]))
    rows, competitors = data.draw(st.sampled_from(PAIRS))
    case = data.draw(strategies.cases(strategies.kinds_for(name)))
    convention = data.draw(strategies.conventions(case, ties)).replace(precision_mean="macro")
    metric = data.draw(strategies.metrics(name, case.kind, convention))
    if metric.get("weight") in ("positives", "impressions"):
        metric = metric(weight="nothing")
    options = {"metrics": metric, "convention": convention, "rows": rows, "competitors": competitors}
    slow = fn.reference.evaluate_pairs(case.rankings, **options)
    fast = fn.evaluate_pairs(case.rankings, **options)
    np.testing.assert_allclose(fast.values, slow.values, rtol=1e-12, atol=0)
    assert fast.n_tied == slow.n_tied
    np.testing.assert_array_equal(fast.query_ids, slow.query_ids)
    if rows == "pair":
        np.testing.assert_array_equal(fast.document_ids, slow.document_ids)


@pytest.mark.parametrize("text", ["AMR", "AMRI", "adjusted_mrr", "adjusted_hits@2", "adjusted_mrr@3", "hm(Rank)"])
@pytest.mark.parametrize(("rows", "competitors"), PAIRS)
@strategies.examples(4)
@given(data=st.data())
def test_adjusted_means_equal_reference(rows, competitors, text, data):
    case = data.draw(strategies.cases(("binary", "graded")))
    convention = data.draw(strategies.conventions(case, "average")).replace(precision_mean="macro", undefined="nan")
    options = {"metrics": text, "convention": convention, "rows": rows, "competitors": competitors}
    slow = fn.reference.evaluate_pairs(case.rankings, **options)
    fast = fn.evaluate_pairs(case.rankings, **options)
    np.testing.assert_allclose(fast.means(), slow.means(), rtol=1e-11, atol=1e-13)


def draw_scores(seed, n_queries=40, n_documents=90):
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, (n_queries, n_documents)) * (
        random.random((n_queries, n_documents)) < random.choice([0.0, 0.02, 0.2, 0.9], (n_queries, 1))
    )
    scores = random.integers(0, random.choice([1, 3, 50, 10**6], (n_queries, 1)), (n_queries, n_documents))
    return labels, scores.astype("f8")


def count_by_force(labels, scores, competitors, ties):
    rows = []
    for query, (own, own_scores) in enumerate(zip(labels, scores, strict=True)):
        for document in np.flatnonzero(own):
            competes = np.ones(len(own), bool) if competitors == "all" else own == 0
            competes[document] = False
            higher = int(np.sum(competes & (own_scores > own_scores[document])))
            equal = competes & (own_scores == own_scores[document])
            earlier = int(np.sum(equal[:document]))
            n_before = {"best": 0, "worst": int(equal.sum()), "input": earlier, "mean_rank": int(equal.sum()) / 2}[ties]
            rows.append((query, int(document), higher + 1 + n_before, int(competes.sum()) + 1))
    return rows


@pytest.mark.parametrize("ties", ["best", "worst", "input", "mean_rank"])
@pytest.mark.parametrize("competitors", ["all", "nonrelevant"])
@pytest.mark.parametrize("seed", [1, 2])
def test_ranks_equal_brute_force(seed, competitors, ties):
    labels, scores = draw_scores(seed)
    expected = count_by_force(labels, scores, competitors, ties)
    result = fn.evaluate_pairs(
        labels, scores, f"{LINKS}, chance_Rank, chance_Success@10, num_ret", competitors=competitors,
        convention=f"default(ties={ties})",
    )  # fmt: skip
    assert list(zip(result.query_ids.tolist(), result.document_ids.tolist(), strict=True)) == [
        row[:2] for row in expected
    ]
    ranks = np.array([rank for *_, rank, _ in expected], float)
    sizes = np.array([size for *_, size in expected], float)
    np.testing.assert_array_equal(result["Rank"], ranks)
    np.testing.assert_array_equal(result["RR@3"], np.where(ranks <= 3, 1 / ranks, 0))
    np.testing.assert_array_equal(result["Success@10"], ranks <= 10)
    np.testing.assert_array_equal(result["num_rel_ret@3"], ranks <= 3)
    np.testing.assert_array_equal(result["num_ret"], sizes)
    np.testing.assert_array_equal(result["chance_Rank"], (sizes + 1) / 2)
    np.testing.assert_allclose(result["chance_Success@10"], np.minimum(10 / sizes, 1), rtol=1e-15)


@pytest.mark.parametrize(("rows", "competitors"), PAIRS)
def test_every_form_of_input_gives_the_same_pairs(rows, competitors):
    labels, scores = draw_scores(4, 25, 40)
    scores += np.arange(40) / 64  # no ties, so that a ranked list says the same
    options = {"metrics": LINKS, "rows": rows, "competitors": competitors}
    order = np.argsort(-scores, axis=1)
    users = range(len(labels))
    qrels = {str(u): {str(d): int(labels[u, d]) for d in range(40)} for u in users}
    run = {str(u): {str(d): float(scores[u, d]) for d in range(40)} for u in users}
    expected = fn.evaluate_pairs(labels, scores, **options)
    flat = fn.evaluate_pairs(labels.reshape(-1), scores.reshape(-1), groups=[40] * 25, **options)
    matrix = fn.evaluate_pairs(sparse.csr_array(labels), scores, **options)
    listed = fn.evaluate_pairs(sparse.csr_array(labels), order, **options)
    dicts = fn.evaluate_pairs(qrels, run, **options)
    for result in (flat, matrix, dicts, listed):
        by_row = {tuple(map(str, np.atleast_1d(key))): row for key, row in result.to_dict().items()}
        for key, row in expected.to_dict().items():
            own = by_row[tuple(map(str, np.atleast_1d(key)))]
            assert list(own.values()) == pytest.approx(list(row.values()), rel=1e-15, nan_ok=True)
        assert len(result) == len(expected)


def test_threads_and_chunks_change_nothing(monkeypatch):
    labels, scores = draw_scores(5, 300, 90)
    options = {"metrics": f"{LINKS}, AMRI"}
    whole = fn.evaluate_pairs(labels, scores, threads=1, **options)
    monkeypatch.setattr(engine, "CHUNK_DOCUMENTS", 1000)
    monkeypatch.setattr(engine, "MIN_DOCUMENTS_FOR_THREADS", 1)
    for threads in (1, 3):
        result = fn.evaluate_pairs(labels, scores, threads=threads, **options)
        assert result.values.tobytes() == whole.values.tobytes()
        assert result.document_ids.tobytes() == whole.document_ids.tobytes()

"""Each relevant document on its own: equal to the reference and to brute force, for every form of input and use."""

import itertools
import json

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
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


QRELS = {"q1": {"a": 1, "b": 2, "z": 1}, "q2": {"c": 1, "a": 0}, "q3": {"a": 0}}
RUN = {"q1": {"x": 4.0, "a": 3.0, "y": 2.0, "b": 1.0}, "q2": {"a": 2.0, "c": 1.0}, "q3": {"a": 1.0}}


def test_pairs_have_the_ids_of_queries_and_documents():
    result = fn.evaluate_pairs(QRELS, RUN, "rank, rr")
    assert list(result.query_ids) == ["q1", "q1", "q1", "q2"]
    assert list(result.document_ids) == ["a", "b", "z", "c"]
    assert result["rr"].tolist() == [1 / 2, 1 / 3, 0, 1 / 2]
    assert result["rank"].tolist()[:2] == [2, 3]
    assert np.isnan(result["rank"][2])
    assert list(result.pair_ids) == [("q1", "a"), ("q1", "b"), ("q1", "z"), ("q2", "c")]
    assert result.to_dict()["q1", "b"]["RR"] == 1 / 3


def test_competitors_gains_and_rel():
    assert fn.evaluate_pairs(QRELS, RUN, "rank", competitors="all")["rank"].tolist()[:2] == [2, 4]
    result = fn.evaluate_pairs([[2, 0, 1]], [[1.0, 3.0, 2.0]], "dcg, idcg")
    assert result.values.tolist() == [[2 / np.log2(3), 2], [1 / np.log2(3), 1]]
    assert fn.evaluate_pairs(QRELS, RUN, "rr(rel=2)").to_dict() == {("q1", "b"): {"RR(rel=2)": 1 / 4}}
    with pytest.raises(fn.InvalidInputError, match=r"must agree on the lowest relevant label .* RR and P\(rel=2\)@5"):
        fn.evaluate_pairs(QRELS, RUN, "rr, P(rel=2)@5")


def test_rows_of_queries_are_means_over_pairs():
    result = fn.evaluate_pairs(QRELS, RUN, "rr", rows="query")
    assert result["rr"].tolist()[:2] == [pytest.approx((1 / 2 + 1 / 3 + 0) / 3, rel=1e-15), 1 / 2]
    assert np.isnan(result["rr"][2])
    filled = fn.evaluate_pairs(QRELS, RUN, "rr", rows="query", convention="default(undefined=0)")
    assert filled["rr"][2] == 0
    with pytest.raises(fn.UndefinedMetricError, match=r"q3 has none \(no relevant document"):
        fn.evaluate_pairs(QRELS, RUN, "rr", rows="query", convention="default(undefined=raise)")


def test_exports_have_a_column_of_documents(tmp_path):
    result = fn.evaluate_pairs(QRELS, RUN, "rr")
    result.save(tmp_path / "pairs.json")
    assert fn.load_result(tmp_path / "pairs.json").to_dict() == result.to_dict()
    assert result.to_csv().splitlines()[:2] == ["query,document,RR", "q1,a,0.5"]
    facts = json.loads(result.to_json())
    assert facts["per_query"][1] == {"query": "q1", "document": "b", "RR": 1 / 3}
    assert (facts["n_queries"], facts["n_pairs"]) == (2, 4)
    assert result.to_arrow().column_names == ["query", "document", "RR"]
    assert str(result).splitlines()[0].split() == ["metric", "mean", "pairs", "undefined"]


def test_score_matrices_rank_candidates_of_each_user():
    liked = sparse.csr_array([[0, 1, 0, 0, 1], [1, 0, 0, 0, 0]])
    scores = np.array([[9.0, 1.0, 3.0, 2.0, 5.0], [1.0, 2.0, 3.0, 4.0, 5.0]])
    result = fn.evaluate_pairs(liked, fn.Scores(scores, exclude=[{0}, {4}]), "rank, num_ret")
    assert list(result.pair_ids) == [(0, 1), (0, 4), (1, 0)]
    assert result.values.tolist() == [[3, 3], [1, 3], [4, 4]]
    unretrieved = fn.evaluate_pairs(liked, fn.Scores(scores, exclude=[{4}, set()], missing_truth="unretrieved"), "rr")
    assert unretrieved.to_dict()[0, 4] == {"RR": 0}


def test_streamed_files_have_pairs(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    random = np.random.default_rng(1)
    frame = pandas.DataFrame({
        "query_id": np.repeat(np.arange(50), 20), "label": random.integers(0, 2, 1000) * (random.random(1000) < 0.2),
        "score": random.random(1000),
    })  # fmt: skip
    frame.to_parquet(tmp_path / "rows.parquet")
    expected = fn.evaluate_pairs(frame, metrics="rank, rr")
    result = fn.evaluate_pairs(str(tmp_path / "rows.parquet"), metrics="rank, rr")
    np.testing.assert_array_equal(result.values, expected.values)
    assert list(result.query_ids) == list(expected.query_ids)
    assert list(result.document_ids) == list(expected.document_ids)


def test_pairs_of_a_query_are_resampled_together():
    random = np.random.default_rng(2)
    qrels = {f"q{q}": {f"d{d}": 1 for d in random.choice(20, 4, replace=False)} for q in range(10)}
    runs = {name: {q: {f"d{d}": random.random() for d in range(20)} for q in qrels} for name in "ab"}
    result = fn.evaluate_pairs(qrels, runs["a"], "rr")
    clustered = result.confidence_interval("rr", clusters=result.query_ids, replicates=500)
    assert result.confidence_interval("rr", replicates=500) == clustered
    own = {"replicates": 500, "test": "t"}
    results = {name: fn.evaluate_pairs(qrels, run, "rr") for name, run in runs.items()}
    compared = fn.compare(results, **own)
    given = fn.compare(results, clusters=[query for query, _ in result.pair_ids], **own)
    assert compared.rows[1].p == given.rows[1].p
    assert compared.query_ids.tolist()[0] == result.pair_ids.tolist()[0]
    assert "40 queries" in str(compared)


def test_systems_must_have_rows_of_one_kind():
    results = {"a": fn.evaluate(QRELS, RUN, "rr"), "b": fn.evaluate_pairs(QRELS, RUN, "rr")}
    refused("systems must have rows of one kind, but 'a' has queries", fn.compare, results)


@pytest.mark.parametrize(("options", "message"), [
    ({"rows": "pairs"}, "`rows` must be 'pair' or 'query', not 'pairs'"),
    ({"competitors": None}, "`competitors` must be 'nonrelevant' or 'all', not None"),
    ({"metrics": "bpref"}, "bpref reads which documents are judged"),
    ({"metrics": "alpha_ndcg@5"}, "reads which documents are judged or subtopics"),
    ({"metrics": "micro(P@5)", "rows": "query"}, r"micro\(P@5\) weighs queries"),
])  # fmt: skip
def test_arguments_that_have_no_meaning_are_refused(options, message):
    for evaluate in (fn.evaluate_pairs, fn.reference.evaluate_pairs):
        refused(message, evaluate, QRELS, RUN, **{"metrics": "rr"} | options)


@pytest.mark.parametrize("labels", [[1.0, np.nan], [1, -1]])
def test_wrong_labels_are_refused_for_pairs(labels):
    refused(r"`labels` must not be (NaN|negative), but labels\[0, 1\]", fn.evaluate_pairs, [labels], [[1.0, 2.0]], "rr")


def test_nan_scores_and_no_queries():
    given = [[1, 0]], [[np.nan, 1.0]], "rank"
    refused(r"`scores` must not be NaN, but scores\[0, 0\]", fn.evaluate_pairs, *given)
    assert fn.evaluate_pairs(*given, convention="default(nan_scores=last)")["rank"] == [2]
    result = fn.evaluate_pairs([], [], "rr, amri", offsets=[0])
    assert result.values.shape == (0, 2)
    assert len(result.document_ids) == 0


def test_command_line_prints_pairs(tmp_path, shown):
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_text("".join(f"{q} 0 {d} {label}\n" for q, own in QRELS.items() for d, label in own.items()))
    run.write_text("".join(f"{q} Q0 {d} 1 {score} x\n" for q, own in RUN.items() for d, score in own.items()))
    command = ("evaluate-pairs", qrels, run, "-m", "rr")
    lines = shown(*command, "--per-query", "--format", "csv").splitlines()
    assert lines[:2] == ["run,query,document,RR", "x,q1,a,0.5"]
    by_query = json.loads(shown(*command, "--per-query", "--format", "json"))["runs"][0]["per_query"]
    assert by_query["q1"]["b"] == {"RR": 1 / 3}
    assert shown(*command, "--per-query").splitlines()[1].split() == ["q1", "a", "0.5000"]
    assert "queries  undefined" in shown(*command, "--rows", "query")


@pytest.mark.parametrize("evaluate", [fn.evaluate, fn.evaluate_pairs])
def test_ids_of_compared_systems_have_one_type(evaluate):
    """Texts and whole numbers are not ordered, neither as ids of queries nor in pairs with documents."""
    systems = {}
    for query, document in (("1", "2"), (1, "2"), ("1", 2), (1, 2)):
        systems[query, document] = evaluate({query: {document: 1}}, {query: {document: 1.0}}, "rr")
    for first, second in itertools.combinations(systems, 2):
        given = {"a": systems[first], "b": systems[second]}
        if evaluate is fn.evaluate and first[0] == second[0]:
            assert "RR" in str(fn.compare(given, replicates=100))
            continue
        refused("query ids must be of one type, but", fn.compare, given, replicates=100, error=fn.InvalidTypeError)

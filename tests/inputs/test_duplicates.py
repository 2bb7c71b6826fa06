"""Documents that a query of a run has several times, and chunks of documents: what counts of them, in every form."""

import json
import math
import pickle
from collections import Counter, defaultdict
from itertools import groupby, permutations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from refusals import refused, refuses
from strategies import examples
from table_forms import PLAIN_FORMS, USUAL_FORMS

import fastndcg as fn
from fastndcg.inputs.duplicates import ParentRule
from fastndcg.inputs.ids import IdColumn

pa = pytest.importorskip("pyarrow")
METRICS = "ndcg@3, map, rr, p@3, recall@3, f1, err, rbp, success@2, bpref, Judged@3, num_ret"
QRELS = {"q1": {"a": 2, "b": 0, "c": 1, "x": 1}, "q2": {"a": 1}}
RANKED = {"q1": ["a", "a", "c", "z", "c", "b"], "q2": ["z", "a", "a"]}
AGAIN = "documents that their query has again, "
PLAIN = [(choice, ranks) for choice in ("first", "best") for ranks in ("kept", "closed")] + [("counted", None)]


def empty(number):
    return f"empty {number}"


def settle_best(rows, ranks):
    """Return {document: score} with the best score of each document, and empty places for its other rows."""
    best = {}
    for number, (document, score) in enumerate(rows):
        if document not in best or score > best[document][0]:
            best[document] = score, number
    kept = {number: document for document, (_, number) in best.items()}
    return {kept.get(n, empty(n)): score for n, (_, score) in enumerate(rows) if ranks == "kept" or n in kept}


def settle_list(documents, ranks):
    """Return the ids of a list in rank order, where each document has its first place, and empty places."""
    seen = set()
    settled = []
    for number, document in enumerate(documents):
        if document not in seen or ranks == "kept":
            settled.append(empty(number) if document in seen else document)
        seen.add(document)
    return settled


def settle_sum(rows):
    """Return {document: score} with the sum of each document's scores."""
    scores = defaultdict(list)
    for document, score in rows:
        scores[document].append(score)
    return {document: math.fsum(sorted(own)) for document, own in scores.items()}


def list_orders(rows):
    """Yield the documents in rank order, for each order of equal scores."""
    ordered = sorted(rows, key=lambda row: -row[1])
    groups = [list(own) for _, own in groupby(ordered, key=lambda row: row[1])]
    for order in product(*(permutations(group) for group in groups)):
        yield [document for group in order for document, _ in group]


def evaluate_rows(rows, choice, ranks, metrics, **options):
    records = [("q", document, score) for document, score in rows]
    run = fn.Run(records, duplicates=choice, ranks=ranks)
    return fn.evaluate({"q": LABELS}, run, metrics, **options).values[0]


LABELS = {"a": 2, "b": 0, "c": 1, "e": 3}
FALLING = ("input_reversed", "id_descending")
FEW = examples(40)
ROWS = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0])), min_size=1, max_size=6)


@FEW
@given(rows=ROWS, ranks=st.sampled_from(["kept", "closed"]))
def test_best_equals_a_dict_of_best_scores(rows, ranks):
    wanted = fn.evaluate({"q": LABELS}, {"q": settle_best(rows, ranks)}, METRICS)
    np.testing.assert_allclose(evaluate_rows(rows, "best", ranks, METRICS), wanted.values[0], rtol=1e-13)
    for ties in ("best", "worst", "input"):
        convention = fn.conventions["default"].replace(ties=ties)
        wanted = fn.evaluate({"q": LABELS}, {"q": settle_best(rows, ranks)}, "ndcg@3, map", convention=convention)
        values = evaluate_rows(rows, "best", ranks, "ndcg@3, map", convention=convention)
        np.testing.assert_allclose(values, wanted.values[0], rtol=1e-13)


@FEW
@given(rows=ROWS, ranks=st.sampled_from(["kept", "closed"]))
def test_first_is_the_mean_over_all_orders_of_rows(rows, ranks):
    """The first place is exact in expectation over the orders of rows of equal score, or refused with the reason."""
    orders = [settle_list(order, ranks) for order in list_orders(rows)]
    truth = {str(number): LABELS for number in range(len(orders))}
    lists = {str(number): order for number, order in enumerate(orders)}
    wanted = fn.evaluate(truth, lists, METRICS).values.mean(axis=0)
    if is_open(rows, ranks):
        with pytest.raises(fn.InvalidInputError, match="its first place has no exact expectation under ties='average'"):
            evaluate_rows(rows, "first", ranks, METRICS)
    else:
        np.testing.assert_allclose(evaluate_rows(rows, "first", ranks, METRICS), wanted, rtol=1e-12)


def is_open(rows, ranks):
    """Return True if the ordinary mean over a tie group is not that over the first places of its documents."""
    seen = set()
    for _, own in groupby(sorted(rows, key=lambda row: -row[1]), key=lambda row: row[1]):
        documents = [document for document, _ in own]
        counts = Counter(document for document in documents if document not in seen)
        is_alone = len(set(documents)) == 1
        if max(counts.values(), default=0) > 1 and (
            (ranks == "kept" and not is_alone) or (ranks == "closed" and len(set(counts.values())) > 1)
        ):
            return True
        seen |= set(documents)
    return False


@FEW
@given(rows=ROWS, ranks=st.sampled_from(["kept", "closed"]), numbers=st.booleans())
def test_first_under_an_order_of_ties(rows, ranks, numbers):
    ids = {letter: number if numbers else letter for number, letter in enumerate("abcde")}
    records = [("q", ids[document], score) for document, score in rows]
    labels = {ids[document]: label for document, label in LABELS.items()}
    for ties in ("input", "input_reversed", "id_ascending", "id_descending"):
        is_by_id = ties.startswith("id")
        order = sorted(enumerate(rows), key=lambda row: row[1][0] if is_by_id else row[0], reverse=ties in FALLING)
        ranked = [document for _, (document, _) in sorted(order, key=lambda row: -row[1][1])]
        wanted = fn.evaluate({"q": LABELS}, {"q": settle_list(ranked, ranks)}, METRICS).values[0]
        convention = fn.conventions["default"].replace(ties=ties)

        run = fn.Run(records, duplicates="first", ranks=ranks)
        result = fn.evaluate({"q": labels}, run, METRICS, convention=convention)

        np.testing.assert_allclose(result.values[0], wanted, rtol=1e-13)


@FEW
@given(rows=ROWS, data=st.data())
def test_sum_adds_scores_up(rows, data):
    wanted = fn.evaluate({"q": LABELS}, {"q": settle_sum(rows)}, METRICS).values[0]
    for order in (rows, data.draw(st.permutations(rows))):
        np.testing.assert_allclose(evaluate_rows(order, "sum", None, METRICS), wanted, rtol=1e-13)


def test_sums_of_the_same_scores_tie():
    """0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in floating point, and tie here."""
    rows = [("a", 0.1), ("a", 0.2), ("a", 0.3), ("c", 0.3), ("c", 0.2), ("c", 0.1)]
    assert evaluate_rows(rows, "sum", None, "rr(rel=2)").tolist() == [(1 + 1 / 2) / 2]


@FEW
@given(rows=ROWS)
def test_counted_rows_are_documents_of_the_same_label(rows):
    """Each row counts as a document of its own, against the judgments as they are: values equal the reference's."""
    assume(len({document for document, _ in rows}) < len(rows))
    metrics = "ndcg@3, ndcg, nDCG(rel=2), Rndcg, map, rr, p@3, recall@3, f1, err, rbp, success@2, Judged@3, AUC, Rprec"
    records = [("q", document, score) for document, score in rows]
    slow = fn.reference.evaluate({"q": LABELS}, fn.Run(records, duplicates="counted"), metrics).values[0]
    np.testing.assert_allclose(evaluate_rows(rows, "counted", None, metrics), slow, rtol=1e-12)
    labels = [LABELS.get(document, 0) for document, _ in rows]
    dcg = evaluate_rows(rows, "counted", None, "dcg")
    np.testing.assert_allclose(dcg, fn.evaluate([labels], [[score for _, score in rows]], "dcg").values[0], rtol=1e-13)


def test_counted_values_may_exceed_1():
    qrels, run = {"q": {"a": 1, "b": 1}}, fn.Run({"q": ["a", "a", "b"]}, duplicates="counted")
    ideal = 1 + 1 / math.log2(3)
    result = fn.evaluate(qrels, run, "ndcg@3, map, recall@3")
    assert result.values[0] == pytest.approx([(ideal + 1 / 2) / ideal, 3 / 2, 3 / 2], rel=1e-15)
    explanation = fn.explain(qrels, run, "ndcg@3")
    assert explanation.value == result["ndcg@3"][0]
    assert [line.document for line in explanation.ranking] == ["a", "a", "b"]
    for metric in ("Q", "nERR", "Compat", "bpref", "G"):
        message = rf"once in a query for {metric}.*Take fn.Run\(…, duplicates='first'\)"
        refused(message, fn.evaluate, qrels, run, metric)


RECORDS = [(query, document, -float(rank)) for query, ids in RANKED.items() for rank, document in enumerate(ids, 1)]
ROWS_OF_RUN = pd.DataFrame(RECORDS, columns=["query", "document", "score"])
RANKS = ROWS_OF_RUN.assign(rank=(-ROWS_OF_RUN["score"]).astype(int)).drop(columns="score")
LISTS = pa.table({"query": list(RANKED), "document": list(RANKED.values())})
TEXTS = {
    "CSV": ROWS_OF_RUN.to_csv(index=False), "CSV of ranks": RANKS.to_csv(index=False), "JSON": json.dumps(RANKED),
    "no header": ROWS_OF_RUN.assign(score=ROWS_OF_RUN["score"] / 4).to_csv(index=False, header=False, sep="\t"),
    "MS MARCO": "".join(f"{q}\t{d}\t{int(-s)}\n" for q, d, s in RECORDS),
    "TREC": "".join(f"{q} Q0 {d} 0 {s} x\n" for q, d, s in RECORDS),
}  # fmt: skip
RUNS = {"lists": lambda: RANKED, "tuples": lambda: RECORDS, "iterator": lambda: iter(RECORDS), "ranks": lambda: RANKS}


def make_run(name, folder):
    if name in RUNS:
        return RUNS[name]()
    if name in TEXTS:
        (folder / "run").write_text(TEXTS[name])
        return folder / "run"
    own, form = name
    return (USUAL_FORMS | PLAIN_FORMS)[form]({"rows": pa.Table.from_pandas(ROWS_OF_RUN), "lists": LISTS}[own], folder)


TABLES = [*(("rows", form) for form in USUAL_FORMS | PLAIN_FORMS), *(("lists", form) for form in USUAL_FORMS)]


@pytest.mark.parametrize("name", [*RUNS, *TEXTS, *TABLES], ids=str)
def test_every_form_of_a_run(name, tmp_path):
    for choice, ranks in PLAIN:
        metrics = METRICS.replace("bpref, ", "") if choice == "counted" else METRICS
        result = fn.evaluate(QRELS, fn.Run(make_run(name, tmp_path), duplicates=choice, ranks=ranks), metrics)
        if choice == "counted":
            wanted = fn.evaluate(QRELS, fn.Run(RANKED, duplicates=choice), metrics)
        else:
            wanted = fn.evaluate(QRELS, {q: settle_list(ids, ranks) for q, ids in RANKED.items()}, metrics)
        np.testing.assert_array_equal(result.values, wanted.values)
        assert [note.startswith(AGAIN) and note.endswith(": 3") for note in result.notes] == [True]
    message = r"document '?a'? of query '?q1'?.*or take fn.Run\(…, duplicates='first'\)$"
    refused(message, fn.evaluate, QRELS, make_run(name, tmp_path), "rr")


def test_judgments_and_lists_in_one_table():
    table = pd.DataFrame({"relevant": [["a", "c"]], "retrieved": [["a", "a", "c"]]})
    assert fn.evaluate(fn.Rows(table, duplicates="first"), metrics="recall@2").mean() == {"R@2": 1 / 2}
    assert fn.evaluate([["a", "c"]], fn.Run([["a", "a", "c"]], duplicates="best"), "recall@2").mean() == {"R@2": 1 / 2}
    items = fn.Recommendations([[1, 1, 3]], duplicates="first")
    assert fn.evaluate([{1, 3}], items, "recall@2").mean() == {"R@2": 1 / 2}
    with pytest.raises(fn.InvalidInputError, match=r"judgments|qrels|once in a query"):
        fn.evaluate({"q": ["a", "a"]}, fn.Run({"q": ["a"]}, duplicates="first"), "rr")


@pytest.mark.parametrize(("choice", "ranks"), PLAIN)
def test_recommended_items(choice, ranks):
    liked = fn.Interactions([2, 0, 1, 5], offsets=[0, 2, 3, 4])
    rows = [[2, 2, 1, 0], [1, 0, 1, -1], [-1, -1, -1, -1]]
    metrics = "ndcg@3, map, rr, p@3, recall@3, dcg"
    ids = {f"u{user}": [str(item) for item in row if item >= 0] for user, row in enumerate(rows)}
    truth = {"u0": ["2", "0"], "u1": ["1"], "u2": ["5"]}
    wanted = fn.evaluate(truth, fn.Run(ids, duplicates=choice, ranks=ranks), metrics)
    for given_rows in (rows, np.array(rows, "i4")):
        result = fn.evaluate(liked, fn.Recommendations(given_rows, duplicates=choice, ranks=ranks), metrics)
        np.testing.assert_allclose(result.values, wanted.values, rtol=1e-14)
        assert result.notes == wanted.notes
    with pytest.raises(fn.InvalidInputError, match=r"must hold items of 0 or more.*place 0 of user 1 is -1"):
        fn.evaluate(liked, fn.Recommendations([[2, 2], [-1, 1], [0, 1]], duplicates="counted"), "rr")


def test_compare_explain_and_evaluators():
    runs = {"twice": RANKED, "once": {q: list(dict.fromkeys(ids)) for q, ids in RANKED.items()}}
    systems = {name: fn.Run(run, duplicates="first", ranks="closed") for name, run in runs.items()}
    comparison = fn.compare(QRELS, systems, "ndcg@3")
    assert comparison.rows[1].difference == 0
    assert any(note.startswith(f"twice: {AGAIN}dropped, with later ranks closed up: 3") for note in comparison.notes)
    evaluator = fn.Evaluator(QRELS, "p@3")
    assert evaluator.evaluate(fn.Run(RANKED, duplicates="first"))["p@3"].tolist() == [2 / 3, 1 / 3]
    explanation = fn.explain(QRELS, fn.Run(RANKED, duplicates="first"), "p@3", query="q1", against="trec_eval")
    assert [line.document for line in explanation.ranking][:3] == ["a", "a (again)", "c"]
    assert [line.label for line in explanation.ranking][:3] == [2, None, 1]


def test_fused_runs():
    other = {"q1": ["b", "a"], "q2": ["a"]}
    wanted = fn.fuse({"x": {q: list(dict.fromkeys(ids)) for q, ids in RANKED.items()}, "y": other})
    fused = fn.fuse({"x": fn.Run(RANKED, duplicates="first"), "y": other})
    assert fused.to_dict() == wanted.to_dict()
    assert fused.notes == fused.top(1).notes == (f"x: {AGAIN}dropped, with later ranks closed up: 3",)
    items = [[4, 4, 2]], fn.Recommendations([[2, 2]], duplicates="best", ranks="closed")
    assert fn.fuse([fn.Recommendations(items[0], duplicates="first"), items[1]]).to_dict().keys() == {0}
    with pytest.raises(fn.InvalidInputError, match="must have different documents here, so that duplicates='counted'"):
        fn.fuse({"x": fn.Run(RANKED, duplicates="counted"), "y": other})


@pytest.mark.parametrize("choice", ["first", "best", "sum"])
def test_tuned_fusions_agreements_and_leaderboards(choice):
    """They have the numbers of runs without the rows that `fuse` drops, and say what was dropped."""
    judged = {f"q{q}": {"a": 1, "b": 0} for q in range(6)}
    rows = {"x": [("b", 3), ("a", 2), ("b", 1)], "y": [("a", 1), ("c", 4), ("a", 1)]}
    distinct = {"x": {"b": 3, "a": 2}, "y": {"a": 1, "c": 4}}
    if choice == "sum":
        distinct = {"x": {"b": 4, "a": 2}, "y": {"a": 2, "c": 4}}
    records = {name: [(q, *row) for q in judged for row in own] for name, own in rows.items()}
    twice = {name: fn.Run(own, duplicates=choice) for name, own in records.items()}
    once = {name: dict.fromkeys(judged, own) for name, own in distinct.items()}

    tuned = fn.tune_fusion(judged, twice, "rr", ["wsum"], folds=3)
    wanted = fn.tune_fusion(judged, once, "rr", ["wsum"], folds=3)
    assert tuned.best.weights == wanted.best.weights
    assert tuned.to_csv() == wanted.to_csv()
    assert AGAIN in str(tuned)
    assert list(tuned.apply(twice).to_dict()["q0"]) == list(wanted.apply(once).to_dict()["q0"])

    agreement = fn.agreement(twice["x"], twice["y"], "rbo, tau_b")
    np.testing.assert_array_equal(agreement.values, fn.agreement(once["x"], once["y"], "rbo, tau_b").values)
    assert [note.partition(":")[0] for note in agreement.notes] == ["first ranking", "second ranking"]

    ranks = None if choice == "sum" else "closed"
    closed = {name: fn.Run(own, duplicates=choice, ranks=ranks) for name, own in records.items()}
    boards = [
        fn.leaderboard({"d": judged}, {name: {"d": run} for name, run in runs.items()}, "rr") for runs in (closed, once)
    ]
    assert boards[0].rows == boards[1].rows


@pytest.mark.parametrize("call", ["tune_fusion", "agreement", "leaderboard"])
def test_errors_of_tuned_fusions_agreements_and_leaderboards(call):
    judged, runs = {f"q{q}": {"a": 1} for q in range(6)}, {name: {"q0": ["a", "a"]} for name in "xy"}
    systems = {name: {"d": run} for name, run in runs.items()}
    calls = {
        "tune_fusion": lambda **more: fn.tune_fusion(judged, runs, "rr", **more),
        "agreement": lambda **more: fn.agreement(runs["x"], runs["y"], "rbo", **more),
        "leaderboard": lambda **more: fn.leaderboard({"d": judged}, systems, **more),
    }
    refused(r"take fn\.Run\(…, duplicates='first'\)$", calls[call])
    refused(r"`duplicates` is no argument of .* It is said where the run is read", calls[call], duplicates="first")


test_refused_arguments = refuses(lambda options: fn.evaluate(QRELS, fn.Run(RANKED, **options), "rr"), {
    "an unknown choice": ({"duplicates": "last"}, "`duplicates` must be 'raise', 'first', .* or 'counted', not 'last'"),
    "unknown ranks": ({"duplicates": "first", "ranks": "open"}, "`ranks` must be 'kept' or 'closed', not 'open'"),
    "ranks alone": ({"ranks": "kept"}, "`ranks` must be left out, as duplicates='raise' drops no row"),
    "ranks of counted rows": ({"duplicates": "counted", "ranks": "closed"}, "duplicates='counted' drops no row"),
    "ranks of sums": ({"duplicates": "sum", "ranks": "kept"}, "duplicates='sum' drops no row"),
    "sums of ranks": ({"duplicates": "sum"}, "document a of query q1 must be 0 or more to be added up, but"),
})  # fmt: skip


def test_refused_inputs():
    scored = pd.DataFrame({"query": ["q"], "label": [1], "score": [0.5]})
    for run in ([[2, 1]], fn.Embeddings([[1.0]], [[2.0], [3.0]]), np.array([[0.5, 0.1]])):
        refused(r"`run` must (be|have ids of queries)", fn.Run, run, duplicates="first", error=fn.InvalidTypeError)
    with pytest.raises(fn.InvalidInputError, match="`duplicates` of Rows needs a column of documents"):
        fn.evaluate(fn.Rows(scored, duplicates="first"), metrics="rr")


def list_tables(rows, folder):
    """Return labels beside scores in each form of a table."""
    frame = pd.DataFrame(rows, columns=["query", "document", "label", "score"])
    lists = frame.groupby("query").agg(list).reset_index()
    frame.to_csv(folder / "rows.csv", index=False)
    own = {"frame": frame, "lists": lists, "lists without ids": lists.drop(columns="query"), "CSV": folder / "rows.csv"}
    table = pa.Table.from_pandas(frame)
    return own | {name: make(table, folder) for name, make in (USUAL_FORMS | PLAIN_FORMS).items()}


@pytest.mark.parametrize("choice", ["first", "best", "sum", "counted"])
def test_labels_beside_scores(tmp_path, choice):
    """One table with both sides is read as its labels, once a document, and its scores."""
    rows = [
        ("q1", "a", 1, 3.0), ("q1", "b", 0, 2.0), ("q1", "a", 1, 1.0), ("q1", "c", 2, 0.5),
        ("q2", "x", 1, 1.0), ("q2", "y", 0, 2.0),
    ]  # fmt: skip
    metrics = "ndcg@3, p@2"
    qrels = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"x": 1, "y": 0}}
    run = [(query, document, score) for query, document, _, score in rows]
    expected = fn.evaluate(qrels, fn.Run(run, duplicates=choice), metrics).values
    for name, table in list_tables(rows, tmp_path).items():
        found = fn.evaluate(fn.Rows(table, duplicates=choice), metrics=metrics)
        assert found.values.tolist() == expected.tolist(), name
        assert any("documents that their query has again" in note for note in found.notes), name


def test_labels_beside_scores_agree(tmp_path):
    rows = [("q", "a", 1, 3.0), ("q", "b", 0, 2.0), ("q", "a", 2, 1.0)]
    tables = list_tables(rows, tmp_path)
    for name, place in (("frame", "rows 0 and 2"), ("lists", "places 0 and 2 of row 0"), ("CSV", "lines 2 and 4")):
        message = f"a document must have one label in a query, but document a of query q has 1 and 2 in {place}. Give"
        refused(message, fn.evaluate, fn.Rows(tables[name], duplicates="first"), metrics="rr")
    refused(r"document a of query q is in rows 0 and 2.*duplicates='first'", fn.evaluate, tables["frame"], metrics="rr")


def test_scores_without_a_number():
    rows = [("q", "a", 0.5), ("q", "a", math.nan), ("q", "b", 0.7)]
    with pytest.raises(fn.InvalidInputError, match="row 1: score of document a of query q must not be NaN"):
        fn.evaluate({"q": {"a": 1}}, fn.Run(rows, duplicates="first"), "rr")
    convention = fn.conventions["default"].replace(nan_scores="last")
    for choice in ("first", "best"):
        result = fn.evaluate({"q": {"a": 1}}, fn.Run(rows, duplicates=choice), "rr, num_ret", convention=convention)
        assert result.values.tolist() == [[1 / 2, 3]]
    rows = [("q", "a", math.inf), ("q", "a", math.inf), ("q", "b", 0.7)]
    assert fn.evaluate({"q": {"b": 1}}, fn.Run(rows, duplicates="sum"), "rr").values.tolist() == [[1 / 2]]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_neighbouring_scores(dtype):
    """A document twice at one score stays above the next document, unless the scores are neighbours in their dtype."""
    high = np.array(0.5, dtype)
    for low, wanted in ((np.array(0.25, dtype), 1 / 3), (np.nextafter(high, np.array(0, dtype)), None)):
        frame = pd.DataFrame({"query": "q", "document": ["a", "a", "b"], "score": np.array([high, high, low], dtype)})
        if wanted is None:
            with pytest.raises(fn.InvalidInputError, match="document a of query q occurs several times"):
                fn.evaluate({"q": {"b": 1}}, fn.Run(frame, duplicates="first"), "rr")
        else:
            assert fn.evaluate({"q": {"b": 1}}, fn.Run(frame, duplicates="first"), "rr").values.tolist() == [[wanted]]


CLOSE_ROWS = [
    [("q", document, 0.5 + number * 2.0**-40) for document, number in zip(documents, numbers, strict=True)]
    for documents in ("aab", "bab", "abba")
    for numbers in product((0, 1), repeat=len(documents))
]


def test_single_precision_ties():
    close = 0.5 + 2.0**-40
    rows = [("q", "b", 0.5), ("q", "a", close), ("q", "b", 0.4), ("q", "a", 0.4)]
    for convention, wanted in (("trec_eval_9", 1.0), ("default", 1 / 2)):
        result = fn.evaluate({"q": {"b": 1}}, fn.Run(rows, duplicates="first"), "rr", convention=convention)
        assert result.values.tolist() == [[wanted]]
    rounded = [[("q", document, float(np.float32(score))) for _, document, score in own] for own in CLOSE_ROWS]
    for choice, ranks in product(("first", "best"), ("kept", "closed")):
        first, second = (
            [fn.evaluate({"q": {"a": 1, "b": 1}}, fn.Run(own, duplicates=choice, ranks=ranks), "ap",
                         convention="trec_eval_9").means() for own in rows]
            for rows in (CLOSE_ROWS, rounded)
        )  # fmt: skip
        assert first == second


def test_runs_without_duplicates_are_unchanged():
    run = {"q1": {"a": 0.5, "b": 0.5, "c": 0.1}, "q2": {"a": 1}}
    wanted = fn.evaluate(QRELS, run, METRICS)
    for choice, ranks in [*PLAIN, ("sum", None)]:
        result = fn.evaluate(QRELS, fn.Run(run, duplicates=choice, ranks=ranks), METRICS)
        np.testing.assert_array_equal(result.values, wanted.values)
        assert result.notes == ()


def test_command_line(put, run, shown, wrong):
    qrels, twice = put("q 0 a 1\nq 0 b 1\n", "qrels"), put("q Q0 a 1 3 x\nq Q0 a 2 2 x\nq Q0 b 3 1 x\n", "x.run")
    other, first = put("q Q0 b 1 3 y\n", "y.run"), ["--duplicates", "first"]
    message = "is in lines 1 and 2. Keep one of them, or evaluate with --duplicates first"
    wrong(message, "evaluate", qrels, twice, "-m", "recall@2")
    trec = ["--convention", "trec_eval"]
    for options, recall in (
        (["first"], 0.5), (["best", "--ranks", "closed"], 1.0), (["counted", "-M", "1", *trec], 0.5),
    ):  # fmt: skip
        facts = json.loads(shown("evaluate", qrels, twice, "-m", "recall@2", "--json", "--duplicates", *options))
        assert facts["runs"][0]["mean"] == {"R@2": recall}
    strings = ["-m", "relstring", "-q", "--format", "trec", *trec]
    assert "'1-1'" in shown("evaluate", qrels, twice, *strings, *first)
    assert "a (again)" in shown("explain", qrels, twice, "q", "-m", "p@3", *first)
    assert "ranks left empty: 1" in shown("compare", qrels, twice, other, "-m", "p@3", *first)
    assert run("gate", qrels, other, twice, "-m", "p@3", *first)[0] in range(4)
    code, _, notes = run("fuse", twice, other, "--duplicates", "sum")
    assert (code, "x: documents that their query has again, their scores added" in notes) == (0, True)
    put("".join(f"q{q} 0 a 1\n" for q in range(6)), "qrels")
    put("".join(f"q{q} Q0 a {r} {9 - r} x\n" for q in range(6) for r in (1, 2)), "x.run")
    for command in ("leaderboard", "tune-fusion"):
        arguments = [command, qrels, twice, twice, "--names", "x,y", "-m", "rr"]
        wrong("evaluate with --duplicates first", *arguments)
        assert shown(*arguments, *first).count("1.0000") > 1


OF_CHUNKS = "ndcg@3, map, rr, recall@3, p@2"
CHUNKS = ["a#1", "a#2", "b#1", "c#1", "c#2", "c#3"]
DOCUMENT = {chunk: chunk[0] for chunk in CHUNKS}
JUDGED = {"q": {"a": 2, "b": 0, "c": 1, "x": 1}}
RUN = {"q": ["a#1", "a#2", "c#3", "b#1", "c#1"]}
CHOICES = [*PLAIN, ("sum", None)]
INPUT_ORDERS = ("input", "input_reversed")
SCORED = st.lists(st.tuples(st.sampled_from(CHUNKS), st.integers(0, 3)), min_size=1, unique_by=lambda row: row[0])


def values(run, ties="average", truth=JUDGED, **options):
    """Return the values of an evaluation, or the rule that it breaks."""
    try:
        result = fn.evaluate(truth, fn.Run(run, **options), OF_CHUNKS, convention=f"default(ties={ties})")
        return str(result.values.tolist())  # in which NaN equals itself
    except fn.InvalidInputError as error:
        return str(error).split("that its")[-1].split(" under ")[0]


@examples(400)
@given(rows=SCORED, chosen=st.sampled_from(CHOICES), ties=st.sampled_from(("average", "best", "worst", *INPUT_ORDERS)))
def test_a_run_of_chunks_is_one_of_documents_that_come_again(rows, chosen, ties):
    """A run of chunks has the values of a run in which each chunk is its document, or breaks the same rule."""
    options = dict(zip(("duplicates", "ranks"), chosen, strict=True))
    expected = values([("q", DOCUMENT[chunk], score) for chunk, score in rows], ties, **options)
    assert values([("q", *row) for row in rows], ties, parents=DOCUMENT, **options) == expected


@examples(100)
@given(rows=SCORED, ranks=st.sampled_from(["kept", "closed"]), ties=st.sampled_from(["id_ascending", "id_descending"]))
def test_ids_of_chunks_order_ties(rows, ranks, ties):
    """As in trec_eval on the run of chunks: the documents have the places of their first chunks."""
    ordered = sorted(rows, reverse=ties == "id_descending")
    ordered.sort(key=lambda row: -row[1])
    listed = {"q": [DOCUMENT[chunk] for chunk, _ in ordered]}
    options = {"duplicates": "first", "ranks": ranks}
    run = [("q", *row) for row in rows]
    assert values(run, ties, parents=DOCUMENT, **options) == values(listed, **options)


@examples(50)
@example(rows=[("a#1", 1), ("a#2", 0)], labels={"a#1": 0, "a": 3})
@example(rows=[("a#1", 1), ("a#2", 0)], labels={"a#2": 3, "a#1": 1})
@given(
    rows=SCORED,
    labels=st.dictionaries(st.sampled_from([*CHUNKS, "a", "b", "c", "x", "y#4"]), st.integers(-1, 3), min_size=1),
)
def test_a_document_has_the_highest_label_of_its_own_and_its_chunks(rows, labels):
    highest = {}
    for judged, label in labels.items():
        document = judged.split("#")[0]
        highest[document] = max(label, highest.get(document, label))
    run = [("q", *row) for row in rows]
    found, expected = (
        values(run, truth={"q": own}, parents="before #", duplicates="best") for own in (labels, highest)
    )
    assert found == expected


@given(ids=st.lists(st.text("a#:"), min_size=1), separator=st.sampled_from(["#", "::", "#a:"]), is_last=st.booleans())
def test_a_rule_cuts_ids_as_python_does(ids, separator, is_last):
    found = ParentRule(separator, is_last=is_last).find(IdColumn.of(ids, "ids"))
    are_chunks = [separator in name for name in ids]
    parts = [name.rsplit(separator, 1) if is_last else name.split(separator) for name in ids]
    assert (found.documents.names().tolist(), found.are_chunks.tolist()) == ([first for first, *_ in parts], are_chunks)


FRAME = pd.DataFrame({"query": ["q"] * 5, "chunk_id": RUN["q"], "score": range(5, 0, -1), "source": list("aacbc")})
FORMS = {
    "dict": DOCUMENT, "Series": pd.Series(DOCUMENT),
    "frame": pd.DataFrame({"chunk_id": list(DOCUMENT), "doc_id": list(DOCUMENT.values())}),
    "dict of columns": {"doc_id": list(DOCUMENT.values()), "passage_id": list(DOCUMENT)},
    "function": lambda chunk: chunk.split("#")[0] if "#" in chunk else None, "rule": "before #",
    "rule of the last": "before last #",
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_forms(form):
    expected = fn.evaluate(JUDGED, fn.Run({"q": list("aacbc")}, duplicates="first"), OF_CHUNKS).values.tolist()
    result = fn.evaluate(JUDGED, fn.Run(RUN, parents=FORMS[form]), OF_CHUNKS)
    assert result.values.tolist() == expected
    assert "@k counts chunks: 5, of 3 documents" in result.notes
    assert fn.reference.evaluate(JUDGED, fn.Run(RUN, parents=FORMS[form]), OF_CHUNKS)["nDCG@3"] == [expected[0][0]]
    systems = {"one": RUN, "other": {"q": ["b#1", "c#1"]}}
    systems = {name: fn.Run(run, parents=FORMS[form]) for name, run in systems.items()}
    compared = fn.compare(JUDGED, systems, "ndcg@3")
    assert compared.rows[0].mean == expected[0][0]
    assert "a" in str(fn.explain(JUDGED, fn.Run(RUN, parents=FORMS[form]), "ndcg@3", query="q"))


def test_a_column_of_the_run():
    labelled = FRAME.assign(label=[JUDGED["q"].get(document, 0) for document in FRAME["source"]])
    assert "@k counts chunks: 5, of 3 documents" in fn.evaluate(fn.Rows(labelled, parents="source"), metrics="rr").notes
    result = fn.evaluate(JUDGED, fn.Run(FRAME, ranks="closed", parents="source"), "recall@3")
    assert result.mean() == {"R@3": 2 / 3}
    assert "@k counts documents: 3, of 5 chunks" in result.notes
    evaluator = fn.Evaluator(JUDGED, "recall@3")
    other = fn.Run(FRAME.assign(source=list("aacbc")), parents="source")
    assert evaluator.evaluate(fn.Run(FRAME, parents="source")).mean() == evaluator.evaluate(other).mean()
    run = pickle.loads(pickle.dumps(fn.Run(RUN, parents="before #")))
    assert fn.evaluate(JUDGED, run, "rr").mean() == {"RR": 1.0}


def list_libraries(columns):
    """Return columns as a table of each kind, which may be read twice."""
    names = ("pandas", "Polars", "lazy frame", "pyarrow", "DuckDB relation", "dict of columns", "structured array")
    return {name: (USUAL_FORMS | PLAIN_FORMS)[name](pa.table(columns), None) for name in names}


def test_tables_of_every_library_name_documents():
    """In the run, where "doc_id" would be the documents without `parents`, and as a table of their own."""
    scores = [float(-place) for place in range(5)]
    documents = [DOCUMENT[chunk] for chunk in RUN["q"]]
    run = {"query": ["q"] * 5, "chunk_id": RUN["q"], "doc_id": documents, "score": scores}
    expected = fn.evaluate(JUDGED, fn.Run(RUN, parents=DOCUMENT), OF_CHUNKS).values.tolist()
    for name, table in list_libraries(run).items():
        assert fn.evaluate(JUDGED, fn.Run(table, parents="doc_id"), OF_CHUNKS).values.tolist() == expected, name
    mapping = {"chunk_id": list(DOCUMENT), "doc_id": list(DOCUMENT.values())}
    for name, table in list_libraries(mapping).items():
        assert fn.evaluate(JUDGED, fn.Run(RUN, parents=table), OF_CHUNKS).values.tolist() == expected, name
    reader = pa.table(run).to_reader()
    with pytest.raises(fn.InvalidInputError, match=r"read twice .* RecordBatchReader is empty after 5 rows\. Read it"):
        fn.evaluate(JUDGED, fn.Run(reader, parents="doc_id"), "rr")


def test_documents_of_several_chunks_may_be_errors():
    with pytest.raises(fn.InvalidInputError, match=r"document a of query q is in .* take fn.Run"):
        fn.evaluate(JUDGED, fn.Run(RUN, duplicates="raise", parents=DOCUMENT), "rr")
    once = fn.evaluate(JUDGED, fn.Run({"q": ["b#1", "a#1"]}, duplicates="raise", parents=DOCUMENT), "rr")
    assert (once.mean(), once.notes) == ({"RR": 0.5}, ("@k counts chunks: 2, of 2 documents",))


def test_whole_numbers_are_chunks_too():
    parents = {10: 1, 11: 1, 20: 2}
    result = fn.evaluate({7: {1: 1, 2: 1}}, fn.Run({7: [10, 11, 20]}, ranks="closed", parents=parents), "recall@2")
    assert result.mean() == {"R@2": 1.0}
    liked = fn.Interactions(np.array([1, 2]), offsets=[0, 2])
    items = fn.Recommendations(np.array([[10, 11, 20]]), parents=parents)
    assert fn.evaluate(liked, items, "recall@2").mean() == {"R@2": 0.5}


test_wrong_parents_are_refused = refuses(lambda parents: fn.evaluate(JUDGED, fn.Run(RUN, parents=parents), "rr"), {
    "no parent": ({"a#1": "a"}, "`parents` must have each chunk of the run, but lacks that of document a#2 of query q"),
    "no column": ("source", "`parents` can only be the name of a column, 'source', where the run is a frame"),
    "no separator": ("before ", "`parents` must name what ends a document's id, not 'before '. Say 'before #'"),
    "number": (3, "`parents` must be a dict or Series of chunk to document, a frame with columns of both"),
    "null": (DOCUMENT | {"a#1": None}, "`parents` must give a text or a whole number as document, but that of 'a#1'"),
    "two parents": (
        pd.Series(["a", "b"], index=["a#1", "a#1"]), "`parents` must give one document to a chunk, but 'a#1' has"
    ),
    "failing function": (
        lambda chunk: chunk[9], "`parents` must return the document of each chunk, but fails for 'a#1': IndexError"
    ),
    "wrong function": (lambda _: 1.5, "`parents` must return the id of a document, a text or a whole number, or None"),
    "no names": (pd.DataFrame({"x": ["a#1"], "y": ["a"]}), "`parents` must have one column of chunks, named as one of"),
    "chunk and document": (DOCUMENT | {"b#1": "a#1"}, "`parents` must tell chunks from documents, but document a#1"),
}, text="^{}")  # fmt: skip


def test_what_has_no_chunks_is_refused():
    """A document that a function takes for a chunk, whole numbers under a rule, arrays, and a column that is absent."""
    with pytest.raises(fn.InvalidInputError, match="or the id itself, for the id of a document, but takes 'a_1'"):
        fn.evaluate({"q": {"a_1": 1}}, fn.Run({"q": ["a_1_1"]}, parents=lambda chunk: chunk.rpartition("_")[0]), "rr")
    with pytest.raises(fn.InvalidInputError, match="must be a table or a function where ids are whole numbers"):
        fn.evaluate({1: {1: 1}}, fn.Run({1: [1]}, parents="before #"), "rr")
    with pytest.raises(fn.InvalidTypeError, match="`run` must be a data frame, a Run, the path of a file"):
        fn.Run([2, 1], parents="before #")
    with pytest.raises(fn.InvalidTypeError, match="`parents` can only be the name of a column, 'source', where"):
        fn.Run({"q": ["a"]}, parents="source")
    with pytest.raises(fn.InvalidInputError, match="must be a column of the run, but 'doc' is none of 'query'"):
        fn.evaluate(JUDGED, fn.Run(FRAME, parents="doc"), "rr")


def test_chunks_on_the_command_line(put, shown, wrong):
    qrels = put("".join(f"q 0 {document} {label}\n" for document, label in JUDGED["q"].items()), "qrels.txt")
    run = put("".join(f"q Q0 {chunk} {n} {9 - n} t\n" for n, chunk in enumerate(RUN["q"])), "run.txt")
    command = ["evaluate", qrels, run, "-m", "recall@3", "--parents"]
    table = put(json.dumps(DOCUMENT), "parents.json")
    for parents in ("before #", table):
        out = shown(*command, parents, "--ranks", "closed")
        assert "0.6667" in out
        assert "@k counts documents: 3, of 5 chunks" in out
    assert "@k counts chunks: 2, of 1 documents" in shown(*command, table, "-M", "2", "--convention", "trec_eval")
    wrong("--parents must be a rule such as 'before #', or a file", *command, table.with_name("none.json"))


def test_what_a_run_writes_are_the_documents_that_count(tmp_path):
    run = fn.Run({"q": ["a", "a", "b"], "p": ["c"]}, duplicates="first")
    assert str(run).startswith("Run of 2 queries, 4 rows: duplicates='first', ranks='kept'\n")
    assert run.to_dict() == {"q": {"a": -1, "b": -3}, "p": {"c": -1}}
    assert run.top(2).to_dict() == run.to_dict()
    assert run.to_trec().count("\n") == len(run.to_pandas()) == 3
    run.write(tmp_path / "run.trec")
    assert fn.Run(tmp_path / "run.trec").to_dict() == run.to_dict()
    assert fn.Run({"q": ["a", "b"]}, duplicates="first").to_dict() == {"q": {"a": -1, "b": -2}}
    with pytest.raises(fn.InvalidInputError, match="must have different documents here, so that duplicates='counted'"):
        fn.Run({"q": ["a", "a"]}, duplicates="counted").to_dict()

"""Nothing in silence: notes, errors and names where a number would be wrong without a word."""

import base64
import hashlib
import html
import json
import re
import types

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from refusals import refused

import fastndcg as fn
from fastndcg.integrations import ragas

QRELS = {"1": {"a": 1}, "2": {"c": 1}}


def test_a_run_without_any_judged_document_has_a_note():
    qrels = {"q1": {"S1-A1": 1, "S1-A2": 0}, "q2": {"S2-A1": 1}}
    run = {"q2": {"2-A1": 0.5}, "q1": {"1-A1": 0.5, "1-A2": 0.1}}
    note = "no document of the run is judged: the qrels have 'S1-A1', the run has '1-A1'. Are ids alike?"
    result = fn.evaluate(qrels, run, "rr")
    assert (result.means(), result.notes) == ([0.0], (note,))
    assert note in str(result)
    assert fn.evaluate(qrels, {"q1": {"S1-A2": 0.5}, "q2": {"x": 1}}, "rr").notes == ()


@pytest.mark.parametrize("kind", ["unjudged", "missing", "lists of ids", "left out", "weights"])
def test_the_report_has_the_notes_below_the_table(kind, tmp_path):
    half = {"1": {"a": 1.0}, "2": {"x": 2.0, "c": 1.0}}
    truth, systems, options, said = {
        "unjudged": (QRELS, {"a": {"1": {"x": 1}, "2": {"y": 1}}, "b": half}, {}, "no document of the run is judged"),
        "missing": (QRELS, {"a": QRELS, "b": half | {"3": {"d": 1}}}, {},
                    "b: queries of the run missing in the qrels: 1 (skip)"),
        "lists of ids": ([[12, 5], [4, 8]], {"a": [[12, 34], [9, 4]], "b": [[1, 0], [0, 1]]}, {}, "lists of ids"),
        "left out": (
            QRELS, {"a": QRELS, "b": {"1": {"a": 1.0}}}, {"convention": "default(missing_in_run=skip)"},
            "b: 1 of the queries are missing",
        ),
        "weights": (QRELS | {"3": {"a": 1}}, {"a": half | {"3": {"a": 1}}, "b": half | {"3": {"a": 1}}},
                    {"weights": {"1": 1, "2": 1, "3": 0}}, "1 of the queries have the weight 0"),
    }[kind]  # fmt: skip
    found = fn.compare(truth, systems, "rr", test="t", **options)
    found.to_html(tmp_path / "page")
    page = html.unescape(re.sub("<[^>]+>", "", (tmp_path / "page").read_text()))
    (note,) = [note for note in found.notes if said in note]
    assert note in page


def test_arrays_that_look_like_lists_of_ids_have_a_note():
    assert "lists of ids" in fn.evaluate([[12, 5], [4, 8]], [[12, 34], [9, 4]], "map@3").notes[0]
    for labels, scores in (([[3, 2, 0]], [[3, 1, 2]]), ([[7, 5, 0]], [[7, 5, 0]]), ([[9, 1]], [[0.9, 9.5]])):
        assert fn.evaluate(labels, scores, "ndcg").notes == ()


SERIES = pd.Series([1.0, 3.0], index=["2", "1"])
VALUES = fn.evaluate(QRELS, {"1": {"a": 1.0}, "2": {"x": 2.0, "c": 1.0}}, "rr")  # 1 and 1/2


def test_series_are_read_by_their_index():
    """Query 1 has the weight 3 and the value 1, query 2 the weight 1 and the value 1/2."""
    assert VALUES.mean(SERIES) == {"RR": (3 * 1 + 1 / 2) / 4}
    assert VALUES.mean(SERIES) == VALUES.mean(SERIES.to_dict()) == VALUES.mean(np.array([3.0, 1.0]))
    segments = pd.Series(["short", "long"], index=["2", "1"])
    assert {row.segment: row.mean for row in VALUES.by(segments, method="t")} == {"long": 1.0, "short": 0.5}


@pytest.mark.parametrize("argument", ["weights", "clusters", "strata"])
@pytest.mark.parametrize(("series", "message"), [
    (pd.Series([1.0, 3.0]), r"such as '1', in its index, but has 0\. Take \w+\.set_axis\(ids\)"),
    (pd.Series([1.0, 3.0, 2.0], index=["1", "2", "1"]), r"'1' more than once"),
    (pd.Series([1.0], index=["1"]), r"query '2' has none"),
])  # fmt: skip
def test_series_without_the_ids_of_queries_are_refused(argument, series, message):
    """A Series of another index would give values to the wrong queries."""
    refused(f"`{argument}`.*{message}", VALUES.confidence_interval, "rr", method="t", **{argument: series})


EXTRA = {"1": 3.0, "2": 1.0, "q9": 5.0, "q8": 5.0}  # values of two queries that the results lack


@pytest.mark.parametrize("values", [EXTRA, pd.Series(EXTRA)], ids=["dict", "Series"])
def test_results_refuse_values_of_queries_that_they_lack(values):
    """The user has the results at hand, so that one line leaves them out. A missing value is an error, too."""
    message = r"lack 'q9' \(2 in all\)\. Take \{query: \w+\[query\] for query in results\.query_ids\}"
    for read in (
        lambda: VALUES.mean(values), lambda: VALUES.means(values), lambda: VALUES.std(values),
        lambda: VALUES.by(values, method="t"),
        *(lambda name=name: VALUES.confidence_interval("rr", method="t", **{name: values}) for name in ("weights",
            "clusters", "strata")),
    ):  # fmt: skip
        refused(message, read)
    refused("query '2' has none", VALUES.mean, {"1": 3.0, "q9": 5.0})
    assert VALUES.mean({query: EXTRA[query] for query in VALUES.query_ids}) == {"RR": (3 * 1 + 1 / 2) / 4}


@pytest.mark.parametrize("values", [EXTRA, pd.Series(EXTRA)], ids=["dict", "Series"])
@pytest.mark.parametrize("name", ["weights", "clusters", "strata", "segments"])
def test_comparisons_note_values_of_queries_that_are_not_compared(name, values):
    """`compare` leaves out queries itself, so that its user has values of more queries, and the same numbers follow."""
    systems = {"a": QRELS | {"3": {"a": 1}}, "b": {"1": {"x": 2, "a": 1}, "2": {"c": 1}, "3": {"a": 1}}}
    own = {"1": 1.0, "2": 1.0, "3": 1.0 if name == "strata" else 2.0}
    qrels = QRELS | {"3": {"a": 1}}
    more = own | {"q9": 1.0, "q8": 1.0}
    more = pd.Series(more) if isinstance(values, pd.Series) else more

    def compare(values):
        if name == "segments":
            return fn.compare(qrels, systems, "rr", test="t", interval="t").by(values)
        return fn.compare(qrels, systems, "rr", test="t", interval="t", **{name: values})

    found, alone = compare(more), compare(own)
    note = f"{name}: 2 of the queries are not compared, such as q9"
    place = found.notes.index(note)
    assert found.notes == (*alone.notes[:place], note, *alone.notes[place:])
    assert str(found.rows) == str(alone.rows)
    refused(f"`{name}`.*query '3' has none", compare, {"1": 1, "2": 1, "q9": 1})


def test_tuning_notes_folds_and_clusters_of_queries_that_it_lacks():
    qrels = {f"q{i}": {"d1": 1} for i in range(6)}
    runs = {"a": {q: {"d1": 2, "d2": 1} for q in qrels}, "b": {q: {"d2": 2, "d1": 1} for q in qrels}}
    folds = {f"q{i}": i % 3 for i in range(8)}
    tuned = fn.tune_fusion(qrels, runs, "rr", ["wsum"], folds=folds, clusters={q: q for q in folds})
    assert tuned.notes[-2:] == tuple(
        f"{name}: 2 of the queries are not compared, such as q6" for name in ("clusters", "folds")
    )


def test_labels_and_scores_in_series_are_aligned_or_refused():
    labels = pd.Series([1, 0, 0], index=["a", "b", "c"])
    scores = pd.Series([0.1, 0.5, 0.9], index=["c", "b", "a"])
    assert fn.evaluate(labels, scores, "rr", offsets=[0, 3]).means() == [1.0]
    assert fn.reciprocal_rank(labels, scores, [0, 3]).tolist() == [1.0]
    assert fn.evaluate(labels, scores.to_numpy(), "rr", offsets=[0, 3]).means() == [1 / 3]
    queries = pd.Series([1, 1, 0], index=["c", "b", "a"])
    assert fn.evaluate(labels, scores, "rr", query_ids=queries).query_ids.tolist() == [0, 1]
    for other in (scores.reset_index(drop=True), scores.set_axis(["a", "a", "b"])):
        with pytest.raises(fn.InvalidInputError, match=r"`scores` must have the index of the labels.*to_numpy"):
            fn.evaluate(labels, other, "rr", offsets=[0, 3])


def test_offsets_and_groups_in_series_are_refused_if_the_index_has_names():
    frame = pd.DataFrame({"query": ["b", "a", "a"], "label": [1, 0, 1], "score": [1.0, 2.0, 1.0]})
    sizes = frame.groupby("query").size()  # a: 2, b: 1
    labels, scores = frame["label"].to_numpy(), frame["score"].to_numpy()
    for read in (
        lambda: fn.evaluate(labels, scores, "rr", groups=sizes),
        lambda: fn.Evaluator(labels, "rr", groups=sizes),
        lambda: fn.ndcg(labels, scores, groups=sizes),
    ):
        refused(r"`groups` are read by place.*'a', 'b'.*groups\.to_numpy\(\)", read)
    offsets = pd.Series([0, 1, 3], index=["x", "y", "z"])
    for read in (
        lambda: fn.evaluate(labels, scores, "rr", offsets=offsets), lambda: fn.reciprocal_rank(labels, scores, offsets),
        lambda: fn.Rankings(labels, scores, offsets), lambda: fn.Interactions(np.array([0, 1, 2]), offsets=offsets),
    ):  # fmt: skip
        refused(r"`offsets` are read by place", read)
    assert fn.evaluate(labels, scores, "rr", offsets=offsets.reset_index(drop=True)).means() == [(1 + 1 / 2) / 2]
    assert fn.evaluate(labels, scores, "rr", groups=pd.Series([1, 2])).means() == [(1 + 1 / 2) / 2]
    assert fn.evaluate(labels, scores, "rr", query_ids=frame["query"].to_numpy()).means() == [(1 + 1 / 2) / 2]


def test_frames_are_no_matrices_of_items():
    frame = pd.DataFrame({"user": [1, 0, 0], "item": [1, 2, 0], "rank": [1, 1, 2]})
    assert fn.beyond_accuracy(frame, "coverage", catalogue=5).means() == [3 / 5]
    for recommended in (frame, fn.Recommendations(frame)):
        values = fn.evaluate(scipy.sparse.csr_array(np.eye(3)), recommended, "rr")["rr"]
        assert values.tolist() == [1 / 2, 1.0, 0.0]  # the frame has no row of user 2


def test_groups_and_query_ids_cut_queries_in_functions_as_in_evaluate():
    labels, scores = [0, 1, 1, 0], [0.9, 0.1, 0.8, 0.2]
    assert fn.ndcg(labels, scores, groups=[2, 2], k=1).tolist() == [0.0, 1.0]
    assert fn.success(labels, scores, query_ids=["b", "b", "a", "a"], k=1).tolist() == [0.0, 1.0]
    refused("exactly one", fn.ndcg, labels, scores, [0, 4], groups=[4])


@pytest.mark.parametrize("blank", ["\n\n", "\n" * 3_000_000, " \r\n" * 10])
def test_blank_lines_before_the_first_row_do_not_count(blank, tmp_path):
    path = tmp_path / "run.txt"
    path.write_bytes(f"{blank}1 Q0 a 1 0.5 x\n2 Q0 c 1 0.5 x\n".encode())
    assert fn.Run(path).to_dict() == {"1": {"a": 0.5}, "2": {"c": 0.5}}


def test_report_allows_its_own_script_and_style_alone(tmp_path):
    fn.compare(QRELS, {"a": QRELS, "b": {"1": {"x": 1.0}, "2": {"c": 1.0}}}, "rr", test="t").to_html(tmp_path / "page")
    page = (tmp_path / "page").read_text()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)[1]
    assert policy.startswith("default-src 'none'; ")
    for element, directive in (("<script>", "script-src"), ("<style>", "style-src-elem")):
        (content,) = re.findall(f"{element}(.*?){element.replace('<', '</')}", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy


def embed(users, items=None, **options):
    liked = fn.Interactions([0, 1], offsets=[0, 1, 2])
    return fn.evaluate(liked, fn.Embeddings(users, users if items is None else items, **options), "rr")


def test_products_that_all_underflow_are_refused():
    """1e-30 times 1e-30 is 0 in float32, so that all items would tie. In float64 it is 1e-60."""
    users = np.array([[1e-30, 0], [0, 1e-30]], "f4")
    refused(r"all are below 1\.18e-38 and would tie at 0.* 1e-30 in `users`", embed, users)
    assert embed(users.astype("f8")).means() == [1.0]
    assert embed(np.zeros((2, 2), "f4")).means() == [(1 + 1 / 2) / 2]  # zero vectors may tie


def test_products_of_some_vectors_that_underflow_are_noted():
    users = np.array([[1.0, 0.5], [2e-39, 1e-39]], "f4")
    items = np.array([[1e-7, 0.0], [1e-7, 3e-8]], "f4")
    result = embed(users, items)
    assert "rows of `users` whose scores are all below 1.18e-38 in float32, where they may tie: 1" in result.notes
    assert not any("rows of" in note for note in embed(users.astype("f8"), items.astype("f8")).notes)
    assert not any("rows of" in note for note in embed(np.eye(2, dtype="f4")).notes)
    swapped = fn.evaluate(fn.Interactions([0, 1], offsets=[0, 1, 2]), fn.Embeddings(items, users), "rr")
    assert "rows of `items` whose scores are all below 1.18e-38 in float32, where they may tie: 1" in swapped.notes


def test_vectors_of_many_dimensions_fit_the_default_memory():
    """70,000 dimensions need tiles of more than the default 64 MiB. A smaller memory is refused with the least."""
    users = np.zeros((2, 70_000), "u1")
    users[[0, 1], [3, 69_999]] = 200
    assert embed(users).means() == [1.0]
    refused("`memory` must be at least", embed, users, memory=1 << 20)


def test_vectors_of_bools_are_refused_by_their_dtype():
    with pytest.raises(fn.InvalidTypeError, match=r"but is bool\. Take np\.packbits\(users, axis=1\)"):
        embed(np.ones((2, 8), bool))


@pytest.mark.peers
@pytest.mark.parametrize("kind", ["sparse", "meta", "nested", "complex", "quantised"])
def test_tensors_that_numpy_lacks_are_refused_as_scores(kind):
    torch = pytest.importorskip("torch")
    dense = torch.eye(2)
    make = {
        "sparse": dense.to_sparse,
        "meta": lambda: dense.to("meta"),
        "nested": lambda: torch.nested.nested_tensor([dense[0], dense[1]]),
        "complex": lambda: dense.to(torch.complex64),
        "quantised": lambda: torch.quantize_per_tensor(dense, 0.1, 0, torch.qint8),
    }[kind]
    liked = fn.Interactions([0, 1], offsets=[0, 1, 2])
    with pytest.raises(fn.InvalidTypeError, match=r"the scores of user"):
        fn.evaluate(liked, fn.Scorer(lambda users: make(), n_items=2), "rr")


@pytest.mark.peers
def test_negated_views_of_tensors_are_read():
    torch = pytest.importorskip("torch")
    scores = torch.complex(torch.zeros(2, 2), -torch.eye(2)).conj().imag
    liked = fn.Interactions([0, 1], offsets=[0, 1, 2])
    assert fn.evaluate(liked, fn.Scorer(lambda users: scores[users], n_items=2), "rr").means() == [1.0]


def test_an_answer_of_a_web_server_other_than_404_is_not_called_missing():
    """The package fsspec raises FileNotFoundError for every answer, with the answer as its cause."""
    from fastndcg.inputs.files import convert_remote_errors

    class Answer(Exception):
        status = 500

    with (
        pytest.raises(OSError, match="Answer: Internal Server Error") as error,
        convert_remote_errors("http://host/run"),
    ):
        raise FileNotFoundError("http://host/run") from Answer("Internal Server Error")
    assert not isinstance(error.value, FileNotFoundError)
    Answer.status = 404
    with pytest.raises(FileNotFoundError, match="No such file"), convert_remote_errors("http://host/run"):
        raise FileNotFoundError("http://host/run") from Answer("Not Found")


FOUND = {"one found nothing": [["a"], []], "none found anything": [[], []], "the first found nothing": [[], ["b"]]}


def list_empty_lists(found, folder):
    """Yield truth, and what was found for q1 and q2, in all forms that have lists or dicts for queries."""
    truth, run = {"q1": {"a"}, "q2": {"b"}}, dict(zip(("q1", "q2"), found, strict=True))
    columns = {"query": list(run), "relevant": [["a"], ["b"]], "retrieved": found}
    yield truth, run
    yield fn.Qrels(truth), fn.Run(run)
    yield truth, {query: dict.fromkeys(ids, 1.0) for query, ids in run.items()}
    yield truth, {query: {"documents": [types.SimpleNamespace(id=name) for name in ids]} for query, ids in run.items()}
    yield [["a"], ["b"]], found
    yield fn.DiversityQrels({"q1": {"a": {"s": 1}}, "q2": {"b": {"s": 1}}}), run
    yield {"q1": [["a"], ["c"]], "q2": [["b", "c"]]}, run
    for number, make in enumerate((pd.DataFrame, pl.DataFrame, pa.table, list_rows)):
        yield make(columns), None
        yield truth, make({name: columns[name] for name in ("query", "retrieved")})
        yield truth, make({"query": list(run), "document": found, "score": [[1.0] * len(ids) for ids in found]})
        if number:
            paths = folder / "both", folder / "run"
            for path, names in zip(paths, (list(columns), ["query", "retrieved"]), strict=True):
                path.write_text(
                    "".join(f"{json.dumps(row)}\n" for row in list_rows({name: columns[name] for name in names}))
                )
            yield paths[0], None
            yield truth, paths[1]
    pl.DataFrame(columns).write_parquet(folder / "lists.parquet")
    yield folder / "lists.parquet", None
    fn.Run(run).write(folder / "run.json")
    yield truth, folder / "run.json"
    pivot = pd.DataFrame({name: [1.0 if name in ids else np.nan for ids in found] for name in "ab"}, index=list(run))
    yield truth, pivot
    numbers = [[ord(name) for name in ids] for ids in found]
    liked = fn.Interactions([ord("a"), ord("b")], offsets=[0, 1, 2])
    for items in (numbers, [[*ids, -1][:1] for ids in numbers]):
        yield liked, np.array(items) if all(items) else items
        yield {0: {ord("a")}, 1: {ord("b")}}, fn.Recommendations(items)
    yield [{ord("a")}, {ord("b")}], numbers
    yield {1: {ord("a")}, 2: {ord("b")}}, dict(zip((1, 2), numbers, strict=True))


def list_rows(columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize("found", FOUND.values(), ids=FOUND)
def test_an_empty_list_counts_0_in_every_form(found, tmp_path):
    """A query that is there, with nothing, retrieved nothing. Only what is absent is missing."""
    expected = [float(bool(ids)) for ids in found]
    for number, (truth, run) in enumerate(list_empty_lists(found, tmp_path)):
        for convention in ("default", "trec_eval"):
            result = fn.evaluate(truth, run, "rr,p@1", convention=convention)
            assert result.values.T.tolist() == [expected] * 2, number
            assert (result.n_missing_in_run, result.n_missing_in_qrels) == (0, 0), number


EMPTY_TRUTH = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
HALF = {"q1": ["a"], "q2": [], "q3": []}
MANY = {f"q{number}": ["a"] for number in range(40)}
FULL = {"q1": ["a"], "q2": ["b"], "q3": ["c"]}


def rank_alone(relevant, found):
    return ragas.make_metric("rr")(retrieved_context_ids=found, reference_context_ids=relevant)


@pytest.mark.parametrize(("call", "expected"), [
    (lambda: fn.Evaluator(EMPTY_TRUTH, "rr").evaluate(HALF).means(), [1 / 3]),
    (lambda: fn.reference.evaluate(EMPTY_TRUTH, HALF, "rr").means(), [1 / 3]),
    (lambda: fn.StreamingEvaluator("rr").update(EMPTY_TRUTH, HALF).result().means(), [1 / 3]),
    (lambda: fn.evaluate_pairs(EMPTY_TRUTH, HALF, "rr").means(), [1 / 3]),
    (lambda: fn.explain(EMPTY_TRUTH, HALF, "rr", query="q2").value, 0),
    (lambda: [row.mean for row in fn.compare(EMPTY_TRUTH, {"a": FULL, "b": HALF}, "rr").rows], [1, 1 / 3]),
    (lambda: fn.leaderboard({"d": EMPTY_TRUTH}, {"a": {"d": FULL}, "b": {"d": HALF}}, "rr").rows[1].mean, 1 / 3),
    (lambda: fn.gate(MANY, MANY, MANY | {f"q{number}": [] for number in range(20)}, "rr", margin=0.1).verdict, "fail"),
    (lambda: fn.gate(MANY, MANY, {query: [] for query in MANY}, "rr", margin=0.1).verdict, "fail"),
    (lambda: fn.fuse([HALF, {"q1": ["a"], "q2": [], "q3": ["c"]}]).to_dict()["q2"], {}),
    (lambda: fn.evaluate(EMPTY_TRUTH, fn.fuse([HALF, HALF]), "rr").means(), [1 / 3]),
    (lambda: fn.evaluate(EMPTY_TRUTH, fn.Run(HALF, duplicates="first"), "rr").means(), [1 / 3]),
    (lambda: fn.evaluate(EMPTY_TRUTH, fn.Run(HALF, parents="before #"), "rr").means(), [1 / 3]),
    (lambda: fn.agreement(FULL, HALF, "rbo").query_ids.tolist(), ["q1", "q2", "q3"]),
    (lambda: len(fn.Run(HALF).filter(["q2", "q3"]).top(1).queries), 2),
    (lambda: fn.Run(fn.Run(HALF).to_dict()).to_dict(), {"q1": {"a": -1.0}, "q2": {}, "q3": {}}),
    (lambda: fn.DiversityQrels({"q": {}, "z": {"a": {"s": 1}}}).to_dict()["q"], {}),
    (lambda: [rank_alone(["a"], ["a"]), rank_alone(["a"], []), rank_alone([], [])], [1, 0, 0]),
    (lambda: fn.beyond_accuracy([[0], []], "coverage", catalogue=2).means(), [1 / 2]),
    (lambda: fn.evaluate_spans({"q": [("a", 0, 9)]}, {"q": []}, "span_recall").means(), [0]),
])  # fmt: skip
def test_an_empty_list_counts_0_in_every_function(call, expected):
    assert call() == (expected if isinstance(expected, str | dict | list) else pytest.approx(expected))


def test_a_query_without_relevant_documents_counts_as_the_convention_says():
    """An empty dict or list of the truth is such a query, whatever was retrieved for it."""
    for nothing in ({}, [], set()):
        for retrieved in ([], ["x"]):
            truth, run = {"q": nothing, "z": {"a": 1} if nothing == {} else ["a"]}, {"q": retrieved, "z": ["a"]}
            labelled = {"q": {"b": 0}, "z": {"a": 1}}
            for convention in ("default", "haystack", "trec_eval", "ragas", "ranx"):
                values, expected = (
                    fn.evaluate(one, run, "r,p@1,ndcg", convention=convention) for one in (truth, labelled)
                )
                assert values.values.tobytes() == expected.values.tobytes()
            assert fn.evaluate(truth, run, "r", convention="haystack").mean() == {"R": 0.5}
            with pytest.raises(fn.UndefinedMetricError):
                fn.evaluate(truth, run, "r", convention="llama_index")
    spans = fn.evaluate_spans({"p": [("a", 0, 5)], "q": []}, {"p": [("a", 0, 5)], "q": [], "r": []}, "span_recall")
    assert (len(spans), spans.n_missing_in_qrels) == (1, 2)


QUERIES = [f"q{number}" for number in range(6)]
LABELS = {query: {"d1": 1, "d2": 0} for query in QUERIES}
SCORES = {query: {"d1": 2.0, "d2": 1.0} for query in QUERIES}
NEAR = pd.DataFrame([(query, name, 1 / score) for query in QUERIES for name, score in SCORES[query].items()])
DISTANCES = fn.Run(NEAR.set_axis(["query", "document", "_distance"], axis=1), columns={"score": "_distance"})
SAID = {  # by `evaluate`, and by all functions that join truth and predictions
    "a missing query": (LABELS, {query: SCORES[query] for query in QUERIES[1:]}, "judged queries missing in the run"),
    "another query": (LABELS, SCORES | {"q9": {"d1": 1.0}}, "queries of the run missing in the qrels: 1 (skip)"),
    "other documents": (LABELS, {query: {"x": 1.0} for query in QUERIES}, "no document of the run is judged"),
    "distances": (LABELS, DISTANCES, "column '_distance' has distances"),
    "ids or labels": ({query: [1, 2] for query in QUERIES}, {query: {1: 2.0} for query in QUERIES}, "were read as ids"),
    "shares of clicks": ({query: {"d1": 0.5, "d2": 0.2} for query in QUERIES}, SCORES, "no label reaches 1"),
    "groups": ({query: [["d1", "d2"], ["d3"]] for query in QUERIES}, SCORES, "every document of a group"),
}  # fmt: skip
JOINING = {
    "evaluate": lambda truth, run, metric: fn.evaluate(truth, run, metric),
    "Evaluator": lambda truth, run, metric: fn.Evaluator(truth, metric).evaluate(run),
    "stream": lambda truth, run, metric: fn.StreamingEvaluator(metric).update(truth, run).result(),
    "evaluate_pairs": lambda truth, run, metric: fn.evaluate_pairs(truth, run, metric),
    "explain": lambda truth, run, metric: fn.explain(truth, run, metric, query="q1"),
    "compare": lambda truth, run, metric: fn.compare(truth, {"a": run, "b": run}, metric, test="t"),
    "gate": lambda truth, run, metric: fn.gate(truth, run, run, metric),
    "leaderboard": lambda truth, run, metric: fn.leaderboard({"x": truth}, {"a": {"x": run}, "b": {"x": run}}, metric),
    "of a comparison": lambda *given: fn.leaderboard(JOINING["compare"](*given), metric=given[2]),
    "tune_fusion": lambda truth, run, metric: fn.tune_fusion(truth, {"a": run, "b": run}, metric, folds=3).table(),
    "fuse": lambda truth, run, metric: fn.evaluate(truth, fn.fuse([run, run]), metric),
}


@pytest.mark.parametrize("function", JOINING)
@pytest.mark.parametrize("kind", SAID)
def test_every_function_that_joins_has_the_notes_of_evaluate(kind, function):
    truth, run, said = SAID[kind]
    metric = "map" if kind == "groups" else "rr"
    if function == "fuse" and kind == "distances":
        assert said in str(fn.fuse([run, run]).notes)
    assert said in " ".join(str(JOINING[function](truth, run, metric)).split())


def test_notes_of_other_functions_that_join():
    fewer = fn.Run(NEAR[2:].set_axis(["query", "document", "dist"], axis=1), columns={"score": "dist"})
    agreed = str(fn.agreement(DISTANCES, fewer, "rbo"))
    assert "queries that only the first ranking has, left out: 1" in agreed
    assert "second ranking: column 'dist' has distances" in agreed
    recommended = pd.DataFrame({"user": [1, 1, 2], "item": [0, 1, 0], "distance": [0.1, 0.2, 0.3]})
    liked = pd.DataFrame({"user": [1, 3], "item": [1, 0], "label": [0.5, 0.2]})
    recommended = fn.Run(recommended, columns={"score": "distance"})
    beyond = str(fn.beyond_accuracy(recommended, "serendipity", popularity=[2, 1], liked=liked))
    for note in ("users with recommended items who like none: 1", "without recommended ones, left out: 1",
                 "column 'distance' has distances", "no label reaches 1"):  # fmt: skip
        assert note in beyond
    with pytest.raises(fn.InvalidInputError, match="recommended and liked must have a query in common"):
        fn.beyond_accuracy(recommended, "serendipity", popularity=[2, 1], liked=liked.assign(user=[8, 9]))
    spans = fn.evaluate_spans({"q": [("a.txt", 0, 9)]}, {"q": [("A.txt", 0, 9)]}, "span_recall")
    assert spans.notes == (
        "no chunk is of a document with gold text: the gold has 'a.txt', the chunks have 'A.txt'. They differ by the "
        "case of letters: write ids alike",
    )
    batches = fn.StreamingEvaluator("rr", per_query=True).update({1: [1]}, {1: [1]})
    assert "were read as ids" in str(batches.result())
    assert "were read as ids" not in str(batches.update({2: {1: 1}}, {2: [1]}).result())
    boards = {"x": LABELS, "y": LABELS}, {"a": {"x": SCORES, "y": DISTANCES}, "b": {"x": SCORES, "y": SCORES}}
    assert "a on y: column '_distance'" in str(fn.leaderboard(*boards, "rr"))


def test_columns_named_as_distances_rank_ascending(tmp_path):
    """Nearer is better. The error for a frame without scores says so, and so does the note."""
    truth, far_first = {"q": {"near": 1}}, {"query": ["q", "q"], "document": ["far", "near"]}
    for name in ("distance", "_distance", "dist", "Distances", "l2_distance", "cosine distance"):
        columns = {"score": name}
        for number in (float, int, np.uint8, np.float32) if name == "distance" else (float,):
            table = pd.DataFrame(far_first | {name: np.array([9, 1], number)})
            table.to_csv(tmp_path / "run.csv", index=False)
            lists = {"query": ["q"], "document": [["far", "near"]], name: [[9, 1]]}
            labelled = pl.DataFrame(table.assign(label=[0, 1]).drop(columns="document"))
            labelled.write_parquet(tmp_path / "rows.parquet")
            for given in (
                table, pl.DataFrame(table), list_rows(far_first | {name: [9, 1]}), tmp_path / "run.csv",
                pd.DataFrame(lists), labelled, tmp_path / "rows.parquet",
            ):  # fmt: skip
                has_labels = given is labelled or str(given).endswith("parquet")
                named = (fn.Rows if has_labels else fn.Run)(given, columns=columns)
                result = fn.evaluate(*([named] if has_labels else [truth, named]), metrics="rr")
                assert result.means() == [1.0]
                assert f"column {name!r} has distances, of which lower is better" in str(result)
        refused(f"'score': NAME}}, such as {name!r}, of which lower ranks first", fn.evaluate, truth, table, "rr")
    ranked = table.assign(rank=[1, 2])  # ranks count, and distances beside scores have no role
    assert fn.evaluate(truth, ranked, "rr").means() == fn.evaluate(truth, table.assign(score=[2, 1]), "rr").means()
    for name in ("neg_distance", "similarity"):
        table = pd.DataFrame(far_first | {name: [1.0, 9.0]})
        assert fn.evaluate(truth, fn.Run(table, columns={"score": name}), "rr").notes == ()


@pytest.mark.parametrize(("labels", "metrics", "names"), [
    ([0.5, 0.2, 0.0], "ap,p@1,ndcg,rr(rel=0.3)", "AP, P@1: take a lower rel=, such as AP(rel=0.5)"),
    ([0.5, 0.2, 0.0], "rr(rel=0.6)@3", "RR(rel=0.6)@3: take a lower rel=, such as RR(rel=0.5)@3"),
    ([0.5, 0.2, 0.0], "ndcg,dcg", None), ([1.5, 0.2, 0.0], "ap", None), ([0.0, 0.0, 0.0], "ap", None),
    ([1, 0, 0], "ap(rel=2)", None),
])  # fmt: skip
def test_labels_of_which_none_reaches_1_are_noted(labels, metrics, names, tmp_path):
    pd.DataFrame({"query": 1, "label": labels, "score": [0.3, 0.2, 0.1]}).to_parquet(tmp_path / "rows.parquet")
    many = np.concatenate([np.zeros(5000), labels])
    for given in (
        ([labels], [[0.3, 0.2, 0.1]]),
        (many, np.arange(len(many)) / 7, {"offsets": [0, len(many)]}),
        ({"q": dict(zip("abc", labels, strict=True))}, {"q": ["c", "a"]}),
        (fn.Interactions([0, 1, 2], labels, [0, 3]), [[2, 0]]),
        (fn.Interactions([0, 1, 2], labels, [0, 3]), np.array([[0.1, 0.2, 0.3]])),
        (fn.Interactions([0, 1, 2], labels, [0, 3]), fn.Embeddings(np.eye(1, 3), np.eye(3))),
        (tmp_path / "rows.parquet", None),
    ):
        notes = fn.evaluate(*given[:2], metrics=metrics, **dict(*given[2:])).notes
        found = [note.partition("relevant for ")[2] for note in notes if note.startswith("no label reaches")]
        assert found == ([] if names is None else [names])
    shares = fn.evaluate([[0.5, 0.2]], [[2, 1]], "ap", convention="default(relevant=above 0)")
    assert not any("reaches" in note for note in shares.notes)


def test_published_values_have_the_range_of_their_metric():
    shares = {"a": {"x": 0.48, "y": 0.5, "z": 0.44}, "b": {"x": 0.38, "y": 0.4, "z": 0.41}}
    percent = {system: {name: 100 * value for name, value in row.items()} for system, row in shares.items()}
    assert fn.leaderboard(shares, metric="ndcg@10").metric == "ndcg@10"
    assert fn.leaderboard(percent).metric == "mean"  # none was named
    for wrong, named in (
        (percent, "a has 48 for x. All are in percent: divide them by 100, or leave `metric` out"),
        ({"a": shares["a"], "b": percent["b"]}, "b has 38 for x"),
        ({"a": percent["a"], "b": {"x": 1200, "y": 1, "z": 1}}, "a has 48 for x"),
        ({"a": shares["a"], "b": shares["b"] | {"z": -0.1}}, "b has -0.1 for z"),
    ):
        refused(f"nDCG@10 from 0 to 1, but {named}", fn.leaderboard, wrong, metric="ndcg@10")
        assert not any("percent of" in note for note in fn.leaderboard(wrong, metric="Elo").notes)

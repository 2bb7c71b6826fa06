"""Data sets and results as tools for retrieval have them, in objects, columns and files, equal plain dicts."""

import collections
import json
import re
import uuid
from dataclasses import field, make_dataclass

import numpy as np
import pytest
from refusals import refused
from table_forms import USUAL_FORMS

import fastndcg as fn

pa = pytest.importorskip("pyarrow")

GROUPS = {"q1": [["d1", "é"], ["d3"]], "q2": [], "q3": [["d4"], ["d1", "d5", "d6"]]}
FOUND = {"q1": ["é", "d7", "d3"], "q2": ["d1"], "q3": ["d9"]}
OF_GROUPS = "evidence_recall@2, all_evidence@3, recall@3"
QA = {
    "qid": list(GROUPS), "query": ["a?", "b?", "c?"], "retrieval_gt": list(GROUPS.values()),
    "generation_gt": [["yes"], [], ["no"]], "retrieved_ids": list(FOUND.values()),
}  # fmt: skip


# LlamaIndex: data sets of questions, results of the RetrieverEvaluator, nodes, what retrievers and engines return
QuestionSet = make_dataclass("QuestionSet", ["queries", "corpus", "relevant_docs", "mode"])
RetrievalEvalResult = make_dataclass("RetrievalEvalResult", ["query", "expected_ids", "retrieved_ids"])
Node = make_dataclass("Node", ["node_id"])
NodeWithScore = make_dataclass("NodeWithScore", ["node", ("score", float, None)])
Response = make_dataclass("Response", ["response", "source_nodes"])
# LangSmith's examples, LangChain's documents
Example = make_dataclass("Example", ["inputs", ("outputs", dict, None)])
METADATA = ("metadata", dict, field(default_factory=dict))
Document = make_dataclass("Document", ["page_content", ("id", str, None), METADATA])
# points of Qdrant, hits of Milvus and documents of Haystack; answers of Qdrant and of Weaviate; objects of Weaviate
Hit = make_dataclass("Hit", ["id", ("score", float, None)])
Answer = make_dataclass("Answer", [("points", list, None), ("objects", list, None)])
WeaviateObject = make_dataclass("WeaviateObject", ["uuid"])


def make(form, columns, folder):
    return USUAL_FORMS[form](pa.table(columns), folder)


def check_same(found, expected):
    assert found.query_ids.tolist() == expected.query_ids.tolist()
    np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.parametrize("form", USUAL_FORMS)
def test_groups_of_evidence_in_a_column(form, tmp_path):
    """AutoRAG's retrieval_gt has lists of lists, of each of which one document is enough."""
    expected = fn.evaluate(GROUPS, FOUND, OF_GROUPS)
    assert expected.to_dict()["q1"] == {"S_recall@2": 1 / 2, "all_evidence@3": 1.0, "R@3": 2 / 3}
    for evaluate in (fn.evaluate, fn.reference.evaluate):
        check_same(evaluate(make(form, QA, tmp_path), metrics=OF_GROUPS), expected)
    truth = {name: QA[name] for name in ("qid", "query", "retrieval_gt")}
    assert fn.evaluate(make(form, truth, tmp_path), FOUND, OF_GROUPS).notes == expected.notes
    for read in (fn.Qrels, fn.DiversityQrels):
        judged = read(make(form, truth, tmp_path))
        assert isinstance(judged, fn.DiversityQrels)
        assert judged.to_dict() == fn.Qrels(GROUPS).to_dict()
    named = {"q": QA["qid"], "gt": QA["retrieval_gt"], "found": QA["retrieved_ids"]}
    if form not in ("JSON Lines", "dict of columns"):  # which show by usual names that they have columns
        columns = {"query": "q", "document": "gt", "score": "found"}
        rows = fn.Rows(make(form, named, tmp_path), columns=columns)
        assert fn.evaluate(rows, metrics=OF_GROUPS).means() == expected.means()
    numbers = {"qid": [1], "retrieval_gt": [[[3, 4], [5]]]}
    assert fn.evaluate(make(form, numbers, tmp_path), {1: [4]}, "evidence_recall").to_dict() == {1: {"S_recall": 1 / 2}}


@pytest.mark.parametrize("form", USUAL_FORMS)
@pytest.mark.parametrize(("change", "message"), [
    ({"retrieval_gt": [[["a"], []]]}, r"must have groups of ids, all different, .* query 'q' has \[\]"),
    ({"retrieval_gt": [[["a", "a"]]]}, r"must have groups of ids, all different, .* has \['a', 'a'\]"),
    ({"retrieval_gt": [[[["a"]]]]}, r"where \['a'\] is no id"), ({"retrieval_gt": [[[0.5]]]}, r"where 0\.5 is no id"),
    ({"retrieval_gt": [[["a"], None]]}, "must have groups of ids, all different, .* has None"),
    ({"retrieval_gt": [[["a", None]]]}, "where None is no id"),
    ({"qid": ["q", "q"], "retrieval_gt": [[["a"]], [["b"]]]}, "one row per query .* query q has "),
    ({"retrieval_gt": [[["a"]]], "grade": [[1]]}, "no labels beside groups of ids, .* 'grade' .* Drop it, or give"),
    ({"retrieval_gt": [[["a"]]], "importance": ["vital"]}, "no importances beside groups of ids, .* 'importance'"),
])  # fmt: skip
def test_groups_that_cannot_be_read(form, change, message, tmp_path):
    table = {"qid": ["q"]} | change
    with pytest.raises(fn.InvalidInputError, match=message) as error:
        fn.evaluate(make(form, table, tmp_path), {"q": ["a"]}, "evidence_recall")
    assert {"Parquet": ".parquet", "JSON Lines": ".jsonl"}.get(form, "") in str(error.value)


def test_columns_of_empty_and_of_null_groups():
    """A frame without any group is one of queries without judgments, as the dict is."""
    empty = pa.table({"qid": ["q"], "retrieval_gt": pa.array([[]], pa.list_(pa.list_(pa.string())))})
    assert fn.Qrels(empty).to_dict() == fn.Qrels({"q": []}).to_dict() == {"q": {}}
    assert len(fn.Qrels(empty[:0])) == 0
    refused("must have subtopics, but has none", fn.DiversityQrels, empty)
    null = pa.table({"qid": ["q", "r"], "retrieval_gt": pa.array([[["a"]], None], pa.list_(pa.list_(pa.string())))})
    refused("no null, but column 'retrieval_gt' has one in row 1", fn.Qrels, null)
    refused("the type in its lists is list", fn.Run, pa.table({"qid": ["q"], "retrieved_ids": [[["a"]]]}))


def test_command_line_of_groups(tmp_path, shown):
    path = make("Parquet", QA, tmp_path)
    means = json.loads(shown("evaluate", path, "-m", "evidence_recall@2,all_evidence@3", "--json"))["runs"][0]["mean"]
    assert means == fn.evaluate(GROUPS, FOUND, "evidence_recall@2, all_evidence@3").mean()


RATINGS = {"q1": {"d1": 2, "é": 0}, "q2": {"d9": 1}, "q3": {}}
HITS = {"q1": {"é": 0.9, "d1": 0.5}, "q2": {"d1": 1.5, "d9": 0.25}, "q3": {"d2": 1.0}}
OF_HITS = "ndcg, rr, P@1"
RATED = {query: [{"_index": "i", "_id": name, "rating": label} for name, label in row.items()]
    for query, row in RATINGS.items()}  # fmt: skip
SCORED = {query: [{"_id": name, "_score": score, "_source": {"x": [1]}} for name, score in row.items()]
    for query, row in HITS.items()}  # fmt: skip
JUDGMENTS = {
    "ratings by query": RATED,
    "lists of ratings": [{"query": query, "ratings": [{"docId": hit["_id"], "rating": hit["rating"]} for hit in row]}
        for query, row in RATED.items()],
    "requests": [{"id": query, "request": {"query": {}}, "ratings": row} for query, row in RATED.items()],
    "a body of Elasticsearch": {"metric": {"dcg": {"k": 5}}, "requests": [
        {"id": query, "request": {}, "ratings": row} for query, row in RATED.items()]},
    "a body of OpenSearch": {"name": "n", "type": "IMPORT_JUDGMENT", "judgmentRatings": [
        {"query": query, "ratings": [{"docId": hit["_id"], "rating": f"{hit['rating']:.3f}"} for hit in row]}
        for query, row in RATED.items()]},
    "relevant documents": [{"question": query, "gold_docs": [{"id": hit["_id"], "grade": hit["rating"]} for hit in row]}
        for query, row in RATED.items()],
}  # fmt: skip
RETRIEVALS = {
    "hits by query": SCORED,
    "responses": {query: {"took": 3, "hits": {"total": {"value": 2}, "hits": row}} for query, row in SCORED.items()},
    "rows of hits": [{"query_id": query, "query": "text", "hits": row} for query, row in SCORED.items()],
    "rows of documents": [{"user": query, "documents": [{"id": hit["_id"], "similarity": hit["_score"]} for hit in row]}
        for query, row in SCORED.items()],
}  # fmt: skip


def list_paths(folder, value):
    """Write a value as JSON, and as JSON Lines where it is a list, or a dict by query."""
    rows = value if isinstance(value, list) else [{query: row} for query, row in value.items()]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    texts = {"a.json": json.dumps(value), "indented.json": json.dumps(value, indent=1), "a.jsonl": lines}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


@pytest.mark.parametrize("form", JUDGMENTS)
def test_judgments_in_lists_of_dicts(form, tmp_path):
    """An object and its file give the same judgments."""
    value = JUDGMENTS[form]
    expected = fn.evaluate(RATINGS, HITS, OF_HITS)
    assert expected.to_dict()["q2"]["RR"] == 1 / 2
    for evaluate in (fn.evaluate, fn.reference.evaluate):
        check_same(evaluate(value, HITS, OF_HITS), fn.evaluate(RATINGS, HITS, OF_HITS))
    paths = list_paths(tmp_path, value)
    for path in paths[:2] if form.startswith("a body") else paths:
        assert fn.Qrels(path).to_dict() == fn.Qrels(value).to_dict() == RATINGS
        assert repr(fn.Qrels(path)).endswith(f"from {path}")
        check_same(fn.evaluate(path, HITS, OF_HITS), expected)
        with pytest.raises(fn.InvalidInputError):
            fn.DiversityQrels(path)


@pytest.mark.parametrize("value", RETRIEVALS.values(), ids=RETRIEVALS)
def test_retrievals_in_lists_of_dicts(value, tmp_path, shown):
    """An object and its file give the same run, also on the command line."""
    expected = fn.evaluate(RATINGS, HITS, OF_HITS)
    for evaluate in (fn.evaluate, fn.reference.evaluate):
        check_same(evaluate(RATINGS, value, OF_HITS), fn.evaluate(RATINGS, HITS, OF_HITS))
    (tmp_path / "qrels.json").write_text(json.dumps(JUDGMENTS["requests"]), encoding="utf-8")
    for path in list_paths(tmp_path, value):
        assert fn.Run(path).to_dict() == fn.Run(value).to_dict() == HITS
        check_same(fn.evaluate(RATINGS, path, OF_HITS), expected)
        assert fn.Run(path, duplicates="first").to_dict() == HITS
        facts = json.loads(shown("evaluate", tmp_path / "qrels.json", path, "-m", "ndcg,rr", "--json"))
        assert facts["runs"][0]["mean"] == fn.evaluate(RATINGS, HITS, "ndcg, rr").mean()


def test_distances_and_named_fields_of_hits_in_files(tmp_path):
    near = {"q1": [{"id": "a", "distance": 0.1}, {"id": "b", "distance": 0.3}]}
    for path in list_paths(tmp_path, near):
        assert fn.Run(path).to_dict() == {"q1": {"a": -0.1, "b": -0.3}}
        assert "its negative values" in repr(fn.Run(path))
    named = [{"nr": 1, "hits": [{"key": "a", "points": 2.0, "score": 0.1}]}]
    columns = {"query": "nr", "document": "key", "score": "points"}
    for path in (named, *list_paths(tmp_path, named)):
        assert fn.Run(path, columns=columns).to_dict() == {1: {"a": 2.0}}
    first_is_empty = [{"query": "q", "hits": []}, {"query": "r", "hits": [{"id": "a", "score": 1.0}]}]
    for path in (first_is_empty, *list_paths(tmp_path, first_is_empty)):
        assert fn.Run(path).to_dict() == {"q": {}, "r": {"a": 1.0}}


ONE = {"id": "a", "score": 1.0}
NEAR, FAR = {"id": "d1", "distance": 0.1}, {"id": "d2", "distance": 0.3}


@pytest.mark.parametrize(("value", "message"), [
    ([{"query": "q", "hits": [ONE]}, {"query": "q", "hits": []}], "`predictions`, row 1: each query must stand"),
    ([{"query": "q", "hits": [ONE]}, {"query": "r"}], "row 1: each query must stand in one record, as .query"),
    ([{"query": "q", "hits": [ONE]}, 3], "row 1: each query must stand in one"),
    ([{"query": None, "hits": [ONE]}], "row 0: each query must stand in one"),
    ([{"text": "q", "hits": [ONE]}], "row 0: each query must stand in one record, as 'id'"),
    ([{"query": "q", "hits": [ONE, ONE]}], "document a of query q is in places 0 and 1"),
    ([{"query": "q", "hits": [ONE, {"id": "b", "score": "x"}]}], "hit 1: score must be a number, but is 'x'"),
    ([{"query": "q", "hits": [ONE, {"id": None, "score": 1}]}], "hit 1: id must be a text in each record"),
    ([{"query": "q", "hits": [ONE, "b"]}], "has none of its usual names|must be all texts|usual names"),
    ({"q": [NEAR, FAR], "r": [FAR, NEAR]}, "or fall in all, but does not in query 'r'. Sort its hits"),
    ({"q": [NEAR], "r": [NEAR, {"id": "d3", "distance": 1.0}, FAR]}, "does not in query 'r'. Sort its hits"),
    ({"q": [NEAR, "d2"]}, "as the first is, but 'q' maps to .*d2.*. Use one form"),
    ({"q": [NEAR, {"id": "d2"}]}, "hit 1: a record must have the field 'distance', as others have"),
    ({"q": [{"key": "d1"}]}, r"but has none of its usual names: its columns are 'key'.*\{'document': NAME\}"),
    ({"q": [ONE], "r": 3}, "each query to a list of dicts, as the first is, but 'r' maps to 3"),
    ({"took": 3, "hits": {"hits": [ONE]}}, "a response of Elasticsearch, whose queries have no ids"),
    ({"took": 3, "responses": [{"hits": {"hits": [ONE]}}]}, r"zip\(query_ids, responses\)"),
])  # fmt: skip
def test_hits_in_files_that_cannot_be_read(value, message, tmp_path):
    for path in (value, *list_paths(tmp_path, value)[:2]):
        with pytest.raises(fn.InvalidInputError, match=message) as error:
            fn.evaluate({"q": ["a"]}, path, "rr")
        assert path is value or str(path) in str(error.value)
        assert len(str(error.value)) < 900


def test_hits_that_a_sort_ordered():
    """Elasticsearch leaves scores null where a field sorts. Labels are never so."""
    hits = {"q": {"took": 1, "hits": {"hits": [{"_id": name, "_score": None, "sort": [1]} for name in "ba"]}}}
    assert fn.Run(hits).to_dict() == {"q": {"b": -1, "a": -2}}
    hits["r"] = [{"_id": "a", "_score": 0.5}]
    refused("hit 0: _score must be a number, but is None", fn.Run, hits, error=fn.InvalidTypeError)
    with pytest.raises(fn.InvalidTypeError, match="hit 0: rating must be a number, but is None"):
        fn.Qrels({"q": [{"_id": "a", "rating": None}]})


def test_ratings_of_other_kinds():
    """OpenSearch's ratings are texts of numbers. Hits without any are relevant, and a column of ratings is one."""
    assert fn.Qrels({"q1": [{"id": "a", "text": "…"}]}).to_dict() == {"q1": {"a": 1}}
    for table in ([{"user": 1, "item": 2, "ratings": 3}], [{"user": 1, "item": [2], "ratings": [3]}]):
        assert fn.Qrels(table, columns={"label": "ratings"}).to_dict() == {1: {2: 3}}
    for wrong in ({"query": "q", "ratings": []}, {"ratings": []}, {"query": "s"}, {"query": "s", "ratings": 3}):
        rows = [*JUDGMENTS["lists of ratings"], wrong | {"query": "q1"} if wrong.get("query") == "q" else wrong]
        refused("`truth`, row 3: each query must stand in one record, as 'query'", fn.Qrels, rows)
    assert fn.Qrels([{"query": "q", "ratings": [{"docId": "a", "rating": "1.5"}]}]).to_dict() == {"q": {"a": 1.5}}
    with pytest.raises(fn.InvalidInputError, match="hit 0: rating must be a number, but is 'high'"):
        fn.Qrels([{"query": "q", "ratings": [{"docId": "a", "rating": "high"}]}])
    with pytest.raises(fn.InvalidInputError, match="label of document a of query q must be finite"):
        fn.Qrels([{"query": "q", "ratings": [{"docId": "a", "rating": "nan"}]}])


def test_plain_records_stay_records(tmp_path):
    """Fields with lists of dicts beside a document, or beside lists of ids, are none of hits."""
    flat = [{"query": "q", "doc": "a", "label": 2, "results": [{"id": "x"}], "expected": [{"id": "y"}]}]
    lists = [{"query": "q", "expected_ids": ["a"], "hits": [{"id": "x", "score": 1}]}]
    for path in (flat, *list_paths(tmp_path, flat)):
        assert fn.Qrels(path).to_dict() == {"q": {"a": 2}}
    for path in (lists, *list_paths(tmp_path, lists)):
        assert fn.Qrels(path, columns={"document": "expected_ids"}).to_dict() == {"q": {"a": 1}}
        assert fn.Run(path).to_dict() == {"q": {"x": 1}}


QUESTIONS = {
    "queries": {"q1": "a?", "q2": "b?"}, "corpus": {"d1": "A", "d2": "B"},
    "relevant_docs": {"q1": ["d1"], "q2": ["d1", "d2"]}, "mode": "text",
}  # fmt: skip


def test_data_sets_of_llama_index(tmp_path):
    """The object, its dict and its file of JSON are the relevant ids of each query."""
    run = {"q1": ["d2", "d1"], "q2": ["d1"]}
    expected = fn.evaluate(QUESTIONS["relevant_docs"], run, "rr, recall")
    assert expected.to_dict() == {"q1": {"RR": 1 / 2, "R": 1.0}, "q2": {"RR": 1.0, "R": 1 / 2}}
    for truth in (QUESTIONS, QuestionSet(**QUESTIONS), *list_paths(tmp_path, QUESTIONS)[:2]):
        for evaluate in (fn.evaluate, fn.reference.evaluate):
            check_same(evaluate(truth, run, "rr, recall"), expected)
        assert fn.Qrels(truth).to_dict() == {"q1": {"d1": 1}, "q2": {"d1": 1, "d2": 1}}
    missing = QUESTIONS | {"relevant_docs": {"q1": ["d1"]}}
    for truth in (missing, QuestionSet(**missing), *list_paths(tmp_path, missing)[:2]):
        refused("relevant_docs of each of its queries, but has none of 'q2'", fn.Qrels, truth)
    with pytest.raises(fn.InvalidInputError, match="document d1 of query q1 is in places 0 and 1"):
        fn.Qrels(QuestionSet({"q1": "a?"}, {}, {"q1": ["d1", "d1"]}, "text"))


def test_results_of_llama_index_evaluators():
    results = [RetrievalEvalResult("a?", ["d1"], ["d2", "d1"]), RetrievalEvalResult("b?", ["d3"], ["d3"])]
    for evaluate in (fn.evaluate, fn.reference.evaluate):
        assert evaluate(results, metrics="rr").to_dict() == {"a?": {"RR": 1 / 2}, "b?": {"RR": 1.0}}
    assert fn.Qrels(results).to_dict() == {"a?": {"d1": 1}, "b?": {"d3": 1}}
    assert list(fn.Run(results)["a?"]) == ["d2", "d1"]
    refused(r"query a\? has rows 0 and 1", fn.evaluate, [results[0], results[0]], metrics="rr")
    refused(r"row 1: expected_ids must be a list|row 1: a record must have", fn.Qrels, [results[0], 3])


def test_examples_of_langsmith(tmp_path):
    """Inputs and outputs are the fields of one record, whose names say what they are."""
    rows = [
        {"inputs": {"question": "a?"}, "outputs": {"answer": "A", "relevant_ids": ["d1"]}, "metadata": {"x": 1}},
        {"inputs": {"question": "b?"}, "outputs": {"answer": "B", "relevant_ids": ["d1", "d2"]}},
    ]
    objects = [Example(row["inputs"], row["outputs"]) for row in rows]
    for truth in (rows, objects, *list_paths(tmp_path, rows)):
        assert fn.Qrels(truth).to_dict() == {"a?": {"d1": 1}, "b?": {"d1": 1, "d2": 1}}
        assert fn.evaluate(truth, {"a?": ["d2", "d1"], "b?": ["d1"]}, "rr").means() == [3 / 4]
    both = [Example({"question": "a?"}, {"expected_ids": ["d1"], "retrieved_ids": ["d2", "d1"]})]
    assert fn.evaluate(both, metrics="rr").to_dict() == {"a?": {"RR": 1 / 2}}
    named = [Example({"input": "a?"}, {"needed": ["d1"]})]
    assert fn.Qrels(named, columns={"query": "input", "document": "needed"}).to_dict() == {"a?": {"d1": 1}}
    for wrong, message in (
        ([Example({"question": "a?"}, {"answer": "A"})],
            "none of its usual names: its columns are 'question', 'answer'"),
        ([objects[0], Example({"question": "b?"})], "row 1: a record must have the field 'relevant_ids', as others"),
        ([objects[0], Example({"question": "b?"}, {"question": "c?"})],
            "row 1: inputs and outputs must be dicts without"),
        ([objects[0], 3], "row 1: a record must have the field"),
        ([objects[0], Example("b?", {"relevant_ids": []})], "row 1: inputs and outputs must be dicts"),
    ):  # fmt: skip
        refused(message, fn.Qrels, wrong)


def test_answers_of_chains_and_ids_in_metadata():
    run = {"q": ["d2", "d1"]}
    documents = [Document("B", "d2"), Document("A", metadata={"id": "d1"})]
    for answer in (
        documents, {"input": "a?", "context": documents, "answer": "A"},
        {"query": "a?", "result": "A", "source_documents": documents}, Response("A", [Node("d2"), Node("d1")]),
    ):  # fmt: skip
        assert fn.Run({"q": answer}).to_dict() == fn.Run(run).to_dict()
        assert fn.evaluate({"q": documents[1:]}, {"q": answer}, "rr").means() == [1 / 2]
    with pytest.raises(fn.InvalidInputError, match=r"document 0 of query 'q', a Document, has none\. Give ids when"):
        fn.Run({"q": [Document("A", metadata={"source": "d1"})]})
    texts = {"q": {"context": ["A"], "answer": "B"}}  # without ids
    refused("gives no numbers", fn.Run, texts)


def test_an_object_with_a_frame_says_so():
    class LabelledRagDataset:
        def to_pandas(self):
            raise AssertionError

    message = r"is of type LabelledRagDataset. Give its frame: truth.to_pandas\(\)$"
    refused(message, fn.evaluate, LabelledRagDataset(), {"q": ["a"]}, "rr", error=fn.InvalidTypeError)


TRUTH = {"q1": {"d1", "d2"}, "q2": ["d3"]}
RETRIEVED = {"q1": ["d9", "d1"], "q2": ["d3"], "q3": []}
OBJECTS = {
    "LangChain": lambda name: Document("…", name),
    "LangChain with distances": lambda name: (Document("…", name), int(name[1:]) / 9),
    "LlamaIndex": lambda name: NodeWithScore(Node(name), 1 / int(name[1:])),
    "LlamaIndex's nodes": Node,
    "Haystack": lambda name: Hit(name, 0.5),
}  # fmt: skip


@pytest.mark.parametrize("form", OBJECTS)
def test_results_of_retrievers(form):
    expected = fn.evaluate(TRUTH, RETRIEVED, "rr, recall@1, ndcg")
    run = {query: [OBJECTS[form](name) for name in names] for query, names in RETRIEVED.items()}
    for evaluate in (fn.evaluate, fn.reference.evaluate):
        assert evaluate(TRUTH, run, "rr, recall@1, ndcg").to_dict() == expected.to_dict()
    if form == "Haystack":
        output = {query: {"documents": documents} for query, documents in run.items()}
        assert fn.evaluate(TRUTH, output, "rr, recall@1, ndcg").to_dict() == expected.to_dict()
    by_position = fn.evaluate([list(ids) for ids in TRUTH.values()], list(run.values())[:2], "rr, recall@1, ndcg")
    assert by_position.values.tolist() == expected.values[:2].tolist()
    truth = {query: [OBJECTS[form](name) for name in sorted(names)] for query, names in TRUTH.items()}
    assert fn.evaluate(truth, run, "rr, recall@1, ndcg").to_dict() == expected.to_dict()
    on_both_sides = fn.evaluate(list(truth.values()), list(run.values())[:2], "rr, recall@1, ndcg")
    assert on_both_sides.values.tolist() == by_position.values.tolist()
    fused = fn.fuse({"a": run, "b": RETRIEVED}, "rrf").to_dict()
    assert list(fused["q1"]) == ["d9", "d1"]


Row = collections.namedtuple("Row", "id distance")
FALLING = {"d9": 0.8, "d1": 0.5, "d3": 0.2}
CLIENTS = {
    "Qdrant": (lambda name: Hit(name, FALLING[name]), lambda hits: Answer(points=hits), ""),
    "Qdrant's REST": (lambda name: {"id": name, "score": FALLING[name]}, lambda hits: {"points": hits}, ""),
    "Pinecone": (lambda name: {"id": name, "score": FALLING[name]}, lambda hits: {"matches": hits}, ""),
    "Elasticsearch": (lambda name: {"_index": "i", "_id": name, "_score": FALLING[name], "_source": {"x": 1}},
        lambda hits: {"took": 3, "hits": {"total": {"value": 2}, "hits": hits}}, ""),
    "Milvus, L2": (lambda name: {"id": name, "distance": 1 - FALLING[name], "entity": {}}, list, "negative values"),
    "Milvus, COSINE": (lambda name: {"id": name, "distance": FALLING[name], "entity": {}}, list, "as similarities"),
    "pgvector": (lambda name: {"id": name, "document": "text", "distance": 1 - FALLING[name]}, list, "negative"),
    "pgvector's named tuples": (lambda name: Row(name, 1 - FALLING[name]), tuple, "column 'distance' has distances"),
    "texts without scores": (lambda name: {"id": name, "text": "…"}, list, ""),
    "ranks": (lambda name: {"docid": name, "id": 7, "rank": int(10 - 9 * FALLING[name])}, list, ""),
}  # fmt: skip


@pytest.mark.parametrize(("hit", "answer", "note"), CLIENTS.values(), ids=CLIENTS)
def test_results_of_search_clients(hit, answer, note):
    """The list of each query is the best first, whether numbers are distances or similarities."""
    expected = fn.evaluate(TRUTH, RETRIEVED, "rr, recall@1, ndcg")
    run = {query: answer([hit(name) for name in names]) for query, names in RETRIEVED.items()}
    for evaluate in (fn.evaluate, fn.reference.evaluate):
        result = evaluate(TRUTH, run, "rr, recall@1, ndcg")
        assert result.to_dict() == expected.to_dict()
    assert note in str(fn.evaluate(TRUTH, run, "rr"))
    assert {query: list(fn.Run(run)[query]) for query in fn.Run(run)} == RETRIEVED
    assert fn.evaluate(TRUTH, fn.Run(run, duplicates="first"), "rr").means() == fn.evaluate(TRUTH, run, "rr").means()


def test_hits_of_search_clients_by_score_and_by_named_fields():
    """Hits with scores may be in any order."""
    hits = {"q1": [{"id": "d1", "score": 0.2}, {"id": "d9", "score": 0.8}], "q2": []}
    assert fn.Run(hits).to_dict() == {"q1": {"d1": 0.2, "d9": 0.8}, "q2": {}}
    named = {"q1": [{"key": "d1", "points": 2.0}]}
    assert fn.Run(named, columns={"document": "key", "score": "points"}).to_dict() == {"q1": {"d1": 2.0}}
    again = {"q1": [{"id": "d1", "score": 0.2}, {"id": "d1", "score": 0.8}]}
    assert fn.Run(again, duplicates="best").to_dict() == {"q1": {"d1": 0.8}}
    key = uuid.UUID(int=7)
    assert fn.Run({"q1": Answer(objects=[WeaviateObject(key)])}).to_dict() == {"q1": {str(key): -1.0}}


def test_documents_without_ids_are_refused():
    run = {"q1": [Document("a", "d1"), Document("b")]}
    refused(r"document 1 of query 'q1', a Document, has none. Give ids", fn.evaluate, TRUTH, run, "rr")
    message = r"the qrels: each document must have an id, .* document 1 of query 'q1'"
    refused(message, fn.evaluate, run, {"q1": ["d1"]}, "rr")
    message = "must map each query to a list of documents, but 'q2' maps to 3"
    refused(message, fn.evaluate, TRUTH, {"q1": [Node("d1")], "q2": 3}, "rr")
    refused("document d1 of query q1 is in places 0 and 1", fn.evaluate, TRUTH, {"q1": [Node("d1"), Node("d1")]}, "rr")


def test_golden_sets():
    """TruLens's golden set has texts with scores, 1 if left out, beside what the model should answer."""
    golden = [
        {"query": "q1", "expected_response": "",
            "expected_chunks": [{"text": "A", "expect_score": 0.5}, {"text": "B"}]},
        {"query": "q2", "expected_chunks": [{"text": "C", "expect_score": 2}]},
    ]  # fmt: skip
    run = {"q1": ["B", "x"], "q2": ["y", "C"]}
    labels = {"q1": {"A": 0.5, "B": 1}, "q2": {"C": 2}}
    for convention in ("default", "trulens"):
        found = fn.evaluate(golden, run, "ndcg, rr", convention=convention)
        assert found.to_dict() == fn.evaluate(labels, run, "ndcg, rr", convention=convention).to_dict()
    with pytest.raises(fn.InvalidInputError, match=r"row 1: expected_chunks must be a list of dicts with a text"):
        fn.evaluate([golden[0], {"query": "q2", "expected_chunks": ["C"]}], run, "rr")
    for wrong in (golden[0], {"query": ["q"], "expected_chunks": []}, {"expected_chunks": []}):
        refused("row 1: each query must stand in one record", fn.evaluate, [golden[0], wrong], run, "rr")
    for chunks in ([{"text": ["A"]}], [{"text": None}], None):
        with pytest.raises(fn.InvalidInputError, match="row 1: expected_chunks must be a list of dicts with a text"):
            fn.evaluate([golden[0], {"query": "q2", "expected_chunks": chunks}], run, "rr")
    refused(r"row 1: expected_chunks must be .* but is 3", fn.evaluate, [golden[0], 3], run, "rr")


OF_USERS = "ndcg@10,map,rr,recall"


class Collection:
    def __init__(self, columns, fields=("user_id",)):
        self.key_fields = fields
        self._columns = columns

    def to_df(self):
        return pytest.importorskip("pandas").DataFrame(self._columns)


def test_collections_give_the_values_of_dicts():
    relevant = {1: {10: 3.0, 11: 1.0}, 2: {10: 2.0}}
    truth = Collection({"user_id": [1, 1, 2], "item_id": [10, 11, 10], "rating": [3.0, 1.0, 2.0], "rank": [1, 2, 1]})
    ids = {"user_id": [1, 1, 1, 2, 2], "item_id": [12, 10, 11, 10, 13]}
    ranks, scores = [1, 2, 3, 1, 2], [1.0, 2.0, 3.0, 1.0, 2.0]
    for fields, values in (
        ({"rank": ranks}, [-1, -2, -3, -1, -2]),
        ({"rank": ranks, "score": scores}, [-1, -2, -3, -1, -2]),
        ({"rank": [np.nan] * 5, "score": scores}, scores),
    ):
        run = {1: {}, 2: {}}
        for user, item, value in zip(*ids.values(), values, strict=True):
            run[user][item] = value
        expected = fn.evaluate(relevant, run, OF_USERS).to_dict()
        assert fn.evaluate(truth, Collection(ids | fields), OF_USERS).to_dict() == expected
        assert fn.evaluate(relevant, Collection(ids | fields), OF_USERS).to_dict() == expected


def test_keys_of_two_fields_are_refused():
    with pytest.raises(fn.InvalidInputError, match=re.escape("of one field, the user or query, but has 'user_id'")):
        fn.evaluate(Collection({}, ("user_id", "fold")), {1: [2]}, "rr")


@pytest.mark.peers
def test_lenskit_collections_give_its_values():
    data, ranking = pytest.importorskip("lenskit.data"), pytest.importorskip("lenskit.metrics.ranking")
    random = np.random.default_rng(4)
    items = [f"i{number}" for number in range(30)]
    liked, recommended = data.ItemListCollection(["user_id"]), data.ItemListCollection(["user_id"])
    for user in range(40):
        ratings = random.integers(1, 6, 5).astype(float)
        liked.add(data.ItemList(random.choice(items, 5, replace=False), rating=ratings), user)
        scores = random.random(8).round(1)
        recommended.add(data.ItemList(random.choice(items, 8, replace=False), scores=scores, ordered=True), user)
    result = fn.evaluate(liked, recommended, "nDCG@5,RR@5,R@5", convention="lenskit")
    pairs = [(recommended.lookup(user_id=user), liked.lookup(user_id=user)) for user in range(40)]
    for name, metric in (("NDCG", "nDCG@5"), ("RecipRank", "RR@5"), ("Recall", "R@5")):
        theirs = [getattr(ranking, name)(5).measure_list(*pair) for pair in pairs]
        assert result[metric] == pytest.approx(theirs, rel=1e-6, abs=1e-12)
    run = recommended.to_df()
    frames = fn.evaluate(liked.to_df(), run.assign(score=-run["rank"]), OF_USERS)
    assert fn.evaluate(liked, recommended, OF_USERS).values.tobytes() == frames.values.tobytes()

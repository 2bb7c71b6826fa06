"""Ids, records and objects of retrieval libraries give the values of dicts of dicts. Unclear forms raise errors."""

import collections
import gzip
import re
from collections import OrderedDict

import numpy as np
import pandas
import pytest
from refusals import refused, refuses

import fastndcg as fn
from fastndcg.inputs import dicts

pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
METRICS = "ndcg@10,map,rr,p@2,recall"
RELEVANT = {"q1": ["d1", "é"], "q2": ["d1"], "q3": ["d7"]}
RANKED = {"q1": ["d1", "d2", "é"], "q2": ["d9", "d1"]}
LABELS = {query: dict.fromkeys(ids, 1) for query, ids in RELEVANT.items()}
SCORES = {query: {document: -rank for rank, document in enumerate(ids)} for query, ids in RANKED.items()}
EXPECTED = fn.evaluate(LABELS, SCORES, METRICS).to_dict()
TrecQrel = collections.namedtuple("TrecQrel", "query_id doc_id relevance iteration")
ScoredDoc = collections.namedtuple("ScoredDoc", "query_id doc_id score")
CONTAINERS = {
    "tuples": tuple, "arrays": lambda ids: np.array(ids, object), "Series": pandas.Series, "Index": pandas.Index,
    "Polars": polars.Series, "Arrow": pyarrow.array, "chunks": lambda ids: pyarrow.chunked_array([ids]),
}  # fmt: skip


def list_forms(ids, table, name, kind):
    """Return ids of each query, and a dict of dicts with the same values, in every form. Some are made anew."""
    rows = [(query, document, value) for query, row in table.items() for document, value in row.items()]
    fields = [{"query": q, "document": d, name: v} for q, d, v in rows]
    return {
        "lists": ids, "ordered dict": OrderedDict(ids), "dicts": table, "records": rows,
        **{form: {query: make(own) for query, own in ids.items()} for form, make in CONTAINERS.items()},
        "lists as records": tuple(map(list, rows)), "named tuples": [kind(*row) for row in rows],
        "generator": lambda: (kind(*row) for row in rows), "dicts as records": [row | {"note": [1]} for row in fields],
        "mappings": list(map(collections.ChainMap, fields)), "iterator": lambda: iter(map(OrderedDict, fields)),
    }  # fmt: skip


TRUTHS = list_forms(RELEVANT, LABELS, "label", lambda *row: TrecQrel(*row, "0")) | {
    "sets": {query: set(ids) for query, ids in RELEVANT.items()},
    "frozen sets": {query: frozenset(ids) for query, ids in RELEVANT.items()},
    "keys of dicts": {query: labels.keys() for query, labels in LABELS.items()},
    "arrays of texts": {query: np.array(ids) for query, ids in RELEVANT.items()},
    "lists and sets": {"q1": {"d1", "é"}, "q2": ["d1"], "q3": ("d7",)},
}
RUNS = list_forms(RANKED, SCORES, "score", ScoredDoc)


def made(form):
    return form() if callable(form) else form


PAIRS = [(truth, run) for truth in TRUTHS for run in RUNS if truth == run or "lists" in (truth, run)]


@pytest.mark.parametrize("has_kernels", [True, False])
@pytest.mark.parametrize(("truth", "run"), PAIRS)
def test_ids_and_records_give_the_values_of_dicts(truth, run, has_kernels, monkeypatch):
    """Relevant ids have the label 1, and the order of ranked ids is the ranking."""
    monkeypatch.setattr(dicts, "CAN_READ_OBJECTS", has_kernels)
    assert fn.evaluate(made(TRUTHS[truth]), made(RUNS[run]), METRICS).to_dict() == EXPECTED
    assert fn.Evaluator(made(TRUTHS[truth]), METRICS).evaluate(made(RUNS[run])).to_dict() == EXPECTED


@pytest.mark.parametrize("form", ["lists", "records", "generator"])
def test_ids_and_records_in_other_functions(form):
    truth, run = TRUTHS[form], RUNS[form]
    other = {"q1": ["x"], "q2": ["d1"], "q3": ["d7"]}
    rows = fn.compare(made(truth), {"a": made(run), "b": other}, "rr").rows
    assert [row.mean for row in rows] == [pytest.approx(1.5 / 3), pytest.approx(2 / 3)]
    explained = fn.explain(made(truth), made(run), "rr", query="q2", against="trec_eval_9")
    assert (explained.value, explained.against.value) == (1 / 2, 1 / 2)
    assert [row.document for row in explained.ranking] == ["d9", "d1"]
    assert fn.agreement(made(run), made(run), "tau_b").mean() == {"tau_b": 1.0}


def test_ids_are_scored_by_their_places():
    assert fn.Run(RANKED).values.tolist() == [-1, -2, -3, -1, -2]
    assert fn.Qrels(RELEVANT).values.tolist() == [1, 1, 1, 1]
    odd = ["\ud800", "a\0", "", *("x" * size for size in (31, 32, 33, 1000))]
    assert fn.Run({"q": odd}).documents.names().tolist() == odd


def test_whole_numbers_empty_lists_and_fractional_labels():
    for run in ({7: [3, 1, 2]}, {7: np.array([3, 1, 2])}, {7: {3: 0.9, 1: 0.5, 2: 0.1}}):
        assert fn.evaluate({7: {1, 2}}, run, "rr,p@2").to_dict() == {7: {"RR": 1 / 2, "P@2": 1 / 2}}
    truth, run = {"q1": ["a"], "q2": set(), "q3": ["b"]}, {"q1": ["a"], "q2": ["a"], "q3": []}
    expected = fn.evaluate({"q1": {"a": 1}, "q2": {}, "q3": {"b": 1}}, {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {}}, "rr")
    result = fn.evaluate(truth, run, "rr")
    assert result.to_dict() == expected.to_dict() == {"q1": {"RR": 1.0}, "q2": {"RR": 0.0}, "q3": {"RR": 0.0}}
    assert (result.n_missing_in_run, result.n_missing_in_qrels) == (0, 0)
    result = fn.evaluate({"q": {"a": 0.5, "b": 0.25}}, {"q": ["b", "a"]}, "dcg")
    assert not result.notes


class OfRanx:
    def __len__(self):
        return 1

    def __getitem__(self, query):
        raise KeyError(query)

    def to_dict(self):
        return {"q1": {"d1": 1}}


MANY = [10**6] * 100_000
test_unclear_ids_raise_an_error = refuses(lambda truth, run: fn.evaluate(truth, run, "rr"), {
    "labels without documents": ({"q": [1, 0, 1]}, RANKED, "document 1 of query q is in .* of both without queries"),
    "many whole numbers": ({"q": MANY}, RANKED, "document 1000000 of query q is in places 0 and 1 of its list"),
    "scores": (RELEVANT, {"q1": [0.5, 0.1]}, r"where 0.5 is no id. Give {document: score}"),
    "labels": ({"q1": [True]}, RANKED, "where True is no id. Give {document: label}"),
    "pairs": (RELEVANT, {"q1": [("d1", 0.5)]}, r"where \('d1', 0.5\) is no id. .* give dict\(pairs\)"),
    "hits": (RELEVANT, {"q1": ["d0", {"corpus_id": "d1"}]}, r"is no id. .* give {hit\[ID\]: hit\[SCORE\]"),
    "None": (RELEVANT, {"q1": ["d1", None]}, "where None is no id. Give texts"),
    "three kinds": ({"q1": [[1, "a", b"x"]]}, RANKED, r"where \[1, 'a', b'x'\] is no id. Give texts"),
    "mixed ids": (RELEVANT, {"q1": ["d1", 3]}, "all texts or all whole numbers, but one is 3. Use one type"),
    "mixed queries": (RELEVANT, {"q1": ["d1"], 2: ["d1"]}, "ids of queries in the run must be all texts or all"),
    "a repeated id in a run": (RELEVANT, {"q1": ["d1", "d2", "d1"]},
        "the run: a document must stand once in a query, but document d1 of "
        "query q1 is in places 0 and 2 of its list. Keep one"),
    "a repeated id in the truth": ({"q1": ["a"], "q2": ["a", "a"]}, RANKED, "the qrels: .* of query q2 .* 0 and 1"),
    "a set as a run": (RELEVANT, {"q1": {"d1"}}, "those of query 'q1' are a set, which has no order. Give a list"),
    "lists and dicts": (RELEVANT, {"q1": ["a"], "q2": {"a": 1}}, r"'q1' maps to \['a'\] and 'q2' to {'a': 1}. Use"),
    "dicts and lists": (RELEVANT, {"q1": {"a": 1}, "q2": ["a"]}, r"must map queries to dicts, but 'q2' maps to \['a'"),
    "an id alone": ({"q1": "d1"}, RANKED, r"For one id per query give lists: {query: \[id\]}"),
    "lists and None": (RELEVANT, {"q1": ["d1"], "q2": None}, "must map queries to dicts, but 'q2' maps to None"),
    "no ids and None": ({"q1": [], "q2": None}, RANKED, "must map queries to dicts, but 'q2' maps to None"),
    "no queries at all": ({}, RANKED, "the qrels must have a query, but are empty"),
    "a set as a column": ({"query": ["q"], "document": {"d"}}, RANKED, "is a dict of columns. Give a frame"),
    "a frame as a column": ({"query": pandas.DataFrame(), "label": [1]}, RANKED, "is a dict of columns. Give a frame"),
    "columns of two lengths": ({"query": ["q", "q"], "document": ["d"]}, RANKED,
        "expected length 2 but got length 1. Give them one length"),
    "a run without numbers in columns": (RELEVANT, {"query": ["q"], "document": ["d"]}, "columns={'score': NAME}"),
    "a generator": (RELEVANT, {"q1": iter(["d1"])}, r"'q1' maps to <list_iterator .*>. Give a list: list\(…\)"),
    "a list of texts": (["d1", "d2"], RANKED, r"is a list of texts: \['d1', 'd2'\]. Give relevant ids as {query: ids}"),
    "hits by place": (RELEVANT, [[{"corpus_id": 0, "score": 0.5}]], r"semantic_search, give {query: {hit\[ID\]"),
    "a truth of ranx": (OfRanx(), RANKED, r"`truth` .* is a .*OfRanx. Give its dict: truth.to_dict\(\)"),
    "a run of ranx": (RELEVANT, OfRanx(), r"`predictions` .* is a .*OfRanx. Give its dict: predictions.to_dict\(\)"),
    "a series of sets": (pandas.Series({"q1": {"d1"}}), RANKED, r"is a pandas.Series. Give its dict: truth.to_dict\("),
    "a series of lists": (RELEVANT, pandas.Series({"q1": ["d1"]}), r"Give its dict: predictions.to_dict\(\)"),
})  # fmt: skip
QRELS = {"q1": {"d1": 1}}
SEVERAL = {
    "a dict of dicts": (QRELS, {"a": {"q1": {"d1": 1}}, "b": {"q1": {"d1": 1}}}),
    "a dict of ranked ids": (QRELS, {"a": RANKED, "b": RANKED}),
    "a dict of paths": (QRELS, {"a": "a.run", "b": "b.run"}), "a list of paths": (QRELS, ["a.run", "b.run"]),
    "a list of dicts": (QRELS, [{"q1": {"d1": 1}}, {"q1": {"d1": 1}}]),
    "a list of ranked ids": (QRELS, [RANKED, RANKED]),
    "a tuple of runs": (QRELS, (fn.Run(SCORES), fn.Run(SCORES))),
    "a list of files of judgments": (["a.qrels", "b.qrels"], RANKED),
    "a dict of arrays": ([[1, 0]], {"a": np.ones((1, 2)), "b": np.ones((1, 2))}),
    "a dict of items": (fn.Interactions([1], offsets=[0, 1]), {"a": np.ones((1, 1), int), "b": np.ones((1, 1), int)}),
}  # fmt: skip


@pytest.mark.parametrize("case", SEVERAL)
def test_several_inputs_at_once_name_compare(case):
    refused(re.escape("fn.compare"), fn.evaluate, *SEVERAL[case], "rr", error=fn.InvalidTypeError)


def test_a_dict_of_items_against_interactions_has_items_by_user():
    liked = fn.Interactions([1, 3], offsets=[0, 1, 2])
    assert fn.evaluate(liked, {1: [2, 3], 0: [1, 2]}, "rr")["rr"].tolist() == [1.0, 1 / 2]


def test_labels_of_some_queries_and_ids_of_others_are_one_truth():
    labelled, listed = {"q1": {"a": 2, "x": 0}}, {"q2": ["b", "c"]}
    for truth in (labelled | listed, listed | labelled, labelled | {"q2": {"b", "c"}}):
        assert fn.Qrels(truth).to_dict() == {"q1": {"a": 2, "x": 0}, "q2": {"b": 1, "c": 1}}
        for evaluate in (fn.evaluate, fn.reference.evaluate):
            values = evaluate(truth, {"q1": ["a"], "q2": ["c"]}, "recall, dcg").to_dict()
            assert values == {"q1": {"R": 1, "DCG": 2}, "q2": {"R": 1 / 2, "DCG": 1}}
    message = "different ids in the list of a query, but query 'q2' has 'b' twice"
    refused(message, fn.evaluate, labelled | {"q2": ["b", "b"]}, {"q1": ["a"]}, "recall")
    with pytest.raises(fn.InvalidInputError, match="must map all queries to dicts, or all to ids"):
        fn.evaluate(labelled, {"q1": ["a"], "q2": {"b": 1}}, "recall")
    refused(r"\['b'\] is no id", fn.evaluate, labelled | {"q2": [["b"]]}, {"q1": ["a"]}, "recall")


Rating = collections.namedtuple("Rating", "user_id item_id score")


def test_records_of_other_fields():
    truth, run = [TrecQrel(1, 5, 1, "0")], [{"user": 1, "item": 5, "score": 0.5}, {"user": 1, "item": 6, "score": 1}]
    assert fn.evaluate(truth, run, "rr").to_dict() == {1: {"RR": 1 / 2}}
    result = fn.evaluate([("q", "a"), ("q", "b")], [("q", "c", 2), ("q", "a", 1)], "rr,recall")
    assert result.to_dict() == {"q": {"RR": 1 / 2, "R": 1 / 2}}
    scored = [{"query": q, "doc": d, "label": LABELS[q].get(d, 0), "score": v} for q, d, v in RUNS["records"]]
    expected = fn.evaluate(LABELS, SCORES, "rr,p@2").to_dict()
    assert fn.evaluate(scored, metrics="rr,p@2").to_dict() == {query: expected[query] for query in SCORES}
    kind = collections.namedtuple("TrecSubtopicQrel", "query_id doc_id relevance subtopic_id")
    truth = (kind("q", document, 1, subtopic) for document, subtopic in (("a", "s"), ("a", "t"), ("b", "s")))
    assert fn.evaluate(truth, {"q": {"b": 2, "a": 1}}, "S_recall@1").to_dict() == {"q": {"S_recall@1": 1 / 2}}


def test_named_fields(put):
    run = [{"topic": "q1", "key": "d1", "bm25": 1.5}]
    names = {"document": "key", "score": "bm25", "label": "grade"}
    truth = [{"query": "q1", "key": "d1", "grade": 1}]
    judged = fn.Qrels(truth, columns=names)
    assert fn.evaluate(judged, fn.Run(run, columns=names), "rr").to_dict() == {"q1": {"RR": 1.0}}
    with pytest.raises(fn.InvalidInputError, match=r"must have one column 'bm26', but has 0: its columns are 'topic'"):
        fn.Run(run, columns=names | {"score": "bm26"})
    path = put('{"a": "q", "b": "d", "c": 0.5}\n', "run.jsonl")
    names = {"query": "a", "document": "b", "score": "c"}
    assert len(fn.Run(path, columns=names)) == 1
    assert fn.evaluate({"q": {"d": 1}}, fn.Run(path, columns=names), "rr").to_dict() == {"q": {"RR": 1.0}}


test_wrong_records_raise_an_error = refuses(lambda run: fn.evaluate({"q": {"d": 1}}, run, "rr"), {
    "a text as score": ([("q", "d", "x")], "`predictions`, row 0: score must be a number, but is 'x'. Correct it"),
    "None as score": ([("q", "d", 1), ("q", "e", None)], "row 1: score must be a number, but is None"),
    "a large score": ([("q", "d", 2**70)], "row 0: score must fit int64 or float64, but is 11805"),
    "a text in lists of scores": ([{"query": "p", "doc": ["d", "e"], "score": [2, 1]},
        {"query": "q", "doc": ["d"], "score": ["x"]}], "row 1: score must be a number, but is 'x'"),
    "NaN": ([("q", "d", float("nan"))], "`predictions`, row 0: score of document d of query q must not be NaN"),
    "mixed ids": ([("q", "d", 1), ("q", 7, 1)], "row 1: document must be a text in each record, or a whole"),
    "a fraction as id": ([{"query": "q", "doc": 0.5, "score": 1}], "row 0: doc must be a text in each record, or a"),
    "repeated ids": ([("q", "d", 1), ("q", "d", 2)], "document d of query q is in rows 0 and 1. Keep one of them"),
    "a short tuple": ([("q", "d", 1), ("q", "e")], "row 1: a record must be (query, document, score), but is ('q',"),
    "a long tuple": ([("q", "0", "d", 1)], "row 0: a record must be (query, document, score), but is ('q', '0'"),
    "mixed records": ([("q", "d", 1), {"query": "q"}], "row 1: a record must be a tuple, as the first is, but is {'q"),
    "a record without a field": ([{"query": "q", "doc": "d", "score": 1}, {"query": "q", "doc": "e", "x": 1}],
        "row 1: a record must have the field 'score', as others have, but is {'query': 'q', 'doc': 'e', 'x': 1}"),
    "no usual names": ([{"query": "q", "key": "d", "score": 1}], "must have one column of document ids or values, but"),
    "numbers of an iterator": (iter([1, 2]), "an iterator of records, but its first item is 1. Give dicts"),
    "an empty generator": ((row for row in ()), "is a generator without any. An iterator gives its records once"),
    "long values": ([("q", "d", "x" * 100_000)], "score must be a number, but is 'xxx"),
}, text="{}")  # fmt: skip


def test_an_open_file_is_no_iterator_of_records(put):
    path = put("q 0 d 1\n", "qrels")
    with path.open() as file, pytest.raises(fn.InvalidTypeError, match=r"must not be an open file\. Give its path: "):
        fn.evaluate(file, RANKED, "rr")


JSON = {
    "lines of records": '{"query": "q1", "doc": "d1", "score": 1}\n{"query": "q1", "doc": "d2", "score": 2.5}\n',
    "windows": '{"query": "q1", "doc": "d1", "score": 1}\r\n\r\n{"query": "q1", "doc": "d2", "score": 2.5}\r\n',
    "inner objects": '{"query": "q1", "doc": "d1", "score": 1, "more": {"a": [{"b": 1}]}}\n',
    "ids with colons": '{"query":"http://q:1","doc":"a\\":b","score":1}\n{"query":"x : y","doc":"\\u00e9","score":2}',
    "one list": '[{"query": "q1", "doc": "d1", "score": 1},\n {"query": "q1", "doc": "d2", "score": 2}]',
    "lists of fields": '["q1", "d1", 3]\n["q1", "d2", 2.5]\n', "ranked ids": '{"q1": ["d1", "d2"], "q2": ["d1"]}',
    "lines of ranked ids": '{"q1": ["d1", "d2"]}\n{"q2": ["d1"]}\n', "dicts": '{"q1": {"d1": 0.5, "http://d": 1}}',
    "whole numbers as ids": '{"query": 7, "doc": 18446744073709551615, "score": 1}',
    "NaN": '{"query": "q1", "doc": "d1", "score": NaN}',
    "lone surrogates": '{"query": "q1", "doc": "\\ud800", "score": 1}',
    "a byte-order mark": '\ufeff{"query": "q1", "doc": "d1", "score": 1}',
    "whole numbers beyond 2**53": '{"q1": {"d1": 9007199254740993, "d2": 9007199254740992}}',
}  # fmt: skip
BAD_JSON = {
    "a missing field": ('{"query": "q", "doc": "d", "score": 1}\n{"query": "q", "doc": "e"}', "line 2: a record must"),
    "repeated ids": ('{"query":"q","doc":"d","score":1}\n\n{"query":"q","doc":"d","score":2}', "in lines 1 and 3"),
    "repeated records": ('[["q", "d", 1], ["q", "d", 2]]', "is in records 0 and 1. Keep one of them"),
    "a text as score": ('\n{"query": "q", "doc": "d", "score": "x"}', "line 2: score must be a number, but is 'x'."),
    "a number as line": ('{"query": "q", "doc": "d", "score": 1}\n5', "line 2: a record must be a dict, as the first"),
    "a repeated key": ('{"query":"q","doc":"d","doc":"e","score":1}', "line 1: an object must have each key once, but"),
    "a repeated key that blanks hide": ('{"query":"q","doc":"a:b","doc" :"e","score":1}',
        "line 1: an object must have each key once, but 'doc' stands"),
    "a repeated inner key": ('{"q": {"a": 1, "a": 2}}', "an object must have each key once, but 'a' stands twice"),
    "a cut line": ('{"query": "q", "doc": "d", "score": 1}\n{"query":', "line 2: must be JSON, but is not: "),
    "two values in a line": ('{"query":"q","doc":"d","score":1} {"query":"q"}', "line 1: must be JSON, but is not: "),
    "a value on two lines": ('{"query":"q","doc":"d","score":1}\n{"query":\n"q"}', "line 2: must be JSON, but is not"),
    "a score beyond 64 bits": ('{"query":"q","doc":"d","score":18446744073709551616}', "score must fit int64 or"),
    "a score beyond 64 bits, dicts": ('{"q": {"d": 18446744073709551616}}', "that fit int64 or float64, but score of"),
    "an id beyond 64 bits": ('{"query":"q","doc":18446744073709551616,"score":1}', "must fit int64 or uint64"),
    "a digit too many": (f'{{"query":"q","doc":"d","score":{"1" * 5000}}}', "has more than 4300 digits. Write fewer"),
    "unknown fields": ('{"query": "q", "key": "d", "score": 1}', "must have one column of document ids or values"),
    "one number per query": ('{"q1": 5}', "must have one column of query ids or values, but has none"),
    "a list of numbers": ("[1, 2]", "line 1: must be an object {query: {document: value}}, but is [1, 2]"),
    "an empty list": ("[]", "line 1: must be an object {query: {document: value}}, but is []"),
    "mixed forms": ('{"q": {"d": 1}}\n{"query": "q", "doc": "d", "score": 1}',
        "must map queries to dicts, but is a dict of"),
}  # fmt: skip


def read(path):
    run = fn.Run(path)
    return run.queries.names().tolist(), run.documents.names().tolist(), list(map(repr, run.values.tolist()))


def test_json_keeps_ids_and_digits(put):
    for case, text in JSON.items():
        runs = []
        for pack in (bytes, gzip.compress):
            path = put(pack(text.encode()), "run.ndjson")
            runs.append(read(path))
        assert runs[0] == runs[1], case
        assert len(runs[0][1]) == len(runs[0][2]) > 0


def test_wrong_json_names_the_line(tmp_path):
    path = tmp_path / "run.jsonl"
    for text, message in BAD_JSON.values():
        path.write_text(text)
        with pytest.raises(fn.InvalidInputError, match=re.escape(message)) as error:
            read(path)
        assert str(path) in str(error.value)


def test_named_tuples_of_numbers_are_records_and_plain_ones_are_unclear():
    run = [Rating(0, 1, 0.5), Rating(1, 1, 0.4)]
    result = fn.evaluate({0: {0, 1}, 1: {2}}, run, "rr")
    assert result.to_dict() == {0: {"RR": 1.0}, 1: {"RR": 0.0}}
    with pytest.raises(fn.InvalidInputError, match=r"such as \(0, 1, 0.5\), could be either. Give np.array\(rows\)"):
        fn.evaluate({0: {0, 1}, 1: {2}}, [(0, 1, 0.5), (1, 1, 0.4)], "rr")

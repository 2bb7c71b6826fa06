"""Ids, records and objects of retrieval libraries give the values of dicts of dicts. Unclear forms raise errors."""

import collections
import gzip
import re
import uuid
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
import pandas
import pytest
from refusals import refused

import fastndcg as fn
from fastndcg.inputs import dicts

METRICS = "ndcg@10,map,rr,p@2,recall"
RELEVANT = {"q1": ["d1", "é"], "q2": ["d1"], "q3": ["d7"]}
RANKED = {"q1": ["d1", "d2", "é"], "q2": ["d9", "d1"]}
LABELS = {query: dict.fromkeys(ids, 1) for query, ids in RELEVANT.items()}
SCORES = {query: {document: -rank for rank, document in enumerate(ids)} for query, ids in RANKED.items()}
EXPECTED = fn.evaluate(LABELS, SCORES, METRICS).to_dict()
TRUTHS = {
    "lists": RELEVANT, "tuples": {query: tuple(ids) for query, ids in RELEVANT.items()},
    "sets": {query: set(ids) for query, ids in RELEVANT.items()},
    "frozen sets": {query: frozenset(ids) for query, ids in RELEVANT.items()},
    "keys of dicts": {query: labels.keys() for query, labels in LABELS.items()},
    "arrays": {query: np.array(ids) for query, ids in RELEVANT.items()},
    "lists and sets": {"q1": {"d1", "é"}, "q2": ["d1"], "q3": ("d7",)}, "an ordered dict": OrderedDict(RELEVANT),
    "dicts": LABELS,
}  # fmt: skip
RUNS = {
    "lists": RANKED, "tuples": {query: tuple(ids) for query, ids in RANKED.items()},
    "arrays": {query: np.array(ids, object) for query, ids in RANKED.items()}, "scores": SCORES,
}  # fmt: skip


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("truth", TRUTHS)
def test_ids_give_the_values_of_dicts(truth, run):
    """Relevant ids have the label 1, and the order of ranked ids is the ranking."""
    assert fn.evaluate(TRUTHS[truth], RUNS[run], METRICS).to_dict() == EXPECTED
    assert fn.Evaluator(TRUTHS[truth], METRICS).evaluate(RUNS[run]).to_dict() == EXPECTED


def test_ids_in_other_functions():
    rows = fn.compare(RELEVANT, {"a": RANKED, "b": {"q1": ["x"], "q2": ["d1"], "q3": ["d7"]}}, "rr").rows
    assert [row.mean for row in rows] == [pytest.approx(1.5 / 3), pytest.approx(2 / 3)]
    explained = fn.explain(RELEVANT, RANKED, "rr", query="q2")
    assert explained.value == 1 / 2
    assert [row.document for row in explained.ranking] == ["d9", "d1"]
    assert fn.agreement(RANKED, RANKED, "tau_b").mean() == {"tau_b": 1.0}
    assert fn.Run(RANKED).values.tolist() == [-1, -2, -3, -1, -2]
    assert fn.Qrels(RELEVANT).values.tolist() == [1, 1, 1, 1]
    odd = ["\ud800", "a\0", "", *("x" * size for size in (31, 32, 33, 1000))]
    assert fn.Run({"q": odd}).documents.names().tolist() == odd


def test_ids_without_kernels(monkeypatch):
    monkeypatch.setattr(dicts, "CAN_READ_OBJECTS", False)
    assert fn.evaluate(RELEVANT, RANKED, METRICS).to_dict() == EXPECTED


def test_columns_of_ids():
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    for convert in (pandas.Series, pandas.Index, polars.Series, pyarrow.array, lambda x: pyarrow.chunked_array([x])):
        relevant = {query: convert(list(ids)) for query, ids in RELEVANT.items()}
        ranked = {query: convert(list(ids)) for query, ids in RANKED.items()}
        assert fn.evaluate(relevant, ranked, METRICS).to_dict() == EXPECTED


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
BAD = {
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
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_unclear_ids_raise_an_error(case):
    truth, run, message = BAD[case]
    with pytest.raises(fn.InvalidInputError, match=message) as error:
        fn.evaluate(truth, run, "rr")
    assert len(str(error.value)) < 800


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
    with pytest.raises(
        fn.InvalidInputError, match="different ids in the list of a query, but query 'q2' has 'b' twice"
    ):
        fn.evaluate(labelled | {"q2": ["b", "b"]}, {"q1": ["a"]}, "recall")
    with pytest.raises(fn.InvalidInputError, match="must map all queries to dicts, or all to ids"):
        fn.evaluate(labelled, {"q1": ["a"], "q2": {"b": 1}}, "recall")
    refused(r"\['b'\] is no id", fn.evaluate, labelled | {"q2": [["b"]]}, {"q1": ["a"]}, "recall")


MEANS = "ndcg,map,rr,p@2"
JUDGED = {"q1": {"d1": 1, "é": 2}, "q2": {"d1": 1}}
RUN = {"q1": {"d1": 3.5, "d2": 2, "é": 1}, "q2": {"d9": 2.5, "d1": 1.0}}
VALUES = fn.evaluate(JUDGED, RUN, MEANS).to_dict()
TrecQrel = collections.namedtuple("TrecQrel", "query_id doc_id relevance iteration")
ScoredDoc = collections.namedtuple("ScoredDoc", "query_id doc_id score")


Rating = collections.namedtuple("Rating", "user_id item_id score")


def rows(table):
    return [(query, document, value) for query, row in table.items() for document, value in row.items()]


FORMS = {
    "tuples": lambda: (rows(JUDGED), rows(RUN)),
    "lists": lambda: (list(map(list, rows(JUDGED))), tuple(map(list, rows(RUN)))),
    "named tuples": lambda: ([TrecQrel(*row, "0") for row in rows(JUDGED)], [ScoredDoc(*row) for row in rows(RUN)]),
    "generators": lambda: ((TrecQrel(*row, "0") for row in rows(JUDGED)), (ScoredDoc(*row) for row in rows(RUN))),
    "dicts": lambda: ([{"qid": q, "docno": d, "label": v, "note": [1]} for q, d, v in rows(JUDGED)],
        [{"score": v, "query": q, "document": d} for q, d, v in rows(RUN)]),
    "other mappings": lambda: ([collections.ChainMap({"qid": q, "docno": d, "label": v}) for q, d, v in rows(JUDGED)],
        iter([collections.OrderedDict(score=v, query=q, document=d) for q, d, v in rows(RUN)])),
    "records and dicts": lambda: (rows(JUDGED), RUN),
    "dicts and records": lambda: (JUDGED, rows(RUN)),
}  # fmt: skip


@pytest.mark.parametrize("has_kernels", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_records_give_the_values_of_dicts(form, has_kernels, monkeypatch):
    monkeypatch.setattr(dicts, "CAN_READ_OBJECTS", has_kernels)
    assert fn.evaluate(*FORMS[form](), MEANS).to_dict() == VALUES
    truth, run = FORMS[form]()
    assert fn.Evaluator(truth, MEANS).evaluate(run).to_dict() == VALUES


def test_records_in_other_functions():
    pairs = fn.compare(
        iter(rows(JUDGED)), {"a": iter(rows(RUN)), "b": rows({"q1": {"é": 1}, "q2": {"x": 1}})}, "rr"
    ).rows
    assert [row.mean for row in pairs] == [(1 + 1 / 2) / 2, 1 / 2]
    explained = fn.explain(iter(rows(JUDGED)), iter(rows(RUN)), "rr", query="q2", against="trec_eval")
    assert (explained.value, explained.against.value) == (1 / 2, 1 / 2)
    assert fn.agreement(rows(RUN), rows(RUN), "tau_b").mean() == {"tau_b": 1.0}


def test_records_of_other_fields():
    truth, run = [TrecQrel(1, 5, 1, "0")], [{"user": 1, "item": 5, "score": 0.5}, {"user": 1, "item": 6, "score": 1}]
    assert fn.evaluate(truth, run, "rr").to_dict() == {1: {"RR": 1 / 2}}
    assert fn.evaluate([("q", "a"), ("q", "b")], [("q", "c", 2), ("q", "a", 1)], "rr,recall").to_dict() == {
        "q": {"RR": 1 / 2, "R": 1 / 2}
    }
    scored = [{"query": q, "doc": d, "label": JUDGED[q].get(d, 0), "score": v} for q, d, v in rows(RUN)]
    assert fn.evaluate(scored, metrics="rr,p@2").to_dict() == fn.evaluate(JUDGED, RUN, "rr,p@2").to_dict()
    kind = collections.namedtuple("TrecSubtopicQrel", "query_id doc_id relevance subtopic_id")
    truth = (kind("q", document, 1, subtopic) for document, subtopic in (("a", "s"), ("a", "t"), ("b", "s")))
    assert fn.evaluate(truth, {"q": {"b": 2, "a": 1}}, "S_recall@1").to_dict() == {"q": {"S_recall@1": 1 / 2}}


def test_named_fields(tmp_path):
    run = [{"topic": "q1", "key": "d1", "bm25": 1.5}]
    names = {"document": "key", "score": "bm25", "label": "grade"}
    truth = [{"query": "q1", "key": "d1", "grade": 1}]
    judged = fn.Qrels(truth, columns=names)
    assert fn.evaluate(judged, fn.Run(run, columns=names), "rr").to_dict() == {"q1": {"RR": 1.0}}
    with pytest.raises(fn.InvalidInputError, match=r"must have one column 'bm26', but has 0: its columns are 'topic'"):
        fn.Run(run, columns=names | {"score": "bm26"})
    path = tmp_path / "run.jsonl"
    path.write_text('{"a": "q", "b": "d", "c": 0.5}\n')
    names = {"query": "a", "document": "b", "score": "c"}
    assert len(fn.Run(path, columns=names)) == 1
    assert fn.evaluate({"q": {"d": 1}}, fn.Run(path, columns=names), "rr").to_dict() == {"q": {"RR": 1.0}}


BAD_RECORDS = {
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
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_RECORDS)
def test_wrong_records_raise_an_error(case):
    run, message = BAD_RECORDS[case]
    with pytest.raises(fn.InvalidInputError, match=re.escape(message)) as error:
        fn.evaluate({"q": {"d": 1}}, run, "rr")
    assert len(str(error.value)) < 900


def test_an_open_file_is_no_iterator_of_records(tmp_path):
    path = tmp_path / "qrels"
    path.write_text("q 0 d 1\n")
    with path.open() as file, pytest.raises(fn.InvalidTypeError, match=r"must not be an open file\. Give its path: "):
        fn.evaluate(file, RUN, "rr")


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


def test_json_keeps_ids_and_digits(tmp_path):
    for case, text in JSON.items():
        runs = []
        for pack in (bytes, gzip.compress):
            path = tmp_path / "run.ndjson"
            path.write_bytes(pack(text.encode()))
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


@dataclass
class LangChainDocument:
    """What `langchain_core.documents.Document` has."""

    page_content: str
    id: str | None = None


@dataclass
class TextNode:
    """What LlamaIndex's nodes have."""

    id_: str

    @property
    def node_id(self):
        return self.id_


@dataclass
class NodeWithScore:
    """What LlamaIndex's retrievers return."""

    node: TextNode
    score: float | None = None


@dataclass
class HaystackDocument:
    """What `haystack.Document` has."""

    id: str
    score: float | None = None


TRUTH = {"q1": {"d1", "d2"}, "q2": ["d3"]}
RETRIEVED = {"q1": ["d9", "d1"], "q2": ["d3"], "q3": []}
OBJECTS = {
    "LangChain": lambda name: LangChainDocument("…", name),
    "LangChain with distances": lambda name: (LangChainDocument("…", name), int(name[1:]) / 9),
    "LlamaIndex": lambda name: NodeWithScore(TextNode(name), 1 / int(name[1:])),
    "LlamaIndex's nodes": lambda name: TextNode(name),
    "Haystack": lambda name: HaystackDocument(name, 0.5),
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


@dataclass
class Hit:
    """What points of Qdrant and hits of Milvus have."""

    id: str
    score: float | None = None


@dataclass
class Answer:
    """What clients return: points of Qdrant, objects of Weaviate."""

    points: list | None = None
    objects: list | None = None


@dataclass
class WeaviateObject:
    uuid: uuid.UUID


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


@pytest.mark.parametrize("client", CLIENTS)
def test_results_of_search_clients(client):
    """The list of each query is the best first, whether numbers are distances or similarities."""
    hit, answer, note = CLIENTS[client]
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


def test_ratings_in_lists_of_dicts():
    ratings = {"q1": [{"_index": "i", "_id": "a", "rating": 2}, {"_index": "i", "_id": "b", "rating": 0}], "q2": []}
    assert fn.Qrels(ratings).to_dict() == {"q1": {"a": 2, "b": 0}, "q2": {}}
    assert fn.evaluate(ratings, {"q1": ["b", "a"]}, "rr").to_dict() == {"q1": {"RR": 0.5}, "q2": {"RR": 0.0}}
    assert fn.Qrels({"q1": [{"id": "a", "text": "…"}]}).to_dict() == {"q1": {"a": 1}}


def test_ratings_of_opensearch_and_elasticsearch():
    judgments = [{"query": "q", "ratings": [{"docId": "a", "rating": 2}, {"docId": "b", "rating": 0}]},
        {"query": "r", "ratings": [{"docId": "c", "rating": 1}]}]  # fmt: skip
    requests = [{"id": row["query"], "request": {"query": {}}, "ratings": [
        {"_index": "i", "_id": rating["docId"], "rating": rating["rating"]} for rating in row["ratings"]
    ]} for row in judgments]  # fmt: skip
    for truth in (judgments, requests):
        assert fn.Qrels(truth).to_dict() == {"q": {"a": 2, "b": 0}, "r": {"c": 1}}
        assert fn.evaluate(truth, {"q": ["b", "a"], "r": ["c"]}, "rr").means() == [0.75]
    columns = [{"user": 1, "item": 2, "ratings": 3}], [{"user": 1, "item": [2], "ratings": [3]}]
    for table in columns:
        assert fn.Qrels(table, columns={"label": "ratings"}).to_dict() == {1: {2: 3}}
    for wrong in ({"query": "q", "ratings": []}, {"ratings": []}, {"query": "s"}, {"query": "s", "ratings": 3}):
        refused("`truth`, row 2: each query must stand in one record, as 'query'", fn.Qrels, [*judgments, wrong])


NEAR = {"id": "d1", "distance": 0.1}
FAR = {"id": "d2", "distance": 0.3}


@pytest.mark.parametrize(("hits", "message"), [
    ({"q1": [NEAR, FAR], "q2": [FAR, NEAR]}, "or fall in all, but does not in query 'q2'. Sort its hits"),
    ({"q1": [NEAR], "q2": [NEAR, {"id": "d3", "distance": 1.0}, FAR]}, "does not in query 'q2'. Sort its hits"),
    ({"q1": [NEAR], "q2": 3}, "each query to a list of dicts, as the first is, but 'q2' maps to 3. Use one form"),
    ({"q1": [NEAR, "d2"]}, "as the first is, but 'q1' maps to .*d2.*. Use one form"),
    ({"q1": [NEAR, {"id": "d2"}]}, "hit 1: a record must have the field 'distance', as others have"),
    ({"q1": [NEAR | {"distance": "x"}]}, "hit 0: distance must be a number, but is 'x'"),
    ({"q1": [{"key": "d1"}]}, r"but has none of its usual names: its columns are 'key'.*\{'document': NAME\}"),
    ({"q1": [NEAR, NEAR]}, "document d1 of query q1 is in places 0 and 1 of its list"),
])  # fmt: skip
def test_hits_that_cannot_be_read(hits, message):
    refused(message, fn.Run, hits, error=fn.FastndcgError)


def test_documents_without_ids_are_refused():
    run = {"q1": [LangChainDocument("a", "d1"), LangChainDocument("b")]}
    refused(r"document 1 of query 'q1', a LangChainDocument, has none. Give ids", fn.evaluate, TRUTH, run, "rr")
    refused(
        r"the qrels: each document must have an id, .* document 1 of query 'q1'", fn.evaluate, run, {"q1": ["d1"]}, "rr"
    )
    with pytest.raises(fn.InvalidInputError, match="must map each query to a list of documents, but 'q2' maps to 3"):
        fn.evaluate(TRUTH, {"q1": [TextNode("d1")], "q2": 3}, "rr")
    with pytest.raises(fn.InvalidInputError, match="document d1 of query q1 is in places 0 and 1 of its list"):
        fn.evaluate(TRUTH, {"q1": [TextNode("d1"), TextNode("d1")]}, "rr")


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

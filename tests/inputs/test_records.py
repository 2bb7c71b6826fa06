"""Lists and iterators of records, in Python and in JSON files."""

import collections
import gzip
import re

import pytest

import fastndcg as fn
from fastndcg.inputs import dicts

METRICS = "ndcg,map,rr,p@2"
QRELS = {"q1": {"d1": 1, "é": 2}, "q2": {"d1": 1}}
RUN = {"q1": {"d1": 3.5, "d2": 2, "é": 1}, "q2": {"d9": 2.5, "d1": 1.0}}
EXPECTED = fn.evaluate(QRELS, RUN, METRICS).to_dict()
TrecQrel = collections.namedtuple("TrecQrel", "query_id doc_id relevance iteration")
ScoredDoc = collections.namedtuple("ScoredDoc", "query_id doc_id score")


Rating = collections.namedtuple("Rating", "user_id item_id score")


def rows(table):
    return [(query, document, value) for query, row in table.items() for document, value in row.items()]


FORMS = {
    "tuples": lambda: (rows(QRELS), rows(RUN)),
    "lists": lambda: (list(map(list, rows(QRELS))), tuple(map(list, rows(RUN)))),
    "named tuples": lambda: ([TrecQrel(*row, "0") for row in rows(QRELS)], [ScoredDoc(*row) for row in rows(RUN)]),
    "generators": lambda: ((TrecQrel(*row, "0") for row in rows(QRELS)), (ScoredDoc(*row) for row in rows(RUN))),
    "dicts": lambda: ([{"qid": q, "docno": d, "label": v, "note": [1]} for q, d, v in rows(QRELS)],
        [{"score": v, "query": q, "document": d} for q, d, v in rows(RUN)]),
    "other mappings": lambda: ([collections.ChainMap({"qid": q, "docno": d, "label": v}) for q, d, v in rows(QRELS)],
        iter([collections.OrderedDict(score=v, query=q, document=d) for q, d, v in rows(RUN)])),
    "records and dicts": lambda: (rows(QRELS), RUN),
    "dicts and records": lambda: (QRELS, rows(RUN)),
}  # fmt: skip


@pytest.mark.parametrize("has_kernels", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_records_give_the_values_of_dicts(form, has_kernels, monkeypatch):
    monkeypatch.setattr(dicts, "CAN_READ_OBJECTS", has_kernels)
    assert fn.evaluate(*FORMS[form](), METRICS).to_dict() == EXPECTED
    truth, run = FORMS[form]()
    assert fn.Evaluator(truth, METRICS).evaluate(run).to_dict() == EXPECTED


def test_records_in_other_functions():
    pairs = fn.compare(
        iter(rows(QRELS)), {"a": iter(rows(RUN)), "b": rows({"q1": {"é": 1}, "q2": {"x": 1}})}, "rr"
    ).rows
    assert [row.mean for row in pairs] == [(1 + 1 / 2) / 2, 1 / 2]
    explained = fn.explain(iter(rows(QRELS)), iter(rows(RUN)), "rr", query="q2", against="trec_eval")
    assert (explained.value, explained.against.value) == (1 / 2, 1 / 2)
    assert fn.agreement(rows(RUN), rows(RUN), "tau_b").mean() == {"tau_b": 1.0}


def test_records_of_other_fields():
    truth, run = [TrecQrel(1, 5, 1, "0")], [{"user": 1, "item": 5, "score": 0.5}, {"user": 1, "item": 6, "score": 1}]
    assert fn.evaluate(truth, run, "rr").to_dict() == {1: {"RR": 1 / 2}}
    assert fn.evaluate([("q", "a"), ("q", "b")], [("q", "c", 2), ("q", "a", 1)], "rr,recall").to_dict() == {
        "q": {"RR": 1 / 2, "R": 1 / 2}
    }
    scored = [{"query": q, "doc": d, "label": QRELS[q].get(d, 0), "score": v} for q, d, v in rows(RUN)]
    assert fn.evaluate(scored, metrics="rr,p@2").to_dict() == fn.evaluate(QRELS, RUN, "rr,p@2").to_dict()
    kind = collections.namedtuple("TrecSubtopicQrel", "query_id doc_id relevance subtopic_id")
    truth = (kind("q", document, 1, subtopic) for document, subtopic in (("a", "s"), ("a", "t"), ("b", "s")))
    assert fn.evaluate(truth, {"q": {"b": 2, "a": 1}}, "S_recall@1").to_dict() == {"q": {"S_recall@1": 1 / 2}}


def test_named_fields(tmp_path):
    run = [{"topic": "q1", "key": "d1", "bm25": 1.5}]
    names = {"document": "key", "score": "bm25", "label": "grade"}
    truth = [{"query": "q1", "key": "d1", "grade": 1}]
    assert fn.evaluate(truth, run, "rr", columns=names).to_dict() == {"q1": {"RR": 1.0}}
    with pytest.raises(fn.InvalidInputError, match=r"must have one column 'bm26', but has 0: its columns are 'topic'"):
        fn.evaluate(truth, run, "rr", columns=names | {"score": "bm26"})
    path = tmp_path / "run.jsonl"
    path.write_text('{"a": "q", "b": "d", "c": 0.5}\n')
    names = {"query": "a", "document": "b", "score": "c"}
    assert len(fn.read_run(path, columns=names)) == 1
    assert fn.evaluate({"q": {"d": 1}}, path, "rr", columns=names).to_dict() == {"q": {"RR": 1.0}}


BAD = {
    "a text as score": ([("q", "d", "x")], "`predictions`, row 0: score must be a number, but is 'x'. Correct it"),
    "None as score": ([("q", "d", 1), ("q", "e", None)], "row 1: score must be a number, but is None"),
    "a large score": ([("q", "d", 2**70)], "row 0: score must fit int64 or float64, but is 11805"),
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


@pytest.mark.parametrize("case", BAD)
def test_wrong_records_raise_an_error(case):
    run, message = BAD[case]
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
    run = fn.read_run(path)
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

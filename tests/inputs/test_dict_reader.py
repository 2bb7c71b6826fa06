"""Dicts of dicts as drop-ins read them: the reader gives the entries of a plain loop, for every type."""

import gc
import sys
from collections import OrderedDict, defaultdict
from itertools import pairwise

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

import fastndcg as fn
from fastndcg.compat import common
from fastndcg.inputs import dicts


class Text(str):
    __slots__ = ()


class Whole(int):
    """A subclass of int."""


IDS = ["d1", "d10", "é", "𝒹", ""]
KEYS = st.sampled_from([*IDS, *map(Text, IDS), *map(np.str_, IDS)])
NUMBERS = {
    "bytes": st.integers(0, 255),
    "whole": st.integers(-3, 300) | st.sampled_from([2**53, -(2**53), True, Whole(2)]),
    "any": st.sampled_from([0.0, 1.5, np.float64(2.5), np.float32(0.5), np.int64(3), 7, False]),
}
SCORES = st.floats(-5, 5) | st.sampled_from([3, -(2**63), True, np.float64(0.5), Whole(1), -np.inf])
KINDS = st.sampled_from([dict, OrderedDict, lambda row: defaultdict(float, row)])


@st.composite
def tables(draw, values):
    rows = draw(st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), st.dictionaries(KEYS, values), max_size=3))
    return {query: draw(KINDS)(row) for query, row in rows.items()}


def judge(qrels, run):
    return common.judge(common.read_table(fn.Qrels, qrels), common.read_table(fn.Run, run), run)


@given(data=st.data())
@strategies.examples(300)
def test_drop_ins_join_dicts(data):
    qrels = data.draw(tables(NUMBERS[data.draw(st.sampled_from(list(NUMBERS)))]))
    run = data.draw(tables(SCORES))
    judged = judge(qrels, run)
    queries = [query for query in run if qrels.get(query)]
    rankings = judged.rankings
    items = [(query, document, score) for query in queries for document, score in run[query].items()]
    labels = [qrels[query].get(document) for query, document, _ in items]
    assert judged.queries == queries
    assert np.diff(rankings.offsets).tolist() == [len(run[query]) for query in queries]
    assert rankings.scores.tolist() == [float(score) for *_, score in items]
    assert rankings.labels.tolist() == [0 if label is None else float(label) for label in labels]
    if queries:
        assert rankings.query_ids.tolist() == queries
        assert rankings.judged.tolist() == [label is not None for label in labels]
        assert rankings.pool[0].tolist() == [label for query in queries for label in qrels[query].values()]
        assert np.diff(rankings.pool[1]).tolist() == [len(qrels[query]) for query in queries]
    assert [rankings.document_name("scores", place) for place in range(len(items))] == [one for _, one, _ in items]
    keys = judged.with_tie_keys().tie_keys
    for query, (start, stop) in zip(queries, pairwise(rankings.offsets.tolist()), strict=True):
        if keys[start:stop].any():
            assert keys[start:stop].tolist() == [sorted(run[query]).index(document) for document in run[query]]


def test_dict_reader_follows_order_of_dict_subclass():
    row = OrderedDict(a=1.0, b=2.0)
    row.move_to_end("a")
    rankings = judge({"q": OrderedDict(a=3, b=0)}, {"q": row}).rankings
    assert (rankings.scores.tolist(), rankings.labels.tolist()) == ([2.0, 1.0], [0, 3])


def left_to_python(patch):
    patch.setattr(dicts, "CAN_READ_OBJECTS", False)


def test_other_interpreters_read_dicts_without_kernels(monkeypatch):
    run = {"q": {"b": 0.5, "a": 1, "x": -2.0}}
    left_to_python(monkeypatch)
    monkeypatch.setitem(sys.modules, "fastndcg.kernels.inputs.dicts", None)
    assert fn.Run.from_dict(run).values.tolist() == [0.5, 1.0, -2.0]


def test_dict_reader_keeps_no_references():
    value, key = 123.456, "a text of this test alone"
    run = {"q": {key: value}}
    before = sys.getrefcount(key), sys.getrefcount(value), sys.getrefcount(run["q"])
    for _ in range(100):
        fn.Run.from_dict(run)
    gc.collect()
    assert (sys.getrefcount(key), sys.getrefcount(value), sys.getrefcount(run["q"])) == before


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        ({"q": {1: 1}}, {}, "ids of documents in `qrels` must be texts, but one is 1"),
        ({"q": {"a": "1"}}, {}, "`qrels` must give numbers, but label of document 'a' of query 'q' is '1'"),
        ({"q": {"a": 1}}, {"q": {2: 1.0}}, "ids of documents in `run` must be texts, but one is 2"),
        ({"q": {"a": 1}}, {"q": ["a"]}, r"`run` must map queries to dicts, but 'q' maps to \['a'\]"),
        ({2: {"a": 1}}, {}, "ids of queries in `qrels` must be texts, but one is 2"),
        ([], {}, "`qrels` must be a dict that maps queries to dicts, but is a list"),
    ],
)  # fmt: skip
def test_drop_ins_raise_on_wrong_types(qrels, run, message):
    with pytest.raises(fn.InvalidTypeError, match=message):
        judge(qrels, run)


ODD_IDS = ["", "d1", "d10", "é", "𝒹", "a\0b", *("x" * size for size in (31, 32, 33, 1000)), "\ud800", "a\udfff"]


@given(data=st.data())
@strategies.examples(300)
def test_tables_of_dicts_hold_what_python_reads(data):
    kind = data.draw(st.sampled_from([fn.Qrels, fn.Run]))
    ids = st.sampled_from(data.draw(st.sampled_from([IDS, ODD_IDS, [*ODD_IDS, Text("e")]])))
    values = data.draw(st.sampled_from(list(NUMBERS.values())))
    rows = data.draw(st.dictionaries(ids, KINDS.flatmap(lambda made: st.dictionaries(ids, values).map(made))))
    table = kind.from_dict(rows)
    with pytest.MonkeyPatch.context() as patch:
        left_to_python(patch)
        plain = kind.from_dict(rows)
    items = [(query, document, value) for query, row in rows.items() for document, value in row.items()]
    assert table.queries.names().tolist() == [query for query, row in rows.items() if row]
    assert table.documents.names().tolist() == [document for _, document, _ in items]
    assert table.values.tolist() == plain.values.tolist() == [value for *_, value in items]
    assert table.offsets.tolist() == plain.offsets.tolist()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"q": np.arange(3)},
            "are texts in the qrels, such as 'a', but whole numbers in the run, such as 0. Use one type"),
        ({"q": {"a": 1}, "r": []}, r"`run` must map queries to dicts, but 'r' maps to \[\]"),
        ({"q": {"a": 1.0, "b": "x"}}, "`run` must give numbers, but score of document 'b' of query 'q' is 'x'"),
        ({"q": {"a": 1.0, "b": 1j}}, "`run` must give numbers, but score of document 'b' of query 'q' is 1j"),
        ({"q": {"a": 1.0, "b": 2**70}}, "that fit int64 or float64, but .* 'b' of query 'q' is 118.*. Use float"),
        ({"q": {"a": 1, "b": -(2**63) - 1}}, "that fit int64 or float64, but .* 'b' of query 'q' is -922"),
        ({"q": {"a": 0.5, "b": 10**400}},
            "that fit int64 or float64, but .* 'b' of query 'q' is a whole number of 1329 bits. Use float"),
        ({"q": {"a": 1.0, 5: 2.0}}, "ids of documents in the run must be all texts or .*, but one is 5. Use one type"),
        ({"q": {"a": 1.0}, 5: {"a": 1.0}}, "ids of queries in the run must be all texts or .*, but one is 5"),
        ({"q": {"a": 1.0, "b": np.nan}}, "the run: score of document b of query q must not be NaN"),
    ],
)  # fmt: skip
def test_dict_reader_names_query_and_document(rows, message):
    with pytest.raises(fn.InvalidInputError, match=message):
        fn.evaluate({"q": {"a": 1, "b": 1}}, rows, "rr")


def test_dict_reader_large_integer_scores():
    run = fn.Run.from_dict({"q": {"a": 2**53 + 1, "b": 2**53, "c": 1}})
    assert np.argsort(run.values).tolist() == [2, 1, 0]
    assert len(set(run.values.tolist())) == 3

"""Dicts of dicts as drop-ins read them: the reader gives the entries of a plain loop, for every type."""

import gc
import sys
from collections import OrderedDict, defaultdict
from itertools import groupby
from typing import NamedTuple
from unittest.mock import Mock

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

import fastndcg as fn
from fastndcg.compat import dict_qrels
from fastndcg.compat.dict_qrels import DictQrels
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
SCORES = st.floats(-5, 5) | st.sampled_from([3, -(2**63), 2**63, 2**1023, True, np.float64(0.5), Whole(1), -np.inf])
KINDS = st.sampled_from([dict, OrderedDict, lambda row: defaultdict(float, row)])


@st.composite
def tables(draw, values):
    rows = draw(st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), st.dictionaries(KEYS, values), max_size=3))
    return {query: draw(KINDS)(row) for query, row in rows.items()}


@given(data=st.data(), is_own=st.booleans(), marks_unjudged=st.booleans())
@strategies.examples(300)
def test_dict_reader_reads_all_entries(data, is_own, marks_unjudged):
    qrels = data.draw(tables(NUMBERS[data.draw(st.sampled_from(list(NUMBERS)))]))
    run = data.draw(tables(SCORES))
    judged = DictQrels(qrels, is_own=is_own).judged(run, marks_unjudged=marks_unjudged)
    queries = [query for query in run if qrels.get(query)]
    rankings = judged.rankings
    items = [(query, document, score) for query in queries for document, score in run[query].items()]
    labels = [qrels[query].get(document) for query, document, _ in items]
    assert judged.queries == rankings.query_ids.tolist() == queries
    assert np.diff(rankings.offsets).tolist() == [len(run[query]) for query in queries]
    assert rankings.scores.tolist() == [float(score) for *_, score in items]
    assert rankings.labels.tolist() == [0 if label is None else float(label) for label in labels]
    given_judged = [True] * len(items) if rankings.judged is None else rankings.judged.tolist()
    assert given_judged == [label is not None or not marks_unjudged for label in labels]
    if rankings.pool is None:
        assert all(qrels[query].keys() == run[query].keys() for query in queries)
    else:
        assert rankings.pool[0].tolist() == [label for query in queries for label in qrels[query].values()]
        assert np.diff(rankings.pool[1]).tolist() == [len(qrels[query]) for query in queries]
    assert [rankings.document_name("scores", place) for place in range(len(items))] == [one for _, one, _ in items]


def test_dict_reader_follows_order_of_dict_subclass():
    row = OrderedDict(a=1.0, b=2.0)
    row.move_to_end("a")
    rankings = DictQrels({"q": OrderedDict(a=3, b=0)}).judged({"q": row}).rankings
    assert (rankings.scores.tolist(), rankings.labels.tolist()) == ([2.0, 1.0], [0, 3])


def left_to_python(patch):
    patch.setattr(dicts, "CAN_READ_OBJECTS", False)


def test_other_interpreters_read_dicts_without_kernels(monkeypatch):
    qrels, run = {"q": {"a": 2, "b": 0, "c": 300}}, {"q": {"b": 0.5, "a": 1, "x": -2.0}}
    expected = DictQrels(qrels).judged(run).rankings
    left_to_python(monkeypatch)
    monkeypatch.setattr(dict_qrels, "read_plain_row", (read := Mock(wraps=dict_qrels.read_plain_row)))
    monkeypatch.setitem(sys.modules, "fastndcg.kernels.inputs.dicts", None)
    found = DictQrels(qrels).judged(run).rankings
    assert read.call_count == 1
    assert found.scores.tolist() == expected.scores.tolist() == [0.5, 1.0, -2.0]
    assert found.labels.tolist() == expected.labels.tolist() == [0, 2, 0]
    assert found.judged.tolist() == expected.judged.tolist() == [True, True, False]
    assert found.pool[0].tolist() == expected.pool[0].tolist() == [2, 0, 300]
    assert DictQrels(qrels).judged_tuples([("q", "b", 0.5)], tuple) is None
    assert fn.Run.from_dict(run).values.tolist() == [0.5, 1.0, -2.0]


def test_dict_reader_keeps_no_references():
    value, key = 123.456, "a text of this test alone"
    qrels, run = {"q": {key: 1}}, {"q": {key: value}}
    prepared = DictQrels(qrels)
    before = sys.getrefcount(key), sys.getrefcount(value), sys.getrefcount(run["q"])
    for _ in range(100):
        prepared.judged(run)
    gc.collect()
    assert (sys.getrefcount(key), sys.getrefcount(value), sys.getrefcount(run["q"])) == before


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        ({"q": {1: 1}}, {}, "ids of documents in `qrels` must be texts, but query 'q' has 1"),
        ({"q": {"a": "1"}}, {}, "`labels` must hold numbers"),
        ({"q": {"a": 1}}, {"q": {"a": 1.0, 2: 1.0}}, "ids of documents in `run` must be texts, but query 'q' has 2"),
        ({"q": {"a": 1}}, {"q": {"a": 1.0, "b": None}}, "scores must be .* document 'b' of query 'q' is None"),
        ({"q": {"a": 1}}, {"q": {"a": 2**1024}},
            "scores must be .* document 'a' of query 'q' is a whole number of 1025 bits"),
    ],
)  # fmt: skip
def test_dict_reader_raises_on_wrong_types(qrels, run, message):
    with pytest.raises(fn.InvalidTypeError, match=message):
        DictQrels(qrels).judged(run)


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


def test_judgments_that_change_meanwhile():
    qrels = {"q": {"".join(["id of ", str(place)]): 1 for place in range(50)}}
    run = {"q": {f"id of {place}": float(place) for place in range(200)}}
    prepared = DictQrels(qrels, is_own=True)
    qrels["q"].clear()
    texts = [f"other {place}" * 2 for place in range(1000)]
    gc.collect()
    assert prepared.judged(run, marks_unjudged=False).rankings.labels.tolist() == [1] * 50 + [0] * 150
    assert texts


class Row(NamedTuple):
    query: str
    document: str
    score: float


class Other(Row):
    """A row of another type."""


ROWS = st.builds(
    Row, st.sampled_from(["q1", "q1", "q2", "q3"]), st.sampled_from(IDS), st.floats(-5, 5) | st.integers(-3, 300)
)
ODD_ROWS = [
    Row(Text("q1"), "d1", 1.0), Row("q1", Text("d1"), 1.0), Row("q1", "d1", "1"), Row("q1", "d1", None),
    Row(1, "d1", 1.0),
    Other("q1", "d1", 1.0), ("q1", "d1", 1.0), tuple.__new__(Row, ("q1",)), None, Row("q1", "d1", 2**70),
]  # fmt: skip


@given(data=st.data(), marks_unjudged=st.booleans())
@strategies.examples(300)
def test_tuples_are_read_as_dicts_of_them(data, marks_unjudged):
    qrels = DictQrels(data.draw(tables(NUMBERS["bytes"] | NUMBERS["whole"])))
    given_rows = data.draw(st.lists(ROWS, max_size=12))
    rows = [Row("".join(query), document, score) for query, document, score in given_rows]  # queries' texts are alike
    are_together = len(list(groupby(row.query for row in rows))) == len({row.query for row in rows})
    are_single = len({row[:2] for row in rows}) == len(rows)
    found = qrels.judged_tuples(rows, Row, marks_unjudged=marks_unjudged)
    if found is None:
        assert not (are_together and are_single)
        return
    run = {}
    for query, document, score in rows:
        run.setdefault(query, {})[document] = score
    known = qrels.judged(run, marks_unjudged=marks_unjudged)
    assert found.queries == known.queries
    for name in ("labels", "scores", "offsets", "query_ids"):
        assert getattr(found.rankings, name).tolist() == getattr(known.rankings, name).tolist()
    assert (found.rankings.judged is None) == (known.rankings.judged is None)
    if known.rankings.judged is not None:
        assert found.rankings.judged.tolist() == known.rankings.judged.tolist()
    assert [list(found.rows[query]) for query in range(len(found.queries))] == [list(row) for row in known.rows]
    assert found.with_tie_keys().tie_keys.tolist() == known.with_tie_keys().tie_keys.tolist()


@pytest.mark.parametrize("odd", ODD_ROWS, ids=range(len(ODD_ROWS)))
@pytest.mark.parametrize("place", [0, 1, 3])
def test_tuples_that_are_left_to_python(odd, place):
    rows = [Row("q1", "d2", 1.0), Row("q1", "d3", 1.0), Row("q9", "d2", 1.0)]
    qrels = DictQrels({"q1": {"d1": 1, "d2": 2}})
    assert qrels.judged_tuples(rows, Row).rankings.labels.tolist() == [2, 0]
    rows.insert(place, odd)
    assert qrels.judged_tuples(rows, Row) is None

"""Dicts of dicts as drop-ins read them: what they hold, in whatever types, as a plain loop over them reads it."""

import gc
import sys
from collections import OrderedDict, defaultdict
from itertools import groupby
from typing import NamedTuple
from unittest.mock import Mock

import cases
import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastndcg as fn
from fastndcg.inputs import dicts
from fastndcg.inputs import objects as of_objects
from fastndcg.inputs.dicts import DictQrels
from fastndcg.kernels import objects


class Text(str):
    """A text that is not exactly one."""

    __slots__ = ()


class Whole(int):
    """A whole number that is not exactly one."""


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
    """Up to three queries with up to five documents, in dicts of any kind."""
    rows = draw(st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), st.dictionaries(KEYS, values), max_size=3))
    return {query: draw(KINDS)(row) for query, row in rows.items()}


@given(data=st.data(), is_own=st.booleans(), tells_unjudged=st.booleans())
@cases.examples(300)
def test_holds_what_the_dicts_hold(data, is_own, tells_unjudged):
    """Scores, labels, judged or not where that is asked for, and all judged labels, by loops over the items."""
    qrels = data.draw(tables(NUMBERS[data.draw(st.sampled_from(list(NUMBERS)))]))
    run = data.draw(tables(SCORES))

    judged = DictQrels(qrels, is_own=is_own).judged(run, tells_unjudged=tells_unjudged)

    queries = [query for query in run if qrels.get(query)]
    rankings = judged.rankings
    items = [(query, document, score) for query in queries for document, score in run[query].items()]
    labels = [qrels[query].get(document) for query, document, _ in items]
    assert judged.queries == rankings.query_ids.tolist() == queries
    assert np.diff(rankings.offsets).tolist() == [len(run[query]) for query in queries]
    assert rankings.scores.tolist() == [float(score) for *_, score in items]
    assert rankings.labels.tolist() == [0 if label is None else float(label) for label in labels]
    given_judged = [True] * len(items) if rankings.judged is None else rankings.judged.tolist()
    assert given_judged == [label is not None or not tells_unjudged for label in labels]
    if rankings.pool is None:
        assert all(qrels[query].keys() == run[query].keys() for query in queries)
    else:
        assert rankings.pool[0].tolist() == [label for query in queries for label in qrels[query].values()]
        assert np.diff(rankings.pool[1]).tolist() == [len(qrels[query]) for query in queries]
    assert [rankings.document_name("scores", place) for place in range(len(items))] == [one for _, one, _ in items]


def test_an_order_that_was_changed():
    """A dict of another kind is read in its own order, which is not that of the dict below it."""
    row = OrderedDict(a=1.0, b=2.0)
    row.move_to_end("a")
    rankings = DictQrels({"q": OrderedDict(a=3, b=0)}).judged({"q": row}).rankings
    assert (rankings.scores.tolist(), rankings.labels.tolist()) == ([2.0, 1.0], [0, 3])


def left_to_python(patch):
    """No type is known to kernels."""
    for module in (dicts, of_objects):
        patch.setattr(module, "SMALL_NUMBERS", np.array([of_objects.NO_KIND, 0]))
        patch.setattr(module, "KINDS", np.full(len(of_objects.KINDS), of_objects.NO_KIND))


def test_without_the_interpreters_lock_python_reads_them(monkeypatch):
    """Where no type is known to kernels, each row is left to Python, with the same result."""
    qrels, run = {"q": {"a": 2, "b": 0, "c": 300}}, {"q": {"b": 0.5, "a": 1, "x": -2.0}}
    expected = DictQrels(qrels).judged(run).rankings
    left_to_python(monkeypatch)
    monkeypatch.setattr(dicts, "_read_open", (read := Mock(wraps=dicts._read_open)))

    found = DictQrels(qrels).judged(run).rankings

    assert read.call_count == 1
    assert found.scores.tolist() == expected.scores.tolist() == [0.5, 1.0, -2.0]
    assert found.labels.tolist() == expected.labels.tolist() == [0, 2, 0]
    assert found.judged.tolist() == expected.judged.tolist() == [True, True, False]
    assert found.pool[0].tolist() == expected.pool[0].tolist() == [2, 0, 300]


def test_labels_are_kept_as_they_were():
    """Judgments do not follow a dict that changes later."""
    qrels = {"q": {"a": 1}}
    prepared = DictQrels(qrels)
    qrels["q"]["a"], qrels["q"]["b"] = 5, 7
    rankings = prepared.judged({"q": {"a": 1.0, "b": 2.0}}).rankings
    assert (rankings.labels.tolist(), rankings.judged.tolist()) == ([1, 0], [True, False])


def test_nothing_is_kept_of_what_was_read():
    """Machine code counts no reference up or down."""
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
        ({"q": {"a": 1}}, {"q": {"a": 2**1024}}, "scores must be .* document 'a' of query 'q' is 17976"),
    ],
)
def test_what_is_refused(qrels, run, message):
    """A message names the first thing that is neither text nor number."""
    with pytest.raises(fn.InvalidTypeError, match=message):
        DictQrels(qrels).judged(run)


ODD_IDS = ["", "d1", "d10", "é", "𝒹", "a\0b", "id of a document " * 9, "\ud800", "a\udfff"]


@given(data=st.data())
@cases.examples(300)
def test_tables_of_dicts_hold_what_python_reads(data):
    """Ids, values and their types by machine code, and by loops over the items, which is how other types are read."""
    kind = data.draw(st.sampled_from([fn.Qrels, fn.Run]))
    ids = st.sampled_from(data.draw(st.sampled_from([IDS, ODD_IDS, [*ODD_IDS, Text("e")]])))
    values = NUMBERS["any"] if kind is fn.Run else data.draw(st.sampled_from(list(NUMBERS.values())))
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


def test_whole_scores_that_float64_lacks():
    """They stay apart: Python reads them."""
    run = fn.Run.from_dict({"q": {"a": 2**53 + 1, "b": 2**53, "c": 1}})
    assert np.argsort(run.values).tolist() == [2, 1, 0]
    assert len(set(run.values.tolist())) == 3


@pytest.mark.parametrize("size", [0, 31, 32, 33, 1000])
def test_ids_of_any_length(size):
    """There is room for all of them, however long they are."""
    row = {f"{number}{'x' * size}": number for number in range(100)}
    run = fn.Run.from_dict({"q": row})
    assert dict(zip(run.documents.names().tolist(), run.values.tolist(), strict=True)) == row


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"q": np.arange(3)}, r"`run` must map queries to dicts, but 'q' maps to array\(\[0, 1, 2\]\)"),
        ({"q": {"a": 1}, "r": []}, r"`run` must map queries to dicts, but 'r' maps to \[\]"),
        ({"q": {"a": 1.0, "b": "x"}}, "`run` must give numbers, but score of document 'b' of query 'q' is 'x'"),
        ({"q": {"a": 1.0, "b": 1j}}, "`run` must give numbers, but score of document 'b' of query 'q' is 1j"),
        ({"q": {"a": 1.0, "b": 2**70}}, "that fit int64 or float64, but .* 'b' of query 'q' is 118.*; use float"),
        ({"q": {"a": 1, "b": -(2**63) - 1}}, "that fit int64 or float64, but .* 'b' of query 'q' is -922"),
        ({"q": {"a": 0.5, "b": 10**400}}, "that fit int64 or float64, but .* 'b' of query 'q' is 1000.*; use float"),
        ({"q": {"a": 1.0, 5: 2.0}}, "ids of documents in the run must be all texts or .*, but one is 5; use one type"),
        ({"q": {"a": 1.0}, 5: {"a": 1.0}}, "ids of queries in the run must be all texts or .*, but one is 5"),
        ({"q": {"a": 1.0, "b": np.nan}}, "the run: score of document b of query q must not be NaN"),
    ],
)
def test_what_tables_refuse(rows, message):
    """The query and the document are named."""
    with pytest.raises(fn.InvalidInputError, match=message):
        fn.evaluate({"q": {"a": 1, "b": 1}}, rows, "rr")


def test_judgments_that_change_meanwhile():
    """What was read of dicts that are somebody else's is held: an id that is gone from them is asked for no more."""
    qrels = {"q": {"".join(["id of ", str(place)]): 1 for place in range(50)}}
    run = {"q": {f"id of {place}": float(place) for place in range(200)}}
    prepared = DictQrels(qrels, is_own=True)
    qrels["q"].clear()
    texts = [f"other {place}" * 2 for place in range(1000)]
    gc.collect()
    assert prepared.judged(run, tells_unjudged=False).rankings.labels.tolist() == [1] * 50 + [0] * 150
    assert texts


@pytest.mark.parametrize("tells_unjudged", [True, False])
def test_scores_that_are_one_object(tells_unjudged):
    """Documents with the same object for a score are told apart."""
    score = 1.5
    run = {"q": dict.fromkeys(map(str, range(100)), score), "r": {"7": -3, "8": 2}}
    found = DictQrels({"q": {"3": 2, "97": 1, "x": 4}, "r": {"8": 300}}).judged(run, tells_unjudged=tells_unjudged)
    labels = np.zeros(102)
    labels[[3, 97, 101]] = 2, 1, 300
    assert found.rankings.labels.tolist() == labels.tolist()


class Row(NamedTuple):
    """A row of a run."""

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


@given(data=st.data(), tells_unjudged=st.booleans())
@cases.examples(300)
def test_tuples_are_read_as_dicts_of_them(data, tells_unjudged):
    """Where queries are together and no document is there twice; None where they are not."""
    qrels = DictQrels(data.draw(tables(NUMBERS["bytes"] | NUMBERS["whole"])))
    given_rows = data.draw(st.lists(ROWS, max_size=12))
    rows = [Row("".join(query), document, score) for query, document, score in given_rows]  # queries' texts are alike
    are_together = len(list(groupby(row.query for row in rows))) == len({row.query for row in rows})
    are_single = len({row[:2] for row in rows}) == len(rows)

    found = qrels.judged_tuples(rows, Row, tells_unjudged=tells_unjudged)

    if found is None:
        assert not (are_together and are_single)
        return
    run = {}
    for query, document, score in rows:
        run.setdefault(query, {})[document] = score
    known = qrels.judged(run, tells_unjudged=tells_unjudged)
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
    """What is no row of texts and a number of the right type, wherever it stands."""
    rows = [Row("q1", "d2", 1.0), Row("q1", "d3", 1.0), Row("q9", "d2", 1.0)]
    qrels = DictQrels({"q1": {"d1": 1, "d2": 2}})
    assert qrels.judged_tuples(rows, Row).rankings.labels.tolist() == [2, 0]
    rows.insert(place, odd)
    assert qrels.judged_tuples(rows, Row) is None


def test_tuples_that_are_not_together():
    """A document twice, or a query again after another one."""
    qrels = DictQrels({"q1": {"d1": 1}, "q2": {"d1": 1}})
    one, other = Row("q1", "d1", 1.0), Row("q2", "d1", 1.0)
    assert qrels.judged_tuples([one, other], Row).queries == ["q1", "q2"]
    assert qrels.judged_tuples([one, one, other], Row) is None
    assert qrels.judged_tuples([one, other, Row("q1", "d2", 1.0)], Row) is None
    assert qrels.judged_tuples([], Row).queries == []


ADDRESSED = [{"a": 1, "b": 2.5}, {}, 1.5, -7, 2**62, 2**63, -(2**63) - 1, True, "text", "é", "\ud800"]


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="instructions need the JIT")
def test_instructions_equal_their_twins():
    """Types, numbers, items and values that are found, by machine code and by ctypes."""
    word_of, listed, append, hash_of, are_alike = (
        numba.njit(lambda one, place: objects.word_of(one, place)),
        numba.njit(lambda one, place: objects.listed(one, place)),
        numba.njit(lambda one, other: objects.append(one, other)),
        numba.njit(lambda one: objects.hash_of(one)),
        numba.njit(lambda one, other: objects.are_alike(one, other)),
    )
    both = ("a text", "another"), ["a text", "another", "".join(["a ", "text"])]
    for one in both:
        for twin in (word_of, objects._plain_word_of):
            assert twin(id(one), objects.SIZE_PLACE) == len(one)
    for place in range(2):
        where = objects.ITEM_PLACE + place * objects.ITEM_SIZE
        for twin in (word_of, objects._plain_word_of):
            assert twin(id(both[0]), where) == id(both[0][place])
        for twin in (listed, objects._plain_listed):
            assert twin(id(both[1]), place) == id(both[1][place])
    for twin in (hash_of, objects._plain_hash_of):
        assert twin(id("a text")) == hash("a text")
    for twin in (are_alike, objects._plain_are_alike):
        assert [bool(twin(id(both[1][0]), id(both[1][place]))) for place in range(3)] == [True, False, True]
    for twin in (append, objects._plain_append):
        assert twin(id(both[1]), id(both[0]))
        assert both[1].pop() is both[0]
    type_of, float_of, whole_of, next_item, find = (
        numba.njit(lambda one: objects.type_of(one)),
        numba.njit(lambda one: objects.float_of(one)),
        numba.njit(lambda one: objects.whole_of(one)),
        numba.njit(lambda row, place: objects.next_item(row, place)),
        numba.njit(lambda row, key: objects.find(row, key)),
    )
    text_of, copied = numba.njit(lambda one: objects.text_of(one)), np.zeros(9, "u1")
    copy_bytes = numba.njit(lambda start, size, data, place: objects.copy_bytes(start, size, data, place))
    for one in ADDRESSED:
        if isinstance(one, str):
            assert text_of(id(one)) == objects._plain_text_of(id(one))
            for copy in (copy_bytes, objects._plain_copy_bytes):
                copy(*text_of(id(one)), copied, 2)
                assert copied.tobytes().startswith(b"\0\0" + one.encode(errors="ignore"))
                copied[:] = 0
        assert type_of(id(one)) == objects._plain_type_of(id(one)) == id(type(one))
        if isinstance(one, float):
            assert float_of(id(one)) == objects._plain_float_of(id(one)) == one
        if isinstance(one, int):
            assert whole_of(id(one)) == objects._plain_whole_of(id(one))
        if isinstance(one, dict):
            place, items = 0, []
            while True:
                found, place, key, value = next_item(id(one), place)
                if not found:
                    break
                items.append((key, value))
            assert items == [(id(key), id(value)) for key, value in one.items()]
            for key in ("a", "c"):
                expected = id(one[key]) if key in one else 0
                assert find(id(one), id(key)) == expected
                assert objects._plain_find(id(one), id(key)) == expected
            assert objects._plain_next_item(id(one), 0)[0] == next_item(id(one), 0)[0]

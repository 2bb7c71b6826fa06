"""The join of judgments and a run, ids of every type, dicts as drop-ins read them, and all forms of arrays."""

import gc
import sys
from collections import OrderedDict, defaultdict
from itertools import combinations

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused, refuses

import fastndcg as fn
from fastndcg.compat import common
from fastndcg.inputs import dicts

QRELS = {"q3": {"a": 1, "b": 0}, "q1": {"a": 2, "c": 1}, "only judged": {"a": 1}}
RUN = {"only run": {"a": 1.0}, "q1": {"c": 0.5, "x": 0.9}, "q3": {"a": 0.1}, "also run": {"a": 1.0}}


def evaluated(qrels=QRELS, run=RUN, metrics="rr,recall,num_ret", **choices):
    return fn.evaluate(qrels, run, metrics, convention=fn.conventions["default"].replace(**choices))


def test_queries_have_the_order_of_the_qrels_and_pairs_are_by_id():
    assert evaluated().query_ids.tolist() == ["q3", "q1", "only judged"]
    both = evaluated(missing_in_qrels="undefined").query_ids.tolist()
    assert both == ["q3", "q1", "only judged", "only run", "also run"]
    backwards = {query: dict(reversed(row.items())) for query, row in reversed(RUN.items())}
    assert evaluated(run=backwards).to_dict() == evaluated().to_dict()
    first = {"a": {"1": 1, "2": 0}, "b": {"1": 0, "2": 1}}
    assert evaluated(first, {"b": {"2": 2, "1": 1}, "a": {"2": 1, "1": 2}}).mean()["RR"] == 1.0


def test_missing_queries_as_errors():
    message = r"judged query only judged is missing in the run \(1 in all\). Add it, or take convention\.replace"
    refused(message, evaluated, missing_in_run="raise")
    refused(r"query only run of the run is missing in the qrels \(2 in all\)", evaluated, missing_in_qrels="raise")
    shared = {query: RUN[query] for query in ("q3", "q1")}
    assert len(evaluated(QRELS, shared | {"only judged": {}}, missing_in_qrels="raise")) == 3


def test_unjudged_and_unretrieved_documents():
    result = evaluated({"q": {"a": 1, "b": 1}}, {"q": {"x": 3.0, "a": 2.0, "y": 1.0}})
    assert result.values.tolist() == [[1 / 2, 1 / 2, 3]]
    removed = evaluated({"q": {"a": 1, "b": 1}}, {"q": {"x": 3.0, "a": 2.0, "y": 1.0}}, unjudged="removed")
    assert removed.values.tolist() == [[1, 1 / 2, 1]]
    result = evaluated({"q": {"a": 1, "z": 0}}, {"q": {"z": 3.0, "u": 2.5, "a": 2.0}}, unjudged="removed")
    assert result["rr"].tolist() == [1 / 2]


@pytest.mark.parametrize("ids", [["q1", "q2"], [7, -3], [2**62, -(2**62)], [np.int64(5), np.int32(6)], ["", "é"]])
def test_ids_keep_their_type(ids):
    qrels, run = ({one: {ids[0]: 1, ids[1]: 0} for one in ids} for _ in range(2))
    rows = evaluated(qrels, run).to_dict()
    assert list(rows) == ids
    assert {type(one) for one in rows} == {str if isinstance(ids[0], str) else int}


def test_ties_by_document_id():
    for ids, last in ((["d9", "d10"], "d9"), ([9, 10], 10), (["a", "é", "文"], "文"), (["a", "a\0"], "a\0")):
        qrels = {"q": {one: int(one == last) for one in ids}}
        run = {"q": dict.fromkeys(ids, 1.0)}
        assert evaluated(qrels, run, ties="id_descending")["rr"].tolist() == [1]
        assert evaluated(qrels, run, ties="id_ascending")["rr"].tolist() == [1 / len(ids)]


def test_tables_are_used_again():
    qrels = fn.Qrels(QRELS)
    evaluator = fn.Evaluator(qrels, "rr")
    first = evaluator.evaluate(RUN)
    assert evaluator.evaluate({"q3": {"b": 2.0, "a": 1.0}})["rr"].tolist() == [1 / 2, 0, 0]
    np.testing.assert_array_equal(evaluator.evaluate(fn.Run(RUN)).values, first.values)
    assert repr(qrels) == "Qrels of 3 queries, 5 documents, labels 0 to 2"
    assert len(fn.Run(RUN)) == 5


def test_join_many_queries_and_documents():
    random = np.random.default_rng(5)
    qrels = {int(q): {int(d): int(d % 3 == 0) for d in random.choice(50, 9, replace=False)} for q in range(1000)}
    run = {q: {d: float(random.random()) for d in random.choice(60, 20, replace=False).tolist()} for q in qrels}
    result = evaluated(qrels, dict(random.permutation(list(run.items())).tolist()), "num_rel_ret,num_rel,num_ret")
    for query, row in result.to_dict().items():
        relevant = {document for document, label in qrels[query].items() if label}
        expected = {"num_rel_ret": len(relevant & run[query].keys()), "num_rel": len(relevant), "num_ret": 20}
        assert row == expected


METRICS = "ndcg,ndcg@2,map,rr,p@2,recall@2,f1@2,success@1,rprec,num_ret"
LABELS = np.array([1, 0, 2, 0, 0, 1, 3, 0, 1, 1])
SCORES = np.array([5, 7, 6, 1, 2, 9, 9, 8, 8, 1])
OFFSETS = np.array([0, 3, 5, 10])
SIZES = np.diff(OFFSETS)
EXPECTED = fn.evaluate(LABELS, SCORES, METRICS, offsets=OFFSETS).values


def evaluate_arrays(*arguments, **ways):
    return fn.evaluate(*arguments, METRICS, **ways).values


def assert_expected(values):
    np.testing.assert_array_equal(values, EXPECTED)


IDS = {
    "numbers": np.repeat([7, 3, 5], SIZES), "negative": np.repeat([-1, -(2**63), 2**63 - 1], SIZES),
    "uint64": np.repeat(np.array([2**64 - 1, 0, 2**63], np.uint64), SIZES),
    "big-endian": np.repeat([7, 3, 5], SIZES).astype(">i4"), "texts": np.repeat(["q7", "é", ""], SIZES),
    "bytes": np.repeat([b"q7", b"q3", b"q5"], SIZES),
    "objects": np.repeat(np.array(["q7", "q3", "a much longer id"], object), SIZES),
    "a NUL at the end": np.repeat(np.array(["a", "a\0", "b"], object), SIZES),
    "whole objects": np.repeat(np.array([7, -3, 5], object), SIZES),
    "list of texts": np.repeat(["q7", "q3", "q5"], SIZES).tolist(),
    "list of numbers": np.repeat([7, -3, 5], SIZES).tolist(),
}  # fmt: skip


@pytest.mark.parametrize("ids", IDS)
def test_query_ids(ids):
    result = fn.evaluate(LABELS, SCORES, METRICS, query_ids=IDS[ids])
    assert_expected(result.values)
    given = np.asarray(IDS[ids])
    assert result.query_ids.tolist() == given[OFFSETS[:-1]].tolist()
    kinds = {"whole objects": "i", "list of texts": "O"}
    assert result.query_ids.dtype.kind == kinds.get(ids, given.dtype.kind)
    order = np.array([0, 3, 5, 1, 6, 4, 7, 2, 8, 9])  # interleaved: every query's documents keep their order
    result = fn.evaluate(LABELS[order], SCORES[order], METRICS, query_ids=given[order])
    assert_expected(result.values)
    assert result.query_ids.tolist() == given[OFFSETS[:-1]].tolist()


def test_sizes_and_lists():
    assert_expected(evaluate_arrays(LABELS, SCORES, groups=SIZES))
    assert_expected(evaluate_arrays(LABELS.tolist(), SCORES.tolist(), groups=SIZES.tolist()))
    assert_expected(evaluate_arrays(tuple(LABELS), tuple(SCORES), offsets=tuple(OFFSETS)))
    assert_expected(evaluate_arrays(LABELS, SCORES, offsets=OFFSETS.astype("u1")))
    assert_expected(evaluate_arrays(LABELS, SCORES, offsets=OFFSETS.astype(">i4")[::-1][::-1]))


@pytest.mark.parametrize("order", ["C", "F"])
def test_matrix_rows_are_queries(order):
    labels, scores = LABELS.reshape(2, 5), SCORES.reshape(2, 5)
    expected = evaluate_arrays(LABELS, SCORES, offsets=[0, 5, 10])
    ordered = evaluate_arrays(np.array(labels, order=order), np.array(scores, order=order))
    np.testing.assert_array_equal(ordered, expected)
    np.testing.assert_array_equal(evaluate_arrays(labels.tolist(), scores.T.copy().T), expected)
    wide = np.repeat(labels, 2, axis=1)[:, ::2]
    np.testing.assert_array_equal(evaluate_arrays(wide, scores), expected)


@pytest.mark.parametrize("dtype", ["i8", "u8"])
def test_wide_scores(dtype):
    """Whole scores beyond 2**53 that differ by 1 stay different."""
    scores = np.array([2**53, 2**53 + 1, 2**62, 2**62 + 1], dtype)
    assert fn.reciprocal_rank([1, 0, 1, 0], scores, [0, 2, 4]).tolist() == [1 / 2, 1 / 2]
    assert fn.reciprocal_rank([0, 1, 0, 1], scores, [0, 2, 4]).tolist() == [1, 1]
    assert fn.reciprocal_rank([1, 0], scores[[0, 0]], [0, 2]).tolist() == [(1 + 1 / 2) / 2]


def test_empty_inputs_are_valid():
    for labels, ways, n_queries in (
        ([], {"offsets": [0]}, 0), ([], {"offsets": [0, 0, 0]}, 2), ([], {"groups": []}, 0),
        ([], {"groups": [0, 0]}, 2), ([], {"query_ids": []}, 0), (np.zeros((0, 3)), {}, 0), (np.zeros((3, 0)), {}, 3),
    ):  # fmt: skip
        result = fn.evaluate(labels, labels, "ndcg,dcg,map,rr,p,p@3,recall,num_ret", **ways)
        assert result.values.shape == (n_queries, 8)
        undefined = {"nDCG", "AP", "R"}
        for metric in result.metrics:
            expected = np.full(n_queries, np.nan if str(metric) in undefined else 0.0)
            np.testing.assert_array_equal(result[metric], expected)


def test_labels_in_files_have_signs_and_the_smallest_type(put):
    qrels = put("q 0 a +2\nq 0 b -1\nq 0 c 007\n", "qrels")
    assert fn.Qrels(qrels).values.tolist() == [2, -1, 7]
    assert fn.Qrels(qrels).values.dtype == np.int8
    qrels.write_text("q 0 a 0.5\nq 0 b 1\n")
    assert fn.Qrels(qrels).values.tolist() == [0.5, 1.0]


class Text(str):
    __slots__ = ()


class Whole(int):
    """A subclass of int."""


NAMES = ["d1", "d10", "é", "𝒹", ""]
KEYS = st.sampled_from([*NAMES, *map(Text, NAMES), *map(np.str_, NAMES)])
NUMBERS = {
    "bytes": st.integers(0, 255),
    "whole": st.integers(-3, 300) | st.sampled_from([2**53, -(2**53), True, Whole(2)]),
    "any": st.sampled_from([0.0, 1.5, np.float64(2.5), np.float32(0.5), np.int64(3), 7, False]),
}
NUMBERED = st.floats(-5, 5) | st.sampled_from([3, -(2**63), True, np.float64(0.5), Whole(1), -np.inf])
KINDS = st.sampled_from([dict, OrderedDict, lambda row: defaultdict(float, row)])


@st.composite
def tables(draw, values):
    rows = draw(st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), st.dictionaries(KEYS, values), max_size=3))
    return {query: draw(KINDS)(row) for query, row in rows.items()}


def judge(qrels, run):
    return common.judge(common.read_table(fn.Qrels, qrels), common.read_table(fn.Run, run))


@given(data=st.data())
@strategies.examples(300)
def test_drop_ins_join_dicts(data):
    qrels = data.draw(tables(NUMBERS[data.draw(st.sampled_from(list(NUMBERS)))]))
    run = data.draw(tables(NUMBERED))
    judged = judge(qrels, run)
    queries = [query for query in run if qrels.get(query)]
    rankings = judged.rankings
    items = [(query, document, score) for query in queries for document, score in run[query].items()]
    labels = [qrels[query].get(document) for query, document, _ in items]
    assert judged.queries == queries
    assert np.diff(rankings.offsets).tolist() == [len(run[query]) for query in queries]
    scores, given = rankings.scores.tolist(), [float(score) for *_, score in items]
    every = [score for row in run.values() for score in row.values()]
    if -(2**63) in every and all(isinstance(score, int) for score in every):  # as float64 may lack such whole numbers
        scores, given = (np.unique(values, return_inverse=True)[1].tolist() for values in (scores, given))
    assert scores == given
    assert rankings.labels.tolist() == [0 if label is None else float(label) for label in labels]
    if queries:
        assert rankings.query_ids.tolist() == queries
        assert rankings.judged.tolist() == [label is not None for label in labels]
        assert rankings.pool[0].tolist() == [label for query in queries for label in qrels[query].values()]
        assert np.diff(rankings.pool[1]).tolist() == [len(qrels[query]) for query in queries]
    assert [rankings.document_name("scores", place) for place in range(len(items))] == [one for _, one, _ in items]
    keys = judged.with_tie_keys().tie_keys.tolist() if queries else []
    for one, other in combinations(zip(items, keys, strict=True), 2):
        (query, document, score), (other_query, other_document, other_score) = one[0], other[0]
        if query == other_query and np.float32(score) == np.float32(other_score):
            assert (one[1] < other[1]) == (document < other_document)


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
    assert fn.Run(run).values.tolist() == [0.5, 1.0, -2.0]


def test_dict_reader_keeps_no_references():
    value, key = 123.456, "a text of this test alone"
    run = {"q": {key: value}}
    before = sys.getrefcount(key), sys.getrefcount(value), sys.getrefcount(run["q"])
    for _ in range(100):
        fn.Run(run)
    gc.collect()
    assert (sys.getrefcount(key), sys.getrefcount(value), sys.getrefcount(run["q"])) == before


test_drop_ins_raise_on_wrong_types = refuses(judge, [
    ({"q": {1: 1}}, {}, "ids of documents in `qrels` must be texts, but one is 1"),
    ({"q": {"a": "1"}}, {}, "`qrels` must give numbers, but label of document 'a' of query 'q' is '1'"),
    ({"q": {"a": 1}}, {"q": {2: 1.0}}, "ids of documents in `run` must be texts, but one is 2"),
    ({"q": {"a": 1}}, {"q": ["a"]}, r"`run` must map queries to dicts, but 'q' maps to \['a'\]"),
    ({2: {"a": 1}}, {}, "ids of queries in `qrels` must be texts, but one is 2"),
    ([], {}, "`qrels` must be a dict that maps queries to dicts, but is a list"),
], error=fn.InvalidTypeError)  # fmt: skip
ODD_IDS = ["", "d1", "d10", "é", "𝒹", "a\0b", *("x" * size for size in (31, 32, 33, 1000)), "\ud800", "a\udfff"]


@given(data=st.data())
@strategies.examples(300)
def test_tables_of_dicts_hold_what_python_reads(data):
    kind = data.draw(st.sampled_from([fn.Qrels, fn.Run]))
    ids = st.sampled_from(data.draw(st.sampled_from([NAMES, ODD_IDS, [*ODD_IDS, Text("e")]])))
    values = data.draw(st.sampled_from(list(NUMBERS.values())))
    rows = data.draw(st.dictionaries(ids, KINDS.flatmap(lambda made: st.dictionaries(ids, values).map(made))))
    table = kind(rows)
    with pytest.MonkeyPatch.context() as patch:
        left_to_python(patch)
        plain = kind(rows)
    items = [(query, document, value) for query, row in rows.items() for document, value in row.items()]
    assert table.queries.names().tolist() == list(rows)
    assert table.documents.names().tolist() == [document for _, document, _ in items]
    assert table.values.tolist() == plain.values.tolist() == [value for *_, value in items]
    assert table.offsets.tolist() == plain.offsets.tolist()


test_dict_reader_names_query_and_document = refuses(lambda rows: fn.evaluate({"q": {"a": 1, "b": 1}}, rows, "rr"), [
    ({"q": np.arange(3)}, "are texts in the qrels, such as 'a', but whole numbers in the run, such as 0. Use one type"),
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
])  # fmt: skip


def test_dict_reader_large_integer_scores():
    run = fn.Run({"q": {"a": 2**53 + 1, "b": 2**53, "c": 1}})
    assert np.argsort(run.values).tolist() == [2, 1, 0]
    assert len(set(run.values.tolist())) == 3

"""The join of judgments and a run: missing queries and documents, the order of queries, and ids of every type."""

import numpy as np
import pytest

import fastndcg as fn

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
    with pytest.raises(fn.InvalidInputError, match=message):
        evaluated(missing_in_run="raise")
    with pytest.raises(fn.InvalidInputError, match=r"query only run of the run is missing in the qrels \(2 in all\)"):
        evaluated(missing_in_qrels="raise")
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
    qrels = fn.Qrels.from_dict(QRELS)
    evaluator = fn.Evaluator(qrels, "rr")
    first = evaluator.evaluate(RUN)
    assert evaluator.evaluate({"q3": {"b": 2.0, "a": 1.0}})["rr"].tolist() == [1 / 2, 0, 0]
    np.testing.assert_array_equal(evaluator.evaluate(fn.Run.from_dict(RUN)).values, first.values)
    assert repr(qrels) == "Qrels of 3 queries, 5 documents"
    assert len(fn.Run.from_dict(RUN)) == 5


def test_join_many_queries_and_documents():
    random = np.random.default_rng(5)
    qrels = {int(q): {int(d): int(d % 3 == 0) for d in random.choice(50, 9, replace=False)} for q in range(1000)}
    run = {q: {d: float(random.random()) for d in random.choice(60, 20, replace=False).tolist()} for q in qrels}
    result = evaluated(qrels, dict(random.permutation(list(run.items())).tolist()), "num_rel_ret,num_rel,num_ret")
    for query, row in result.to_dict().items():
        relevant = {document for document, label in qrels[query].items() if label}
        expected = {"num_rel_ret": len(relevant & run[query].keys()), "num_rel": len(relevant), "num_ret": 20}
        assert row == expected

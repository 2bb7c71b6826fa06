"""Ranked ids without scores, and relevant ids without labels: values of dicts of dicts, and errors of unclear forms."""

import re
from collections import OrderedDict

import numpy as np
import pandas
import pytest

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
    assert fn.Run.from_dict(RANKED).values.tolist() == [-1, -2, -3, -1, -2]
    assert fn.Qrels.from_dict(RELEVANT).values.tolist() == [1, 1, 1, 1]
    odd = ["\ud800", "a\0", "", *("x" * size for size in (31, 32, 33, 1000))]
    assert fn.Run.from_dict({"q": odd}).documents.names().tolist() == odd


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
    assert result.to_dict() == expected.to_dict() == {"q1": {"RR": 1.0}, "q3": {"RR": 0.0}}
    assert (result.n_missing_in_run, result.n_missing_in_qrels) == (1, 1)
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
    "hits": (RELEVANT, {"q1": [{"corpus_id": "d1", "score": 1}]}, r"is no id. .* give {hit\[ID\]: hit\[SCORE\]"),
    "None": (RELEVANT, {"q1": ["d1", None]}, "where None is no id. Give texts"),
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
    "no ids at all": ({"q1": []}, RANKED, "must have a query in common, but the qrels have none"),
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
    "a tuple of runs": (QRELS, (fn.Run.from_dict(SCORES), fn.Run.from_dict(SCORES))),
    "a list of judgments": ([QRELS, QRELS], RANKED), "a list of files of judgments": (["a.qrels", "b.qrels"], RANKED),
    "a dict of arrays": ([[1, 0]], {"a": np.ones((1, 2)), "b": np.ones((1, 2))}),
    "a dict of items": (fn.Interactions([1], offsets=[0, 1]), {"a": np.ones((1, 1), int), "b": np.ones((1, 1), int)}),
}  # fmt: skip


@pytest.mark.parametrize("case", SEVERAL)
def test_several_inputs_at_once_name_compare(case):
    with pytest.raises(fn.InvalidTypeError, match=re.escape("fn.compare")):
        fn.evaluate(*SEVERAL[case], "rr")


def test_a_dict_of_items_against_interactions_says_what_to_give():
    with pytest.raises(fn.InvalidTypeError, match=r"recommended items, one row per user .* but is a dict"):
        fn.evaluate(fn.Interactions([1], offsets=[0, 1]), {0: [1, 2]}, "rr")


def test_labels_of_some_queries_and_ids_of_others_are_one_truth():
    labelled, listed = {"q1": {"a": 2, "x": 0}}, {"q2": ["b", "c"]}
    for truth in (labelled | listed, listed | labelled, labelled | {"q2": {"b", "c"}}):
        assert fn.Qrels.from_dict(truth).to_dict() == {"q1": {"a": 2, "x": 0}, "q2": {"b": 1, "c": 1}}
        for evaluate in (fn.evaluate, fn.reference.evaluate):
            values = evaluate(truth, {"q1": ["a"], "q2": ["c"]}, "recall, dcg").to_dict()
            assert values == {"q1": {"R": 1, "DCG": 2}, "q2": {"R": 1 / 2, "DCG": 1}}
    with pytest.raises(
        fn.InvalidInputError, match="different ids in the list of a query, but query 'q2' has 'b' twice"
    ):
        fn.evaluate(labelled | {"q2": ["b", "b"]}, {"q1": ["a"]}, "recall")
    with pytest.raises(fn.InvalidInputError, match="must map all queries to dicts, or all to ids"):
        fn.evaluate(labelled, {"q1": ["a"], "q2": {"b": 1}}, "recall")

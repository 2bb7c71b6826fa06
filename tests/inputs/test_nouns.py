"""Judgments and runs as objects: what they print, their queries, one query, and calls that other packages have."""

import copy
import pickle

import numpy as np
import pytest
from refusals import refused, refuses

import fastndcg as fn

QRELS = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}}
RUN = {"q1": {"d2": 0.5, "d1": 0.9, "d3": 0.5}, "q2": {}}
TOPICS = {"q1": {"d1": {"cars": 1, "cats": 1}, "d2": {"cars": 3}}}
CHUNKS = {"q1": ["a#1", "a#2", "b#1"], "q2": ["c#1"]}


@pytest.mark.parametrize(("noun", "text"), [
    (fn.Qrels(QRELS), "Qrels of 2 queries, 3 documents, labels 0 to 2"),
    (fn.Qrels({"q": {"d": 0.5}}), "Qrels of 1 queries, 1 documents, label 0.5"),
    (fn.Qrels({}), "Qrels of 0 queries, 0 documents"),
    (fn.Run(RUN), "Run of 2 queries, 3 documents"),
    (fn.DiversityQrels(TOPICS), "DiversityQrels of 1 queries, 2 documents, 2 subtopics, labels 1 to 3"),
    (fn.Run(CHUNKS, parents="before #"),
     "Run of 2 queries, 4 rows: duplicates='first', ranks='kept', parents\n@k counts chunks: 4, of 3 documents\n"
     "documents that their query has again, dropped, with their ranks left empty: 1"),
    (fn.Run({"q": ["a", "a"]}, duplicates="sum"), "Run of 1 queries, 2 rows: duplicates='sum'\n"
     "the run: score of document a of query q must be 0 or more to be added up, but is -1.0. Rescale the scores, or "
     "take duplicates='best'"),
], ids=lambda value: type(value).__name__)  # fmt: skip
def test_print_what_they_hold_and_what_was_dropped(noun, text):
    assert repr(noun) == str(noun) == text


@pytest.mark.parametrize("suffix", ["txt", "json", "jsonl", "csv", "parquet", "txt.gz"])
def test_print_the_file_they_come_from(suffix, tmp_path):
    path = tmp_path / f"q.{suffix}"
    fn.Qrels(QRELS).write(path)
    read = fn.Qrels(path)
    assert repr(read) == f"Qrels of 2 queries, 3 documents, labels 0 to 2, from {path}"
    assert repr(pickle.loads(pickle.dumps(read))) == repr(copy.copy(read)) == repr(read)


def test_notes_on_how_a_run_was_read_are_printed():
    frame = pytest.importorskip("pandas").DataFrame({"query": ["q"], "document": ["d"], "_distance": [0.4]})
    run = fn.Run(frame, columns={"score": "_distance"})
    assert repr(run).splitlines()[1:] == list(run.source.notes) != []


def test_queries_and_one_query():
    """A run gives documents by falling score, equal ones in their order. `len` counts rows, as that of a frame does."""
    run, qrels = fn.Run(RUN), fn.Qrels(QRELS)
    assert list(run) == list(qrels) == ["q1", "q2"]
    assert list(run["q1"].items()) == [("d1", 0.9), ("d2", 0.5), ("d3", 0.5)]
    assert list(qrels["q1"].items()) == [("d1", 1), ("d2", 0)]
    assert run["q2"] == {}
    assert ("q1" in run, "q9" in run, 1 in run) == (True, False, False)
    assert (len(run), len(qrels)) == (3, 3)
    assert {query: qrels[query] for query in qrels} == qrels.to_dict() == QRELS
    assert fn.DiversityQrels(TOPICS)["q1"] == TOPICS["q1"]
    numbers = fn.Run({7: {1: 2.0}, 8: {1: 1.0}})
    assert (list(numbers), 7 in numbers) == ([7, 8], True)
    assert numbers[7] == numbers[np.int64(7)] == {1: 2.0}
    refused(r"ids, which are whole numbers, not '7'. Convert it", numbers.__getitem__, "7", error=KeyError)


def test_a_query_has_the_documents_that_count():
    assert fn.Run(CHUNKS, parents="before #")["q1"] == {"a": -1.0, "b": -3.0}
    assert fn.Run({"q": {"a": 1.0}, "p": {"b": 1.0}}, duplicates="sum")["p"] == {"b": 1.0}
    closed = fn.Run({"q": ["a", "a", "b"]}, duplicates="first", ranks="closed")
    assert {query: closed[query] for query in closed} == closed.to_dict()
    assert fn.fuse([{"q": {"a": 1.0, "b": 2.0}}, {"q": {"b": 1.0}}], "rrf(k=0)")["q"] == {"b": 2.0, "a": 0.5}


def test_a_query_that_is_absent_has_a_hint():
    for noun in (fn.Run({"query 1": {"d": 1.0}}), fn.Qrels({"query 1": {"d": 1}})):
        with pytest.raises(fn.UnknownIdError, match=r"`query` must be in the .*, but 'query1' is not. Did you mean"):
            noun["query1"]
    with pytest.raises(KeyError, match=r"must be in the run, but 'q' is not. Check that the id is written alike$"):
        fn.Run({})["q"]


def test_nouns_are_no_list_of_queries_elsewhere():
    for noun in (fn.Qrels(QRELS), fn.Run(RUN)):
        for function in (lambda noun: fn.fuse(noun), lambda noun: fn.compare(QRELS, noun, "rr")):
            refused(r"must be \{name: |or pairs of a name", function, noun, error=fn.InvalidTypeError)


def test_interactions_and_recommendations():
    liked = fn.Interactions([4, 7, 2], [1, 3, 2], offsets=[0, 2, 2, 3])
    assert repr(liked) == "Interactions of 3 users, 3 items"
    assert (len(liked), list(liked), liked[0], liked[1]) == (3, [0, 1, 2], {4: 1, 7: 3}, {})
    assert liked.to_csv().splitlines() == ["user,item,label", "0,4,1", "0,7,3", "2,2,2"]
    assert "4" in liked.to_markdown()
    with pytest.raises(KeyError, match="`user` must be in the interactions, but 3 is not"):
        liked[3]
    assert repr(fn.Recommendations([[1, 2], [3, -1]])) == "Recommendations of 2 users"
    assert repr(fn.Recommendations([[1]], duplicates="first")).endswith("1 users: duplicates='first', ranks='kept'")
    assert repr(fn.Recommendations([[0.5]])) == "Recommendations"


def test_recommendations_are_no_truth():
    items = fn.Recommendations(np.array([[1, 2], [3, 4]]))
    message = r"Recommendations, which are predictions.* give fn.Interactions\(truth.items\)"
    refused(message, fn.evaluate, items, [[1, 5], [3, 4]], "recall@2", error=fn.InvalidTypeError)
    assert fn.evaluate([set(row) for row in items.items], [[1, 5], [3, 4]], "recall@2").mean() == {"R@2": 3 / 4}


def test_series_by_query_and_document():
    pandas = pytest.importorskip("pandas")
    index = pandas.MultiIndex.from_tuples([("q1", "d1"), ("q1", "d2"), ("q2", "d3")], names=["qid", None])
    labels, scores = pandas.Series([1, 0, 2], index=index), pandas.Series([0.1, 0.9, 0.5], index=index)
    expected = {"q1": {"RR": 1 / 2}, "q2": {"RR": 1.0}}
    for evaluate in (fn.evaluate, fn.reference.evaluate):
        assert evaluate(labels, scores, "rr").to_dict() == expected
    assert fn.Qrels(labels).to_dict() == QRELS
    assert fn.Run(scores[::-1])["q1"] == {"d2": 0.9, "d1": 0.1}
    twice = pandas.concat([scores, scores])
    assert fn.Run(twice, duplicates="first").to_dict() == fn.Run(scores).to_dict()
    cut = fn.evaluate(labels, scores[::-1], "rr", groups=[2, 1])  # labels by place, scores by the index of the labels
    assert cut.values.tolist() == [[1 / 2], [1.0]]


test_calls_of_other_packages_say_what_to_write = refuses(lambda call: call(), {
    "Run(frame, q_id_col='q')": (lambda: fn.Run([], q_id_col="q"), r'named by columns=\{"query": NAME'),
    "Run(path, kind='trec')": (lambda: fn.Run("x", kind="trec"), "format of a file is format='trec'"),
    "Run(data, name='bm25')": (lambda: fn.Run({}, name="bm25"), r"\{name: run\}"),
    "Qrels(path='q')": (lambda: fn.Qrels(path="q"), r"is the first argument: Qrels\(data, documents, labels, …\)"),
    "Run(data, k=3)": (lambda: fn.Run({}, k=3), "`k` is no argument of Run. The cutoff belongs to a metric"),
    "Qrels(data, column={})": (lambda: fn.Qrels({}, column={}), "Did you mean 'columns'"),
    "DiversityQrels(data, kind='trec')": (lambda: fn.DiversityQrels({}, kind="trec"), "format='trec'"),
    "Rows(data, kind='csv')": (lambda: fn.Rows([], kind="csv"), "format='trec'"),
    "Run()": (lambda: fn.Run(), r"`data` is missing: call Run\(data, documents, scores, …\)"),
    "Run(1, 2, 3, 4)": (lambda: fn.Run(1, 2, 3, 4), "Run takes data, documents, scores by place"),
    "gate(q, r)": (lambda: fn.gate(QRELS, RUN), r"`candidate` is missing: call gate\(truth, baseline, candidate, metr"),
    "gate(q, r, 'rr')": (lambda: fn.gate(QRELS, RUN, "rr"), "'rr' is no file, and is a metric. Give both runs: gate"),
})  # fmt: skip


def test_constructors_of_other_packages_say_what_to_write():
    for kind, name in ((fn.Run, "from_df"), (fn.Run, "from_file"), (fn.Qrels, "from_dict"), (fn.Qrels, "from_frame")):
        refused(rf"fn\.{kind.__name__}\(data\) reads every form", getattr, kind, name, error=AttributeError)
    for name, kind in (("read_run", "Run"), ("read_qrels", "Qrels")):
        refused(rf"fn\.{kind}\(path\) reads files", getattr, fn, name, error=AttributeError)

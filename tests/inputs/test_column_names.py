"""Names of columns: each name exists in the frame or file that it is for, or an error lists the columns."""

import re
from pathlib import Path

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.inputs import frames as names_of_columns

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

QRELS = {"qid": ["a", "a", "b"], "docno": ["x", "y", "x"], "grade": [1, 2, 1]}
RUN = {"qid": ["a", "a", "b"], "docno": ["y", "z", "x"], "bm25": [0.5, 0.75, 0.25]}
ROWS = {**QRELS, "bm25": [0.5, 0.75, 0.25]}
TOPICS = {**QRELS, "intent": ["s", "t", "s"]}
BOTH = {"label": "grade", "score": "bm25"}
DICT = {"a": {"x": 1, "y": 2}, "b": {"x": 1}}


FORMS = {
    "polars": lambda columns, _: pl.DataFrame(columns),
    "csv": lambda columns, path: pl.DataFrame(columns).write_csv(path) or path,
    "parquet": lambda columns, path: pl.DataFrame(columns).write_parquet(path) or path,
}


def refused(message, *arguments, **ways):
    for evaluate in (fn.evaluate, fn.reference.evaluate):
        with pytest.raises(fn.InvalidInputError, match=re.escape(message)):
            evaluate(*arguments, metrics="rr", **ways)


@pytest.mark.parametrize("role", ["query", "document", "label", "score", "subtopic"])
@pytest.mark.parametrize("form", ["polars", "parquet"])
def test_column_names_for_single_frame(tmp_path, form, role):
    given = FORMS[form](ROWS, tmp_path / "rows")
    assert fn.evaluate(given, metrics="rr", columns=BOTH).to_dict() == {"a": {"RR": 1.0}, "b": {"RR": 1.0}}
    refused("'qid', 'docno', 'grade', 'bm25'", given, columns=BOTH | {role: "nope"})
    refused("'nope'", given, columns=BOTH | {role: "nope"})


@pytest.mark.parametrize("role", ["query", "document", "label", "score", "subtopic"])
@pytest.mark.parametrize("forms", [("polars", "csv"), ("csv", "parquet"), ("parquet", "polars")])
def test_judgments_and_run(tmp_path, forms, role):
    given = [FORMS[form](table, tmp_path / name) for form, table, name in zip(forms, (QRELS, RUN), "qr", strict=True)]
    assert fn.evaluate(*given, "rr", columns=BOTH).to_dict() == {"a": {"RR": 0.5}, "b": {"RR": 1.0}}
    refused("'nope'", *given, columns=BOTH | {role: "nope"})
    refused("'qid', 'docno', ", *given, columns=BOTH | {role: "nope"})


@pytest.mark.parametrize("form", FORMS)
def test_column_names_for_frame_next_to_other_input(tmp_path, form):
    ids = {**QRELS, "qid": [0, 0, 1], "docno": [3, 4, 5]}
    truth, run, items = (FORMS[form](one, tmp_path / name) for name, one in zip("tri", (QRELS, RUN, ids), strict=True))
    refused("`truth` has 'qid', 'docno', 'grade'", truth, DICT, columns=BOTH | {"label": "nope"})
    refused("'qid', 'docno', 'grade'", truth, columns=BOTH)
    assert len(fn.evaluate(truth, DICT, "rr", columns=BOTH)) == 2
    assert len(fn.evaluate(DICT, run, "rr", columns=BOTH)) == 2
    if form != "csv":  # ids in CSV are texts
        assert len(fn.evaluate(items, np.array([[3], [4]]), "rr", columns=BOTH)) == 2


def test_column_names_without_frame_raise():
    message = "but none is 'qid', named for query: `truth` has none, `predictions` has none. Correct the name, or leave"
    refused(message, DICT, DICT, columns={"query": "qid"})
    assert len(fn.evaluate(DICT, DICT, "rr", columns={})) == 2


def test_evaluators_and_agreement():
    evaluator = fn.Evaluator(pl.DataFrame(QRELS), "rr", columns=BOTH)
    assert len(evaluator.evaluate(pl.DataFrame(RUN))) == 2
    assert len(evaluator.evaluate(DICT)) == len(evaluator.evaluate(fn.Run.from_dict(DICT))) == 2
    with pytest.raises(fn.InvalidInputError, match=r"none is 'bm25', named for score: .*`predictions` has 'qid', "):
        evaluator.evaluate(pl.DataFrame(RUN).rename({"bm25": "score"}))
    runs = pl.DataFrame(RUN), {"a": {"x": 1.0, "y": 2.0}}
    assert len(fn.agreement(*runs, "tau_b", columns={"score": "bm25"})) == 1
    for agreement in (fn.agreement, fn.reference.agreement):
        with pytest.raises(fn.InvalidInputError, match=r"but none is 'grade', named for label: `first` has 'qid', .*,"):
            agreement(*runs, "tau_b", columns=BOTH)


@pytest.mark.parametrize("form", FORMS)
def test_column_names_for_subtopics(tmp_path, form):
    truth = FORMS[form](TOPICS | {"intent": ["007", "7", "7"]}, tmp_path / "named")
    usual = FORMS[form]({**QRELS, "subtopic_id": ["007", "7", "7"]}, tmp_path / "usual")
    labels = {"a": {"x": {"007": 1}, "y": {"7": 2}}, "b": {"x": {"7": 1}}}
    run = {"a": {"x": 0.5, "y": 0.25}, "b": {"x": 1.0}}
    expected = fn.evaluate(labels, run, "alpha_ndcg,s_recall@1").to_dict()
    assert expected["a"]["S_recall@1"] == 0.5
    named = fn.evaluate(truth, run, "alpha_ndcg,s_recall@1", columns={"label": "grade", "subtopic": "intent"})
    assert named.to_dict() == expected
    assert fn.evaluate(usual, run, "alpha_ndcg,s_recall@1").to_dict() == expected


def test_subtopics_out_of_place(tmp_path):
    path = FORMS["csv"](
        {"qid": ["a", "a"], "docno": ["x", "y"], "subtopic": ["s", "s"], "label": [1, -1]}, tmp_path / "qrels.csv"
    )
    with pytest.raises(fn.InvalidInputError, match=r"that of document y \(.*qrels\.csv, line 3\) is -1"):
        fn.evaluate(path, {"a": {"x": 1.0}}, "s_recall@1", convention="default(negative_labels=raise)")
    assert sorted(fn.read_qrels(path).source.numbers.tolist()) == [2, 3]
    rule = "must have no scores if it has subtopics, but column 'intent' has the usual name of one: give the run apart"
    with pytest.raises(fn.InvalidInputError, match=rule):
        fn.evaluate(
            FORMS["parquet"](TOPICS | RUN, tmp_path / "rows"), metrics="rr", columns=BOTH | {"subtopic": "intent"}
        )


@pytest.mark.parametrize("form", FORMS)
def test_column_with_misleading_name(tmp_path, form):
    truth = FORMS[form]({"qid": ["a", "a"], "docno": ["x", "y"], "subtopic": [1, 2]}, tmp_path / "rows")
    run = {"a": {"x": 1.0, "y": 2.0}}
    assert fn.evaluate(truth, run, "dcg@1", columns={"label": "subtopic"}).mean() == {"DCG@1": 2.0}
    other = FORMS[form]({**QRELS, "aspect": ["s", None, "t"]}, tmp_path / "other")
    assert fn.evaluate(other, DICT, "rr").mean() == {"RR": 1.0}


def test_judgments_that_take_no_subtopics():
    frame = pl.DataFrame(TOPICS)
    message = "must have no subtopics, but column 'intent' has the usual name of one. Use DiversityQrels"
    with pytest.raises(fn.InvalidInputError, match=message):
        fn.Qrels.from_frame(frame, {"label": "grade", "subtopic": "intent"})
    made = fn.DiversityQrels.from_frame(frame, {"label": "grade", "subtopic": "intent"})
    assert len(fn.evaluate(made, DICT, "s_recall@1")) == 2


def test_truth_without_columns(tmp_path):
    path = tmp_path / "labels.svm"
    path.write_text("1 qid:1 1:0.5\n0 qid:1 1:0.25\n", encoding="utf-8")
    rankings = fn.Rankings([1, 0], [0.5, 0.25], [0, 2])
    for truth, predictions in ((path, [0.5, 0.25]), (rankings, None)):
        assert len(fn.evaluate(truth, predictions, metrics="rr")) == 1
        refused("`columns` can only be used when `truth` is a data frame", truth, predictions, columns={"query": "q"})


def test_guide_lists_all_usual_names():
    guide = Path(__file__).parents[2] / "docs" / "guides" / "inputs.md"
    table = guide.read_text(encoding="utf-8").partition("### Names of columns")[2].partition("###")[0]
    documented = {}
    for line in table.splitlines():
        if line.startswith("| ") and not line.startswith("| role"):
            role, names, _ = (cell.strip() for cell in line.strip("|").split("|", 2))
            documented[role] = sorted({name.strip("`").replace("_", "") for name in names.split(", ")})
    expected = {
        role: sorted({name.replace("_", "") for name in names.split()})
        for role, names in names_of_columns.NAMES.items()
    }
    for role, names in (
        ("label, if no column has a name above", names_of_columns.LAST_LABELS),
        ("label of a truth with predictions, likewise", names_of_columns.LABELS_OF_TRUTH),
        ("score of predictions, likewise", names_of_columns.SCORES_OF_RUNS),
    ):
        expected[role] = sorted(names.split())
    assert documented == expected


def test_evaluator_takes_scores_of_a_named_column():
    pyarrow = pytest.importorskip("pyarrow")
    frame = {"q": [1, 1, 2], "d": [1, 2, 3], "y": [1, 0, 1], "s": [0.1, 0.2, 0.3]}
    columns = {"query": "q", "document": "d", "label": "y", "score": "s"}
    assert fn.Evaluator(pyarrow.table(frame), "rr", columns=columns).evaluate().means() == [(1 / 2 + 1) / 2]

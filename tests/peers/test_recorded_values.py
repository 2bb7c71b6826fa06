"""Recorded values of other programs, and of public reports, are reproduced, or are on the ledger."""

import json
from collections import Counter
from math import log2
from pathlib import Path

import golden_records
import pytest
from known_differences import DIFFERENCES, KINDS
from recorded_data import DATA

import fastndcg as fn
from fastndcg.named_conventions import KINDS as KINDS_OF_PEERS

BOTH_REFUSE = {  # cases that trec_eval refuses, and errors of fastndcg
    "dup_doc_in_run": "is in rows 0 and 1",
    "dup_doc_in_qrels": "is in rows 0 and 1",
    "k_zero": "`k` of P must be 1 or more, not 0",
    "query_missing_from_run": "judged query q2 is missing in the run",  # 10.0 without -c
    "empty_ranking": "judged query q2 is missing in the run",
}


@pytest.fixture(scope="module")
def records():
    return [one for one in golden_records.records() if golden_records.has_metric(one) and golden_records.has_input(one)]


@pytest.fixture(
    scope="module", ids=["kernels", "reference"],
    params=[fn.evaluate, pytest.param(fn.reference.evaluate, marks=pytest.mark.stress)],
)  # fmt: skip
def answers(records, request):
    return [golden_records.ours(one, request.param) for one in records]


def test_recorded_values_are_reproduced_or_listed(records, answers):
    unknown = [
        (golden_records.name_of(one), one["value"], one["error"], answer)
        for one, answer in zip(records, answers, strict=True)
        if not golden_records.is_reproduced(one, answer) and not any(entry.matches(one) for entry in DIFFERENCES)
    ]
    assert unknown == []


@pytest.mark.parametrize("entry", DIFFERENCES, ids=lambda entry: f"{entry.peers[0]}-{entry.names[0]}-{entry.why[:30]}")
def test_recorded_known_differences_still_differ(records, answers, entry):
    found = [pair for pair in zip(records, answers, strict=True) if entry.matches(pair[0])]
    assert found
    assert [golden_records.name_of(one) for one, answer in found if golden_records.is_reproduced(one, answer)] == []
    assert entry.kind in KINDS


def test_recorded_values_counts(records, answers):
    every = golden_records.records()
    n_reproduced = sum(golden_records.is_reproduced(*pair) for pair in zip(records, answers, strict=True))
    n_listed = len(records) - n_reproduced
    n_lacking = sum(not golden_records.has_metric(one) for one in every)
    assert (len(every), n_reproduced, n_listed, n_lacking) == (4503, 4083, 407, 9)
    readme = " ".join((Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8").split())
    assert f"Of {len(records):,} values" in readme
    assert f"{n_reproduced:,} are reproduced" in readme
    assert f"other {n_listed} are bugs and choices that are not copied" in readme
    assert Counter(entry.kind for one in records for entry in DIFFERENCES if entry.matches(one)) == {
        "bug": 122, "unstable sort": 22, "rounding": 21, "refused there": 150, "refused here": 78,
        "another definition": 14,
    }  # fmt: skip


def test_records_with_nan_scores(records):
    found = [one for one in records if one["name"] == "nan_score_first" and one["peer"].startswith("trec_eval")]
    assert len(found) == 10
    for one in found:
        refused = golden_records.ours(one, fn.evaluate)
        assert "score of document d01 of query q1 must not be NaN" in refused.error
        assert golden_records.is_reproduced(one, golden_records.ours(one, fn.evaluate, nan_scores="last"))


def test_records_that_both_refuse(records):
    refused = [
        one
        for one in records
        if one["peer"].startswith("trec_eval") and one["error"] is not None and one["name"] in BOTH_REFUSE
    ]
    assert len(refused) == 22
    for one in refused:
        assert BOTH_REFUSE[one["name"]] in golden_records.ours(one, fn.evaluate).error


def test_negative_labels_alone(records):
    """A query with only negative labels has 0 for every metric, while trec_eval stops."""
    found = [one for one in records if one["name"] == "all_negative_labels" and one["peer"].startswith("trec_eval")]
    assert len(found) == 10
    for one in found:
        assert "Can't calculate measure" in one["error"]
        assert golden_records.ours(one, fn.evaluate) == ({"q1": 0.0}, 0.0, "")


def test_sums_of_gains():
    (record,) = [one for one in golden_records.records() if "ideal_dcg" in one["metric"]]
    result = fn.evaluate(
        golden_records.qrels_of(record), golden_records.run_of(record), "dcg,ideal_dcg", convention="trec_eval"
    )
    assert result.mean() == {
        "DCG": pytest.approx(record["per_query"]["dcg"], rel=1e-12),
        "IDCG": pytest.approx(record["per_query"]["ideal_dcg"], rel=1e-12),
    }


PRINTED = json.loads((DATA / "peers" / "retrieval_reports.json").read_text(encoding="utf-8"))
TWICE = 1 + 1 / log2(3)  # DCG of a relevant document at ranks 1 and 2
COUNTED, FIRST = {"duplicates": "counted"}, {"duplicates": "first"}
SETTINGS = {  # (tool, version, report): what gives the printed number
    ("mlflow", "3.16.1", "mlflow#24541"): {},
    ("mlflow", "3.18.0", "mlflow#24541"): {},
    ("mlflow", "3.18.0", "mlflow#25965"): COUNTED,
    ("haystack", "3.0.0", "haystack PR 11959"): COUNTED,
    ("haystack", "3.4.1", "haystack PR 11959"): FIRST,
    ("llama_index", "0.14.25", "llama_index PR 22683"): COUNTED,
    ("trulens", "2.13.0", "trulens#2746"): COUNTED,
    ("trulens", "2.16.0", "trulens#2746"): FIRST,
}


def evaluate(relevant, retrieved, metric, convention, **options):
    labels = relevant if isinstance(relevant, dict) else set(relevant)
    given = ({"q": labels}, fn.Run({"q": retrieved}, **options), metric)
    (value,) = fn.evaluate(*given, convention=convention).values[0]
    assert fn.reference.evaluate(*given, convention=convention).values[0, 0] == pytest.approx(value)
    return value


def printed(report, version):
    """Return the numbers that a version printed for a report, by metric."""
    return [one for one in PRINTED if one["report"] == report and one["version"] == version]


def test_settings_give_what_tools_printed():
    others = set()
    for one in PRINTED:
        key = one["tool"], one["version"], one["report"]
        if key not in SETTINGS or isinstance(one["printed"], str):
            others.add(key)
            continue
        value = evaluate(one["relevant"], one["retrieved"], one["metric"], one["tool"], **SETTINGS[key])
        assert value == pytest.approx(one["printed"], rel=1e-6), one
    assert others == {
        ("mlflow", "3.16.1", "mlflow#25965"), ("mlflow", "3.16.1", "mlflow#25965, relevant twice"),
        ("mlflow", "3.18.0", "mlflow#25965, relevant twice"), ("trulens", "2.13.0", "trulens#2746"),
        ("llama_index", "0.14.25", "llama_index PR 22683, expected twice"),
    }  # fmt: skip


def test_explain_against_each_tool():
    tools = [name for name, kind in KINDS_OF_PEERS.items() if kind == "retrieval"]
    assert len(tools) == 9
    for name in tools:
        shown = fn.explain({"q": {"a": 1, "b": 2}}, {"q": ["x", "b"]}, "ndcg@3", against=name)
        assert shown.against.convention.name == name
        assert shown.against.value == evaluate({"a": 1, "b": 2}, ["x", "b"], "ndcg@3", name)
        assert shown.steps[-1].value == shown.against.value or shown.steps == ()


def test_mlflow_24541():
    """One of five relevant documents, and nothing else, is 1.0 to MLflow. The report needs 0.339."""
    (one,) = printed("mlflow#24541", "3.18.0")
    assert one["printed"] == 1.0
    asked = evaluate(one["relevant"], one["retrieved"], "ndcg@5", "mlflow(ideal=judged)")
    assert asked == pytest.approx(1 / sum(1 / log2(r + 1) for r in range(1, 6)), rel=1e-15)
    assert round(asked, 3) == 0.339
    assert asked == evaluate(one["relevant"], one["retrieved"], "ndcg@5", "default")
    assert fn.explain({"q": set(one["relevant"])}, {"q": ["d1"]}, "ndcg@5", against="mlflow").why() == ("ideal",)


def test_mlflow_25965():
    """The second retrieval of a was the document a_bc574ae_2. Now each counts, also in the ideal if it is relevant."""
    (before,) = printed("mlflow#25965", "3.16.1")
    renamed = ["a", "a_bc574ae_2", "z"]
    value = evaluate(before["relevant"], renamed, before["metric"], "mlflow")
    assert before["printed"] == pytest.approx(value, rel=1e-6) == pytest.approx(1 / log2(3), rel=1e-6)
    (twice,) = printed("mlflow#25965, relevant twice", "3.18.0")
    assert evaluate(["a", "a again"], ["a", "a again"], twice["metric"], "mlflow") == twice["printed"] == 1.0
    assert evaluate(["a"], ["a", "a"], twice["metric"], "mlflow", **COUNTED) == pytest.approx(TWICE, rel=1e-15)
    assert evaluate(["a"], ["a", "a"], twice["metric"], "mlflow", **FIRST) == 1.0


def test_elasticsearch_154362():
    """Five documents rated 3: one of them alone is 1.0, all at ranks 6 to 10 are 0.54; by the fix 0.34 and 0.54."""
    rated = dict.fromkeys(("a", "b", "c", "d", "e"), 3)
    others = [f"other {i}" for i in range(5)]
    for retrieved, before, after in ((["a"], 1.0, 0.34), (others + list(rated), 0.54, 0.54)):
        for convention, number in (("elasticsearch", before), ("elasticsearch(ideal=judged)", after)):
            assert round(evaluate(rated, retrieved, "ndcg@10", convention), 2) == number


def test_llama_index_22683():
    """The fix, which no release has, bounds the numbers by 1. An id twice in the truth gave 0.61: an error here."""
    found = printed("llama_index PR 22683", "0.14.25")
    assert [(one["metric"], round(one["printed"], 2)) for one in found] == [("R", 2.0), ("AP", 2.0), ("nDCG", 1.63)]
    for one in found:
        assert evaluate(one["relevant"], one["retrieved"], one["metric"], "llama_index", **FIRST) == 1.0
    (twice,) = printed("llama_index PR 22683, expected twice", "0.14.25")
    assert twice["printed"] == pytest.approx(1 / TWICE, rel=1e-15)
    with pytest.raises(fn.InvalidInputError, match="a document must stand once in a query, but document id1 "):
        fn.evaluate({"q": twice["relevant"]}, {"q": twice["retrieved"]}, "ndcg")
    assert evaluate(twice["relevant"], twice["retrieved"], "ndcg", "llama_index") == 1.0


def test_trulens_2746():
    """Recall was 2.0, and 1.0 for one of two chunks. Between two releases nDCG was 1.63, which `counted` gives."""
    before, after = ([one["printed"] for one in printed("trulens#2746", version)] for version in ("2.13.0", "2.16.0"))
    assert before[:2] == [2.0, 1.0]
    assert "only meaningful when there is more than 1 document" in before[2]
    assert after == [1.0, 0.5, 1.0]
    assert evaluate(["A"], ["A", "A"], "ndcg@2", "trulens", **COUNTED) == pytest.approx(TWICE, rel=1e-15)
    assert evaluate(["A", "B"], ["A", "A"], "recall@2", "default", **FIRST) == 0.5

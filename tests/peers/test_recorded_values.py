"""Recorded values of other programs are reproduced under their conventions, or are on the ledger."""

from collections import Counter
from pathlib import Path

import golden_records
import pytest
from known_differences import DIFFERENCES, KINDS

import fastndcg as fn

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


@pytest.fixture(scope="module", params=[fn.evaluate, fn.reference.evaluate], ids=["kernels", "reference"])
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

"""Small cases as other programs printed them: each value is reproduced under its convention, or on the ledger."""

from collections import Counter
from pathlib import Path

import golden
import pytest
from known_differences import DIFFERENCES, KINDS

import fastndcg as fn

BOTH_REFUSE = {  # trec_eval's errors, and what ours say
    "dup_doc_in_run": "stands in rows 0 and 1",
    "dup_doc_in_qrels": "stands in rows 0 and 1",
    "k_zero": "`k` of P must be 1 or more, not 0",
    "query_missing_from_run": "judged query q2 is missing in the run",  # 10.0 without -c
    "empty_ranking": "judged query q2 is missing in the run",
}


@pytest.fixture(scope="module")
def records():
    """Records of metrics that the catalogue has, with what went in."""
    return [one for one in golden.records() if golden.has_metric(one) and golden.has_input(one)]


@pytest.fixture(scope="module", params=[fn.evaluate, fn.reference.evaluate], ids=["kernels", "reference"])
def answers(records, request):
    """Our answer to each record."""
    return [golden.ours(one, request.param) for one in records]


def test_every_record_is_reproduced_or_listed(records, answers):
    """No value of another program differs from ours without a reason on the ledger."""
    unknown = [
        (golden.name_of(one), one["value"], one["error"], answer)
        for one, answer in zip(records, answers, strict=True)
        if not golden.is_reproduced(one, answer) and not any(entry.matches(one) for entry in DIFFERENCES)
    ]
    assert unknown == []


@pytest.mark.parametrize("entry", DIFFERENCES, ids=lambda entry: f"{entry.peers[0]}-{entry.names[0]}-{entry.why[:30]}")
def test_every_difference_still_differs(records, answers, entry):
    """An entry of the ledger matches some records, and not one of them agrees with us."""
    found = [pair for pair in zip(records, answers, strict=True) if entry.matches(pair[0])]
    assert found
    assert [golden.name_of(one) for one, answer in found if golden.is_reproduced(one, answer)] == []
    assert entry.kind in KINDS


def test_counts(records, answers):
    """How many records there are, and what becomes of them."""
    every = golden.records()
    n_reproduced = sum(golden.is_reproduced(*pair) for pair in zip(records, answers, strict=True))
    assert {
        "records": len(every),
        "reproduced": n_reproduced,
        "listed": len(records) - n_reproduced,
        "metrics that the catalogue lacks": sum(not golden.has_metric(one) for one in every),
        "about the program, not a number": sum(golden.has_metric(one) and not golden.has_input(one) for one in every),
    } == {
        "records": 3834,
        "reproduced": 3422,
        "listed": 399,
        "metrics that the catalogue lacks": 9,
        "about the program, not a number": 4,
    }


def test_readme_has_the_counts(records, answers):
    """The counts that the README names."""
    n_reproduced = sum(golden.is_reproduced(*pair) for pair in zip(records, answers, strict=True))
    n_listed = len(records) - n_reproduced
    readme = " ".join((Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8").split())
    assert f"of {len(records):,} values" in readme
    assert f"{n_reproduced:,} are reproduced" in readme
    assert f"the other {n_listed} have their reason" in readme


def test_reasons(records, answers):
    """How many records each kind of reason stands for; each record is on the ledger once."""
    kinds = Counter(entry.kind for one in records for entry in DIFFERENCES if entry.matches(one))
    assert kinds.total() == sum(not golden.is_reproduced(*pair) for pair in zip(records, answers, strict=True))
    assert kinds == {
        "bug": 119,
        "unstable sort": 22,
        "rounding": 21,
        "refused there": 150,
        "refused here": 78,
        "another definition": 9,
    }


def test_records_with_nan_scores(records):
    """trec_eval takes NaN for the lowest score in these: here that has to be asked for."""
    found = [one for one in records if one["name"] == "nan_score_first" and one["peer"].startswith("trec_eval")]
    assert len(found) == 10
    for one in found:
        refused = golden.ours(one, fn.evaluate)
        assert "score of document d01 of query q1 must not be NaN" in refused.error
        assert golden.is_reproduced(one, golden.ours(one, fn.evaluate, nan_scores="last"))


def test_records_that_both_refuse(records):
    """Where trec_eval stops with an error, so do we, and say why."""
    refused = [
        one
        for one in records
        if one["peer"].startswith("trec_eval") and one["error"] is not None and one["name"] in BOTH_REFUSE
    ]
    assert len(refused) == 22
    for one in refused:
        assert BOTH_REFUSE[one["name"]] in golden.ours(one, fn.evaluate).error


def test_negative_labels_alone(records):
    """A query with negative labels only stops trec_eval; here every metric is 0, as for nothing relevant."""
    found = [one for one in records if one["name"] == "all_negative_labels" and one["peer"].startswith("trec_eval")]
    assert len(found) == 10
    for one in found:
        assert "Can't calculate measure" in one["error"]
        assert golden.ours(one, fn.evaluate) == ({"q1": 0.0}, 0.0, "")


def test_sums_of_gains():
    """DCG and the ideal's DCG over the whole pool are trec_eval 10.0's dcg and ideal_dcg."""
    (record,) = [one for one in golden.records() if "ideal_dcg" in one["metric"]]
    result = fn.evaluate(golden.qrels_of(record), golden.run_of(record), "dcg,ideal_dcg", convention="trec_eval")
    assert result.mean() == {
        "DCG": pytest.approx(record["per_query"]["dcg"], rel=1e-12),
        "IDCG": pytest.approx(record["per_query"]["ideal_dcg"], rel=1e-12),
    }

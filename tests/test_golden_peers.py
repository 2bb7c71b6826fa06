"""Small cases as trec_eval 10.0 and 9.0.8 printed them: every record of a metric that we have, or why it differs."""

import json

import pytest
from shared import shared

import fastndcg as fn

CONVENTIONS = {"trec_eval-10.0": "trec_eval", "trec_eval-9.0.8": "trec_eval_9"}
METRICS = {
    "ndcg": "nDCG", "ndcg@k": "nDCG@{k}", "ap": "AP", "ap@k": "AP@{k}", "rr": "RR", "p@k": "P@{k}", "r@k": "R@{k}",
    "hit@k": "Success@{k}", "rprec": "Rprec",
}  # fmt: skip
OTHER_METRICS = {"bpref", "infap", "unj@k", "rbp", "rbp_resid", "iprec", "11pt", "gm_map"}

# where trec_eval has no value, or one that we do not want, and what we do instead
REFUSED_BY_BOTH = {
    "dup_doc_in_run": "stands in rows 0 and 1",
    "dup_doc_in_qrels": "stands in rows 0 and 1",
    "k_zero": "`k` of P must be 1 or more, not 0",
    "query_missing_from_run": "judged query q2 is missing in the run",  # 10.0 without -c
    "empty_ranking": "judged query q2 is missing in the run",
}
DIFFERENT = {
    "all_negative_labels": "trec_eval stops with an error where the first query has negative labels only: here 0",
    "float_labels": "trec_eval truncates labels to whole numbers; here they gain what they say",
    "custom_gain_fractional": "trec_eval does not sort gains that differ by less than 1: a perfect order gets 0",
}


@pytest.fixture(scope="module")
def records():
    """trec_eval's records, those of metrics that we lack aside."""
    everything = json.loads(shared("golden", "peers.json").read_text())
    return [one for one in everything if one["peer"] in CONVENTIONS and one["metric"] not in OTHER_METRICS]


def qrels_of(record):
    """The record's judgments, document by document; null means not judged."""
    rows = []
    for query, labels in record["labels"].items():
        if isinstance(labels, dict):
            rows += [(query, document, label) for document, label in labels.items()]
        elif labels and isinstance(labels[0], list):
            rows += [(query, document, label) for document, label in labels]
        else:
            pairs = zip(record["docids"][query], labels, strict=True)
            rows += [(query, document, label) for document, label in pairs if label is not None]
    for query, labels in record.get("judged_not_retrieved", {}).items():
        rows += [(query, document, label) for document, label in labels.items()]
    return fn.Qrels(*map(list, zip(*rows, strict=True)))


def run_of(record):
    """The record's run; numbers that JSON lacks stand there as texts."""
    rows = [
        (query, document, float(score))
        for query, scores in record["scores"].items()
        for document, score in zip(record["docids"][query], scores, strict=True)
    ]
    return fn.Run(*map(list, zip(*rows, strict=True)))


def convention_of(record):
    """The convention that the recorded call's options make."""
    convention = fn.conventions[CONVENTIONS[record["peer"]]]
    if " -c " in record["call"]:
        convention = convention.replace(missing_in_run="zero")
    if " -J " in record["call"]:
        convention = convention.replace(unjudged="removed")
    return convention


def ours(record, **choices):
    """What we say: one value a query, and the mean."""
    metric = METRICS[record["metric"]].format(k=record["k"])
    result = fn.evaluate(qrels_of(record), run_of(record), metric, convention=convention_of(record).replace(**choices))
    return {query: row[metric] for query, row in result.to_dict().items()}, result.mean()[metric]


def is_reproduced(record, **choices):
    """Whether our values are the recorded ones; queries that the run lacks have no line in 9.0.8, and are 0."""
    values, mean = ours(record, **choices)
    theirs = record["per_query"]
    if set(theirs) == {"recip_rank"}:  # a call without -q: the name of the metric stands in the query's place
        return values == {"q1": pytest.approx(theirs["recip_rank"], rel=1e-12)}
    assert set(theirs) <= set(values)
    same = all(values[query] == pytest.approx(theirs.get(query, 0.0), rel=1e-12, abs=1e-12) for query in values)
    return same and (record["value"] is None or mean == pytest.approx(record["value"], rel=1e-12, abs=1e-12))


def test_records_are_reproduced(records):
    """All records with a value, options -c and -J too: every query's value and the mean, to 12 digits."""
    plain = [
        one
        for one in records
        if one["metric"] in METRICS and one["error"] is None and one["name"] not in {*DIFFERENT, "nan_score_first"}
    ]
    wrong = [(one["name"], one["call"], one["per_query"], ours(one)) for one in plain if not is_reproduced(one)]
    assert wrong == []
    assert len(plain) == 402


def test_records_with_nan_scores(records):
    """trec_eval takes NaN for the lowest score in these: here that has to be asked for."""
    found = [one for one in records if one["name"] == "nan_score_first"]
    assert len(found) == 10
    for one in found:
        with pytest.raises(fn.InvalidInputError, match="score of document d01 of query q1 must not be NaN"):
            ours(one)
        assert is_reproduced(one, nan_scores="last")


def test_records_that_both_refuse(records):
    """Where trec_eval stops with an error, so do we, and say why."""
    refused = [one for one in records if one["error"] is not None and one["name"] in REFUSED_BY_BOTH]
    assert len(refused) == 22
    for one in refused:
        with pytest.raises(fn.InvalidInputError, match=REFUSED_BY_BOTH[one["name"]]):
            ours(one)


def test_negative_labels_alone(records):
    """A query with negative labels only stops trec_eval; here every metric is 0, as for nothing relevant."""
    found = [one for one in records if one["name"] == "all_negative_labels"]
    assert len(found) == 8
    for one in found:
        assert "Can't calculate measure" in one["error"]
        assert ours(one) == ({"q1": 0.0}, 0.0)


def test_labels_with_fractions(records):
    """Labels 0.5 and 1.5 gain 0.5 and 1.5, which trec_eval reads as 0 and 1; binary metrics agree with it."""
    found = [one for one in records if one["name"] == "float_labels"]
    differing = [one for one in found if not is_reproduced(one)]
    assert {one["metric"] for one in differing} == {"ndcg", "ndcg@k"}
    assert len(differing) == 6
    truncated = [one | {"labels": {"q1": [0, 1, 0]}} for one in differing]
    assert all(is_reproduced(one) for one in truncated)


def test_tables_of_gains(records):
    """Whole gains agree with trec_eval; gains that differ by less than 1 give a perfect order 1, not its 0."""
    tables = {"custom_gain_integer": (0, 5, 9), "custom_gain_fractional": (0, 0.5, 0.9)}
    found = [one for one in records if one["metric"] == "ndcg_custom_gain"]
    assert len(found) == 4
    for one in found:
        theirs = next(iter(one["per_query"].values()))
        metric = fn.nDCG(gain=tables[one["name"]])
        result = fn.evaluate(qrels_of(one), run_of(one), metric, convention=convention_of(one))
        assert result[metric].tolist() == [1.0]
        assert (theirs == 1.0) == (one["name"] not in DIFFERENT)


def test_sums_of_gains(records):
    """DCG and the ideal's DCG over the whole pool are trec_eval 10.0's dcg and ideal_dcg."""
    (record,) = [one for one in records if "ideal_dcg" in one["metric"]]
    result = fn.evaluate(qrels_of(record), run_of(record), "dcg,ideal_dcg", convention="trec_eval")
    assert result.mean() == {
        "DCG": pytest.approx(record["per_query"]["dcg"], rel=1e-12),
        "IDCG": pytest.approx(record["per_query"]["ideal_dcg"], rel=1e-12),
    }


def test_every_record_has_its_place(records):
    """Nothing is left out: each record is reproduced, refused by both, or on the list of differences."""
    for one in records:
        placed = one["error"] is None or one["name"] in REFUSED_BY_BOTH or one["name"] in DIFFERENT
        assert placed, one

"""recometrics, LightFM and sentence-transformers: their conventions give the values that they gave for factors."""

import json

import factor_cases
import numpy as np
import pytest
from recorded_data import DATA

import fastndcg as fn

RECORD = json.loads((DATA / "peers" / "factors.json").read_text(encoding="utf-8"))
CUTOFFS = factor_cases.CUTOFFS
RECOMETRICS = factor_cases.RECOMETRICS
LIGHTFM = factor_cases.LIGHTFM
SENTENCE_TRANSFORMERS = factor_cases.SENTENCE_TRANSFORMERS


def evaluate(case, metric, convention):
    """Return the values of each user for the items that the user has not seen."""
    labels, scores, offsets = case.flatten()
    return fn.evaluate(labels, scores, metric, offsets=offsets, convention=convention).values[:, 0]


@pytest.mark.parametrize("theirs", RECOMETRICS)
@pytest.mark.parametrize("k", CUTOFFS)
def test_convention_equals_recometrics(theirs, k):
    """All metrics of each user, and the options for truncated metrics."""
    metric, choice = RECOMETRICS[theirs]

    values = evaluate(factor_cases.draw_case(), metric.format(k=k), f"recometrics{choice}")

    expected = np.array(RECORD["recometrics"][theirs.format(k=k)], "f8")
    assert values == pytest.approx(expected, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("theirs", RECOMETRICS)
def test_ties_are_the_mean_of_recometrics_orders(theirs):
    """The expectation over ties equals recometrics' mean over 1,000 seeds of its noise, up to their spread."""
    metric, choice = RECOMETRICS[theirs]

    values = evaluate(factor_cases.draw_tied_case(), metric.format(k=5), f"recometrics{choice}")

    expected = np.array(RECORD["recometrics_tied"][theirs.format(k=5)], "f8")
    assert values == pytest.approx(expected, abs=5 * 0.5 / np.sqrt(1000), nan_ok=True)
    assert np.nanmean(values) == pytest.approx(np.nanmean(expected), abs=5 * 0.5 / np.sqrt(1000 * len(values)))


@pytest.mark.parametrize("theirs", LIGHTFM)
@pytest.mark.parametrize("k", CUTOFFS)
def test_convention_equals_lightfm(theirs, k):
    """All metrics of each user with relevant items."""
    case = factor_cases.draw_case()

    values = evaluate(case, LIGHTFM[theirs].format(k=k), "lightfm")

    has_relevant = case.labels.any(axis=1)
    assert np.isnan(values[~has_relevant]).all()
    assert values[has_relevant] == pytest.approx(RECORD["lightfm"][theirs.format(k=k)], rel=1e-6)  # float32


@pytest.mark.parametrize("theirs", LIGHTFM)
@pytest.mark.parametrize("k", CUTOFFS)
def test_ties_equal_lightfms(theirs, k):
    """Items with the score of a relevant item are ranked above it, where relevant items have different scores."""
    case = factor_cases.draw_tied_case()
    has_relevant = case.labels.any(axis=1)
    is_told_apart = [
        len(set(scores[row > 0])) == (row > 0).sum()
        for row, scores in zip(case.labels[has_relevant], case.scores[has_relevant], strict=True)
    ]
    assert sum(is_told_apart) >= 3

    values = evaluate(case, LIGHTFM[theirs].format(k=k), "lightfm")[has_relevant]

    recorded = np.array(RECORD["lightfm_tied"][theirs.format(k=k)])
    assert values[is_told_apart] == pytest.approx(recorded[is_told_apart], rel=1e-6)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("k", CUTOFFS)
@pytest.mark.parametrize("theirs", SENTENCE_TRANSFORMERS)
def test_convention_equals_sentence_transformers(theirs, k, tied):
    """Means over the queries with relevant documents, with ties ordered by ids."""
    case = factor_cases.draw_tied_case() if tied else factor_cases.draw_case()
    qrels = {
        str(user): {f"{item:02}": int(label) for item, label in enumerate(row) if label}
        for user, row in enumerate(case.labels)
    }
    run = {
        str(user): {f"{item:02}": float(score) for item, score in enumerate(row)}
        for user, row in enumerate(case.scores)
    }

    metric = f"{SENTENCE_TRANSFORMERS[theirs]}@{k}"
    (mean,) = fn.evaluate(qrels, run, metric, convention="sentence_transformers").means()

    recorded = RECORD["sentence_transformers_tied" if tied else "sentence_transformers"]
    assert mean == pytest.approx(recorded[f"{theirs}@{k}"], rel=1e-12)

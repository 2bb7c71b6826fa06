"""Helpers for tests that run both the kernels and the reference."""

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.kernels.ranking.rank import AUTO, COUNT, SELECT, SORT
from fastndcg.metrics.metric import parse_metrics
from fastndcg.rankings.rankings import Rankings

STRATEGIES = {"auto": AUTO, "count": COUNT, "select": SELECT, "sort": SORT}
EVALUATE = pytest.mark.parametrize("evaluate", [fn.evaluate, fn.reference.evaluate], ids=["kernels", "reference"])


def exactly(value):
    return pytest.approx([value], rel=1e-14, abs=0, nan_ok=True)


def rank_labels(labels, unretrieved):
    pool = (labels + unretrieved, [0, len(labels) + len(unretrieved)])
    return Rankings(labels, [-rank for rank in range(len(labels))], [0, len(labels)], pool=pool)


def rank_groups(groups):
    labels = [label for group in groups for label in group]
    scores = [-place for place, group in enumerate(groups) for _ in group]
    return labels, scores


def assert_equals_reference(truth, metrics, convention, predictions=None, **layout):
    """
    Check that fn.evaluate and the reference give the same values and counts.

    Both functions must raise an error for ties if a metric has no average over tied scores.
    """
    asked = parse_metrics(metrics)
    if convention.ties == "average" and any("average" not in metric.record.ties for metric in asked):
        as_deep = [fn.Metric("num_ret", one.k or (None if one.record.has_cutoff else 99999)) for one in asked]
        slow = fn.reference.evaluate(truth, predictions, as_deep, convention=convention, **layout)
        if slow.n_tied:
            for evaluate in (fn.evaluate, fn.reference.evaluate):
                with pytest.raises(fn.InvalidInputError, match="must not tie"):
                    evaluate(truth, predictions, metrics, convention=convention, **layout)
            return
    ours = fn.evaluate(truth, predictions, metrics, convention=convention, **layout)
    slow = fn.reference.evaluate(truth, predictions, metrics, convention=convention, **layout)
    cancels = "keep" in repr(convention)  # gains of both signs may add up to almost nothing
    np.testing.assert_allclose(ours.values, slow.values, rtol=1e-12, atol=1e-12 if cancels else 0)
    np.testing.assert_allclose(ours.means(), slow.means(), rtol=1e-12, atol=1e-12 if cancels else 0)
    assert list(ours.query_ids) == list(slow.query_ids)
    assert (ours.n_tied, ours.n_missing_in_run, ours.n_missing_in_qrels) == (
        slow.n_tied, slow.n_missing_in_run, slow.n_missing_in_qrels,
    )  # fmt: skip

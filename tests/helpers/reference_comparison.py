"""Comparison of fn.evaluate with the slow reference."""

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.kernels.ranking.rank import AUTO, COUNT, SELECT, SORT
from fastndcg.metrics.metric import parse_metrics

STRATEGIES = {"auto": AUTO, "count": COUNT, "select": SELECT, "sort": SORT}


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

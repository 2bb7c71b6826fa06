"""The exact line search: step functions of metrics against the twin, the engine, and brute force."""

import contextlib
import itertools
from fractions import Fraction

import numpy as np
import pytest
from fusion_cases import draw_case, judge
from refusals import refused
from twins.fusion_steps import compute_steps, find_steps

import fastndcg as fn
from fastndcg.errors import InvalidInputError
from fastndcg.fusion.tuning import line_search
from fastndcg.fusion.tuning.line_search import search_line
from fastndcg.metrics.families import records_of

CHOICES = ("ties=input", "ties=id_ascending", "ties=best", "ties=worst", "ties=input_reversed", "negative_labels=keep",
           "unjudged=removed", "pool=retrieved", "missing_in_qrels=undefined")  # fmt: skip
CONVENTIONS = ("default", "trec_eval", *(f"default({choice})" for choice in CHOICES))
METRICS = [
    "ndcg@3", "ndcg", "ap", "rr", "p@2", "r@2", "success@1", "err@4", "rbp", "Q", "auc", "Rprec",
    "nDCG(gain=exp2)@4",
]  # fmt: skip


def list_middles(steps):
    edges = np.unique(np.concatenate([[0.0], steps.starts, [1.0]]))
    return np.array([(low + high) / 2 for low, high in itertools.pairwise(edges) if high - low > 1e-9])


def check_equals_engine(qrels, run, x, y, metric, convention):
    """Compare the function with the engine for the fused scores of each interval, bit by bit."""
    judged = judge(qrels, run, metric, convention)
    own_x = x[judged.rows]
    own_y = y[judged.rows]
    steps = search_line(judged, own_x, own_y, threads=1)
    middles = list_middles(steps)
    values = steps.look_up(middles)
    for place, weight in enumerate(middles):
        expected = judged.evaluate(weight * own_x + (1 - weight) * own_y, 1)
        np.testing.assert_array_equal(values[:, place], expected)
    weight = middles[len(middles) // 2]
    queries = np.repeat(run.queries.names(), np.diff(run.offsets)).tolist()
    fused = fn.Run(queries, run.documents.names().tolist(), weight * x + (1 - weight) * y)
    public = fn.evaluate(qrels, fused, metric, convention=convention)
    np.testing.assert_array_equal(values[:, len(middles) // 2], public.values[:, 0])


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_step_function_equals_the_engine_to_the_bit(convention):
    for place, metric in enumerate(METRICS):
        case = draw_case(place, is_coarse=place % 2 == 0, unit=1 - place % 3 / 4)
        check_equals_engine(*case, metric, convention)


def test_step_function_equals_the_engine_for_every_metric():
    n_compared = 0
    for record in records_of("evaluate"):
        metric = fn.Metric(record.name)
        with contextlib.suppress(InvalidInputError):
            check_equals_engine(*draw_case(3, n_queries=3), metric, "default(negative_labels=zero)")
            n_compared += 1
    assert n_compared >= 25


def test_step_function_equals_the_twin():
    for seed in range(6):
        for metric in ("ndcg@3", "ap", "rr"):
            qrels, run, x, y = draw_case(seed, n_queries=2, most=7, is_coarse=seed % 2 == 0)
            judged = judge(qrels, run, metric, "default(pool=retrieved)")
            own_x = x[judged.rows]
            own_y = y[judged.rows]
            steps = search_line(judged, own_x, own_y, threads=1)
            expected = compute_steps(judged.rankings, own_x, own_y, judged.metric, judged.convention)
            for query, intervals in enumerate(expected):
                middles = np.array([float((low + high) / 2) for low, high, _ in intervals])
                values = steps.look_up(middles)[query]
                np.testing.assert_allclose(values, [value for _, _, value in intervals], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("convention", ["default", "default(ties=id_ascending)", "default(ties=best)"])
def test_many_documents_below_the_depth_change_no_value(convention):
    for is_coarse in (False, True):
        qrels, run, x, y = draw_case(31, n_queries=2, most=70, is_coarse=is_coarse)
        for metric in ("ndcg@3", "p@1", "ap@5"):
            check_equals_engine(qrels, run, x, y, metric, convention)


def test_steps_are_at_the_crossings():
    """A document with (1, 0) and one with (0, 3) cross at 3/4: 1 w = 3 (1 - w)."""
    assert find_steps([1.0, 0.0], [0.0, 3.0]) == [0, Fraction(3, 4), 1]
    qrels = fn.Qrels({"q": {"a": 1}})
    run = fn.Run({"q": {"a": 1.0, "b": 0.5}})
    judged = judge(qrels, run, "rr")
    steps = search_line(judged, np.array([1.0, 0.0]), np.array([0.0, 3.0]))
    assert steps.starts.tolist() == pytest.approx([0.0, 3 / 4], abs=1e-15)
    assert steps.values.tolist() == [1 / 2, 1.0]


@pytest.mark.parametrize("metric", ["ndcg@3", "ap"])
def test_memory_and_threads_change_no_bit(metric, monkeypatch):
    """Small buffers stop and go on, divide the weights of one query, and give the same function."""
    qrels, run, x, y = draw_case(5, n_queries=9, most=40)
    judged = judge(qrels, run, metric)
    whole = search_line(judged, x[judged.rows], y[judged.rows], threads=1)
    threaded = search_line(judged, x[judged.rows], y[judged.rows], threads=3)
    monkeypatch.setattr(line_search, "N_EVENTS", 1)
    monkeypatch.setattr(line_search, "N_RANKINGS", 7)
    monkeypatch.setattr(line_search, "N_HITS", 1)
    small = search_line(judged, x[judged.rows], y[judged.rows], threads=1)
    for other in (threaded, small):
        np.testing.assert_array_equal(other.starts, whole.starts)
        np.testing.assert_array_equal(other.values, whole.values)
        np.testing.assert_array_equal(other.offsets, whole.offsets)


def test_best_interval_is_not_below_10_001_weights():
    """Brute force over a grid never finds a better mean than the search."""
    for seed in range(3):
        qrels, run, x, y = draw_case(seed + 20, n_queries=12, most=12)
        judged = judge(qrels, run, "ndcg@5")
        own_x = x[judged.rows]
        own_y = y[judged.rows]
        steps = search_line(judged, own_x, own_y)
        best = steps.find_best(np.zeros(judged.n_queries, "i4"), np.ones((1, 1), "u1"))[0]
        grid = np.linspace(0.0, 1.0, 10_001)[1:-1]
        values = steps.look_up(grid)
        assert np.nanmean(values, axis=0).max() <= best.mean + 1e-15
        for place in range(0, len(grid), 500):
            expected = judged.evaluate(grid[place] * own_x + (1 - grid[place]) * own_y, 1)
            np.testing.assert_array_equal(values[:, place], expected)
        at_middle = judged.evaluate(best.middle * own_x + (1 - best.middle) * own_y, 1)
        assert fn.Results(at_middle[:, None], (judged.metric,), None, judged.convention).means()[0] == best.mean


def test_sums_of_folds_equal_the_sums_of_their_queries():
    qrels, run, x, y = draw_case(31, n_queries=15, most=12)
    judged = judge(qrels, run, "ndcg@5")
    steps = search_line(judged, x[judged.rows], y[judged.rows])
    folds = np.arange(judged.n_queries, dtype="i4") % 3
    sets = np.array([[1, 1, 0], [0, 1, 1]], "u1")
    for chosen, interval in zip(sets, steps.find_best(folds, sets), strict=True):
        alone = search_line(judged, x[judged.rows], y[judged.rows], queries=chosen[folds] == 1)
        assert alone.find_best(folds, chosen[None])[0] == interval
        assert (np.diff(alone.offsets)[chosen[folds] == 0] == 1).all()  # others have no steps


def test_metric_that_reads_more_is_refused():
    qrels, run, _, _ = draw_case(1)
    for metric in ("Judged@5", "alpha_nDCG@5", "gm(ap)"):
        refused(r"`metric` must .* Take a metric such as ndcg@10", judge, qrels, run, metric)
    refused(r"score_dtype='as given'", judge, qrels, run, "ndcg@5", "default(score_dtype=float32)")

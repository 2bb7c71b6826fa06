"""Tests of Polars' expressions: equal to `evaluate` to the bit, without copies, lazy and eager."""

import operator

import numpy as np
import pytest
from refusals import refuses

import fastndcg as fn
from fastndcg.inputs.arrays import read_ragged
from fastndcg.integrations.polars import evaluate_lists, metric, metrics

pl = pytest.importorskip("polars")
pytest.importorskip("pyarrow")

RANDOM = np.random.default_rng(8)
SIZES = RANDOM.integers(0, 12, 2000)
OFFSETS = np.cumsum([0, *SIZES])
LABELS = RANDOM.integers(0, 4, OFFSETS[-1])
SCORES = RANDOM.integers(0, 30, OFFSETS[-1]) / 8  # some are tied
SPANS = list(zip(OFFSETS[:-1].tolist(), OFFSETS[1:].tolist(), strict=True))
FRAME = pl.DataFrame(
    {
        "query": np.arange(2000),
        "label": [LABELS[start:stop] for start, stop in SPANS],
        "score": [SCORES[start:stop] for start, stop in SPANS],
    }
)
METRICS = "ndcg@10, map, P(rel=2)@5, bpref"
RESULT = fn.evaluate(LABELS, SCORES, METRICS, offsets=OFFSETS)


def test_one_metric_equals_evaluate():
    """The column has the metric's name and evaluate's bits. Undefined values are null, so that means agree."""
    column = FRAME.select(metric("ndcg@10", "label", "score"))["nDCG@10"]
    np.testing.assert_array_equal(column.to_numpy(), RESULT["ndcg@10"])
    assert column.null_count() == RESULT.n_undefined()[0] > 0
    assert column.mean() == pytest.approx(RESULT.means()[0], rel=1e-12)


def test_several_metrics_equal_evaluate():
    columns = FRAME.select(metrics(METRICS, pl.col("label"), pl.col("score")).struct.unnest())
    assert columns.columns == [str(one) for one in RESULT.metrics]
    np.testing.assert_array_equal(columns.to_numpy(), RESULT.values)


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_lazy_frames_equal_evaluate(engine):
    lazy = FRAME.lazy().with_columns(metric("map", "label", "score")).select("query", "AP")
    assert lazy.collect_schema() == {"query": pl.Int64, "AP": pl.Float64}
    column = lazy.collect(engine=engine).sort("query")["AP"]
    np.testing.assert_array_equal(column.to_numpy(), RESULT["map"])


def test_rows_are_grouped_before():
    rows = (
        FRAME.filter(pl.col("label").list.len() > 0).explode("label", "score").sample(fraction=1, shuffle=True, seed=1)
    )
    lists = rows.group_by("query").agg("label", "score").sort("query")
    values = lists.select("query", metric("ndcg@10", "label", "score"))
    expected = RESULT["ndcg@10"][values["query"].to_numpy()]
    np.testing.assert_array_equal(values["nDCG@10"].to_numpy(), expected)


@pytest.mark.parametrize("dtype", ["Int8", "UInt32", "Float32", "Boolean"])
def test_types_of_labels(dtype):
    labels = FRAME["label"].list.eval(pl.element() > 1).cast(pl.List(getattr(pl, dtype)))
    frame = FRAME.with_columns(label=labels)
    values = frame.select(metric("map", "label", "score")).to_series().to_numpy()
    np.testing.assert_array_equal(values, fn.evaluate(LABELS > 1, SCORES, "map", offsets=OFFSETS)["map"])


def test_arrays_of_one_size_are_lists():
    frame = pl.DataFrame({"y": [[0, 1], [1, 0]], "s": [[0.5, 0.1], [0.2, 0.1]]})
    arrays = frame.cast({"y": pl.Array(pl.Int64, 2), "s": pl.Array(pl.Float64, 2)})
    assert arrays.select(metric("rr", "y", "s")).to_series().to_list() == [0.5, 1.0]


def test_lists_are_read_in_place(monkeypatch):
    addresses = []

    def evaluate(labels, scores, *rest):
        addresses.extend(read_ragged(column, "lists").values.ctypes.data for column in (labels, scores))
        return np.zeros((len(labels), 1))

    monkeypatch.setattr("fastndcg.integrations.polars.evaluate_lists", evaluate)
    FRAME.select(metric("rr", "label", "score"))
    assert addresses == [read_ragged(FRAME[name], "lists").values.ctypes.data for name in ("label", "score")]


def test_empty_frames_have_no_values():
    empty = FRAME.clear()
    assert empty.select(metric("rr", "label", "score")).schema == {"RR": pl.Float64}
    found = empty.select(metrics("rr, map", "label", "score").struct.unnest())
    assert found.schema == {"RR": pl.Float64, "AP": pl.Float64}
    assert evaluate_lists([], [], (fn.RR,), fn.conventions["default"], None).shape == (0, 1)


def test_conventions_decide():
    frame = pl.DataFrame({"y": [[0, 0]], "s": [[0.5, 0.1]]})
    values = [frame.select(metric("ndcg", "y", "s", convention=name)).item() for name in ("default", "lightgbm")]
    assert values == [None, 1.0]


test_bad_lists_are_errors = refuses(lambda y, s: pl.DataFrame({"y": y, "s": s}).select(metric("ndcg", "y", "s")), [
    ([[1, 0]], [[0.5]], "list 0 has 1 and not 2"),
    ([[1, None]], [[0.5, 0.1]], "`labels` must have no null, but a number of list 0 is null"),
    ([[1], None], [[0.5], [0.5]], "`labels` must have no null, but list 1 is null"),
    ([[1], [1]], [[0.5], None], "`scores` must have no null, but list 1 is null"),
    ([[1]], [[float("nan")]], "`scores` must not be NaN"),
    ([1], [0.5], "`labels` must be a column of lists, one list per query, but its type is Int64"),
    ([["a"]], [[0.5]], "`labels` must hold numbers"),
], error=Exception)  # fmt: skip


test_bad_expressions_are_errors = refuses(operator.call, [
    (lambda: metric("rr, map", "y", "s"), "`metric` must be one metric, got 2: RR, AP"),
    (lambda: metrics("gm(AP)", "y", "s"), r"values for single queries, not gm\(AP\). Take AP"),
    (lambda: metric("rr", [1], "s"), r"`labels` must be the name of a column or an expression, not \[1\]"),
    (lambda: metric("rr", "y", FRAME["score"]), "`scores` must be the name of a column or an expression"),
    (lambda: metric("rr", "y", "s", threads=0), "`threads`"),
], error=fn.FastndcgError)  # fmt: skip

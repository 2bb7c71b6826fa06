"""Results: columns, means, the table in print and in a notebook, and the ways out."""

import numpy as np
import pytest
from refusals import refused, refuses

import fastndcg as fn

LABELS, SCORES = [[1, 0, 2], [0, 0, 0], [0, 1, 0]], [[3, 2, 1], [1, 2, 3], [5, 5, 5]]
RESULT = fn.evaluate(LABELS, SCORES, "ndcg@2,rr,num_rel")
QRELS, RUN = {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 0}}, {"a": {"x": 1}, "c": {"x": 1}, "d": {"x": 1}}
WITH_IDS = fn.evaluate(QRELS, RUN, "map,rr")


def test_values_and_columns():
    assert RESULT.values.shape == (3, 3)
    assert RESULT.values.dtype == np.float64
    assert RESULT.metrics == (fn.nDCG @ 2, fn.RR, fn.num_rel)
    assert len(RESULT) == 3
    for name in ("rr", "RR", "mrr", "recip_rank", fn.RR):
        assert RESULT[name].tolist() == pytest.approx([1, 0, (1 + 1 / 2 + 1 / 3) / 3], rel=1e-15)
    assert RESULT["ndcg_cut_2"] is not None
    assert RESULT.query_ids.tolist() == [0, 1, 2]
    assert WITH_IDS.query_ids.tolist() == ["a", "b", "c"]


test_columns_that_are_not_there = refuses(RESULT.__getitem__, [
    ("ndcg@3", "these results have no nDCG@3. Did you mean 'nDCG@2'[?] They have nDCG@2, RR, num_rel"),
    (fn.AP, "these results have no AP.*They have nDCG@2, RR, num_rel"),
    ("ndgc", "no metric is called 'ndgc'. Did you mean 'ndcg'[?]"),
    (0, "a column of results is named by a text or a Metric, not int"),
    (np.array([1]), "a column of results is named by a text or a Metric, not ndarray"),
])  # fmt: skip


def test_results_means():
    assert RESULT.mean() == {"nDCG@2": np.nanmean(RESULT["ndcg@2"]), "RR": RESULT["rr"].sum() / 3, "num_rel": 1.0}
    assert RESULT.n_undefined().tolist() == [1, 0, 0]
    nothing = fn.evaluate([[0, 0]], [[1, 2]], "map,rr").mean()
    assert np.isnan(nothing["AP"])
    assert nothing["RR"] == 0
    assert all(np.isnan(mean) for mean in fn.evaluate([], [], "map,rr", offsets=[0]).means())


def test_a_result_of_one_metric_is_a_number():
    """Its mean, of an aggregate too; several metrics have no single mean."""
    labels, scores = [[1, 0], [0, 1]], [[2, 1], [2, 1]]
    stream = fn.StreamingEvaluator("rr").update(labels, scores)
    assert float(fn.evaluate(labels, scores, "rr")) == float(stream.result()) == 0.75
    assert float(fn.evaluate(labels, scores, "median(rr)")) == 0.75
    refused(
        r"`result` must have one metric .* got 2: RR, P@1\. Take result\.mean",
        float,
        fn.evaluate(labels, scores, "rr, p@1"),
    )


def test_results_text():
    assert str(RESULT).splitlines() == [
        "metric     mean  queries  undefined", f"nDCG@2   {RESULT.means()[0]:.4f}        3          1",
        f"RR       {RESULT.means()[1]:.4f}        3          0", "num_rel  1.0000        3          0",
        "convention default; ties average, in 1 of 3 queries between different labels",
    ]  # fmt: skip
    assert repr(RESULT) == str(RESULT)
    assert str(WITH_IDS).splitlines()[-2:] == [
        "judged queries missing in the run: 1 (zero)",
        "queries of the run missing in the qrels: 1 (skip)",
    ]


def test_ties_that_matter():
    assert fn.evaluate([[1, 1, 0, 0]], [[2, 2, 1, 1]], "rr").n_tied == 0
    assert fn.evaluate([[1, 0, 0, 0]], [[2, 2, 1, 1]], "rr").n_tied == 1
    assert fn.evaluate([[1, 0, 1, 0]], [[4, 3, 1, 1]], "rr@2").n_tied == 0
    assert fn.evaluate([[1, 0, 1, 0]], [[4, 3, 1, 1]], "rr@3").n_tied == 1


def test_notebook_table():
    table = RESULT._repr_html_()
    assert table.startswith(
        "<table><thead><tr><th style='text-align:left'>metric</th><th style='text-align:right'>mean</th>"
    )
    assert table.count("<tr>") == 1 + 3 + 1
    assert ">nDCG@2</td>" in table
    assert "convention default; ties average, in 1 of 3 queries" in table
    convention = fn.Convention("<b>&mine</b>")
    assert "&lt;b&gt;&amp;mine&lt;/b&gt;" in fn.evaluate([[1]], [[1]], "rr", convention=convention)._repr_html_()


def test_results_to_dict():
    rows = WITH_IDS.to_dict()
    assert rows["a"] == {"AP": 1.0, "RR": 1.0}
    assert rows["b"] == {"AP": 0.0, "RR": 0.0}
    assert np.isnan(rows["c"]["AP"])
    by_number = fn.evaluate([1, 0], [1, 2], "rr", query_ids=np.array([7, 3])).to_dict()
    assert by_number == {7: {"RR": 1.0}, 3: {"RR": 0.0}}
    assert {type(query) for query in by_number} == {int}


def test_ids_that_are_equal_are_no_keys():
    """A dict would lose a query in silence."""
    result = fn.evaluate(fn.Rankings([1, 1], [1, 2], [0, 1, 2], query_ids=["a", "a"]), metrics="rr")
    assert result.query_ids.tolist() == ["a", "a"]
    refused("`query_ids` must differ to be keys of a dict, but some are equal", result.to_dict)


RESULTS = {
    "numbers": RESULT, "texts": WITH_IDS, "fixed texts": fn.evaluate([1, 0], [1, 2], "rr", query_ids=["q1", "q2"]),
    "no query": fn.evaluate([], [], "rr,map", offsets=[0]),
}  # fmt: skip


FRAMES = {  # of each package: the columns of its frame
    "pandas": lambda result: result.to_pandas().reset_index().to_dict("list"),
    "polars": lambda result: result.to_polars().to_dict(as_series=False),
    "pyarrow": lambda result: result.to_arrow().to_pydict(),
}


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("package", FRAMES)
def test_frames(name, package):
    pytest.importorskip(package)
    result = RESULTS[name]
    columns = FRAMES[package](result)
    assert list(columns) == ["query", *map(str, result.metrics)]
    assert columns["query"] == result.query_ids.tolist()
    for metric in result.metrics:
        np.testing.assert_array_equal(columns[str(metric)], result[metric])


def test_weighted_means():
    result = fn.evaluate([[1, 0], [0, 1], [0, 0]], [[2, 1]] * 3, "rr,map")
    assert result.mean([1, 2, 3]) == {"RR": (1 * 1 + 2 / 2 + 3 * 0) / 6, "AP": (1 * 1 + 2 / 2) / 3}
    assert result.mean(np.array([True, False, True])) == {"RR": (1 + 0) / 2, "AP": 1}
    assert result.means([1, 1, 1]) == result.means()
    assert np.isnan(result.means([0, 0, 5])[1])


test_weights_that_are_refused = refuses(RESULT.mean, [
    ([1, 2], r"`weights` must have one value for each of the 3 queries, but its shape is \(2,\)"),
    (3, r"one value for each of the 3 queries, but its shape is \(\)"),
    (["a", "b", "c"], "`weights` must be numbers, not <U1"),
    ([1, -1, 0], r"`weights` must be finite and not negative, at most 1e\+100, but that of query 1 is -1"),
    ([1, 1e308, 0], "but that of query 1 is 1e\\+308"),
    ([1, np.nan, 0], "`weights` must not be NaN, but that of query 1 is"),
    ([1, 0, np.inf], "but that of query 2 is inf"), ([0, 0, 0], "`weights` must not all be 0"),
    ({0: 1, 1: 1}, "query 2 has none"),
])  # fmt: skip

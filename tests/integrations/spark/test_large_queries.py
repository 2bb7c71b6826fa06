"""split_above: queries whose rows are counted in many tasks, with the bits of one machine."""

import importlib
import random

import numpy as np
import pytest
from spark_sessions import PYSPARK_WARNINGS

import fastndcg as fn

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

pytestmark = [pytest.mark.peers, *(pytest.mark.filterwarnings(warning) for warning in PYSPARK_WARNINGS)]

METRICS = "ndcg@10, ap, rr, p@5, auc, recall@100, rbp, err@20"
LARGE = (3, 7)  # queries with over 3,000 rows


def draw_rows(dtype="f4", n=20_000):
    """Return rows with tied scores. Two queries are large, one of them without anything relevant."""
    random = np.random.default_rng(0)
    queries = np.where(random.random(n) < 0.3, LARGE[0], random.integers(10, 200, n))
    queries[: n // 5] = LARGE[1]
    labels = random.integers(0, 4, n) * (random.random(n) < 0.05) * (queries != LARGE[1])
    scores = random.integers(0, 300, n).astype(dtype) - 100
    return pd.DataFrame({"query": queries, "document": random.permutation(n), "label": labels, "score": scores})


@pytest.mark.parametrize("ties", ["average", "best", "worst"])
@pytest.mark.parametrize("dtype", ["f4", "i8"])
def test_split_queries_equal_one_machine(session, spark, ties, dtype):
    """Means, counts and intervals have the bits of one machine, with large queries split."""
    rows = draw_rows(dtype)
    convention = f"default(ties={ties})"
    expected = fn.evaluate(rows, metrics=METRICS, convention=convention)
    frame = session.createDataFrame(rows).repartition(5)

    result = spark.evaluate(frame, METRICS, split_above=3000, convention=convention)

    assert result.means() == expected.means()
    assert str(result) == str(expected)
    assert result.n_tied == expected.n_tied
    for metric in expected.metrics:
        assert result.confidence_interval(metric) == expected.confidence_interval(metric)


def test_values_of_split_queries(session, spark):
    """The DataFrame of values has the split queries, too, and text ids."""
    rows = draw_rows()
    rows["query"] = "q" + rows["query"].astype(str)
    expected = fn.evaluate(rows, metrics=METRICS)

    values = spark.evaluate(session.createDataFrame(rows), METRICS, split_above=3000, per_query=True).collect()

    found = {row[0]: [np.nan if value is None else value for value in row[1:]] for row in values}
    assert len(values) == len(found) == len(expected)
    np.testing.assert_array_equal([found[query] for query in expected.query_ids.tolist()], expected.values)


def test_rows_of_split_queries_are_not_shuffled(session, spark, monkeypatch):
    """The task that evaluates whole queries gets no row of a large one."""
    module = importlib.import_module("fastndcg.integrations.spark.evaluate")
    collect_parts = module.collect_parts
    queries = []

    def collect(data, task):
        queries.extend(row[0] for row in data.select("query").distinct().collect())
        return collect_parts(data, task)

    monkeypatch.setattr(module, "collect_parts", collect)
    spark.evaluate(session.createDataFrame(draw_rows()), "rr", split_above=3000)
    assert sorted(queries) == sorted({*queries} - {*LARGE})


def test_small_queries_are_not_split(session, spark):
    """Queries with fewer rows stay whole, and large ones with many labelled documents are an error."""
    rows = draw_rows()
    expected = fn.evaluate(rows, metrics="ndcg@10")
    frame = session.createDataFrame(rows)
    module = importlib.import_module("fastndcg.integrations.spark.large_queries")

    assert spark.evaluate(frame, "ndcg@10", split_above=10**6).means() == expected.means()
    columns = importlib.import_module("fastndcg.integrations.spark.columns").read_scored(frame, {}, None)
    assert module.find_large_queries(frame, columns, 10**6) is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_LABELLED", 100)
        with pytest.raises(fn.InvalidInputError, match=r"at most .* with 100 labelled documents"):
            module.find_large_queries(frame, columns, 3000)
        assert module.find_large_queries(frame[frame["query"] != LARGE[0]], columns, 3000).ids.tolist() == [LARGE[1]]


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"score": "IF(id = 17, NULL, score)"}, {}, "column 'score' must have no null, but has one for query 'q1'"),
        ({"query": "IF(id = 17, NULL, query)"}, {}, "column 'query' must have no null, but has one"),
        ({"label": "IF(id = 17, NULL, label)"}, {}, "column 'label' must have no null, but has one for query 'q1'"),
        ({"score": "IF(id = 17, double('nan'), score)"}, {}, "`scores` must not be NaN, but one of query 'q1' is nan"),
        ({"label": "IF(id = 17, -1, label)"}, {}, r"`labels` must not be negative, but .* \(query q1\) is -1"),
        ({"label": "IF(id = 17, double('nan'), label)"}, {}, r"`labels` must not be NaN, but .* \(query q1\) is nan"),
        ({"document": "'d1'"}, {}, "a document must stand once in a query, but document d1 of query q0 is in 25 rows"),
        ({}, {"order": "document"}, "`split_above` must be left out for ties='average' or with `order`"),
        ({}, {"convention": "default(ties=id_ascending)"}, "`split_above` must be left out for ties='id_ascending'"),
        ({}, {"convention": "default(unjudged=removed)"}, "`split_above` must be left out for convention"),
        ({}, {"metrics": "bpref"}, "`split_above` must be left out for bpref"),
        ({}, {"split_above": 0}, "`split_above` must be at least 1, got 0"),
    ],
)  # fmt: skip
def test_wrong_rows_of_split_queries(session, spark, change, options, message):
    """Errors of the rows of large queries are raised on the driver, and what cannot be counted is refused."""
    columns = {"query": "concat('q', id % 2)", "document": "string(id)", "label": "int(id % 2)", "score": "double(id)"}
    frame = session.range(50).selectExpr("id", *(f"{text} AS {name}" for name, text in columns.items()))
    frame = frame.selectExpr(*(f"{change.get(name, name)} AS {name}" for name in columns))

    with pytest.raises(fn.InvalidInputError, match=message):
        spark.evaluate(frame, **{"metrics": "rr", "split_above": 20, **options})


def test_split_above_is_for_rows(session, spark):
    """Judgments with a run, lists, and values that are no number are refused."""
    frame = session.range(3).selectExpr("id AS query", "id AS document", "id AS label", "id AS score")
    with pytest.raises(fn.InvalidInputError, match="`split_above` must be left out for judgments and a run"):
        spark.evaluate(frame.drop("score"), frame.drop("label"), "rr", split_above=2)
    lists = frame.selectExpr("query", "array(label) AS label", "array(score) AS score")
    with pytest.raises(fn.InvalidInputError, match="`split_above` must be left out for columns of lists"):
        spark.evaluate(lists, "rr", split_above=2)
    with pytest.raises(fn.InvalidTypeError, match="`split_above` must be a whole number, got True"):
        spark.evaluate(frame, "rr", split_above=True)


def test_the_driver_gets_as_much_for_any_number_of_queries(session, spark, monkeypatch):
    """The bytes that tasks send to the driver do not grow with the data."""
    module = importlib.import_module("fastndcg.integrations.spark.evaluate")
    add_up_parts = module.add_up_parts
    sizes = []

    def add_up(rows):
        sizes.append(sum(len(bytes(row["part"])) for row in rows))
        return add_up_parts(rows)

    monkeypatch.setattr(module, "add_up_parts", add_up)
    for n_queries in (100, 10_000):
        frame = session.range(10 * n_queries).selectExpr(
            f"id % {n_queries} AS query", "int(rand(1) < 0.3) AS label", "rand(2) AS score"
        )
        spark.evaluate(frame, "ndcg@10, ap", partitions=4)
    assert sizes[1] <= sizes[0] + 64  # digits of counts in the header of each part


def test_rows_that_change_are_an_error(session, spark):
    """Rows that Spark draws anew in each job are an error of split queries, which names one."""
    from pyspark.sql import functions

    draw = functions.udf(lambda: random.SystemRandom().random(), "double").asNondeterministic()
    rows = session.range(3000).withColumn("x", draw()).withColumn("y", draw())
    columns = {"rows": ("int(2 * x)", "0"), "labelled documents": ("0", "int(2 * y)")}
    for what, (query, label) in columns.items():
        frame = rows.selectExpr(f"{query} AS query", f"{label} AS label", "y AS score")
        with pytest.raises(fn.InvalidInputError, match=f"same rows in each job .* had .* {what} in one job"):
            spark.evaluate(frame, "rr", split_above=1000)
    frame = (
        session.range(3000).withColumn("x", draw()).selectExpr("0 AS query", "int(id % 9 = 0) AS label", "x AS score")
    )
    with pytest.raises(fn.InvalidInputError, match="had 334 labelled documents in one job and"):
        spark.evaluate(frame, "rr", split_above=1000)

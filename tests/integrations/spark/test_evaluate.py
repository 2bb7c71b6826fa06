"""spark.evaluate and spark.compare on two cores: the bits of one machine, and errors of the data."""

import numpy as np
import pytest
from spark_sessions import PYSPARK_WARNINGS

import fastndcg as fn

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

pytestmark = [pytest.mark.peers, *(pytest.mark.filterwarnings(warning) for warning in PYSPARK_WARNINGS)]

METRICS = "ndcg@10, ap, rr, p@5"
COMPARED = f"{METRICS}, success@1"  # values of 0 and 1, too
PARTITIONS = (1, 7, 64)


def draw_rows(n=6000, n_queries=150, seed=3):
    random = np.random.default_rng(seed)
    queries = np.where(np.arange(n) == 0, n_queries, random.integers(0, n_queries, n))
    labels = random.integers(0, 4, n) * (random.random(n) < 0.2) * (queries % 9 > 0)
    columns = {"user": queries, "item": random.permutation(n), "clicked": labels}
    return pd.DataFrame(columns | {"prediction": random.random(n).round(2), "place": random.permutation(n)})


NAMES = {"query": "user", "document": "item", "label": "clicked", "score": "prediction"}


def check_same(result, expected):
    assert result.means() == expected.means()
    assert result.n_undefined().tolist() == expected.n_undefined().tolist()
    for name in ("n_tied", "n_missing_in_run", "n_missing_in_qrels"):
        assert getattr(result, name) == getattr(expected, name), name
    assert len(result) == len(expected)
    assert str(result) == str(expected)
    for metric in expected.metrics:
        for method in ("auto", "t"):
            interval = expected.confidence_interval(metric, method=method)
            assert result.confidence_interval(metric, method=method) == interval


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_rows_equal_one_machine(session, spark, partitions):
    rows = draw_rows()
    expected = fn.evaluate(rows, metrics=METRICS, columns=NAMES)
    frame = session.createDataFrame(rows.sample(frac=1, random_state=partitions)).repartition(5)
    result = spark.evaluate(frame, METRICS, **NAMES, partitions=partitions)
    check_same(result, expected)


@pytest.mark.parametrize("convention", ["trec_eval", "lightgbm", "default(ties=id_ascending)", "default(undefined=0)"])
def test_conventions_are_those_of_one_machine(session, spark, convention):
    rows = draw_rows()
    expected = fn.evaluate(rows.sort_values("place"), metrics="ndcg@10, ap", columns=NAMES, convention=convention)
    frame = session.createDataFrame(rows)
    result = spark.evaluate(frame, "ndcg@10, ap", **NAMES, convention=convention, order="place")
    check_same(result, expected)


def test_rows_beyond_the_memory_go_to_a_file(session, spark):
    rows = draw_rows(60_000)
    expected = fn.evaluate(rows, metrics=METRICS, columns=NAMES)
    result = spark.evaluate(session.createDataFrame(rows), METRICS, **NAMES, partitions=1, memory="1MB")
    check_same(result, expected)


def test_rows_in_whole_queries_are_not_shuffled(session, spark):
    rows = draw_rows()
    frame = session.createDataFrame(rows).repartition(3, "user")
    expected = fn.evaluate(rows, metrics=METRICS, columns=NAMES)
    check_same(spark.evaluate(frame, METRICS, **NAMES, has_whole_queries=True), expected)
    with pytest.raises(fn.InvalidInputError, match="`has_whole_queries` must be left out for judgments"):
        spark.evaluate(frame, frame, METRICS, query="user", document="item", label="clicked", score="prediction",
                       has_whole_queries=True)  # fmt: skip


def test_lists_need_no_shuffle(session, spark):
    rows = draw_rows()
    lists = rows.groupby("user").agg({"clicked": list, "prediction": list, "item": list}).reset_index()
    expected = fn.evaluate(lists, metrics=METRICS, columns=NAMES)
    frame = session.createDataFrame(lists).repartition(6)
    check_same(spark.evaluate(frame, METRICS, **NAMES), expected)
    per_query = spark.evaluate(frame, METRICS, **NAMES, per_query=True)
    plan = per_query._jdf.queryExecution().executedPlan().toString()
    assert plan.count("Exchange") == frame._jdf.queryExecution().executedPlan().toString().count("Exchange")


def test_values_of_queries(session, spark):
    rows = draw_rows()
    expected = fn.evaluate(rows, metrics=METRICS, columns=NAMES)
    frame = session.createDataFrame(rows).selectExpr("SMALLINT(user) AS user", "item", "clicked", "prediction")
    values = spark.evaluate(frame, METRICS, **NAMES, per_query=True)
    assert [(field.name, field.dataType.simpleString()) for field in values.schema] == [
        ("user", "smallint"), ("nDCG@10", "double"), ("AP", "double"), ("RR", "double"), ("P@5", "double"),
    ]  # fmt: skip
    by_query = {row[0]: [float("nan") if value is None else value for value in row[1:]] for row in values.collect()}
    found = np.array([by_query[query] for query in expected.query_ids.tolist()])
    assert np.array_equal(found, expected.values, equal_nan=True)
    assert len(by_query) == len(expected)


def test_ties_by_order_need_a_column(session, spark):
    rows = draw_rows()
    frame = session.createDataFrame(rows)
    convention = "default(ties=input)"
    expected = fn.evaluate(rows.sort_values("place"), metrics=METRICS, columns=NAMES, convention=convention)
    result = spark.evaluate(frame, METRICS, **NAMES, convention=convention, order="place")
    check_same(result, expected)
    with pytest.raises(fn.InvalidInputError, match="`order` must name a column for ties='input'"):
        spark.evaluate(frame, METRICS, **NAMES, convention=convention)
    with pytest.raises(fn.InvalidInputError, match="`order` must give each document of a query another place"):
        spark.evaluate(frame, METRICS, **NAMES, convention=convention, order="clicked")


def draw_pairs():
    """Return judgments and two runs with ids of texts. Some queries are on one side only."""
    rows = draw_rows().rename(columns={"user": "query", "item": "document", "clicked": "label", "prediction": "score"})
    rows = rows.assign(query="q" + rows["query"].astype(str), document=rows["document"].astype(str))
    judged = rows.sample(frac=0.6, random_state=1)
    judged = judged[judged["query"] != "q7"]
    old = rows[rows["query"] != "q8"].sample(frac=0.7, random_state=2)
    new = rows.sample(frac=0.8, random_state=3)
    new = new.assign(score=new["score"] + new["label"] * 0.1)
    return judged[["query", "document", "label"]], {"old": old, "new": new}


@pytest.mark.parametrize(
    "convention", ["default", "trec_eval_c", "default(missing_in_run=skip, missing_in_qrels=undefined)"]
)
@pytest.mark.parametrize("partitions", [1, 64])
def test_pairs_equal_one_machine(session, spark, convention, partitions):
    judged, runs = draw_pairs()
    expected = fn.evaluate(judged, runs["old"], METRICS, convention=convention)
    result = spark.evaluate(
        session.createDataFrame(judged), session.createDataFrame(runs["old"]), METRICS, convention=convention,
        partitions=partitions,
    )  # fmt: skip
    check_same(result, expected)


def check_row(ours, theirs):
    """Check that two rows are the same to the bit, but for wins, ties and losses that parts do not have."""
    unknown = {name for name in ("wins", "ties", "losses") if np.isnan(getattr(ours, name))}
    assert len(unknown) in (0, 3)
    for name in set(ours._fields) - unknown:
        assert repr(getattr(ours, name)) == repr(getattr(theirs, name)), name


@pytest.mark.parametrize("interval", ["auto", "t"])
def test_comparisons_equal_one_machine(session, spark, interval):
    judged, runs = draw_pairs()
    with pytest.raises(fn.InvalidInputError, match="`interval` must be 'auto' or 't' for data in parts"):
        spark.compare(session.createDataFrame(judged), {"a": None, "b": None}, "rr", interval="percentile")
    expected = fn.compare(judged, runs, COMPARED, baseline="new", interval=interval, test="t")
    frames = {name: session.createDataFrame(run) for name, run in runs.items()}
    result = spark.compare(
        session.createDataFrame(judged), frames, COMPARED, baseline="new", interval=interval, partitions=7
    )
    assert len(result) == len(expected.rows)
    for ours, theirs in zip(result, expected.rows, strict=True):
        check_row(ours, theirs)
    assert "paired t test" in str(result)


@pytest.mark.parametrize("interval", ["auto", "t"])
def test_differences_that_are_all_equal_have_no_p_value(session, spark, interval):
    """Each query has 1 in one system, and 1/2 in the other. The row has the reason, and is that of fn.compare."""
    queries = [f"q{i}" for i in range(6)]
    judged = pd.DataFrame({"query": queries, "document": "a", "label": 1})
    first = pd.DataFrame({"query": queries, "document": "a", "score": 1.0})
    second = pd.concat([first, pd.DataFrame({"query": queries, "document": "b", "score": 2.0})])
    expected = fn.compare(judged, {"one": first, "half": second}, "rr", interval=interval, test="t").rows[1]
    result = spark.compare(
        session.createDataFrame(judged),
        {"one": session.createDataFrame(first), "half": session.createDataFrame(second)},
        "rr", interval=interval, partitions=3,
    )  # fmt: skip
    row = result[1]
    assert row.difference == -1 / 2
    assert np.isnan(row.p)
    assert np.isnan(row.p_corrected)
    assert not row.significant
    assert "are equal, so their spread is 0" in row.reason  # the interval t names its own remedy
    check_row(row, expected)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"score": "IF(id = 17, NULL, score)"}, {}, "column 'score' must have no null, but has one for query 'q2'"),
        ({"query": "IF(id = 17, NULL, query)"}, {}, "column 'query' must have no null, but has one"),
        ({"score": "IF(id = 17, double('nan'), score)"}, {}, r"`scores` must not be NaN, but .* \(query q2\) is nan"),
        ({"label": "IF(id = 17, -1, label)"}, {}, r"`labels` must not be negative, but .* \(query q2\) is -1"),
        ({"document": "'d1'"}, {}, "a document must stand once in a query, but document d1 of query q"),
        ({"score": "string(score)"}, {}, "column 'score' of `truth` must hold numbers, but its type is string"),
        ({"query": "score"}, {}, "column 'query' of `truth` must hold texts or whole numbers"),
        ({}, {"score": "points"}, "`score` must name a column of `truth`, which has .*, not 'points'"),
        ({}, {"order": "points"}, "`order` must name a column of `truth`, which has .*, not 'points'"),
        ({}, {"metrics": "median(rr)"}, r"median\(RR\) needs the values of single queries"),
    ],
)  # fmt: skip
def test_wrong_rows(session, spark, change, options, message):
    columns = {"query": "concat('q', id % 5)", "document": "string(id)", "label": "int(id % 2)", "score": "double(id)"}
    frame = session.range(50).selectExpr("id", *(f"{text} AS {name}" for name, text in columns.items()))
    frame = frame.selectExpr(*(f"{change.get(name, name)} AS {name}" for name in columns))
    with pytest.raises(fn.InvalidInputError, match=message):
        spark.evaluate(frame, **{"metrics": "rr", **options})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": "concat('x', query)"}, "qrels and run must have a query in common, but have none"),
        ({"document": "'d1'"}, "the run: a document must stand once in a query, but document d1 of query q"),
        ({"score": "double('nan')"}, "score of document .* of query q. must not be NaN"),
        ({"score": "IF(document = '7', NULL, score)"}, "'score' of the run must have no null, but has .* query 'q2'"),
        ({"document": "int(document)"}, "ids of document must have one type, but are texts in the qrels"),
    ],
)  # fmt: skip
def test_wrong_pairs(session, spark, change, message):
    frame = session.range(50).selectExpr("concat('q', id % 5) AS query", "string(id) AS document", "id % 2 AS label")
    columns = ("query", "document", "score")
    run = frame.selectExpr("query", "document", "double(document) AS score")
    run = run.selectExpr(*(f"{change.get(name, name)} AS {name}" for name in columns))
    with pytest.raises(fn.InvalidInputError, match=message):
        spark.evaluate(frame, run, "rr")
    with pytest.raises(fn.InvalidInputError, match=message):
        spark.compare(frame, {"a": run, "b": run}, "rr")


def test_wrong_arguments(session, spark):
    frame = session.range(3).selectExpr("id AS query", "id AS document", "id AS label")
    run = session.range(3).selectExpr("id AS query", "id AS document", "id AS score")
    with pytest.raises(fn.InvalidTypeError, match=r"`truth` must be a DataFrame of Spark 3\.5 or later, not DataFrame"):
        spark.evaluate(draw_rows(), "rr")
    with pytest.raises(fn.InvalidInputError, match=r"must have one column of label ids .* Give label=NAME"):
        spark.evaluate(run, "rr")
    with pytest.raises(fn.InvalidInputError, match="`partitions` must be a whole number of 1 or more"):
        spark.evaluate(frame, run, "rr", partitions=0)
    with pytest.raises(fn.InvalidInputError, match="`systems` must have two systems or more, got 1"):
        spark.compare(frame, {"a": run}, "rr")
    with pytest.raises(fn.InvalidInputError, match="`baseline` must be the name of a system, got 'c'"):
        spark.compare(frame, {"a": run, "b": run}, "rr", baseline="c")


def test_tasks_take_their_cpus(session, spark, monkeypatch):
    import pyspark

    from fastndcg.integrations.spark import partitions

    def report_cpus(batches):
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"cpus": pa.array([partitions.count_cpus()], "int32")})

    assert {row[0] for row in session.range(4).mapInArrow(report_cpus, "cpus int").collect()} == {1}
    monkeypatch.setattr(partitions, "check_threads", lambda threads: 8)
    for n_cpus, expected in ((2, 2), (16, 8)):
        task = type("Task", (), {"cpus": lambda self, n=n_cpus: n})()
        monkeypatch.setattr(pyspark.TaskContext, "get", classmethod(lambda cls, task=task: task))
        assert partitions.count_cpus() == expected


def test_whole_numbers_beyond_float64_are_not_rounded(session, spark):
    """Scores that are whole numbers keep their order beyond 2**53. Such labels are an error, as on one machine."""
    n = 50
    documents = {"query": np.arange(n) % 5, "document": np.arange(n)}
    qrels = pd.DataFrame(documents | {"label": (np.arange(n) % 7 == 0).astype(int)})
    run = pd.DataFrame(documents | {"score": np.arange(n) + 2**53})
    frame = session.createDataFrame(qrels)
    check_same(spark.evaluate(frame, session.createDataFrame(run), "rr"), fn.evaluate(qrels, run, "rr"))
    wide = frame.selectExpr("query", "document", f"label + {2**53} AS label")
    scores = session.createDataFrame(run.assign(score=0.5))
    with pytest.raises(fn.InvalidInputError, match=r"label of document .* must be finite"):
        spark.evaluate(wide, scores, "rr")


def test_no_rows(session, spark):
    frame = session.createDataFrame([], "query string, label int, score double")
    expected = fn.evaluate(pa.table({"query": pa.array([], "string"), "label": pa.array([], "int32"),
                                     "score": pa.array([], "float64")}), metrics="rr")  # fmt: skip
    assert str(spark.evaluate(frame, "rr")) == str(expected)


def test_wrong_data_fail_no_task(session, spark):
    frame = session.createDataFrame([("q", 1, float("nan"))], "query string, label int, score double")
    session.sparkContext.setJobGroup("wrong", "wrong data")
    with pytest.raises(fn.InvalidInputError):
        spark.evaluate(frame, "rr")
    tracker = session.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup("wrong")]
    stages = [tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds]
    assert [stage.numFailedTasks for stage in stages if stage] == [0] * len([stage for stage in stages if stage])
    assert {job.status for job in jobs} == {"SUCCEEDED"}

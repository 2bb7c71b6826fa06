"""spark.evaluate and spark.compare on two cores: the bits of one machine, columns as it reads them, errors of data."""

import numpy as np
import pytest
from needed_packages import skip_without
from refusals import refused
from spark_sessions import PYSPARK_WARNINGS, start_session

import fastndcg as fn

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

pytestmark = [pytest.mark.peers, *(pytest.mark.filterwarnings(warning) for warning in PYSPARK_WARNINGS)]

METRICS = "ndcg@10, ap, rr, p@5"
COMPARED = f"{METRICS}, success@1"  # values of 0 and 1, too
PARTITIONS = (1, 7, 64)


@pytest.fixture(scope="module")
def session():
    skip_without("pyspark")
    return start_session()


@pytest.fixture(scope="module")
def spark(session):
    from fastndcg.integrations import spark

    return spark


def draw_rows(n=6000, n_queries=150, seed=3):
    random = np.random.default_rng(seed)
    queries = np.where(np.arange(n) == 0, n_queries, random.integers(0, n_queries, n))
    labels = random.integers(0, 4, n) * (random.random(n) < 0.2) * (queries % 9 > 0)
    columns = {"user": queries, "item": random.permutation(n), "clicked": labels}
    return pd.DataFrame(columns | {"prediction": random.random(n).round(2), "place": random.permutation(n)})


@pytest.fixture(scope="module")
def rows():
    return draw_rows()


@pytest.fixture(scope="module")
def frame(session, rows):
    return session.createDataFrame(rows)


NAMES = {"query": "user", "document": "item", "label": "clicked", "score": "prediction"}


def check_same(result, expected):
    assert result.means() == expected.means()
    assert result.n_undefined().tolist() == expected.n_undefined().tolist()
    for name in ("n_tied", "n_missing_in_run", "n_missing_in_qrels"):
        assert getattr(result, name) == getattr(expected, name), name
    assert len(result) == len(expected)
    lines = [line for line in str(expected).splitlines() if not line.startswith("Judged")]  # tasks send no shares
    assert str(result).splitlines() == lines
    for metric in expected.metrics:
        for method in ("auto", "t"):
            interval = expected.confidence_interval(metric, method=method)
            assert result.confidence_interval(metric, method=method) == interval


def evaluate_here(rows, **options):
    return fn.evaluate(fn.Rows(rows, columns=NAMES), **{"metrics": METRICS} | options)


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_rows_equal_one_machine(session, spark, rows, partitions):
    frame = session.createDataFrame(rows.sample(frac=1, random_state=partitions)).repartition(5)
    check_same(spark.evaluate(frame, METRICS, **NAMES, partitions=partitions), evaluate_here(rows))


def test_frames_on_this_machine(rows, frame):
    """By the Arrow stream of Spark 4.2 and later, and by narwhals for others."""
    from fastndcg.inputs import rare_tables

    expected = evaluate_here(rows).values.tobytes()
    assert evaluate_here(frame).values.tobytes() == expected
    source = rare_tables.open_by_narwhals(frame, "truth")
    assert len(source.names) == 5
    assert evaluate_here(source.read_whole(list(NAMES.values()), "truth")).values.tobytes() == expected


@pytest.mark.parametrize("convention", [
    "trec_eval", "lightgbm", "default(ties=id_ascending)", "default(undefined=0)", "default(ties=input)",
])  # fmt: skip
def test_conventions_are_those_of_one_machine(spark, rows, frame, convention):
    expected = evaluate_here(rows.sort_values("place"), convention=convention)
    check_same(spark.evaluate(frame, METRICS, **NAMES, convention=convention, order="place"), expected)


def test_rows_beyond_the_memory_go_to_a_file(session, spark):
    rows = draw_rows(60_000)
    result = spark.evaluate(session.createDataFrame(rows), METRICS, **NAMES, partitions=1, memory="1MB")
    check_same(result, evaluate_here(rows))


def test_rows_in_whole_queries_are_not_shuffled(spark, rows, frame):
    result = spark.evaluate(frame.repartition(3, "user"), METRICS, **NAMES, has_whole_queries=True)
    check_same(result, evaluate_here(rows))
    message = "`has_whole_queries` must be left out for judgments"
    refused(message, spark.evaluate, frame, frame, METRICS, **NAMES, has_whole_queries=True)


def test_lists_need_no_shuffle(session, spark, rows):
    lists = rows.groupby("user").agg({"clicked": list, "prediction": list, "item": list}).reset_index()
    frame = session.createDataFrame(lists).repartition(6)
    check_same(spark.evaluate(frame, METRICS, **NAMES), evaluate_here(lists))
    per_query = spark.evaluate(frame, METRICS, **NAMES, per_query=True)
    plan = per_query._jdf.queryExecution().executedPlan().toString()
    assert plan.count("Exchange") == frame._jdf.queryExecution().executedPlan().toString().count("Exchange")


def test_values_of_queries(spark, rows, frame):
    expected = evaluate_here(rows)
    frame = frame.selectExpr("SMALLINT(user) AS user", "item", "clicked", "prediction")
    values = spark.evaluate(frame, METRICS, **NAMES, per_query=True)
    assert [(field.name, field.dataType.simpleString()) for field in values.schema] == [
        ("user", "smallint"), ("nDCG@10", "double"), ("AP", "double"), ("RR", "double"), ("P@5", "double"),
    ]  # fmt: skip
    by_query = {row[0]: [float("nan") if value is None else value for value in row[1:]] for row in values.collect()}
    found = np.array([by_query[query] for query in expected.query_ids.tolist()])
    assert np.array_equal(found, expected.values, equal_nan=True)
    assert len(by_query) == len(expected)


def test_ties_by_order_need_a_column(spark, frame):
    for order, message in (
        ({}, "`order` must name a column for ties='input'"),
        ({"order": "clicked"}, "`order` must give each document of a query another place"),
    ):
        refused(message, spark.evaluate, frame, METRICS, **NAMES, convention="default(ties=input)", **order)


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
    pair = judged, runs["old"]
    options = {"metrics": METRICS, "convention": convention}
    result = spark.evaluate(*map(session.createDataFrame, pair), **options, partitions=partitions)
    check_same(result, fn.evaluate(*pair, **options))


def check_row(ours, theirs):
    """Check that two rows are the same to the bit, but for wins, ties and losses that parts do not have."""
    unknown = {name for name in ("wins", "ties", "losses") if np.isnan(getattr(ours, name))}
    assert len(unknown) in (0, 3)
    for name in set(ours._fields) - unknown:
        assert repr(getattr(ours, name)) == repr(getattr(theirs, name)), name


@pytest.mark.parametrize(("interval", "alternative"), [("auto", "two-sided"), ("t", "greater"), ("auto", "less")])
def test_comparisons_equal_one_machine(session, spark, interval, alternative):
    """Also of metrics whose lower values are better, among them one of 0 and 1, and of one without direction."""
    metrics = f"{COMPARED}, rank, unjudged@1" + (", num_ret" if alternative == "two-sided" else "")
    judged, runs = draw_pairs()
    options = {"baseline": "new", "interval": interval, "alternative": alternative}
    expected = fn.compare(judged, runs, metrics, test="t", **options)
    given = session.createDataFrame(judged), {name: session.createDataFrame(run) for name, run in runs.items()}
    result = spark.compare(*given, metrics, **options, partitions=7)
    refused("`interval` must be 'auto' or 't' for data in parts", spark.compare, *given, "rr", interval="percentile")
    refused("a one-sided test must have metrics of", spark.compare, *given, "num_ret", alternative="less")
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
    frames = {name: session.createDataFrame(run) for name, run in (("one", first), ("half", second))}
    result = spark.compare(session.createDataFrame(judged), frames, "rr", interval=interval, partitions=3)
    row = result[1]
    assert row.difference == -1 / 2
    assert np.isnan(row.p)
    assert np.isnan(row.p_corrected)
    assert not row.significant
    assert "are equal, so their spread is 0" in row.reason  # the interval t names its own remedy
    check_row(row, expected)


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
    refused(r"label of document .* must be finite", spark.evaluate, wide, scores, "rr")


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


TWO = "ndcg@5, ap"
PAIR = {"query": "id % 5", "document": "id", "label": "int(id % 2)", "score": "double(id % 7)"}


def draw_places(n=400):
    random = np.random.default_rng(1)
    columns = {"query": random.integers(0, 20, n), "document": np.arange(n), "label": random.integers(0, 3, n)}
    return pd.DataFrame(columns | {"score": random.random(n).round(1), "place": random.permutation(n)})


def make_frame(session, n=50, **changes):
    columns = {**PAIR, **changes}
    return session.range(n).selectExpr(*(f"{text} AS {name}" for name, text in columns.items()))


def collect(frame):
    return sorted(tuple(row) for row in frame.collect())


def test_names_with_dots_and_back_ticks(session, spark):
    rows = draw_places()
    ending = ".b`c d"
    names = {role: role + ending for role in ("query", "document", "label", "score")}
    frame = session.createDataFrame(rows.rename(columns={**names, "place": f"place{ending}"}))
    convention = "default(ties=input)"
    expected = fn.evaluate(rows.sort_values("place"), metrics=TWO, convention=convention)
    result = spark.evaluate(frame, TWO, **names, order=f"place{ending}", convention=convention)
    values = spark.evaluate(frame, TWO, **names, per_query=True)
    assert result.means() == expected.means()
    assert values.columns[0] == names["query"]
    wrong = frame.where("false").union(session.sql("SELECT 1L, 1L, 1L, NULL, 1L"))
    refused(f"column 'score{ending}' must have no null, but has one for query 1", spark.evaluate, wrong, TWO, **names)


def test_ranks_are_negative_scores(session, spark):
    rows = draw_places()
    qrels = rows[["query", "document", "label"]]
    run = rows.assign(rank=rows.groupby("query")["score"].rank("first").astype(int))[["query", "document", "rank"]]
    scores = rows[["query", "document", "score"]]
    frames = [session.createDataFrame(table) for table in (qrels, run, scores)]
    expected = fn.evaluate(qrels, run, TWO)
    result = spark.evaluate(*frames[:2], TWO)
    comparison = spark.compare(frames[0], {"ranks": frames[1], "scores": frames[2]}, TWO)
    assert result.means() == expected.means()
    assert result.n_tied == 0
    both = fn.compare(qrels, {"ranks": run, "scores": scores}, TWO, test="t", interval="t")
    assert [row.mean for row in comparison] == [row.mean for row in both.rows]
    for pair, message in (
        ("rank + 1 AS rank", "ranks must be 1, 2, 3 and so on in each query"),
        ("NULLIF(rank, 2) AS rank", "column 'rank' of the run must have no null"),
    ):
        refused(message, spark.evaluate, frames[0], frames[1].selectExpr("query", "document", pair), TWO)
    ranked = make_frame(session).withColumnRenamed("score", "rank")
    refused("column 'rank' has ranks, and a higher score is better", spark.evaluate, ranked, TWO)


@pytest.mark.parametrize("form", ["rows", "pairs"])
@pytest.mark.parametrize(("place", "error", "message"), [
    ("IF(id = 17, double('nan'), id)", fn.InvalidInputError, "`order` must not be NaN, but .* of query 2 is nan"),
    ("IF(id = 17, NULL, id)", fn.InvalidInputError, "column 'place'.* must have no null, but has one for query 2"),
    ("IF(id % 10 = 0, IF(id = 0, 0D, -0D), id + 1)", fn.InvalidInputError, "but two of query 0 have"),
    ("named_struct('a', id)", fn.InvalidTypeError, "must name a column of numbers, .* type struct<a:bigint>"),
    ("map(1, id)", fn.InvalidTypeError, "`order` must name a column of numbers, .* type map<int,bigint>"),
])  # fmt: skip
def test_wrong_orders(session, spark, form, place, error, message):
    frame = make_frame(session, place=place)
    data = [frame] if form == "rows" else [frame.drop("score", "place"), frame.drop("label")]
    refused(message, spark.evaluate, *data, metrics=TWO, order="place", convention="default(ties=input)", error=error)


def test_orders_under_reserved_words(session, spark):
    frame = make_frame(session)
    session.conf.set("spark.sql.ansi.enforceReservedKeywords", "true")
    try:
        result = spark.evaluate(frame.drop("score"), frame.drop("label"), TWO, order="document")
    finally:
        session.conf.unset("spark.sql.ansi.enforceReservedKeywords")
    assert len(result) == 5


def test_query_ids_of_two_widths(session, spark):
    frame = make_frame(session, query="int(id % 5)")
    run = make_frame(session, query="IF(id % 5 = 4, 10000000000, id % 5)").drop("label")
    values = spark.evaluate(frame.drop("score"), run, "rr", per_query=True,
                            convention="default(missing_in_qrels=undefined)")  # fmt: skip
    assert values.schema["query"].dataType.simpleString() == "bigint"
    assert [row[0] for row in collect(values.where("RR IS NOT NULL"))] == [0, 1, 2, 3, 4]
    assert [row[0] for row in values.where("RR IS NULL").collect()] == [10**10]


def test_texts_with_a_collation_are_compared_by_bytes(session, spark):
    """Ids that a collation takes for equal are two, as on one machine."""
    pyspark = pytest.importorskip("pyspark")
    if int(pyspark.__version__.partition(".")[0]) < 4:
        pytest.skip("Collations need Spark 4 or later")
    plain = make_frame(session, query="IF(id % 2 = 0, 'a', 'A')", document="IF(id % 4 < 2, 'b', 'B') || (id div 4)")
    collated = plain.selectExpr("query COLLATE UTF8_LCASE AS query", "document COLLATE UTF8_LCASE AS document",
                                "label", "score")  # fmt: skip
    expected = spark.evaluate(plain, TWO)
    for data in ([collated], [collated.drop("score"), plain.drop("label")]):
        assert spark.evaluate(*data, metrics=TWO).means() == expected.means()
    ordered = spark.evaluate(collated, TWO, order="document", convention="default(ties=input)", partitions=1)
    assert ordered.means() == spark.evaluate(plain, TWO, order="document", convention="default(ties=input)").means()


def test_custom_metrics_are_refused(session, spark):
    def count_labels(labels, above, ties, ideal, n_relevant, n_documents, k):
        return float(len(labels))

    texts = dict.fromkeys(("title", "formula", "source"), "of this test")
    own = fn.register(count_labels, name="SparkOwn", range="0 or more", **texts)
    frame = make_frame(session)
    pairs = frame.drop("score"), frame.drop("label")
    convention = "default(ties=best)"
    for evaluate in (
        lambda: spark.evaluate(frame, [own], convention=convention),
        lambda: spark.evaluate(frame, [own @ 3], convention=convention, per_query=True),
        lambda: spark.compare(pairs[0], {"a": pairs[1], "b": pairs[1]}, [own], convention=convention),
    ):
        refused(r"SparkOwn.* was registered in this process, which executors lack", evaluate)


def test_errors_in_lists_name_the_query(session, spark):
    columns = "query int, label array<int>, score array<double>, document array<string>"
    good = (1, [1, 0], [0.1, 0.2], ["a", "b"])
    wrong = {
        "same number of labels as scores in each row, but the row of query 7 has 1 and 2": (7, [1], [0.1, 0.2], ["a"]),
        "column 'label' has one in the row of query 7": (7, [1, None], [0.1, 0.2], ["a", "b"]),
        "document a of query 7 is in places 0 and 1 of the row of query 7": (7, [1, 0], [0.1, 0.2], ["a", "a"]),
        "query 1 has two rows": good,
    }
    for message, row in wrong.items():
        frame = session.createDataFrame([good, row], columns).coalesce(1)
        refused(message, spark.evaluate, frame, "rr")


@pytest.mark.parametrize(("change", "options", "message"), [
    ({"score": "IF(id = 17, NULL, id)"}, {}, "column 'score' must have no null, but has one for query 2"),
    ({"query": "IF(id = 17, NULL, id)"}, {}, "column 'query' must have no null, but has one"),
    ({"score": "IF(id = 17, double('nan'), id)"}, {}, r"`scores` must not be NaN, but .* \(query 2\) is nan"),
    ({"label": "IF(id = 17, -1, 1)"}, {}, r"`labels` must not be negative, but .* \(query 2\) is -1"),
    ({"document": "'d1'"}, {}, "a document must stand once in a query, but document d1 of query "),
    ({"score": "string(id)"}, {}, "column 'score' of `truth` must hold numbers, but its type is string"),
    ({"query": "double(id)"}, {}, "column 'query' of `truth` must hold texts or whole numbers"),
    ({"subtopic": "1"}, {}, "`truth` must have no subtopics, but column 'subtopic'"),
    ({}, {"score": "points"}, "`score` must name a column of `truth`, which has .*, not 'points'"),
    ({}, {"order": "points"}, "`order` must name a column of `truth`, which has .*, not 'points'"),
    ({}, {"metrics": "median(rr)"}, r"median\(RR\) needs the values of single queries"),
])  # fmt: skip
def test_wrong_rows(session, spark, change, options, message):
    refused(message, spark.evaluate, make_frame(session, **change), **{"metrics": "rr", **options})


@pytest.mark.parametrize(("change", "message"), [
    ({"query": "id + 100"}, "qrels and run must have a query in common, but have none"),
    ({"query": "string(id)"}, "ids of query must have one type, but are "),
    ({"document": "string(id)"}, "ids of document must have one type, but are "),
    ({"document": "0"}, "the run: a document must stand once in a query, but document 0 of query . is in two rows"),
    ({"score": "double('nan')"}, "the run: score of document .* of query . must not be NaN"),
    ({"score": "IF(id = 17, NULL, id)"}, "column 'score' of the run must have no null, but has one for query 2"),
    ({"score": "string(id)"}, "column 'score' of `(run|predictions)` must hold numbers"),
])  # fmt: skip
def test_wrong_pairs(session, spark, change, message):
    """A comparison names the system."""
    frame, run = make_frame(session), make_frame(session, **change).drop("label")
    qrels, systems = frame.drop("score"), {"a": frame.drop("label"), "b": run}
    refused(message, spark.evaluate, qrels, run, "rr", error=fn.FastndcgError)
    refused(f"system 'b': {message}", spark.compare, qrels, systems, "rr", error=fn.FastndcgError)


def test_errors_of_arguments(session, spark):
    frame = make_frame(session)
    qrels, run, other = frame.drop("score"), frame.drop("label"), draw_places()
    for message, call, *arguments in (
        (r"`truth` must be a DataFrame of Spark 3\.5 or later, not DataFrame", spark.evaluate, other, "rr"),
        (r"system 'b': `run` must be a DataFrame of Spark", spark.compare, qrels, {"a": run, "b": other}, "rr"),
        (r"`predictions` must be a DataFrame of Spark .*, not DataFrame", spark.evaluate, qrels, other),
        (r"`predictions` must be .*, not str\. Give all metrics as one text", spark.evaluate, frame, "ap", "ndcg"),
    ):
        refused(message, call, *arguments, error=fn.InvalidTypeError)
    message = "system 'b': `run` must have one column of score ids or values"
    refused(message, spark.compare, qrels, {"a": run, "b": run.drop("score")}, "rr")
    refused(r"must have one column of label ids .* Give label=NAME", spark.evaluate, run, "rr")
    refused("`partitions` must be a whole number of 1 or more", spark.evaluate, qrels, run, "rr", partitions=0)
    refused("`systems` must have two systems or more, got 1", spark.compare, qrels, {"a": run}, "rr")
    message = "`baseline` must be the name of a system, got 'c'"
    refused(message, spark.compare, qrels, {"a": run, "b": run}, "rr", baseline="c")
    for name in (["query"], frame["query"]):
        message = r"`query` must be the name of a column, not (list|Column)"
        refused(message, spark.evaluate, frame, "ap", query=name, error=fn.InvalidTypeError)
    refused(r"must have a column of scores, .* or pass a run", spark.evaluate, qrels, "ap")
    assert len(spark.evaluate(frame, iter(["ap", "ndcg"])).metrics) == 2


def test_values_of_queries_are_not_kept(session, spark):
    import pickle

    result = spark.evaluate(make_frame(session), "rr")
    assert isinstance(result, fn.Summary)
    message = r"were not kept\. Take spark\.evaluate\(\.\.\., per_query=True\)"
    for read in (lambda: result.values, lambda: result.query_ids, lambda: result["rr"]):
        refused(message, read, error=(AttributeError, TypeError))
    assert str(pickle.loads(pickle.dumps(result))) == str(result)


def test_notes_are_those_of_one_machine(session, spark):
    """Distances rank ascending, no label reaches 1, and the run lacks a query."""
    judged = pd.DataFrame({"query": [1, 1, 2, 3], "document": list("abab"), "label": [0.5, 0.0, 0.2, 0.4]})
    run = pd.DataFrame({"query": [1, 1, 2, 4], "document": list("abba"), "_distance": [3, 1, 2, 2]})
    frames, columns = [session.createDataFrame(data) for data in (judged, run)], {"score": "_distance"}
    for partitions in (1, 5):
        expected = fn.evaluate(fn.Qrels(judged, columns=columns), fn.Run(run, columns=columns), "rr, ndcg")
        result = spark.evaluate(*frames, "rr, ndcg", score="_distance", partitions=partitions)
        assert len(expected.notes) == 2
        check_same(result, expected)
        systems = {"a": frames[1], "b": frames[1].filter("query > 1")}
        notes = spark.compare(frames[0], systems, "rr, ndcg", score="_distance", partitions=partitions).notes
        assert {*expected.notes, "a: judged queries missing in the run: 1 (zero)",
                "b: judged queries missing in the run: 2 (zero)"} < {*notes}  # fmt: skip
    rows = judged.assign(distance=[1, 2, 3, 4])
    expected = fn.evaluate(fn.Rows(rows, columns={"score": "distance"}), metrics="rr")
    for most in ({}, {"memory": "1KB"}):
        check_same(spark.evaluate(session.createDataFrame(rows), "rr", score="distance", **most), expected)

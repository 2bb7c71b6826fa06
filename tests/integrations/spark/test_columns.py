"""Columns of DataFrames: names, ids, ranks and orders that Spark and one machine must read alike."""

import numpy as np
import pytest
from spark_sessions import PYSPARK_WARNINGS

import fastndcg as fn

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

pytestmark = [pytest.mark.peers, *(pytest.mark.filterwarnings(warning) for warning in PYSPARK_WARNINGS)]

METRICS = "ndcg@5, ap"
PAIR = {"query": "id % 5", "document": "id", "label": "int(id % 2)", "score": "double(id % 7)"}


def draw_rows(n=400):
    random = np.random.default_rng(1)
    columns = {"query": random.integers(0, 20, n), "document": np.arange(n), "label": random.integers(0, 3, n)}
    return pd.DataFrame(columns | {"score": random.random(n).round(1), "place": random.permutation(n)})


def make_frame(session, n=50, **changes):
    columns = {**PAIR, **changes}
    return session.range(n).selectExpr(*(f"{text} AS {name}" for name, text in columns.items()))


def collect(frame):
    return sorted(tuple(row) for row in frame.collect())


def test_names_with_dots_and_back_ticks(session, spark):
    rows = draw_rows()
    ending = ".b`c d"
    names = {role: role + ending for role in ("query", "document", "label", "score")}
    frame = session.createDataFrame(rows.rename(columns={**names, "place": f"place{ending}"}))
    convention = "default(ties=input)"
    expected = fn.evaluate(rows.sort_values("place"), metrics=METRICS, convention=convention)
    result = spark.evaluate(frame, METRICS, **names, order=f"place{ending}", convention=convention)
    values = spark.evaluate(frame, METRICS, **names, per_query=True)
    assert result.means() == expected.means()
    assert values.columns[0] == names["query"]
    wrong = frame.where("false").union(session.sql("SELECT 1L, 1L, 1L, NULL, 1L"))
    with pytest.raises(
        fn.InvalidInputError, match=f"column 'score{ending}' must have no null, but has one for query 1"
    ):
        spark.evaluate(wrong, METRICS, **names)


def test_ranks_are_negative_scores(session, spark):
    rows = draw_rows()
    qrels = rows[["query", "document", "label"]]
    run = rows.assign(rank=rows.groupby("query")["score"].rank("first").astype(int))[["query", "document", "rank"]]
    scores = rows[["query", "document", "score"]]
    frames = [session.createDataFrame(table) for table in (qrels, run, scores)]
    expected = fn.evaluate(qrels, run, METRICS)
    result = spark.evaluate(*frames[:2], METRICS)
    comparison = spark.compare(frames[0], {"ranks": frames[1], "scores": frames[2]}, METRICS)
    assert result.means() == expected.means()
    assert result.n_tied == 0
    both = fn.compare(qrels, {"ranks": run, "scores": scores}, METRICS, test="t", interval="t")
    assert [row.mean for row in comparison] == [row.mean for row in both.rows]
    with pytest.raises(fn.InvalidInputError, match="ranks must be 1, 2, 3 and so on in each query"):
        spark.evaluate(frames[0], frames[1].selectExpr("query", "document", "rank + 1 AS rank"), METRICS)
    with pytest.raises(fn.InvalidInputError, match="column 'rank' of the run must have no null"):
        spark.evaluate(frames[0], frames[1].selectExpr("query", "document", "NULLIF(rank, 2) AS rank"), METRICS)
    with pytest.raises(fn.InvalidInputError, match="column 'rank' has ranks, and a higher score is better"):
        spark.evaluate(make_frame(session).withColumnRenamed("score", "rank"), METRICS)


@pytest.mark.parametrize("form", ["rows", "pairs"])
@pytest.mark.parametrize(
    ("place", "error", "message"),
    [
        ("IF(id = 17, double('nan'), id)", fn.InvalidInputError, "`order` must not be NaN, but .* of query 2 is nan"),
        ("IF(id = 17, NULL, id)", fn.InvalidInputError, "column 'place'.* must have no null, but has one for query 2"),
        ("IF(id % 10 = 0, IF(id = 0, 0D, -0D), id + 1)", fn.InvalidInputError, "but two of query 0 have"),
        ("named_struct('a', id)", fn.InvalidTypeError, "must name a column of numbers, .* type struct<a:bigint>"),
        ("map(1, id)", fn.InvalidTypeError, "`order` must name a column of numbers, .* type map<int,bigint>"),
    ],
)  # fmt: skip
def test_wrong_orders(session, spark, form, place, error, message):
    frame = make_frame(session, place=place)
    data = [frame] if form == "rows" else [frame.drop("score", "place"), frame.drop("label")]
    with pytest.raises(error, match=message):
        spark.evaluate(*data, metrics=METRICS, order="place", convention="default(ties=input)")


def test_orders_under_reserved_words(session, spark):
    frame = make_frame(session)
    session.conf.set("spark.sql.ansi.enforceReservedKeywords", "true")
    try:
        result = spark.evaluate(frame.drop("score"), frame.drop("label"), METRICS, order="document")
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
    expected = spark.evaluate(plain, METRICS)
    for data in ([collated], [collated.drop("score"), plain.drop("label")]):
        assert spark.evaluate(*data, metrics=METRICS).means() == expected.means()
    ordered = spark.evaluate(collated, METRICS, order="document", convention="default(ties=input)", partitions=1)
    assert ordered.means() == spark.evaluate(plain, METRICS, order="document", convention="default(ties=input)").means()


def test_subtopics_are_refused(session, spark):
    with pytest.raises(fn.InvalidInputError, match="`truth` must have no subtopics, but column 'subtopic'"):
        spark.evaluate(make_frame(session, subtopic="1"), METRICS)


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
        with pytest.raises(
            fn.InvalidInputError, match=r"SparkOwn.* was registered in this process, which executors lack"
        ):
            evaluate()


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
        with pytest.raises(fn.InvalidInputError, match=message):
            spark.evaluate(frame, "rr")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": "double('nan')"}, "system 'b': the run: score of document .* of query . must not be NaN"),
        ({"score": "IF(id = 17, NULL, id)"}, "system 'b': column 'score' of the run must have no null"),
        ({"document": "0"}, "system 'b': the run: a document must stand once in a query, but .* is in two rows"),
        ({"score": "string(id)"}, "system 'b': column 'score' of `run` must hold numbers"),
        ({"query": "string(id)"}, "system 'b': ids of query must have one type"),
    ],
)
def test_errors_of_comparisons_name_the_system(session, spark, change, message):
    frame = make_frame(session)
    runs = {"a": frame.drop("label"), "b": make_frame(session, **change).drop("label")}
    with pytest.raises(fn.FastndcgError, match=message):
        spark.compare(frame.drop("score"), runs, "rr")


def test_errors_of_comparisons_name_what_is_missing(session, spark):
    frame = make_frame(session)
    run = frame.drop("label")
    with pytest.raises(fn.InvalidInputError, match="system 'b': `run` must have one column of score ids or values"):
        spark.compare(frame.drop("score"), {"a": run, "b": run.drop("score")}, "rr")
    with pytest.raises(fn.InvalidTypeError, match=r"system 'b': `run` must be a DataFrame of Spark"):
        spark.compare(frame.drop("score"), {"a": run, "b": draw_rows()}, "rr")


def test_errors_of_arguments(session, spark):
    frame = make_frame(session)
    qrels = frame.drop("score")
    with pytest.raises(fn.InvalidTypeError, match=r"`predictions` must be a DataFrame of Spark .*, not DataFrame"):
        spark.evaluate(qrels, draw_rows())
    with pytest.raises(fn.InvalidTypeError, match=r"`predictions` must be .*, not str\. Give all metrics as one text"):
        spark.evaluate(frame, "ap", "ndcg")
    for name in (["query"], frame["query"]):
        with pytest.raises(fn.InvalidTypeError, match=r"`query` must be the name of a column, not (list|Column)"):
            spark.evaluate(frame, "ap", query=name)
    with pytest.raises(fn.InvalidInputError, match=r"must have a column of scores, .* or pass a run"):
        spark.evaluate(qrels, "ap")
    assert len(spark.evaluate(frame, iter(["ap", "ndcg"])).metrics) == 2


def test_values_of_queries_are_not_kept(session, spark):
    import pickle

    result = spark.evaluate(make_frame(session), "rr")
    for read in (lambda: result.values, lambda: result.query_ids, lambda: result["rr"], result.to_pandas):
        with pytest.raises(
            fn.InvalidInputError, match=r"were not kept\. Take spark\.evaluate\(\.\.\., per_query=True\)"
        ):
            read()
    assert str(pickle.loads(pickle.dumps(result))) == str(result)

"""`spark.evaluate` on two cores, against moving the rows alone, RankingMetrics, and a large query in one task."""

import os
import sys

import numpy as np
import pytest

import fastndcg as fn
from benchmarks.proof import equals

ROWS_PER_QUERY = 100
CORES = 2
TEN = "map, ndcg@1, ndcg@5, ndcg@10, p@1, p@5, p@10, recall@1, recall@5, recall@10"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "4g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "8",
}


@pytest.fixture(scope="module")
def session():
    """Yield a session on two cores, with this Python in its tasks."""
    sql = pytest.importorskip("pyspark.sql")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = sql.SparkSession.builder.master(f"local[{CORES}]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    try:
        started = builder.getOrCreate()
    except Exception as error:  # no Java
        pytest.skip(f"Spark does not start: {error}")
    started.sparkContext.setLogLevel("OFF")
    yield started
    started.stop()


def write_rows(session, folder, n_rows, n_large=0):
    """Write rows in random order to Parquet, the first `n_large` in one query, and return both readings of it."""
    import pyarrow.dataset

    n_queries = max(1, (n_rows - n_large) // ROWS_PER_QUERY)
    rows = session.range(n_rows).selectExpr(
        f"IF(id < {n_large}, -1, pmod(xxhash64(id), {n_queries})) AS query",
        f"CAST(pmod(xxhash64(id, 1), IF(id < {n_large}, 2000, 20)) = 0 AS INT) * CAST(pmod(id, 4) AS INT) AS label",
        "CAST(pmod(xxhash64(id, 3), 16777216) AS FLOAT) AS score",
    )
    path = str(folder / "rows")
    rows.write.parquet(path, mode="overwrite")
    return session.read.parquet(path), pyarrow.dataset.dataset(path).to_table()


def test_rows(race, session, tmp_path):
    """Time rows that are evaluated, against rows that are read, shuffled, sorted and passed through Python."""
    from fastndcg.integrations import spark

    frame, table = write_rows(session, tmp_path, race.size(5_000_000, 1_000))
    race.info |= {"rows": table.num_rows, "cores": CORES}

    def move():
        rows = frame.repartition("query").sortWithinPartitions("query")
        rows.mapInArrow(lambda batches: batches, frame.schema).groupBy().count().collect()

    race(
        lambda: spark.evaluate(frame, "ndcg@10, map"),
        equals(fn.evaluate(table, metrics="ndcg@10, map").means(), 1e-12, read=lambda result: result.means()),
        floors={"moving the rows": move},
    )


@pytest.mark.parametrize("metrics", ["ndcg@10", TEN], ids=["one metric", "ten metrics"])
def test_ranking_metrics(race, session, tmp_path, metrics):
    """Time lists in memory against RankingMetrics, whose lists are ready too."""
    evaluation = pytest.importorskip("pyspark.mllib.evaluation")
    from fastndcg.integrations import spark

    last = ROWS_PER_QUERY - 1
    race.info |= {"lists": race.size(20_000, 20), "documents": ROWS_PER_QUERY, "cores": CORES}
    lists = session.range(race.info["lists"]).selectExpr("id AS query", f"shuffle(sequence(0, {last})) AS found")
    lists = lists.selectExpr("query", "found", "transform(sequence(0, 9), x -> x * 7) AS liked")
    labels = "transform(found, x -> CAST(array_contains(liked, x) AS INT)) AS label"
    scores = f"transform(sequence(0, {last}), x -> CAST(-x AS FLOAT)) AS score"
    path = str(tmp_path / "lists")  # a shuffle of lists is drawn anew in each job
    lists.selectExpr("query", "found", "liked", labels, scores).write.parquet(path)
    frame = session.read.parquet(path).cache()
    frame.count()
    theirs = evaluation.RankingMetrics(frame.select("found", "liked").rdd.map(lambda row: (row[0], row[1])).cache())
    columns = frame.select("query", "label", "score")

    def compute():
        if metrics != TEN:
            return [theirs.ndcgAt(10)]
        values = [theirs.meanAveragePrecision, *(theirs.ndcgAt(k) for k in (1, 5, 10))]
        return [*values, *(theirs.precisionAt(k) for k in (1, 5, 10)), *(theirs.recallAt(k) for k in (1, 5, 10))]

    race(
        lambda: np.array(spark.evaluate(columns, metrics).means()),
        equals(compute()),
        floors={"a job of two rows": lambda: session.range(2).mapInArrow(lambda rows: rows, "id long").collect()},
        peers={"RankingMetrics": compute},
    )

"""
Spark suite: `spark.evaluate` on two cores, against moving the rows alone, and against Spark's RankingMetrics.

Rows come from a Parquet file. Moving them is the same read, shuffle and sort, with a `mapInArrow` that passes the
batches on and a count. RankingMetrics gets its lists ready in memory, so that only its passes are timed. Values are
compared with `fn.evaluate` on the same file, and with RankingMetrics, before they are timed.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import fastndcg as fn
from benchmarks.lib.suite import Options, Row, Suite, make_missing_row, make_row, measure_parts
from benchmarks.lib.timing import time_alternately

ROWS = 20_000_000
RUN_ROWS = 5_000_000
SKEWED_ROWS = 16_000_000
ROWS_PER_QUERY = 100
MOST_MOVES = 1.3
LEAST_ONE = 10
LEAST_TEN = 50
TEN = "map, ndcg@1, ndcg@5, ndcg@10, p@1, p@5, p@10, recall@1, recall@5, recall@10"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "8g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "8",
}


def start_session() -> Any:
    """Return a session on two cores, with this Python in its tasks."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def write_rows(session: Any, folder: str, n_rows: int, n_large: int = 0) -> Any:
    """Write rows in random order to Parquet, the first `n_large` in one query, and return the DataFrame."""
    n_queries = max(1, (n_rows - n_large) // ROWS_PER_QUERY)
    rows = session.range(n_rows).selectExpr(
        f"IF(id < {n_large}, -1, pmod(xxhash64(id), {n_queries})) AS query",
        f"CAST(pmod(xxhash64(id, 1), IF(id < {n_large}, 2000, 20)) = 0 AS INT) * CAST(pmod(id, 4) AS INT) AS label",
        "CAST(pmod(xxhash64(id, 3), 16777216) AS FLOAT) AS score",
    )
    path = str(Path(folder, "rows"))
    rows.write.parquet(path, mode="overwrite")
    return session.read.parquet(path)


def verify(frame: Any, folder: str, metrics: str, **options: Any) -> None:
    """Raise SystemExit if the means differ from those of `fn.evaluate` on the same files."""
    import pyarrow.dataset

    from fastndcg.integrations import spark

    expected = fn.evaluate(pyarrow.dataset.dataset(str(Path(folder, "rows"))).to_table(), metrics=metrics)
    if spark.evaluate(frame, metrics, **options).means() != expected.means():
        raise SystemExit("spark.evaluate must give the means of fn.evaluate before it is timed, but they differ")


def pass_on(batches: Iterator[Any]) -> Iterator[Any]:
    """Return the batches of a task as they are."""
    return batches


def compare_with_moving(options: Options) -> list[Row]:
    """Compare rows that are evaluated with rows that are read, shuffled, sorted and passed through Python."""
    from fastndcg.integrations import spark

    n_rows = max(1000, round(ROWS * options.scale))
    what = f"{n_rows:,} rows of Parquet"
    session = start_session()
    with tempfile.TemporaryDirectory() as folder:
        frame = write_rows(session, folder, n_rows)
        verify(frame, folder, "ndcg@10, map")

        def move() -> None:
            rows = frame.repartition("query").sortWithinPartitions("query")
            rows.mapInArrow(pass_on, frame.schema).groupBy().count().collect()

        calls: dict[str, Callable[[], Any]] = {
            "move": move,
            "evaluate": lambda: spark.evaluate(frame, "ndcg@10, map"),
            "with intervals": lambda: spark.evaluate(frame, "ndcg@10, map", interval="poisson", replicates=100),
        }
        seconds = time_alternately(calls, options.repeat)
    rate = n_rows / seconds["evaluate"] / 1e6
    return [
        make_row(
            f"{what}, nDCG@10 and AP", seconds["evaluate"] / seconds["move"], "× moving the rows", at_most=MOST_MOVES,
            detail=f"{seconds['evaluate']:.3g} s, {rate:.3g} million rows a second on two cores",
        ),
        make_row(
            f"{what}, with 100 Poisson replicates", seconds["with intervals"] / seconds["move"], "× moving the rows"
        ),
    ]  # fmt: skip


def compare_with_ranking_metrics(options: Options) -> list[Row]:
    """Compare with RankingMetrics on lists in memory. Ours reads columns of lists in memory, too."""
    from pyspark.mllib.evaluation import RankingMetrics

    from fastndcg.integrations import spark

    n_queries = max(20, round(RUN_ROWS * options.scale) // ROWS_PER_QUERY)
    session = start_session()
    shuffled = f"shuffle(sequence(0, {ROWS_PER_QUERY - 1}))"
    lists = session.range(n_queries).selectExpr("id AS query", f"{shuffled} AS found")
    lists = lists.selectExpr("query", "found", "transform(sequence(0, 9), x -> x * 7) AS liked")
    labels = "transform(found, x -> CAST(array_contains(liked, x) AS INT)) AS label"
    scores = f"transform(sequence(0, {ROWS_PER_QUERY - 1}), x -> CAST(-x AS FLOAT)) AS score"
    with tempfile.TemporaryDirectory() as folder:  # a shuffle of lists is drawn anew in each job
        lists.selectExpr("query", "found", "liked", labels, scores).write.parquet(str(Path(folder, "lists")))
        frame = session.read.parquet(str(Path(folder, "lists"))).cache()
        frame.count()
        pairs = frame.select("found", "liked").rdd.map(lambda row: (row[0], row[1])).cache()
        theirs = RankingMetrics(pairs)
        columns = frame.select("query", "label", "score")

        def compute_ten() -> list[float]:
            cutoffs = (1, 5, 10)
            values = [theirs.meanAveragePrecision, *(theirs.ndcgAt(k) for k in cutoffs)]
            return [*values, *(theirs.precisionAt(k) for k in cutoffs), *(theirs.recallAt(k) for k in cutoffs)]

        ours = spark.evaluate(columns, TEN).means()
        if not np.allclose(ours, compute_ten(), rtol=1e-9):
            raise SystemExit("RankingMetrics must give the same means before it is timed, but they differ")
        calls: dict[str, Callable[[], Any]] = {
            "ours, one": lambda: spark.evaluate(columns, "ndcg@10"),
            "theirs, one": lambda: theirs.ndcgAt(10),
            "ours, ten": lambda: spark.evaluate(columns, TEN),
            "theirs, ten": compute_ten,
            "a job": lambda: session.range(2).mapInArrow(pass_on, "id long").collect(),  # a count has a second job
        }
        seconds = time_alternately(calls, options.repeat)
    what = f"against RankingMetrics, {n_queries:,} lists of {ROWS_PER_QUERY}"
    return [
        make_row(f"{what}, {n}", seconds[f"theirs, {name}"] / seconds[f"ours, {name}"], "× as fast", at_least=goal,
                 detail=f"{seconds[f'ours, {name}']:.3g} s; a job of two rows {seconds['a job']:.3g} s")
        for n, name, goal in (("one metric", "one", LEAST_ONE), ("ten metrics", "ten", LEAST_TEN))
    ]  # fmt: skip


def compare_splitting(options: Options) -> list[Row]:
    """Compare a large query in one task with its rows counted in all tasks."""
    from fastndcg.integrations import spark

    n_rows = max(2000, round(SKEWED_ROWS * options.scale))
    session = start_session()
    rows = []
    for quarters in (1, 3):
        n_large = n_rows * quarters // 4
        with tempfile.TemporaryDirectory() as folder:
            frame = write_rows(session, folder, n_rows, n_large)
            verify(frame, folder, "ndcg@10, map", split_above=n_large // 2)
            calls: dict[str, Callable[[], Any]] = {
                "whole": partial(spark.evaluate, frame, "ndcg@10, map"),
                "split": partial(spark.evaluate, frame, "ndcg@10, map", split_above=n_large // 2),
            }
            seconds = time_alternately(calls, options.repeat)
        ratio = seconds["split"] / seconds["whole"]
        detail = f"{seconds['split']:.3g} s and {seconds['whole']:.3g} s"
        rows.append(make_row(f"{n_large:,} of {n_rows:,} rows in one query, split", ratio, "× whole", detail=detail))
    return rows


def measure_with_spark(part: Callable[[Options], list[Row]], options: Options) -> list[Row]:
    """Measure a part, or name what is missing."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return [make_missing_row(str(part.__doc__), "pyspark is not installed: pip install pyspark")]
    return part(options)


PARTS: dict[str, Callable[[Options], list[Row]]] = {
    "moving": partial(measure_with_spark, compare_with_moving),
    "ranking_metrics": partial(measure_with_spark, compare_with_ranking_metrics),
    "splitting": partial(measure_with_spark, compare_splitting),
}
SUITE = Suite(partial(measure_parts, PARTS), tuple(PARTS), packages=("pyspark", "pyarrow"))

"""
Tables suite: SQL functions of DuckDB and expressions of Polars, against nDCG in SQL and against `evaluate`.

The rows are a table in memory. Each call groups them by query and computes the mean of nDCG@10. nDCG in SQL ranks rows
by window functions. The time of collecting the lists alone bounds what a function of lists can reach. All values are
compared with `evaluate` before they are timed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import fastndcg as fn
from benchmarks.lib.suite import Options, Row, Suite, make_missing_row, make_row, measure_parts
from benchmarks.lib.timing import time_alternately

QUERIES = 20_000
DOCUMENTS = 50
LISTS = "SELECT list(label) AS labels, list(score) AS scores FROM rows GROUP BY query"
NDCG_IN_SQL = """
    WITH ranked AS (
        SELECT query, label,
            row_number() OVER (PARTITION BY query ORDER BY score DESC) AS place,
            row_number() OVER (PARTITION BY query ORDER BY label DESC) AS ideal_place
        FROM rows
    ), gains AS (
        SELECT sum(label / log2(place + 1)) FILTER (place <= 10) AS dcg,
            sum(label / log2(ideal_place + 1)) FILTER (ideal_place <= 10) AS idcg
        FROM ranked GROUP BY query
    )
    SELECT avg(dcg / idcg) FROM gains WHERE idcg > 0
"""


def make_columns(options: Options) -> dict[str, np.ndarray]:
    """Make rows in random order, with scores without ties."""
    generator = np.random.default_rng(4)
    n_queries = max(100, round(QUERIES * options.scale))
    n_rows = n_queries * DOCUMENTS
    return {
        "query": generator.permutation(np.repeat(np.arange(n_queries), DOCUMENTS)),
        "label": generator.integers(0, 4, n_rows),
        "score": generator.permutation(n_rows) / n_rows,
    }


def measure_duckdb(options: Options) -> list[Row]:
    """Compare ndcg(list(label), list(score), 10) with nDCG in SQL, and with collecting the lists."""
    what = f"DuckDB: mean nDCG@10 of {max(100, round(QUERIES * options.scale)):,} queries"
    try:
        import duckdb
        import pyarrow
    except ImportError as error:
        return [make_missing_row(what, str(error))]
    from fastndcg.integrations.duckdb import register

    columns = make_columns(options)
    connection = duckdb.connect()
    register(connection, {"ndcg": "nDCG"})
    connection.register("arrow_rows", pyarrow.table(columns))
    connection.execute("CREATE TABLE rows AS SELECT * FROM arrow_rows").fetchall()

    def ask(query: str) -> Any:
        return connection.execute(query).fetchall()[0][0]

    calls: dict[str, Callable[[], Any]] = {
        "ndcg of lists": lambda: ask(f"SELECT avg(ndcg(labels, scores, 10)) FROM ({LISTS})"),
        "nDCG in SQL": lambda: ask(NDCG_IN_SQL),
        "the lists alone": lambda: ask(f"SELECT sum(len(labels) + len(scores)) FROM ({LISTS})"),
    }
    verify_mean([calls["ndcg of lists"](), calls["nDCG in SQL"]()], columns)
    seconds = time_alternately(calls, options.repeat)
    return [
        make_row(f"{what}, {name}", value / seconds["ndcg of lists"], "× ndcg of lists", detail=f"{value:.4g} s")
        for name, value in seconds.items()
    ]


def measure_polars(options: Options) -> list[Row]:
    """Compare the expression with `evaluate` on the same lists, and with grouping the rows."""
    what = f"Polars: mean nDCG@10 of {max(100, round(QUERIES * options.scale)):,} queries"
    try:
        import polars as pl
    except ImportError as error:
        return [make_missing_row(what, str(error))]
    from fastndcg.integrations.polars import metric

    columns = make_columns(options)
    lists = pl.DataFrame(columns).group_by("query").agg("label", "score")
    expression = metric("ndcg@10", "label", "score")
    calls: dict[str, Callable[[], Any]] = {
        "expression": lambda: lists.select(expression.mean()).item(),
        "evaluate": lambda: fn.evaluate(lists["label"], lists["score"], "ndcg@10").means()[0],
        "grouping the rows": lambda: pl.DataFrame(columns).group_by("query").agg("label", "score"),
    }
    verify_mean([calls["expression"](), calls["evaluate"]()], columns)
    seconds = time_alternately(calls, options.repeat)
    return [
        make_row(f"{what}, {name}", value / seconds["expression"], "× expression", detail=f"{value:.4g} s")
        for name, value in seconds.items()
    ]


def verify_mean(means: list[float], columns: dict[str, np.ndarray]) -> None:
    """Raise SystemExit if a mean differs from that of `evaluate` on the rows, or from the reference on some."""
    rows = np.flatnonzero(columns["query"] < 20)
    some = {name: column[rows] for name, column in columns.items()}
    slow = fn.reference.evaluate(some["label"], some["score"], "ndcg@10", query_ids=some["query"])
    fast = fn.evaluate(some["label"], some["score"], "ndcg@10", query_ids=some["query"])
    result = fn.evaluate(columns["label"], columns["score"], "ndcg@10", query_ids=columns["query"])
    is_equal = np.allclose(means, result.means()[0], rtol=1e-12)
    if not is_equal or not np.allclose(slow.values, fast.values, rtol=0, atol=1e-12, equal_nan=True):
        raise SystemExit("all ways must give the same mean before they are timed, but they differ")


PARTS: dict[str, Callable[[Options], list[Row]]] = {"duckdb": measure_duckdb, "polars": measure_polars}
SUITE = Suite(partial(measure_parts, PARTS), tuple(PARTS), packages=("duckdb", "polars", "pyarrow"))

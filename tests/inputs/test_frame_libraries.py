"""Frames of databases and recommenders: decimals, and pairs of users and items without labels."""

import random
import re
from decimal import Context, Decimal

import numpy as np
import pytest

import fastndcg as fn

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pq = pytest.importorskip("pyarrow.parquet")
duckdb = pytest.importorskip("duckdb")

GENERATOR = random.Random(3)
DECIMALS = [
    Decimal(GENERATOR.randrange(-(10**30), 10**30)).scaleb(-9, Context(prec=60)) for _ in range(300)
]  # fmt: skip


def test_decimals_are_the_nearest_floats(tmp_path):
    """Decimals of pandas, Polars and pyarrow equal float() of their digits in rows, lists and Parquet."""
    n, queries = len(DECIMALS), np.arange(len(DECIMALS)) // 7
    labels = [Decimal(i % 4) / 2 for i in range(n)]
    given = pa.table({"qid": queries, "docno": np.arange(n), "score": pa.array(DECIMALS, pa.decimal128(38, 9))})
    wide = given.set_column(2, "score", pa.array(DECIMALS, pa.decimal256(60, 20)))
    floats = np.array(list(map(float, DECIMALS)))
    for frame in (given, wide, given.to_pandas(), pl.from_arrow(given)):
        assert fn.Run.from_frame(frame).values.tobytes() == floats.tobytes()
    expected = fn.evaluate(np.array(labels, "f8"), floats, "dcg,rr", query_ids=queries)
    rows = given.append_column("label", pa.array(labels))
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=50)
    offsets = pa.array([*range(0, n, 7), n])
    lists = (pa.ListArray.from_arrays(offsets, rows[name].chunk(0)) for name in ("label", "score"))
    for arguments in ((rows,), (tmp_path / "rows.parquet",), tuple(lists)):
        result = fn.evaluate(*arguments, metrics="dcg,rr")
        np.testing.assert_array_equal(result.values, expected.values)


def test_duckdb_decimal_columns():
    """Decimals of DuckDB, from literals and from sums of whole numbers, are read."""
    rows = duckdb.sql(
        "SELECT q, 0.5 - q / 10.0 AS score, sum(x) AS label FROM (VALUES (1, 2), (1, 3)) t(q, x) GROUP BY q"
    )
    assert fn.evaluate(rows, metrics="dcg").to_dict() == {1: {"DCG": 5.0}}


PAIRS = pd.DataFrame({"user": [0, 0, 1, 1], "item": [3, 4, 5, 6], "day": [1, 2, 3, 4]})
RECOMMENDED = np.array([[3, 5], [1, 6]])


def test_pairs_without_labels(tmp_path):
    """Pairs of users and items without labels give the values of label 1, in frames and in files."""
    kept = PAIRS[PAIRS.item != 4]
    pairs = kept[["user", "item"]]
    labelled = pairs.assign(label=1)
    expected = fn.evaluate(labelled, RECOMMENDED, "rr,recall,ndcg").to_dict()
    assert expected[1] == {"RR": 0.5, "R": 0.5, "nDCG": expected[1]["nDCG"]}
    pairs.to_parquet(tmp_path / "pairs.parquet")
    for frame in (pairs, pl.from_pandas(pairs), pa.table(pairs), tmp_path / "pairs.parquet"):
        assert fn.evaluate(frame, RECOMMENDED, "rr,recall,ndcg").to_dict() == expected
    pairs.to_csv(tmp_path / "pairs.csv", index=False)
    run = {"0": {"3": 2, "5": 1}, "1": {"1": 2, "6": 1}}
    assert fn.evaluate(tmp_path / "pairs.csv", run, "rr").to_dict() == {"0": {"RR": 1.0}, "1": {"RR": 0.5}}


def test_pairs_beside_another_column(tmp_path):
    """Pairs next to a column that may hold labels raise an error that states the remedy."""
    message = (
        " must have one column of label ids or values, but has none of its usual names: its columns are 'user', "
        "'item', 'day'. Give columns={'label': NAME} or, if each document counts 1, only the columns of "
        "queries and documents"
    )
    PAIRS.to_parquet(tmp_path / "pairs.parquet")
    PAIRS.to_csv(tmp_path / "pairs.csv", index=False)
    for truth, name in ((PAIRS, "`truth`"), (tmp_path / "pairs.parquet", ""), (tmp_path / "pairs.csv", "")):
        with pytest.raises(fn.InvalidInputError, match=f"{name}{re.escape(message)}$"):
            fn.evaluate(truth, RECOMMENDED, "rr")
    with pytest.raises(fn.InvalidInputError, match="`truth` must have one column 'grade', but has 0"):
        fn.evaluate(PAIRS[["user", "item"]], RECOMMENDED, "rr", columns={"label": "grade"})
    with pytest.raises(fn.InvalidInputError, match=r"none of its usual names: .* Give columns={'label': NAME}$"):
        fn.evaluate(PAIRS.assign(score=1), metrics="rr")

"""Tests of DuckDB's functions: equal to `evaluate` to the bit, and errors that name the function and the offender."""

import numpy as np
import pytest
from refusals import refused

import fastndcg as fn
from fastndcg.integrations.duckdb import list_metrics, register

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

RANDOM = np.random.default_rng(7)
SIZES = RANDOM.integers(1, 12, 3000)  # more queries than DuckDB passes at a time
QUERIES = np.repeat(np.arange(3000), SIZES)
LABELS = RANDOM.integers(0, 4, len(QUERIES))
SCORES = RANDOM.integers(0, 30, len(QUERIES)) / 8  # some are tied
DISTINCT = RANDOM.permutation(len(QUERIES)) / 4
LISTS = "SELECT query, list(label) AS labels, list(score) AS scores FROM rows GROUP BY query"


@pytest.fixture(scope="module")
def connection():
    pyarrow = pytest.importorskip("pyarrow")
    connection = duckdb.connect()
    order = RANDOM.permutation(len(QUERIES))
    columns = {"query": QUERIES, "label": LABELS, "score": SCORES, "untied": DISTINCT}
    table = pyarrow.table({name: column[order] for name, column in columns.items()})
    connection.register("arrow_rows", table)
    connection.execute("CREATE TABLE rows AS SELECT * FROM arrow_rows")
    register(connection)
    yield connection
    connection.close()


def select(connection, expression, source="rows GROUP BY query"):
    rows = connection.execute(f"SELECT query, {expression} FROM {source} ORDER BY query").fetchall()
    return np.array([np.nan if value is None else value for _, value in rows])


def test_every_metric_equals_evaluate(connection):
    names = {metric: name for name, metric in reversed(list_metrics().items()) if name not in ("map", "rank")}
    result = fn.evaluate(LABELS, DISTINCT, list(names), offsets=np.cumsum([0, *SIZES]))
    for metric, name in names.items():
        values = select(connection, f"{name}(list(label), list(untied))")
        np.testing.assert_array_equal(values, result[metric], err_msg=name)


@pytest.mark.parametrize("label", ["label::TINYINT", "label::DOUBLE", "label::DECIMAL(4, 1)", "label::UBIGINT"])
def test_types_of_numbers_do_not_matter(connection, label):
    result = fn.evaluate(LABELS, SCORES.astype("f4"), "ndcg@5", offsets=np.cumsum([0, *SIZES]))
    values = select(connection, f"ndcg(list({label}), list(score::FLOAT), 5)")
    np.testing.assert_array_equal(values, result["ndcg@5"])


def test_cutoffs_may_differ_by_row(connection):
    result = fn.evaluate(LABELS, SCORES, "ndcg@1, ndcg@2, ndcg@3", offsets=np.cumsum([0, *SIZES]))
    values = select(connection, "ndcg(labels, scores, 1 + query % 3)", f"({LISTS})")
    np.testing.assert_array_equal(values, result.values[np.arange(3000), np.arange(3000) % 3])


def test_fixed_size_arrays_and_views_are_lists(connection):
    rows = connection.execute(
        "SELECT ndcg(array_value(1, 0), array_value(1.0, 2.0)), ndcg(list_slice([9, 0, 1], 2, 3), [0.9, 0.5])"
    ).fetchone()
    assert rows == tuple(fn.ndcg([[0, 1], [0, 1]], [[2, 1], [0.9, 0.5]]).tolist())


def test_average_is_the_mean(connection):
    mean = connection.execute(
        f"SELECT avg(ndcg(labels, scores)), count(ndcg(labels, scores)) FROM ({LISTS})"
    ).fetchone()
    result = fn.evaluate(LABELS, SCORES, "ndcg", offsets=np.cumsum([0, *SIZES]))
    assert mean[1] == 3000 - result.n_undefined()[0] < 3000
    assert mean[0] == pytest.approx(result.means()[0], rel=1e-12)


def test_own_metrics_and_conventions_have_names():
    connection = duckdb.connect()
    names = register(connection, {"graded": "nDCG(gain=exp2)", "at_1": fn.P @ 1}, prefix="fn_", convention="sklearn")
    assert names == {"fn_graded": fn.nDCG(gain="exp2"), "fn_at_1": fn.P @ 1}
    found = connection.execute(
        "SELECT fn_graded([0, 3], [2, 1]), FN_AT_1([1], [1]), fn_at_1([0, 1], [2, 1], 2)"
    ).fetchone()
    wanted = fn.evaluate([[0, 3]], [[2, 1]], "nDCG(gain=exp2)", convention="sklearn").values[0, 0]
    assert found == (wanted, 1.0, 0.5)


def test_functions_are_replaced_and_built_in_ones_stay():
    connection = duckdb.connect()
    first = register(connection)
    assert register(connection, convention="sklearn") == first
    assert "map" not in first
    assert str(connection.execute("SELECT map(['a'], [1])").fetchone()[0]) == "{'a': 1}"
    undefined = fn.evaluate([[0]], [[1]], "ndcg", convention="sklearn").values[0, 0]
    assert connection.execute("SELECT ndcg([0], [1])").fetchone()[0] == undefined


@pytest.mark.parametrize(("call", "problem"), [
    ("ndcg([1], [0.5, 1])", "list 0 has 2 and not 1"),
    ("ndcg([1, NULL], [0.5, 1])", "`labels` must have no null, but a number of list 0 is null"),
    ("ndcg([1], [NULL::FLOAT])", "`scores` must have no null, but a number of list 0 is null"),
    ("ndcg(NULL, [0.5])", "the labels of ndcg must not be NULL"),
    ("ndcg([1], NULL)", "the scores of ndcg must not be NULL"),
    ("ndcg([1], ['NaN'::FLOAT])", "`scores` must not be NaN"),
    ("ndcg(1, [1])", "the labels of ndcg must be a list per query, not int32"),
    ("ndcg(['a'], [1])", "`labels` must hold numbers"), ("ndcg([1])", "got 1 arguments"),
    ("ndcg([1], [1], 2, 3)", "got 4 arguments"),
    ("ndcg([1], [1], NULL)", "the cutoff of ndcg must be a whole number, not NULL"),
    ("ndcg([1], [1], 1.5)", "the cutoff of ndcg must be a whole number, not decimal"),
    ("ndcg([1], [1], 0)", "must be 1 or more, not 0"), ("ndcg([1], [1], 0::HUGEINT)", "must be 1 or more, not 0"),
    ("ndcg([1], [1], 1::HUGEINT << 70)", r"the cutoff of ndcg must be below 2\*\*63"),
    ("auc([1, 0], [1, 0], 5)", "AUC must have no cutoff"),
    ("ndcg(labels, [0.5]) FROM (VALUES ([1]), (NULL)) AS lists(labels)", "`labels` .* no null, but list 1 is null"),
])  # fmt: skip
def test_bad_arguments_are_errors(connection, call, problem):
    with pytest.raises(duckdb.Error, match=problem):
        connection.execute(f"SELECT {call}").fetchall()


@pytest.mark.parametrize(("arguments", "problem"), [
    (({"a b": "rr"},), "letters, digits and underscores, but one is 'a b'"),
    (({"own": "gm(AP)"},), r"values for single queries, not gm\(AP\). Take AP"),
    (("ndcg",), "`metrics` must be {name: metric}, got 'ndcg'"),
    (({"taken": "rr"},), "the database has another function 'taken', which this connection did not create"),
    (({"x": "rr", "X": "ap"},), "must differ in more than their case, but there are 'x' and 'X'"),
    (({"x": "rr", "y": "nope"},), "no metric is called 'nope'"),
    (({"list_value": "rr"},), "the database has another function 'list_value'"),
])  # fmt: skip
def test_bad_names_are_errors(arguments, problem):
    connection = duckdb.connect()
    connection.execute("CREATE MACRO taken(x) AS x")
    refused(problem, register, connection, *arguments, error=fn.FastndcgError)
    assert not connection.execute("SELECT 1 FROM duckdb_functions() WHERE function_name = 'x'").fetchall()


def test_functions_work_in_cursors():
    connection = duckdb.connect()
    register(connection, {"x": "rr"})
    cursor = connection.cursor()
    assert cursor.execute("SELECT x([0, 1], [2, 1], 2::HUGEINT)").fetchone() == (0.5,)
    refused("that `register` created by another connection work in this one", register, cursor, {"x": "ap"})


def test_other_objects_are_no_connection():
    refused(r"must be a connection of DuckDB, not 'rows\.db'", register, "rows.db", error=fn.InvalidTypeError)

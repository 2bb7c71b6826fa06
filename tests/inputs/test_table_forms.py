"""Objects and files with rows and columns: what they hold, what they lack, and how often they are read."""

import copy
import pickle

import numpy as np
import pytest
from table_forms import IN_MEMORY, LIBRARY_FORMS, TABLE_FORMS, make_reader, write_feather

import fastndcg as fn

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
pd = pytest.importorskip("pandas")
dataset = pytest.importorskip("pyarrow.dataset")
duckdb = pytest.importorskip("duckdb")

N = 60
ROWS = np.arange(N)
ROWS_OF_LISTS = 10
METRICS = "ndcg@3,map,rr"
GOOD = pa.table(
    {
        "query": [f"q{row // 6:02d}" for row in ROWS],
        "document": [f"d{row}" for row in ROWS],
        "label": ROWS % 3,
        "score": ROWS * 7 % 11 / 2,
    }
)
MIXED = GOOD.take(np.random.default_rng(5).permutation(N))
LISTS = pa.table(
    {
        "query": [f"q{row}" for row in range(ROWS_OF_LISTS)],
        "label": [[1, 0, row % 3] for row in range(ROWS_OF_LISTS)],
        "score": [[0.5, float(row), 0.25] for row in range(ROWS_OF_LISTS)],
    }
)
FILES = ("feather", "packed feather", "arrow stream", "remote feather", "remote parquet")
PARAMETERS = pytest.mark.parametrize("name", TABLE_FORMS)


def values_by_query(result):
    """Return the bytes of the values of each query."""
    return {query: row.tobytes() for query, row in zip(result.query_ids.tolist(), result.values, strict=True)}


@pytest.mark.parametrize("memory", [None, "8kB"])
@pytest.mark.parametrize("table", [GOOD, MIXED], ids=["sorted", "mixed"])
@PARAMETERS
def test_rows_with_scores(tmp_path, name, table, memory):
    """Rows with scores give the bytes of the pyarrow table, with any memory, and ties by id among them."""
    expected = fn.evaluate(table, metrics=METRICS, convention="trec_eval")
    options = {} if memory is None or name in IN_MEMORY else {"memory": memory}
    result = fn.evaluate(TABLE_FORMS[name](table, tmp_path), metrics=METRICS, convention="trec_eval", **options)
    assert result.values.tobytes() == expected.values.tobytes()
    assert result.query_ids.tolist() == expected.query_ids.tolist()
    assert result.n_tied == expected.n_tied


@PARAMETERS
def test_judgments_and_runs(tmp_path, name):
    """Judgments and a run in tables give the bytes of dicts, and so does each of them beside a dict."""
    qrels = {}
    run = {}
    for query, document, label, score in zip(*GOOD.to_pydict().values(), strict=True):
        qrels.setdefault(query, {})[document] = label
        run.setdefault(query, {})[document] = score
    expected = fn.evaluate(qrels, run, METRICS).values.tobytes()
    make = TABLE_FORMS[name]
    tables = GOOD.select(["query", "document", "label"]), GOOD.select(["query", "document", "score"])
    for truth, predictions in (
        tuple(make(table, tmp_path) for table in tables),
        (qrels, make(tables[1], tmp_path)),
        (make(tables[0], tmp_path), run),
    ):
        assert fn.evaluate(truth, predictions, METRICS).values.tobytes() == expected
    systems = {"a": make(tables[1], tmp_path), "b": make(tables[1], tmp_path)}
    assert fn.compare(qrels, systems, "rr").rows[0].mean == fn.evaluate(qrels, run, "rr").mean()["RR"]
    if name not in FILES:
        assert len(fn.Run.from_frame(make(tables[1], tmp_path))) == N


@pytest.mark.parametrize("name", [name for name in TABLE_FORMS if name not in ("structured array", "Dask")])
def test_columns_of_lists(tmp_path, name):
    """Tables with a query in each row give the bytes of the pyarrow table."""
    expected = fn.evaluate(LISTS, metrics=METRICS)
    result = fn.evaluate(TABLE_FORMS[name](LISTS, tmp_path), metrics=METRICS)
    assert result.values.tobytes() == expected.values.tobytes()
    assert result.query_ids.tolist() == expected.query_ids.tolist()


def test_lists_beyond_memory():
    """Lists of a reader are streamed where they exceed the memory. A repeated query raises an error."""
    expected = fn.evaluate(LISTS, metrics=METRICS).values.tobytes()
    assert fn.evaluate(LISTS.to_reader(2), metrics=METRICS, memory="9kB").values.tobytes() == expected
    repeated = pa.concat_tables([LISTS, LISTS])
    with pytest.raises(fn.InvalidInputError, match="query q0 has rows 0 and 10"):
        fn.evaluate(repeated.to_reader(2), metrics=METRICS, memory="9kB")


BAD = {
    "repeated ids": (GOOD.set_column(1, "document", pa.array(["d"] * N)), "document d of query q0[01] is in rows"),
    "a null": (
        GOOD.set_column(0, "query", pa.array([None if row == 30 else "q" for row in ROWS])),
        "must have no null, but column 'query' has one in row 30|Schema at index|Expected bytes, got a 'float'",
    ),
    "texts as labels": (GOOD.set_column(2, "label", pa.array(["x"] * N)), "must hold numbers, but its type is "),
    "fractions as ids": (GOOD.set_column(0, "query", pa.array([0.5] * N)), "must hold texts or whole numbers"),
    "unknown columns": (GOOD.rename_columns(["x", "y", "label", "doc"]), "must have one column of query ids"),
    "NaN": (GOOD.set_column(3, "score", pa.array([np.nan] * N)), "`scores` must not be NaN"),
}


@pytest.mark.parametrize("case", BAD)
@PARAMETERS
def test_bad_tables(tmp_path, name, case):
    """Bad rows raise an error of fastndcg that names the column or the row."""
    table, message = BAD[case]
    with pytest.raises(fn.InvalidInputError, match=message):
        fn.evaluate(TABLE_FORMS[name](table, tmp_path), metrics="rr")


@pytest.mark.parametrize("name", [name for name in TABLE_FORMS if "iterable" not in name])
def test_tables_without_rows(tmp_path, name):
    """Columns without rows give no queries, or an error where they have no types."""
    if name in ("dict of columns", "structured array"):
        with pytest.raises(fn.InvalidTypeError, match="must hold texts or whole numbers, but its type is null"):
            fn.evaluate(TABLE_FORMS[name](GOOD.slice(0, 0), tmp_path), metrics="rr")
        return
    assert len(fn.evaluate(TABLE_FORMS[name](GOOD.slice(0, 0), tmp_path), metrics="rr")) == 0


@PARAMETERS
def test_named_columns(tmp_path, name):
    """Unusual names are given by `columns`. A name that is absent raises an error."""
    if name == "dict of columns":
        pytest.skip("a dict is one of columns by its usual names: other names need a frame")
    table = GOOD.rename_columns(["a", "b", "c", "d"])
    columns = {"query": "a", "document": "b", "label": "c", "score": "d"}
    result = fn.evaluate(TABLE_FORMS[name](table, tmp_path), metrics=METRICS, columns=columns)
    assert result.values.tobytes() == fn.evaluate(GOOD, metrics=METRICS).values.tobytes()
    with pytest.raises(fn.InvalidInputError, match="must have one column 'zz', but has 0"):
        fn.evaluate(TABLE_FORMS[name](table, tmp_path), metrics=METRICS, columns=columns | {"label": "zz"})


@pytest.mark.parametrize("memory", [None, "8kB"])
@PARAMETERS
def test_evaluators_read_again(tmp_path, name, memory):
    """An evaluator reads rows again. A reader whose rows exceed the memory raises an error the second time."""
    options = {} if memory is None or name in IN_MEMORY else {"memory": memory}
    evaluator = fn.Evaluator(TABLE_FORMS[name](MIXED, tmp_path), "rr", **options)
    first = evaluator.evaluate().values.tobytes()
    if name in ("reader", "scanner") and memory:
        with pytest.raises(fn.InvalidInputError, match="`truth` must be read anew for a second evaluation"):
            evaluator.evaluate()
        return
    assert evaluator.evaluate().values.tobytes() == first
    assert copy.copy(evaluator).evaluate().values.tobytes() == first


def test_filters_of_datasets_hold():
    """The filter of a pyarrow dataset, and that of a scanner, hold."""
    expected = fn.evaluate(GOOD.slice(0, 30), metrics="rr").to_dict()
    filtered = dataset.dataset(GOOD).filter(dataset.field("query") < "q05")
    assert fn.evaluate(filtered, metrics="rr").to_dict() == expected
    assert fn.evaluate(filtered.scanner(), metrics="rr").to_dict() == expected


def test_progress_of_datasets():
    """Progress counts the rows of a dataset, of which 0 are announced where only reading shows their number."""
    calls = []
    fn.evaluate(dataset.dataset(GOOD), metrics="rr", progress=lambda *counts: calls.append(counts))
    assert calls[-1] == (N, N)
    fn.evaluate(make_reader(GOOD, None), metrics="rr", memory="8kB", progress=lambda *counts: calls.append(counts))
    assert calls[-1] == (N, 0)


def test_evaluators_of_files_are_pickled(tmp_path):
    """A pickled evaluator of a Feather file, or of a dataset of such files, evaluates as before."""
    path = write_feather(GOOD, tmp_path)
    for truth in (path, dataset.dataset(path, format="feather")):
        evaluator = fn.Evaluator(truth, METRICS)
        again = pickle.loads(pickle.dumps(evaluator))
        assert again.evaluate().values.tobytes() == evaluator.evaluate().values.tobytes()


def test_lazy_frames_collect_needed_columns():
    """A lazy frame is collected once, without columns that have no role."""
    reads = []
    lazy = pl.from_arrow(GOOD).lazy().with_columns(other=pl.col("label").map_batches(_record(reads), pl.Int64))
    assert fn.evaluate(lazy, metrics="rr").to_dict() == fn.evaluate(GOOD, metrics="rr").to_dict()
    assert reads == []
    lazy = lazy.with_columns(label=pl.col("label").map_batches(_record(reads), pl.Int64))
    fn.evaluate(lazy, metrics="rr")
    assert len(reads) == 1


def _record(reads):
    def read(column):
        reads.append(len(column))
        return column

    return read


def test_lazy_frames_of_other_versions(monkeypatch):
    """Polars before 1.23 calls the streaming engine by another name, and narwhals by none."""
    from fastndcg.inputs.table_sources import open_lazy_frame

    class LazyFrame:
        def collect_schema(self):
            return pl.from_arrow(GOOD).schema

        def select(self, columns):
            self.columns = columns
            return self

        def collect(self, *, streaming=False):
            assert streaming
            return GOOD.select(self.columns)

    assert fn.evaluate(LazyFrame(), metrics="rr").to_dict() == fn.evaluate(GOOD, metrics="rr").to_dict()
    monkeypatch.setattr(LazyFrame, "collect", lambda self: GOOD.select(self.columns))
    assert next(open_lazy_frame(LazyFrame(), "truth").read(["label"], 1)).column_names == ["label"]


def test_connections_without_rows():
    """A connection of DuckDB without a result, or with one that has been fetched, raises an error with the remedy."""
    message = r"must hold the rows of a query, .* Pass a relation for each: connection.sql\(QUERY\)"
    connection = duckdb.connect()
    connection.register("good", GOOD)
    with pytest.raises(fn.InvalidInputError, match=f"`truth` {message}"):
        fn.evaluate(connection, metrics="rr")
    result = connection.execute("SELECT * FROM good")
    assert len(fn.evaluate(result, metrics="rr")) == 10
    with pytest.raises(fn.InvalidInputError, match=f"`truth` {message}"):
        fn.evaluate(result, metrics="rr")
    qrels = connection.execute("SELECT query, document, label FROM good")
    run = connection.execute("SELECT query, document, score FROM good")
    with pytest.raises(fn.InvalidInputError, match=f"`run` {message}"):  # both are the connection with its last rows
        fn.evaluate(qrels, run, "rr")


def test_structured_arrays_of_other_shapes():
    """A structured array of two dimensions, and a masked one, raise an error."""
    records = GOOD.to_pandas().astype({"query": "U3", "document": "U3"}).to_records(index=False)
    fixed = np.array(records.tolist(), [("query", "U3"), ("document", "U3"), ("label", "i4"), ("score", "f4")])
    expected = fn.evaluate(GOOD, metrics=METRICS).values.tobytes()
    assert fn.evaluate(fixed, metrics=METRICS).values.tobytes() == expected
    with pytest.raises(fn.InvalidTypeError, match=r"`truth` must have one dimension .* its shape is \(6, 10\)"):
        fn.evaluate(fixed.reshape(6, 10), metrics="rr")
    with pytest.raises(fn.InvalidTypeError, match="`truth` must not be a masked structured array"):
        fn.evaluate(np.ma.array(fixed), metrics="rr")


def test_dicts_of_columns_of_other_kinds():
    """Columns may be arrays or series. Columns of mixed types or of two lengths raise an error."""
    columns = {name: GOOD[name].to_pandas() for name in GOOD.column_names}
    expected = fn.evaluate(GOOD, metrics=METRICS).values.tobytes()
    for convert in (np.asarray, pd.Series, pa.array, pl.Series, list):
        given = {name: convert(column) for name, column in columns.items()}
        assert fn.evaluate(given, metrics=METRICS).values.tobytes() == expected
    for name, column in (("label", [1] * (N - 1) + ["x"]), ("label", [1] * 3), ("query", ["q", 1] * (N // 2))):
        with pytest.raises(fn.InvalidInputError, match="`truth` must convert to Arrow columns, but does not"):
            fn.evaluate(columns | {name: column}, metrics="rr")


@pytest.mark.parametrize("memory", [None, "8kB"])
def test_columns_that_change_their_type(memory):
    """A column whose type differs between two batches raises an error that names both and the row."""

    class Scanner:  # of pyarrow, whose readers have one schema: as a generator without types
        projected_schema = GOOD.schema

        def to_batches(self):
            yield from GOOD.to_batches()
            yield from GOOD.set_column(2, "label", pa.array(ROWS / 2)).to_batches()

    Scanner.__module__ = "pyarrow._dataset"
    message = "column 'label' is int64 in the first rows and double from row 60 on. Cast it to one type"
    with pytest.raises(fn.InvalidInputError, match=message):
        fn.evaluate(Scanner(), metrics="rr", memory=memory)


def test_every_form_is_tested():
    """Each record of the registry recognises the values of a form of these tests."""
    from fastndcg.inputs.table_sources import TABLE_FORMS as REGISTERED

    tested = {"Hugging Face Dataset": 2, "pyarrow Dataset, Scanner or RecordBatchReader": 3}  # one form else
    assert len(LIBRARY_FORMS) == 3
    assert sum(tested.get(form.name, 1) for form in REGISTERED) == len(TABLE_FORMS) - len(FILES) - 2  # 2 are of frames

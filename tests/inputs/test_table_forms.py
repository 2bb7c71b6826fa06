"""Objects and files with rows and columns: what they hold, what they lack, and how often they are read."""

import copy
import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from refusals import refused
from table_forms import BATCH, TABLE_FORMS, write_feather

import fastndcg as fn
from fastndcg.inputs import frames, rare_tables

pa, pl, pd, dataset, duckdb = map(pytest.importorskip, ("pyarrow", "polars", "pandas", "pyarrow.dataset", "duckdb"))

N = 60
ROWS = np.arange(N)
ROWS_OF_LISTS = 10
METRICS = "ndcg@3,map,rr"
GOOD = pa.table({
    "query": [f"q{row // 6:02d}" for row in ROWS], "document": [f"d{row}" for row in ROWS], "label": ROWS % 3,
    "score": ROWS * 7 % 11 / 2,
})  # fmt: skip
MIXED = GOOD.take(np.random.default_rng(5).permutation(N))
LISTS = pa.table({
    "query": [f"q{row}" for row in range(ROWS_OF_LISTS)], "label": [[1, 0, row % 3] for row in range(ROWS_OF_LISTS)],
    "score": [[0.5, float(row), 0.25] for row in range(ROWS_OF_LISTS)],
})  # fmt: skip
FILES = ("feather", "packed feather", "arrow stream", "remote feather", "remote parquet")
PARAMETERS = pytest.mark.parametrize("name", TABLE_FORMS)


@pytest.mark.parametrize("memory", [None, "8kB"])
@pytest.mark.parametrize("table", [GOOD, MIXED], ids=["sorted", "mixed"])
@PARAMETERS
def test_rows_with_scores(tmp_path, name, table, memory):
    expected = fn.evaluate(table, metrics=METRICS, convention="trec_eval")
    rows = fn.Rows(TABLE_FORMS[name](table, tmp_path), memory=memory)
    result = fn.evaluate(rows, metrics=METRICS, convention="trec_eval")
    assert result.values.tobytes() == expected.values.tobytes()
    assert result.query_ids.tolist() == expected.query_ids.tolist()
    assert result.n_tied == expected.n_tied


@PARAMETERS
def test_judgments_and_runs(tmp_path, name):
    """Compare systems in every form. The values of each side are those of test_all_input_forms."""
    make = lambda *names: TABLE_FORMS[name](GOOD.select(names), tmp_path)  # noqa: E731
    judged, of_run = ("query", "document", "label"), ("query", "document", "score")
    systems = {"a": make(*of_run), "b": make(*of_run)}
    expected = fn.evaluate(GOOD, metrics="rr").mean()["RR"]
    assert fn.compare(make(*judged), systems, "rr").rows[0].mean == expected
    if name not in FILES:
        assert len(fn.Run(make(*of_run))) == N


@pytest.mark.parametrize("name", [name for name in TABLE_FORMS if name not in ("structured array", "Dask")])
def test_columns_of_lists(tmp_path, name):
    expected = fn.evaluate(LISTS, metrics=METRICS)
    result = fn.evaluate(TABLE_FORMS[name](LISTS, tmp_path), metrics=METRICS)
    assert result.values.tobytes() == expected.values.tobytes()
    assert result.query_ids.tolist() == expected.query_ids.tolist()


def test_lists_beyond_memory():
    expected = fn.evaluate(LISTS, metrics=METRICS).values.tobytes()
    assert fn.evaluate(fn.Rows(LISTS.to_reader(2), memory="9kB"), metrics=METRICS).values.tobytes() == expected
    repeated = pa.concat_tables([LISTS, LISTS])
    refused("query q0 has rows 0 and 10", fn.evaluate, fn.Rows(repeated.to_reader(2), memory="9kB"), metrics=METRICS)


BAD = {
    "repeated ids": (GOOD.set_column(1, "document", pa.array(["d"] * N)), "document d of query q0[01] is in rows"),
    "a null": (GOOD.set_column(0, "query", pa.array([None if row == 30 else "q" for row in ROWS])),
        "must have no null, but column 'query' has one in row 30|Schema at index|Expected bytes, got a 'float'"),
    "texts as labels": (GOOD.set_column(2, "label", pa.array(["x"] * N)), "must hold numbers, but its type is "),
    "fractions as ids": (GOOD.set_column(0, "query", pa.array([0.5] * N)), "must hold texts or whole numbers"),
    "unknown columns": (GOOD.rename_columns(["x", "y", "label", "doc"]), "must have one column of query ids"),
    "NaN": (GOOD.set_column(3, "score", pa.array([np.nan] * N)), "`scores` must not be NaN"),
}  # fmt: skip


@pytest.mark.parametrize(("table", "message"), BAD.values(), ids=BAD)
@PARAMETERS
def test_bad_tables(tmp_path, name, table, message):
    refused(message, lambda: fn.evaluate(TABLE_FORMS[name](table, tmp_path), metrics="rr"))


@pytest.mark.parametrize("name", [name for name in TABLE_FORMS if "iterable" not in name])
def test_tables_without_rows(tmp_path, name):
    if name in ("dict of columns", "structured array"):
        with pytest.raises(fn.InvalidTypeError, match="must hold texts or whole numbers, but its type is null"):
            fn.evaluate(TABLE_FORMS[name](GOOD.slice(0, 0), tmp_path), metrics="rr")
        return
    assert len(fn.evaluate(TABLE_FORMS[name](GOOD.slice(0, 0), tmp_path), metrics="rr")) == 0


@pytest.mark.parametrize("name", [name for name in TABLE_FORMS if name != "dict of columns"])  # has its usual names
def test_named_columns(tmp_path, name):
    table = GOOD.rename_columns(["a", "b", "c", "d"])
    columns = {"query": "a", "document": "b", "label": "c", "score": "d"}
    result = fn.evaluate(fn.Rows(TABLE_FORMS[name](table, tmp_path), columns=columns), metrics=METRICS)
    assert result.values.tobytes() == fn.evaluate(GOOD, metrics=METRICS).values.tobytes()
    with pytest.raises(fn.InvalidInputError, match="must have one column 'zz', but has 0"):
        fn.evaluate(fn.Rows(TABLE_FORMS[name](table, tmp_path), columns=columns | {"label": "zz"}), metrics=METRICS)


@pytest.mark.parametrize("memory", [None, "8kB"])
@PARAMETERS
def test_evaluators_read_again(tmp_path, name, memory):
    evaluator = fn.Evaluator(fn.Rows(TABLE_FORMS[name](MIXED, tmp_path), memory=memory), "rr")
    first = evaluator.evaluate().values.tobytes()
    if name in ("reader", "scanner") and memory:
        refused("`truth` must be read anew for a second evaluation", evaluator.evaluate)
        return
    assert evaluator.evaluate().values.tobytes() == first
    assert copy.copy(evaluator).evaluate().values.tobytes() == first


def test_filters_and_progress_of_datasets():
    expected = fn.evaluate(GOOD.slice(0, 30), metrics="rr").to_dict()
    filtered = dataset.dataset(GOOD).filter(dataset.field("query") < "q05")
    assert fn.evaluate(filtered, metrics="rr").to_dict() == expected
    assert fn.evaluate(filtered.scanner(), metrics="rr").to_dict() == expected
    calls = []
    fn.evaluate(dataset.dataset(GOOD), metrics="rr", progress=lambda *counts: calls.append(counts))
    assert calls[-1] == (N, N)
    fn.evaluate(
        fn.Rows(GOOD.to_reader(BATCH), memory="8kB"), metrics="rr", progress=lambda *counts: calls.append(counts)
    )
    assert calls[-1] == (N, 0)


def test_evaluators_of_files_are_pickled(tmp_path):
    path = write_feather(GOOD, tmp_path)
    for truth in (path, dataset.dataset(path, format="feather")):
        evaluator = fn.Evaluator(truth, METRICS)
        again = pickle.loads(pickle.dumps(evaluator))
        assert again.evaluate().values.tobytes() == evaluator.evaluate().values.tobytes()


def test_lazy_frames_collect_needed_columns():
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


def test_frames_of_narwhals_are_those_they_wrap():
    narwhals = pytest.importorskip("narwhals")
    expected = fn.evaluate(GOOD, metrics="rr").to_dict()
    frame = GOOD.to_pandas()
    for native in (frame, pl.from_arrow(GOOD), pl.from_arrow(GOOD).lazy(), duckdb.from_arrow(GOOD), GOOD):
        assert fn.evaluate(narwhals.from_native(native), metrics="rr").to_dict() == expected
    frame.loc[0, "score"] = np.nan  # in pandas a value, in Arrow none
    refused("`scores` must not be NaN", lambda: fn.evaluate(narwhals.from_native(frame), metrics="rr"))


class Modin:
    """A frame that has no Arrow stream, as those of Modin, which narwhals would know."""

    def __init__(self, frame):
        self.frame = frame

    def __narwhals_dataframe__(self):
        return self.frame._compliant_frame


def test_frames_without_a_stream_are_read_by_narwhals(monkeypatch):
    narwhals = pytest.importorskip("narwhals")
    monkeypatch.setitem(sys.modules, "modin.pandas", SimpleNamespace(DataFrame=Modin))
    frames._find_class_opener.cache_clear()
    frames._is_of.cache_clear()
    rows = GOOD.to_pandas()
    made = Modin(narwhals.from_native(rows))
    assert fn.evaluate(made, metrics="rr").to_dict() == fn.evaluate(GOOD, metrics="rr").to_dict()
    columns = [["query", "document", "label"], ["query", "document", "score"]]
    both = [Modin(narwhals.from_native(rows[names])) for names in columns]
    assert fn.evaluate(*both, "rr").to_dict() == fn.evaluate(GOOD, metrics="rr").to_dict()
    rows.loc[0, "score"] = np.nan
    refused("`scores` must not be NaN", lambda: fn.evaluate(Modin(narwhals.from_native(rows)), metrics="rr"))
    monkeypatch.setitem(sys.modules, "narwhals", None)
    message = r"^reading frames of \w+ needs narwhals\. Install it: pip install narwhals$"
    refused(message, fn.evaluate, made, metrics="rr", error=fn.MissingPackageError)


def test_modules_that_have_the_name_of_a_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(Dataset=len))
    frames._find_class_opener.cache_clear()
    frames._is_of.cache_clear()
    assert len(fn.evaluate(GOOD.to_pandas(), metrics="rr")) == 10


def test_forms_of_libraries_have_their_functions():
    for _, _, opener in frames.RARE_FORMS:
        assert callable(getattr(rare_tables, opener))


def test_connections_without_rows():
    message = r"must hold the rows of a query, .* Pass a relation for each: connection.sql\(QUERY\)"
    connection = duckdb.connect()
    connection.register("good", GOOD)
    refused(f"`truth` {message}", fn.evaluate, connection, metrics="rr")
    result = connection.execute("SELECT * FROM good")
    assert len(fn.evaluate(result, metrics="rr")) == 10
    refused(f"`truth` {message}", fn.evaluate, result, metrics="rr")
    qrels = connection.execute("SELECT query, document, label FROM good")
    run = connection.execute("SELECT query, document, score FROM good")
    with pytest.raises(fn.InvalidInputError, match=f"`run` {message}"):  # both are the connection with its last rows
        fn.evaluate(qrels, run, "rr")


def test_structured_arrays_of_other_shapes():
    records = GOOD.to_pandas().astype({"query": "U3", "document": "U3"}).to_records(index=False)
    fixed = np.array(records.tolist(), [("query", "U3"), ("document", "U3"), ("label", "i4"), ("score", "f4")])
    expected = fn.evaluate(GOOD, metrics=METRICS).values.tobytes()
    assert fn.evaluate(fixed, metrics=METRICS).values.tobytes() == expected
    with pytest.raises(fn.InvalidTypeError, match=r"`truth` must have one dimension .* its shape is \(6, 10\)"):
        fn.evaluate(fixed.reshape(6, 10), metrics="rr")
    with pytest.raises(fn.InvalidTypeError, match="`truth` must not be a masked structured array"):
        fn.evaluate(np.ma.array(fixed), metrics="rr")


def test_dicts_of_columns_of_other_kinds():
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
    halves = GOOD.to_pandas(), GOOD.set_column(2, "label", pa.array(ROWS / 2)).to_pandas()
    dask = pytest.importorskip("dask.dataframe")
    parts = dask.from_map(lambda half: half, halves, meta=halves[0].iloc[:0], enforce_metadata=False)
    message = "column 'label' is int64 in the first rows and double from row 60 on. Cast it to one type"
    refused(message, lambda: fn.evaluate(fn.Rows(parts, memory=memory), metrics="rr"))


FRAME = pd.DataFrame({
    "query_id": ["q1", "q1", "q2", "q2", "q3", "q3"], "doc_id": ["a", "b", "a", "b", "a", "b"],
    "label": [1, 0, 0, 1, 0, 1], "score": [2.0, 1.0, 2.0, 1.0, 1.0, 2.0],
})  # fmt: skip


class TestHuggingFace:
    @pytest.fixture
    def rows(self):
        datasets = pytest.importorskip("datasets")
        return datasets.Dataset.from_pandas(FRAME)

    def test_filters_selections_and_formats(self, rows):
        left = rows.select([0, 1, 4, 5])
        assert left.data.table.num_rows == len(FRAME)
        expected = {"q1": {"RR": 1.0}, "q3": {"RR": 1.0}}
        assert fn.evaluate(left, metrics="rr").to_dict() == expected
        assert fn.evaluate(rows.filter(lambda row: row["query_id"] != "q2"), metrics="rr").to_dict() == expected
        expected = fn.evaluate(FRAME, metrics="rr").to_dict()
        assert fn.evaluate(rows.with_format("numpy"), metrics="rr").to_dict() == expected
        assert fn.evaluate(rows.with_format("pandas", columns=["label"]), metrics="rr").to_dict() == expected

    def test_order_of_shuffled_rows_holds(self, rows):
        shuffled = rows.shuffle(seed=3)
        frame = shuffled.to_pandas()
        for memory in (None, "4kB"):
            result = fn.evaluate(fn.Rows(shuffled, memory=memory), metrics="ndcg,rr")
            expected = fn.evaluate(frame, metrics="ndcg,rr")
            assert result.values.tobytes() == expected.values.tobytes()
            assert result.query_ids.tolist() == expected.query_ids.tolist()
        qrels = shuffled.remove_columns("score")
        run = shuffled.remove_columns("label")
        assert fn.evaluate(qrels, run, "rr").to_dict() == fn.evaluate(frame, metrics="rr").to_dict()

    def test_dicts_of_splits_raise(self, rows):
        datasets = pytest.importorskip("datasets")
        for kind, split in ((datasets.DatasetDict, rows), (datasets.IterableDatasetDict, rows.to_iterable_dataset())):
            splits = kind({"train": split, "test": split})
            message = f"`truth` must be one split, but is a {kind.__name__} of 'train', 'test'. Pass one: dataset"
            refused(message, fn.evaluate, splits, metrics="rr", error=fn.InvalidTypeError)
            refused("`run` must be one split", fn.evaluate, {"q1": {"a": 1}}, splits, "rr", error=fn.InvalidTypeError)

    def test_iterable_data_sets_without_rows(self):
        datasets = pytest.importorskip("datasets")
        empty = datasets.IterableDataset.from_generator(lambda: iter(()))
        refused("`truth` must hold rows, but the IterableDataset has none", fn.evaluate, empty, metrics="rr")


class TestDask:
    def make(self, rows, n_partitions=3):
        return pytest.importorskip("dask.dataframe").from_pandas(rows, npartitions=n_partitions, sort=False)

    def test_partitions_are_computed_once(self):
        reads = []

        def record(part):
            reads.append(len(part))
            return part

        for rows in (FRAME, FRAME.iloc[[3, 0, 5, 1, 2, 4]]):
            expected = fn.evaluate(rows, metrics="rr,ndcg").to_dict()
            for memory in (None, "1kB"):
                frame = self.make(rows).map_partitions(record, meta=FRAME.iloc[:0])
                reads.clear()
                assert fn.evaluate(fn.Rows(frame, memory=memory), metrics="rr,ndcg").to_dict() == expected
                assert len(reads) == 3

    def test_an_index_of_queries_and_missing_scores(self):
        frame = self.make(FRAME.set_index("query_id"))
        assert fn.evaluate(frame, metrics="rr").to_dict() == fn.evaluate(FRAME, metrics="rr").to_dict()
        rows = FRAME.assign(score=[np.nan, 1.0, 2.0, 1.0, 1.0, 2.0])
        convention = fn.conventions["default"].replace(nan_scores="last")
        result = fn.evaluate(self.make(rows), metrics="rr", convention=convention)
        assert result.to_dict() == fn.evaluate(rows, metrics="rr", convention=convention).to_dict()

"""A pyarrow table in every form of rows and columns that `evaluate` takes: objects of libraries, and files."""

import gzip
import itertools
import json

import pytest

pa = pytest.importorskip("pyarrow")

BATCH = 7  # rows: queries continue in the next batch
NUMBERS = itertools.count()


def make_dataset(table):
    return pytest.importorskip("pyarrow.dataset").dataset(table.to_batches(BATCH), table.schema)


def execute(table, _):
    connection = pytest.importorskip("duckdb").connect()
    connection.register("rows_of_test", table)
    return connection.execute("SELECT * FROM rows_of_test")


def write_feather(table, folder):
    path = folder / f"{next(NUMBERS)}.feather"
    pytest.importorskip("pyarrow.feather").write_feather(table, path, chunksize=BATCH)
    return path


def write_packed_feather(table, folder):
    path = folder / f"{next(NUMBERS)}.feather.gz"
    path.write_bytes(gzip.compress(write_feather(table, folder).read_bytes()))
    return path


def write_arrow_stream(table, folder):
    path = folder / f"{next(NUMBERS)}.arrows"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, BATCH)
    return path


def write_parquet(table, folder):
    path = folder / f"{next(NUMBERS)}.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(table, path, row_group_size=BATCH)
    return path


def write_lines(table, folder):
    path = folder / f"{next(NUMBERS)}.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()), encoding="utf-8")
    return path


def store(path):
    """Return the address of a copy of a file."""
    address = f"memory://fastndcg-tests/{path.name}"
    pytest.importorskip("fsspec").filesystem("memory").pipe(address, path.read_bytes())
    return address


def make_hugging_face(table, _):
    """Return a Dataset of Hugging Face whose indices reverse its table."""
    datasets = pytest.importorskip("datasets")
    backwards = range(len(table) - 1, -1, -1)
    dataset = datasets.Dataset(table.take(pa.array(backwards, pa.int64()))).select(backwards)
    assert dataset._indices is not None or dataset.num_rows < 2
    return dataset


USUAL_FORMS = {  # in which cells may hold lists
    "pandas": lambda table, _: pytest.importorskip("pandas").DataFrame(table.to_pylist()),
    "pandas with arrays": lambda table, _: table.to_pandas(),
    "Polars": lambda table, _: pytest.importorskip("polars").from_arrow(table),
    "lazy frame": lambda table, _: pytest.importorskip("polars").from_arrow(table).lazy(),
    "pyarrow": lambda table, _: table, "pyarrow in chunks": lambda table, _: pa.concat_tables([table[:1], table[1:]]),
    "dict of columns": lambda table, _: table.to_pydict(), "records": lambda table, _: table.to_pylist(),
    "Parquet": write_parquet, "JSON Lines": write_lines,
}  # fmt: skip
PLAIN_FORMS = {
    "pyarrow dataset": lambda table, _: make_dataset(table),
    "scanner": lambda table, _: make_dataset(table).scanner(batch_size=BATCH),
    "reader": lambda table, _: table.to_reader(BATCH),
    "lazy frame": USUAL_FORMS["lazy frame"],
    "DuckDB relation": lambda table, _: pytest.importorskip("duckdb").from_arrow(table),
    "DuckDB result": execute,
    "dict of columns": USUAL_FORMS["dict of columns"],
    "structured array": lambda table, _: table.to_pandas().to_records(index=False), "feather": write_feather,
    "packed feather": write_packed_feather, "arrow stream": write_arrow_stream,
    "remote feather": lambda table, folder: store(write_feather(table, folder)),
    "remote parquet": lambda table, folder: store(write_parquet(table, folder)),
}  # fmt: skip
LIBRARY_FORMS = {
    "Hugging Face": make_hugging_face,
    "Hugging Face, iterable": lambda table,
        _: pytest.importorskip("datasets").IterableDataset.from_generator(table.to_pylist),
    "Dask": lambda table,
        _: pytest.importorskip("dask.dataframe").from_pandas(table.to_pandas(), npartitions=4, sort=False),
}  # fmt: skip
TABLE_FORMS = PLAIN_FORMS | LIBRARY_FORMS

"""A pyarrow table in every form of rows and columns that `evaluate` takes: objects of libraries, and files."""

import gzip
import itertools

import pytest

pa = pytest.importorskip("pyarrow")

BATCH = 7  # rows: queries continue in the next batch
NUMBERS = itertools.count()


def make_dataset(table, folder):
    """Return a pyarrow dataset of several batches."""
    del folder
    return pytest.importorskip("pyarrow.dataset").dataset(table.to_batches(BATCH), table.schema)


def make_scanner(table, folder):
    """Return a scanner of a pyarrow dataset."""
    return make_dataset(table, folder).scanner(batch_size=BATCH)


def make_reader(table, folder):
    """Return a reader of record batches, which can be read once."""
    del folder
    return table.to_reader(BATCH)


def make_lazy(table, folder):
    """Return a lazy frame of Polars."""
    del folder
    return pytest.importorskip("polars").from_arrow(table).lazy()


def make_relation(table, folder):
    """Return a relation of DuckDB."""
    del folder
    connection = pytest.importorskip("duckdb").connect()
    connection.register("rows_of_test", table)
    return connection.sql("SELECT * FROM rows_of_test")


def make_result(table, folder):
    """Return a connection of DuckDB with the rows of a query."""
    del folder
    connection = pytest.importorskip("duckdb").connect()
    connection.register("rows_of_test", table)
    return connection.execute("SELECT * FROM rows_of_test")


def make_column_dict(table, folder):
    """Return a dict of columns."""
    del folder
    return {name: table[name].to_pylist() for name in table.column_names}


def make_records(table, folder):
    """Return a structured array of NumPy."""
    del folder
    return table.to_pandas().to_records(index=False)


def write_feather(table, folder):
    """Return the path of a Feather file of several batches."""
    path = folder / f"{next(NUMBERS)}.feather"
    pytest.importorskip("pyarrow.feather").write_feather(table, path, chunksize=BATCH)
    return path


def write_packed_feather(table, folder):
    """Return the path of a Feather file that gzip has packed."""
    path = folder / f"{next(NUMBERS)}.feather.gz"
    path.write_bytes(gzip.compress(write_feather(table, folder).read_bytes()))
    return path


def write_arrow_stream(table, folder):
    """Return the path of a file in the stream format of Arrow."""
    path = folder / f"{next(NUMBERS)}.arrows"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, BATCH)
    return path


def write_remote_feather(table, folder):
    """Return the address of a Feather file."""
    system = pytest.importorskip("fsspec").filesystem("memory")
    address = f"memory://fastndcg-tests/{next(NUMBERS)}.feather"
    system.pipe(address, write_feather(table, folder).read_bytes())
    return address


def write_remote_parquet(table, folder):
    """Return the address of a Parquet file."""
    path = folder / f"{next(NUMBERS)}.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(table, path, row_group_size=BATCH)
    address = f"memory://fastndcg-tests/{path.name}"
    pytest.importorskip("fsspec").filesystem("memory").pipe(address, path.read_bytes())
    return address


def make_hugging_face(table, folder):
    """Return a Dataset of Hugging Face whose indices reverse its table."""
    datasets = pytest.importorskip("datasets")
    del folder
    reversed_rows = table.take(pa.array(range(len(table) - 1, -1, -1), pa.int64()))
    dataset = datasets.Dataset(reversed_rows).select(range(len(table) - 1, -1, -1))
    return dataset if not len(table) else _check_indices(dataset)


def _check_indices(dataset):
    assert dataset._indices is not None or dataset.num_rows == 1
    return dataset


def make_iterable(table, folder):
    """Return an IterableDataset of Hugging Face, which has no types."""
    datasets = pytest.importorskip("datasets")
    del folder
    return datasets.IterableDataset.from_generator(table.to_pylist)


def make_dask(table, folder):
    """Return a data frame of Dask with several partitions."""
    frames = pytest.importorskip("dask.dataframe")
    del folder
    return frames.from_pandas(table.to_pandas(), npartitions=4, sort=False)


PLAIN_FORMS = {
    "pyarrow dataset": make_dataset,
    "scanner": make_scanner,
    "reader": make_reader,
    "lazy frame": make_lazy,
    "DuckDB relation": make_relation,
    "DuckDB result": make_result,
    "dict of columns": make_column_dict,
    "structured array": make_records,
    "feather": write_feather,
    "packed feather": write_packed_feather,
    "arrow stream": write_arrow_stream,
    "remote feather": write_remote_feather,
    "remote parquet": write_remote_parquet,
}
LIBRARY_FORMS = {
    "Hugging Face": make_hugging_face,
    "Hugging Face, iterable": make_iterable,
    "Dask": make_dask,
}
TABLE_FORMS = PLAIN_FORMS | LIBRARY_FORMS
IN_MEMORY = ("lazy frame", "DuckDB relation", "DuckDB result", "dict of columns", "structured array")

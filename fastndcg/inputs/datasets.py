"""Parquet files, folders and patterns as one dataset of pyarrow's, and the columns of it that are needed."""

from __future__ import annotations

import contextlib
import functools
import glob
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fastndcg.errors import InvalidInputError, optional_import
from fastndcg.inputs.frames import Frame


def open_dataset(name: str) -> Any:
    """The files of a path or pattern, with the columns that Hive's folders stand for."""
    dataset = optional_import("pyarrow.dataset", "reading Parquet", "arrow")
    pyarrow = optional_import("pyarrow", "reading Parquet", "arrow")
    paths: Any = name
    if not os.path.exists(name):
        paths = sorted(path for path in glob.glob(name, recursive=True) if os.path.isfile(path))
        if not paths:
            raise InvalidInputError(f"{name} must name Parquet files, but no file is called so")
    base = os.path.dirname(name.split("*", 1)[0].split("?", 1)[0].split("[", 1)[0])
    opened = functools.partial(dataset.dataset, paths, format="parquet", partition_base_dir=base or None)
    try:
        found = opened(partitioning=dataset.partitioning(flavor="hive"))
        kept = _texts_kept(found)
        if kept is not None:
            found = opened(partitioning=dataset.partitioning(kept, flavor="hive"))
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).partition("Is this a")[0]  # what follows says it again, for each layer of the library
        raise InvalidInputError(
            f"{name} must hold Parquet files, but does not: {reason.strip()} Write it anew, or say what it is: `format`"
        ) from None
    if not found.files:
        raise InvalidInputError(f"{name} must hold Parquet files, but the folder has none")
    return found


def _texts_kept(found: Any) -> Any:
    """The schema of Hive's folders where some that were taken for numbers have to be texts, such as 007; else None."""
    pyarrow = optional_import("pyarrow", "reading Parquet", "arrow")
    folders = {part for path in found.files for part in path.split("/")[:-1]}
    schema = getattr(found.partitioning, "schema", pyarrow.schema([]))
    kept = schema
    for place, field in enumerate(schema):
        values = [folder[len(field.name) + 1 :] for folder in folders if folder.startswith(f"{field.name}=")]
        if pyarrow.types.is_integer(field.type) and any(
            re.fullmatch(r"-?\d+", value) and value != str(int(value)) for value in values
        ):
            kept = kept.set(place, pyarrow.field(field.name, pyarrow.string()))
    return None if kept is schema else kept


def check_schemas(dataset: Any, needed: list[str], name: str) -> None:
    """Refuse files that lack a column, or have it in another type: they would be read as nulls, or cast."""
    for fragment in dataset.get_fragments():
        with whole_files(name):
            schema = fragment.physical_schema
        for column in needed:
            wanted = dataset.schema.field(column).type
            if column not in schema.names and f"{column}=" in fragment.path:
                continue
            if column not in schema.names or schema.field(column).type != wanted:
                found = schema.field(column).type if column in schema.names else "not there"
                raise InvalidInputError(
                    f"{name} must have the same columns in every file, but in {fragment.path} column {column!r} is "
                    f"{found}, and {wanted} in the first"
                )


def read_columns(dataset: Any, name: str, columns: Mapping[str, str] | None, roles: tuple[str, ...]) -> Frame:
    """Some columns of all files, by what they hold."""
    empty = Frame(dataset.schema.empty_table(), columns, name)
    needed = empty.names_of(*roles)
    check_schemas(dataset, needed, name)
    with whole_files(name):
        return Frame(dataset.to_table(columns=needed), columns, name)


@contextlib.contextmanager
def whole_files(name: str) -> Iterator[None]:
    """Name the files that pyarrow cannot decode, of which it says no more than why; the system's errors are kept."""
    pyarrow = optional_import("pyarrow", "reading Parquet", "arrow")
    try:
        yield
    except (pyarrow.ArrowInvalid, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = " ".join(str(error).split()).rstrip(".")
        raise InvalidInputError(f"{name} must be whole Parquet files, but is not: {reason}; write it anew") from None

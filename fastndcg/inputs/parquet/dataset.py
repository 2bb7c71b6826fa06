"""Open Parquet files, folders and patterns as one pyarrow dataset, and read the needed columns."""

from __future__ import annotations

import contextlib
import errno
import functools
import glob
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fastndcg.errors import InvalidInputError, shorten
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.remote import as_address, find_copy, find_files, find_system, has_pattern, is_address, is_folder
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.optional_packages import optional_import

MANY_FILES = "too many open files; close some, or raise their number (ulimit -n)"


def open_dataset(name: str) -> Any:
    """Open the files of a path or pattern, with the columns in the names of Hive's folders."""
    dataset = optional_import("pyarrow.dataset", "reading Parquet", "arrow")
    pyarrow = optional_import("pyarrow", "reading Parquet", "arrow")
    paths, base, system = _find_paths(name)
    opened = functools.partial(
        dataset.dataset, paths, format="parquet", partition_base_dir=base or None, filesystem=system
    )
    try:
        files = opened(partitioning=dataset.partitioning(flavor="hive"))
        _ = files.schema.names  # decodes the names, and raises if they are not UTF-8
        schema_with_texts = _keep_texts(files)
        if schema_with_texts is not None:
            files = opened(partitioning=dataset.partitioning(schema_with_texts, flavor="hive"))
    except (pyarrow.ArrowException, LookupError, UnicodeDecodeError, OSError) as error:
        reason = str(error).partition("Is this a")[0]  # pyarrow repeats the reason after this
        if is_folder(name) if is_address(name) else os.path.isdir(name):
            raise InvalidInputError(
                f"{name} must hold Parquet files, but does not: {show_name(reason.strip())} "
                f"Name files of other formats one by one, such as {os.path.join(name, '*.run')}"
            ) from None
        raise InvalidInputError(
            f"{name} must hold Parquet files, but does not: {show_name(reason.strip())} Write it anew, or give its own "
            "format"
        ) from None
    if not files.files:
        raise InvalidInputError(
            f"{name} must hold Parquet files, but the folder has none. Name files of other formats one by one, such "
            f"as {os.path.join(name, '*.run')}"
        )
    return files


def _find_paths(name: str) -> tuple[str | list[str], str, Any]:
    """Return the path or paths of a name, the folder above its pattern, and the file system, None for that here."""
    if is_address(name):
        copied_path = find_copy(as_address(name))
        system, inner = (None, copied_path) if copied_path else find_system(as_address(name))
        paths: Any = find_files(name) if has_pattern(name) else inner
    else:
        system = None
        inner = name
        is_there = os.path.exists(name)
        paths = name if is_there else sorted(path for path in glob.glob(name, recursive=True) if os.path.isfile(path))
    if not paths:
        raise InvalidInputError(f"{name} must name Parquet files, but no file is called so")
    return paths, os.path.dirname(inner.split("*", 1)[0].split("?", 1)[0].split("[", 1)[0]), system


def _keep_texts(files: Any) -> Any:
    """Return a schema with texts for Hive's folders such as 007, which are no numbers, or None without such folders."""
    pyarrow = optional_import("pyarrow", "reading Parquet", "arrow")
    folders = {part for path in files.files for part in path.split("/")[:-1]}
    schema = getattr(files.partitioning, "schema", pyarrow.schema([]))
    schema_with_texts = schema
    for place, field in enumerate(schema):
        values = [folder[len(field.name) + 1 :] for folder in folders if folder.startswith(f"{field.name}=")]
        if pyarrow.types.is_integer(field.type) and any(
            re.fullmatch(r"-?\d+", value) and value != str(int(value)) for value in values
        ):
            schema_with_texts = schema_with_texts.set(place, pyarrow.field(field.name, pyarrow.string()))
    return None if schema_with_texts is schema else schema_with_texts


def check_schemas(dataset: Any, columns: list[str], name: str) -> None:
    """Raise for files that lack a column, or have it in another type: pyarrow would read nulls, or cast it."""
    for fragment in dataset.get_fragments():
        with whole_files(name):
            schema = fragment.physical_schema
        for column in columns:
            expected = dataset.schema.field(column).type
            if column not in schema.names and f"{column}=" in fragment.path:
                continue
            if column not in schema.names or schema.field(column).type != expected:
                files = schema.field(column).type if column in schema.names else "not there"
                raise InvalidInputError(
                    f"{name} must have the same columns in every file, but in {show_name(fragment.path)} column "
                    f"{shorten(column)} is "
                    f"{files}, and {expected} in the first"
                )


def read_columns(dataset: Any, name: str, columns: Mapping[str, str] | None, roles: tuple[str, ...]) -> Frame:
    """Read the columns of some roles in all files."""
    empty = Frame(dataset.schema.empty_table(), columns, name)
    return Frame(read_chosen(dataset, name, empty.list_names(*roles)), columns, name)


def read_chosen(dataset: Any, name: str, to_read: list[str]) -> Any:
    """Read some columns of all files into one table."""
    check_schemas(dataset, to_read, name)
    with whole_files(name):
        table = dataset.to_table(columns=to_read)
        check_n_rows(name, len(table), dataset.count_rows())
        return table


def check_n_rows(name: str, n_read: int, n_promised: int) -> None:
    """Raise if a file has fewer rows than its footer says."""
    if n_read != n_promised:
        raise InvalidInputError(
            f"{name} must be whole Parquet files, but {n_read} of {n_promised} rows can be read. Write it anew"
        )


@contextlib.contextmanager
def whole_files(name: str) -> Iterator[None]:
    """Replace pyarrow's errors for damaged files by InvalidInputError with their name, and keep the system's errors."""
    pyarrow = optional_import("pyarrow", "reading Parquet", "arrow")
    try:
        yield
    except (pyarrow.ArrowException, LookupError, UnicodeDecodeError, EOFError, OSError) as error:
        if isinstance(error, MemoryError):
            raise
        if isinstance(error, OSError) and error.errno is not None:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise OSError(error.errno, MANY_FILES, name) from None
            raise
        reason = " ".join(str(error).split()).rstrip(".")
        raise InvalidInputError(
            f"{name} must be whole Parquet files, but is not: {show_name(reason)}. Write it anew"
        ) from None

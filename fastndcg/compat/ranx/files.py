"""
Files of the ranx drop-in: the formats of `save` and `from_file`.

The texts in TREC's format come from `list_run_lines` and `list_qrels_lines` alone.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from fastndcg.compat import trec_text
from fastndcg.compat.trec_text import FileError, KindError, Rows, StructureError
from fastndcg.errors import InvalidInputError, shorten
from fastndcg.runtime.atomic_write import write_whole
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.optional_packages import optional_import

RUN_KINDS = ("json", "trec", "lz4", "gz", "parquet")
QRELS_KINDS = ("json", "trec", "gz", "parquet")
ENDINGS = {"txt": "trec", "parq": "parquet"}
LZ4_START = b"\x04\x22\x4d\x18"
UNWRITABLE = re.compile("\\s")  # characters that no field of a line can hold


def get_file_kind(path: Any, kind: str | None = None, kinds: Iterable[str] = RUN_KINDS) -> str:
    """
    Return the format of a file. See `ranx`'s function of this name.

    Parameters
    ----------
    path : str or path
        The file.
    kind : str, optional
        The format. By default the ending of the path says it: .txt is 'trec' and .parq is 'parquet'.
    kinds : iterable of str
        The formats that are allowed.

    Returns
    -------
    str
        One of `kinds`.

    Raises
    ------
    KindError
        If the format is not allowed.

    Examples
    --------
    >>> get_file_kind("bm25.txt"), get_file_kind("bm25", kind="lz4")
    ('trec', 'lz4')
    """
    ending = os.path.splitext(os.fspath(path))[1][1:]
    name = ENDINGS.get(ending, ending) if kind is None else kind
    if name not in kinds:
        raise KindError(
            f"`kind` must be one of {', '.join(map(repr, kinds))}, but is {shorten(name)} for {show_name(path)}. "
            "Pass `kind`, or change the ending of the path."
        )
    return name


def read_lz4(path: Any) -> Any:
    """
    Return the content of an LZ4 file: CBOR that is compressed twice, as ranx writes it, or JSON.

    Raises
    ------
    FileError
        If the file is damaged.
    MissingPackageError
        If lz4 or cbor2 is not installed.
    """
    codec = optional_import("lz4.frame", "reading LZ4", "ranx")
    try:
        content = codec.decompress(Path(path).read_bytes())
        if content.startswith(LZ4_START):
            content = codec.decompress(content)
    except (EOFError, RuntimeError) as error:
        raise FileError(f"{path} must be a complete lz4 file, but is not: {error}. Write it again.") from None
    if content.lstrip()[:1] == b"{":
        return trec_text.parse_json(content, path)
    cbor2 = optional_import("cbor2", "reading ranx's LZ4 files", "ranx")
    try:
        return cbor2.loads(content)
    except (cbor2.CBORDecodeError, ValueError) as error:
        raise StructureError(f"{path} must hold CBOR or JSON, but does not: {error}. Write it again.") from None


def write_lz4(content: Any, path: Any) -> None:
    """Write CBOR that is compressed twice, as ranx does, and make the folder of the file."""
    codec = optional_import("lz4.frame", "writing LZ4", "ranx")
    cbor2 = optional_import("cbor2", "writing ranx's LZ4 files", "ranx")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    compressed = codec.compress(cbor2.dumps(content), compression_level=16)
    write_whole(path, [codec.compress(compressed)])


def save_rows(rows: Rows, path: Any, kind: str, list_lines: Callable[[Rows], Iterator[str]]) -> None:
    """
    Write rows in the format `kind`. If an error occurs, an older file is kept as it is.

    `list_lines` yields the lines of TREC's format.
    """
    if kind == "lz4":
        write_lz4(rows, path)
    else:
        encoders: dict[str, Callable[[], bytes]] = {
            "json": lambda: encode_json(rows),
            "parquet": lambda: encode_parquet(rows),
            "trec": lambda: "".join(list_lines(rows)).encode(),
            "gz": lambda: gzip.compress("".join(list_lines(rows)).encode(), mtime=0),
        }
        write_whole(path, [encoders[kind]()])


def encode_json(rows: Rows) -> bytes:
    """Return rows as JSON. Raise InvalidInputError for NaN and infinite scores, which JSON lacks."""
    try:
        return json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        raise InvalidInputError(
            f"scores in JSON must be finite, but one is not: {error}. Remove it, or save as 'trec' or 'parquet'."
        ) from None


def encode_parquet(rows: Rows) -> bytes:
    """Return rows as a Parquet file with the columns q_id, doc_id and score."""
    file = io.BytesIO()
    trec_text.make_frame(rows).to_parquet(file, index=False)
    return file.getvalue()


def list_qrels_lines(rows: Rows) -> Iterator[str]:
    """Yield lines "query 0 document label"."""
    for query, row in rows.items():
        check_field("a query id", query)
        for document, label in row.items():
            yield f"{query} 0 {check_field('a document id', document)} {label}\n"


def list_run_lines(rows: Rows, name: str | None) -> Iterator[str]:
    """Yield lines "query Q0 document rank score name". A run without a name has the name None, as in ranx."""
    tag = check_field("`name`", str(name))
    for query, row in rows.items():
        check_field("a query id", query)
        for rank, (document, score) in enumerate(row.items(), 1):
            yield f"{query} Q0 {check_field('a document id', document)} {rank} {score} {tag}\n"


def check_field(what: str, text: str) -> str:
    """Return a text that a field of TREC's format can hold. Raise InvalidInputError for others."""
    if not text or UNWRITABLE.search(text):
        raise InvalidInputError(
            f"{what} must have no blanks in TREC's format, but is {shorten(text)}. "
            "Change it, or save as 'json' or 'parquet'."
        )
    return text

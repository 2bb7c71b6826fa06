"""Files of judgments and runs: TREC and MS MARCO text, delimited fields, JSON, svmlight, Parquet, Arrow."""

from __future__ import annotations

import functools
import io
import itertools
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple, TypeGuard, TypeVar, cast

import numpy as np

from fastndcg.errors import InvalidInputError, shorten, suggest_name
from fastndcg.inputs.arrays import ArrayLayout, ArrayTruth, convert_ranks, make_layout
from fastndcg.inputs.diversity import DiversityQrels
from fastndcg.inputs.files import File, FilePath, check_path, is_address, spell_path
from fastndcg.inputs.frames import SWAPPED
from fastndcg.inputs.ids import split_at_blanks
from fastndcg.inputs.messages import Options, Source
from fastndcg.inputs.records import parse_json, read_json
from fastndcg.inputs.streams import StreamedTables, open_tables
from fastndcg.inputs.table import Qrels, Run, Table, TableRows, describe_row
from fastndcg.inputs.table_sources import (
    ARROW_MAGIC,
    PARQUET_MAGIC,
    ArrowContent,
    TableSource,
    convert_arrow_errors,
    open_arrow,
    open_dataset,
    open_parquet,
)
from fastndcg.inputs.text_lines import (
    NAME_THEM,
    NO_LIMIT,
    Layout,
    describe_remedy,
    find_dialect,
    read_delimited,
    read_headed,
    read_rows,
)
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array, as_labels, read_only
from fastndcg.runtime.imports import optional_import

Kind = TypeVar("Kind", bound=Table)

TREC = {
    "qrels": Layout(
        "query, iteration, document, label", (0, 2, 2, 3), 4, 4, "label", describe_remedy("qrels"),
        {6: SWAPPED["label"][1]},
    ),
    "run": Layout(
        "query, 'Q0', document, rank, score, name", (0, 2, 2, 4), 6, NO_LIMIT, "score", describe_remedy("run"),
        {4: SWAPPED["score"][1]},
    ),  # a name may hold blanks
}  # fmt: skip
DIVERSITY = Layout("query, subtopic, document, label", (0, 1, 2, 3), 4, 4, "label", describe_remedy("qrels"))
MSMARCO = Layout("query, document, rank", (0, 1, 1, 2), 3, 3, "rank", describe_remedy("run"))


def read_run_tag(path: FilePath) -> str | None:
    """Return the name that a run in TREC's format gives itself in its first line, or None for other formats."""
    with File(path) as file:
        fields = file.first_line.split()
        is_trec = len(fields) >= TREC["run"].least and find_format(file, Run, Options()).name == "trec"
    return fields[5].decode(errors="surrogateescape") if is_trec else None  # only its first word, as in trec_eval


class FileFormat(NamedTuple):
    """
    A format of files: the bytes that show it, or begin its first line, or a function that recognises it, and a reader.

    `has_columns` says if `columns` may name columns.
    """

    name: str
    read: Callable[[File, type[Table], Options], Any]
    magic: tuple[bytes, ...] = ()
    matches: Callable[[File, type[Table], Options], Any] | None = None
    starts: tuple[bytes, ...] = ()
    has_columns: bool = False


def find_format(file: File, kind: type[Table], options: Options) -> FileFormat:
    """Return the first format in `FORMATS` that recognises a file by its first bytes. A folder holds Parquet files."""
    if file.is_folder:
        return FORMATS[0]
    for form in FORMATS:
        if file.head.startswith(form.magic) or file.first_line.startswith(form.starts):
            return form
        if form.matches is not None and form.matches(file, kind, options):
            return form
    return FORMATS[-1]


def check_format(format: Any) -> None:
    """Raise for the name of no format."""
    if format is not None and (not isinstance(format, str) or format not in FORMATS_BY_NAME):
        hint = suggest_name(format, FORMATS_BY_NAME) or f" There are {', '.join(FORMATS_BY_NAME)}."
        raise InvalidInputError(f"`format` {shorten(format)} is not known.{hint}")


def read_path(path: FilePath, kind: type[Table], options: Options, format: str | None = None) -> Any:
    """Read a file of any format."""
    check_format(format)
    with File(path) as file:
        form = find_format(file, kind, options) if format is None else FORMATS_BY_NAME[format]
        return form.read(file, kind, options)


class Content(NamedTuple):
    """What a file of truth holds: scores beside labels, maybe streamed, and columns that may have other names."""

    has_scores: bool = False
    is_streamed: bool = False
    has_columns: bool = False


def look_for_scores(path: FilePath, columns: Any) -> Content:
    """Return what a file holds. One that can be read only once is left to the evaluation."""
    options = Options(columns=columns, is_alone=True)
    with File(path) as file:
        form = find_format(file, Qrels, options)
        if not form.has_columns:
            return Content()
        if not (file.is_folder or file.size is not None or is_address(path)):
            return Content(has_columns=True)
        truth = form.read(file, Qrels, options)
    return Content(not isinstance(truth, Qrels) or truth.own_run is not None, isinstance(truth, StreamedTables), True)


def read_columns(file: File, what: str, remedy: str, list_texts: Callable[[list[str]], Collection[str]]) -> Any:
    """
    Read a file of columns that are none of judgments and runs: a table, or the values of JSON as a list.

    Errors say that the file must hold `what`. `list_texts` is for fields below a header: see `read_headed`.
    """
    if file.first_line.startswith((b"{", b"[")):
        return parse_json(file.read(), file.name, (remedy,)).values
    with convert_arrow_errors(file.name, what, remedy):
        if file.is_folder:
            return open_dataset(spell_path(file.path)).to_table()
        if file.head.startswith(PARQUET_MAGIC):
            parquet = optional_import("pyarrow.parquet", "reading Parquet", "arrow")
            return parquet.read_table(io.BytesIO(file.read()))
        if file.head.startswith(ARROW_MAGIC):
            feather = optional_import("pyarrow.feather", "reading Arrow files", "arrow")
            return feather.read_table(io.BytesIO(file.read()))
        return read_headed(file, list_texts)


def read_file(
    kind: type[Kind], path: FilePath, format: str | None, options: Options, *, is_strict: bool = True
) -> Kind:
    """Read judgments or a run of a format. Raise for `columns` if it has none, unless another file may need them."""
    check_format(format)
    columns = options.columns
    with File(path) as file:
        form = find_format(file, kind, options) if format is None else FORMATS_BY_NAME[format]
        is_unnamed = bool(columns) and is_strict and not form.has_columns
        table = None if is_unnamed else form.read(file, kind, options)
    if table is None or (columns and is_strict and not table.source.columns):
        raise InvalidInputError(
            f"`columns` can only be used for CSV, Parquet and Arrow files, and for records in JSON, but {file.name} "
            f"is read as {form.name}. Leave it out"
        )
    return cast(Kind, table)


def _read_parquet(file: File, kind: type[Table], options: Options) -> Any:
    return _read_tables(open_parquet(file, options.threads), spell_path(file.path), kind, options)


def _read_arrow(file: File, kind: type[Table], options: Options) -> Any:
    """Read a file of Arrow or Feather. One that is refused is closed at once, not when its error is forgotten."""
    content = ArrowContent(file)
    try:
        return _read_tables(open_arrow(content), file.name, kind, options)
    except BaseException:
        content.close()
        raise


def _read_tables(tables: TableSource, name: str, kind: type[Table], options: Options) -> Any:
    return open_tables(tables, kind, options, name, name, Source(name, "row", columns=tables.names))


def _read_trec(file: File, kind: type[Table], options: Options) -> Any:
    rows, source = read_rows(file, TREC[kind.what], options.threads)
    return kind.from_rows(rows, source, options.threads)


def _read_diversity(file: File, kind: type[Table], options: Options) -> Any:
    """Read judgments by subtopic. Subtopic and document are one piece of each line, split at the blanks between."""
    if not issubclass(DiversityQrels, kind):
        raise InvalidInputError("`format` 'trec_diversity' is one of judgments, not of runs. Leave it out")
    rows, source = read_rows(file, DIVERSITY, options.threads)
    subtopics, documents = split_at_blanks(rows.documents)
    return DiversityQrels.of_judgments(rows._replace(documents=documents), subtopics, source)


def _read_msmarco(file: File, kind: type[Table], options: Options) -> Any:
    """
    Read a run of ranks 1, 2, 3 and so on in each query, whose negative values serve as scores.

    Three fields are often a query, a document and a score: values with a fraction are scores, and others are refused.
    """
    if kind.side != Run.side:
        raise InvalidInputError("`format` 'msmarco' is one of runs, not of judgments. MS MARCO's are 'trec'")
    rows, source = read_rows(file, MSMARCO, options.threads)
    with np.errstate(invalid="ignore"):
        if len(rows.values) and (rows.values % 1 != 0).any() and np.isfinite(rows.values).all():
            return kind.from_rows(rows, source, options.threads)

    def describe(row: int) -> str:
        return describe_row(rows.queries.take(rows.groups.number_rows()), rows.documents, source, row)

    try:
        scores = convert_ranks(rows.values, rows.groups, describe, source.name)
    except InvalidInputError as error:
        raise error.reword(after=f". {NAME_THEM}") from None
    return kind.from_rows(rows._replace(values=scores), source, options.threads)


def is_msmarco(file: File, kind: type[Table], options: Options) -> bool:
    """Return True for a run of three fields."""
    return kind.side == Run.side and len(file.first_line.split()) == MSMARCO.least


def _read_labels(file: File, kind: type[Table], options: Options) -> LabelsInFile:
    if not options.takes_scores(kind.side):
        raise InvalidInputError(
            f"{file.name} must have ids of documents, but is svmlight, which has labels and features. Give the labels "
            "as the truth, and their scores as predictions: fn.evaluate(path, scores)"
        )
    return read_svmlight(file, options.threads)


QUERY = "qid:"
LABELS = Layout("label, qid:QUERY, features", (1, NO_LIMIT, NO_LIMIT, 0), 2, NO_LIMIT, "label")
LABELS_ALONE = Layout("label, features", (NO_LIMIT, NO_LIMIT, NO_LIMIT, 0), 1, NO_LIMIT, "label")
SCORES = Layout("score", (NO_LIMIT, NO_LIMIT, NO_LIMIT, 0), 1, 1, "score")
SIZES = Layout("number of documents", SCORES.fields, 1, 1, "number of documents")
RANKLIB_SCORES = Layout("query, place, score", (0, 1, 1, 2), 3, 3, "score")


def is_svmlight(file: File, kind: type[Table], options: Options) -> bool:
    """Return True if the fields after a file's first one are a query or features, which have numbers."""
    return kind.side != Run.side and re.match(rb"\S+\s+(qid|\d+):", file.first_line) is not None


class LabelsInFile(ArrayTruth):
    """Labels and queries of a file, ready for the scores of many systems: arrays, or files with one per line."""

    def __init__(self, labels: Array, layout: ArrayLayout, source: Source) -> None:
        self._layout = layout
        self._labels = as_labels(layout.in_order(labels), "labels")
        self._source = source

    def rankings(self, scores: Any, source: Source | None = None) -> Rankings:
        """Make rankings of scores. Error messages name lines of files, those of the scores by their `source`."""

        def find_name(name: str, document: int) -> str:
            name_source = self._source if name == "labels" else source
            return (
                self._layout.place(name, document)
                if name_source is None
                else str(name_source.place(self._layout.find_index(document)))
            )

        return super().rankings(scores).set_locator(find_name)

    def read_rankings(self, path: FilePath, threads: int | None = None) -> Rankings:
        """Make rankings of the scores in a file with one line per label."""
        with File(path) as file:
            is_ranklib = len(file.first_line.split()) == RANKLIB_SCORES.least
            rows, source = read_rows(file, RANKLIB_SCORES if is_ranklib else SCORES, threads)
        if len(rows.values) != len(self._labels):
            raise InvalidInputError(
                f"{source.name} must have a score for each line of `truth`, {len(self._labels)}, but has "
                f"{len(rows.values)}. Give the scores of the same file"
            )
        if is_ranklib:
            self._check_places(rows, source)
        return self.rankings(np.asarray(rows.values), source)

    def _check_places(self, rows: TableRows, source: Source) -> None:
        """Raise unless RankLib's lines have the queries of the labels, and documents 0, 1, 2 and so on."""
        layout = self._layout
        order = np.arange(len(rows.values)) if layout.order is None else layout.order
        owners = np.repeat(np.asarray(layout.query_ids, object), np.diff(layout.offsets))
        expected = np.empty((2, len(order)), object)
        places = np.arange(len(order)) - np.repeat(layout.offsets[:-1], np.diff(layout.offsets))
        expected[:, order] = owners, list(map(str, places.tolist()))
        queries = rows.queries.names()[rows.groups.number_rows()]
        for row, found in enumerate(zip(queries.tolist(), rows.documents.names().tolist(), strict=True)):
            if found != tuple(map(str, expected[:, row])):
                raise InvalidInputError(
                    f"{source.place(row)}: must be of document {expected[1, row]} of query {expected[0, row]}, as in "
                    f"`truth`, but is of document {found[1]} of query {found[0]}. Give the scores of the same file"
                )


def read_svmlight(file: File, threads: int | None = None) -> LabelsInFile:
    """Read labels and queries, without the features."""
    if not re.match(rb"\S+\s+qid:", file.first_line):
        return _read_beside_sizes(file, threads)
    rows, source = read_rows(file, LABELS, threads)
    names = rows.queries.names()
    for query, (name, row) in enumerate(zip(names.tolist(), rows.groups.firsts.tolist(), strict=True)):
        if not name.startswith(QUERY) or name == QUERY:
            raise InvalidInputError(
                f"{source.place(row)}: the second field must be {QUERY} and a query, but is {shorten(name)}. Correct "
                "the line"
            )
        names[query] = name.removeprefix(QUERY)
    layout = ArrayLayout(rows.values.shape, read_only(rows.groups.offsets), rows.groups.rows, read_only(names))
    return LabelsInFile(rows.values, layout, source)


def _read_beside_sizes(file: File, threads: int | None) -> LabelsInFile:
    """Read labels whose queries have their sizes in a file beside them, as LightGBM reads it."""
    path = f"{os.fspath(file.path)}.query"
    if not os.path.exists(path):
        raise InvalidInputError(
            f"{file.name} must have qid:QUERY behind each label, or the sizes of its queries in a file beside it, "
            f"{os.path.basename(path)}. Write one of them"
        )
    rows, source = read_rows(file, LABELS_ALONE, threads)
    with File(path) as beside:
        sizes, sizes_source = read_rows(beside, SIZES, threads)
    labels = np.asarray(rows.values)
    try:
        whole = sizes.values.astype("i8") if (sizes.values % 1 == 0).all() else sizes.values
        layout = make_layout(labels.shape, None, whole, None)
    except InvalidInputError as error:
        raise error.reword(before=f"{sizes_source.name}: ") from None
    return LabelsInFile(labels, layout, source)


# Formats are asked in this order. Those with magic bytes come first, as their bytes may look like text. JSON begins
# with a bracket, and svmlight has a colon in its second field, which may be in a name of a column, too. A header shows
# delimited fields, of which the number counts only then: three are MS MARCO's, and TREC is all that is left.
FORMATS = (
    FileFormat("parquet", _read_parquet, PARQUET_MAGIC, has_columns=True),
    FileFormat("arrow", _read_arrow, ARROW_MAGIC, has_columns=True),
    FileFormat("json", read_json, starts=(b"{", b"["), has_columns=True),
    FileFormat("svmlight", _read_labels, matches=is_svmlight),
    FileFormat("csv", read_delimited, matches=find_dialect, has_columns=True),
    FileFormat("msmarco", _read_msmarco, matches=is_msmarco),
    FileFormat("trec", _read_trec),
)
NAMED_FORMATS = (
    FileFormat("json", functools.partial(read_json, are_lines=False), has_columns=True),
    FileFormat("jsonl", functools.partial(read_json, are_lines=True), has_columns=True),
    FileFormat("trec_diversity", _read_diversity),
)
FORMATS_BY_NAME = {form.name: form for form in (*FORMATS, *NAMED_FORMATS) if form.name != "svmlight"}  # without ids


VECTOR_SUFFIXES = (".npy", ".safetensors")  # of files that have no tag
_FORMAT_SUFFIX = re.compile(r"(\.run)?(\.(gz|bz2|zst))?$")
_KNOWN_SUFFIXES = re.compile(
    r"(\.(run|res|results?|trec|txt|tsv|csv|jsonl?|ndjson|parquet|arrows?|ipc|feather|npy|safetensors|qrels?))*"
    r"(\.(gz|bz2|zst|xz))?$",
    re.IGNORECASE,
)


def is_path_list(systems: Any) -> TypeGuard[Sequence[FilePath]]:
    """Return True for a list or tuple of paths."""
    return isinstance(systems, list | tuple) and all(isinstance(path, str | os.PathLike) for path in systems)


def name_runs(paths: Sequence[FilePath]) -> list[str]:
    """
    Return a name for each run.

    A run has the name of its tag if no other run has this tag. Otherwise it has its file name without suffixes. If
    such names repeat, all runs have names without tags, then with suffixes, then with folders.

    Raises
    ------
    OSError
        If a file cannot be read.
    """
    vectors = [_read_vector_paths(path) for path in paths]
    for path in [path for own in vectors for path in own]:
        check_path(path)
    tags = [
        None if os.path.isdir(path) or os.fspath(path).endswith(VECTOR_SUFFIXES) else read_run_tag(path)
        for path in paths  # the reader refuses folders
    ]
    counts = Counter(tags)
    stems = [name_file(own[0]) if len(own) == 1 else _name_pair(own) for own in vectors]
    with_tags = [tag if tag and counts[tag] == 1 else stem for tag, stem in zip(tags, stems, strict=True)]
    full_paths = [os.fspath(path) for path in paths]
    file_names = [_FORMAT_SUFFIX.sub("", os.path.basename(path)) for path in full_paths]
    candidates = (with_tags, stems, file_names)
    return next((names for names in candidates if len(set(names)) == len(names)), full_paths)


def _read_vector_paths(path: FilePath) -> list[FilePath]:
    """Return the two files that hold the vectors of users and of items, or one file."""
    users, separator, items = os.fspath(path).partition(".npy,")
    return [f"{users}.npy", items] if separator else [path]


def _name_pair(paths: Sequence[FilePath]) -> str:
    """Return what the names of two files have in common, else the name of their folder, or of the first file."""
    stems = [name_file(path) for path in paths]
    folder = os.path.basename(os.path.dirname(os.fspath(paths[0])))
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(*stems, strict=False))
    return "".join(letter for letter, _ in same).rstrip("_-. ") or folder or stems[0]


def name_file(path: FilePath) -> str:
    """
    Return the name of a file without the suffixes of known formats and the dot that begins a hidden file's name.

    >>> name_file("runs/bm25.v1.2.run.gz"), name_file("a.b.txt"), name_file(".run")
    ('bm25.v1.2', 'a.b', 'run')
    """
    name = os.path.basename(os.fspath(path)).lstrip(".")
    return _KNOWN_SUFFIXES.sub("", name) or name

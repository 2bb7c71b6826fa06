"""
What the columns of a frame become: judgments, a run, both, or labels and scores.

Labels and scores are rows of (query, score, label) in any order, or one row per query with lists.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from fastndcg.errors import Column, InvalidInputError, Option
from fastndcg.inputs.arrays import convert_ranks
from fastndcg.inputs.columns import ColumnNames
from fastndcg.inputs.diversity import DiversityQrels
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.ids import Groups, IdColumn, group
from fastndcg.inputs.join import tie_keys
from fastndcg.inputs.messages import Options, Source
from fastndcg.inputs.table import Qrels, Rows, Run, Table, choose_run, describe_row, refuse_repeated, refuse_sizes
from fastndcg.named_conventions import Convention
from fastndcg.named_conventions.ties import TIES
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array, as_labels, as_offsets, as_scores, is_wide, read_only
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.pickling import Picklable

TELL_APART = (
    "Keep one of them, name a column that tells them apart: ", Column("document"), ", or take ",
    Option("duplicates", "'first'"),
)  # fmt: skip


Kind = TypeVar("Kind", bound=Table)


class TablePair(NamedTuple):
    """Judgments and a run that one table holds."""

    qrels: Qrels
    run: Run


class ScoredRows(Picklable):
    """
    Labels and scores of a frame, query after query. Error messages call it `name`.

    With `is_part`, the frame is one of several, and the caller checks that no query with lists occurs twice.
    """

    def __init__(
        self,
        frame: Frame,
        threads: int | None = None,
        name: str = "`truth`",
        *,
        is_part: bool = False,
        source: Source | None = None,
    ) -> None:
        self._labels: Array
        self._scores: Array
        self._offsets: Array
        own_source = source or Source(name, "row", n_before=frame.first_row)
        self._source = own_source._replace(remedy=TELL_APART)
        self.queries: IdColumn | None = None  # one per row of lists, if the rows have query ids
        self._run: Run | None = None
        self._names: Array | None = None
        self._order: Array | None = None
        if frame.has_list_columns:
            self._take_lists(frame, threads, is_part)
        else:
            self._take_rows(frame, threads)
        self._are_ordinals = is_wide(self._scores)
        self._scores = as_scores(self._scores, "scores")
        self._offsets = as_offsets(self._offsets, "offsets", len(self._labels))

    def rankings(self, convention: Convention | None, threads: int | None = None) -> Rankings:
        """Make rankings, with tie keys if the convention orders ties by id."""
        keys = make_tie_keys(self._run, convention, threads)
        rankings = Rankings.from_checked(
            self._labels, self._scores, self._offsets, self._names,
            find_name=self._place if self._run is None else _DocumentIds(self._place, self._run), tie_keys=keys,
        )  # fmt: skip
        rankings.are_ordinals = self._are_ordinals
        return rankings

    def _take_rows(self, frame: Frame, threads: int | None) -> None:
        queries = frame.read_ids("query")
        labels = as_labels(frame.read_numbers("label"), "labels")
        groups = group(queries, threads)
        if frame.is_ranked:
            documents = frame.read_ids("document") if frame.has("document") else None
            describe = functools.partial(describe_row, queries, documents, self._source)
            scores = convert_ranks(frame.read_numbers("rank"), groups, describe, self._source.name)
        else:
            scores = frame.read_numbers("score")
        self._order = groups.rows
        distinct = queries.take(groups.firsts)
        self._offsets = groups.offsets
        self._names = read_only(distinct.names())
        self._labels = labels if groups.rows is None else read_only(labels[groups.rows])
        if frame.has("document"):
            rows = Rows(distinct, groups, frame.read_ids("document"), scores)
            self._run = Run.of(rows, self._source, threads)
        self._scores = scores if groups.rows is None else scores[groups.rows]

    def _take_lists(self, frame: Frame, threads: int | None, is_part: bool) -> None:
        labels = frame.read_lists("label")
        scores = frame.read_lists("score")
        self._labels = as_labels(labels.values, "labels")
        self._scores = scores.values
        self._offsets = scores.offsets
        refuse_sizes("label", labels.offsets, "score", self._offsets, self._source)
        queries = None
        if frame.has("query"):
            queries = self.queries = frame.read_ids("query")
            self._names = read_only(queries.names())
            if not is_part:
                refuse_repeated(queries, self._source)
        if frame.has("document"):
            documents, offsets = frame.read_id_lists("document")
            refuse_sizes("document", offsets, "score", self._offsets, self._source)
            if queries is None:
                queries = frame.number_rows()
            rows = Rows(queries, Groups(offsets, None, offsets[:-1]), documents, scores.values)
            self._run = Run.of(rows, self._source._replace(lists=offsets), threads)

    def _place(self, _: str, document: int) -> str:
        """Return the row of a document in the frame, or its index in all lists."""
        return str(document if self._order is None else int(self._order[document]))


@dataclass(frozen=True, slots=True)
class _DocumentIds:
    """The places of documents in a frame for messages, and their ids."""

    place: Callable[[str, int], str]
    run: Run

    def __call__(self, name: str, document: int) -> str:
        """Return the row of a document in the frame."""
        return self.place(name, document)

    def take(self, name: str, places: Array) -> Array:
        """Return the ids of several documents."""
        del name
        return self.run.documents.take(places).names()


def make_tie_keys(run: Run | None, convention: Convention | None, threads: int | None) -> Array | None:
    """Return tie keys if there are document ids and the convention orders ties by id, else None."""
    if run is None or convention is None or TIES[convention.ties].orders != "id":
        return None
    return tie_keys(run, threads)


class FileRequest(NamedTuple):
    """
    What is read from a file: judgments or a run, or what truth may be.

    Attributes
    ----------
    kind : type
        Qrels or Run.
    columns : ColumnNames
        What is known of the columns of this side.
    options : Options
        The options of the evaluation.
    is_truth : bool
        True if the file may hold labels and scores in place of judgments.
    """

    kind: type[Table]
    columns: ColumnNames
    options: Options
    is_truth: bool = False

    def read(self, frame: Frame, source: Source | None = None) -> Any:
        """Read what the columns of a file hold."""
        if self.is_truth:
            return read_truth_table(frame, self.options, source)
        return read_table(self.kind, frame, self.options.threads, source)


def read_truth_table(frame: Frame, options: Options, source: Source | None = None) -> ScoredRows | TablePair | Qrels:
    """Read what a table without predictions holds: labels and scores, relevant and retrieved ids, or judgments."""
    threads = options.threads
    pair = frame.find_id_lists()
    if pair is not None:
        run = choose_run(options).of_frame(pair[1], threads, source)
        return TablePair(Qrels.of_frame(pair[0], threads, source), run)
    if frame.has_scores and options.duplicates is not None and frame.has("document"):
        return _read_repeated(frame, options, source)
    if frame.has_scores:
        return ScoredRows(frame, threads, source=source)
    return read_table(Qrels, frame, threads, source)


def _read_repeated(frame: Frame, options: Options, source: Source | None) -> TablePair:
    """Read labels beside scores as judgments and a run, where a query may have a document in several rows."""
    run = choose_run(options).of_frame(frame, options.threads, source)
    place = source or Source("`truth`", "row")
    if frame.has_list_columns:
        documents, offsets = frame.read_id_lists("document")
        lists, place = frame.read_lists("label"), place._replace(lists=offsets)
        refuse_sizes("label", lists.offsets, "document", offsets, place)
        queries = frame.read_ids("query") if frame.has("query") else frame.number_rows()
        queries, labels = queries.take(Groups(offsets, None, offsets[:-1]).number_rows()), lists.values
    else:
        queries, documents, labels = frame.read_ids("query"), frame.read_ids("document"), frame.read_numbers("label")
    codes = group(queries).number_rows(), documents.factorize()[0]
    pairs = codes[0] * (int(codes[1].max(initial=0)) + 1) + codes[1]
    _, firsts, owners = np.unique(pairs, return_index=True, return_inverse=True)
    differs = labels != labels[firsts][owners]
    if differs.any():
        row = int(np.argmax(differs))
        first = int(firsts[owners[row]])
        raise InvalidInputError(
            f"{place.name}: a document must have one label in a query, but document {show_name(documents.name(row))} "
            f"of query {show_name(queries.name(row))} has {labels[first]} and {labels[row]} in ",
            *place.pair(first, row),
            ". Give it one",
        )
    kept = np.sort(firsts)
    own = queries.take(kept)
    groups = group(own)
    judged = Rows(own.take(groups.firsts), groups, documents.take(kept), labels[kept])
    return TablePair(Qrels.of_distinct(judged, run.source.select(kept)), run)


def read_table(kind: type[Kind], frame: Frame, threads: int | None = None, source: Source | None = None) -> Kind:
    """Read a table from a frame: judgments by subtopic if it has a column of subtopics."""
    if issubclass(DiversityQrels, kind) and frame.has("subtopic"):
        return cast(Kind, DiversityQrels.of_frame(frame, threads, source))
    return kind.of_frame(frame, threads, source)

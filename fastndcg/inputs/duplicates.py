"""
Documents that a query of a run has several times, and chunks of documents: which of their rows count, at which ranks.

A run of any form is read with all its rows, as a `RepeatedRun`. A run of chunks becomes one of documents by their ids
alone. `Duplicates.apply` then drops rows, or empties their places, before the run is joined with judgments. So no
reader and no metric has a case for duplicates or chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NoReturn, cast

import numpy as np

from fastndcg.errors import Choice, InvalidInputError, InvalidTypeError, Option, shorten
from fastndcg.inputs.frames import ColumnNames, Frame, is_frame
from fastndcg.inputs.ids import SURROGATES, Groups, IdColumn, concatenate_comparable, group_codes
from fastndcg.inputs.join import find_ids, refuse_nan_scores, tie_keys
from fastndcg.inputs.messages import are_columns
from fastndcg.inputs.table import Qrels, RepeatedRun, Run, TableRows
from fastndcg.kernels.lookup import load_kernels
from fastndcg.named_conventions import Convention
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.rankings.validation import Array, put, read_only
from fastndcg.runtime.escapes import show_name

CHOICES = ("raise", "first", "best", "sum", "counted")
RANKS = ("kept", "closed")
NO_ORDER = ("group", "label")  # of tie policies that do not order the rows of a tie group
NOTES = {
    ("first", "kept"): "dropped, with their ranks left empty",
    ("first", "closed"): "dropped, with later ranks closed up",
    ("sum", "closed"): "their scores added to the first one's",
    ("counted", "kept"): "each counted",
}


@dataclass(frozen=True, slots=True)
class Duplicates:
    """What becomes of the rows of a document that its query has again."""

    choice: str  # of `CHOICES`
    ranks: str  # of `RANKS`: whether a dropped row leaves its place empty
    parents: Parents | None = None  # the documents of the run's chunks

    @property
    def keeps_first(self) -> bool:
        """True if lists in rank order keep the first place of each document, and the ranks of all others."""
        return self.choice in ("first", "best") and self.ranks == "kept" and self.parents is None

    def __str__(self) -> str:
        ranks = f", ranks={self.ranks!r}" if self.choice in ("first", "best") else ""
        return f"duplicates={self.choice!r}{ranks}{', parents' if self.parents is not None else ''}"

    def read_parents(self, predictions: Any, columns: Any, run: Run | None = None) -> Duplicates:
        """Return this choice with the parents in a column of predictions, of which `run` was read, if that is named."""
        if self.parents is None:
            return self
        return replace(self, parents=self.parents.read_column(predictions, columns, run))

    def apply_to_both(self, qrels: Qrels, run: Run, convention: Convention) -> tuple[Qrels, Run]:
        """Return judgments and a run of documents that count as this choice says."""
        settled = self.apply(run, convention)
        return (qrels if self.parents is None else self.parents.map_qrels(qrels, settled)), settled

    def apply(self, run: Run, convention: Convention | None = None) -> Run:
        """
        Return a run in which each document counts as this choice says.

        Parameters
        ----------
        run : Run
            As it was read, with all its rows.
        convention : Convention, optional
            Whose tie policy orders the rows of equal score. By default the input does.
        """
        if convention is not None:
            refuse_nan_scores(run, convention)
        keys = None
        if convention is not None and TIES[convention.ties].orders == "id":
            keys = _order_ids(run)  # of chunks, where the run has chunks
        n_chunks = len(run)
        if self.parents is not None:
            run = self.parents.map_run(run)
        elif not run.has_repeats():
            return run
        documents, firsts = run.number_pairs()
        if self.parents is not None:
            note = f"@k counts chunks: {n_chunks}, of {len(firsts)} documents"
            if self.ranks == "closed":
                note = f"@k counts documents: {len(firsts)}, of {n_chunks} chunks"
            run.placed_in(run.source._replace(notes=(*run.source.notes, note)))
        if len(firsts) == n_chunks:
            return run
        if self.choice == "raise":
            run.refuse_repeats(None)
        keys = None if self.choice == "sum" else keys  # sums have no order of chunks
        rows = _Rows(run, convention, keys, documents, len(firsts))
        n_repeated = len(run) - rows.n_documents
        note = self.note(n_repeated)
        all_rows = np.arange(len(run))
        if self.choice == "counted":
            counted = rows.take(all_rows, run.values, note)
            put(counted, is_counted=True)
            return counted
        if self.choice == "sum":
            return rows.take(rows.find_kept(all_rows), rows.add_scores(), note)
        kept, values = rows.find_first(self.ranks) if self.choice == "first" else (rows.find_kept(all_rows), run.values)
        if self.ranks == "closed":
            return rows.take(kept, values, note)
        is_empty = np.ones(len(run), bool)
        is_empty[kept] = False
        emptied = rows.take(all_rows, values, note)
        put(emptied, is_empty=read_only(is_empty))
        return emptied

    def note(self, n_repeated: int) -> str:
        """Return the note that counts the rows of documents that their query has again."""
        what = NOTES["first" if self.choice == "best" else self.choice, self.ranks]
        return f"documents that their query has again, {what}: {n_repeated}"


def make_duplicates(duplicates: Any, ranks: Any, parents: Any = None) -> Duplicates | None:
    """Return the arguments `duplicates`, `ranks` and `parents` as a choice, None if duplicates are errors."""
    if duplicates is None and ranks is None and parents is None:
        return None
    if parents is not None:
        chosen = make_duplicates("first" if duplicates is None else duplicates, ranks)
        return replace(chosen or Duplicates("raise", "kept"), parents=make_parents(parents))
    for name, value, known in (("duplicates", duplicates, CHOICES), ("ranks", ranks, RANKS)):
        if value is not None and (not isinstance(value, str) or value not in known):
            *others, last = map(repr, known)
            raise InvalidInputError(f"`{name}` must be {', '.join(others)} or {last}, not {shorten(value)}")
    if duplicates in ("first", "best"):
        return Duplicates(duplicates, ranks or "kept")
    if ranks is not None and (duplicates != "sum" or ranks == "kept"):
        raise InvalidInputError(
            f"`ranks` must be left out, as duplicates={shorten(duplicates or 'raise')} drops no row that could leave "
            "its rank empty. Leave it out, or take ",
            Option("duplicates", "'first'"),
        )
    if duplicates in (None, "raise"):
        return None
    return Duplicates(duplicates, "closed" if duplicates == "sum" else "kept")


def settle_closed(run: Run) -> Run:
    """Return a run of different documents, without empty ranks, for functions that take lists of such."""
    chosen = run.duplicates
    if chosen is None:
        return run
    if chosen.choice == "counted":
        raise InvalidInputError(
            f"{run.source.name} must have different documents here, so that duplicates='counted' cannot count rows. "
            "Take 'first', 'best' or 'sum'"
        )
    closed: Run = replace(chosen, ranks="closed").apply(run)
    return closed if closed.duplicates is None else run.copy_as(Run)


class _Rows:
    """The rows of a run: to which document of which query they belong, and how they rank."""

    def __init__(
        self, run: Run, convention: Convention | None, keys: Array | None, documents: Array, n_documents: int
    ) -> None:
        self.run = run
        self.keys = keys
        self.convention = convention
        self.documents = documents
        self.n_documents = n_documents
        is_single = convention is not None and convention.score_dtype == "float32"
        with np.errstate(over="ignore"):
            self.scores = run.values.astype("f4") if is_single else run.values

    def find_kept(self, places: Array) -> Array:
        """Return the row of each document with the highest score, of equal ones the lowest place."""
        return _find_best(self.documents, self.n_documents, self.scores, places)

    def find_first(self, ranks: str) -> tuple[Array, Array]:
        """Return the row of each document that ranks first, and all scores, by which its other rows rank below it."""
        rows = np.arange(len(self.run))
        policy = TIES["input"] if self.convention is None else TIES[self.convention.ties]
        if policy.orders not in NO_ORDER:
            places = policy.choose(input=rows, id=self.keys)
            return self.find_kept(-places if policy.falls else places), self.run.values
        kept = self.find_kept(rows)
        highest = np.empty(self.n_documents, self.scores.dtype)
        highest[self.documents[kept]] = self.scores[kept]
        highest = highest[self.documents]
        is_live = (self.scores == highest) | np.isnan(highest)
        n_live = np.bincount(self.documents, is_live).astype("i8")
        is_open = is_live & (n_live[self.documents] > 1)  # which row is first depends on the order of a tie group
        if not is_open.any():
            return kept, self.run.values
        groups = self._number_tie_groups(self.scores)
        if ranks == "closed":
            if policy.orders == "group":  # documents of a tie group with as many rows each are exchangeable
                counts = n_live[self.documents]
                most = _find_highest(groups, np.where(is_live, counts, 0))
                fewest = -_find_highest(groups, np.where(is_live, -counts, -len(rows)))
                self._refuse_order(is_open & (fewest < most)[groups], groups)
            return kept, self.run.values
        is_alone = _find_highest(groups, self.documents) == -_find_highest(groups, -self.documents)
        self._refuse_order(is_open & ~is_alone[groups], groups)
        is_next = is_open
        is_next[kept] = False
        return kept, self._lower(is_next, groups)

    def _lower(self, is_next: Array, groups: Array) -> Array:
        """Return scores in which some rows, which tie with a row of their document alone, are next below it."""
        scores = self.scores.copy()
        with np.errstate(over="ignore", under="ignore"):
            scores[is_next] = np.nextafter(scores[is_next], scores.dtype.type(-np.inf))
        lower = self._number_tie_groups(scores)
        n_all, n_lowered = np.bincount(lower), np.bincount(lower, is_next)
        has_room = (scores != self.scores) & (n_all == n_lowered)[lower]
        self._refuse_order(is_next & ~has_room, groups)  # of two scores that are neighbours in their dtype
        values: Array = np.where(is_next, scores, self.run.values)
        return values.astype(self.run.values.dtype, copy=False)

    def _number_tie_groups(self, scores: Array) -> Array:
        """Return a number for each row, equal for rows of equal score of a query."""
        levels = np.unique(scores, return_inverse=True)[1]  # equal for NaN
        queries = np.repeat(np.arange(len(self.run.queries)), np.diff(self.run.offsets))
        return np.asarray(np.unique(queries * (int(levels.max()) + 1) + levels, return_inverse=True)[1])

    def add_scores(self) -> Array:
        """Return the sum of each document's scores in all its rows. Equal scores in another order have the same sum."""
        counts = np.bincount(self.documents)
        is_again = counts[self.documents] > 1
        best = Option("duplicates", "'best'")
        self.run.refuse(
            is_again & (self.run.values < 0), "be 0 or more to be added up", "Rescale the scores, or take ", best
        )
        scores = self.run.values.astype("f8")
        rows = np.flatnonzero(is_again)
        if counts.max(initial=0) > 2:  # the sum of two has no order
            rows = rows[np.argsort(scores[rows])]
        offsets, order = group_codes(self.documents[rows], self.n_documents, np.arange(len(rows)), len(rows))
        of_documents = np.zeros(self.n_documents)
        if len(rows):
            with np.errstate(invalid="ignore", over="ignore"):
                of_documents[counts > 1] = np.add.reduceat(scores[rows[order]], offsets[:-1][counts > 1])
        sums = np.where(is_again, of_documents[self.documents], scores)
        self.run.refuse(
            np.isnan(sums) & ~np.isnan(scores), "have a sum with the document's other scores",
            "Take finite scores, or ", best,
        )  # fmt: skip
        return sums

    def _refuse_order(self, offenders: Array, groups: Array) -> None:
        """Raise for a document whose first row the tie policy leaves open."""
        if offenders.any():
            self._refuse_row(int(np.argmax(offenders)), groups)

    def _refuse_row(self, row: int, groups: Array) -> NoReturn:
        run = self.run
        ties = "average" if self.convention is None else self.convention.ties
        others = np.flatnonzero((groups == groups[row]) & (self.documents != self.documents[row]))
        beside = f" and ties with {run.describe(int(others[0]))}" if len(others) else ""
        raise InvalidInputError(
            run.source.place(run.input_row(row)),
            f": {run.describe(row)} occurs several times with the score {run.values[row]!s}{beside}, so that its first "
            f"place has no exact expectation under ties={shorten(ties)}. Take ",
            Option("duplicates", "'best'"),
            ", which gives the document its score, or ",
            Choice("ties", ["input"]),
        )

    def take(self, rows: Array, values: Array, note: str) -> RepeatedRun:
        """Return a run of some rows, in their order, given the values of all."""
        new = cast(RepeatedRun, self.run.keep(rows, values))
        put(new, keys=None if self.keys is None else self.keys[rows], duplicates=None)
        return new.placed_in(new.source._replace(notes=(*new.source.notes, note)))


def _find_best(documents: Array, n_documents: int, values: Array, places: Array) -> Array:
    """Return the row of each document with the highest value, of equal ones the lowest place, in rising order."""
    best = np.empty(n_documents, "i8")
    values = read_only(values.astype("f8", copy=False))
    load_kernels("inputs.ids").find_best(read_only(documents), values, read_only(places), best)
    is_best = np.zeros(len(documents), bool)
    is_best[best] = True
    return np.flatnonzero(is_best)


def _find_highest(groups: Array, values: Array) -> Array:
    """Return the highest value of each group."""
    highest = np.full(int(groups.max()) + 1, np.iinfo("i8").min)
    np.maximum.at(highest, groups, values)
    return highest


def _order_ids(run: Run) -> Array:
    """Return different numbers that order rows of equal score by id, and rows of one document as they come."""
    keys = tie_keys(run, None)
    if run.documents.are_texts:
        return keys
    ordered = np.empty(len(keys), "i8")
    ordered[np.lexsort((np.arange(len(keys)), keys))] = np.arange(len(keys))
    return ordered


FORM = (
    "a dict or Series of chunk to document, a frame with columns of both, the name of a column of the run, a function "
    "of a chunk's id, or a rule such as 'before #' or 'before last _'"
)
ID = str | int | np.integer
BEFORE = "before "
LAST = "last "
CHUNKS = ("chunk_id", "chunk", "passage_id", "passage", "node_id", "pid")  # columns of `parents`, if it is a frame


class Found(NamedTuple):
    """The document of each id, which is the id itself where it is no chunk."""

    documents: IdColumn
    are_chunks: Array


class Parents:
    """The document of each chunk. Subclasses say how it is found."""

    column: str | None = None  # of the run, which has the documents

    def find(self, ids: IdColumn) -> Found:
        """Return the document of each id."""
        raise NotImplementedError

    def list_confused(self, ids: IdColumn, found: Found, documents: IdColumn) -> Array:
        """Return the rows of chunks that are among `documents`, and not their own."""
        distinct = documents.take(documents.factorize()[1])
        rows = np.flatnonzero(found.are_chunks & (find_ids(ids, distinct, "documents", SIDES) >= 0))
        return rows[_differ(ids.take(rows), found.documents.take(rows))]

    def read_column(self, predictions: Any, columns: Any, run: Run | None) -> Parents:
        """Return the parents, read from predictions if they are a column of these."""
        del predictions, columns, run
        return self

    def map_run(self, run: Run) -> RepeatedRun:
        """Return a run of documents, in which each chunk has a row."""
        found = self.find(run.documents)
        self.check_known(run, found)
        confused = self.list_confused(run.documents, found, found.documents)
        if len(confused):
            row = int(confused[0])
            raise InvalidInputError(
                f"`parents` must tell chunks from documents, but {run.describe(row)} is a chunk of "
                f"{shorten(found.documents.name(row))} and the document of others. Give them different ids"
            )
        rows = TableRows(run.queries, Groups(run.offsets, None, run.offsets[:-1]), found.documents, run.values)
        return RepeatedRun.from_rows(rows, run.source.select(run.input_row(np.arange(len(run)))))

    def check_known(self, run: Run, found: Found) -> None:
        """Raise for a row of a run that is neither a chunk nor a document, if that can be told."""

    def map_qrels(self, qrels: Qrels, run: Run) -> Qrels:
        """
        Return judgments of documents. The label of a document is the highest of its own and its chunks'.

        `run` has the documents of the run, to which judgments by document refer.
        """
        found = self.find(qrels.documents)
        if not _differ(qrels.documents, found.documents).any():
            return qrels
        wrong = self.list_confused(qrels.documents, found, run.documents)
        if len(wrong):
            raise InvalidInputError(
                "`parents` must give None, or the id itself, for the id of a document, but takes "
                f"{shorten(qrels.documents.name(int(wrong[0])))}, the document of a retrieved chunk, for a chunk. Give "
                "a dict, or a rule that tells them apart"
            )
        if qrels.select_patterns(np.zeros(0, "i8")) is not None:
            raise InvalidInputError(
                "`truth` must judge documents, not chunks, where judgments are by subtopic and `parents` is given. "
                "Give groups of chunks as evidence instead, without `parents`"
            )
        queries = np.repeat(np.arange(len(qrels.queries)), np.diff(qrels.offsets))
        codes, firsts = found.documents.factorize()
        pairs, first_pairs = IdColumn.from_numbers(queries * len(firsts) + codes).factorize()
        kept = _find_best(pairs, len(first_pairs), qrels.values, np.arange(len(qrels)))
        groups = Groups(np.searchsorted(kept, qrels.offsets), None, qrels.offsets[:-1])
        rows = TableRows(qrels.queries, groups, found.documents.take(kept), qrels.values[kept])
        return Qrels.from_rows(rows, qrels.source.select(qrels.input_row(kept)))


class ParentColumn(Parents):
    """The name of a column of the run, which has the documents, before it is read."""

    def __init__(self, name: str) -> None:
        self.column = self._name = name

    def find(self, ids: IdColumn) -> Found:
        """Return the ids, which are no chunks where the run has no such column."""
        return Found(ids, np.zeros(len(ids), bool))

    def read_column(self, predictions: Any, columns: Any, run: Run | None) -> Parents:
        """Return the parents in a column of a frame of predictions, if that is what these are."""
        name = self._name
        if not (is_frame(predictions) or (isinstance(predictions, Mapping) and are_columns(predictions))):
            raise InvalidTypeError(
                f"`parents` can only be the name of a column, {shorten(name)}, where the run is a frame. Give {FORM}"
            )
        frame = Frame(predictions, replace(ColumnNames.of(columns, "predictions"), parents=name), "run")
        if name not in frame.column_names:
            raise InvalidInputError(
                f"`parents` must be a column of the run, but {shorten(name)} is none of "
                f"{', '.join(map(repr, frame.column_names))}. Name one, or give a rule such as 'before #'"
            )
        parents = Frame(predictions, {"document": name}, "run").read_ids("document")
        chunks = frame.read_ids("document") if run is None else run.documents
        if len(chunks) != len(parents):
            raise InvalidInputError(
                f"`run` must be a table that can be read twice where `parents` names a column of it, but the "
                f"{type(predictions).__name__} is empty after {max(len(chunks), len(parents))} rows. Read it first, "
                "such as by reader.read_all()"
            )
        if run is not None:
            parents = parents.take(run.input_row(np.arange(len(run))))
        return ParentTable([_ParentIndex(chunks, parents)], name)


class ParentRule(Parents):
    """The text of an id before a separator, the first or the last one, is its document."""

    def __init__(self, separator: str, *, is_last: bool) -> None:
        self._separator = np.frombuffer(separator.encode(errors=SURROGATES), "u1")
        self._is_last = is_last

    def find(self, ids: IdColumn) -> Found:
        """Return the document of each id. Ids without the separator are those of documents."""
        if not len(ids):
            return Found(ids, np.zeros(0, bool))
        if not ids.are_texts:
            raise InvalidInputError(
                f"`parents` must be a table or a function where ids are whole numbers, such as {ids.name(0)}, not a "
                "rule of texts. Give a dict"
            )
        data, offsets = ids.text_bytes()
        size = len(self._separator)
        is_place = data == self._separator[0]
        for shift in range(1, size):
            is_place[: len(data) - shift] &= data[shift:] == self._separator[shift]
            is_place[len(data) - shift :] = False
        places = np.append(np.flatnonzero(is_place), -1)  # the last one is of no id
        starts, stops = offsets[:-1], offsets[1:]
        if self._is_last:
            ends = places[np.searchsorted(places[:-1], stops - size, side="right") - 1]
        else:
            ends = places[np.searchsorted(places[:-1], starts)]
        are_chunks = (ends >= starts) & (ends + size <= stops)
        return Found(ids.cut(starts, np.where(are_chunks, ends, stops)), are_chunks)

    def list_confused(self, ids: IdColumn, found: Found, documents: IdColumn) -> Array:
        """Return the rows of chunks that are among `documents`. None is that ends before the first separator."""
        return super().list_confused(ids, found, documents) if self._is_last else np.zeros(0, "i8")


class ParentFunction(Parents):
    """A function of a chunk's id, which returns None for that of a document."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def find(self, ids: IdColumn) -> Found:
        """Return the document of each id."""
        codes, firsts = ids.factorize()
        names = ids.take(firsts).names().tolist()
        parents: list[Any] = []
        try:
            parents.extend(map(self._function, names))
        except Exception as error:
            raise InvalidInputError(
                f"`parents` must return the document of each chunk, but fails for {shorten(names[len(parents)])}: "
                f"{type(error).__name__}: {show_name(error)}. Return None for the id of a document"
            ) from error
        kinds = set(map(type, parents))
        wrong = {kind for kind in kinds if not issubclass(kind, ID | None)}
        if wrong:
            row = next(row for row, parent in enumerate(parents) if type(parent) in wrong)
            raise InvalidTypeError(
                f"`parents` must return the id of a document, a text or a whole number, or None, but returns "
                f"{shorten(parents[row])} for {shorten(names[row])}"
            )
        are_chunks = np.ones(len(parents), bool)
        documents = parents
        if type(None) in kinds:
            are_chunks = np.array([parent is not None for parent in parents], bool)
            documents = [own if parent is None else parent for own, parent in zip(names, parents, strict=True)]
        return Found(IdColumn.of(documents, GIVEN).take(codes), are_chunks[codes])


class _ParentIndex:
    """Chunks, all texts or all whole numbers, and the document of each. A chunk may stand twice, with one document."""

    def __init__(self, chunks: IdColumn, documents: IdColumn, *, are_distinct: bool = False) -> None:
        self._given, self._codes = chunks, None
        if not are_distinct:
            self._codes, firsts = chunks.factorize()
            if len(firsts) < len(chunks):
                _refuse_two_documents(chunks, documents, firsts[self._codes])
                chunks, documents = chunks.take(firsts), documents.take(firsts)
        self.chunks, self._documents = chunks, documents
        self._distinct = documents.take(documents.factorize()[1])

    def find(self, ids: IdColumn) -> Found:
        """Return the document of each id, of the kind of the chunks."""
        rows = self._codes if ids is self._given else None
        if rows is None:
            rows = find_ids(ids, self.chunks, "documents", SIDES)
        return Found(_choose(ids, self._documents, rows), rows >= 0)

    def find_unknown(self, ids: IdColumn, found: Found) -> Array:
        """Return the rows of ids that are neither chunks nor documents."""
        rows = np.flatnonzero(~found.are_chunks)
        if len(rows) and self._distinct.are_texts == ids.are_texts:
            rows = rows[find_ids(ids.take(rows), self._distinct, "documents", SIDES) < 0]
        return rows

    def has_both(self) -> bool:
        """Return True if an id is that of a chunk and of a document."""
        documents = self._distinct
        is_one_kind = documents.are_texts == self.chunks.are_texts
        return is_one_kind and bool((find_ids(documents, self.chunks, "documents", SIDES) >= 0).any())


class ParentTable(Parents):
    """Chunks and their documents."""

    def __init__(self, tables: list[_ParentIndex], column: str | None = None) -> None:
        self.column = column
        self._tables = tables  # one for each kind of chunks

    @classmethod
    def of_pairs(cls, chunks: list[Any], documents: list[Any], *, are_distinct: bool = False) -> ParentTable:
        """Take chunks and documents, ids of any kind."""
        if set(map(type, documents)) - {str, int}:
            for chunk, document in zip(chunks, documents, strict=True):
                if document is None or document != document or not isinstance(document, ID):
                    raise InvalidTypeError(
                        f"`parents` must give a text or a whole number as document, but that of {shorten(chunk)} is "
                        f"{shorten(document)}. Leave it out, or name its document"
                    )
        kinds = {kind: issubclass(kind, str) for kind in set(map(type, chunks))}
        tables = []
        for are_texts in set(kinds.values()):  # the ids of a run are of one kind
            own = [chunks, documents]
            if len(set(kinds.values())) > 1:
                rows = [row for row, chunk in enumerate(chunks) if kinds[type(chunk)] == are_texts]
                own = [[values[row] for row in rows] for values in own]
            columns = IdColumn.of(own[0], "chunks of `parents`"), IdColumn.of(own[1], GIVEN)
            tables.append(_ParentIndex(*columns, are_distinct=are_distinct))
        return cls(tables)

    def _table_of(self, ids: IdColumn) -> _ParentIndex | None:
        return next((table for table in self._tables if table.chunks.are_texts == ids.are_texts), None)

    def find(self, ids: IdColumn) -> Found:
        """Return the document of each id. Ids that are no chunks are those of documents."""
        table = self._table_of(ids)
        return Found(ids, np.zeros(len(ids), bool)) if table is None else table.find(ids)

    def list_confused(self, ids: IdColumn, found: Found, documents: IdColumn) -> Array:
        """Return the rows of chunks that are among `documents`, and not their own."""
        table = self._table_of(ids)
        has_some = table is not None and table.has_both()
        return super().list_confused(ids, found, documents) if has_some else np.zeros(0, "i8")

    def check_known(self, run: Run, found: Found) -> None:
        """Raise for a row of a run that is neither a chunk nor a document."""
        table = self._table_of(run.documents)
        unknown = np.arange(len(run)) if table is None else table.find_unknown(run.documents, found)
        if len(unknown):
            row = run.describe(int(unknown[0]))
            raise InvalidInputError(f"`parents` must have each chunk of the run, but lacks that of {row}. Add it")


GIVEN = "documents that `parents` gives"
SIDES = ("run", "`parents`")


def _refuse_two_documents(chunks: IdColumn, documents: IdColumn, firsts: Array) -> None:
    """Raise for a chunk whose document differs from that of its first row."""
    differs = documents.differ(documents, firsts)
    if differs.any():
        row = int(np.argmax(differs))
        names = [shorten(documents.name(own)) for own in (int(firsts[row]), row)]
        raise InvalidInputError(
            f"`parents` must give one document to a chunk, but {shorten(chunks.name(row))} has {names[0]} and "
            f"{names[1]}. Count it for one of them"
        )


def _choose(ids: IdColumn, others: IdColumn, rows: Array) -> IdColumn:
    """Return for each id that of a row of others, and the id itself where the row is ABSENT."""
    if (rows < 0).all():
        return ids
    if (rows >= 0).all():
        return others.take(rows)
    if ids.are_texts != others.are_texts:
        IdColumn.of([ids.name(int(np.argmin(rows))), others.name(int(rows.max()))], GIVEN)  # raises
    return concatenate_comparable([ids, others]).take(np.where(rows >= 0, rows + len(ids), np.arange(len(ids))))


def _differ(first: IdColumn, second: IdColumn) -> Array:
    """Return True for each row in which two columns have different ids."""
    if first.are_texts != second.are_texts:
        return np.ones(len(first), bool)
    both = concatenate_comparable([first, second])
    return both.differ(both, np.arange(len(first), 2 * len(first)))


def make_parents(parents: Any) -> Parents | None:
    """Return the argument `parents` as an object that finds the documents of chunks, None if there is none."""
    if parents is None or isinstance(parents, Parents):
        return parents
    if isinstance(parents, str):
        if not parents.startswith(BEFORE):
            return ParentColumn(parents)
        is_last = parents.startswith(BEFORE + LAST)
        separator = parents.removeprefix(BEFORE).removeprefix(LAST if is_last else "")
        if not separator:
            raise InvalidInputError(
                f"`parents` must name what ends a document's id, not {shorten(parents)}. Say 'before #'"
            )
        return ParentRule(separator, is_last=is_last)
    if callable(parents) and not isinstance(parents, Mapping):
        return ParentFunction(parents)
    if isinstance(parents, Mapping) and not any(issubclass(kind, list) for kind in set(map(type, parents.values()))):
        return ParentTable.of_pairs(list(parents), list(parents.values()), are_distinct=True)
    if hasattr(parents, "index") and hasattr(parents, "to_dict") and getattr(parents, "ndim", 0) == 1:
        return ParentTable.of_pairs(parents.index.tolist(), parents.tolist())
    if is_frame(parents) or isinstance(parents, Mapping):
        names = Frame(parents, None, "parents").column_names
        chunks = [name for name in names if name.lower() in CHUNKS]
        others = [name for name in names if name not in chunks]
        if len(chunks) == 1 and others:
            document = Frame(dict.fromkeys(others, ()), None, "parents").column_name("document")
            columns = [
                Frame(parents, {"document": name}, "parents").read_ids("document") for name in (*chunks, document)
            ]
            return ParentTable([_ParentIndex(*columns)])
        raise InvalidInputError(
            f"`parents` must have one column of chunks, named as one of {', '.join(CHUNKS)}, and one of their "
            f"documents, but has the columns {', '.join(map(repr, names))}. Give dict(zip(chunks, documents))"
        )
    raise InvalidTypeError(f"`parents` must be {FORM}, not {shorten(parents)}")

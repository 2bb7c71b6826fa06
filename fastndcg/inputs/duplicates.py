"""
Documents that a query of a run has several times, and chunks of documents: which of their rows count, at which ranks.

A run of any form is read with all its rows, as a `RepeatedRun`. A run of chunks becomes one of documents by their ids
alone. `Duplicates.apply` then drops rows, or empties their places, before the run is joined with judgments. So no
reader and no metric has a case for duplicates or chunks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NoReturn, cast

import numpy as np

from fastndcg.errors import Choice, InvalidInputError, InvalidTypeError, Option, shorten
from fastndcg.inputs.frames import ColumnNames, Frame, is_frame
from fastndcg.inputs.ids import Groups, IdColumn
from fastndcg.inputs.join import refuse_nan_scores, tie_keys
from fastndcg.inputs.messages import are_columns
from fastndcg.inputs.table import Qrels, RepeatedRun, Run, Table, TableRows
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

    def read_parents(self, predictions: Any, columns: Any) -> Duplicates:
        """Return this choice with the parents in a column of the predictions, if `parents` names one."""
        if self.parents is None:
            return self
        return replace(self, parents=self.parents.read_column(predictions, columns))

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
        if self.parents is not None:
            run, n_chunks, n_documents = self.parents.map_run(run)
            note = f"@k counts chunks: {n_chunks}, of {n_documents} documents"
            if self.ranks == "closed":
                note = f"@k counts documents: {n_documents}, of {n_chunks} chunks"
            run.placed_in(run.source._replace(notes=(*run.source.notes, note)))
        if self.choice == "raise":
            run.refuse_repeats(None)
        if not run.has_repeats():
            return run
        rows = _Rows(run, convention, None if self.choice == "sum" else keys)  # sums have no order of chunks
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

    def __init__(self, run: Run, convention: Convention | None, keys: Array | None) -> None:
        self.run = run
        self.keys = keys
        self.convention = convention
        self.queries = np.repeat(np.arange(len(run.queries)), np.diff(run.offsets))
        self.documents = np.unique(run.number_pairs(), return_inverse=True)[1]
        self.n_documents = int(self.documents.max()) + 1
        is_single = convention is not None and convention.score_dtype == "float32"
        with np.errstate(over="ignore"):
            self.scores = run.values.astype("f4") if is_single else run.values
        self.levels = np.unique(self.scores, return_inverse=True)[1]
        self.levels[np.isnan(self.scores)] = -1  # below all others

    def find_kept(self, places: Array) -> Array:
        """Return the row of each document with the highest score, of equal ones the lowest place."""
        return _find_best(self.documents, self.levels, places)

    def find_first(self, ranks: str) -> tuple[Array, Array]:
        """Return the row of each document that ranks first, and all scores, by which its other rows rank below it."""
        rows = np.arange(len(self.run))
        policy = TIES["input"] if self.convention is None else TIES[self.convention.ties]
        if policy.orders not in NO_ORDER:
            places = policy.choose(input=rows, id=self.keys)
            return self.find_kept(-places if policy.falls else places), self.run.values
        kept = self.find_kept(rows)
        highest = np.empty(self.n_documents, "i8")
        highest[self.documents[kept]] = self.levels[kept]
        is_live = self.levels == highest[self.documents]
        n_live = np.bincount(self.documents, is_live).astype("i8")
        is_open = is_live & (n_live[self.documents] > 1)  # which row is first depends on the order of a tie group
        if not is_open.any():
            return kept, self.run.values
        groups = self._number_tie_groups(self.levels)
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
        levels = np.unique(scores, return_inverse=True)[1]
        levels[np.isnan(scores)] = -1
        lower = self._number_tie_groups(levels)
        n_all, n_lowered = np.bincount(lower), np.bincount(lower, is_next)
        has_room = (scores != self.scores) & (n_all == n_lowered)[lower]
        self._refuse_order(is_next & ~has_room, groups)  # of two scores that are neighbours in their dtype
        values: Array = np.where(is_next, scores, self.run.values)
        return values.astype(self.run.values.dtype, copy=False)

    def _number_tie_groups(self, levels: Array) -> Array:
        """Return a number for each row, equal for rows of equal score of a query."""
        return np.asarray(np.unique(self.queries * (int(levels.max()) + 2) + levels + 1, return_inverse=True)[1])

    def add_scores(self) -> Array:
        """Return the sum of each document's scores in all its rows. Equal scores in another order have the same sum."""
        is_again = np.bincount(self.documents)[self.documents] > 1
        best = Option("duplicates", "'best'")
        self.run.refuse(
            is_again & (self.run.values < 0), "be 0 or more to be added up", "Rescale the scores, or take ", best
        )
        scores = self.run.values.astype("f8")
        order = np.lexsort((scores, self.documents))
        starts = np.flatnonzero(np.diff(self.documents[order], prepend=-1) != 0)
        with np.errstate(invalid="ignore", over="ignore"):
            sums = np.add.reduceat(scores[order], starts)[self.documents]
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


def _find_best(documents: Array, values: Array, places: Array) -> Array:
    """Return the row of each document with the highest value, of equal ones the lowest place, in rising order."""
    order = np.lexsort((places, -values, documents))
    return np.sort(order[np.diff(documents[order], prepend=-1) != 0])


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


class Parents:
    """The document of each chunk."""

    __slots__ = ("_documents", "_find", "column")

    def __init__(
        self, find: Callable[[Any], Any] | None, column: str | None = None, documents: Set[Any] | None = None
    ) -> None:
        self._find = find  # returns the document of a chunk, None for the id of a document; None before it is read
        self.column = column  # of the run, which has the documents
        self._documents = documents  # all of them, if the run may only have these and chunks

    @classmethod
    def of_pairs(cls, chunks: Iterable[Any], documents: Iterable[Any], column: str | None = None) -> Parents:
        """Take chunks and their documents. A chunk may stand twice, but only with one document."""
        by_chunk: dict[Any, Any] = {}
        for chunk, document in zip(chunks, documents, strict=True):
            if document is None or document != document or not isinstance(document, ID):
                raise InvalidTypeError(
                    f"`parents` must give a text or a whole number as document, but that of {shorten(chunk)} is "
                    f"{shorten(document)}. Leave it out, or name its document"
                )
            if by_chunk.setdefault(chunk, document) != document:
                raise InvalidInputError(
                    f"`parents` must give one document to a chunk, but {shorten(chunk)} has {shorten(by_chunk[chunk])} "
                    f"and {shorten(document)}. Count it for one of them"
                )
        return cls(by_chunk.get, column, set(by_chunk.values()))

    def read_column(self, predictions: Any, columns: Any) -> Parents:
        """Return the parents in a column of a frame of predictions, if that is what these are."""
        name = self.column
        if self._find is not None or name is None:
            return self
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
        chunks = frame.read_ids("document")
        if len(chunks) != len(parents):
            raise InvalidInputError(
                f"`run` must be a table that can be read twice where `parents` names a column of it, but the "
                f"{type(predictions).__name__} is empty after {max(len(chunks), len(parents))} rows. Read it first, "
                "such as by reader.read_all()"
            )
        return Parents.of_pairs(chunks.names().tolist(), parents.names().tolist(), name)

    def map_run(self, run: Run) -> tuple[RepeatedRun, int, int]:
        """
        Return a run of documents, in which each chunk has a row, and the numbers of its chunks and documents.

        A chunk or document that several queries retrieve counts in each.
        """
        mapped = self._map(run)
        known = set(mapped.parents)
        for place, (chunk, parent) in enumerate(zip(mapped.ids, mapped.parents, strict=True)):
            if parent is None and self._documents is not None and chunk not in self._documents:
                row = run.describe(int(np.argmax(mapped.codes == place)))
                raise InvalidInputError(f"`parents` must have each chunk of the run, but lacks that of {row}. Add it")
            if parent is not None and chunk in known and chunk != parent:
                row = run.describe(int(np.argmax(mapped.codes == place)))
                raise InvalidInputError(
                    f"`parents` must tell chunks from documents, but {row} is a chunk of {shorten(parent)} and the "
                    "document of others. Give them different ids"
                )
        rows = TableRows(run.queries, Groups(run.offsets, None, run.offsets[:-1]), mapped.documents, run.values)
        new = RepeatedRun.from_rows(rows, run.source.select(run.input_row(np.arange(len(run)))))
        return new, len(run), len(np.unique(mapped.pairs))

    def map_qrels(self, qrels: Qrels, run: Run) -> Qrels:
        """
        Return judgments of documents. The label of a document is the highest of its own and its chunks'.

        `run` has the documents of the run, to which judgments by document refer.
        """
        mapped = self._map(qrels)
        moved = [own for own, parent in zip(mapped.ids, mapped.parents, strict=True) if parent not in (None, own)]
        if not moved:
            return qrels
        retrieved = set(_list_ids(run.documents)[0])
        wrong = next((own for own in moved if own in retrieved), None)
        if wrong is not None:
            raise InvalidInputError(
                f"`parents` must give None, or the id itself, for the id of a document, but takes {shorten(wrong)}, "
                "the document of a retrieved chunk, for a chunk. Give a dict, or a rule that tells them apart"
            )
        if qrels.select_patterns(np.zeros(0, "i8")) is not None:
            raise InvalidInputError(
                "`truth` must judge documents, not chunks, where judgments are by subtopic and `parents` is given. "
                "Give groups of chunks as evidence instead, without `parents`"
            )
        kept = _find_best(mapped.pairs, qrels.values, np.arange(len(qrels)))
        groups = Groups(np.searchsorted(kept, qrels.offsets), None, qrels.offsets[:-1])
        rows = TableRows(qrels.queries, groups, mapped.documents.take(kept), qrels.values[kept])
        return Qrels.from_rows(rows, qrels.source.select(qrels.input_row(kept)))

    def _map(self, table: Table) -> _MappedToParents:
        """Find the document of each row of a table."""
        ids, codes = _list_ids(table.documents)
        parents = self._find_all(ids)
        names = [own if parent is None else parent for own, parent in zip(ids, parents, strict=True)]
        documents = IdColumn.of(names, "documents that `parents` gives").take(codes)
        own, firsts = documents.factorize()
        queries = np.repeat(np.arange(len(table.queries)), np.diff(table.offsets))
        return _MappedToParents(ids, codes, parents, documents, queries * len(firsts) + own)

    def _find_all(self, ids: list[Any]) -> list[Any]:
        """Return the document of each id, or None."""
        if self._find is None:
            return [None] * len(ids)
        parents: list[Any] = []
        try:
            parents.extend(map(self._find, ids))
        except InvalidInputError:  # of a rule
            raise
        except Exception as error:
            raise InvalidInputError(
                f"`parents` must return the document of each chunk, but fails for {shorten(ids[len(parents)])}: "
                f"{type(error).__name__}: {show_name(error)}. Return None for the id of a document"
            ) from error
        for own, parent in zip(ids, parents, strict=True):
            if parent is not None and not isinstance(parent, ID):
                raise InvalidTypeError(
                    f"`parents` must return the id of a document, a text or a whole number, or None, but returns "
                    f"{shorten(parent)} for {shorten(own)}"
                )
        return parents


class _MappedToParents(NamedTuple):
    """The different ids of a table, the number of that of each row, and what becomes of ids and rows."""

    ids: list[Any]
    codes: Array
    parents: list[Any]
    documents: IdColumn
    pairs: Array  # equal for rows of one document of a query


def _split_before(split: Callable[[str, str], tuple[str, str, str]], separator: str, own: Any) -> str | None:
    """Return the text before a separator. Ids without one are those of documents."""
    try:
        text, found, _ = split(own, separator)
    except TypeError:
        raise InvalidInputError(
            f"`parents` must be a table or a function where ids are whole numbers, such as {own}, not a rule of texts. "
            "Give a dict"
        ) from None
    return text if found else None


def make_parents(parents: Any) -> Parents | None:
    """Return the argument `parents` as an object that finds the documents of chunks, None if there is none."""
    if parents is None or isinstance(parents, Parents):
        return parents
    if isinstance(parents, str):
        if not parents.startswith(BEFORE):
            return Parents(None, parents)
        is_last = parents.startswith(BEFORE + LAST)
        separator = parents.removeprefix(BEFORE).removeprefix(LAST if is_last else "")
        if not separator:
            raise InvalidInputError(
                f"`parents` must name what ends a document's id, not {shorten(parents)}. Say 'before #'"
            )
        return Parents(functools.partial(_split_before, str.rpartition if is_last else str.partition, separator))
    if callable(parents) and not isinstance(parents, Mapping):
        return Parents(parents)
    if isinstance(parents, Mapping) and not any(isinstance(value, list) for value in parents.values()):
        return Parents.of_pairs(list(parents), list(parents.values()))
    if hasattr(parents, "index") and hasattr(parents, "to_dict") and getattr(parents, "ndim", 0) == 1:
        return Parents.of_pairs(parents.index.tolist(), parents.tolist())
    if is_frame(parents) or isinstance(parents, Mapping):
        names = Frame(parents, None, "parents").column_names
        chunks = [name for name in names if name.lower() in CHUNKS]
        others = [name for name in names if name not in chunks]
        if len(chunks) == 1 and others:
            document = Frame(dict.fromkeys(others, ()), None, "parents").column_name("document")
            columns = [
                Frame(parents, {"document": name}, "parents").read_ids("document") for name in (*chunks, document)
            ]
            return Parents.of_pairs(*(column.names().tolist() for column in columns))
        raise InvalidInputError(
            f"`parents` must have one column of chunks, named as one of {', '.join(CHUNKS)}, and one of their "
            f"documents, but has the columns {', '.join(map(repr, names))}. Give dict(zip(chunks, documents))"
        )
    raise InvalidTypeError(f"`parents` must be {FORM}, not {shorten(parents)}")


def _list_ids(column: IdColumn) -> tuple[list[Any], Array]:
    """Return the different ids of a column, and the number of that of each row."""
    codes, firsts = column.factorize()
    return column.take(firsts).names().tolist(), codes

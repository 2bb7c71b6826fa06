"""Joined runs: for each query, the documents that any of several runs has, with their scores and ranks in each run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from fastndcg.engine.chunk import MIN_DOCUMENTS_FOR_THREADS, Span, cut_queries
from fastndcg.errors import InvalidInputError, InvalidTypeError, Option, join_names, shorten, suggest_name
from fastndcg.fusion.conventions import FusionConvention
from fastndcg.inputs.ids import IdColumn, concatenate_columns, make_comparable
from fastndcg.inputs.table import Run, TableRows
from fastndcg.kernels.lookup import load_kernels
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.rankings.validation import Array, count_before, put, read_only
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.threads import check_stopped, run_all

CHUNK_DOCUMENTS = 1 << 16
NO_ROW = -1  # the place of a query that a run lacks


class RanksAndTies(NamedTuple):
    """Ranks from 1 and sizes of tie groups, both (n_runs, n_documents) int32. An absent document has rank 0."""

    ranks: Array
    ties: Array


class FusedCounts(NamedTuple):
    """Numbers of rows that `depth` cut, and of queries that some run lacks: those fused, and those left out."""

    n_cut: int = 0
    n_incomplete: int = 0
    n_left_out: int = 0


class RunRows(NamedTuple):
    """The rows of all runs, one run after the other: ids, scores, and where those of each run and query are."""

    documents: IdColumn
    scores: Array
    starts: Array  # (n_runs, n_queries) int64
    sizes: Array  # (n_runs, n_queries) int64


class JoinedRuns:
    """
    The documents of several runs, query by query.

    A document is in the order of its first appearance, run after run. `join_runs` makes it.
    """

    names: tuple[str, ...]  # of the runs
    queries: IdColumn
    offsets: Array  # (n_queries + 1,) int64: query q owns documents offsets[q] up to offsets[q + 1]
    scores: Array  # (n_runs, n_documents) float64: of each document in each run, NaN where the run lacks it
    sizes: Array  # (n_runs, n_queries) int64: how many documents each run has for each query
    row_documents: IdColumn  # of all rows, one run after the other
    document_rows: Array  # (n_documents,) int64: the row of each document's id in `row_documents`
    counts: FusedCounts

    def __init__(
        self, names: tuple[str, ...], queries: IdColumn, rows: RunRows, counts: FusedCounts, threads: int
    ) -> None:
        self.names = names
        self.queries = queries
        self.counts = counts
        self.sizes = rows.sizes
        self.row_documents = rows.documents
        self._rows = rows
        self._threads = threads
        self._ranked: dict[str, RanksAndTies] = {}
        self._number_documents()

    @property
    def n_documents(self) -> int:
        """The number of documents of all queries together."""
        return len(self.document_rows)

    def rank(self, ties: str = "average") -> RanksAndTies:
        """Rank the documents of each run by falling score. With 'average' ties share the first rank of their group."""
        if ties not in self._ranked:
            self._ranked[ties] = rank_rows(
                self._rows, ties, self._numbers, self.offsets, self.run_on_queries, self._threads
            )
        return self._ranked[ties]

    def describe(self, document: int) -> str:
        """Return the name of a document and its query for error messages."""
        query = int(np.searchsorted(self.offsets, document, side="right")) - 1
        name = self.row_documents.name(int(self.document_rows[document]))
        return f"document {show_name(name)} of query {show_name(self.queries.name(query))}"

    def run_on_queries(self, work: Callable[[int, int], None]) -> None:
        """Call a function with the first query and the end of each span of queries, on several threads."""
        if len(self._spans) == 1:
            work(*self._spans[0])
        else:
            _run_on_spans(self._spans, work, self._threads)

    def lack_query(self) -> Array | None:
        """Return (n_runs, n_documents) bool, True for runs that lack a document's whole query. None without any."""
        lacks_query = self.sizes == 0
        return np.repeat(lacks_query, np.diff(self.offsets), axis=1) if lacks_query.any() else None

    def _number_documents(self) -> None:
        """Number the documents of every query, and set the offsets, scores and rows of the documents."""
        rows = self._rows
        kernels = load_kernels("fusion.joined")
        n_rows = len(rows.documents)
        bounds = add_up(rows.sizes.sum(axis=0))
        n_queries = len(bounds) - 1
        if n_rows < MIN_DOCUMENTS_FOR_THREADS and n_queries < CHUNK_DOCUMENTS:
            self._spans: list[Span] = [(0, n_queries)] if n_queries else []
        else:
            self._spans = cut_queries(bounds, CHUNK_DOCUMENTS, self._threads)
        numbers = np.empty(n_rows, "i4")
        first_rows = np.empty(int(bounds[-1]), "i8")
        counts = np.empty(n_queries, "i8")
        self.run_on_queries(
            lambda first, stop: kernels.number_documents(
                rows.documents.ids, rows.starts, rows.sizes, bounds, first, stop, numbers, first_rows, counts
            )
        )
        self.offsets = offsets = add_up(counts)
        self._numbers = read_only(numbers)
        places = read_only(first_rows)
        document_rows = np.empty(int(offsets[-1]), "i8")
        self.scores = scores = np.empty((len(self.names), len(document_rows)))
        self.run_on_queries(
            lambda first, stop: kernels.spread(
                rows.scores, self._numbers, places, rows.starts, rows.sizes, bounds, offsets, first, stop,
                document_rows, scores,
            )
        )  # fmt: skip
        self.document_rows = read_only(document_rows)


def _run_on_spans(spans: Sequence[Span], work: Callable[[int, int], None], threads: int) -> None:
    def work_on_span(span: Span) -> None:
        check_stopped()
        work(*span)

    run_all(spans, lambda: work_on_span, max(1, min(threads, len(spans))))


def add_up(counts: Array) -> Array:
    """Return the sum of the counts before each entry, and of all of them, read-only."""
    return read_only(count_before(counts))


def join_runs(
    runs: Sequence[Run],
    names: Sequence[str],
    convention: FusionConvention,
    *,
    depth: int | None = None,
    threads: int = 1,
) -> JoinedRuns:
    """
    Join the documents of two or more runs, query by query. Names are for error messages.

    The convention's `ties` order equal scores at the cut of `depth`, where 'average' means the order of the input. Its
    `queries` are what is done with queries that some run lacks. Its `precision` rounds scores.
    """
    runs = [_check_scores(run, name, convention.precision) for run, name in zip(runs, names, strict=True)]
    places, queries, counts = _join_queries(runs, names, convention)
    starts = np.zeros(places.shape, "i8")
    sizes = np.zeros(places.shape, "i8")
    before = 0
    n_cut = 0
    tables = []
    for r, run in enumerate(runs):
        has_rows = places[r] >= 0
        own_queries = places[r][has_rows]
        kept_run = run if depth is None else cut_run(run, depth, convention.ties, threads)
        starts[r, has_rows] = before + kept_run.offsets[own_queries]
        sizes[r, has_rows] = np.diff(kept_run.offsets)[own_queries]
        n_cut += int(np.diff(run.offsets)[own_queries].sum() - sizes[r].sum()) if kept_run is not run else 0
        before += kept_run.values.size
        tables.append(kept_run)
    documents = _concatenate_ids([table.documents for table in tables], names, "documents")
    scores = np.concatenate([table.values for table in tables], dtype="f8")
    rows = RunRows(documents, read_only(scores), read_only(starts), read_only(sizes))
    return JoinedRuns(tuple(names), queries, rows, counts._replace(n_cut=n_cut), threads)


def cut_run(run: Run, depth: int, ties: str, threads: int = 1) -> Run:
    """Return the first `depth` documents of each query."""
    if not len(run) or int(np.diff(run.offsets).max()) <= depth:
        return run
    is_kept = rank_run(run, ties, threads) <= depth
    offsets = add_up(np.minimum(np.diff(run.offsets), depth))
    rows_kept = TableRows.in_order(
        run.queries, offsets, run.documents.take(np.flatnonzero(is_kept)), run.values[is_kept]
    )
    return Run.from_rows(rows_kept, run.source, threads)


def rank_run(run: Run, ties: str, threads: int) -> Array:
    """Return the rank of each row of a run in its query, from 1. With 'average' equal scores keep their order."""
    sizes = np.diff(run.offsets)
    numbers = (np.arange(len(run)) - np.repeat(run.offsets[:-1], sizes)).astype("i4")
    starts = read_only(run.offsets[None, :-1].copy())
    rows = RunRows(run.documents, run.values, starts, read_only(sizes[None]))
    spans = cut_queries(run.offsets, CHUNK_DOCUMENTS, threads)
    order = "input" if ties == "average" else ties
    ranked = rank_rows(
        rows, order, read_only(numbers), run.offsets, lambda work: _run_on_spans(spans, work, threads), threads
    )
    return ranked.ranks[0]  # type: ignore[no-any-return]


def rank_rows(
    rows: RunRows,
    ties: str,
    numbers: Array,
    offsets: Array,
    run_on_queries: Callable[[Callable[[int, int], None]], None],
    threads: int,
) -> RanksAndTies:
    """Rank the rows in their run and query. Each row has the number of its document in the query."""
    kernels = load_kernels("fusion.joined")
    policy = TIES[ties]
    keys = np.empty(0, "i8")
    if policy.choose(group=False, input=False, id=True):
        firsts = np.unique(rows.starts[rows.sizes > 0])  # of each run and query
        keys = rows.documents.order_ties(rows.scores, np.append(firsts, len(rows.scores)), threads)
        keys = ~keys if policy.falls else keys
    keys = read_only(keys)
    shape = (len(rows.starts), int(offsets[-1]))
    ranks = np.zeros(shape, "i4")
    group_sizes = np.ones(shape, "i4")
    scores = read_only(rows.scores)
    run_on_queries(
        lambda first, stop: kernels.rank_rows(
            scores, keys, len(keys) > 0, numbers, rows.starts, rows.sizes, offsets, ties == "average", first, stop,
            ranks, group_sizes,
        )
    )  # fmt: skip
    return RanksAndTies(read_only(ranks), read_only(group_sizes))


def _check_scores(run: Run, name: str, precision: str) -> Run:
    """Return a run, with its scores rounded to float32 if the convention says so. Raise for NaN and infinite ones."""
    is_single = precision != "float64" and run.values.dtype != np.float32
    scores = run.values
    if is_single:
        with np.errstate(over="ignore"):
            scores = run.values.astype("f4")
    if not np.isfinite(scores).all():
        row = int(np.argmax(~np.isfinite(scores)))
        rule = "finite scores" if not is_single else "scores that are finite in float32"
        raise InvalidInputError(
            f"`runs` must have {rule}, but that of {run.describe(row)} in run {shorten(name)} is "
            f"{run.values[row]!s}. Leave the document out, or correct its score"
        )
    return replace_scores(run, scores) if is_single else run


def refuse_unknown_runs(given_names: Iterable[str], names: Sequence[str], argument: str) -> None:
    """Raise if an argument names a run that is not fused."""
    for name in given_names:
        if name not in names:
            hint = suggest_name(name, names) or f" The runs are {join_names(list(names))}."
            raise InvalidInputError(
                f"`{argument}` must name runs that are fused, but there is no run {shorten(name)}.{hint}"
            )


def replace_scores(run: Run, scores: Array) -> Run:
    """Return a run with other scores."""
    changed = copy(run)
    put(changed, values=read_only(scores))
    return changed


def _join_queries(
    runs: Sequence[Run], names: Sequence[str], convention: FusionConvention
) -> tuple[Array, IdColumn, FusedCounts]:
    """Return the place of each query in each run, (n_runs, n_queries), and the ids of the queries."""
    columns = [run.queries for run in runs]
    ids = _concatenate_ids(columns, names, "queries")
    codes, firsts = ids.factorize()
    places = np.full((len(runs), len(firsts)), NO_ROW, "i8")
    before = 0
    for r, column in enumerate(columns):
        own = np.arange(len(column))
        places[r, codes[before : before + own.size]] = own
        before += own.size
    is_complete = (places >= 0).all(axis=0)
    n_incomplete = int(np.count_nonzero(~is_complete))
    if n_incomplete and convention.queries == "raise":
        _refuse_different(places, ids.take(firsts), names, convention)
    if convention.queries == "common" and n_incomplete:
        if not is_complete.any():
            raise InvalidInputError(
                f"`runs` must have a query in common, but {join_names(list(names))} have none. Check that the ids are "
                "written alike"
            )
        return places[:, is_complete], ids.take(firsts[is_complete]), FusedCounts(0, 0, n_incomplete)
    return places, ids.take(firsts), FusedCounts(0, n_incomplete, 0)


def _refuse_different(places: Array, queries: IdColumn, names: Sequence[str], convention: FusionConvention) -> None:
    n_incomplete = int(np.count_nonzero((places < 0).any(axis=0)))
    union, common = (str(convention.replace(queries=policy)) for policy in ("union", "common"))
    run, query = np.argwhere(places < 0)[0].tolist()
    raise InvalidInputError(
        f"`runs` must have the same queries, but {shorten(names[run])} lacks query {show_name(queries.name(query))}, "
        f"and {n_incomplete} of {places.shape[1]} queries are missing in some run. Take ",
        Option("fusion_convention", shorten(union)),
        f" to fuse what there is, or {shorten(common)} to leave them out",
    )


def _concatenate_ids(columns: Sequence[IdColumn], names: Sequence[str], what: str) -> IdColumn:
    """Return the ids of all runs, one run after the other, in a dtype that holds them all."""
    with_ids = [(column, name) for column, name in zip(columns, names, strict=True) if len(column)]
    if not with_ids:
        return columns[0]
    first, first_name = with_ids[0]
    for column, name in with_ids[1:]:
        if column.are_texts != first.are_texts:  # raises
            make_comparable(first, column, what, (f"run {shorten(first_name)}", f"run {shorten(name)}"))
    if len(with_ids) == 1 or first.are_texts:
        return concatenate_columns([column for column, _ in with_ids])
    is_wide = any(column.is_wide for column, _ in with_ids)
    for column, name in with_ids:
        if is_wide and not column.is_wide and int(column.numbers().min()) < 0:
            raise InvalidTypeError(
                f"ids of {what} must fit int64 or uint64, but run {shorten(name)} has negative ones, and another "
                "run has some of 2**63 or more. Use texts"
            )
    dtype = np.result_type(*(column.dtype for column, _ in with_ids))
    if dtype.kind not in "iu" or is_wide:
        dtype = np.dtype("u8" if is_wide else "i8")
    return IdColumn(concatenate_columns([column for column, _ in with_ids]).ids, dtype, is_wide)

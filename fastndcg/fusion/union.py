"""The union of several runs: for each query, the documents that any run has, with the scores of each run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fastndcg.engine.spans import Span, cut_queries
from fastndcg.errors import InvalidInputError, InvalidTypeError, Option, join_names, shorten
from fastndcg.fusion.conventions import FusionConvention
from fastndcg.inputs.group_by_query import Groups
from fastndcg.inputs.id_column import IdColumn, concatenate_columns, make_comparable
from fastndcg.inputs.id_table import Rows
from fastndcg.inputs.qrels_run import Run
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.read_only import read_only
from fastndcg.rankings.validation import Array
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.threads import check_stopped, run_all

CHUNK_DOCUMENTS = 1 << 16
ABSENT = -1


class RankedUnion(NamedTuple):
    """Ranks from 1 and sizes of tie groups, both (n_runs, n_documents) int32. An absent document has rank 0."""

    ranks: Array
    ties: Array


class UnionCounts(NamedTuple):
    """Numbers of rows that `depth` cut, and of queries that some run lacks: those fused, and those left out."""

    n_cut: int = 0
    n_incomplete: int = 0
    n_left_out: int = 0


class Union:
    """
    The documents of several runs, query by query.

    A document is in the order of its first appearance, run after run. `unite` makes it.

    Attributes
    ----------
    names : tuple of str
        The names of the runs.
    queries : IdColumn
        Ids of the queries.
    offsets : (n_queries + 1,) int64 array
        Query q owns documents ``offsets[q]`` up to ``offsets[q + 1]``.
    scores : (n_runs, n_documents) float64 array
        The score of each document in each run, NaN where the run lacks it.
    sizes : (n_runs, n_queries) int64 array
        How many documents each run has for each query.
    counts : UnionCounts
    """

    def __init__(
        self, names: tuple[str, ...], queries: IdColumn, rows: UnionRows, counts: UnionCounts, threads: int
    ) -> None:
        self.names = names
        self.queries = queries
        self.counts = counts
        self.threads = threads
        self._rows = rows
        self.sizes = rows.sizes
        self.offsets = self._number_documents()
        self.scores = self._spread_scores()
        self._ranked: dict[str, RankedUnion] = {}

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.offsets) - 1

    @property
    def n_documents(self) -> int:
        """The number of documents of all queries together."""
        return int(self.offsets[-1])

    @property
    def document_rows(self) -> Array:
        """The row of each document's id in the concatenated ids of all runs."""
        return self._document_rows

    @property
    def row_documents(self) -> IdColumn:
        """The ids of the documents of all rows, one run after the other."""
        return self._rows.documents

    def rank(self, ties: str = "average") -> RankedUnion:
        """
        Rank the documents of each run by falling score.

        Parameters
        ----------
        ties : {'average', 'input', 'id_ascending', 'id_descending'}
            The order of equal scores. With 'average' they share the first rank of their group.
        """
        if ties not in self._ranked:
            self._ranked[ties] = self._rows.rank(ties, self._numbers, self.offsets, self.threads)
        return self._ranked[ties]

    def describe(self, document: int) -> str:
        """Return the name of a document and its query for error messages."""
        query = int(np.searchsorted(self.offsets, document, side="right")) - 1
        name = self._rows.documents.name(int(self._document_rows[document]))
        return f"document {show_name(name)} of query {show_name(self.queries.name(query))}"

    def run_on_queries(self, work: Callable[[Span], None]) -> None:
        """Call a function with each span of queries, on several threads."""
        run_on_queries(self.offsets, work, self.threads)

    def _number_documents(self) -> Array:
        """Number the documents of every query, and return the offsets of the union."""
        rows = self._rows
        kernels = load_kernels("fusion.union")
        n_rows = len(rows.documents)
        bounds = read_only(np.concatenate([[0], np.cumsum(rows.sizes.sum(axis=0))]))
        numbers = np.empty(n_rows, "i4")
        first_rows = np.empty(int(bounds[-1]), "i8")
        counts = np.empty(len(bounds) - 1, "i8")

        def number(span: Span) -> None:
            kernels.number_documents(
                rows.documents.ids, rows.starts, rows.sizes, bounds, *span, numbers, first_rows, counts
            )

        run_on_queries(bounds, number, self.threads)
        offsets = read_only(np.concatenate([[0], np.cumsum(counts)]))
        document_rows = np.empty(int(offsets[-1]), "i8")
        sources = read_only(first_rows)

        def gather(span: Span) -> None:
            kernels.gather_rows(sources, bounds, offsets, *span, document_rows)

        run_on_queries(offsets, gather, self.threads)
        self._numbers = read_only(numbers)
        self._document_rows = read_only(document_rows)
        return offsets

    def _spread_scores(self) -> Array:
        """Return the score of each document of the union in each run."""
        kernels = load_kernels("fusion.union")
        rows = self._rows
        out = np.empty((len(self.names), self.n_documents))

        def spread(span: Span) -> None:
            kernels.spread(rows.scores, self._numbers, rows.starts, rows.sizes, self.offsets, *span, out)

        self.run_on_queries(spread)
        return out


def unite(
    runs: Sequence[Run],
    names: Sequence[str],
    convention: FusionConvention,
    *,
    depth: int | None = None,
    threads: int = 1,
) -> Union:
    """
    Make the union of runs.

    Parameters
    ----------
    runs : sequence of Run
        Two or more, without NaN and infinite scores.
    names : sequence of str
        The name of each run, for error messages.
    convention : FusionConvention
        Its `ties` order equal scores at the cut of `depth`, where 'average' means the order of the input. Its
        `queries` are what is done with queries that some run lacks.
    depth : int, optional
        The number of documents of each run and query that count, the first in its order.
    threads : int
        The number of threads.
    """
    for run, name in zip(runs, names, strict=True):
        _refuse_odd_scores(run, name)
    places, queries_column, counts = _join_queries(runs, names, convention)
    starts = np.zeros(places.shape, "i8")
    sizes = np.zeros(places.shape, "i8")
    before = 0
    n_cut = 0
    tables = []
    for r, run in enumerate(runs):
        has_rows = places[r] >= 0
        fused_queries = places[r][has_rows]
        kept_run = run if depth is None else cut_run(run, depth, convention.ties, threads)
        starts[r, has_rows] = before + kept_run.offsets[fused_queries]
        sizes[r, has_rows] = np.diff(kept_run.offsets)[fused_queries]
        n_cut += int(np.diff(run.offsets)[fused_queries].sum() - sizes[r].sum())
        before += len(kept_run)
        tables.append(kept_run)
    documents = _concatenate_documents([table.documents for table in tables], names)
    scores = read_only(np.concatenate([table.values.astype("f8", copy=False) for table in tables]))
    rows = UnionRows(documents, scores, read_only(starts), read_only(sizes))
    return Union(tuple(names), queries_column, rows, counts._replace(n_cut=n_cut), threads)


def cut_run(run: Run, depth: int, ties: str, threads: int = 1) -> Run:
    """Return the first `depth` documents of each query."""
    if not len(run) or int(np.diff(run.offsets).max()) <= depth:
        return run
    is_kept = rank_run(run, ties, threads) <= depth
    offsets = np.concatenate([[0], np.cumsum(np.minimum(np.diff(run.offsets), depth))])
    groups = Groups(offsets, None, offsets[:-1])
    rows_kept = Rows(run.queries, groups, run.documents.take(np.flatnonzero(is_kept)), run.values[is_kept])
    return Run.of(rows_kept, run.source, threads)


def rank_run(run: Run, ties: str, threads: int) -> Array:
    """Return the rank of each row of a run in its query, from 1. With 'average' equal scores keep their order."""
    sizes = np.diff(run.offsets)
    numbers = (np.arange(len(run)) - np.repeat(run.offsets[:-1], sizes)).astype("i4")
    rows = UnionRows(run.documents, run.values, run.offsets[None, :-1], sizes[None])
    order = "input" if ties == "average" else ties
    ranks: Array = rows.rank(order, read_only(numbers), run.offsets, threads).ranks[0]
    return ranks


def run_on_queries(offsets: Array, work: Callable[[Span], None], threads: int) -> None:
    """Call a function with each span of queries, on several threads."""
    spans = cut_queries(offsets, CHUNK_DOCUMENTS, threads)

    def work_on_span(span: Span) -> None:
        check_stopped()
        work(span)

    run_all(spans, lambda: work_on_span, max(1, min(threads, len(spans))))


class UnionRows(NamedTuple):
    """The rows of all runs, one run after the other, and where those of each run and query are."""

    documents: IdColumn
    scores: Array
    starts: Array  # (n_runs, n_queries)
    sizes: Array  # (n_runs, n_queries)

    def rank(self, ties: str, numbers: Array, offsets: Array, threads: int) -> RankedUnion:
        """Rank the rows in their run and query. Each row has the number of its document in the query."""
        kernels = load_kernels("fusion.ranks")
        keys = read_only(self._make_keys(ties))
        shape = (len(self.starts), int(offsets[-1]))
        ranks = np.zeros(shape, "i4")
        group_sizes = np.ones(shape, "i4")
        scores = read_only(self.scores)
        starts = read_only(np.ascontiguousarray(self.starts))
        sizes = read_only(np.ascontiguousarray(self.sizes))

        def rank(span: Span) -> None:
            for r in range(len(starts)):
                kernels.rank_rows(
                    scores, keys, len(keys) > 0, numbers, starts[r], sizes[r], offsets, ties == "average", *span,
                    ranks[r], group_sizes[r],
                )  # fmt: skip

        run_on_queries(offsets, rank, threads)
        return RankedUnion(read_only(ranks), read_only(group_sizes))

    def _make_keys(self, ties: str) -> Array:
        """Return numbers in the order of the documents' ids, or none if equal scores keep their order."""
        if not ties.startswith("id_"):
            return np.empty(0, "i8")
        keys = order_ids(self.documents)
        return ~keys if ties == "id_descending" else keys


def order_ids(documents: IdColumn) -> Array:
    """Return numbers in the order of ids, equal for equal ids."""
    if not documents.are_texts:
        return documents.order_numbers()
    codes, firsts = documents.factorize()
    order = np.argsort(_as_sortable(documents.take(firsts)), kind="stable")
    places = np.empty(len(order), "i8")
    places[order] = np.arange(len(order))
    keys: Array = places[codes]
    return keys


def _as_sortable(texts: IdColumn) -> Array:
    """Return texts as an array of bytes objects, whose order is that of their bytes."""
    content, offsets = texts.text_bytes()
    raw = content.tobytes()
    values = np.empty(len(texts), dtype=object)
    values[:] = [raw[start:stop] for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]
    return values


def _refuse_odd_scores(run: Run, name: str) -> None:
    """Raise for a score that is NaN or infinite."""
    if np.isfinite(run.values).all():
        return
    row = int(np.argmax(~np.isfinite(run.values)))
    raise InvalidInputError(
        f"`runs` must have finite scores, but that of {run.describe(row)} in run {shorten(name)} is "
        f"{run.values[row]!s}. Leave the document out, or correct its score"
    )


def _join_queries(
    runs: Sequence[Run], names: Sequence[str], convention: FusionConvention
) -> tuple[Array, IdColumn, UnionCounts]:
    """Return the place of each query in each run, (n_runs, n_queries), and the ids of the queries."""
    columns = [run.queries for run in runs]
    ids = _concatenate_ids(columns, names, "queries")
    codes, firsts = ids.factorize()
    places = np.full((len(runs), len(firsts)), ABSENT, "i8")
    before = 0
    for r, column in enumerate(columns):
        places[r, codes[before : before + len(column)]] = np.arange(len(column))
        before += len(column)
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
        return places[:, is_complete], ids.take(firsts[is_complete]), UnionCounts(0, 0, n_incomplete)
    return places, ids.take(firsts), UnionCounts(0, n_incomplete, 0)


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


def _concatenate_documents(columns: Sequence[IdColumn], names: Sequence[str]) -> IdColumn:
    return _concatenate_ids(columns, names, "documents")


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

"""The one join of ids: judgments and a run, query by query."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastndcg.conventions import Convention
from fastndcg.errors import InvalidInputError
from fastndcg.inputs.columns import Column, alike, joined
from fastndcg.inputs.grouping import Groups, spans
from fastndcg.inputs.tables import Qrels, Rows, Run, Table
from fastndcg.rankings import Array, Rankings, read_only
from fastndcg.threads import checked_threads, run_all

ABSENT = -1
QRELS_AND_RUN, TWO_RUNS = ("qrels", "run"), ("first run", "second run")


class Joined(NamedTuple):
    """Rankings of the evaluated queries, those of them that have no judgments, and what each side lacked."""

    rankings: Rankings
    unjudged_queries: Array | None = None  # (n_queries,) bool
    n_missing_in_run: int = 0
    n_missing_in_qrels: int = 0


def join(qrels: Qrels, run: Run, convention: Convention, threads: int | None = None) -> Joined:
    """
    Rank each query's retrieved documents, with all its judgments as the pool.

    Retrieved documents without a judgment stay, unjudged; judged ones that were not retrieved stay in the pool;
    queries on one side only follow the convention. Queries come in the order of the qrels.
    """
    if convention.nan_scores == "raise":
        remedy = "leave the document out, or take convention.replace(nan_scores='last')"
        run.refuse(np.isnan(run.values), "not be NaN", remedy)
    in_run = _places(qrels.queries, run.queries)
    judged = np.flatnonzero(in_run >= 0)
    is_judged = np.zeros(len(run.queries), bool)
    is_judged[in_run[judged]] = True
    unjudged = np.flatnonzero(~is_judged)
    if not len(judged):
        _refuse_disjoint(qrels, run, QRELS_AND_RUN)
    missing = np.flatnonzero(in_run < 0)
    _refuse_missing(qrels, run, missing, unjudged, convention)

    kept = judged if convention.missing_in_run == "skip" else np.arange(len(in_run))
    extra = unjudged if convention.missing_in_qrels == "undefined" else unjudged[:0]
    pairs = np.full((len(kept) + len(extra), 2), ABSENT, "i8")
    pairs[: len(kept), 0], pairs[: len(kept), 1] = kept, in_run[kept]
    pairs[len(kept) :, 1] = extra
    return Joined(
        _rankings(qrels, run, pairs, convention, threads),
        pairs[:, 0] < 0 if len(extra) else None,
        len(missing),
        len(unjudged),
    )


class JoinedRuns(NamedTuple):
    """Scores of two runs for the queries that both have, and where each document of the second is in the first."""

    first: Array
    first_offsets: Array
    second: Array
    second_offsets: Array
    partners: Array
    query_ids: Array


def join_runs(first: Run, second: Run, threads: int | None = None) -> JoinedRuns:
    """Bring two runs together, in the order of the first one's queries."""
    in_second = _places(first.queries, second.queries, TWO_RUNS)
    both = np.flatnonzero(in_second >= 0)
    if not len(both):
        _refuse_disjoint(first, second, TWO_RUNS)
    pairs = np.stack([both, in_second[both]], axis=1)
    rows, others = _Segments(first.offsets, pairs[:, 0]), _Segments(second.offsets, pairs[:, 1])
    partners, known = np.empty(int(others.offsets[-1]), "i8"), np.empty(int(others.offsets[-1]), bool)
    numbers = read_only(np.arange(len(first)))
    _match(first, second, numbers, pairs, others.offsets, threads, partners, known, TWO_RUNS)
    partners -= np.repeat(first.offsets[both], np.diff(others.offsets))
    partners[~known] = ABSENT
    names = first.queries.take(both).names()
    return JoinedRuns(rows.of(first.values), rows.offsets, others.of(second.values), others.offsets, partners, names)


def _places(queries: Column, others: Column, sides: tuple[str, str] = QRELS_AND_RUN) -> Array:
    """Where each query stands among the others, or ABSENT."""
    from fastndcg.kernels import ids as kernels

    both = joined(alike(queries, others, "queries", sides))
    numbers, firsts = np.empty(len(both), "i8"), np.empty(len(both), "i8")
    kernels.number(both.ids, read_only(np.arange(len(both))), numbers, firsts)
    places = np.full(len(both), ABSENT, "i8")
    places[numbers[len(queries) :]] = np.arange(len(others))
    return places[: len(queries)]


def _rankings(qrels: Qrels, run: Run, pairs: Array, convention: Convention, threads: int | None) -> Rankings:
    """The documents of kept queries with the labels that they have."""
    run_rows, pool_rows = _Segments(run.offsets, pairs[:, 1]), _Segments(qrels.offsets, pairs[:, 0])
    offsets = run_rows.offsets
    labels, judged = np.empty(int(offsets[-1]), qrels.values.dtype), np.empty(int(offsets[-1]), bool)
    _match(qrels, run, qrels.values, pairs, offsets, threads, labels, judged, QRELS_AND_RUN)

    def place_of(name: str, index: int) -> str:
        table, rows = (qrels, pool_rows) if name == "pool" else (run, run_rows)
        return str(table.documents.name(rows.row(index)))

    made = Rankings(
        labels,
        run_rows.of(run.values),
        offsets,
        judged=judged,
        pool=(pool_rows.of(qrels.values), pool_rows.offsets),
        tie_keys=run_rows.of(tie_keys(run, threads)) if convention.ties.startswith("id_") else None,
        query_ids=_names(qrels, run, pairs),
        patterns=qrels.patterns,
    )
    return made.placed_by(place_of)


class _Segments:
    """Rows of the queries of a table that are wanted, in the order wanted; none for those that are ABSENT."""

    def __init__(self, offsets: Array, queries: Array) -> None:
        known = np.maximum(queries, 0)
        sizes = np.where(queries >= 0, offsets[known + 1] - offsets[known], 0) if len(offsets) > 1 else 0 * queries
        self._starts = np.where(sizes > 0, offsets[known] if len(offsets) > 1 else 0, 0)
        self.offsets = read_only(np.concatenate([[0], np.cumsum(sizes)]))
        self._are_all = bool((self._starts == self.offsets[:-1])[sizes > 0].all())

    def of(self, values: Array) -> Array:
        """The values of these rows; no copy where they lie in this order from the first on."""
        n = int(self.offsets[-1])
        if self._are_all:
            return values[:n]
        from fastndcg.kernels import join as kernels

        out = np.empty(n, values.dtype)
        kernels.copy_segments(read_only(values), self._starts, self.offsets, out)
        return out

    def row(self, index: int) -> int:
        """Which row of the table an entry is."""
        query = int(np.searchsorted(self.offsets, index, side="right")) - 1
        return int(self._starts[query] + index - self.offsets[query])


def _match(
    qrels: Table, run: Run, values: Array, pairs: Array, offsets: Array, threads: int | None,
    labels: Array, judged: Array, sides: tuple[str, str],
) -> None:  # fmt: skip
    from fastndcg.kernels import join as kernels

    known, retrieved = alike(qrels.documents, run.documents, "documents", sides)

    def match(span: tuple[int, int]) -> None:
        kernels.match(
            known.ids, qrels.offsets, values, retrieved.ids, run.offsets, pairs, offsets, *span, labels, judged
        )

    _share(offsets, match, threads)


def tie_keys(run: Run, threads: int | None) -> Array:
    """Numbers in the order of the documents' ids, wherever scores are equal."""
    if not run.documents.are_texts:
        numbers = run.documents.numbers()
        return numbers ^ np.int64(-(2**63)) if run.documents.is_wide else numbers
    from fastndcg.kernels import ids as kernels

    keys = np.empty(len(run), "i8")

    def order(span: tuple[int, int]) -> None:
        first, stop = span
        kernels.rank_ties(run.documents.ids, run.values, run.offsets, first, stop, keys)

    _share(run.offsets, order, threads)
    return keys


def first_documents(run: Run, n: int, convention: Convention, threads: int | None = None) -> Run:
    """The run's first `n` documents of each query: score falling, among equal ones id falling, as trec_eval has it."""
    scores = run.values.astype("f4") if convention.score_dtype == "float32" else run.values
    queries = np.repeat(np.arange(len(run.queries)), np.diff(run.offsets))
    order = np.lexsort((~tie_keys(run, threads), -scores, queries))
    kept = np.zeros(len(run), bool)
    kept[order] = np.arange(len(run)) - run.offsets[queries] < n
    offsets = np.concatenate([[0], np.cumsum(np.minimum(np.diff(run.offsets), n))])
    rows = Rows(
        run.queries, Groups(offsets, None, offsets[:-1]), run.documents.take(np.flatnonzero(kept)), run.values[kept]
    )
    return Run.of(rows, run.source, threads)


def _share(offsets: Array, work: Any, threads: int | None) -> None:
    shares = spans(offsets)
    run_all(shares, lambda: work, min(len(shares), checked_threads(threads)) if len(shares) > 1 else 1)


def _names(qrels: Qrels, run: Run, pairs: Array) -> Array:
    """The ids of the queries."""
    kept = pairs[:, 0] >= 0
    names = qrels.queries.take(pairs[kept, 0]).names()
    return names if kept.all() else np.concatenate([names, run.queries.take(pairs[~kept, 1]).names()])


def _refuse_missing(qrels: Qrels, run: Run, judged_only: Array, retrieved_only: Array, convention: Convention) -> None:
    for field, table, lacking, what, remedy in (
        ("missing_in_run", qrels, judged_only, "judged query {} is missing in the run", "'zero' or 'skip'"),
        ("missing_in_qrels", run, retrieved_only, "query {} of the run is missing in the qrels", "'skip'"),
    ):
        if getattr(convention, field) == "raise" and len(lacking):
            raise InvalidInputError(
                f"convention {convention} takes the same queries in qrels and run, but "
                f"{what.format(table.queries.name(lacking[0]))} ({len(lacking)} in all); add it, "
                f"or take convention.replace({field}={remedy})"
            )


def _refuse_disjoint(qrels: Table, run: Run, sides: tuple[str, str]) -> None:
    shown, has = [], "have" if sides[0] == "qrels" else "has"
    for table in (qrels, run):
        first = [repr(query) for query in table.queries.take(np.arange(min(3, len(table.queries)))).names().tolist()]
        shown.append(", ".join((first or ["none"]) + ["…"] * (len(table.queries) > 3)))
    raise InvalidInputError(
        f"{sides[0]} and {sides[1]} must have a query in common, but the {sides[0]} {has} {shown[0]}, and the "
        f"{sides[1]} has {shown[1]}; " + _remedy(qrels, run)
    )


def _remedy(qrels: Table, run: Table) -> str:
    """What would make queries meet."""
    if qrels.queries.are_texts and run.queries.are_texts:
        stripped = [{text.strip() for text in table.queries.names().tolist()} for table in (qrels, run)]
        if stripped[0] & stripped[1]:
            return f"without blanks around them {len(stripped[0] & stripped[1])} would be the same: strip the ids"
    return "check that the ids are written alike"

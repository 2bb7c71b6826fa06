"""Join judgments and a run, or two runs, on the ids of queries and documents."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np

from fastndcg.errors import Choice, InvalidInputError, shorten
from fastndcg.inputs.ids import ABSENT, IdColumn, IdIndex, join_segments, make_comparable, run_on_spans
from fastndcg.inputs.table import Qrels, Run, Table
from fastndcg.kernels.lookup import load_kernels
from fastndcg.kernels.shared import MAX_RANK, JudgedIds, MatchedLabels, RetrievedIds
from fastndcg.named_conventions import Convention
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array, as_offsets, count_before, put, read_only

SAMPLE = 1000  # queries, and documents of them, whose ids are compared
CHANGES: dict[str, Callable[[str], str]] = {
    "blanks around them": str.strip,
    "the case of letters": str.casefold,
    "zeros before numbers": lambda text: text.lstrip("0"),
    "a fraction of 0": lambda text: text.removesuffix(".0"),
}
AGAIN = " (again)"  # behind the id of a document whose place is empty, as it stood above
QRELS_AND_RUN = ("qrels", "run")
TWO_RUNS = ("first run", "second run")


class Joined(NamedTuple):
    """
    Rankings of the evaluated queries, and what joining them found.

    Attributes
    ----------
    rankings : Rankings
    unjudged_queries : (n_queries,) bool array, optional
        Queries without judgments.
    n_missing_in_run, n_missing_in_qrels : int
        The number of queries that each side lacks.
    notes : tuple of str
    has_unjudged : bool
        True if a ranked document has no judgment. A place that a dropped duplicate leaves empty is no document.
    """

    rankings: Rankings
    unjudged_queries: Array | None = None
    n_missing_in_run: int = 0
    n_missing_in_qrels: int = 0
    notes: tuple[str, ...] = ()
    has_unjudged: bool = False


class PairedRankings(NamedTuple):
    """
    Scores of two rankings, without NaN. Query q has those from ``offsets[q]`` to ``offsets[q + 1]`` of each.

    `partners` gives the place of each document of the second ranking in the first, or -1. It equals None if both
    rankings have the same documents in the same places.
    """

    first: Array
    first_offsets: Array
    second: Array
    second_offsets: Array
    partners: Array | None
    query_ids: Array | None
    notes: tuple[str, ...] = ()


def join(
    qrels: Qrels, run: Run, convention: Convention, threads: int | None = None, *, is_part: bool = False
) -> Joined:
    """
    Rank each query's retrieved documents, with all its judgments as the pool.

    Without `is_part`, it is an error if no query is common.

    Retrieved documents without a judgment stay as unjudged documents. Judged documents that were not retrieved stay
    in the pool. Queries on one side only follow the convention. Queries come in the order of the qrels.
    """
    refuse_nan_scores(run, convention)
    in_run = find_ids(qrels.queries, run.queries, "queries", QRELS_AND_RUN)
    common = np.flatnonzero(in_run >= 0)
    is_judged = np.zeros(len(run.queries), bool)
    is_judged[in_run[common]] = True
    unjudged = np.flatnonzero(~is_judged)
    if not len(common) and not is_part:
        refuse_disjoint(qrels.queries, run.queries)
    missing = np.flatnonzero(in_run < 0)
    if len(missing) or len(unjudged):
        refuse_missing(qrels.queries, run.queries, missing, unjudged, convention)
    judged = common if convention.missing_in_run == "skip" else np.arange(len(in_run))
    extra = unjudged if convention.missing_in_qrels == "undefined" else unjudged[:0]
    pairs = np.full((len(judged) + len(extra), 2), ABSENT, "i8")
    pairs[: len(judged), 0] = judged
    pairs[: len(judged), 1] = in_run[judged]
    pairs[len(judged) :, 1] = extra
    rankings, has_unjudged = make_rankings(qrels, run, pairs, convention, threads)
    of_all = () if is_part else _note_unjudged(qrels, run, pairs, rankings)
    notes = (*qrels.source.notes, *run.source.notes, *of_all)
    unjudged_queries = pairs[:, 0] < 0 if len(extra) else None
    return Joined(rankings, unjudged_queries, len(missing), len(unjudged), notes, has_unjudged)


def refuse_nan_scores(run: Run, convention: Convention) -> None:
    """Raise for a score that is NaN, unless the convention ranks it last."""
    if convention.nan_scores == "raise":
        remedy = "Leave the document out, or take ", Choice("nan_scores", ["last"])
        run.refuse(np.isnan(run.values), "not be NaN", *remedy)


def _note_unjudged(qrels: Qrels, run: Run, pairs: Array, rankings: Rankings) -> tuple[str, ...]:
    """Return a note with an id of each side if no retrieved document is judged. In most inputs the first ones are."""
    if rankings.judged is None or not len(rankings.judged) or rankings.judged.any():
        return ()
    sizes = [np.diff(table.offsets) for table in (qrels, run)]
    both = [(q, r) for q, r in pairs.tolist() if q >= 0 and r >= 0 and sizes[0][q] and sizes[1][r]]
    if not both:
        return ()
    names = []
    for side, table in enumerate((qrels, run)):
        spans = [table.offsets[pair[side] : pair[side] + 2] for pair in both[:SAMPLE]]
        rows = np.concatenate([np.arange(first, stop) for first, stop in spans])[:SAMPLE]
        names.append(table.documents.take(rows).names().tolist())
    theirs, own, how = tell_apart(*names)
    return (f"no document of the run is judged: the qrels have {theirs}, the run has {own}. {how}",)


def tell_apart(names: list[Any], others: list[Any]) -> tuple[str, str, str]:
    """Return an id of each list, of which none is in both, and what they differ by."""
    alike = find_alike(names, others) if isinstance(names[0], str) else None
    if alike is None:
        return shorten(names[0]), shorten(others[0]), "Are ids alike?"
    return shorten(alike[0]), shorten(alike[1]), f"They differ by {alike[2]}: write ids alike"


def find_alike(texts: list[str], others: list[str]) -> tuple[str, str, str] | None:
    """Return a text of each list that are nearly the same, and what they differ by, or None."""
    for what, change in CHANGES.items():
        changed = {change(text): text for text in texts}
        other = next((other for other in others if change(other) in changed), None)
        if other is not None:
            return changed[change(other)], other, what
    for first, second, is_swapped in ((set(texts), others, False), (set(others), texts, True)):
        for text in second:
            ends = [match.start() for match in re.finditer(r"[\W_]", text)]
            stem = next((text[:end] for end in reversed(ends) if text[:end] in first), None)
            if stem is not None:
                return (text, stem, "a suffix") if is_swapped else (stem, text, "a suffix")
    return None


def join_runs(first: Run, second: Run, threads: int | None = None) -> PairedRankings:
    """Join two runs, in the order of the first one's queries."""
    for run in (first, second):
        run.refuse(np.isnan(run.values), "not be NaN", "Leave the document out")
    in_second = find_ids(first.queries, second.queries, "queries", TWO_RUNS)
    common = np.flatnonzero(in_second >= 0)
    if not len(common):
        refuse_disjoint(first.queries, second.queries, TWO_RUNS)
    pairs = np.stack([common, in_second[common]], axis=1)
    first_rows = _Segments(first.offsets, pairs[:, 0])
    second_rows = _Segments(second.offsets, pairs[:, 1])
    numbers = read_only(np.arange(len(first)))
    partners, is_matched = match_documents((first, numbers), second, pairs, second_rows.offsets, TWO_RUNS, threads)
    partners -= np.repeat(first.offsets[common], np.diff(second_rows.offsets))
    partners[~is_matched] = ABSENT
    skipped = {name: len(run.queries) - len(common) for name, run in (("first", first), ("second", second))}
    return PairedRankings(
        first_rows.select(first.values),
        first_rows.offsets,
        second_rows.select(second.values),
        second_rows.offsets,
        partners,
        first.queries.take(common).names(),
        tuple(f"queries that only the {name} ranking has, left out: {n}" for name, n in skipped.items() if n),
    )


def tie_keys(run: Run, threads: int | None) -> Array:
    """Return numbers in the order of the documents' ids, wherever scores are equal."""
    return run.documents.order_ties(run.values, run.offsets, threads) if run.keys is None else run.keys


def take_first_documents(run: Run, n: int, convention: Convention, threads: int | None = None) -> Run:
    """
    Return each query's first `n` documents.

    Documents are ordered by falling score, and documents of equal score by falling id, as in trec_eval.
    """
    scores = run.values.astype("f4") if convention.score_dtype == "float32" else run.values
    queries = np.repeat(np.arange(len(run.queries)), np.diff(run.offsets))
    order = np.lexsort((~tie_keys(run, threads), -scores, queries))
    places = join_segments(run.offsets[:-1], np.minimum(np.diff(run.offsets), min(n, len(run))))[1]
    return run.keep(np.sort(order[places]))


def find_ids(ids: IdColumn, other_ids: IdColumn, what: str, sides: tuple[str, str]) -> Array:
    """Return the index of each id among `other_ids`, which differ, or ABSENT."""
    own, others = make_comparable(ids, other_ids, what, sides)
    return IdIndex(others).find(own)


def make_rankings(
    qrels: Qrels, run: Run, pairs: Array, convention: Convention, threads: int | None
) -> tuple[Rankings, bool]:
    """
    Return rankings of the documents of joined queries, with their labels, and True if one has no judgment.

    `pairs` are (n_queries, 2): the place of each query in the judgments and in the run, or ABSENT.
    """
    run_rows = _Segments(run.offsets, pairs[:, 1])
    pool_rows = _Segments(qrels.offsets, pairs[:, 0])
    labels, judged = match_documents((qrels, qrels.values), run, pairs, run_rows.offsets, QRELS_AND_RUN, threads)
    has_unjudged = not judged.all()
    if run.is_empty is not None:
        is_empty = run_rows.select(run.is_empty)
        labels[is_empty] = 0
        judged[is_empty] = False
    for offsets in (run_rows.offsets, pool_rows.offsets):
        if offsets[-1] > MAX_RANK:
            as_offsets(offsets, "offsets", int(offsets[-1]))  # raises for a query with more documents
    names = _read_query_names(qrels, run, pairs)
    rankings = Rankings.from_checked(
        read_only(labels),
        run_rows.select(run.values),
        run_rows.offsets,
        read_only(names),
        read_only(judged),
        (read_only(pool_rows.select(qrels.values)), pool_rows.offsets),
        _DocumentNames(qrels, run, pool_rows, run_rows),
        tie_keys=run_rows.select(tie_keys(run, threads)) if TIES[convention.ties].orders == "id" else None,
        patterns=qrels.select_patterns(pairs[:, 0]),
    )
    if run.is_counted:
        put(rankings, has_repeats=True)
    return rankings, has_unjudged


@dataclass(frozen=True, slots=True)
class _DocumentNames:
    """The names of the documents of joined queries, by the name of an array of `Rankings` and an index."""

    qrels: Qrels
    run: Run
    pool_rows: _Segments
    run_rows: _Segments

    def __call__(self, name: str, index: int) -> str:
        """Return the name of one document."""
        table, rows = (self.qrels, self.pool_rows) if name == "pool" else (self.run, self.run_rows)
        row = int(rows.find_rows(index))
        is_again = table is self.run and self.run.is_empty is not None and self.run.is_empty[row]
        return f"{table.documents.name(row)}{AGAIN if is_again else ''}"

    def take(self, name: str, indices: Array) -> Array:
        """Return the ids of several documents."""
        return self.take_column(name, indices).names()

    def take_column(self, name: str, indices: Array) -> IdColumn:
        """Return the ids of several documents without a Python object for each."""
        table, rows = (self.qrels, self.pool_rows) if name == "pool" else (self.run, self.run_rows)
        return table.documents.take(rows.find_rows(indices))

    def list_names(self, start: int, stop: int) -> list[str]:
        """Return the names of the retrieved documents of one query, read at once."""
        if start == stop:
            return []
        first = int(self.run_rows.find_rows(start))
        return [str(name) for name in self.run.documents.take(np.arange(first, first + stop - start)).names().tolist()]


class _Segments:
    """The rows of some queries of a table, in the order of these queries. Queries that are ABSENT have no rows."""

    def __init__(self, offsets: Array, queries: Array) -> None:
        present = np.maximum(queries, 0)
        has_rows = len(offsets) > 1
        sizes = np.where(queries >= 0, offsets[present + 1] - offsets[present], 0) if has_rows else 0 * queries
        self._starts = np.where(sizes > 0, offsets[present] if has_rows else 0, 0)
        self.offsets = read_only(count_before(sizes))
        self._is_prefix = bool((self._starts == self.offsets[:-1])[sizes > 0].all())

    def select(self, values: Array) -> Array:
        """Return the values of these rows, without a copy if they are the first rows in their order."""
        n = int(self.offsets[-1])
        if self._is_prefix:
            return values[:n]
        out = np.empty(n, values.dtype)
        load_kernels("inputs.ids").copy_segments(read_only(values), self._starts, self.offsets, out)
        return out

    def find_rows(self, indices: Any) -> Array:
        """Return the rows of the table that are at some indices of the selected rows, or the row at one."""
        queries = np.searchsorted(self.offsets, indices, side="right") - 1
        return np.asarray(self._starts[queries] + indices - self.offsets[queries])


def match_documents(
    judged: tuple[Table, Array], run: Table, pairs: Array, offsets: Array, sides: tuple[str, str], threads: int | None
) -> MatchedLabels:
    """Look up each document of a run in another table. Return the values there, and True for documents there."""
    table, values = judged
    listed, retrieved = make_comparable(table.documents, run.documents, "documents", sides)
    judged_ids = JudgedIds(listed.ids, table.offsets, values)
    retrieved_ids = RetrievedIds(retrieved.ids, run.offsets)
    n = int(offsets[-1])
    out = MatchedLabels(np.empty(n, values.dtype), np.empty(n, bool))
    kernels = load_kernels("inputs.ids")

    def match(first: int, stop: int) -> None:
        kernels.match(judged_ids, retrieved_ids, pairs, offsets, first, stop, out)

    run_on_spans(offsets, match, threads)
    return out


def _read_query_names(qrels: Qrels, run: Run, pairs: Array) -> Array:
    """Return the ids of joined queries."""
    is_judged = pairs[:, 0] >= 0
    names = qrels.queries.take(pairs[is_judged, 0]).names()
    return names if is_judged.all() else np.concatenate([names, run.queries.take(pairs[~is_judged, 1]).names()])


def refuse_missing(
    judged: IdColumn, retrieved: IdColumn, judged_only: Array, retrieved_only: Array, convention: Convention,
    sides: tuple[str, str] = QRELS_AND_RUN,
) -> None:  # fmt: skip
    """Raise if the convention takes the same queries on both sides, of which one has more."""
    for field, queries, missing, problem, choices in (
        ("missing_in_run", judged, judged_only, f"judged query {{}} is missing in the {sides[1]}", ["zero", "skip"]),
        ("missing_in_qrels", retrieved, retrieved_only, f"query {{}} of the {sides[1]} is missing in the {sides[0]}",
         ["skip"]),
    ):  # fmt: skip
        if getattr(convention, field) == "raise" and len(missing):
            raise InvalidInputError(
                f"convention {convention} takes the same queries in {sides[0]} and {sides[1]}, but "
                f"{problem.format(queries.name(missing[0]))} ({len(missing)} in all). Add it, or take ",
                Choice(field, choices),
            )


def refuse_disjoint(first: IdColumn, second: IdColumn, sides: tuple[str, str] = QRELS_AND_RUN) -> NoReturn:
    """Raise for queries of which none is on both sides."""
    examples = []
    for side, queries in zip(sides, (first, second), strict=True):
        is_plural = side.endswith("s")
        if not len(queries):
            problem = f"but {'are' if is_plural else 'is'} empty. Check what was read"
            raise InvalidInputError(f"the {side} must have a query, {problem}")
        names = [shorten(query) for query in queries.take(np.arange(min(3, len(queries)))).names().tolist()]
        has = "have" if is_plural else "has"
        examples.append(f"the {side} {has} {', '.join(names + ['…'] * (len(queries) > 3))}")
    raise InvalidInputError(
        f"{sides[0]} and {sides[1]} must have a query in common, but {examples[0]}, and {examples[1]}. "
        f"{_suggest_remedy(first, second)}"
    )


def _suggest_remedy(first: IdColumn, second: IdColumn) -> str:
    """Return a remedy for queries of which none is on both sides."""
    if first.are_texts and second.are_texts:
        alike = find_alike(*(queries.names().tolist()[:SAMPLE] for queries in (first, second)))
        if alike is not None:
            return f"{shorten(alike[0])} and {shorten(alike[1])} differ by {alike[2]}: write ids alike"
    return "Check that the ids are written alike"

"""The one join of ids: judgments and a run on query and document codes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastndcg.conventions import Convention
from fastndcg.errors import InvalidInputError
from fastndcg.inputs.tables import Qrels, Run, merge, pair_codes
from fastndcg.rankings import Array, Rankings


class Joined(NamedTuple):
    """Rankings of the evaluated queries, those of them that have no judgments, and what each side lacked."""

    rankings: Rankings
    unjudged_queries: Array | None = None  # (n_queries,) bool
    n_missing_in_run: int = 0
    n_missing_in_qrels: int = 0


def join(qrels: Qrels, run: Run, convention: Convention) -> Joined:
    """
    Rank each query's retrieved documents, with all its judgments as the pool.

    Retrieved documents without a judgment stay, unjudged; judged ones that were not retrieved stay in the pool;
    queries on one side only follow the convention. Queries come in the order of the qrels.
    """
    if convention.nan_scores == "raise":
        remedy = "leave the document out, or take convention.replace(nan_scores='last')"
        run.refuse(np.isnan(run.values), "not be NaN", remedy)
    qrels_query, run_query, n_union = merge(qrels.queries.distinct, run.queries.distinct, "queries")
    judged = np.zeros(n_union, bool)
    judged[qrels_query] = True
    retrieved = np.zeros(n_union, bool)
    retrieved[run_query] = True
    if not (judged & retrieved).any():
        _refuse_disjoint(qrels, run)
    _refuse_missing(qrels, run, judged, retrieved, (qrels_query, run_query), convention)

    place, n_queries, n_judged = _places(
        qrels_query[qrels.query_order()], run_query[run.query_order()], judged, retrieved, convention
    )
    names = np.empty(n_queries, dtype=qrels.queries.distinct.dtype)
    for codes, table in ((run_query, run), (qrels_query, qrels)):
        kept = place[codes] >= 0
        names[place[codes[kept]]] = table.queries.distinct[kept]
    rankings = _rankings(qrels, run, place[qrels_query], place[run_query], names)
    return Joined(
        rankings,
        np.arange(n_queries) >= n_judged if n_judged < n_queries else None,
        int(np.count_nonzero(judged & ~retrieved)),
        int(np.count_nonzero(retrieved & ~judged)),
    )


def _places(
    judged_in_order: Array, retrieved_in_order: Array, judged: Array, retrieved: Array, convention: Convention
) -> tuple[Array, int, int]:
    """Each query's place in the result, -1 if it has none; how many there are, and how many of them are judged."""
    place = np.full(len(judged), -1, "i8")
    kept = judged_in_order
    if convention.missing_in_run == "skip":
        kept = kept[retrieved[kept]]
    place[kept] = np.arange(len(kept))
    n_judged = len(kept)
    if convention.missing_in_qrels == "undefined":
        extra = retrieved_in_order[~judged[retrieved_in_order]]
        place[extra] = n_judged + np.arange(len(extra))
        return place, n_judged + len(extra), n_judged
    return place, n_judged, n_judged


def _rankings(qrels: Qrels, run: Run, qrels_place: Array, run_place: Array, names: Array) -> Rankings:
    """The rows of kept queries, brought together query by query, with the labels that their documents have."""
    qrels_document, run_document, n_documents = merge(qrels.documents.distinct, run.documents.distinct, "documents")
    judged_rows, pool_offsets = _rows_by_query(qrels_place[qrels.queries.codes], len(names))
    rows, offsets = _rows_by_query(run_place[run.queries.codes], len(names))
    tie_keys = run_document[run.documents.codes[rows]]
    wanted = pair_codes(run_place[run.queries.codes[rows]], tie_keys, n_documents)
    known = pair_codes(
        qrels_place[qrels.queries.codes[judged_rows]],
        qrels_document[qrels.documents.codes[judged_rows]],
        n_documents,
    )
    pool_labels = qrels.values[judged_rows]
    order = np.argsort(known)
    labels = np.zeros(len(rows), qrels.values.dtype)
    judged = np.zeros(len(rows), bool)
    if len(known):
        nearest = np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)
        found = order[nearest]
        judged = known[found] == wanted
        labels[judged] = pool_labels[found[judged]]

    def place_of(name: str, index: int) -> str:
        table, row = (qrels, judged_rows[index]) if name == "pool" else (run, rows[index])
        return str(table.documents.distinct[table.documents.codes[row]])

    made = Rankings(
        labels,
        run.values[rows],
        offsets,
        judged=judged,
        pool=(pool_labels, pool_offsets),
        tie_keys=tie_keys,
        query_ids=names,
    )
    return made.placed_by(place_of)


def _rows_by_query(places: Array, n_queries: int) -> tuple[Array, Array]:
    """The rows of kept queries in the order of their places, rows of one query as given, and their offsets."""
    order = np.argsort(places, kind="stable")
    rows = order[np.count_nonzero(places < 0) :]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(places[rows], minlength=n_queries))])
    return rows, offsets.astype("i8")


def _refuse_missing(
    qrels: Qrels,
    run: Run,
    judged: Array,
    retrieved: Array,
    codes: tuple[Array, Array],
    convention: Convention,
) -> None:
    sides = (
        (
            "missing_in_run",
            qrels,
            codes[0],
            ~retrieved,
            "judged query {} is missing in the run",
            "'zero' or 'skip'",
        ),
        ("missing_in_qrels", run, codes[1], ~judged, "query {} of the run is missing in the qrels", "'skip'"),
    )
    for field, table, union_codes, missing, what, remedy in sides:
        lacking = table.queries.distinct[missing[union_codes]]
        if getattr(convention, field) == "raise" and len(lacking):
            raise InvalidInputError(
                f"convention {convention} takes the same queries in qrels and run, but {what.format(lacking[0])} "
                f"({len(lacking)} in all); add it, or take convention.replace({field}={remedy})"
            )


def _refuse_disjoint(qrels: Qrels, run: Run) -> None:
    shown = []
    for table in (qrels, run):
        first = [repr(query) for query in table.queries.distinct[:3].tolist()] or ["none"]
        shown.append(", ".join(first + ["…"] * (len(table.queries.distinct) > 3)))
    raise InvalidInputError(
        f"qrels and run must have a query in common, but the qrels have {shown[0]}, and the run has {shown[1]}; "
        "check that the ids are written alike"
    )

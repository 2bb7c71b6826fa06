"""Frames and named tuples for the drop-in of ir_measures: tables that are joined, or dicts of dicts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress, islice, pairwise
from operator import itemgetter, ne
from typing import Any, NamedTuple

import numpy as np

from fastndcg.conventions import Convention
from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.inputs.dicts import DictQrels
from fastndcg.inputs.join import join
from fastndcg.inputs.tables import Qrels, Run
from fastndcg.rankings import Array, Rankings

QUERY, DOCUMENT = "query_id", "doc_id"


class JoinedRun(NamedTuple):
    """What a table ranks of the queries that have judgments, in the table's order of queries."""

    queries: list[str]
    rankings: Rankings
    tables: tuple[Qrels, Run, Convention]
    order: Array  # of the queries, as the rankings have them

    def with_tie_keys(self) -> Rankings:
        """The rankings with the order of ids."""
        qrels, run, convention = self.tables
        return join(qrels, run, convention).rankings

    def arranged(self, values: Array) -> Array:
        """One row a query of the rankings as one a query of `queries`."""
        return values[self.order]


def join_table(judgments: DictQrels, run: Run, convention: Convention) -> JoinedRun:
    """The queries that both have; an error of ours where they have none in common, or a score is NaN."""
    qrels = judgments.table()
    convention = convention.replace(missing_in_run="skip", missing_in_qrels="skip")
    rankings = join(qrels, run, convention.replace(ties="input")).rankings
    names = [] if rankings.query_ids is None else rankings.query_ids.tolist()
    places = dict(zip(run.queries.names().tolist(), range(len(run.queries)), strict=True))
    order = np.argsort([places[name] for name in names])
    return JoinedRun([names[place] for place in order.tolist()], rankings, (qrels, run, convention), order)


def run_table(run: Any) -> Run | None:
    """A frame's run as a table, None for what is no frame, or no run that a table takes."""
    if not is_frame(run, "score") or not len(run):
        return None
    try:
        table = Run.from_frame(run[[QUERY, DOCUMENT, "score"]], {"query": QUERY, "document": DOCUMENT})
    except (InvalidInputError, InvalidTypeError):
        return None
    return table if table.queries.are_texts and table.documents.are_texts else None


def rows_of(given: Any, kind: Any, converter: Any) -> Any:
    """
    Dicts of dicts of a frame or an iterable of named tuples, by `converter` where they are none that are known.

    Of a document that stands twice in a query, the last counts, as there.
    """
    query, document, number = kind._fields[:3]
    if is_frame(given, number):
        return grouped(*(given[name].tolist() for name in (query, document, number)))
    if isinstance(given, list) and set(map(type, given)) == {kind}:
        return gathered(given if len(kind._fields) == 3 else map(itemgetter(0, 1, 2), given))
    return converter(given).as_dict_of_dict()


def is_frame(given: Any, number: str) -> bool:
    """Whether this is a pandas DataFrame with the columns that are needed."""
    return hasattr(given, "itertuples") and {QUERY, DOCUMENT, number} <= set(given.columns)


def grouped(queries: list[Any], documents: list[Any], numbers: list[Any]) -> dict[Any, dict[Any, Any]]:
    """Columns as dicts of dicts, a run of rows of the same query at a time."""
    rows: dict[Any, dict[Any, Any]] = {}
    changes = compress(range(1, len(queries)), map(ne, queries, islice(queries, 1, None)))
    for first, stop in pairwise([0, *changes, len(queries)] if queries else []):
        part = zip(documents[first:stop], numbers[first:stop], strict=True)
        rows.setdefault(queries[first], {}).update(part)
    return rows


def gathered(items: Iterable[tuple[Any, Any, Any]]) -> dict[Any, dict[Any, Any]]:
    """Rows one by one as dicts of dicts."""
    rows: dict[Any, dict[Any, Any]] = {}
    last, row = object(), rows
    for query, document, number in items:
        if query is not last:
            last, row = query, rows.setdefault(query, {})
        row[document] = number
    return rows

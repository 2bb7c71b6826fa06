"""Frames and named tuples for the ir_measures drop-in, read as joined tables or as dicts of dicts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress, islice, pairwise
from operator import itemgetter, ne
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.inputs.dict_qrels import DictQrels
from fastndcg.inputs.join import join
from fastndcg.inputs.qrels_run import Qrels, Run
from fastndcg.named_conventions import Convention
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array

QUERY = "query_id"
DOCUMENT = "doc_id"

Rows = dict[Any, dict[Any, Any]]  # {query: {document: label or score}}


class JoinedRun(NamedTuple):
    """
    A run in a table, joined with its judgments.

    `queries` are in the order of the table. `rankings` are in the order of the judgments, and `order` has the index in
    `rankings` of each item of `queries`.
    """

    queries: list[str]
    rankings: Rankings
    tables: tuple[Qrels, Run, Convention]
    order: Array

    def with_tie_keys(self) -> Rankings:
        """Return the rankings with tie keys that order documents by id."""
        qrels, run, convention = self.tables
        return join(qrels, run, convention).rankings

    def reorder(self, values: Array) -> Array:
        """Return values in the order of `queries`. `values` has one row for each query of `rankings`."""
        return values[self.order]


def join_table(judgments: DictQrels, run: Run, convention: Convention) -> JoinedRun:
    """
    Join a run in a table with its judgments.

    Raises
    ------
    InvalidInputError
        If judgments and run have no query in common, or a score is NaN.
    """
    qrels = judgments.table()
    convention = convention.replace(missing_in_run="skip", missing_in_qrels="skip")
    rankings = join(qrels, run, convention.replace(ties="input")).rankings
    names = [] if rankings.query_ids is None else rankings.query_ids.tolist()
    indices = dict(zip(run.queries.names().tolist(), range(len(run.queries)), strict=True))
    order = np.argsort([indices[name] for name in names])
    return JoinedRun([names[i] for i in order.tolist()], rankings, (qrels, run, convention), order)


def read_run_table(run: Any) -> Run | None:
    """Return a pandas DataFrame with text ids as a table. Return None for other runs."""
    if not is_frame(run, "score") or not len(run):
        return None
    try:
        table = Run.from_frame(run[[QUERY, DOCUMENT, "score"]], {"query": QUERY, "document": DOCUMENT})
    except (InvalidInputError, InvalidTypeError):
        return None
    return table if table.queries.are_texts and table.documents.are_texts else None


def read_rows(rows: Any, kind: Any, converter: Any) -> Any:
    """
    Return judgments or a run as {query: {document: label or score}}.

    If a query has a document twice, the last row counts, as in ir_measures.

    Parameters
    ----------
    rows : DataFrame, list of named tuples, or any other form that ir_measures reads
        The judgments or the run.
    kind : type
        ir_measures' named tuple of one row: ``Qrel`` or ``ScoredDoc``.
    converter : callable
        ir_measures' own converter, for the other forms.
    """
    query, document, number = kind._fields[:3]
    if is_frame(rows, number):
        return group_columns(*(rows[name].tolist() for name in (query, document, number)))
    if isinstance(rows, list) and set(map(type, rows)) == {kind}:
        return group_rows(rows if len(kind._fields) == 3 else map(itemgetter(0, 1, 2), rows))
    return converter(rows).as_dict_of_dict()


def is_frame(rows: Any, number: str) -> bool:
    """Return True for a pandas DataFrame with columns of queries, documents and the column `number`."""
    return hasattr(rows, "itertuples") and {QUERY, DOCUMENT, number} <= set(rows.columns)


def group_columns(queries: list[Any], documents: list[Any], numbers: list[Any]) -> Rows:
    """Return columns as a dict of dicts. Consecutive rows of a query are added at once."""
    rows: Rows = {}
    changes = compress(range(1, len(queries)), map(ne, queries, islice(queries, 1, None)))
    for first, stop in pairwise([0, *changes, len(queries)] if queries else []):
        pairs = zip(documents[first:stop], numbers[first:stop], strict=True)
        rows.setdefault(queries[first], {}).update(pairs)
    return rows


def group_rows(items: Iterable[tuple[Any, Any, Any]]) -> Rows:
    """Return rows of (query, document, number) as a dict of dicts."""
    rows: Rows = {}
    row: dict[Any, Any] = {}
    last_query: Any = object()
    for query, document, number in items:
        if query is not last_query:
            last_query = query
            row = rows.setdefault(query, {})
        row[document] = number
    return rows

"""Judgments by subtopic for drop-ins that take runs as dicts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from fastndcg.conventions import conventions
from fastndcg.inputs.diversity import DiversityQrels
from fastndcg.inputs.join import join
from fastndcg.inputs.tables import Run
from fastndcg.rankings import Rankings

CONVENTION = conventions["ndeval"]


class JudgedBySubtopic(NamedTuple):
    """What a run ranks of the queries that have judgments, with a place for each document among the ids."""

    queries: list[str]
    rankings: Rankings

    def with_tie_keys(self) -> Rankings:
        """The rankings."""
        return self.rankings


class SubtopicQrels:
    """Rows of query, subtopic, document and label, one or more, ready for the runs of many systems."""

    def __init__(self, rows: Iterable[tuple[Any, Any, Any, Any]]) -> None:
        queries, subtopics, documents, labels = zip(*rows, strict=True)
        self._qrels = DiversityQrels(queries, subtopics, documents, list(labels))
        self._queries = set(queries)

    def judged(self, run: dict[str, dict[str, Any]]) -> JudgedBySubtopic:
        """Rank the documents of each query that has judgments."""
        known = {query: row for query, row in run.items() if query in self._queries and row}
        if not known:
            return JudgedBySubtopic([], Rankings([], [], [0]))
        rankings = join(self._qrels, Run.from_dict(known), CONVENTION).rankings
        return JudgedBySubtopic([] if rankings.query_ids is None else rankings.query_ids.tolist(), rankings)

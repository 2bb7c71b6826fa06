"""Judgments by subtopic, for the ir_measures drop-in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from fastndcg.inputs.diversity_qrels import DiversityQrels
from fastndcg.inputs.join import join
from fastndcg.inputs.qrels_run import Run
from fastndcg.named_conventions import conventions
from fastndcg.rankings.rankings import Rankings

CONVENTION = conventions["ndeval"]


class JudgedBySubtopic(NamedTuple):
    """The queries of a run that have judgments by subtopic, and their rankings with tie keys."""

    queries: list[str]
    rankings: Rankings

    def with_tie_keys(self) -> Rankings:
        """Return the rankings. Their tie keys were set when the run was joined."""
        return self.rankings


class SubtopicQrels:
    """
    Judgments by subtopic that are prepared once for many runs.

    Parameters
    ----------
    rows : iterable of tuple
        The query, subtopic, document and label of each judgment. At least one.
    """

    def __init__(self, rows: Iterable[tuple[Any, Any, Any, Any]]) -> None:
        judgments = list(rows)
        self._queries = {query for query, _, _, _ in judgments}
        if judgments:
            queries, subtopics, documents, labels = zip(*judgments, strict=True)
            self._qrels = DiversityQrels(queries, subtopics, documents, list(labels))

    def judged(self, run: dict[str, dict[str, Any]]) -> JudgedBySubtopic:
        """Return the rankings of the run's queries that have judgments."""
        judged_rows = {query: row for query, row in run.items() if query in self._queries and row}
        if not judged_rows:
            return JudgedBySubtopic([], Rankings([], [], [0]))
        rankings = join(self._qrels, Run.from_dict(judged_rows), CONVENTION).rankings
        return JudgedBySubtopic([] if rankings.query_ids is None else rankings.query_ids.tolist(), rankings)

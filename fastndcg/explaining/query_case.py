"""One query under one convention: the input of an explanation."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import Choice, InvalidInputError, shorten, suggest_name
from fastndcg.evaluation import evaluate_prepared, parse_request
from fastndcg.explaining.explanation import GAIN_SUMS
from fastndcg.inputs.dispatch import TruthInput, join_predictions, make_whole
from fastndcg.inputs.interactions import RankingPartitions
from fastndcg.inputs.join import Joined
from fastndcg.inputs.messages import Options
from fastndcg.inputs.table import Qrels
from fastndcg.metrics.metric import Metric
from fastndcg.metrics.resolve import add_default_cutoff, refuse_repeats
from fastndcg.named_conventions import Convention
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array, put
from fastndcg.reference import apply_undefined_policy
from fastndcg.reference.tie_orders import Query, read_query


class QueryCase(NamedTuple):
    """One query under one convention. `applied` is the convention with its choices for this kind of labels."""

    metric: Metric
    convention: Convention
    applied: Convention
    rankings: Rankings
    query: Query
    is_judged: bool
    scores: Array  # as users see them, while those of `rankings` rank documents

    @property
    def has_gain(self) -> bool:
        """True if the metric uses gains."""
        return any(parameter.name == "gain" for parameter in self.metric.record.parameters)

    @property
    def is_gain_sum(self) -> bool:
        """True if the metric is a sum of gain · discount, or a ratio of two such sums."""
        return self.metric.name in GAIN_SUMS

    def values(self, *metrics: Metric) -> list[float]:
        """Return the values of metrics, NaN if undefined."""
        return self._evaluate(self.applied.replace(undefined="nan", undefined_ap="as undefined"), *metrics)

    def value(self) -> float:
        """Return the value of the metric. If undefined, it is the convention's choice, or NaN if that is to raise."""
        raising = [field for field in ("undefined", "undefined_ap") if getattr(self.applied, field) == "raise"]
        return self._evaluate(self.applied.replace(**dict.fromkeys(raising, "nan")), self.metric)[0]

    def _evaluate(self, convention: Convention, *metrics: Metric) -> list[float]:
        if self.is_judged:
            return evaluate_rankings(self.rankings, metrics, convention)[0].tolist()  # type: ignore[no-any-return]
        undefined = np.full((1, len(metrics)), np.nan)
        apply_undefined_policy(undefined, metrics, self.rankings, convention)
        return [float(value) for value in undefined[0]]


def evaluate_rankings(rankings: Rankings, metrics: tuple[Metric, ...], convention: Convention) -> Array:
    """Return the values of metrics, (n_queries, n_metrics). A pool need not hold all that was ranked."""
    return evaluate_prepared(rankings, None, parse_request(metrics, convention), Options()).values


class JoinedSystem(NamedTuple):
    """The rankings of all queries of a system. `applied` is the convention with its choices for this kind of labels."""

    rankings: Rankings
    unjudged: Array | None
    convention: Convention
    applied: Convention


def join_system(prepared: TruthInput, predictions: Any, options: Options, convention: Convention) -> JoinedSystem:
    """Join prepared truth with the predictions of a system, under a convention."""
    return _apply_convention(
        prepared, make_whole(join_predictions(prepared, predictions, convention, options)), convention
    )


def _apply_convention(prepared: TruthInput, joined: Joined, convention: Convention) -> JoinedSystem:
    """Return joined rankings with the convention's choices for this kind of labels."""
    applied = convention.for_input(qrels=isinstance(prepared, Qrels))
    return JoinedSystem(joined.rankings, joined.unjudged_queries, convention, applied)


def select_case(system: JoinedSystem, metric: Metric, q: int) -> QueryCase:
    """Return the query with index `q`."""
    if metric.record.by_subtopic:
        raise InvalidInputError(
            f"`metric` must use one label per document, but {metric} uses one per subtopic. Explain another metric."
        )
    if system.rankings.has_repeats:
        refuse_repeats((metric,))
    applied = system.applied
    own_rankings = _select_query(system.rankings.without_patterns(), q)
    is_judged = system.unjudged is None or not system.unjudged[q]
    (metric,) = add_default_cutoff((metric.bare,), applied)
    own_query = read_query(own_rankings, 0, applied, metric.record.view)
    return QueryCase(metric, system.convention, applied, own_rankings, own_query, is_judged, own_rankings.scores)


def make_case(
    prepared: TruthInput, predictions: Any, options: Options, metric: Metric, query: Any, convention: Convention
) -> QueryCase:
    """Select a query from prepared truth and predictions, under a convention."""
    combined = join_predictions(prepared, predictions, convention, options)
    if isinstance(combined, RankingPartitions):  # rankings of all users may take more memory than there is
        numbers = list(range(combined.n_queries))
        place = _find_query(numbers if combined.query_ids is None else combined.query_ids.tolist(), query)
        own_rankings = combined.select(place, place + 1)
        case = select_case(_apply_convention(prepared, Joined(own_rankings), convention), metric, 0)
        if combined.finish_scores is None:
            return case
        return case._replace(scores=combined.finish_scores(place, case.scores.copy()))
    joined = make_whole(combined)
    ids = _list_ids(joined.rankings)
    if convention.missing_in_run == "skip" and isinstance(query, Hashable) and query not in (None, *ids):
        _refuse_skipped(prepared, predictions, options, query, convention)
    system = _apply_convention(prepared, joined, convention)
    return select_case(system, metric, _find_query(ids, query))


def _refuse_skipped(
    prepared: TruthInput, predictions: Any, options: Options, query: Hashable, convention: Convention
) -> None:
    """Raise for a judged query that the run lacks, which the convention leaves out."""
    with_missing = join_predictions(prepared, predictions, convention.replace(missing_in_run="zero"), options)
    if not isinstance(with_missing, RankingPartitions) and query in _list_ids(make_whole(with_missing).rankings):
        raise InvalidInputError(
            f"`query` must be a query that the convention evaluates, but the run lacks {shorten(query)}, and "
            f"{convention} leaves such queries out. Take ",
            Choice("missing_in_run", ["zero"]),
            ".",
        )


def _list_ids(rankings: Rankings) -> list[Any]:
    """Return the ids of the queries, numbers from 0 where they have none."""
    return list(range(rankings.n_queries)) if rankings.query_ids is None else rankings.query_ids.tolist()


def _find_query(ids: list[Any], query: Any) -> int:
    """Return the index of a query, given its id."""
    if query is None and len(ids) == 1:
        return 0
    examples = ", ".join(map(shorten, ids[:3])) + (", …" if len(ids) > 3 else "")
    if query is None:
        raise InvalidInputError(f"`query` is missing. Pass the id of one of the {len(ids)} queries: {examples}.")
    places = [place for place, query_id in enumerate(ids) if query_id == query] if isinstance(query, Hashable) else []
    if len(places) != 1:
        hint = suggest_name(query, map(str, ids)) or f" There are {len(ids)}: {examples}."
        raise InvalidInputError(
            f"`query` must be the id of one query, but {len(places) or 'none'} is called {shorten(query)}.{hint}"
        )
    return places[0]


def _select_query(rankings: Rankings, q: int) -> Rankings:
    """Return rankings with one query, whose documents keep their names in messages."""
    start, stop = (int(offset) for offset in rankings.offsets[q : q + 2])
    starts = {"pool": 0}
    pool = None
    if rankings.pool is not None:
        labels, offsets = rankings.pool
        starts["pool"] = int(offsets[q])
        pool = (labels[offsets[q] : offsets[q + 1]], [0, int(offsets[q + 1] - offsets[q])])
    selected = Rankings(
        rankings.labels[start:stop],
        rankings.scores[start:stop],
        [0, stop - start],
        judged=None if rankings.judged is None else rankings.judged[start:stop],
        pool=pool,
        tie_keys=None if rankings.tie_keys is None else rankings.tie_keys[start:stop],
        query_ids=[q] if rankings.query_ids is None else rankings.query_ids[q : q + 1],
    )
    put(selected, are_ordinals=rankings.are_ordinals)
    if rankings.has_repeats:
        put(selected, has_repeats=True)
    return selected.set_locator(lambda name, place: rankings.document_name(name, place + starts.get(name, start)))

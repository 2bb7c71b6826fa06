"""One query as a convention sees it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastndcg.combinations import with_default_cutoff
from fastndcg.conventions import Convention
from fastndcg.errors import InvalidInputError, nearest
from fastndcg.evaluate import evaluate
from fastndcg.explain.explanation import SUMS_OF_GAINS
from fastndcg.inputs.prepare import Options, Truth, all_at_once
from fastndcg.inputs.tables import Qrels
from fastndcg.metric import Metric
from fastndcg.rankings import Rankings
from fastndcg.reference import settle_undefined
from fastndcg.reference.orders import Query, query_of


class Case(NamedTuple):
    """One query as a convention sees it; `convention` as it was named, `applied` to the kind of labels."""

    metric: Metric
    convention: Convention
    applied: Convention
    rankings: Rankings
    query: Query
    is_judged: bool

    @property
    def has_gain(self) -> bool:
        """Whether the metric looks at gains."""
        return any(parameter.name == "gain" for parameter in self.metric.record.parameters)

    @property
    def adds_discounted_gains(self) -> bool:
        """Whether the metric is a sum of gain · discount, or one such sum over another."""
        return self.metric.name in SUMS_OF_GAINS

    def values(self, *metrics: Metric) -> list[float]:
        """What `evaluate` says, NaN where a metric has no value."""
        return self._under(self.applied.replace(undefined="nan", undefined_ap="as undefined"), *metrics)

    def value(self) -> float:
        """What `evaluate` says, with the convention's choice where the metric has no value; NaN where that raises."""
        raising = [field for field in ("undefined", "undefined_ap") if getattr(self.applied, field) == "raise"]
        return self._under(self.applied.replace(**dict.fromkeys(raising, "nan")), self.metric)[0]

    def _under(self, convention: Convention, *metrics: Metric) -> list[float]:
        if self.is_judged:
            result = evaluate(self.rankings, metrics=metrics, convention=convention)
            return [float(result[metric][0]) for metric in metrics]
        undefined = np.full((1, len(metrics)), np.nan)
        settle_undefined(undefined, metrics, self.rankings, convention)
        return [float(value) for value in undefined[0]]


def case_of(
    prepared: Truth, predictions: Any, options: Options, metric: Metric, query: Any, convention: Convention
) -> Case:
    """A query of prepared truth and predictions under a convention."""
    if metric.record.by_subtopic:
        raise InvalidInputError(f"`metric` must take one label a document, but {metric} takes one for each subtopic")
    rankings, unjudged, _, _ = all_at_once(prepared, predictions, convention, options)
    applied = convention.for_labels_of(qrels=isinstance(prepared, Qrels))
    q = _number_of(rankings, query)
    one = _only(rankings.without_patterns(), q)
    is_judged = unjudged is None or not unjudged[q]
    (metric,) = with_default_cutoff((metric.bare,), applied)
    return Case(metric, convention, applied, one, query_of(one, 0, applied, metric.record.view), is_judged)


def _number_of(rankings: Rankings, query: Any) -> int:
    """Where a query is."""
    ids = list(range(rankings.n_queries)) if rankings.query_ids is None else rankings.query_ids.tolist()
    if query is None and len(ids) == 1:
        return 0
    shown = ", ".join(map(repr, ids[:3])) + (", …" if len(ids) > 3 else "")
    if query is None:
        raise InvalidInputError(f"`query` must name one of {len(ids)} queries ({shown}), but is missing")
    found = [number for number, one in enumerate(ids) if one == query]
    if len(found) != 1:
        hint = nearest(str(query), map(str, ids)) or f" There are {len(ids)}: {shown}"
        raise InvalidInputError(f"`query` must be evaluated, but {len(found) or 'none'} is called {query!r}.{hint}")
    return found[0]


def _only(rankings: Rankings, q: int) -> Rankings:
    """One query of the rankings, whose documents keep their names."""
    start, stop = (int(offset) for offset in rankings.offsets[q : q + 2])
    starts, pool = {"pool": 0}, None
    if rankings.pool is not None:
        labels, offsets = rankings.pool
        starts["pool"] = int(offsets[q])
        pool = (labels[offsets[q] : offsets[q + 1]], [0, int(offsets[q + 1] - offsets[q])])
    made = Rankings(
        rankings.labels[start:stop],
        rankings.scores[start:stop],
        [0, stop - start],
        judged=None if rankings.judged is None else rankings.judged[start:stop],
        pool=pool,
        tie_keys=None if rankings.tie_keys is None else rankings.tie_keys[start:stop],
        query_ids=[q] if rankings.query_ids is None else rankings.query_ids[q : q + 1],
    )
    made.are_ordinals = rankings.are_ordinals
    return made.placed_by(lambda name, place: rankings.document_name(name, place + starts.get(name, start)))

"""The metric behind each line that trec_eval prints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fastndcg.metrics.metric import Metric
from fastndcg.metrics.trec_eval import MEASURES, TrecMeasureRequest, named_calls


class Line(NamedTuple):
    """A line of trec_eval's output: the index of its measure, its name, and its metric if it shows one."""

    order: int
    name: str
    metric: Metric | None


def lines(
    requests: Iterable[TrecMeasureRequest], *, level: int | None = None, documents: int = 0, highest: int = 0
) -> list[Line]:
    """
    Return the lines of measures.

    `level` is the lowest relevant label. `documents` is the number of documents in the collection, for utility.
    `highest` is the highest label. Tables of gains end there.

    >>> from fastndcg.metrics.trec_eval import read
    >>> [(line.name, line.metric) for line in lines(read("P.5,10") + read("set_F_2"))]
    [('P_5', P@5), ('P_10', P@10), ('set_F_2', F(beta=1.4142135623730951))]
    """
    output = []
    for request in requests:
        order = MEASURES.index(request.measure)
        for name, call in named_calls(request, highest):
            metric = None
            if call is not None:
                metric = Metric(call[0], call[2], **call[1])
                if request.measure.kind == "geometric":
                    metric = metric.aggregated("gm")
                if metric.name == "Utility" and documents:
                    metric = metric(documents=documents)
                metric = at_level(metric, level)
            output.append(Line(order, name, metric))
    return output


def at_level(metric: Metric, level: int | None) -> Metric:
    """Return the metric with `rel` set to `level`, if it has this parameter and it was left out."""
    if level is None or "rel" in dict(metric.parameters) or metric.get("rel") is None:
        return metric
    return metric(rel=level)

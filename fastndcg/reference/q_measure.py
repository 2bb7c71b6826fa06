"""
Q-measure.

Each function takes one order of a query's documents: see `fastndcg.reference`.
"""

from __future__ import annotations

import math

from fastndcg.reference.definition import Definition
from fastndcg.reference.precision_recall import ap_denominator


def q_measure(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean of (count + beta · gain) / (r + beta · ideal gain) over the ranks r of relevant documents."""
    beta = definition.get("beta")
    ideal = sorted((max(definition.gain(label), 0) for label in judged), reverse=True)
    ratios = []
    for r, label in enumerate(labels[: definition.k], 1):
        if definition.is_relevant(label):
            count = sum(map(definition.is_relevant, labels[:r]))
            gain = math.fsum(map(definition.gain, labels[:r]))
            ratios.append((count + beta * gain) / (r + beta * math.fsum(ideal[:r])))
    n = ap_denominator(labels, judged, definition)
    return math.fsum(ratios) / n if n else math.nan

"""Q-measure, as a function of one order of a query's documents: see `fastndcg.reference`."""

from __future__ import annotations

import math

from fastndcg.reference.asked import Asked
from fastndcg.reference.precision import ap_denominator


def q_measure(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Sum over the ranks r = 1 … k of relevant documents of (count + beta · gain) / (r + beta · ideal gain), as AP."""
    beta, best = asked.get("beta"), sorted((max(asked.gain(label), 0) for label in judged), reverse=True)
    ratios = []
    for r, label in enumerate(labels[: asked.k], 1):
        if asked.is_relevant(label):
            count = sum(map(asked.is_relevant, labels[:r]))
            gain = math.fsum(map(asked.gain, labels[:r]))
            ratios.append((count + beta * gain) / (r + beta * math.fsum(best[:r])))
    n = ap_denominator(labels, judged, asked)
    return math.fsum(ratios) / n if n else math.nan

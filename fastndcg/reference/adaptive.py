"""
Metrics of a user who adapts to the gains so far.

Each function takes one order of a query's documents: see `fastndcg.reference`.
"""

from __future__ import annotations

import itertools
import math

from fastndcg.errors import InvalidInputError
from fastndcg.reference.definition import Definition

N_EXTRA_RANKS = 300  # further ranks without gains are summed by a series, to 16 digits


def inst(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean gain, each rank weighted by the probability that the user reaches it."""
    gains = [definition.gain(label) for label in labels]
    if not all(0 <= gain <= 1 for gain in gains):
        raise InvalidInputError("`labels` must have gains from 0 to 1. See fastndcg.evaluate")
    goal = definition.get("goal")
    weights = []
    weighted_gains = []
    remaining = goal
    weight = 1.0
    n_ranks = len(gains) + N_EXTRA_RANKS if definition.k is None else definition.k
    for rank, gain in enumerate(itertools.islice(itertools.chain(gains, itertools.repeat(0.0)), n_ranks), 1):
        weights.append(weight)
        weighted_gains.append(gain * weight)
        remaining -= gain
        weight *= ((rank + goal + remaining - 1) / (rank + goal + remaining)) ** 2
    if definition.k is None:
        x = n_ranks + goal + remaining  # further weights sum to weight · x² · (1 / x² + 1 / (x + 1)² + …)
        weights.append(weight * (x + 1 / 2 + 1 / (6 * x) - 1 / (30 * x**3)))
    return math.fsum(weighted_gains) / math.fsum(weights)


def bejeweled_player(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean gain down to the rank that reaches the goal, or down to rank k."""
    total = 0.0
    for rank, label in enumerate(labels[: definition.k], 1):
        total += definition.gain(label)
        if total >= definition.get("goal") - 1e-9:
            return total / rank
    return 0.0 if definition.k is None else total / definition.k

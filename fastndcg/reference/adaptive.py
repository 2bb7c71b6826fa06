"""Metrics of a user who adapts to what was found so far, as functions of one order: see `fastndcg.reference`."""

from __future__ import annotations

import itertools
import math

from fastndcg.errors import InvalidInputError
from fastndcg.reference.asked import Asked

MANY = 300  # ranks without gains, from which on the sum of all further ones is known to 16 digits


def inverse_squares(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Mean gain, each rank weighted by the chance to go on there from the first."""
    gains = [asked.gain(label) for label in labels]
    if not all(0 <= gain <= 1 for gain in gains):
        raise InvalidInputError("`labels` must have gains from 0 to 1: see fastndcg.evaluate")
    goal = asked.get("goal")
    weights, weighted, left, weight = [], [], goal, 1.0
    n_ranks = len(gains) + MANY if asked.k is None else asked.k
    for rank, gain in enumerate(itertools.islice(itertools.chain(gains, itertools.repeat(0.0)), n_ranks), 1):
        weights.append(weight)
        weighted.append(gain * weight)
        left -= gain
        weight *= ((rank + goal + left - 1) / (rank + goal + left)) ** 2
    if asked.k is None:
        x = n_ranks + goal + left  # the further weights are weight · x² · (1 / x² + 1 / (x + 1)² + …)
        weights.append(weight * (x + 1 / 2 + 1 / (6 * x) - 1 / (30 * x**3)))
    return math.fsum(weighted) / math.fsum(weights)


def bejeweled_player(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Mean gain down to the rank where the goal is reached, or to rank k."""
    gained = 0.0
    for rank, label in enumerate(labels[: asked.k], 1):
        gained += asked.gain(label)
        if gained >= asked.get("goal") - 1e-9:
            return gained / rank
    return 0.0 if asked.k is None else gained / asked.k

"""
The metric as a step function of the weight of a fusion, slowly: every crossing of two documents as an exact fraction.

x, y    scores of the documents at the weights 1 and 0
"""

from fractions import Fraction
from itertools import combinations, pairwise

from fastndcg.rankings.rankings import Rankings


def find_steps(x, y):
    """Return the weights between 0 and 1 at which two documents of a query exchange their order, and both ends."""
    weights = {Fraction(0), Fraction(1)}
    lines = list(zip(map(Fraction, x), map(Fraction, y), strict=True))
    for (x1, y1), (x2, y2) in combinations(lines, 2):
        if (x1 - x2) * (y1 - y2) < 0:
            weights.add((y2 - y1) / ((x1 - x2) + (y2 - y1)))
    return sorted(weights)


def fuse(x, y, weight):
    fused = [weight * Fraction(a) + (1 - weight) * Fraction(b) for a, b in zip(x, y, strict=True)]
    places = {value: place for place, value in enumerate(sorted(set(fused)))}
    return [places[value] for value in fused]


def compute_steps(rankings, x, y, metric, convention):
    """Return the begin, the end and the value of each interval of weights, for each query."""
    from fastndcg.reference import compute_columns

    steps = []
    for start, stop in pairwise(rankings.offsets.tolist()):
        own = []
        query_x, query_y = x[start:stop].tolist(), y[start:stop].tolist()
        for low, high in pairwise(find_steps(query_x, query_y)):
            scores = fuse(query_x, query_y, (low + high) / 2)
            query = Rankings(rankings.labels[start:stop], scores, [0, stop - start])
            values, _, _ = compute_columns(query, (metric,), convention)
            own.append((low, high, float(values[0, 0])))
        steps.append(own)
    return steps

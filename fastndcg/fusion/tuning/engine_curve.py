"""The engine's values against the weight of a run, and the repair of step functions that differ from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fastndcg.fusion.tuning.judged_union import JudgedUnion
from fastndcg.fusion.tuning.step_function import Piece, StepFunction
from fastndcg.rankings.validation import Array

if TYPE_CHECKING:
    from fastndcg.fusion.tuning.weight_search import Fusion

SAMPLED_DOCUMENTS = 50_000_000  # the work of a sample: weights times documents
MOST_SAMPLES = 500
FEWEST_SAMPLES = 40
EVEN_SAMPLES = 1 / 4  # the share of samples at even distances, the others are middles of intervals
MOST_BOUNDARIES = 500  # of pieces that are searched, the others are half-way between two samples
BISECTIONS = 30
EDGE = 1e-3  # an interval whose outer thousandth has the same value belongs to it as a whole


class EngineCurve(NamedTuple):
    """
    The values of the engine for all weights of a run.

    Attributes
    ----------
    union : JudgedUnion
        The documents with their judgments.
    fusion : Fusion
        The fusion of these documents.
    run : int
        The run whose weight varies.
    rest : (n_runs,) float64 array
        The weights of the other runs, with the sum 1.
    """

    union: JudgedUnion
    fusion: Fusion
    run: int
    rest: Array
    threads: int

    def evaluate(self, weight: float) -> Array:
        """Return the metric of each query at a weight."""
        weights = (1.0 - weight) * self.rest
        weights[self.run] = weight
        return self.union.evaluate(self.fusion.fuse(weights), self.threads)

    def select(self, queries: Array) -> EngineCurve:
        """Return the curve of some queries."""
        union, places = self.union.select(queries)
        return self._replace(union=union, fusion=self.fusion.select(places))


def sample_undecided(steps: StepFunction, engine: EngineCurve) -> StepFunction:
    """
    Return a step function with the engine's values at many weights of the queries where rounding decides the order.

    Those have documents with nearly equal lines, whose fused scores differ by less than a few roundings over a range
    of weights. No interval of weights has one ranking there, but between equal samples it mostly has.
    """
    queries = np.flatnonzero(steps.is_undecided)
    if not len(queries):
        return steps
    own_steps = steps.select(queries)
    part = engine.select(queries)
    points = _list_samples(own_steps, part.union.rankings.n_documents)
    values = np.array([part.evaluate(weight) for weight in points.tolist()]).T
    expected = own_steps.look_up(points)
    pieces: dict[int, list[Piece]] = {}
    differing = np.flatnonzero(_differ(values, expected).any(axis=1)).tolist()
    for place in differing:
        first, stop = own_steps.offsets[place : place + 2].tolist()
        is_other = _differ(values[place], expected[place])
        own_pieces = _cut_pieces(
            part.select(np.array([place])),
            own_steps.starts[first:stop],
            points,
            values[place],
            MOST_BOUNDARIES // len(differing),
        )
        pieces[int(queries[place])] = [piece for piece, keep in zip(own_pieces, is_other, strict=True) if keep]
    return steps.replace(pieces)


def _cut_pieces(engine: EngineCurve, starts: Array, points: Array, values: Array, n_boundaries: int) -> list[Piece]:
    """
    Return the piece around each sample of one query that has its value, within its interval between steps.

    Parameters
    ----------
    starts : (n_steps,) float64 array
        Where the steps of the query begin.
    n_boundaries : int
        How many boundaries between different samples are searched.
    """
    edges = np.append(starts, 1.0)
    cells = np.searchsorted(starts, points, side="right") - 1
    lows = edges[cells]
    highs = edges[cells + 1]
    for p in range(len(points) - 1):
        if cells[p] != cells[p + 1]:
            continue
        low, high = points[p : p + 2].tolist()
        boundary = (low + high) / 2
        if n_boundaries > 0 and _differ(values[p], values[p + 1]):
            boundary = find_boundary(engine, low, high, values[p : p + 1])
            n_boundaries -= 1
        highs[p] = lows[p + 1] = boundary
    return [Piece(*row) for row in zip(lows.tolist(), highs.tolist(), values.tolist(), strict=True)]


def repair_at(steps: StepFunction, engine: EngineCurve, weight: float, values: Array) -> StepFunction | None:
    """
    Return a step function with the engine's values around a weight, or None if it has them at the weight already.

    Values are replaced within one interval between steps, as far as the engine's stay the same.

    Parameters
    ----------
    values : (n_queries,) float64 array
        The engine's values at the weight.
    """
    expected = steps.look_up(np.array([weight]))[:, 0]
    queries = np.flatnonzero(_differ(values, expected))
    if not len(queries):
        return None
    part = engine.select(queries)
    low, high = (find_boundary(part, weight, edge, values[queries]) for edge in steps.find_cell(weight))
    return steps.replace({query: [Piece(low, high, float(values[query]))] for query in queries.tolist()})


def find_boundary(engine: EngineCurve, inside: float, outside: float, values: Array) -> float:
    """Return how far the engine's values stay those at the weight `inside`: `outside`, or a weight before it."""
    if not _differ(engine.evaluate(outside + EDGE * (inside - outside)), values).any():
        return outside
    for _ in range(BISECTIONS):
        middle = inside + (outside - inside) / 2
        if _differ(engine.evaluate(middle), values).any():
            outside = middle
        else:
            inside = middle
    return inside + (outside - inside) / 2


def _list_samples(steps: StepFunction, n_documents: int) -> Array:
    """Return weights in rising order: middles of intervals between steps, and some at even distances."""
    n = min(max(SAMPLED_DOCUMENTS // n_documents, FEWEST_SAMPLES), MOST_SAMPLES)
    n_even = int(n * EVEN_SAMPLES)
    edges = np.unique(np.append(steps.starts, 1.0))
    middles = (edges[1:] + edges[:-1]) / 2
    thinned = middles[:: -(-len(middles) // (n - n_even))]
    return np.unique(np.concatenate([thinned, (np.arange(n_even) + 0.5) / n_even]))


def _differ(values: Array, expected: Array) -> Array:
    """Return where values differ. NaN is equal to NaN."""
    is_other: Array = (values != expected) & ~(np.isnan(values) & np.isnan(expected))
    return is_other

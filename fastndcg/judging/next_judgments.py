"""judge_next: which unjudged documents to judge first."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from fastndcg.choices import ConventionName, JudgingMethod
from fastndcg.errors import InvalidInputError, shorten, suggest_name
from fastndcg.inputs.messages import answer_keywords
from fastndcg.judging.bounds import ROUNDING, find_extremes, find_mean_bounds
from fastndcg.judging.metric_bounds import MetricBounds, check_has_bounds, make_bounds
from fastndcg.judging.unjudged import Unjudged
from fastndcg.metrics.metric import Metric, parse_single_metric
from fastndcg.metrics.resolve import add_default_cutoff
from fastndcg.named_conventions import Convention, parse_convention
from fastndcg.parsing import as_count
from fastndcg.rankings.validation import Array
from fastndcg.reference.definition import read_definition
from fastndcg.runtime.escapes import show_name
from fastndcg.statistics.table import Column, Table

WORDS = {  # of the methods
    "difference": "narrows differences by {:.3g}; ",
    "move_to_front": "priority {:.0f}; ",
    "max_mean": "expected share of relevant documents {:.3g}; ",
    "depth": "",
}
METHODS = tuple(WORDS)
MOST_RANKS = 3  # systems that a reason names


class NextJudgment(NamedTuple):
    """
    A document to judge.

    Attributes
    ----------
    query, document : int or str
        The document and its query.
    value : float
        What the method orders by: by how much the document's label narrows the bounds of differences on average, the
        priority of a system, its share of relevant documents, or a rank.
    reason : str
        The value in words, and the ranks of the document.
    """

    query: Any
    document: Any
    value: float
    reason: str


@answer_keywords
def judge_next(
    truth: Any,
    systems: Any,
    metric: str | Metric,
    n: int,
    method: JudgingMethod = "difference",
    *,
    labels: Any = (0, 1),
    convention: ConventionName | str | Convention = "default",
    threads: int | None = None,
) -> Table[NextJudgment]:
    """
    Choose the unjudged documents to judge first.

    Parameters
    ----------
    truth
        See `bounds`.
    systems : {name: run}, list of paths, or list of (name, run)
        Two systems or more for 'difference', else one or more.
    metric : str or Metric
        A metric of `bounds`. Other methods than 'difference' take from it which labels are relevant.
    n : int
        How many documents to choose, 1 or more.
    method : {'difference', 'move_to_front', 'max_mean', 'depth'}
        'difference': by how much the bounds of the difference of two systems narrow, as the mean over the labels, added
        up over the pairs of systems whose order is not certain. 'depth': by the best rank in any system.
        'move_to_front': from the systems with the fewest documents above that are not relevant. 'max_mean': from the
        systems with the highest share of relevant documents above, (r + 1) / (m + 2) of m. Both count what was chosen
        from a system and has no label yet as not relevant.
    labels, convention, threads
        See `bounds`.

    Returns
    -------
    Table of NextJudgment
        At most `n` documents, the first to judge first, equal ones by rank.

    Raises
    ------
    InvalidInputError
        If there is no such method, or an argument is wrong for `bounds`.

    References
    ----------
    B. Carterette, J. Allan and R. Sitaraman, 2006, doi:10.1145/1148170.1148219.
    G. V. Cormack, C. R. Palmer and C. L. A. Clarke, 1998, doi:10.1145/290941.291009 (move to front).
    D. E. Losada, J. Parapar and A. Barreiro, 2016, doi:10.1145/2851613.2851692 (max mean).

    Examples
    --------
    >>> qrels = {"q1": {"d1": 1, "d2": 0}}
    >>> systems = {"a": {"q1": ["d2", "d3", "d1", "d5"]}, "b": {"q1": ["d4", "d3", "d1"]}}
    >>> fn.judge_next(qrels, systems, "p@4", 2)
    query  document   value  reason
    q1     d4        0.2500  narrows differences by 0.25; rank 1 of b
    q1     d5        0.2500  narrows differences by 0.25; rank 4 of a
    unjudged documents: 3 in 1 of 1 queries; any may have a label of 0, 1
    """
    parsed = parse_single_metric(metric, "Choose documents by each in turn")
    check_has_bounds(parsed)
    if not isinstance(method, str) or method not in METHODS:
        hint = suggest_name(method, METHODS) or " Take one of these."
        raise InvalidInputError(f"`method` must be one of {', '.join(METHODS)}, not {shorten(method)}.{hint}")
    count = as_count(n)
    if count is None:
        raise InvalidInputError(f"`n` must be a whole number of 1 or more, not {shorten(n)}. Say how many to judge")
    fewest = 2 if method == "difference" else 1
    unjudged = Unjudged(truth, systems, labels, parse_convention(convention), threads, fewest)
    notes = list(unjudged.notes)
    if method == "difference":
        values, own_notes = measure_narrowing(make_bounds(parsed, unjudged))
        notes += own_notes
    elif method == "depth":
        values = -_find_best_ranks(unjudged).astype("f8")
    else:
        values = measure_priority(parsed, unjudged, method)
    return _make_table(unjudged, values, count, method, notes)


def measure_narrowing(bounds: MetricBounds) -> tuple[Array, list[str]]:
    """Return by how much each document narrows the bounds of differences that are not certain, and notes."""
    unjudged = bounds.unjudged
    pairs = list(combinations(unjudged.systems, 2))
    total, of_all = np.zeros(unjudged.n_items), np.zeros(unjudged.n_items)
    n_open = 0
    is_outer = False
    for system, against in pairs:
        case = find_extremes(bounds, system, against)
        low, high = find_mean_bounds(case)
        is_outer |= not case.is_exact.all()
        is_open = not (low > ROUNDING or high < -ROUNDING)
        if n_open and not is_open:
            continue
        is_counted = np.zeros(unjudged.n_queries, bool)
        is_counted[case.queries] = True
        narrowing = _measure_pair(bounds, system, against) * is_counted[unjudged.item_queries]
        narrowing /= max(len(case.queries), 1)
        of_all += narrowing
        total += narrowing * is_open
        n_open += is_open
    notes = [] if n_open else ["the order of all systems is certain, whatever is judged: values are of all pairs"]
    if is_outer:
        notes.append(
            f"{bounds.metric}: of queries with many unjudged documents, values are the most that labels change"
        )
    return total if n_open else of_all, notes


def _measure_pair(bounds: MetricBounds, system: str, against: str) -> Array:
    """Return by how much each document's label narrows the bounds of its query, as the mean over the labels."""
    widths: Array = 0.0  # type: ignore[assignment]
    given: Array = 0.0  # type: ignore[assignment]
    for own, other in ((system, against), (against, system)):
        highest = bounds.find_highest(own, other, given=True)
        assert highest.given is not None
        widths = widths + highest.values
        given = given + highest.given
    widths, given = (np.where(np.isneginf(values), 0.0, values) for values in (widths, given))
    return np.asarray(widths[bounds.unjudged.item_queries] - given[:, bounds.gain_of_label].mean(axis=1))


def _find_best_ranks(unjudged: Unjudged) -> Array:
    """Return the best rank of each item in any system."""
    starts = np.stack([system.items.starts for system in unjudged.systems.values()])
    return np.asarray(np.where(starts > 0, starts, np.iinfo("i4").max).min(axis=0))


def measure_priority(metric: Metric, unjudged: Unjudged, method: str) -> Array:
    """Return the highest priority that a system gives each item, by the documents above it."""
    (metric,) = add_default_cutoff((metric,), unjudged.convention)
    is_relevant = read_definition(metric, unjudged.convention).is_relevant
    best = np.full(unjudged.n_items, -np.inf)
    for system in unjudged.systems.values():
        items = np.flatnonzero(system.items.starts)
        items = items[np.lexsort((system.items.starts[items], unjudged.item_queries[items]))]
        queries, ranks = unjudged.item_queries[items], system.items.starts[items]
        levels, places = np.unique(system.labels, return_inverse=True)
        relevant = np.array([is_relevant(level) for level in levels.tolist()], bool)[places]
        n_relevant, n_others = (
            _count_above(queries, ranks, system.queries[chosen], system.judged.starts[chosen])
            for chosen in (relevant, ~relevant)
        )
        n_others += _count_above(queries, ranks, queries, ranks)
        priority = -n_others.astype("f8")
        if method == "max_mean":  # a system is read from the top, so that no document comes before those above it
            shares, places = np.unique((n_relevant + 1) / (n_relevant + n_others + 2), return_inverse=True)
            lowest = np.minimum.accumulate(places - queries * len(shares))  # it starts again in each query
            priority = shares[lowest + queries * len(shares)]
        best[items] = np.maximum(best[items], priority)
    return best


def _count_above(queries: Array, ranks: Array, other_queries: Array, other_ranks: Array) -> Array:
    """Return how many of the other documents stand above each rank of its query."""
    width = 1 << 31
    keys = np.sort(other_queries * width + other_ranks)
    return np.searchsorted(keys, queries * width + ranks) - np.searchsorted(keys, queries * width)


def _make_table(unjudged: Unjudged, values: Array, n: int, method: str, notes: list[str]) -> Table[NextJudgment]:
    """Return the first `n` items by falling value, equal ones by rank and query."""
    ranks = _find_best_ranks(unjudged)
    order = np.lexsort((ranks, -values.round(12)))[:n]
    queries = unjudged.queries.take(unjudged.item_queries[order]).names().tolist()
    documents = unjudged.documents.take(order).names().tolist()
    sign = -1 if method == "depth" else 1
    rows = []
    for query, document, item in zip(queries, documents, order.tolist(), strict=True):
        value = sign * float(values[item]) + 0.0
        rows.append(NextJudgment(query, document, value, f"{WORDS[method].format(value)}{_list_ranks(unjudged, item)}"))
    columns = [
        Column("query", lambda row: show_name(row.query), left=True),
        Column("document", lambda row: show_name(row.document), left=True),
        Column("value", lambda row: f"{row.value:.0f}" if method in ("depth", "move_to_front") else f"{row.value:.4f}"),
        Column("reason", lambda row: row.reason, left=True),
    ]
    return Table(rows, columns, notes)


def _list_ranks(unjudged: Unjudged, item: int) -> str:
    """Return the ranks of an item in the systems that rank it best."""
    ranks = [(int(system.items.starts[item]), name) for name, system in unjudged.systems.items()]
    shown = sorted(pair for pair in ranks if pair[0])
    parts = [f"rank {rank} of {show_name(name)}" for rank, name in shown[:MOST_RANKS]]
    return ", ".join(parts) + (f", and {len(shown) - MOST_RANKS} more" if len(shown) > MOST_RANKS else "")

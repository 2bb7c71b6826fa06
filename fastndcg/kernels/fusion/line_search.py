"""
Find all rankings that the weights of a linear fusion of two score lists can give, and the best weights.

The fused score of a document is w · x + (1 − w) · y: a line in the weight w. A document that a metric reads, a
candidate, changes its rank only where its line crosses that of another document. `find_events` lists these crossings in
the order of the weight. `write_rankings` replays them and writes the hits of each ranking, which the engine evaluates
like those of any other. Memory is bounded: a call stops when its output is full, and the next one goes on there.

Between its events each query has one value, so the metric is a step function of the weight. `find_best` and `sum_curve`
add up the steps of queries. Sums are pairs of float64, the rounded sum and its rest, so that no weight's sum depends on
the steps before it. They share these arguments:

weights  (n_steps,)    float64, where steps begin, in rising order
queries  (n_steps,)    int32, the query of each step
values   (n_steps,)    float64, the query's value from there on
state    (n_queries,)  float64, the value of each query at the lowest weight, NaN: it counts nowhere

F. J. Och, Minimum error rate training in statistical machine translation, ACL 2003, doi:10.3115/1075096.1075117.
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import helper, inline, kernel
from fastndcg.kernels.ranking.sort import sort_descending

MIN_WIDTH = 1e-12  # shorter intervals are no choice: their weights have few digits that differ
CLUSTER = 1e-15  # crossings so close together are one: their computed weights have an error of 4 roundings
FEWEST_RATIO = 2  # lines are left out of queries with more documents than this for each rank of the depth
# entries of `cursor`
QUERY = 0
EVENT = 1
HAS_BEGUN = 2  # 1 if the first ranking of the query is written
N_RANKED = 3  # the number of candidates within the depth


class Lines(NamedTuple):
    """The lines of the documents of all queries."""

    x: np.ndarray  # (n_documents,) float64, the fused scores at the weight 1
    y: np.ndarray  # (n_documents,) float64, those at the weight 0
    keys: np.ndarray  # (n_documents,) int64, documents with equal lines rank by falling key; empty: they tie
    offsets: np.ndarray  # (n_queries + 1,) int64


class Candidates(NamedTuple):
    """The documents that a metric reads, query after query."""

    documents: np.ndarray  # (n_candidates,) int64, place among the documents of all queries
    labels: np.ndarray  # (n_candidates,) int8 or float64
    offsets: np.ndarray  # (n_queries + 1,) int64


class Events(NamedTuple):
    """Changes of the ranks of candidates, query after query in the order of the weight."""

    weights: np.ndarray  # (n_events,) float64
    changes: np.ndarray  # (n_events,) int64, 2^32 times the candidate of the query, plus the documents above it
    offsets: np.ndarray  # (n_queries + 1,) int64, of the queries of the call
    above: np.ndarray  # (n_candidates,) int32, number of documents above each candidate before the first event
    ties: np.ndarray  # (n_candidates,) int32, number of documents with the candidate's line, 1 if all have one label


class Buffers(NamedTuple):
    """Scratch arrays, with an entry for each event or each document of the largest query."""

    crossings: np.ndarray  # of each event, the negative weights of crossings
    crossing_bits: np.ndarray  # the same memory as int64
    changes: np.ndarray  # of each event
    order: np.ndarray  # of each event and document
    spare: np.ndarray  # of each event and document
    x: np.ndarray  # of each document, as the next ones: see `keep_lines`
    y: np.ndarray
    is_kept: np.ndarray
    heights: np.ndarray  # of each rank that any metric reads, as far as there are documents


class State(NamedTuple):
    """The place of `write_rankings`, and the ranking there, with entries for each candidate of the largest query."""

    cursor: np.ndarray  # (4,) int64, see `QUERY`, `EVENT`, `HAS_BEGUN` and `N_RANKED`
    ranked: np.ndarray  # (n_candidates,) int32, candidates of the query within the depth, in rank order
    is_ranked: np.ndarray  # (n_candidates,) bool, True for these


class RankingArrays(NamedTuple):
    """Rankings as the engine reads them: hits in rank order, and the labels of the pool."""

    starts: np.ndarray  # (n_rankings,) float64, the weight from which on the ranking holds
    queries: np.ndarray  # (n_rankings,) int32
    hit_offsets: np.ndarray  # (n_rankings + 1,) int64
    sizes: np.ndarray  # (n_rankings + 1,) int64, offsets of documents
    pool_offsets: np.ndarray  # (n_rankings + 1,) int64
    above: np.ndarray  # (n_hits,) int32
    ties: np.ndarray  # (n_hits,) int32
    labels: np.ndarray  # (n_hits,)
    pool: np.ndarray  # (n_pool,)


@kernel
def find_events(lines, candidates, span, window, depth, buffers, out_events):
    """
    List the changes of ranks of queries while there is room, and return the query after the last one.

    lines       `Lines` as a tuple
    candidates  `Candidates` as a tuple
    span        two ints, the first query and the end of the queries
    window      two floats, the lowest weight and the end of the weights
    depth       number of ranks that any metric reads
    buffers     `Buffers` as a tuple
    out_events  `Events` as a tuple
    """
    lines = Lines(*lines)
    candidates = Candidates(*candidates)
    buffers = Buffers(*buffers)
    events = Events(*out_events)
    n_events = 0
    events.offsets[0] = 0
    for q in range(span[0], span[1]):
        first = candidates.offsets[q]
        n_kept = keep_lines(lines, q, depth, buffers) if first < candidates.offsets[q + 1] else 0
        start = n_events
        for c in range(first, candidates.offsets[q + 1]):
            if not buffers.is_kept[candidates.documents[c] - lines.offsets[q]]:
                events.above[c] = depth
                continue
            if n_events + n_kept > events.weights.shape[0]:
                return q
            n_crossings = find_crossings(lines, candidates, q, c, window, n_kept, buffers, events)
            sort_descending(buffers.crossings, n_crossings, buffers.spare, buffers.order)
            above = events.above[c]
            for place in range(n_crossings):
                i = buffers.order[place]
                before = above
                above += 1 if buffers.crossing_bits[i] & 1 else -1
                if before < depth or above < depth:
                    events.weights[n_events] = -buffers.crossings[i]
                    events.changes[n_events] = ((c - first) << 32) + above
                    n_events += 1
        sort_events(start, n_events, buffers, events)
        events.offsets[q - span[0] + 1] = n_events
    return span[1]


@helper
def keep_lines(lines, q, depth, out_buffers):
    """
    Copy the lines of documents that can be within the depth at some weight, and return their number.

    A document is left out if `depth` others have a y above its own and an x that is at least its own. Those rank above
    it at all weights, and also above whatever it ranks above. So ranks within the depth do not change.
    """
    first = lines.offsets[q]
    n = lines.offsets[q + 1] - first
    has_many = 0 < depth < n // FEWEST_RATIO
    out_buffers.is_kept[:n] = True
    if has_many:
        for i in range(n):
            out_buffers.order[i] = i
        sort_descending(lines.x[first : first + n], n, out_buffers.spare, out_buffers.order)
        n_heights = 0
        for i in range(n):
            d = out_buffers.order[i]
            y = lines.y[first + d]
            if n_heights == depth and out_buffers.heights[depth - 1] > y:
                out_buffers.is_kept[d] = False
                continue
            n_heights = insert_height(y, n_heights, depth, out_buffers.heights)
    n_kept = 0
    for d in range(n):
        if out_buffers.is_kept[d]:
            out_buffers.x[n_kept] = lines.x[first + d]
            out_buffers.y[n_kept] = lines.y[first + d]
            n_kept += 1
    return n_kept


@inline
def insert_height(y, n, most, out_heights):
    """
    Insert y into `out_heights`, whose first n entries are the highest numbers so far in falling order.

    Keep at most `most`. Return the new n.
    """
    i = n
    if n == most:
        if y <= out_heights[most - 1]:
            return n
        i = n - 1
    while i > 0 and out_heights[i - 1] < y:
        out_heights[i] = out_heights[i - 1]
        i -= 1
    out_heights[i] = y
    return min(n + 1, most)


@inline
def find_crossings(lines, candidates, q, c, window, n_kept, buffers, out_events):
    """
    Write where kept lines cross the line of candidate `c`, and its rank before the first crossing.

    Return the number of crossings. The last bit of a crossing is 1 if the other document is above from there on. It
    moves the crossing by less than its rounding error.
    """
    d = candidates.documents[c]
    above = 0
    n = 0
    n_equal = 0
    for j in range(n_kept):
        dx = buffers.x[j] - lines.x[d]
        dy = buffers.y[j] - lines.y[d]
        if dx == 0.0 and dy == 0.0:
            n_equal += 1
        elif dx >= 0.0 and dy >= 0.0:
            above += 1
        elif dx > 0.0 or dy > 0.0:
            w = 0.5 * dy / (0.5 * dy - 0.5 * dx)  # half of each: the difference of large numbers may be infinite
            if w < window[0]:
                above += dx > 0.0
            else:
                above += dy > 0.0
                if w < window[1]:
                    buffers.crossings[n] = -w
                    buffers.crossing_bits[n] = (buffers.crossing_bits[n] & -2) + (dx > 0.0)
                    buffers.order[n] = n
                    n += 1
    out_events.ties[c] = n_equal
    if n_equal > 1:
        above += order_equal_lines(lines, candidates, q, c, out_events)
    out_events.above[c] = above
    return n


@inline
def order_equal_lines(lines, candidates, q, c, out_events):
    """
    Return the number of documents with the line of candidate `c` that rank above it.

    Documents rank by their keys. Without keys they tie, unless all have one label: then their order changes no value,
    and each gets its own rank.
    """
    d = candidates.documents[c]
    n_above = 0
    if lines.keys.shape[0] > 0:
        for j in range(lines.offsets[q], lines.offsets[q + 1]):
            is_equal = lines.x[j] == lines.x[d] and lines.y[j] == lines.y[d]
            n_above += is_equal and lines.keys[j] > lines.keys[d]
        out_events.ties[c] = 1
        return n_above
    n_same = 0
    for i in range(candidates.offsets[q], candidates.offsets[q + 1]):
        j = candidates.documents[i]
        is_equal = lines.x[j] == lines.x[d] and lines.y[j] == lines.y[d]
        if is_equal and candidates.labels[i] == candidates.labels[c]:
            n_same += 1
            n_above += i < c
    if n_same < out_events.ties[c]:
        return 0
    out_events.ties[c] = 1
    return n_above


@inline
def sort_events(start, stop, buffers, events):
    """Sort the events from `start` up to `stop` stably by their weights."""
    n = stop - start
    for i in range(n):
        buffers.crossings[i] = -events.weights[start + i]
        buffers.changes[i] = events.changes[start + i]
        buffers.order[i] = i
    sort_descending(buffers.crossings, n, buffers.spare, buffers.order)
    for i in range(n):
        events.weights[start + i] = -buffers.crossings[buffers.order[i]]
        events.changes[start + i] = buffers.changes[buffers.order[i]]


@kernel
def write_rankings(candidates, pool, events, sizes, limits, out_state, out_rankings):
    """
    Write the rankings of queries between their events while there is room, and return their number.

    candidates    `Candidates` as a tuple
    pool          the labels of the pool and their offsets
    events        `Events` as a tuple
    sizes         (n_queries,) int64, number of documents of each query
    limits        first query of the events, end of their queries, lowest weight, depth
    out_state     `State` of the last call as a tuple
    out_rankings  `RankingArrays` as a tuple
    """
    candidates = Candidates(*candidates)
    events = Events(*events)
    rankings = RankingArrays(*out_rankings)
    state = State(*out_state)
    first_query, stop_query, low, depth = limits
    cursor = state.cursor
    n = 0
    rankings.hit_offsets[0] = 0
    rankings.sizes[0] = 0
    rankings.pool_offsets[0] = 0
    while cursor[QUERY] < stop_query:
        q = cursor[QUERY]
        last_event = events.offsets[q - first_query + 1]
        n_most = candidates.offsets[q + 1] - candidates.offsets[q]
        n_pool = pool[1][q + 1] - pool[1][q]
        while cursor[HAS_BEGUN] == 0 or cursor[EVENT] < last_event:
            has_room = rankings.hit_offsets[n] + n_most <= rankings.above.shape[0]
            has_room &= rankings.pool_offsets[n] + n_pool <= rankings.pool.shape[0]
            if not has_room or n == rankings.starts.shape[0]:
                return n
            weight = low
            if cursor[HAS_BEGUN] == 0:
                for own in range(n_most):
                    state.ranked[own] = own
                    state.is_ranked[own] = True
                rank_candidates(candidates, events, q, depth, n_most, state)
                cursor[HAS_BEGUN] = 1
            else:
                weight = apply_events(candidates, events, q, depth, last_event, state)
            write_ranking(candidates, pool, events, q, n, state, rankings)
            rankings.starts[n] = weight
            rankings.sizes[n + 1] = rankings.sizes[n] + sizes[q]
            n += 1
        cursor[QUERY] = q + 1
        cursor[HAS_BEGUN] = 0
    return n


@helper
def apply_events(candidates, events, q, depth, last_event, out_state):
    """Change ranks by the next cluster of events, and return the weight of its last event."""
    first = candidates.offsets[q]
    n = out_state.cursor[N_RANKED]
    e = out_state.cursor[EVENT]
    start = events.weights[e]
    weight = start
    while e < last_event and events.weights[e] - start <= CLUSTER:
        own = events.changes[e] >> 32
        events.above[first + own] = events.changes[e] & 0xFFFFFFFF
        if not out_state.is_ranked[own]:
            out_state.ranked[n] = own
            out_state.is_ranked[own] = True
            n += 1
        weight = events.weights[e]
        e += 1
    out_state.cursor[EVENT] = e
    rank_candidates(candidates, events, q, depth, n, out_state)
    return weight


@helper
def rank_candidates(candidates, events, q, depth, n, out_state):
    """Sort the first n candidates in `ranked`, nearly all of which are in order, and drop those below the depth."""
    first = candidates.offsets[q]
    n_ranked = 0
    for i in range(n):
        own = out_state.ranked[i]
        if events.above[first + own] >= depth:
            out_state.is_ranked[own] = False
            continue
        place = n_ranked
        while place > 0 and is_before(candidates, events, first + own, first + out_state.ranked[place - 1]):
            out_state.ranked[place] = out_state.ranked[place - 1]
            place -= 1
        out_state.ranked[place] = own
        n_ranked += 1
    out_state.cursor[N_RANKED] = n_ranked


@inline
def is_before(candidates, events, c, other):
    """Return True if a candidate ranks before another one: tied ones by falling label, then as in the input."""
    if events.above[c] != events.above[other]:
        return events.above[c] < events.above[other]
    if candidates.labels[c] != candidates.labels[other]:
        return candidates.labels[c] > candidates.labels[other]
    return c < other


@inline
def write_ranking(candidates, pool, events, q, n, state, out_rankings):
    """Write the hits and the pool of ranking `n`."""
    h = out_rankings.hit_offsets[n]
    n_ranked = state.cursor[N_RANKED]
    for i in range(n_ranked):
        c = candidates.offsets[q] + state.ranked[i]
        out_rankings.above[h + i] = events.above[c]
        out_rankings.ties[h + i] = events.ties[c]
        out_rankings.labels[h + i] = candidates.labels[c]
    out_rankings.hit_offsets[n + 1] = h + n_ranked
    p = out_rankings.pool_offsets[n]
    first = pool[1][q]
    n_pool = pool[1][q + 1] - first
    for i in range(n_pool):
        out_rankings.pool[p + i] = pool[0][first + i]
    out_rankings.pool_offsets[n + 1] = p + n_pool
    out_rankings.queries[n] = q


@inline
def add_pair(high, rest, value):
    """Add a value to a pair, and return the new pair."""
    total = high + value
    part = total - high
    lost = rest + ((high - (total - part)) + (value - part))
    rounded = total + lost
    return rounded, lost - (rounded - total)


@kernel
def find_best(weights, queries, values, folds, sets, out_state, out_sums, out_best):
    """
    Find the interval of weights with the highest sum for each set of folds, the widest one if several have it.

    folds       (n_queries,) int32, the fold of each query
    sets        (n_sets, n_folds) uint8, 1 for the folds of a set
    out_state   `state`, which the kernel overwrites
    out_sums    (n_sets, 4) float64, scratch: the pair of the sum, the begin and the sum of the current interval
    out_best    (n_sets, 3) float64, the begin, the end and the sum of the best interval
    """
    n_sets = sets.shape[0]
    out_sums[:] = 0.0
    for s in range(n_sets):
        out_best[s, 0] = np.nan
        out_best[s, 1] = np.nan
        out_best[s, 2] = -np.inf
    for q in range(out_state.shape[0]):
        if out_state[q] == out_state[q]:
            for s in range(n_sets):
                if sets[s, folds[q]]:
                    out_sums[s, 0], out_sums[s, 1] = add_pair(out_sums[s, 0], out_sums[s, 1], out_state[q])
    for s in range(n_sets):
        out_sums[s, 3] = out_sums[s, 0]
    i = 0
    while i < weights.shape[0]:
        weight = weights[i]
        while i < weights.shape[0] and weights[i] - weight < MIN_WIDTH:
            q = queries[i]
            last = weights[i]
            if out_state[q] == out_state[q]:
                for s in range(n_sets):
                    if sets[s, folds[q]]:
                        high, rest = add_pair(out_sums[s, 0], out_sums[s, 1], -out_state[q])
                        out_sums[s, 0], out_sums[s, 1] = add_pair(high, rest, values[i])
                out_state[q] = values[i]
            i += 1
        for s in range(n_sets):
            if out_sums[s, 0] != out_sums[s, 3]:
                end_interval(s, weight, out_sums, out_best)
                out_sums[s, 2] = last
                out_sums[s, 3] = out_sums[s, 0]
    for s in range(n_sets):
        end_interval(s, 1.0, out_sums, out_best)


@inline
def end_interval(s, stop, out_sums, out_best):
    """Take the current interval of a set, which ends at `stop`, as its best one if it is better than that."""
    width = stop - out_sums[s, 2]
    best_width = out_best[s, 1] - out_best[s, 0]
    value = out_sums[s, 3]
    if width < MIN_WIDTH:
        return
    is_better = value > out_best[s, 2] or (value == out_best[s, 2] and width > best_width)
    if is_better:
        out_best[s, 0] = out_sums[s, 2]
        out_best[s, 1] = stop
        out_best[s, 2] = value


@kernel
def sum_curve(weights, queries, values, out_state, out_starts, out_sums):
    """
    Write the sum over all queries from each weight on, and return the number of weights.

    out_starts, out_sums  (n_steps + 1,) float64
    """
    high = 0.0
    rest = 0.0
    for q in range(out_state.shape[0]):
        if out_state[q] == out_state[q]:
            high, rest = add_pair(high, rest, out_state[q])
    out_starts[0] = 0.0
    out_sums[0] = high
    n = 1
    for i in range(weights.shape[0]):
        q = queries[i]
        if out_state[q] == out_state[q]:
            high, rest = add_pair(high, rest, -out_state[q])
            high, rest = add_pair(high, rest, values[i])
        out_state[q] = values[i]
        if i + 1 < weights.shape[0] and weights[i + 1] == weights[i]:
            continue
        if high != out_sums[n - 1]:
            out_starts[n] = weights[i]
            out_sums[n] = high
            n += 1
    return n


@kernel
def look_up(starts, values, offsets, points, out):
    """
    Write the value of each query at some weights.

    starts, values  (n_all_steps,) float64, query after query: where each value begins, and the value
    offsets         (n_queries + 1,) int64
    points          (n_points,) float64, in rising order
    out             (n_queries, n_points) float64
    """
    for q in range(offsets.shape[0] - 1):
        i = offsets[q]
        for p in range(points.shape[0]):
            while i + 1 < offsets[q + 1] and starts[i + 1] <= points[p]:
                i += 1
            out[q, p] = values[i]

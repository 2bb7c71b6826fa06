"""
Find all rankings that the weights of a linear fusion of two score lists can give.

The fused score of a document is w · x + (1 − w) · y: a line in the weight w. A document that a metric reads, a
candidate, changes its rank only where its line crosses that of another document. `find_events` lists these crossings in
the order of the weight. `write_rankings` replays them and writes the hits of each ranking, which the engine evaluates
like those of any other. Memory is bounded: a call stops when its output is full, and the next one goes on there.

F. J. Och, Minimum error rate training in statistical machine translation, ACL 2003, doi:10.3115/1075096.1075117.
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import helper, inline, kernel

CLUSTER = 1e-15  # crossings so close together are one: their computed weights have an error of 4 roundings
RUN = 16  # length of the runs that are sorted by insertion and then merged
# entries of `cursor`
QUERY = 0
EVENT = 1
HAS_BEGUN = 2  # 1 if the first ranking of the query is written


class Lines(NamedTuple):
    """
    The lines of the documents of all queries.

    x, y     (n_documents,)    float64, the fused scores at the weights 1 and 0
    keys     (n_documents,)    int64, documents with equal lines rank by falling key; empty: they tie
    offsets  (n_queries + 1,)  int64
    """

    x: np.ndarray
    y: np.ndarray
    keys: np.ndarray
    offsets: np.ndarray


class Candidates(NamedTuple):
    """
    The documents that a metric reads, query after query.

    documents  (n_candidates,)  int64, place among the documents of all queries
    labels     (n_candidates,)  int8 or float64
    offsets    (n_queries + 1,) int64
    """

    documents: np.ndarray
    labels: np.ndarray
    offsets: np.ndarray


class Events(NamedTuple):
    """
    Changes of the ranks of candidates, query after query in the order of the weight.

    weights     (n_events,)      float64
    weight_bits (n_events,)      int64, the same memory as `weights`
    changes     (n_events,)      int64, 2^32 times the candidate of the query, plus the number of documents above it
    offsets     (n_queries + 1,) int64, of the queries of the call
    above       (n_candidates,)  int32, number of documents above each candidate before the first event
    ties        (n_candidates,)  int32, number of documents with the candidate's line, 1 if all have one label
    """

    weights: np.ndarray
    weight_bits: np.ndarray
    changes: np.ndarray
    offsets: np.ndarray
    above: np.ndarray
    ties: np.ndarray


class SortBuffers(NamedTuple):
    """Scratch arrays with an entry for each event of the largest query: crossings, and what `sort_pairs` needs."""

    crossings: np.ndarray
    crossing_bits: np.ndarray
    places: np.ndarray
    spare_bits: np.ndarray
    spare_places: np.ndarray


class RankingArrays(NamedTuple):
    """
    Rankings as the engine reads them: hits in rank order, and the labels of the pool.

    starts        (n_rankings,)      float64, the weight from which on the ranking holds
    queries       (n_rankings,)      int32
    hit_offsets   (n_rankings + 1,)  int64
    sizes         (n_rankings + 1,)  int64, offsets of documents
    pool_offsets  (n_rankings + 1,)  int64
    above, ties   (n_hits,)          int32
    labels        (n_hits,)
    pool          (n_pool,)
    """

    starts: np.ndarray
    queries: np.ndarray
    hit_offsets: np.ndarray
    sizes: np.ndarray
    pool_offsets: np.ndarray
    above: np.ndarray
    ties: np.ndarray
    labels: np.ndarray
    pool: np.ndarray


@kernel
def find_events(lines, candidates, span, window, depth, buffers, out_events):
    """
    List the changes of ranks of queries while there is room, and return the query after the last one.

    lines       `Lines` as a tuple
    candidates  `Candidates` as a tuple
    span        two ints, the first query and the end of the queries
    window      two floats, the lowest weight and the end of the weights
    depth       number of ranks that any metric reads
    buffers     `SortBuffers` as a tuple
    out_events  `Events` as a tuple
    """
    lines = Lines(*lines)
    candidates = Candidates(*candidates)
    buffers = SortBuffers(*buffers)
    events = Events(*out_events)
    n_events = 0
    events.offsets[0] = 0
    for q in range(span[0], span[1]):
        first = candidates.offsets[q]
        n_documents = lines.offsets[q + 1] - lines.offsets[q]
        start = n_events
        for c in range(first, candidates.offsets[q + 1]):
            if n_events + n_documents > events.weights.shape[0]:
                return q
            n_crossings = find_crossings(lines, candidates, q, c, window, buffers, events)
            sort_pairs(0, n_crossings, buffers, buffers.crossing_bits, buffers.places)
            above = events.above[c]
            for i in range(n_crossings):
                before = above
                above += 1 if buffers.crossing_bits[i] & 1 else -1
                if before < depth or above < depth:
                    events.weights[n_events] = buffers.crossings[i]
                    events.changes[n_events] = ((c - first) << 32) + above
                    n_events += 1
        sort_pairs(start, n_events, buffers, events.weight_bits, events.changes)
        events.offsets[q - span[0] + 1] = n_events
    return span[1]


@inline
def find_crossings(lines, candidates, q, c, window, buffers, out_events):
    """
    Write where other lines cross the line of candidate `c`, and its rank before the first crossing.

    Return the number of crossings. The last bit of a crossing is 1 if the other document is above from there on. It
    moves the crossing by less than its rounding error.
    """
    d = candidates.documents[c]
    above = 0
    n = 0
    n_equal = 0
    for j in range(lines.offsets[q], lines.offsets[q + 1]):
        dx = lines.x[j] - lines.x[d]
        dy = lines.y[j] - lines.y[d]
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
                    buffers.crossings[n] = w
                    buffers.crossing_bits[n] = (buffers.crossing_bits[n] & -2) + (dx > 0.0)
                    buffers.places[n] = 0
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


@helper
def sort_pairs(start, stop, buffers, out_keys, out_values):
    """Sort keys[start:stop] stably with their values: runs by insertion, then by merging."""
    for low in range(start, stop, RUN):
        for i in range(low + 1, min(low + RUN, stop)):
            key = out_keys[i]
            value = out_values[i]
            j = i
            while j > low and out_keys[j - 1] > key:
                out_keys[j] = out_keys[j - 1]
                out_values[j] = out_values[j - 1]
                j -= 1
            out_keys[j] = key
            out_values[j] = value
    width = RUN
    while width < stop - start:
        for low in range(start, stop - width, 2 * width):
            merge_pairs(low, low + width, min(low + 2 * width, stop), buffers, out_keys, out_values)
        width *= 2


@inline
def merge_pairs(start, middle, stop, buffers, out_keys, out_values):
    """Merge the sorted runs [start:middle] and [middle:stop] of keys with their values."""
    if out_keys[middle - 1] <= out_keys[middle]:
        return
    n = middle - start
    for i in range(n):
        buffers.spare_bits[i] = out_keys[start + i]
        buffers.spare_places[i] = out_values[start + i]
    left = 0
    right = middle
    for i in range(start, stop):
        if left == n:
            break
        if right < stop and out_keys[right] < buffers.spare_bits[left]:
            out_keys[i] = out_keys[right]
            out_values[i] = out_values[right]
            right += 1
        else:
            out_keys[i] = buffers.spare_bits[left]
            out_values[i] = buffers.spare_places[left]
            left += 1


@kernel
def write_rankings(candidates, pool, events, sizes, limits, out_state, out_rankings):
    """
    Write the rankings of queries between their events while there is room, and return their number.

    candidates    `Candidates` as a tuple
    pool          the labels of the pool and their offsets
    events        `Events` as a tuple
    sizes         (n_queries,) int64, number of documents of each query
    limits        first query of the events, end of their queries, lowest weight, depth
    out_state     `cursor` (3,) int64, `order` (n_candidates,) int32 and `n_active` (n_queries,) int64 of the last call
    out_rankings  `RankingArrays` as a tuple
    """
    candidates = Candidates(*candidates)
    events = Events(*events)
    rankings = RankingArrays(*out_rankings)
    first_query, stop_query, low, depth = limits
    cursor, order, n_active = out_state
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
                begin_query(candidates, events, q, depth, order, n_active)
                cursor[HAS_BEGUN] = 1
            else:
                weight = apply_events(candidates, events, q, depth, last_event, cursor, order, n_active)
            sort_hits(candidates, events, q, n_active[q], order)
            write_ranking(candidates, pool, events, q, order, n_active[q], n, rankings)
            rankings.starts[n] = weight
            rankings.sizes[n + 1] = rankings.sizes[n] + sizes[q]
            n += 1
        cursor[QUERY] = q + 1
        cursor[HAS_BEGUN] = 0
    return n


@inline
def begin_query(candidates, events, q, depth, out_order, out_n_active):
    """List the candidates of a query within the depth."""
    first = candidates.offsets[q]
    n = 0
    for c in range(first, candidates.offsets[q + 1]):
        if events.above[c] < depth:
            out_order[first + n] = c
            n += 1
    out_n_active[q] = n


@helper
def apply_events(candidates, events, q, depth, last_event, out_cursor, out_order, out_n_active):
    """Change ranks by the next cluster of events, and return the weight of its last event."""
    first = candidates.offsets[q]
    n = out_n_active[q]
    e = out_cursor[EVENT]
    start = events.weights[e]
    weight = start
    while e < last_event and events.weights[e] - start <= CLUSTER:
        c = first + (events.changes[e] >> 32)
        above = events.changes[e] & 0xFFFFFFFF
        if events.above[c] >= depth and above < depth:
            is_listed = False
            for i in range(n):
                is_listed |= out_order[first + i] == c
            if not is_listed:
                out_order[first + n] = c
                n += 1
        events.above[c] = above
        weight = events.weights[e]
        e += 1
    n_within = 0
    for i in range(n):
        c = out_order[first + i]
        if events.above[c] < depth:
            out_order[first + n_within] = c
            n_within += 1
    out_n_active[q] = n_within
    out_cursor[EVENT] = e
    return weight


@inline
def sort_hits(candidates, events, q, n_active, out_order):
    """Sort the candidates within the depth by rank, tied ones by falling label, then as in the input."""
    first = candidates.offsets[q]
    for i in range(first + 1, first + n_active):
        c = out_order[i]
        above = events.above[c]
        label = candidates.labels[c]
        j = i
        while j > first:
            other = out_order[j - 1]
            other_label = candidates.labels[other]
            if events.above[other] < above:
                break
            if events.above[other] == above and (other_label > label or (other_label == label and other < c)):
                break
            out_order[j] = other
            j -= 1
        out_order[j] = c


@inline
def write_ranking(candidates, pool, events, q, order, n_active, n, out_rankings):
    """Write the hits and the pool of ranking `n`."""
    h = out_rankings.hit_offsets[n]
    for i in range(candidates.offsets[q], candidates.offsets[q] + n_active):
        c = order[i]
        out_rankings.above[h] = events.above[c]
        out_rankings.ties[h] = events.ties[c]
        out_rankings.labels[h] = candidates.labels[c]
        h += 1
    out_rankings.hit_offsets[n + 1] = h
    p = out_rankings.pool_offsets[n]
    for i in range(pool[1][q], pool[1][q + 1]):
        out_rankings.pool[p] = pool[0][i]
        p += 1
    out_rankings.pool_offsets[n + 1] = p
    out_rankings.queries[n] = q

"""
Compute metrics of text spans: how much of the gold text the retrieved chunks cover.

Spans are half-open: from the character `start` up to the character before `end`. A place is one number: the document in
the upper bits, the character in the lower 31.

chunks, gold   `Chunks` and `Gold` as tuples of int64 arrays, but float64 weights
offsets        (n_queries + 1,)  int64, query q owns chunks offsets[q] up to offsets[q + 1]
new_gold, new_chars, new_weight   (n_chunks,)  float64, characters of gold text, of any text, and weight of gold text
               that a chunk covers and no chunk above it does
chunk_chars    (n_chunks,)  float64, characters that a chunk counts for precision: new ones, or all
gold_chars     (n_queries,)  float64, characters of gold text
ideal_weight, ideal_offsets   the weights that an ideal ranking covers, by rank
discounts      (n_ranks + 1,)  float64, discounts[r] belongs to rank r
out            (n_queries,)  float64, NaN for a query without gold text

`cover_spans` and `rank_greedily` take n log n steps for n chunks of a query, however they overlap.
"""

import math
from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import helper, inline, kernel
from fastndcg.kernels.ranking.sort import sort_descending


class Chunks(NamedTuple):
    """The chunks of each query in rank order: query q owns chunks offsets[q] up to offsets[q + 1]."""

    starts: np.ndarray
    ends: np.ndarray
    offsets: np.ndarray


class Gold(NamedTuple):
    """The gold spans of each query, by place. They do not overlap."""

    starts: np.ndarray
    ends: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray


@helper
def find_gold(q, place, gold):
    """Return the first gold span of a query that ends after a place, or the next query's first one."""
    first = gold.offsets[q]
    stop = gold.offsets[q + 1]
    while first < stop:
        middle = (first + stop) // 2
        if gold.ends[middle] > place:
            stop = middle
        else:
            first = middle + 1
    return first


@helper
def measure_gold(q, start, end, weight, gold):
    """Return the gold characters of a stretch of text, and a weight to which theirs is added."""
    n_gold = 0
    g = find_gold(q, start, gold)
    while g < gold.offsets[q + 1] and gold.starts[g] < end:
        n_shared = min(end, gold.ends[g]) - max(start, gold.starts[g])
        n_gold += n_shared
        weight += n_shared * gold.weights[g]
        g += 1
    return n_gold, weight


class Parts(NamedTuple):
    """
    The parts into which the starts and ends of a query's n chunks divide the text. A chunk covers a part or does not.

    bounds   (2 * n,) int64, part p is from bounds[p] to bounds[p + 1]
    numbers  (2 * n,) int32, chunk c has the parts numbers[2 * c] up to numbers[2 * c + 1]
    ahead    (2 * n,) int32, p for a part that is not covered, else a part behind it
    back     (2 * n,) int32, p if part p - 1 is not covered, else a lower number
    keys, order, spare  (2 * n,) scratch
    """

    bounds: np.ndarray
    numbers: np.ndarray
    ahead: np.ndarray
    back: np.ndarray
    keys: np.ndarray
    order: np.ndarray
    spare: np.ndarray


@inline
def make_parts(n):
    """Return arrays for the parts of n chunks."""
    return Parts(
        np.empty(2 * n, np.int64), np.empty(2 * n, np.int32), np.empty(2 * n, np.int32), np.empty(2 * n, np.int32),
        np.empty(2 * n, np.int64), np.empty(2 * n, np.int32), np.empty(2 * n, np.int32),
    )  # fmt: skip


@helper
def divide_text(starts, ends, n, parts):
    """Divide the text into parts at the places where the first n chunks start and end. None is covered."""
    for c in range(n):
        parts.keys[2 * c] = -starts[c]
        parts.keys[2 * c + 1] = -ends[c]
    for i in range(2 * n):
        parts.order[i] = parts.ahead[i] = parts.back[i] = i
    sort_descending(parts.keys, 2 * n, parts.spare, parts.order)
    number = -1
    for i in range(2 * n):
        place = -parts.keys[parts.order[i]]
        if number < 0 or parts.bounds[number] != place:
            number += 1
            parts.bounds[number] = place
        parts.numbers[parts.order[i]] = number


@helper
def follow(pointers, part):
    """Return the part where pointers from a part on end. Those on the way point farther afterwards."""
    while pointers[part] != part:
        pointers[part] = pointers[pointers[part]]
        part = pointers[part]
    return part


@kernel(allocates=True)
def cover_spans(chunks, gold, k, out_chars, out_gold, out_weight):
    """Compute what each of the first k chunks covers that no chunk above it does."""
    chunks = Chunks(*chunks)
    gold = Gold(*gold)
    parts = make_parts(chunks.starts.shape[0])
    for q in range(chunks.offsets.shape[0] - 1):
        first = chunks.offsets[q]
        n = min(chunks.offsets[q + 1] - first, k)
        divide_text(chunks.starts[first:], chunks.ends[first:], n, parts)
        for c in range(n):
            last = parts.numbers[2 * c + 1]
            part = follow(parts.ahead, parts.numbers[2 * c])
            while part < last:
                stop = part
                while stop < last and parts.ahead[stop] == stop:
                    parts.ahead[stop] = last
                    stop += 1
                start, end = parts.bounds[part], parts.bounds[stop]
                n_gold, out_weight[first + c] = measure_gold(q, start, end, out_weight[first + c], gold)
                out_gold[first + c] += n_gold
                out_chars[first + c] += end - start
                part = follow(parts.ahead, stop)


@helper
def join_gold(q, gold, out_joined, out_sums):
    """Write the gold spans of a query without text between them, and sums of their weights by twos, fours and so on."""
    n = gold.offsets[q + 1] - gold.offsets[q]
    n_chars = 0
    for g in range(gold.offsets[q], gold.offsets[q + 1]):
        out_joined.starts[g] = n_chars
        n_chars += gold.ends[g] - gold.starts[g]
        out_joined.ends[g] = n_chars
        out_sums[n + g - gold.offsets[q]] = (gold.ends[g] - gold.starts[g]) * gold.weights[g]
    for i in range(n - 1, 0, -1):
        out_sums[i] = out_sums[2 * i] + out_sums[2 * i + 1]


@helper
def count_gold(q, place, gold, joined):
    """Return the number of gold characters of a query before a place."""
    g = find_gold(q, place, gold)
    if g < gold.offsets[q + 1]:
        return joined.starts[g] + max(place - gold.starts[g], 0)
    return joined.ends[g - 1] if g > gold.offsets[q] else 0


@helper
def weigh_gold(q, start, end, joined, sums):
    """Return the weight of the gold characters from number `start` up to `end`."""
    first = find_gold(q, start, joined)
    last = find_gold(q, end, joined)
    weight = 0.0
    if first < last:
        weight = (joined.ends[first] - start) * joined.weights[first]
    n = joined.offsets[q + 1] - joined.offsets[q]
    low = n + first + 1 - joined.offsets[q]
    high = n + last - joined.offsets[q]
    while low < high:
        if low & 1:
            weight += sums[low]
            low += 1
        if high & 1:
            high -= 1
            weight += sums[high]
        low >>= 1
        high >>= 1
    if last < joined.offsets[q + 1]:
        weight += (end - max(start, joined.starts[last])) * joined.weights[last]
    return weight


@helper
def set_bound(chunk, bound, n, out_bounds, out_winners):
    """Set the bound of one of n chunks, and the winners of its matches. The last winner is out_winners[1]."""
    out_bounds[chunk] = bound
    match = (n + chunk) >> 1
    while match > 0:
        one, other = out_winners[2 * match], out_winners[2 * match + 1]
        is_tie = out_bounds[one] == out_bounds[other]
        out_winners[match] = min(one, other) if is_tie else one if out_bounds[one] > out_bounds[other] else other
        match >>= 1


@kernel(allocates=True)
def rank_greedily(chunks, gold, k, out_weight):
    """
    Compute the weights that the first k chunks of a greedy order cover, where the next one covers most or stands first.

    Places are numbers of gold characters. Weights that were computed earlier are bounds, as they never rise. A chunk
    covers no less than those inside it, so that what is left of it is one stretch: others cut it at its start once, at
    its end once, or cover it. Hence at most four weights are computed for each chunk.
    """
    chunks = Chunks(*chunks)
    gold = Gold(*gold)
    n_chunks, n_spans = chunks.starts.shape[0], gold.starts.shape[0]
    parts = make_parts(n_chunks)
    joined = Gold(np.empty(n_spans, np.int64), np.empty(n_spans, np.int64), gold.weights, gold.offsets)
    sums = np.empty(2 * n_spans)
    starts, ends = np.empty(n_chunks, np.int64), np.empty(n_chunks, np.int64)
    bounds, winners = np.empty(n_chunks), np.empty(2 * n_chunks, np.int32)
    for q in range(chunks.offsets.shape[0] - 1):
        first = chunks.offsets[q]
        n = chunks.offsets[q + 1] - first
        join_gold(q, gold, joined, sums)
        for c in range(n):
            starts[c] = count_gold(q, chunks.starts[first + c], gold, joined)
            ends[c] = count_gold(q, chunks.ends[first + c], gold, joined)
            bounds[c] = math.inf
            winners[c] = 0
            winners[n + c] = c
        divide_text(starts, ends, n, parts)
        for c in range(n):
            set_bound(c, math.inf, n, bounds, winners)
        rank = 0
        while rank < min(k, n):
            best = winners[1]
            start = follow(parts.ahead, parts.numbers[2 * best])
            end = follow(parts.back, parts.numbers[2 * best + 1])
            weight = weigh_gold(q, parts.bounds[start], parts.bounds[end], joined, sums) if start < end else 0.0
            if weight < bounds[best]:
                set_bound(best, weight, n, bounds, winners)
                continue
            if weight == 0.0:
                break
            set_bound(best, 0.0, n, bounds, winners)
            is_whole = True
            for part in range(start, end):
                is_whole &= parts.ahead[part] == part
            if not is_whole:  # what is left is nothing but for rounding
                continue
            out_weight[first + rank] = measure_gold(q, parts.bounds[start], parts.bounds[end], 0.0, joined)[1]
            for part in range(start, end):
                parts.ahead[part] = end
                parts.back[part + 1] = start
            rank += 1


@helper
def sum_first(values, offsets, q, k):
    """Return the sum of a query's first k values."""
    total = 0.0
    for i in range(offsets[q], min(offsets[q + 1], offsets[q] + k)):
        total += values[i]
    return total


@helper
def discount_first(values, offsets, q, k, discounts):
    """Return the discounted sum of a query's first k values."""
    total = 0.0
    for i in range(offsets[q], min(offsets[q + 1], offsets[q] + k)):
        total += values[i] * discounts[i - offsets[q] + 1]
    return total


@kernel
def span_recall(new_gold, offsets, gold_chars, k, out):
    """Compute the share of the gold characters that the first k chunks cover."""
    for q in range(out.shape[0]):
        out[q] = sum_first(new_gold, offsets, q, k) / gold_chars[q] if gold_chars[q] > 0 else math.nan


@kernel
def span_precision(new_gold, chunk_chars, offsets, gold_chars, k, out):
    """Compute the share of the characters of the first k chunks that are gold."""
    for q in range(out.shape[0]):
        n_chars = sum_first(chunk_chars, offsets, q, k)
        out[q] = sum_first(new_gold, offsets, q, k) / n_chars if n_chars > 0 else 0.0
        if gold_chars[q] == 0:
            out[q] = math.nan


@kernel
def span_iou(new_gold, chunk_chars, offsets, gold_chars, k, out):
    """Compute the gold characters of the first k chunks over the characters of chunks and gold together."""
    for q in range(out.shape[0]):
        n_found = sum_first(new_gold, offsets, q, k)
        n_all = sum_first(chunk_chars, offsets, q, k) + (gold_chars[q] - n_found)
        out[q] = n_found / n_all if gold_chars[q] > 0 else math.nan


@kernel
def span_ndcg(new_weight, offsets, ideal_weight, ideal_offsets, discounts, gold_chars, k, out):
    """Compute the discounted weight of the gold that each chunk adds, over that of an ideal ranking."""
    for q in range(out.shape[0]):
        ideal = discount_first(ideal_weight, ideal_offsets, q, k, discounts)
        out[q] = discount_first(new_weight, offsets, q, k, discounts) / ideal if ideal > 0.0 else 0.0
        if gold_chars[q] == 0:
            out[q] = math.nan

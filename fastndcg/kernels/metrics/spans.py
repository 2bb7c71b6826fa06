"""
Compute metrics of text spans: how much of the gold text the retrieved chunks cover.

Spans are half-open: from the character `start` up to the character before `end`.

chunks, gold   `Chunks` and `Gold` as tuples of int64 arrays, but float64 weights
offsets        (n_queries + 1,)  int64, query q owns chunks offsets[q] up to offsets[q + 1]
new_gold, new_chars, new_weight   (n_chunks,)  float64, characters of gold text, of any text, and weight of gold text
               that a chunk covers and no chunk above it does
chunk_chars    (n_chunks,)  float64, characters that a chunk counts for precision: new ones, or all
gold_chars     (n_queries,)  float64, characters of gold text
ideal_weight, ideal_offsets   the weights that an ideal ranking covers, by rank
discounts      (n_ranks + 1,)  float64, discounts[r] belongs to rank r
out            (n_queries,)  float64, NaN for a query without gold text
"""

import math
from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import helper, kernel


class Chunks(NamedTuple):
    """The chunks of each query in rank order: query q owns chunks offsets[q] up to offsets[q + 1]."""

    documents: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    offsets: np.ndarray


class Gold(NamedTuple):
    """The gold spans of each query, which do not overlap."""

    documents: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray


@helper
def find_new(q, chunk, others, chunks, gold):
    """Return the characters, the gold characters and the gold weight of a chunk that no other chunk covers."""
    document = chunks.documents[chunk]
    end = chunks.ends[chunk]
    n_chars = 0
    n_gold = 0
    weight = 0.0
    place = chunks.starts[chunk]
    while place < end:
        stop = end  # of the part from `place` on that no other chunk covers
        for i in range(others.shape[0]):
            other = others[i]
            if chunks.documents[other] == document and chunks.ends[other] > place:
                stop = min(stop, max(chunks.starts[other], place))
                if stop == place:
                    place = min(chunks.ends[other], end)
                    break
        else:
            n_chars += stop - place
            for g in range(gold.offsets[q], gold.offsets[q + 1]):
                if gold.documents[g] == document:
                    n_shared = max(min(stop, gold.ends[g]) - max(place, gold.starts[g]), 0)
                    n_gold += n_shared
                    weight += n_shared * gold.weights[g]
            place = stop
    return n_chars, n_gold, weight


@kernel(allocates=True)
def cover_spans(chunks, gold, k, out_chars, out_gold, out_weight):
    """Compute what each of the first k chunks covers that no chunk above it does."""
    chunks = Chunks(*chunks)
    gold = Gold(*gold)
    others = np.arange(chunks.starts.shape[0])
    for q in range(chunks.offsets.shape[0] - 1):
        start = chunks.offsets[q]
        for i in range(start, min(chunks.offsets[q + 1], start + k)):
            out_chars[i], out_gold[i], out_weight[i] = find_new(q, i, others[start:i], chunks, gold)


@kernel(allocates=True)
def rank_greedily(chunks, gold, k, out_weight):
    """Compute the weights that the first k chunks of a greedy order cover, where the next one covers most."""
    chunks = Chunks(*chunks)
    gold = Gold(*gold)
    chosen = np.empty(chunks.starts.shape[0], np.int64)
    bounds = np.empty(chunks.starts.shape[0])  # weights when last computed, which never rise
    for q in range(chunks.offsets.shape[0] - 1):
        first = chunks.offsets[q]
        stop = chunks.offsets[q + 1]
        bounds[first:stop] = math.inf
        for n in range(min(k, stop - first)):
            best = -1
            highest = 0.0
            for i in range(first, stop):
                if bounds[i] > highest:
                    bounds[i] = find_new(q, i, chosen[first : first + n], chunks, gold)[2]
                    if bounds[i] > highest:
                        best = i
                        highest = bounds[i]
            if best < 0:
                break
            chosen[first + n] = best
            bounds[best] = 0.0
            out_weight[first + n] = highest


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

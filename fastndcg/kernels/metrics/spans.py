"""
Compute metrics of text spans: how much of the gold text the retrieved chunks cover.

Spans are half-open: from the character `start` up to the character before `end`.

chunk_documents, chunk_starts, chunk_ends   (n_chunks,)  int64, the chunks of each query in rank order
offsets        (n_queries + 1,)  int64, query q owns chunks offsets[q] up to offsets[q + 1]
gold_documents, gold_starts, gold_ends, gold_weights, gold_offsets   the gold spans, which do not overlap
new_gold, new_chars, new_weight   (n_chunks,)  float64, characters of gold text, of any text, and weight of gold text
               that a chunk covers and no chunk above it does
chunk_chars    (n_chunks,)  float64, characters that a chunk counts for precision: new ones, or all
gold_chars     (n_queries,)  float64, characters of gold text
ideal_weight, ideal_offsets   the weights that an ideal ranking covers, by rank
discounts      (n_ranks + 1,)  float64, discounts[r] belongs to rank r
out            (n_queries,)  float64, NaN for a query without gold text
"""

import math

import numpy as np

from fastndcg.kernels.jit import helper, kernel


@helper
def find_new(chunk, others, chunk_documents, chunk_starts, chunk_ends, gold, gold_documents, gold_starts, gold_ends,
             gold_weights):  # fmt: skip
    """Return the characters, the gold characters and the gold weight of a chunk that no other chunk covers."""
    document = chunk_documents[chunk]
    end = chunk_ends[chunk]
    n_chars = 0
    n_gold = 0
    weight = 0.0
    place = chunk_starts[chunk]
    while place < end:
        stop = end  # of the part from `place` on that no other chunk covers
        for i in range(others.shape[0]):
            other = others[i]
            if chunk_documents[other] == document and chunk_ends[other] > place:
                stop = min(stop, max(chunk_starts[other], place))
                if stop == place:
                    place = min(chunk_ends[other], end)
                    break
        else:
            n_chars += stop - place
            for g in range(gold[0], gold[1]):
                if gold_documents[g] == document:
                    n_shared = max(min(stop, gold_ends[g]) - max(place, gold_starts[g]), 0)
                    n_gold += n_shared
                    weight += n_shared * gold_weights[g]
            place = stop
    return n_chars, n_gold, weight


@kernel(allocates=True)
def cover_spans(
    chunk_documents, chunk_starts, chunk_ends, offsets, gold_documents, gold_starts, gold_ends, gold_weights,
    gold_offsets, k, out_chars, out_gold, out_weight,
):  # fmt: skip
    """Compute what each of the first k chunks covers that no chunk above it does."""
    chunks = np.arange(chunk_starts.shape[0])
    for q in range(offsets.shape[0] - 1):
        gold = (gold_offsets[q], gold_offsets[q + 1])
        for i in range(offsets[q], min(offsets[q + 1], offsets[q] + k)):
            out_chars[i], out_gold[i], out_weight[i] = find_new(
                i, chunks[offsets[q] : i], chunk_documents, chunk_starts, chunk_ends, gold, gold_documents,
                gold_starts, gold_ends, gold_weights,
            )  # fmt: skip


@kernel(allocates=True)
def rank_greedily(
    chunk_documents, chunk_starts, chunk_ends, offsets, gold_documents, gold_starts, gold_ends, gold_weights,
    gold_offsets, k, out_weight,
):  # fmt: skip
    """Compute the weights that the first k chunks of a greedy order cover, where the next one covers most."""
    chosen = np.empty(chunk_starts.shape[0], np.int64)
    bounds = np.empty(chunk_starts.shape[0])  # weights when last computed, which never rise
    for q in range(offsets.shape[0] - 1):
        first = offsets[q]
        gold = (gold_offsets[q], gold_offsets[q + 1])
        bounds[first : offsets[q + 1]] = math.inf
        for n in range(min(k, offsets[q + 1] - first)):
            best = -1
            highest = 0.0
            for i in range(first, offsets[q + 1]):
                if bounds[i] > highest:
                    bounds[i] = find_new(
                        i, chosen[first : first + n], chunk_documents, chunk_starts, chunk_ends, gold, gold_documents,
                        gold_starts, gold_ends, gold_weights,
                    )[2]  # fmt: skip
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

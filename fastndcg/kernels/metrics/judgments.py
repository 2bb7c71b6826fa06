"""
Compute metrics that depend on which documents were judged: bpref, infAP, shares of judged documents, RBP's residual.

The same hits come in several rankings: `judged_hit_…` without the unjudged documents, and `pooled_hit_…` without the
documents outside the pool. `unjudged_hit_…` are the documents without a judgment, in the ranking of all documents.

n_unjudged            (n_queries,)  float64, expected number of documents without a judgment in the first k ranks
unjudged_dcg      (n_queries,)  float64, DCG of the documents without a judgment, each with gain 1
k_or_n_ranked           (n_queries,)  float64, k, or the number of ranked documents if there is no cutoff
p                     probability to go on from one rank to the next
"""

import math
from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import inline, kernel
from fastndcg.kernels.metrics.hits import NO_QUERY, count_tied_relevant, find_group_end, write_quotients
from fastndcg.kernels.simd import min_int64

EPSILON = 0.00001  # smoothing of infAP, as in trec_eval
NEGLIGIBLE = 2.0**-70  # relative to the probability near the mean


class Above(NamedTuple):
    """Numbers of documents above a tie group: relevant, judged and pooled ones."""

    n_relevant: int
    n_judged: int
    n_pooled: int


class TieGroup(NamedTuple):
    """Numbers of documents of a tie group: all, relevant, judged and pooled ones."""

    size: int
    n_relevant: int
    n_judged: int
    n_pooled: int


@kernel
def binary_preference(
    judged_hit_queries, judged_hit_above, judged_hit_ties, judged_hit_labels, rel, n_relevant, n_judged, out
):  # fmt: skip
    """
    Compute the mean over the relevant documents of the share of right preferences (Buckley and Voorhees 2004).

    A relevant document has min(R, N) preferences, for R relevant and N other judged documents. The first min(R, N)
    others above it make one preference wrong each. A document without preferences counts 1.

    Ties: of the n others of a tie group, 0, 1, … or n are above a relevant document, each number with probability
    1 / (n + 1). Numbers up to min(R, N) add up as whole or half numbers, larger ones count as R.
    """
    for q in range(out.shape[0]):
        out[q] = 0.0
    end = 0
    last_query = NO_QUERY
    n_before = 0
    total = 0.0
    for h in range(judged_hit_above.shape[0]):
        query = np.uint32(judged_hit_queries[h])
        n_before = n_before if query == last_query else 0
        total = total if query == last_query else 0.0
        last_query = query
        above = judged_hit_above[h] - n_before
        # labels that change during the evaluation may make the number negative
        n_preferences = max(min(n_judged[query] - n_relevant[query], n_relevant[query]), 0.0)
        share = 0.0
        if judged_hit_ties[h] == 1:
            is_relevant = judged_hit_labels[h] >= rel
            n_before += is_relevant
            n_wrong = min(float(above), n_preferences)
            right = (n_preferences - n_wrong) / n_preferences if n_preferences > 0.0 else 1.0
            share = right if is_relevant else 0.0
        elif h >= end:
            end, n_tied_relevant = count_tied_relevant(judged_hit_queries, judged_hit_above, judged_hit_labels, h, rel)
            n_others = judged_hit_ties[h] - n_tied_relevant
            n_partial = max(min(n_others, int(n_relevant[query]) - above), -1)  # numbers 0 … n_partial stay below R
            wrong = (n_partial + 1) * (above + n_partial * 0.5) + (n_others - n_partial) * n_relevant[query]
            all_preferences = (n_others + 1) * n_preferences
            is_perfect = above + n_others == 0 or n_tied_relevant == 0
            share = n_tied_relevant * (1.0 if is_perfect else (all_preferences - wrong) / all_preferences)
            n_before += n_tied_relevant
        total += share
        out[query] = total
    write_quotients(out, n_relevant, out)


@inline
def estimate_relevant(n_relevant, n_judged, n_pooled):
    """Return the estimated number of relevant documents above a rank, from the judged ones among them."""
    return n_pooled * ((n_relevant + EPSILON) / (n_judged + 2.0 * EPSILON))


@inline
def estimate_given_judged(n_judged, n_drawn, group, above):
    """Return the expected estimate if `n_judged` of the `n_drawn` documents above in the tie group are judged."""
    relevant_share = (group.n_relevant - 1) / max(group.n_judged - 1, 1)
    pooled_share = (group.n_pooled - group.n_judged) / max(group.size - group.n_judged, 1)
    n_pooled = above.n_pooled + n_judged + pooled_share * (n_drawn - n_judged)
    return estimate_relevant(above.n_relevant + relevant_share * n_judged, above.n_judged + n_judged, n_pooled)


@inline
def expected_estimate(n_drawn, group, above):
    """
    Return the expected estimate at a relevant document of a tie group, below `n_drawn` other documents of the group.

    The number of judged documents among them is hypergeometric. Given that number, the relevant ones are a share of the
    judged, and the pooled ones a share of the others. Probabilities are relative to one near the mean.
    """
    n_others = group.size - 1
    n_judged = group.n_judged - 1
    n_unjudged = n_others - n_judged
    fewest = max(n_drawn - n_unjudged, 0)
    most = min(n_drawn, n_judged)
    middle = min(max(n_drawn * n_judged // max(n_others, 1), fewest), most)
    total = 0.0
    value = 0.0
    probability = 1.0
    for n in range(middle, most + 1):
        total += probability
        value += probability * estimate_given_judged(n, n_drawn, group, above)
        probability *= (n_judged - n) * (n_drawn - n) / ((n + 1.0) * (n_unjudged - n_drawn + n + 1.0))
        if probability < NEGLIGIBLE:
            break
    probability = 1.0
    for n in range(middle - 1, fewest - 1, -1):
        probability *= (n + 1.0) * (n_unjudged - n_drawn + n + 1.0) / ((n_judged - n) * (n_drawn - n))
        if probability < NEGLIGIBLE:
            break
        total += probability
        value += probability * estimate_given_judged(n, n_drawn, group, above)
    return value / total


@inline
def expected_precisions(n_ranks_above, group, above):
    """Return the expected sum of the estimated precisions at the relevant documents of a tie group."""
    total = 0.0
    for i in range(group.size if group.n_relevant > 0 else 0):
        total += (1.0 + expected_estimate(i, group, above)) / (n_ranks_above + i + 1)
    return total * (group.n_relevant / group.size)


@kernel
def inferred_average_precision(
    hit_queries, hit_above, hit_ties, hit_labels, pooled_hit_above, pooled_hit_ties, judged_hit_above, judged_hit_ties,
    rel, n_relevant, out,
):  # fmt: skip
    """
    Compute infAP: AP with each precision estimated from the judged documents above (Yilmaz and Aslam 2006).

    Documents outside the pool count as not relevant. Hits that tie may have different ranks in a ranking without the
    other documents: the last hit of a tie group gives the number of its judged or pooled documents. If labels or scores
    change during the evaluation, these rankings may have fewer hits.
    """
    n_hits = min_int64(hit_above.shape[0], min_int64(judged_hit_above.shape[0], pooled_hit_above.shape[0]))
    for q in range(out.shape[0]):
        out[q] = 0.0
    end = 0
    last_query = NO_QUERY
    n_before = 0
    for h in range(n_hits):
        query = np.uint32(hit_queries[h])
        n_before = n_before if query == last_query else 0
        last_query = query
        precision = 0.0
        if hit_ties[h] == 1:
            is_relevant = hit_labels[h] >= rel
            estimate = estimate_relevant(n_before, judged_hit_above[h], pooled_hit_above[h])
            precision = (1.0 + estimate) / (hit_above[h] + 1) if is_relevant else 0.0
            n_before += is_relevant
        elif h >= end:
            end, n_tied_relevant = count_tied_relevant(hit_queries, hit_above, hit_labels, h, rel)
            last = min_int64(end, n_hits) - 1
            n_judged = judged_hit_above[last] + judged_hit_ties[last] - judged_hit_above[h]
            n_judged = min(max(n_judged, n_tied_relevant), hit_ties[h])
            n_pooled = pooled_hit_above[last] + pooled_hit_ties[last] - pooled_hit_above[h]
            n_pooled = min(max(n_pooled, n_judged), hit_ties[h])
            group = TieGroup(hit_ties[h], n_tied_relevant, n_judged, n_pooled)
            above = Above(n_before, judged_hit_above[h], pooled_hit_above[h])
            precision = expected_precisions(hit_above[h], group, above)
            n_before += n_tied_relevant
        out[query] += precision
    write_quotients(out, n_relevant, out)


@kernel
def n_nonrelevant_judged(sizes, n_relevant_found, n_unjudged, out):
    """Count the ranked documents that are judged and not relevant."""
    for q in range(out.shape[0]):
        out[q] = sizes[q] - n_relevant_found[q] - n_unjudged[q]


@kernel
def share_judged(
    unjudged_hit_queries, unjudged_hit_above, unjudged_hit_ties, unjudged_hit_offsets, sizes, k, out
):  # fmt: skip
    """
    Compute the expected share of the first k ranks that was judged.

    Judged documents are counted, because 1 less the share of the others would lose digits.
    """
    for q in range(out.shape[0]):
        out[q] = min(sizes[q], k)
    end = 0
    for h in range(unjudged_hit_above.shape[0]):
        query = np.uint32(unjudged_hit_queries[h])
        n_ranks = min(sizes[query], k)
        above = unjudged_hit_above[h]
        size = unjudged_hit_ties[h]
        if size == 1:
            out[query] -= 1.0 if above < n_ranks else 0.0
        elif h >= end:
            end = find_group_end(unjudged_hit_queries, unjudged_hit_above, h)
            if above < n_ranks < above + size:
                n_unjudged_above = h - unjudged_hit_offsets[query]
                out[query] = (above - n_unjudged_above) + (size - (end - h)) * ((n_ranks - above) / size)
            elif above < n_ranks:
                out[query] -= end - h
    for q in range(out.shape[0]):
        n_ranks = min(sizes[q], k)
        out[q] = out[q] / n_ranks if n_ranks > 0 else math.nan


@kernel
def share_unjudged(n_unjudged, k_or_n_ranked, out):
    """Compute the expected share of the first k ranks without a judgment, 0 if there are no ranks."""
    for q in range(out.shape[0]):
        out[q] = n_unjudged[q] / k_or_n_ranked[q] if n_unjudged[q] > 0 else 0.0


@kernel
def rbp_residual(unjudged_dcg, sizes, p, k, out):
    """Compute RBP's residual: the RBP of the ranks without a judgment and of all ranks below."""
    for q in range(out.shape[0]):
        out[q] = unjudged_dcg[q] + p ** min(sizes[q], k)


@kernel
def rbp_residual_if_ranked(unjudged_dcg, sizes, p, k, out):
    """Compute RBP's residual, but 0 for a query without ranked documents."""
    for q in range(out.shape[0]):
        out[q] = unjudged_dcg[q] + p ** min(sizes[q], k) if sizes[q] > 0 else 0.0

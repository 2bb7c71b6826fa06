"""
Metrics of a user who stops at the first relevant document: RR, Success.

Hits are in rank order. Where scores tie, the first relevant document of a group may stand at any of its ranks
(McSherry and Najork 2008, section 2.5).

hit_above, hit_ties   (n_hits,)         int32
hit_labels            (n_hits,)         float64
hit_offsets           (n_queries + 1,)  int64
rel                   a document is relevant if its label is at least this
out                   (n_queries,)      float64
"""

from fastndcg.kernels.jit import kernel, part


@part
def first_relevant(hit_labels, start, stop, rel):
    """The first relevant hit of one query, `stop` if there is none."""
    h = start
    while h < stop and hit_labels[h] < rel:
        h += 1
    return h


@part
def count_inside(hit_above, hit_labels, h, stop, rel):
    """How many relevant documents the tie group of hit `h` has, which is the first of them."""
    n_inside = 0
    end = h
    while end < stop and hit_above[end] == hit_above[h]:
        n_inside += hit_labels[end] >= rel
        end += 1
    return n_inside


@part
def next_chance(chance, n_left, n_inside):
    """The chance that the first of `n_inside` relevant documents is at the next rank, of `n_left` from this one on."""
    return chance * ((n_left - n_inside) / (n_left - 1)) if n_left > 1 else 0.0


@kernel
def reciprocal_rank(hit_above, hit_ties, hit_labels, hit_offsets, rel, k, out):
    """Expected 1 / rank of the first relevant document, 0 if it is below rank k."""
    for q in range(out.shape[0]):
        stop = hit_offsets[q + 1]
        h = first_relevant(hit_labels, hit_offsets[q], stop, rel)
        total = 0.0
        if h < stop and hit_ties[h] == 1:
            total = 1.0 / (hit_above[h] + 1) if hit_above[h] < k else 0.0
        elif h < stop:
            n_inside = count_inside(hit_above, hit_labels, h, stop, rel)
            last = min(hit_above[h] + hit_ties[h] - n_inside + 1, k)
            chance = n_inside / hit_ties[h]
            for r in range(hit_above[h] + 1, last + 1):
                total += chance / r
                chance = next_chance(chance, hit_above[h] + hit_ties[h] - r + 1, n_inside)
        out[q] = total


@kernel
def success(hit_above, hit_ties, hit_labels, hit_offsets, rel, k, out):
    """Chance that a relevant document is in the first k ranks; 1 less the chance of none would lose its digits."""
    for q in range(out.shape[0]):
        stop = hit_offsets[q + 1]
        h = first_relevant(hit_labels, hit_offsets[q], stop, rel)
        total = 0.0
        if h < stop and hit_ties[h] == 1:
            total = 1.0 if hit_above[h] < k else 0.0
        elif h < stop:
            n_inside = count_inside(hit_above, hit_labels, h, stop, rel)
            if hit_above[h] + hit_ties[h] - n_inside < k:
                total = 1.0
            else:
                chance = n_inside / hit_ties[h]
                for r in range(hit_above[h] + 1, k + 1):
                    total += chance
                    chance = next_chance(chance, hit_above[h] + hit_ties[h] - r + 1, n_inside)
        out[q] = min(total, 1.0)

"""
Hits of the queries that `rank` left open: how many documents score higher than each candidate, then the hits in order.

Numbers are counted, as in `rank`, or where that takes longer, found by sorting: see radix.py. Where that would take so
long that Ctrl-C waits for it, they are left to the caller, who writes them where the query's hits go, and calls again.
The number of documents above is a *seat*: candidates are put where it says, those that tie next to one another, and
read from there in order, so that nothing else is sorted but the labels of tie groups.

scores, offsets, …, before, depth, strategy, out_documents, …, out_counts   see rank.py
most      of how many documents at most a query is sorted here. Of one that the caller sorted, out_above and out_ties
          have the numbers of its candidates, the second below 0
numbers   of each candidate of a query, the documents above it and those that score the same: two arrays
here      the query's documents, from where up to where in `scores`, and how many of the call stand before them
seats     masks of the seats that are the first of a group, how many sit there, and who: three arrays
spare     room for as many numbers as a query has candidates
"""

import numpy as np

from fastndcg.kernels.count import count, find_tail
from fastndcg.kernels.jit import allocating_kernel, part, unit
from fastndcg.kernels.radix import room_for_sorting, sort_each
from fastndcg.kernels.rank import COUNT, SORT
from fastndcg.kernels.sorting import sort_descending
from fastndcg.kernels.vectors import ONE, WIDE, lowest_bit


@allocating_kernel
def rank_open(
    scores, offsets, first, documents, labels, candidate_offsets, marks, before, depth, strategy, most,
    out_documents, out_labels, out_above, out_ties, out_queries, out_offsets, out_counts,
):  # fmt: skip
    """Find the hits of the open queries; those of the others move up to where the ones before them end."""
    most_candidates = longest = 0
    for q in range(out_offsets.shape[0] - 1):
        if out_offsets[q] < out_offsets[q + 1] and out_ties[out_offsets[q]] <= 0:
            most_candidates = max(most_candidates, candidate_offsets[q + 1] - candidate_offsets[q])
            longest = max(longest, offsets[first + q + 1] - offsets[first + q])
    room = room_for(most_candidates, longest)
    fill_open(
        scores, offsets, first, (documents, labels), candidate_offsets, depth, strategy, most, room,
        (out_documents, out_labels, out_above, out_ties, out_queries), out_offsets, out_counts,
    )  # fmt: skip


@part
def room_for(n_candidates, n_documents):
    """Memory to work in for queries of up to so many candidates and documents."""
    numbers = (np.empty(n_candidates + 1, np.int32), np.empty(n_candidates + 1, np.int32))
    begun, members, seated = (
        np.empty(n_documents // WIDE + 1, np.uint64),
        np.empty(n_documents, np.int32),
        np.empty(n_documents, np.int32),
    )
    spare = np.empty(n_candidates, np.int32)
    return numbers, (begun, members, seated), room_for_sorting(n_documents), spare


@unit
def fill_open(
    scores, offsets, first, candidates, candidate_offsets, depth, strategy, most, room, out_hits, out_offsets,
    out_counts,
):  # fmt: skip
    """Go through all queries, in a function of its own: here no references are counted."""
    out_ties = out_hits[3]
    n_hits = n_left = 0
    stop = 0
    for q in range(out_offsets.shape[0] - 1):
        h = stop
        stop = out_offsets[q + 1]
        c = candidate_offsets[q]
        n_candidates = candidate_offsets[q + 1] - c
        here = (offsets[first + q], offsets[first + q + 1], offsets[first + q] - offsets[first])
        is_open = h < stop and out_ties[h] <= 0
        if is_open and out_ties[h] < 0:
            take_numbers(h, n_candidates, room[0], out_hits)
        elif is_open:
            is_open = number_each(scores, here, candidates[0], c, n_candidates, depth, strategy, most, room)
            n_left += not is_open
        if is_open:
            n_new, mixed = place_each(here, candidates, c, n_candidates, depth, room, q, n_hits, out_hits)
            n_hits += n_new
            out_counts[0] += mixed
        else:
            if n_hits < h:
                move_up(h, stop, n_hits, out_hits)
            n_hits += stop - h
        out_offsets[q + 1] = n_hits
    out_counts[2] = n_left


@part
def take_numbers(h, n_candidates, numbers, out_hits):
    """The numbers of a query's candidates that stand where its hits go."""
    above, ties = numbers
    for i in range(n_candidates):
        above[i], ties[i] = out_hits[2][h + i], -out_hits[3][h + i]


@part
def move_up(start, stop, place, out_hits):
    """Move the hits from `start` up to `stop` to an earlier place."""
    out_documents, out_labels, out_above, out_ties, out_queries = out_hits
    for h in range(start, stop):
        out_documents[place + h - start] = out_documents[h]
        out_labels[place + h - start] = out_labels[h]
        out_above[place + h - start] = out_above[h]
        out_ties[place + h - start] = out_ties[h]
        out_queries[place + h - start] = out_queries[h]


@part
def number_each(scores, here, documents, c, n_candidates, depth, strategy, most, room):
    """The numbers of the candidates of a query, which begin at `c`; false where they are left to the caller."""
    numbers, _, sorting, _ = room
    start, stop, base = here
    if strategy != SORT and (strategy == COUNT or is_counted(stop - start, n_candidates, scores.itemsize)):
        count_each(scores, start, stop, base, documents, c, n_candidates, depth, numbers)
    elif stop - start > most:
        return False
    else:
        sort_each(scores, start, stop, base, documents, c, n_candidates, sorting, numbers)
    return True


@part
def place_each(here, candidates, c, n_candidates, depth, room, q, n_hits, out_hits):
    """The hits among the candidates that have numbers; says how many, and whether labels differ in a tie group."""
    numbers, seats, _, spare = room
    start, stop, base = here
    seat(numbers[0], n_candidates, stop - start, depth, seats)
    return emit(
        candidates, c, n_candidates, base, numbers[1], seats, spare, min(stop - start, depth), q, n_hits, out_hits
    )


@part
def is_counted(n_documents, n_candidates, n_bytes):
    """Whether counting is cheaper than sorting, by the work of each in nanoseconds: see `choose` in rank.py."""
    count = n_candidates * (5.0 + 0.7 * n_documents * n_bytes / 64.0)
    return count < 1000.0 + n_documents * (5.0 + 1.5 * n_bytes) + 12.0 * n_candidates


@part
def count_each(scores, start, stop, base, documents, c, n_candidates, depth, numbers):
    """Compare all documents with each candidate, which need not be right below `depth`."""
    above, ties = numbers
    rest = find_tail(scores, start, stop)
    for i in range(n_candidates):
        above[i], ties[i] = count(scores, start, rest, scores[start - base + documents[c + i]], depth)


@part
def seat(above, n_candidates, n_documents, depth, seats):
    """Put each candidate that is not below `depth` where as many documents are above, or next to those that tie."""
    begun, members, seated = seats
    for word in range(n_documents // WIDE + 1):
        begun[word] = 0
    for i in range(n_candidates):
        first = above[i]
        if first < depth:
            bit = ONE << np.uint64(first % WIDE)
            if begun[first // WIDE] & bit == 0:
                begun[first // WIDE] |= bit
                members[first] = 0
            seated[first + members[first]] = i
            members[first] += 1


@part
def emit(candidates, c, n_candidates, base, ties, seats, spare, n_ranks, q, n_hits, out_hits):
    """Write one query's hits, group after group; says how many, and whether one that ties has different labels."""
    begun, members, seated = seats
    own_labels = candidates[1][c : c + n_candidates]
    n_new = 0
    mixed = False
    for word in range((n_ranks - 1) // WIDE + 1):
        rest = begun[word]
        while rest != 0:
            first = word * WIDE + lowest_bit(rest)
            rest &= rest - ONE
            n_members, n_ties = members[first], ties[seated[first]]
            alike = n_members == n_ties
            for i in range(1, n_members):
                alike &= own_labels[seated[first + i]] == own_labels[seated[first]]
            if alike:
                for i in range(min(n_members, n_ranks - first)):
                    write(candidates, c + seated[first + i], base, first + i, 1, q, n_hits + n_new, out_hits)
                    n_new += 1
            else:
                mixed = True
                sort_descending(own_labels, n_members, spare, seated[first : first + n_members])
                for i in range(n_members):
                    write(candidates, c + seated[first + i], base, first, n_ties, q, n_hits + n_new, out_hits)
                    n_new += 1
    return n_new, mixed


@part
def write(candidates, place, base, above, ties, q, h, out_hits):
    """Make a candidate a hit."""
    out_documents, out_labels, out_above, out_ties, out_queries = out_hits
    out_documents[h] = candidates[0][place] - base
    out_labels[h] = candidates[1][place]
    out_above[h] = above
    out_ties[h] = ties
    out_queries[h] = q

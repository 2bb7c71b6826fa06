"""
Interpolated precision where scores tie: the mean, over all orders, of the highest precision from a recall on.

It is the sum over the values that a precision may have, each less the one below it, times the chance that the highest
is as high. Tie groups are independent, and are added from the last to the first: at each recall, the tails of the
highest precision of all groups below are known. Of a group, what every order has is certain, and crossing.py counts the
orders that reach each value above that: at most inside · (ties − inside) + 1 of them, in time that is the square of the
relevant documents times the others.

groups   above, before, ties and inside of the tie groups of a query: (n_hits,) int64 each
asked    how many relevant documents each recall asks for (int64), and the chance of a precision so high from there on
tails    values that the highest precision may have, rising, and the chances of so much, first 1; and those to come
paths, steps, kept    see crossing.py
hit_above, hit_ties   (n_hits,)                int32
hit_labels            (n_hits,)                float64
hit_offsets           (n_queries + 1,)         int64
n_relevant            (n_queries,)             float64, retrieved or not
recalls               (n_recalls,)             float64, rising
queries               (n_tied,)                int32, those where scores tie
out                   (n_recalls, n_tied)      float64, a column for each of these
"""

import math

import numpy as np

from fastndcg.kernels.crossing import add_up, descend, raise_bounds, repeat, value_of
from fastndcg.kernels.jit import allocating_kernel, part, unit

MOST_WORK = 2e9  # square of the relevant documents of a tie group times the others: some seconds
FEWEST_STEPS = 64


@allocating_kernel
def interpolate_tied(
    queries, hit_above, hit_ties, hit_labels, hit_offsets, rel, n_relevant, recalls, recall_rounding, out
):  # fmt: skip
    """Mean of the highest precision at each recall or beyond it; −1 where a tie group takes too much work."""
    most = 0
    for q in range(hit_offsets.shape[0] - 1):
        most = max(most, hit_offsets[q + 1] - hit_offsets[q])
    groups = (np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64))
    asked = (np.empty(recalls.shape[0], np.int64), np.empty(recalls.shape[0]))
    tails = (np.empty(1), np.empty(1), np.empty(1), np.empty(1))
    paths = (
        np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most), np.empty(most), np.empty(most),
        np.empty(most), np.empty(most), np.empty(most),
    )  # fmt: skip
    steps = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, 0)))
    kept = (np.empty((0, 0), np.int64), np.empty((0, 0)))
    for place in range(queries.shape[0]):
        q = queries[place]
        n_groups = find_groups(hit_above, hit_ties, hit_labels, hit_offsets[q], hit_offsets[q + 1], rel, groups)
        for i in range(recalls.shape[0]):
            asked[0][i] = max(np.floor(recalls[i] * n_relevant[q] + recall_rounding), 1.0)
        n_tails, n_steps, n_blocks, n = room_for(groups, n_groups, asked[0][0])
        if n_tails > tails[0].shape[0]:
            tails = (np.empty(n_tails), np.empty(n_tails), np.empty(n_tails), np.empty(n_tails))
        if n_steps > steps[0].shape[0] or n > steps[2].shape[1]:
            steps = (np.empty(n_steps, np.int64), np.empty(n_steps, np.int64), np.empty((n_steps, n)))
        if n_blocks > kept[0].shape[0] or n > kept[0].shape[1]:
            kept = (np.empty((n_blocks, n), np.int64), np.empty((n_blocks, n)))
        fill(groups, n_groups, asked, paths, steps, kept, tails, place, out)


@unit
def find_groups(hit_above, hit_ties, hit_labels, start, stop, rel, groups):
    """The tie groups of one query that hold relevant documents; says how many they are."""
    n_groups = 0
    n_before = 0
    h = start
    while h < stop:
        end = h
        n_inside = 0
        while end < stop and hit_above[end] == hit_above[h]:
            n_inside += hit_labels[end] >= rel
            end += 1
        if n_inside > 0:
            groups[0][n_groups] = hit_above[h]
            groups[1][n_groups] = n_before
            groups[2][n_groups] = hit_ties[h]
            groups[3][n_groups] = n_inside
            n_groups += 1
        n_before += n_inside
        h = end
    return n_groups


@part
def n_open(above, before, inside, certain):
    """How many of the last relevant documents of a group may stand so high that the precision is above a value."""
    n = 0
    while n < inside and (before + inside - n) / (above + inside - n) > certain:
        n += 1
    return n


@part
def takes_too_long(n, ties, inside):
    """Whether a group has too many values and relevant documents."""
    return float(n) * n * (ties - inside) > MOST_WORK


@part
def n_values(above, before, ties, inside, n, certain):
    """How many values above a certain one the precision may have in a group, or some more."""
    total = 1
    for m in range(n):
        at_start = (before + inside - m) * (above + inside) // (before + inside)
        total += int((before + inside - m) / certain) - at_start + 2
    return total


@unit
def room_for(groups, n_groups, first_needed):
    """How many tails there may be, how many steps are kept at once, for how many blocks, of how many documents."""
    certain = 0.0
    n_tails = 1
    n_steps = n_blocks = most = 0
    for i in range(n_groups - 1, -1, -1):
        above, before, ties, inside = groups[0][i], groups[1][i], groups[2][i], groups[3][i]
        certain = max(certain, (before + inside) / (above + ties))
        n = n_open(above, before, inside, certain)
        if n > 0 and not takes_too_long(n, ties, inside):
            total = n_values(above, before, ties, inside, n, certain)
            n_tails += total if first_needed <= before else 0
            length = max(int(math.sqrt(total)) + 1, FEWEST_STEPS)
            n_steps = max(n_steps, length)
            n_blocks = max(n_blocks, total // length + 1)
            most = max(most, n)
        if first_needed > before:
            break
    return n_tails + 1, n_steps, n_blocks, most


@unit
def fill(groups, n_groups, asked, paths, steps, kept, tails, q, out):
    """The means of one query, from the last group to the first; 0 where so many relevant documents are not found."""
    needed = asked[0]
    for i in range(out.shape[0]):
        out[i, q] = 0.0
    n_found = groups[1][n_groups - 1] + groups[3][n_groups - 1] if n_groups > 0 else 0
    stop = out.shape[0]
    while stop > 0 and needed[stop - 1] > n_found:
        stop -= 1
    values, chances, next_values, next_chances = tails
    values[0] = 0.0
    chances[0] = 1.0
    n_tails = 1
    for i in range(n_groups - 1, -1, -1):
        above, before, ties, inside = groups[0][i], groups[1][i], groups[2][i], groups[3][i]
        start = stop
        while start > 0 and needed[start - 1] > before:
            start -= 1
        certain = max(values[0], (before + inside) / (above + ties))
        n = n_open(above, before, inside, certain)
        if n > 0 and takes_too_long(n, ties, inside):
            for place in range(out.shape[0]):
                out[place, q] = -1.0
            return
        below = (values, chances, n_tails)
        after = (next_values, next_chances)
        group = (above, before, ties, inside, n)
        n_tails = add_group(group, certain, asked, start, stop, paths, steps, kept, below, after, q, out)
        values, chances, next_values, next_chances = next_values, next_chances, values, chances
        stop = start
        if stop == 0:
            return


@unit
def add_group(group, certain, asked, start, stop, paths, steps, kept, below, after, q, out):
    """
    Add a group to those whose tails are known: the means at the recalls that begin in it, and the tails with it.

    Says how many tails there are then; there is room for them where recalls begin above the group.
    """
    chances = asked[1]
    values, below_chances, n_tails = below
    length = steps[0].shape[0]
    n_steps, all_orders = descend(group, certain, paths, steps, kept) if group[4] > 0 else (0, 1.0)
    for i in range(start, stop):
        chances[i] = 0.0
        out[i, q] = certain
    here = add_up(group, all_orders, asked, start, stop, paths) if n_steps > 0 else 0.0
    after[0][0] = last = certain
    after[1][0] = 1.0
    n_after = 1
    place = 0
    while place < n_tails and values[place] <= certain:
        place += 1
    while place < n_tails or n_steps > 0:
        highest = value_of(group, (n_steps - 1) % length, paths, steps) if n_steps > 0 else 2.0
        later = below_chances[place] if place < n_tails else 0.0
        value = min(highest, values[place]) if place < n_tails else highest
        for i in range(start, stop):
            out[i, q] += (value - last) * (later + chances[i] * (1.0 - later))
        last = value
        if start > 0 and value != after[0][n_after - 1]:
            after[0][n_after] = value
            after[1][n_after] = later + here * (1.0 - later)
            n_after += 1
        if place < n_tails and values[place] == value:
            place += 1
        if highest == value:
            n_steps -= 1
            if raise_bounds(group, n_steps % length, paths, steps):
                here = add_up(group, all_orders, asked, start, stop, paths)
            n_steps = 0 if here == 0.0 else n_steps
            if n_steps > 0 and n_steps % length == 0:
                repeat(group, n_steps // length - 1, paths, steps, kept)
    for i in range(start, stop):
        out[i, q] = min(out[i, q], 1.0)
    return n_after

"""
The highest difference of two systems that any labels of unjudged documents allow, query by query.

The lowest difference is the highest one of the systems in the other order. A system alone is compared with one that
ranks nothing.

An item is an unjudged document of a query: query q owns the items offsets[q] up to offsets[q + 1]. A document of a tie
group has each of its ranks with the same probability.

out         (n_queries,)             float64, -inf for a query that is undefined whatever its labels
out_given   (n_items, n_labels)      float64, the same if the item had this label; without rows it is not computed
weights     (n_items,)               float64, what a gain of 1 adds to the difference of the sums, falling in each query
base        (n_queries,)             float64, the difference of the sums of the judged documents
gains       (n_labels,)              float64, rising, from 0 on
pool        (n_queries, n_labels)    int64, how many judged documents have this gain or more; any number for a gain of 0
cumulated   (deepest + 1,)           float64, what the ideal ranking divides by for a gain of 1 of so many documents
own_starts, own_sizes      (n_items,)  int32, the first rank and the size of the item's tie group in the first system.
                                     An absent document has the rank 0
other_starts, other_sizes  (n_items,)  int32, those of the second system
own_first, other_first     (n_queries, 3)  int32, start, size and number of relevant documents of the first tie group
                                     that has any by the judgments; all 0 without one
values      (n_ranks + 1,)           float64, the value of a first relevant document at a rank; beyond the end 0
own, other           the items in the two systems for AP, as `Placed`
own_found, other_found     the relevant documents of the judgments in the two systems, as `Found`
"""

import math
from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import helper, inline, kernel
from fastndcg.kernels.ranking.sort import sort_descending

MOST_ENUMERATED = 16  # items of a query whose 65,536 labellings are all tried: 2 ms
MOST_PAIRED = 2048  # items of a query whose pairs are all read: 4 ms
NEGLIGIBLE = 1e-18  # a probability whose terms no float64 sum shows


class Placed(NamedTuple):
    """
    Documents in a system.

    starts  (n_items,) int32, the first rank of the tie group, beyond all ranks for a document that does not count
    each    (n_items,) float64, the mean of 1/rank over the group, without ranks beyond the cutoff
    both    (n_items,) float64, the same mean of the lower rank of two documents of the group

    A document that is absent, or beyond the cutoff, has 0 in `each` and `both`, so that its pairs add nothing.
    """

    starts: np.ndarray
    each: np.ndarray
    both: np.ndarray


class Found(NamedTuple):
    """Relevant documents in a system, those of query q from offsets[q] on in rising order of starts: see `Placed`."""

    starts: np.ndarray
    each: np.ndarray
    both: np.ndarray
    offsets: np.ndarray


@inline
def add_up(sums, c, fixed, weight):
    """Return the sum of the c highest weights without the item `fixed`."""
    return sums[c] if fixed < 0 or c <= fixed else sums[c + 1] - weight


@helper
def solve_ratio(weights, sums, fixed, label, ratio, base, gains, pool, cumulated, best, choices):
    """
    Return the highest ratio of a query, as Dinkelbach's method finds it from the ratio of any labels.

    With c[j] items of label j or more, numerator and denominator are sums over j of functions of c[j] alone. For a
    given ratio the best counts, which fall with j, come from one pass over each label.
    """
    n_labels = gains.shape[0]
    deepest = cumulated.shape[0] - 1
    n = weights.shape[0] - (fixed >= 0)
    weight = weights[fixed] if fixed >= 0 else 0.0
    sum_of_all = base + gains[0] * add_up(sums, n, fixed, weight)
    if fixed >= 0:
        sum_of_all += gains[label] * weight
    least = gains[0] * cumulated[min(pool[0] + weights.shape[0], deepest)]
    ideal = least
    for j in range(1, n_labels):
        ideal += (gains[j] - gains[j - 1]) * cumulated[min(pool[j] + (fixed >= 0 and j <= label), deepest)]
    n_needed = 1 if ideal <= 0 else 0  # a labelling without any gain has no value
    if n_needed and (n == 0 or n_labels == 1 or cumulated[min(1, deepest)] <= 0):
        return -math.inf
    if n_labels == 1:
        return sum_of_all / ideal
    is_first = True
    while True:
        for j in range(n_labels - 1, 0, -1):
            step = gains[j] - gains[j - 1]
            before = pool[j] + (fixed >= 0 and j <= label)
            highest = -math.inf
            choice = 0
            for c in range(n_needed if j == 1 else 0, n + 1):
                value = step * (add_up(sums, c, fixed, weight) - ratio * cumulated[min(before + c, deepest)])
                if j < n_labels - 1:
                    value += best[c]
                if value > highest:
                    highest = value
                    choice = c
                best[c] = highest
                choices[j, c] = choice
        numerator = sum_of_all
        denominator = least
        c = n
        for j in range(1, n_labels):
            c = choices[j, c]
            before = pool[j] + (fixed >= 0 and j <= label)
            numerator += (gains[j] - gains[j - 1]) * add_up(sums, c, fixed, weight)
            denominator += (gains[j] - gains[j - 1]) * cumulated[min(before + c, deepest)]
        reached = numerator / denominator
        if not is_first and reached <= ratio:
            return ratio
        ratio = reached
        is_first = False


@kernel(allocates=True)
def find_highest_ratio(weights, offsets, base, gains, pool, cumulated, first, stop, out, out_given):
    """Find the highest ratio of a sum of weighted gains and the same sum of the ideal ranking."""
    longest = 0
    for q in range(first, stop):
        longest = max(longest, offsets[q + 1] - offsets[q])
    sums = np.zeros(longest + 1)
    best = np.empty(longest + 1)
    choices = np.empty((gains.shape[0], longest + 1), np.int32)
    for q in range(first, stop):
        own = weights[offsets[q] : offsets[q + 1]]
        for i in range(own.shape[0]):
            sums[i + 1] = sums[i] + own[i]
        ratio = solve_ratio(own, sums, -1, 0, 0.0, base[q], gains, pool[q], cumulated, best, choices)
        out[q] = ratio
        if out_given.shape[0] == 0:
            continue
        for i in range(own.shape[0]):
            for j in range(gains.shape[0]):
                if i > 0 and own[i] == own[i - 1]:
                    out_given[offsets[q] + i, j] = out_given[offsets[q] + i - 1, j]
                else:
                    out_given[offsets[q] + i, j] = solve_ratio(
                        own, sums, i, j, ratio, base[q], gains, pool[q], cumulated, best, choices
                    )


@inline
def expect_first(values, start, size, n_relevant):
    """Return the expected value at the first of the relevant documents of a tie group, 0 without one."""
    total = 0.0
    if n_relevant == 0:
        return total
    chance = n_relevant / size
    for i in range(size - n_relevant + 1):
        if start + i >= values.shape[0] or chance < NEGLIGIBLE:
            break
        total += chance * values[start + i]
        chance *= (size - i - n_relevant) / max(size - i - 1, 1)
    return total


@inline
def join_groups(first, start, size, n_relevant):
    """Return start, size and number of relevant documents of the higher of two tie groups, of both if they are one."""
    if start == 0 or (first[0] > 0 and first[0] < start):
        return first
    if start == first[0]:
        return start, size, first[2] + n_relevant
    return start, size, n_relevant


@helper
def solve_first(own_starts, own_sizes, other_starts, other_sizes, fixed, is_relevant, own_first, other_first, values):
    """Return the highest difference of a query: some items of one tie group of the first system are relevant."""
    own = (int(own_first[0]), int(own_first[1]), int(own_first[2]))
    other = (int(other_first[0]), int(other_first[1]), int(other_first[2]))
    if is_relevant:
        own = join_groups(own, int(own_starts[fixed]), int(own_sizes[fixed]), 1)
        other = join_groups(other, int(other_starts[fixed]), int(other_sizes[fixed]), 1)
    highest = expect_first(values, own[0], own[1], own[2]) - expect_first(values, other[0], other[1], other[2])
    i = 0
    n = own_starts.shape[0]
    while i < n and own_starts[i] > 0 and (own[0] == 0 or own_starts[i] <= own[0]):
        group = int(own_starts[i])
        reached = own if group == own[0] else (group, int(own_sizes[i]), 0)
        others = other
        while i < n and own_starts[i] == group:  # those come first that the other system ranks last
            if i != fixed:
                reached = (reached[0], reached[1], reached[2] + 1)
                others = join_groups(others, int(other_starts[i]), int(other_sizes[i]), 1)
                value = expect_first(values, reached[0], reached[1], reached[2])
                highest = max(highest, value - expect_first(values, others[0], others[1], others[2]))
            i += 1
    return highest


@kernel
def find_highest_first(
    own_starts, own_sizes, other_starts, other_sizes, offsets, own_first, other_first, values, first, stop, out,
    out_given,
):  # fmt: skip
    """
    Find the highest difference of a value at the first relevant document.

    The items of a query are in rising order of `own_starts`, those of equal ones in falling order of `other_starts`,
    absent ones last in the first order and first in the second. Label 0 is not relevant, label 1 is.
    """
    for q in range(first, stop):
        a, b = offsets[q], offsets[q + 1]
        ranks = own_starts[a:b], own_sizes[a:b], other_starts[a:b], other_sizes[a:b]
        out[q] = solve_first(ranks[0], ranks[1], ranks[2], ranks[3], -1, False, own_first[q], other_first[q], values)
        for i in range(min(b, out_given.shape[0]) - a):
            for label in range(2):
                out_given[a + i, label] = solve_first(
                    ranks[0], ranks[1], ranks[2], ranks[3], i, label == 1, own_first[q], other_first[q], values
                )


@inline
def pair_up(each, both, other_each):
    """
    Return the mean of 1/(the lower of the ranks) of two documents.

    The group of the lower one has the lower mean of 1/rank. Documents of one group have the same.
    """
    lower = each if each < other_each else other_each
    return both if each == other_each else lower


@inline
def add_linear(system, found, a, q, out):
    """Write what each item adds to the sum of precisions if it alone of the items is relevant."""
    for i in range(out.shape[0]):
        out[i] = system.each[a + i]
        for j in range(found.offsets[q], found.offsets[q + 1]):
            out[i] += pair_up(system.each[a + i], system.both[a + i], found.each[j])


@inline
def sum_found(found, q):
    """Return the sum of precisions at the relevant documents that judgments have."""
    total = 0.0
    n_same = 0
    first = found.offsets[q]
    for j in range(first, found.offsets[q + 1]):
        n_same = n_same + 1 if j > first and found.starts[j] == found.starts[j - 1] else 0
        total += found.each[j] * (1 + j - first - n_same) + found.both[j] * n_same
    return total


@inline
def add_pairs(own, other, a, i, start, stop, rising, falling):
    """Add the pairs of item i with some others to the positive and the negative sums of the others."""
    own_each, own_both = own.each[a + i], own.both[a + i]
    other_each, other_both = other.each[a + i], other.both[a + i]
    for j in range(start, stop):  # without a branch, so that it is vectorised
        value = pair_up(own_each, own_both, own.each[a + j]) - pair_up(other_each, other_both, other.each[a + j])
        rising[j] += value if value > 0.0 else 0.0
        falling[j] += value if value < 0.0 else 0.0


@inline
def divide(total, fewest, most, denominators):
    """Return the highest quotient of a sum of precisions, whose number of relevant documents lies between two."""
    highest = -math.inf
    for n in (fewest, most):
        if n > 0:
            highest = max(highest, total / denominators[n])
    return highest


@inline
def divide_given_spare(total, n_relevant, n_spare, denominators, out):
    """Raise the highest quotients if one of the spare documents has label 0, and if it has label 1."""
    out[0] = max(out[0], divide(total, n_relevant, n_relevant + n_spare - 1, denominators))
    out[1] = max(out[1], divide(total, n_relevant + 1, n_relevant + n_spare, denominators))


@helper
def enumerate_labels(
    constant, linear, own, other, a, pairs, n_relevant, n_spare, denominators, sums, counts, out_given, out_given_spare
):
    """Return the highest quotient over all labels of a few items."""
    n = linear.shape[0]
    for i in range(n):
        for j in range(i):
            pairs[i, j] = pair_up(own.each[a + i], own.both[a + i], own.each[a + j])
            pairs[i, j] -= pair_up(other.each[a + i], other.both[a + i], other.each[a + j])
    sums[0] = constant
    counts[0] = 0
    highest = -math.inf
    for i in range(out_given.shape[0]):
        out_given[i, 0] = out_given[i, 1] = -math.inf
    for mask in range(1 << n):  # item i is relevant if bit n - 1 - i is set: the sums of the items before stay
        start = 0
        if mask > 0:
            start = n - 1
            while not (mask >> (n - 1 - start)) & 1:
                start -= 1
        for i in range(start, n):
            sums[i + 1] = sums[i]
            counts[i + 1] = counts[i]
            if (mask >> (n - 1 - i)) & 1:
                sums[i + 1] += linear[i]
                counts[i + 1] += 1
                for j in range(i):
                    if (mask >> (n - 1 - j)) & 1:
                        sums[i + 1] += pairs[i, j]
        n_found = n_relevant + counts[n]
        value = divide(sums[n], n_found, n_found + n_spare, denominators)
        highest = max(highest, value)
        if n_spare > 0:
            divide_given_spare(sums[n], n_found, n_spare, denominators, out_given_spare)
        for i in range(out_given.shape[0]):
            label = (mask >> (n - 1 - i)) & 1
            out_given[i, label] = max(out_given[i, label], value)
    return highest


@helper
def bound_sums(own, other, other_order, a, own_linear, other_linear, out):
    """
    Write the highest sum of the first system less the lowest of the second, for each number of relevant items.

    The sum of a system rises if a relevant document moves up, so that the items at its ends are the extremes.
    """
    n = own_linear.shape[0]
    out[0] = 0.0
    n_same = 0
    for i in range(n):
        n_same = n_same + 1 if i > 0 and own.starts[a + i] == own.starts[a + i - 1] else 0
        out[i + 1] = out[i] + own_linear[i] + own.each[a + i] * (i - n_same) + own.both[a + i] * n_same
    lowest = 0.0
    later = 0.0
    group = 0.0
    n_same = 0
    for c in range(n):
        i = other_order[a + n - 1 - c]
        if c > 0 and other.starts[a + i] != other.starts[a + other_order[a + n - c]]:
            later += group
            group = 0.0
            n_same = 0
        lowest += other_linear[i] + later + other.both[a + i] * n_same
        group += other.each[a + i]
        n_same += 1
        out[c + 1] -= lowest


@kernel(allocates=True)
def find_highest_precisions(
    own, other, other_order, offsets, own_found, other_found, n_relevant, n_spare, denominators, is_alone, first, stop,
    out, out_is_exact, out_given, out_given_spare,
):  # fmt: skip
    """
    Find the highest difference of AP, or a bound above it.

    Items are in rising order of the starts in `own`. `other_order` has their places in the query in rising order of the
    starts in `other`. Both labels of an item of a query that is not exact have
    the bound less half of what the item can change at the most.

    n_relevant    (n_queries,) int64, relevant documents by the judgments
    n_spare       (n_queries,) int64, unjudged documents beyond the cutoff of both systems
    denominators  (n + 1,) float64, what AP divides by if so many documents are relevant
    is_alone      True if one of the systems ranks nothing: the bound is exact
    out_is_exact  (n_queries,) bool
    out_given_spare  (n_queries, 2) float64, the highest difference if a spare document had label 0 or 1
    """
    longest = 1
    for q in range(first, stop):
        longest = max(longest, offsets[q + 1] - offsets[q])
    scratch = np.empty((6, longest + 1))
    pairs = np.empty((MOST_ENUMERATED, MOST_ENUMERATED))
    counts = np.empty(MOST_ENUMERATED + 1, np.int64)
    spare = np.empty(longest, np.int32)
    order = np.empty(longest, np.int32)
    for q in range(first, stop):
        a, n = offsets[q], offsets[q + 1] - offsets[q]
        own_linear, other_linear, rising, falling = scratch[0, :n], scratch[1, :n], scratch[2, :n], scratch[3, :n]
        linear, sums = scratch[4, :n], scratch[5]
        constant = sum_found(own_found, q) - sum_found(other_found, q)
        add_linear(own, own_found, a, q, own_linear)
        add_linear(other, other_found, a, q, other_linear)
        for i in range(n):
            linear[i] = own_linear[i] - other_linear[i]
            rising[i] = falling[i] = 0.0
        out_given_spare[q, 0] = out_given_spare[q, 1] = -math.inf
        out_is_exact[q] = n <= MOST_ENUMERATED or is_alone
        given = out_given[min(a, out_given.shape[0]) : min(a + n, out_given.shape[0])]
        if n <= MOST_ENUMERATED and not is_alone:
            out[q] = enumerate_labels(
                constant, linear, own, other, a, pairs, n_relevant[q], n_spare[q], denominators, sums, counts, given,
                out_given_spare[q],
            )  # fmt: skip
            continue
        for i in range(n if n <= MOST_PAIRED and not is_alone else 0):
            add_pairs(own, other, a, i, 0, i, rising, falling)
            add_pairs(own, other, a, i, i + 1, n, rising, falling)
        bound_sums(own, other, other_order, a, own_linear, other_linear, sums)
        for i in range(given.shape[0]):
            most = max(abs(linear[i] + rising[i]), abs(linear[i] + falling[i]))
            given[i, 0] = given[i, 1] = most / denominators[n_relevant[q] + 1] / 2
        if n <= MOST_PAIRED and not is_alone:
            total = 0.0
            for i in range(n):
                linear[i] += rising[i] / 2  # half of each pair is of one of its items
                order[i] = i
            sort_descending(linear, n, spare, order)
            for c in range(n):
                total += linear[order[c]]
                sums[c + 1] = min(sums[c + 1], total)
        out[q] = -math.inf
        for c in range(n + 1):
            n_found = n_relevant[q] + c
            out[q] = max(out[q], divide(constant + sums[c], n_found, n_found + n_spare[q], denominators))
            if n_spare[q] > 0:
                divide_given_spare(constant + sums[c], n_found, n_spare[q], denominators, out_given_spare[q])
        for i in range(given.shape[0]):
            given[i, 0] = given[i, 1] = out[q] - given[i, 0]

"""
Orders of a tie group in which the precision reaches a value: for interpolated precision where scores tie.

The group begins after `above` ranks and `before` relevant documents; `inside` of its `ties` documents are relevant, as
likely at any of its ranks. The precision stays below t if each i-th relevant document stands at rank
L(i) = floor(i / t) + 1 or below. If some do not, let i be the last of them: exactly i relevant documents stand in the
first L(i) − 1 ranks, and all later ones keep to their bounds. So, for the i that a recall asks for,

    P(highest ≥ t) = sum over i of enter(i) · stay(i) / weight of all orders

where a relevant document weighs inside / ties and another one the rest to 1, enter(i) is the weight of the orders of
the first L(i) − 1 ranks, and stay(i) that of the orders of the ranks below that keep to the bounds.

At a value t the bounds move by a rank for the i for which i / t is a rank, all multiples of the first; call these
points the line. As t rises past it, stay gains the orders that meet the line, for the first time at j, and then go on:

    stay(i) ← stay(i) + sum over j > i of meet(j − i) · stay(j),    and stay(j) has the weight of one rank more

meet(m) is the weight of the orders that come from the line, or from a rank above it, and meet it first m relevant
documents later: it depends on the slope of the line alone. As t falls past a line, they may touch where it was:

    meet(m) ← meet(m) + sum over multiples c of the first of meet(c) · meet(m − c),    the latter as it is by then

Nothing is subtracted, so that no digit is lost: meet is found as t falls, and again, from what was kept on the way,
block by block while stay is found as t rises. Each value takes some `inside` multiplications and additions; to count
all orders anew would take the square of that. (stay as t falls would lose all digits: each step multiplies its error.)

group   above, before, ties, inside, and how many of the relevant documents, the last ones, may stand high enough
paths   by how many of the group's relevant documents follow the i-th: bounds L and rooms (int64), values i / L, enter,
        stay, meet, sums and spare room (float64)
steps   of a block of values, one a row: how many relevant documents follow the first one at the line, how many lie
        between two (int64), and meet before (float64)
kept    at the start of each block: bounds (int64) and meet (float64)
"""

from fastndcg.kernels.jit import part, unit

UNIT, LITTLE = 2.0**512, 2.0**-256


@unit
def descend(group, certain, paths, steps, kept):
    """Take all values down to the certain one; says how many steps that is, and what all orders weigh."""
    above, before, ties, inside, n = group
    bounds, rooms, values, enter, stay, meet, _, room = paths
    share, rest, last = inside / ties, (ties - inside) / ties, before + inside
    for m in range(n):
        bounds[m] = -(-(last - m) * (above + inside) // last)
        values[m] = (last - m) / bounds[m]
        rooms[m] = -(-(m + 1) * (above + inside) // last) - 1
    count_back(n, rooms, share, share, rest, room, meet)
    length = steps[0].shape[0]
    n_steps = 0
    while True:
        highest, first = highest_of(n, values)
        if highest <= certain:
            break
        if n_steps % length == 0:
            for m in range(n):
                kept[0][n_steps // length, m] = bounds[m]
                kept[1][n_steps // length, m] = meet[m]
        lower_bounds(group, first, n_steps % length, paths, steps)
        n_steps += 1
    for m in range(n):
        rooms[m] = above + ties + 1 - bounds[m]
    count_back(n, rooms, 1.0, share, rest, room, stay)
    for m in range(n):
        enter[m] = binomial(bounds[m] - 1 - above, inside - m, share, rest)
    return n_steps, binomial(ties, inside, share, rest)


@unit
def repeat(group, block, paths, steps, kept):
    """Take the values of an earlier block again."""
    n = group[4]
    bounds, _, values, _, _, meet, _, _ = paths
    for m in range(n):
        bounds[m] = kept[0][block, m]
        meet[m] = kept[1][block, m]
        values[m] = (group[1] + group[3] - m) / bounds[m]
    for row in range(steps[0].shape[0]):
        _, first = highest_of(n, values)
        lower_bounds(group, first, row, paths, steps)


@part
def highest_of(n, values):
    """The highest precision below the bounds, and the last relevant document that may have it."""
    highest = 0.0
    first = 0
    for m in range(n):
        if values[m] > highest:
            highest = values[m]
            first = m
    return highest, first


@unit
def lower_bounds(group, first, row, paths, steps):
    """Move the bounds at the highest value one rank down."""
    _, before, ties, inside, n = group
    bounds, _, values, _, _, meet, _, room = paths
    place = before + inside - first
    step = place // divisor(place, bounds[first])
    steps[0][row] = first
    steps[1][row] = step
    for m in range(n):
        steps[2][row, m] = meet[m]
    for m in range(first, n, step):
        bounds[m] += 1
        values[m] = (before + inside - m) / bounds[m]
    touch(n - 1, step, (ties - inside) / ties, room, meet)


@part
def divisor(a, b):
    """The greatest number that divides both."""
    while b:
        a, b = b, a % b
    return a


@part
def touch(n, step, rest, room, meet):
    """What orders weigh that may touch the line where they met it, every `step` relevant documents."""
    for c in range(step, n, step):
        room[c // step] = meet[c - 1]
    for start in range(step, n, step):
        for c in range(step, start + 1, step):
            weight = room[c // step]
            for m in range(start, min(start + step, n)):
                meet[m] += weight * meet[m - c]
    for m in range(step - 1, n, step):
        meet[m] *= rest


@unit
def raise_bounds(group, row, paths, steps):
    """Take a step back; says whether an order may come so high."""
    above, _, ties, inside, n = group
    bounds, _, _, enter, stay, _, _, _ = paths
    firsts, distances, meets = steps
    rest = (ties - inside) / ties
    is_reached = False
    for source in range(firsts[row], n, distances[row]):
        weight = stay[source]
        for m in range(source + 1, n):
            stay[m] += meets[row, m - source - 1] * weight
    for m in range(firsts[row], n, distances[row]):
        bounds[m] -= 1
        stay[m] *= rest
        n_ranks = bounds[m] - above
        n_relevant = inside - m
        if n_ranks >= n_relevant:
            is_reached = True
            enter[m] *= (n_ranks - n_relevant) / (n_ranks * rest)
    return is_reached


@part
def value_of(group, row, paths, steps):
    """The precision where a step moved the bounds."""
    _, before, _, inside, _ = group
    m = steps[0][row]
    return (before + inside - m) / (paths[0][m] - 1)


@part
def add_up(group, all_orders, asked, start, stop, paths):
    """The chances of a precision so high, from each recall on that begins in the group; returns that from its start."""
    _, before, _, inside, n = group
    _, _, _, enter, stay, _, sums, _ = paths
    needed, chances = asked
    total = 0.0
    for m in range(n):
        total += enter[m] * stay[m]
        sums[m] = total
    for i in range(start, stop):
        chances[i] = min(sums[min(before + inside - needed[i], n - 1)] / all_orders, 1.0)
    return min(total / all_orders, 1.0)


@part
def count_back(n, rooms, weight, share, rest, room, out):
    """
    Weight of the orders of so many ranks as rooms, back from a place where the weight is known.

    The relevant document that m others follow may stand at any rank of which less than rooms[m] are below it.
    """
    for m in range(n):
        room[m] = 0.0
    room[0] = weight
    out[0] = weight
    first = 1 if rooms[0] == 0 else 0
    for n_ranks in range(1, rooms[n - 1] + 1):
        for m in range(min(n - 1, n_ranks), first - 1, -1):
            room[m] = room[m] * rest + (room[m - 1] * share if m > first else 0.0)
        if rooms[first] == n_ranks:
            out[first] = room[first]
            first += 1


@part
def binomial(n_ranks, n_relevant, share, rest):
    """Weight of the orders of so many ranks with so many relevant documents, 0 where it is negligible."""
    if n_ranks < n_relevant:
        return 0.0
    weight = 1.0
    n_units = 0
    for r in range(1, n_ranks + 1):
        weight *= share if r <= n_relevant else r / (r - n_relevant) * rest
        if weight < LITTLE:
            weight *= UNIT
            n_units -= 1
        elif weight > 1.0 / LITTLE:
            weight /= UNIT
            n_units += 1
    return weight if n_units == 0 else 0.0

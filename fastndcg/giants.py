"""Queries so large that ordering their documents would keep Ctrl-C waiting: it is seen between two steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastndcg.kernels import giant
from fastndcg.kernels.radix import BITS, KEY_BITS, VALUES
from fastndcg.memory import I4, U8, Room
from fastndcg.rankings import Array
from fastndcg.threads import check_stopped

GIANT = 1 << 20  # documents: to order more takes more than a tenth of a second


def number_giants(scores: Array, searched: tuple[Any, ...], room: Room) -> None:
    """Number the candidates of the queries that `rank_open` left, where it will look for the numbers."""
    offsets, first, documents, _, candidate_offsets, *_ = searched
    bounds = offsets[first : first + len(room.offsets)]
    for q in np.flatnonzero(np.diff(bounds) > GIANT).tolist():
        hits, candidates = (slice(*of_all[q : q + 2].tolist()) for of_all in (room.offsets, candidate_offsets))
        if hits.start < hits.stop and room.ties[hits.start] == 0:
            start, stop = bounds[q : q + 2].tolist()
            above, ties = numbers_of(scores, start, stop - start, start - bounds.item(0), documents, candidates)
            room.above[hits] = above
            np.negative(ties, out=room.ties[hits])


def numbers_of(
    scores: Array, start: int, n: int, base: int, documents: Array, candidates: slice
) -> tuple[Array, Array]:
    """How many of a query's n documents score higher than each of its candidates, and how many the same."""
    now, after = ((np.empty(n, U8), np.empty(n, I4)) for _ in range(2))
    n_candidates = candidates.stop - candidates.start
    differing = giant.key_each(scores, start, n, base, documents, candidates.start, n_candidates, *now)
    for shift in range(0, KEY_BITS, BITS):
        check_stopped()
        if int(differing) >> shift & (VALUES - 1):
            giant.pass_on(*now, np.uint64(shift), np.empty(VALUES, I4), *after)
            now, after = after, now
    above, ties = np.empty(n_candidates + 1, I4), np.empty(n_candidates + 1, I4)
    giant.number(*now, above, ties)
    check_stopped()
    return above[:-1], ties[:-1]
